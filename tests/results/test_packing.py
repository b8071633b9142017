"""Records in batches: nothing is lost on the way there, whatever happens, and damage is named."""

import datetime
import gzip
import os
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.made_records import CELL, LOCK, NOW, OTHER_LOCK, START, full, ran, records

import compat.results.record_batches as record_batches
import compat.results.record_packing as module
from compat import files
from compat.errors import CompatError
from compat.results.answers import AnswerTable
from compat.results.packing import RecordBatch, batch_of, decode_batch, encode_batch
from compat.results.record import Record, encode_record, record_digest
from compat.results.record_files import RecordFiles, record_names
from compat.results.record_packing import PackedDays, pack

ROOT = Path(__file__).parents[2]
TODAY = START.date() + datetime.timedelta(days=100)
OTHER_CELL = "py3.9-tf2.3-tff0.17.0"


@pytest.fixture
def store(tmp_path: Path) -> RecordFiles:
    (tmp_path / "tff").mkdir()
    return RecordFiles(tmp_path / "tff")


def everything(store: RecordFiles) -> list[Record]:
    """Every record of the store, once for each time that it is there."""
    return [record for cell in store.cells() for record in store.records(cell)]


def indexed(store: RecordFiles) -> list[tuple[str, datetime.datetime, str]]:
    with closing(AnswerTable(None, store, TODAY)) as table:
        table.refresh()
        return said(table)


def said(table: AnswerTable) -> list[tuple[str, datetime.datetime, str]]:
    every = (run for cell in sorted(table.runs) for run in table.runs[cell])
    return [(run.cell, run.started, str(run.outcome)) for run in every]


def plain(found: list[Record]) -> list[tuple[str, datetime.datetime, str]]:
    return [(record.cell, record.started, str(record.outcome)) for record in found]


def batches(store: RecordFiles) -> list[Path]:
    return [path for path, _ in store.batches.states()]


class TestTheSameRecord:
    @examples(60)
    @given(st.lists(records(), min_size=1, max_size=4))
    def test_a_batch_says_what_its_records_say(self, found: list[Record]) -> None:
        named = [(f"{number:08x}", record) for number, record in enumerate(found)]
        batch = decode_batch(encode_batch(batch_of("tff", named)))
        again = {packed.digits: batch.record(packed) for packed in batch.records}
        matrix = {"matrix": "tff"}
        assert again == {
            digits: type(record)(**{f: getattr(record, f) for f in fields(record)} | matrix)
            for digits, record in named
        }

    @examples(20)
    @given(st.lists(records(), min_size=1, max_size=4), st.randoms())
    def test_the_same_records_make_the_same_bytes(self, found: list[Record], chance) -> None:
        named = [(f"{number:08x}", record) for number, record in enumerate(found)]
        before = encode_batch(batch_of("tff", named))
        chance.shuffle(named)
        assert encode_batch(batch_of("tff", named)) == before

    def test_the_kept_records_of_a_matrix_stay_what_they_are(self, tmp_path: Path) -> None:
        kept = RecordFiles(ROOT / "matrices" / "pip-tools")
        before = everything(kept)
        assert before
        store = RecordFiles(tmp_path / "pip-tools")
        store.folder.parent.mkdir()
        for record in before:
            store.add(record)
        pack(store, NOW.date() + datetime.timedelta(days=1_000))
        assert not list(store.paths())
        assert everything(store) == before

    @pytest.mark.parametrize("days", [0, 3, 1_000], ids=["loose", "some packed", "all packed"])
    def test_those_on_a_lock_come_newest_first_and_are_read_in_their_turn(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
    ) -> None:
        store = RecordFiles(tmp_path / "tff")
        store.folder.parent.mkdir()
        for day in range(6):
            store.add(ran("pass", day=day, lock=LOCK if day != 2 else OTHER_LOCK))
        pack(store, START.date() + datetime.timedelta(days=days))
        with closing(AnswerTable(None, store, TODAY)) as table:
            table.refresh()
            paths = table.files_on(CELL, LOCK)
        of_lock = [one for one in store.of_files(CELL, paths) if one.lock_digest == LOCK]
        assert of_lock == [one for one in reversed(everything(store)) if one.lock_digest == LOCK]
        assert len(of_lock) == 5
        seen: list[Path] = []
        read, read_batch = store.read, store.batches.records
        monkeypatch.setattr(store, "read", lambda path: (seen.append(path), read(path))[1])
        monkeypatch.setattr(
            store.batches,
            "records",
            lambda cell, some: (seen.extend(some), read_batch(cell, some))[1],
        )
        assert next(store.of_files(CELL, paths)) == of_lock[0]
        assert seen == [paths[0]]

    def test_records_of_older_formats_are_converted_and_stay_what_they_are(
        self, tmp_path: Path
    ) -> None:
        # One of each format that was ever committed, as it was.
        shutil.copytree(Path(__file__).parent / "formats", tmp_path / "tff" / "records")
        store = RecordFiles(tmp_path / "tff")
        before, names = everything(store), sorted(path.name for path in store.paths())
        assert len(before) == 4
        assert pack(store, TODAY) == PackedDays(records=4, batches=2)
        assert everything(store) == before
        found = [store.batches.read(path) for path in batches(store)]
        assert sorted(packed.name for batch in found for packed in batch.records) == names


