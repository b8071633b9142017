"""What may be published of a log: sentences for each kind of thing that may not, and laws for all
texts.
"""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.examples import examples

from compat.results.redact import redacted

SHA = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            'File "/tmp/c 1/lib/python3.11/site-packages/jax/a.py", line 3',
            'File "site-packages/jax/a.py", line 3',
        ),
        (
            'File "/usr/lib/python3.11/importlib/a.py", line 3',
            'File "python3.11/importlib/a.py", line 3',
        ),
        ("/builds/x/matrices/tff/suite/test_sum.py:7: Error", "suite/test_sum.py:7: Error"),
        ("/srv/suite/v/lib/python3.9/site-packages/a/b.py", "site-packages/a/b.py"),
        ("cannot open /opt/very/secret/place/x.so: no", "cannot open x.so: no"),
        ("in /home/jane now", "in ~ now"),
        ("in ~/notes/x.py now", "in x.py now"),
        ("PATH=/usr/bin:/home/jane/bin", "PATH=bin:bin"),
        ("gcc --prefix=/opt/a -I/opt/b/c <p>/home/jane", "gcc --prefix=a -Ic <p>~"),
        ("reading.../opt/a/b and x/home/jane/y", "reading...b and x~/y"),
        ("file:///home/jane/x.whl", "x.whl"),
        (r"C:\Users\jane\x.py and \\server\share\y", "x.py and y"),
        ("1/2 and/or a/b.py site-packages/a.py", "1/2 and/or a/b.py site-packages/a.py"),
    ],
)
def test_a_path_keeps_its_telling_part(text: str, left: str) -> None:
    assert redacted(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see https://index.example:8443/simple/jax/", "see https://<host>/simple/jax/"),
        ("https://jane:pw@index.example/simple", "https://<host>/simple"),
        ("https://index.example/f.whl#sha256=abc", "https://<host>/f.whl?..."),
        ("https://index.example/f.whl?token=abc&x=1", "https://<host>/f.whl?..."),
        ("git+ssh://git@forge.example/a.git", "git+ssh://<host>/a.git"),
        (
            "HTTPSConnectionPool(host='index.example', port=443)",
            "HTTPSConnectionPool(host='<host>', port=443)",
        ),
        ("Could not resolve host: index.example", "Could not resolve host: <host>"),
        ("Failed to connect to index.example port 443", "Failed to connect to <host> port 443"),
        ("mail jane.doe@corp.example now", "mail <host> now"),
        ("connect 10.0.0.7:443 failed", "connect <host> failed"),
    ],
)
def test_a_url_loses_its_host_its_user_and_its_query(text: str, left: str) -> None:
    assert redacted(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ghp_0123456789abcdef0123456789abcdef0123", "***"),
        ("github_pat_11ABCDEFG0123456789abc_defghij", "***"),
        ("key AKIAIOSFODNN7EXAMPLE.", "key ***."),
        ("pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAw", "***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "***"),
        ("Authorization: Bearer abc", "Authorization: ***"),
        ("'Authorization': 'Basic dXNlcjpwYXNz', 'a': 1", "'Authorization': ***"),
        ("commit " + "ab" * 20, "commit ***"),
        (f"--hash=sha256:{SHA}", f"--hash=sha256:{SHA}"),
        (f"--hash=sha256:{SHA}0", "--hash=sha256:***"),
        (f"sha512:{SHA}{SHA}", "sha512:***"),
        ("GITHUB_TOKEN=abc", "GITHUB_TOKEN=***"),
        ("export AWS_SECRET_ACCESS_KEY=a b", "export AWS_SECRET_ACCESS_KEY=***"),
        ("HOSTNAME=build-7", "HOSTNAME=***"),
        (
            "{'MY_PASSWORD': 'a b', 'PYTHONHASHSEED': '0'}",
            "{'MY_PASSWORD': ***, 'PYTHONHASHSEED': '0'}",
        ),
        ("password=hunter2; x", "password=***; x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----", "***"),
        ("PYTHONHASHSEED=0 TF_CPP_MIN_LOG_LEVEL=2", "PYTHONHASHSEED=0 TF_CPP_MIN_LOG_LEVEL=2"),
        ("KeyError: 'missing'", "KeyError: 'missing'"),
    ],
)
def test_a_credential_is_hidden_and_a_digest_is_kept(text: str, left: str) -> None:
    assert redacted(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07x", "x"),
        ("a\rb\r\nc\u2028d", "a\nb\nc\nd"),
        ("a\u202eb\u2066c\u200bd\x00e\x7ff", "abcdef"),
        ("a\xa0b\tc", "a b\tc"),
        ("\ud800", "\ufffd"),
        ("naïve 東京 ✓", "naïve 東京 ✓"),
        ("::error file=a::b", ": :error file=a::b"),
        ("  ::set-env name=A::b", "  : :set-env name=A::b"),
        ("x\u200b\r::stop-commands::t", "x\n: :stop-commands::t"),
        ("##vso[task.setvariable]x ##[error]y", "## vso[task.setvariable]x ## [error]y"),
        ("std::vector<int>::size", "std::vector<int>::size"),
    ],
)
def test_nothing_that_steers_a_terminal_or_a_runner_is_left(text: str, left: str) -> None:
    assert redacted(text) == left


