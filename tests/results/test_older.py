"""Records of earlier releases are moved into files of a day, with nothing lost."""

import shutil
from pathlib import Path

import pytest
from support.made_records import CELL, NOW, cells_in, full

from compat.results.record import encode_record, record_digest
from compat.results.record_files import RecordFiles, convert_records

EARLIER = Path(__file__).parent / "earlier" / "pip-tools"
DIGITS = {
    line.split()[0]: line.split()[1]
    for line in (EARLIER.parent / "digests.txt").read_text().splitlines()
}


@pytest.fixture
def store(tmp_path: Path) -> RecordFiles:
    shutil.copytree(EARLIER, tmp_path / "pip-tools")
    return RecordFiles(tmp_path / "pip-tools")


def test_a_batch_becomes_lines_of_its_day_with_the_same_digests(store: RecordFiles) -> None:
    assert convert_records(store) == (3, [])
    records = {cell: store.records(cell) for cell in cells_in(store)}
    digests = {cell: record_digest(encode_record(record)) for cell, (record,) in records.items()}
    assert digests == DIGITS
    names = sorted(path.name for path in store.folder.iterdir())
    assert names == [".gitattributes", "2026-11-22.jsonl"]
    assert convert_records(store) == (0, [])


def test_a_file_of_one_record_becomes_a_line(tmp_path: Path) -> None:
    store = RecordFiles(tmp_path / "tff")
    path = store.folder / CELL / "20261101T120000Z-01234567.json"
    path.parent.mkdir(parents=True)
    path.write_text(encode_record(full()))
    [fault] = store.damaged(NOW)
    assert "`compat ci convert tff`" in fault.message
    assert convert_records(store) == (1, [])
    assert (store.records(CELL), path.parent.exists(), store.damaged(NOW)) == ((full(),), False, ())


@pytest.mark.parametrize("spoil", [lambda data: data[:40], lambda data: data[:-9] + bytes(9)])
def test_a_damaged_file_is_named_and_stays(store: RecordFiles, spoil: object) -> None:
    (path,) = (store.folder / "_batches").iterdir()
    path.write_bytes(spoil(path.read_bytes()))  # type: ignore[operator]
    count, (fault,) = convert_records(store)
    assert (count, path.exists()) == (0, True)
    assert fault.path == f"matrices/pip-tools/records/_batches/{path.name}"