def fields(record: Record) -> tuple[str, ...]:
    return record.__struct_fields__


class TestPacking:
    def test_past_days_are_packed_and_today_is_not(self, store: RecordFiles) -> None:
        for record in (full(), ran("pass", day=1), ran("pass", day=2)):
            store.add(record)
        before, seen = everything(store), indexed(store)
        day = START.date() + datetime.timedelta(days=2)
        assert pack(store, day) == PackedDays(records=2, batches=2)
        assert [path.parent.name for path in store.paths()] == [CELL]
        assert everything(store) == before
        assert indexed(store) == seen
        assert store.damaged(NOW) == ()
        assert pack(store, day) == PackedDays()

    def test_a_cell_without_files_of_its_own_has_no_folder(self, store: RecordFiles) -> None:
        store.add(full())
        pack(store, TODAY)
        assert [path.name for path in store.folder.iterdir()] == ["_batches"]
        assert store.cells() == (CELL,)

    def test_what_is_packed_is_not_added_again(self, store: RecordFiles) -> None:
        assert store.add(full())
        pack(store, TODAY)
        assert not store.add(full())
        assert not list(store.paths())
        assert store.add(ran("pass"))
        assert len(everything(store)) == 2

    def test_what_comes_late_makes_a_batch_more(self, store: RecordFiles) -> None:
        store.add(full())
        pack(store, TODAY)
        earlier = batches(store)
        store.add(ran("pass", second=5))
        assert pack(store, TODAY) == PackedDays(records=1, batches=1)
        assert set(earlier) < set(batches(store))
        assert len(everything(store)) == len(indexed(store)) == 2

    def test_a_damaged_file_stays_and_is_told(self, store: RecordFiles) -> None:
        store.add(full())
        store.add(ran("pass", second=9))
        spoilt, _ = sorted(store.paths())
        spoilt.write_text(spoilt.read_text()[:50])
        packed = pack(store, TODAY)
        assert (packed.records, len(packed.faults)) == (1, 1)
        assert list(store.paths()) == [spoilt]
        assert packed.faults == store.damaged(NOW)

    def test_of_a_large_day_several_batches_are_made(
        self, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST_RECORDS", 2)
        for second in range(5):
            store.add(ran("pass", second=second))
        before = everything(store)
        assert pack(store, TODAY) == PackedDays(records=5, batches=3)
        assert everything(store) == before

    def test_who_is_second_is_told_that_another_packs(self, store: RecordFiles) -> None:
        store.add(full())
        handle = files.lock(store.folder)
        assert handle is not None
        try:
            with pytest.raises(CompatError, match="another compat packs"):
                pack(store, TODAY)
        finally:
            os.close(handle)
        assert pack(store, TODAY).records == 1

    def test_a_record_that_stands_twice_counts_once(self, store: RecordFiles) -> None:
        store.add(full())
        (path,) = store.paths()
        text = path.read_text()
        pack(store, TODAY)
        path.parent.mkdir()
        path.write_text(text)
        assert everything(store) == [full()]
        assert len(indexed(store)) == 1
        assert pack(store, TODAY) == PackedDays(records=1)
        assert not list(store.paths())

    def test_a_record_keeps_the_name_of_its_file(self, store: RecordFiles) -> None:
        store.add(full())
        (path,) = store.paths()
        pack(store, TODAY)
        batch = store.batches.read(batches(store)[0])
        assert isinstance(batch, RecordBatch)
        assert [packed.name for packed in batch.records] == [path.name]


class TestDamage:
    @pytest.fixture
    def packed(self, store: RecordFiles) -> Path:
        for second in range(20):
            store.add(ran("pass", second=second, log="x" * second))
        pack(store, TODAY)
        (path,) = batches(store)
        return path

    @pytest.mark.parametrize("how", ["cut", "longer", "spoilt", "other", "empty", "no gzip"])
    def test_a_batch_that_is_not_as_it_was_written_is_named(
        self, store: RecordFiles, packed: Path, how: str
    ) -> None:
        data = packed.read_bytes()
        other = gzip.compress(gzip.decompress(data).replace(b'"pass"', b'"lock-fail:build"'))
        packed.write_bytes(
            {
                "cut": data[:-9],
                "longer": data + b"x",
                "spoilt": data[:200] + b"\0" + data[201:],
                "other": other,
                "empty": b"",
                "no gzip": b"{}",
            }[how]
        )
        (fault,) = store.damaged(NOW)
        assert fault.path == f"matrices/tff/records/_batches/{packed.name}"
        assert "damaged" in fault.message
        with closing(AnswerTable(None, store, TODAY)) as table:
            table.refresh()
            assert table.damaged(NOW) == (fault,)
            assert said(table) == []

    def test_a_bomb_is_refused(
        self, store: RecordFiles, packed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert store.damaged(NOW) == ()
        monkeypatch.setattr(record_batches, "_MOST_BYTES", 1_000)
        os.utime(packed, (0, 0))  # it was read already, and is kept in memory
        (fault,) = store.damaged(NOW)
        assert packed.name in fault.path

    def test_an_index_notices_that_a_batch_came_went_and_was_damaged(
        self, store: RecordFiles, packed: Path, tmp_path: Path
    ) -> None:
        data, before = packed.read_bytes(), indexed(store)
        with closing(AnswerTable(tmp_path / "index", store, TODAY)) as table:
            assert table.refresh() == 1
            assert table.refresh() == 0
            assert len(said(table)) == 20
            packed.write_bytes(data[:100])
            table.refresh()
            assert said(table) == []
            packed.unlink()
            table.refresh()
            assert (said(table), table.damaged(NOW)) == ([], ())
            packed.write_bytes(data)
            table.refresh()
            assert said(table) == before

    def test_a_stray_file_and_a_future_run_are_told(self, store: RecordFiles) -> None:
        store.add(full())
        pack(store, TODAY)
        (store.batches.folder / "notes.txt").write_text("")
        early = START - datetime.timedelta(days=1)
        messages = [fault.message for fault in store.damaged(early)]
        assert messages == [
            "says that it started in the future, at 2026-11-01T12:00:00+00:00",
            "is not a valid batch of records",
        ]


def test_a_packer_that_is_killed_leaves_every_record_readable(store: RecordFiles) -> None:
    written = [ran("pass", day=n % 9, second=n, log=str(n)) for n in range(90)]
    for record in written:
        text = encode_record(record)
        path = store.folder / record.cell / record_names(record, record_digest(text))[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    before = plain(everything(store))
    assert len(before) == len(written)
    steps = 0
    while list(store.paths()):
        steps += 1
        child = os.fork()
        if child == 0:
            _die_after(store, steps)
        os.waitpid(child, 0)
        assert plain(everything(store)) == before
        assert indexed(store) == before
    assert steps > 5


def _die_after(store: RecordFiles, step: int) -> None:
    """Pack until so many files have been written or removed, then be gone at once."""
    count = 0

    def event(name: str, arguments: object) -> None:
        nonlocal count
        count += name in ("os.remove", "os.rename", "os.rmdir")
        if count == step % 17 + 3:
            os._exit(9)

    sys.addaudithook(event)
    pack(store, TODAY)
    os._exit(0)


def test_writers_and_packers_at_once_lose_nothing(store: RecordFiles) -> None:
    lists = [
        [ran("pass", day=n % 3, second=50 * writer + n, log=f"{writer} {n}") for n in range(40)]
        for writer in range(3)
    ]
    children = []
    for own in lists:
        child = os.fork()
        if child == 0:
            added = [store.add(record) for record in own]
            os._exit(0 if all(added) else 1)
        children.append(child)
    waiting = set(children)
    while waiting:
        with closing(AnswerTable(None, store, TODAY)) as table:
            table.refresh()
            assert table.damaged(NOW) == ()
        pack(store, TODAY)
        done, status = os.waitpid(-1, os.WNOHANG)
        if done:
            assert status == 0
            waiting.discard(done)
    pack(store, TODAY)
    assert not list(store.paths())
    assert sorted(r.log for r in everything(store)) == sorted(r.log for own in lists for r in own)
    assert len(indexed(store)) == 120