_FRAGMENTS = st.sampled_from(
    [
        "/",
        "//",
        "/home/",
        "/tmp/a b/",
        "~",
        "~/",
        "site-packages/",
        "suite/",
        "python3.11/",
        "C:\\",
        "\\\\",
        "file:///",
        "https://",
        "://",
        "jane:pw@",
        "@",
        "index.example",
        ":443",
        "?",
        "#",
        "<host>",
        "***",
        "host='",
        "'",
        '"',
        "`",
        "connect to ",
        "ghp_",
        "0" * 39,
        "f" * 40,
        "sha256:",
        SHA,
        "AKIA",
        "ABCDEFGH12345678",
        "Bearer ",
        "A_TOKEN=",
        "KEY=",
        "HOME",
        "=",
        ": ",
        "password=",
        "Authorization:",
        "-----BEGIN A-----",
        "-----END A-----",
        "10.0.0.1:80",
        "\x1b[",
        "31m",
        "\x1b]8;;",
        "\x07",
        "\x1b\\",
        "\r",
        "\n",
        "\u202e",
        "\u200b",
        "\x9b",
        "\ud800",
        "::",
        ":",
        "error ",
        "##[",
        "vso[",
        "a",
        " -I",
        "...",
        "b.py",
        " ",
        ",",
        "(",
        ")",
        "<",
        ">",
        "&",
        "|",
        "é",
    ]
)
_hostile = st.lists(_FRAGMENTS | st.text(max_size=4), max_size=25).map("".join)


class TestLaws:
    @examples(400)
    @given(_hostile)
    @example("C:\\" * 30)
    @example("'/" * 30)
    @example("//a//b" * 30)
    def test_doing_it_again_changes_nothing(self, text: str) -> None:
        once = redacted(text)
        assert redacted(once) == once

    @examples(250)
    @given(_hostile)
    def test_only_what_can_be_seen_is_left(self, text: str) -> None:
        assert all(char.isprintable() or char in "\n\t" for char in redacted(text))
        redacted(text).encode()

    @examples(250)
    @given(_hostile)
    def test_no_line_is_a_workflow_command(self, text: str) -> None:
        assert not re.search(r"(?m)^\s*::|##\[|##vso\[", redacted(text))

    @examples(250)
    @given(
        st.from_regex(r"/(?:[a-z]{1,6}/){1,5}[a-z]{1,6}\.py", fullmatch=True),
        st.sampled_from(" \n'\"(=,:;>|\t"),
    )
    def test_no_absolute_path_is_left(self, path: str, before: str) -> None:
        assert not re.search(r"(?<!\w)/\w", redacted(f"see{before}{path}"))


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "fragment",
    ["A", "/", "a/", "'/", "0", "://", "KEY=", "\x1b]", "C:\\", "x@", "-----BEGIN ", "::"],
)
def test_a_long_hostile_text_takes_no_longer_than_its_length(fragment: str) -> None:
    def seconds(length: int) -> float:
        text = fragment * (length // len(fragment))
        began = time.process_time()
        redacted(text)
        return time.process_time() - began

    # Ten times the text: quadratic time would take a hundred times as long.
    short = min(seconds(30_000) for _ in range(3))
    assert seconds(300_000) < 40 * max(short, 0.001)
