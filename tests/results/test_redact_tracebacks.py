"""What web libraries say when their tests fail: every route stays word for word, and no path of a
machine does.

The tracebacks are what pytest 9 printed of small failing tests with Flask 3.1, Werkzeug 3.1, Django
5.2, FastAPI 0.165, Starlette 1.10, requests 2.34, aiohttp 3.14 and Jinja2 3.1, but for the folders:
those are marked, and named here.
"""

import datetime
from functools import partial
from pathlib import Path

import msgspec
import pytest
from support.evidence import FINE

from compat.cli.machine import machine_paths
from compat.results.judge import judged, record_of
from compat.results.record import encode_record
from compat.results.redact import redacted
from compat.run.evidence import Evidence, Raised, Step, Trial

CORPUS = sorted((Path(__file__).parent / "tracebacks").glob("*.txt"))
# What stands for a folder in the corpus, what it is on the machine, and what is left of it.
RUNNER = {
    "<packages>": ("/home/runner/work/shop/.venv/lib/python3.11/site-packages", "site-packages"),
    "<stdlib>": ("/opt/hostedtoolcache/Python/3.11.7/x64/lib/python3.11", "python3.11"),
    "<suite>": ("/home/runner/work/shop/suite", "suite"),
}
# On this machine no folder has a name that tells anything by itself: only its owner knows them.
CLUSTER = {
    "<packages>": ("/data/jane doe/cells/7/lib/python3.11/site-packages", "site-packages"),
    "<stdlib>": ("/sw/python-3.11/lib/python3.11", "python3.11"),
    "<suite>": ("/data/jane doe/shop/suite", "suite"),
}
ROUTES = [
    'client.get("/")',
    "client.get('/users/<id>')",
    "client.get('/users/7/edit')",
    'get("/api/v1/items?x=1&next=/a/b")',
    "KeyError: '/users/7'",
    "assert '/users/3' == '/user/3'",
    "assert b'/users/3' in b''",
    "Not Found: /accounts/login/",
    '"GET /api/v1/items?x=1 HTTP/1.1" 404 -',
    "URL rule '/<int:year>/<slug>/' already handled",
    "path('articles/<int:year>/', view)",
    r"1 pattern(s) tried: ['articles/(?P<year>[0-9]{4})/\\Z']",
    r"re.match('/users/(\\d+)/?$', '/users/x')",
    r"re.compile('\\w:\\d+\\server\\b')",
    "tree.find(\"//div[@class='x']/a/text()\")",
    "Couldn't find '</div>' in the following response",
    "<a href=\"/logout\">out</a> <img src='/static/img/logo.png'/>",
    "assert a/b == 7//2 and a /b/ c",
    "Accept: text/html, application/json; q=0.9, */*;q=0.8",
    "router.add_static('/static', name='static')",
    "RedirectResponse(url='/docs#/items/get')",
    "client.get('/home'); client.get('/media/'); client.get('/tmp')",
    "Route('/{path:path}'), Mount('/v1')",
    "templates/users/list.html:3: in top-level template code",
    "Environment.get_template('/users/list.html')",
    "site-packages/flask/app.py:917: in full_dispatch_request",
]


@pytest.mark.parametrize("machine", [RUNNER, CLUSTER], ids=["runner", "cluster"])
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_traceback_keeps_each_route_and_loses_each_folder(
    path: Path, machine: dict[str, tuple[str, str]]
) -> None:
    text = left = path.read_text(encoding="utf-8")
    for mark, (folder, tail) in machine.items():
        assert mark not in folder
        text, left = text.replace(mark, folder), left.replace(mark, tail)
    places = [
        "/data",
        "/sw",
        *(folder for folder, _ in machine.values()),
        "/data/jane doe/shop",
        "/data/jane doe",
    ]
    assert redacted(text, places=places).splitlines() == left.splitlines()


def test_the_corpus_is_of_eight_libraries_and_full_of_routes() -> None:
    assert len(CORPUS) == 7
    texts = [path.read_text(encoding="utf-8") for path in CORPUS]
    assert sum(text.count("<packages>") for text in texts) > 100
    assert all(text.count("'/") + text.count('"/') >= 2 for text in texts)


