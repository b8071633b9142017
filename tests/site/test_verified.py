"""A published copy against its own list: what is changed, mixed, damaged, lost or added is
named.
"""

import json
import os
from pathlib import Path

import pytest
from support.editions import edition, files
from support.known import Shelf, proven

from compat.site.edition import SiteFile
from compat.site.publication import FILES, URLS, verified, write_edition

CELL = "py3.9-dep2-demo2.0"
DOCUMENT = f"api/v1/demo/cells/{CELL}.json"
PAGE = f"demo/cell/{CELL}/index.html"
OLD_PAGE = "demo/old/index.html"


def put(folder: Path, shelf: Shelf) -> int:
    """Publish with a page, and a redirect from one that is gone; return how many files there
    are.
    """
    made = files(edition(shelf)) | {
        PAGE: f"<p>{sorted(shelf.locks)}</p>".encode(),
        "index.html": b"home",
    }
    all_files = [SiteFile(path=path, content=content) for path, content in made.items()]
    write_edition(folder, all_files, [OLD_PAGE], lambda path, to: f"{path} is now {to}".encode())
    return len(made)


def told(folder: Path) -> list[tuple[str, str]]:
    return [(fault.code, fault.path) for fault in verified(folder)[1]]


def some(folder: Path, pattern: str) -> str:
    """The first file that fits the pattern, by its path below the folder."""
    return min(folder.glob(pattern)).relative_to(folder).as_posix()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    put(tmp_path, proven(CELL))
    return tmp_path


def test_a_whole_edition_passes_and_every_file_is_listed(tmp_path: Path) -> None:
    count = put(tmp_path, proven(CELL))
    checked = verified(tmp_path)
    assert checked == (count + len([OLD_PAGE, URLS]), ())
    (tmp_path / ".edition.json").unlink()
    assert verified(tmp_path)[1] == ()


@pytest.mark.parametrize(
    "kind", [DOCUMENT, PAGE, OLD_PAGE, URLS, "badge/**/*.svg", "feed/**/*.*", "cal/**/*.ics"]
)
class TestAFileOfAnyKind:
    def test_that_is_changed_is_named(self, site: Path, kind: str) -> None:
        path = some(site, kind)
        content = bytearray((site / path).read_bytes())
        content[-1] ^= 1
        (site / path).write_bytes(content)
        assert told(site) == [("mixed", path)]

    def test_that_is_lost_is_named(self, site: Path, kind: str) -> None:
        path = some(site, kind)
        (site / path).unlink()
        assert told(site) == [("missing", path)]

    def test_that_is_added_is_named(self, site: Path, kind: str) -> None:
        path = some(site, kind)
        (site / path).with_name("added.html").write_bytes((site / path).read_bytes())
        assert told(site) == [("stray", f"{path.rpartition('/')[0]}/added.html".lstrip("/"))]

    def test_that_became_a_link_is_named_and_not_followed(self, site: Path, kind: str) -> None:
        path = some(site, kind)
        elsewhere = site.parent / "elsewhere"
        (site / path).rename(elsewhere)
        (site / path).symlink_to(elsewhere)
        assert told(site) == [("missing", path)]


def test_a_hidden_file_and_a_pipe_are_named(site: Path) -> None:
    (site / "badge" / ".hidden").write_text("")
    os.mkfifo(site / "index.pipe")
    (site / "index.html").unlink()
    os.mkfifo(site / "index.html")
    assert told(site) == [
        ("stray", "badge/.hidden"),
        ("missing", "index.html"),
        ("stray", "index.pipe"),
    ]


def test_a_folder_that_became_a_link_is_not_followed(site: Path) -> None:
    (site / "badge").rename(site.parent / "badges")
    (site / "badge").symlink_to(site.parent / "badges", target_is_directory=True)
    assert ("stray", "badge") in told(site)
    assert {code for code, path in told(site) if path.startswith("badge/")} == {"missing"}


def test_a_document_and_the_list_of_another_edition_are_found_out(
    site: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    put(other, Shelf())
    cells = "api/v1/demo/cells.json"
    ours = (site / cells).read_bytes()
    (site / cells).write_bytes((other / cells).read_bytes())
    assert told(site) == [("mixed", cells)]
    (site / cells).write_bytes(ours)
    (site / FILES).write_bytes((other / FILES).read_bytes())
    assert ("mixed", cells) in told(site)
    assert ("stray", DOCUMENT) in told(site)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a\\..\\b"])
def test_a_list_that_points_outside_reads_nothing_there(site: Path, path: str) -> None:
    listed = json.loads((site / FILES).read_bytes())
    listed["files"].append({"path": path, "sha256": "0" * 64, "bytes": 1})
    (site / FILES).write_text(json.dumps(listed))
    assert told(site) == [("outside", path)]


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"files": 3}', b"\xff"])
def test_what_has_no_list_is_no_site(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / FILES).write_bytes(content)
    assert told(tmp_path) == [("no-index", FILES)]
