"""A published copy against its own indexes: what is mixed, damaged, lost or left over is named."""

import hashlib
import json
from pathlib import Path

import pytest
from editions import edition, files
from known import Shelf, proven

from compat.site.verified import verified

CELL = "py3.9-dep2-demo2.0"
FIRST = "api/v1/index.json"
DOCUMENT = f"api/v1/demo/cells/{CELL}.json"


def put(folder: Path, shelf: Shelf) -> dict[str, bytes]:
    """Publish, but leave pages out."""
    made = {path: content for path, content in files(edition(shelf)).items() if path.startswith(("api/", "schema/"))}
    for path, content in made.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return made


def told(folder: Path) -> list[tuple[str, str]]:
    return [(fault.code, fault.path) for fault in verified(folder).faults]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    put(tmp_path, proven(CELL))
    return tmp_path


def test_a_whole_edition_passes_and_every_document_is_listed(tmp_path: Path) -> None:
    made = put(tmp_path, proven(CELL))
    checked = verified(tmp_path)
    assert (checked.listed, checked.faults) == (len(made), ())


def test_a_document_of_another_edition_is_named(site: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    put(other, proven(CELL, "py3.8-dep2-demo2.0"))
    (site / DOCUMENT).write_bytes((other / DOCUMENT).read_bytes() + b" ")
    assert told(site) == [("mixed", DOCUMENT)]


def test_the_first_index_of_another_edition_is_found_out(site: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    put(other, Shelf())
    (site / FIRST).write_bytes((other / FIRST).read_bytes())
    assert ("mixed", "api/v1/demo/index.json") in told(site)


def test_what_is_lost_and_what_is_left_over_is_named(site: Path) -> None:
    (site / DOCUMENT).rename(site / "api/v1/demo/cells/old.json")
    assert told(site) == [("stray", "api/v1/demo/cells/old.json"), ("missing", DOCUMENT)]


def test_one_flipped_bit_is_found(site: Path) -> None:
    content = bytearray((site / DOCUMENT).read_bytes())
    content[-3] ^= 1
    (site / DOCUMENT).write_bytes(content)
    assert told(site) == [("mixed", DOCUMENT)]


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a\\..\\b"])
def test_a_list_that_points_outside_reads_nothing_there(site: Path, path: str) -> None:
    root = json.loads((site / FIRST).read_bytes())
    root["files"].append({"path": path, "sha256": "0" * 64, "bytes": 1})
    (site / FIRST).write_text(json.dumps(root))
    assert told(site) == [("outside", path)]


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"files": 3}', b"\xff"])
def test_what_has_no_index_is_no_site(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "api/v1").mkdir(parents=True)
        (tmp_path / FIRST).write_bytes(content)
    assert told(tmp_path) == [("no-index", FIRST)]


def test_an_index_that_lists_nothing_readable_is_named(site: Path) -> None:
    path = "api/v1/demo/index.json"
    root = json.loads((site / FIRST).read_bytes())
    (entry,) = (one for one in root["files"] if one["path"] == path)
    (site / path).write_bytes(b"[]")
    entry |= {"bytes": 2, "sha256": hashlib.sha256(b"[]").hexdigest()}
    (site / FIRST).write_text(json.dumps(root))
    assert ("no-index", path) in told(site)