@pytest.mark.parametrize("line", ROUTES)
def test_a_route_is_no_path_of_a_machine(line: str) -> None:
    assert redacted(line) == line
    assert redacted(line, places=["/data", "/srv/shop", "/home/jane"]) == line


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cannot open '/data/jane/model.bin'", "cannot open 'model.bin'"),
        ("cannot open /data/jane/model", "cannot open model"),
        ("-L/data/jane/cells/7/lib", "-Llib"),
        ("below build/temp/data/jane/cells/7/x.o", "below build/tempx.o"),
        ("in '/data/jane/cells/7'", "in '.'"),
        ("?next=%2Fdata%2Fjane%2Fcells%2F7%2Fx", "?next=x"),
        ("the route /database/7 and /data alone", "the route /database/7 and /data alone"),
        ("'/da...jane/model.bin'", "'model.bin'"),
    ],
)
def test_a_folder_that_the_machine_names_is_hidden(text: str, left: str) -> None:
    assert redacted(text, places=["/data", "/data/jane/cells/7/"]) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('  File "/data/jane/run", line 3', '  File "run", line 3'),
        ("/data/jane/app.py:7: in home", "app.py:7: in home"),
        ("/data/jane/list.html:7: error", "list.html:7: error"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/jane/x'", None),
        ("PosixPath('/data/jane/x')", "PosixPath('x')"),
        ("/pyenv/3.11/lib/python3.11/site-packages/a/b.txt", "site-packages/a/b.txt"),
        ("/data/jane/_ext.cpython-311-x86_64-linux-gnu.so: undefined symbol", None),
        ("'/ho...jane/x.txt' != '/tmp/x'", "'x.txt' != 'x'"),
        (r"C:\Users\jane", "~"),
        (r"open('C:\\Users\\jane\\x.bin')", "open('x.bin')"),
        (r"\\\\server\\share\\x.bin", "x.bin"),
        ("gcc -I/home/jane -c build/temp/home/jane/x.c", "gcc -I~ -c build/temp~/x.c"),
        ("https://<host>/home/jane/notes", "https://<host>/home/jane/notes"),
    ],
)
def test_what_can_only_be_a_file_is_hidden_whatever_its_first_folder(
    text: str, left: str | None
) -> None:
    assert "/data" not in redacted(text)
    assert "jane" not in redacted(text) or "<host>" in text
    assert left is None or redacted(text) == left


def test_a_line_of_failed_tests_is_no_digest() -> None:
    assert redacted("F" * 60 + " [100%]") == "F" * 60 + " [100%]"
    assert redacted("FE" * 30) == "FE" * 30


def test_a_record_holds_no_folder_of_its_machine_and_every_route() -> None:
    flask, machine = (CORPUS[0].parent / "flask.txt").read_text(encoding="utf-8"), "/data/jane doe"
    for mark, (folder, _) in CLUSTER.items():
        flask = flask.replace(mark, folder)
    ended = msgspec.structs.replace(FINE, exit_code=1)
    said = f"FileNotFoundError: no {machine}/notes for '/users/7'"
    raised = Raised(
        type="FileNotFoundError", message=said, where=f"{machine}/shop/suite/test_shop.py:3"
    )
    evidence = Evidence(
        cell="py3.11-shop1.0",
        matrix="shop",
        subject="shop",
        lock_digest="a" * 64,
        suite_digest="b" * 64,
        started=datetime.datetime(2026, 11, 22, tzinfo=datetime.timezone.utc),
        seconds=1.0,
        host="linux-x86_64-2cpu-8gb",
        isolation="L0",
        steps=(Step(name="suite", ended=ended, log=flask),),
        expected=(),
        collected=1,
        finished=True,
        tests=(
            Trial(
                test="test_shop.py::test_user",
                capability="user",
                status="failed",
                seconds=0.1,
                raised=raised,
            ),
        ),
    )
    hide = partial(redacted, places=[machine, "/data", "/sw"])
    record = record_of([judged(evidence)], tool="uv", redacted=hide)
    assert machine not in encode_record(record)
    assert "jane" not in encode_record(record)
    assert 'client.get("/users/7")' in record.log or 'client.get("/")' in record.log
    assert "'/users/7'" in record.capabilities[0].subject
    assert (
        record_of(
            [judged(msgspec.structs.replace(evidence, steps=()))], tool="uv", redacted=hide
        ).log
        == ""
    )


def test_this_machine_names_its_own_folders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    machine_paths.cache_clear()
    named = machine_paths()
    machine_paths.cache_clear()
    assert str(tmp_path) in named
    assert f"/{Path(__file__).parts[1]}" in named
    assert (
        redacted(f"see {__file__}x and {tmp_path}/a b", places=named)
        == "see test_redact_tracebacks.pyx and a b"
    )
