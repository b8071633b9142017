"""The preview: it shows a folder on the loopback only, and a change of a file makes the site
anew.
"""

import http.client
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat.site.serve import Preview


@pytest.fixture
def preview(tmp_path: Path) -> Iterator[Preview]:
    """A server of the folder `public`, beside which a secret lies."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "public" / "sub").mkdir(parents=True)
    (tmp_path / "public" / "index.html").write_text("hello")
    with Preview(tmp_path / "public") as serving:
        yield serving


def get(
    preview: Preview, path: str = "/", host: str | None = "", version: int = 11
) -> tuple[int, bytes]:
    """Ask for a path under a name, the server's own where it is empty; None is no name at all."""
    port = int(preview.url.rstrip("/").rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection._http_vsn = version  # type: ignore[attr-defined]
    connection.putrequest("GET", path, skip_host=True)
    if host is not None:
        connection.putheader("Host", host or f"127.0.0.1:{port}")
    connection.endheaders()
    answer = connection.getresponse()
    return answer.status, answer.read()


@pytest.mark.parametrize("host", ["", "127.0.0.1", "localhost", "localhost:8000", "LOCALHOST:1"])
def test_it_answers_to_its_own_names(preview: Preview, host: str) -> None:
    assert get(preview, host=host) == (200, b"hello")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", None],
)
def test_it_answers_to_no_other_name_so_that_no_page_elsewhere_can_read_it(
    preview: Preview, host: str | None
) -> None:
    status, body = get(preview, host=host)
    assert status == 421
    assert b"hello" not in body


@pytest.mark.parametrize("link", ["link.txt", "sub/index.html", "folder"])
def test_no_link_leads_out_of_the_folder(preview: Preview, link: str, tmp_path: Path) -> None:
    target = tmp_path if link == "folder" else tmp_path / "secret.txt"
    (tmp_path / "public" / link).symlink_to(target)
    path = {"sub/index.html": "sub/", "folder": "folder/secret.txt"}.get(link, link)
    status, body = get(preview, f"/{path}")
    assert (status, b"secret" in body) == (404, False)


def test_what_is_not_there_is_answered_with_the_sites_own_page(
    preview: Preview, tmp_path: Path
) -> None:
    assert b"own page" not in get(preview, "/gone/")[1]
    (tmp_path / "public" / "404.html").write_text("the site's own page")
    for path in ("/gone/", "/gone.txt", "/sub/gone.svg?x=1"):
        assert get(preview, path) == (404, b"the site's own page")
    assert get(preview, "/gone", host="evil.example")[0] == 421
    (tmp_path / "public" / "404.html").unlink()
    (tmp_path / "public" / "404.html").symlink_to(tmp_path / "secret.txt")
    assert b"secret" not in get(preview, "/gone/")[1]


def test_a_link_inside_the_folder_is_followed(preview: Preview, tmp_path: Path) -> None:
    (tmp_path / "public" / "other.html").symlink_to("index.html")
    assert get(preview, "/other.html") == (200, b"hello")


def test_a_connection_that_says_nothing_does_not_stop_the_server(preview: Preview) -> None:
    port = int(preview.url.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20):
        assert get(preview) == (200, b"hello")


def test_a_folder_is_shown_on_the_loopback(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("hello")
    with Preview(tmp_path) as preview:
        assert preview.url.startswith("http://127.0.0.1:")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        assert opener.open(preview.url).read() == b"hello"
