"""The index over the record files: it says what the files say, notices what changed, and can always
be thrown away.
"""

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples
from support.made_records import CELL, LOCK, OTHER_LOCK, START, SUITE, capabilities, full, ran, runs

import compat.results.index as module
from compat.results.due import due
from compat.results.index import RecordIndex
from compat.results.record import Capability, Record, encode_record, record_digest
from compat.results.record_files import RecordFiles, record_names
from compat.results.verdict import EvaluationContext, verdict
from compat.run.evidence import Installed

PRESENT = EvaluationContext(suite_digest=SUITE, day=START.date())
OTHER_CELL = "py3.9-tf2.3-tff0.17.0"
TABLES = ("files", "cells")


@pytest.fixture
def store(tmp_path: Path) -> RecordFiles:
    (tmp_path / "tff").mkdir()
    return RecordFiles(tmp_path / "tff")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "records.sqlite"


@pytest.fixture
def index(path: Path) -> Iterator[RecordIndex]:
    with closing(RecordIndex(path)) as opened:
        yield opened


def outcomes(index: RecordIndex, store: RecordFiles) -> list[str]:
    return [str(row.outcome) for row in index.runs(store)]


class TestRefresh:
    def test_threads_share_one_index(self, index: RecordIndex, store: RecordFiles) -> None:
        def add_and_read(day: int) -> int:
            store.add(ran("pass", day=day))
            index.refresh(store)
            return len(index.of_cell(store, CELL))

        with ThreadPoolExecutor(4) as pool:
            seen = list(pool.map(add_and_read, range(40)))
        assert min(seen) >= 1
        assert len(index.of_cell(store, CELL)) == 40

    def test_only_what_is_new_is_read(self, index: RecordIndex, store: RecordFiles) -> None:
        store.add(ran("pass"))
        assert [index.refresh(store), index.refresh(store)] == [1, 0]
        store.add(ran("import-fail:abort", day=1))
        assert [index.refresh(store), index.refresh(store)] == [1, 0]
        assert outcomes(index, store) == ["pass", "import-fail:abort"]

    def test_a_file_that_is_gone_is_forgotten(
        self, index: RecordIndex, store: RecordFiles, path: Path
    ) -> None:
        store.add(full())
        store.add(ran("pass", day=1))
        index.refresh(store)
        next(store.paths()).unlink()
        assert index.refresh(store) == 1
        with closing(sqlite3.connect(path)) as connection:
            left = [
                connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in TABLES
            ]
        assert left == [(1,), (1,)]
        assert outcomes(index, store) == ["pass"]

    def test_a_damaged_file_is_told_and_a_repaired_one_is_read(
        self, index: RecordIndex, store: RecordFiles
    ) -> None:
        store.add(full())
        (file,) = store.paths()
        text = file.read_text()
        file.write_text(text[:100])
        assert index.refresh(store) == 1
        assert outcomes(index, store) == []
        (fault,) = index.faults(store)
        assert (fault,) == store.damaged(START)
        file.write_text(text)
        assert index.refresh(store) == 1
        assert index.faults(store) == ()
        assert outcomes(index, store) == [str(full().outcome)]

    def test_it_is_kept_between_runs(self, path: Path, store: RecordFiles) -> None:
        store.add(full())
        with closing(RecordIndex(path)) as first:
            first.refresh(store)
        with closing(RecordIndex(path)) as second:
            assert second.refresh(store) == 0
            assert outcomes(second, store) == [str(full().outcome)]

    def test_matrices_do_not_mix(
        self, index: RecordIndex, store: RecordFiles, tmp_path: Path
    ) -> None:
        (tmp_path / "pip-tools").mkdir()
        other = RecordFiles(tmp_path / "pip-tools")
        store.add(ran("pass"))
        other.add(ran("import-fail:abort", matrix="pip-tools"))
        index.refresh(store)
        index.refresh(other)
        assert (outcomes(index, store), outcomes(index, other)) == (["pass"], ["import-fail:abort"])
        assert [index.refresh(store), index.refresh(other)] == [0, 0]


class TestReading:
    def test_a_row_says_what_its_record_says(self, index: RecordIndex, store: RecordFiles) -> None:
        record = full()
        store.add(record)
        index.refresh(store)
        (row,) = index.runs(store)
        for field in (
            *("cell", "started", "outcome", "outcomes", "seconds", "lock_digest", "suite_digest"),
            *("isolation", "tier", "capabilities", "metrics", "involved"),
        ):
            assert getattr(row, field) == getattr(record, field)

    def test_a_record_says_the_same_by_itself_and_in_a_batch(
        self, index: RecordIndex, store: RecordFiles, tmp_path: Path
    ) -> None:
        (tmp_path / "packed" / "tff").mkdir(parents=True)
        packed = RecordFiles(tmp_path / "packed" / "tff")
        records = [full(), ran("pass", day=1), ran("import-fail:abort", day=2)]
        for record in records:
            store.add(record)
            digits = record_digest(encode_record(record))[:8]
            packed.batches.add(record.started.date(), [(digits, record)])
        for of in (store, packed):
            index.refresh(of)
        rows, of_batches = index.runs(store), index.runs(packed)
        assert [(r.outcomes, r.capabilities, r.involved, r.metrics) for r in rows] == [
            (r.outcomes, r.capabilities, r.involved, r.metrics) for r in of_batches
        ]
        # What is the same is one object, so the facts of both have the same numbers.
        assert [row.told.number for row in rows] == [row.told.number for row in of_batches]

    def test_one_cell_is_read_by_itself(self, index: RecordIndex, store: RecordFiles) -> None:
        for record in (
            ran("import-fail:abort", day=3),
            ran("pass", day=2),
            ran("test-fail:memory", cell=OTHER_CELL),
        ):
            store.add(record)
        index.refresh(store)
        assert index.cells(store) == (CELL, OTHER_CELL)
        assert [str(row.outcome) for row in index.of_cell(store, CELL)] == [
            "pass",
            "import-fail:abort",
        ]
        assert index.of_cell(store, "py3.9-tf2.9-tff9") == ()
        assert index.every_row(store)[CELL] == index.of_cell(store, CELL)

    @examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(history=st.lists(runs(), max_size=5))
    def test_verdicts_and_what_is_due_are_those_of_the_files(
        self, tmp_path_factory: pytest.TempPathFactory, history: list[Record]
    ) -> None:
        folder = tmp_path_factory.mktemp("law") / "tff"
        folder.mkdir()
        store = RecordFiles(folder)
        for record in history:
            store.add(record)
        with closing(RecordIndex(None)) as index:
            index.refresh(store)
            rows = index.runs(store)
        records = store.records(CELL)
        assert verdict(CELL, rows, PRESENT, lock_digest=LOCK) == verdict(
            CELL, records, PRESENT, lock_digest=LOCK
        )
        assert due({CELL: LOCK}, rows, PRESENT) == due({CELL: LOCK}, records, PRESENT)


class TestTrouble:
    def test_a_file_that_is_no_index_is_made_anew(self, path: Path, store: RecordFiles) -> None:
        store.add(full())
        path.parent.mkdir()
        path.write_bytes(b"this is no database" * 1000)
        with closing(RecordIndex(path)) as index:
            assert index.refresh(store) == 1
        with closing(RecordIndex(path)) as index:
            assert index.refresh(store) == 0

    def test_an_index_of_another_version_is_made_anew(
        self, path: Path, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.add(full())
        with closing(RecordIndex(path)) as index:
            index.refresh(store)
        monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
        with closing(RecordIndex(path)) as index:
            assert [index.refresh(store), index.refresh(store)] == [1, 0]

    def test_an_index_without_its_tables_is_made_anew(self, path: Path, store: RecordFiles) -> None:
        store.add(full())
        path.parent.mkdir()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE other (x)")
            connection.execute(f"PRAGMA user_version = {module.VERSION}")
        with closing(RecordIndex(path)) as index:
            assert index.refresh(store) == 1
        with closing(RecordIndex(path)) as index:
            assert index.refresh(store) == 0

    def test_damage_anywhere_in_the_file_never_stops_the_reading(
        self, path: Path, store: RecordFiles
    ) -> None:
        for number in range(30):
            store.add(
                ran("pass", second=number, capabilities=capabilities(sum="yes", mean="absent"))
            )
        with closing(RecordIndex(path)) as index:
            index.refresh(store)
            told = [(row.started, row.outcomes, row.capabilities) for row in index.runs(store)]
        whole = path.read_bytes()
        chance = random.Random(5)
        for _ in range(60):
            spoilt = bytearray(whole)
            at = chance.randrange(len(spoilt))
            spoilt[at : at + 64] = chance.randbytes(64)
            path.write_bytes(spoilt if chance.random() < 0.7 else whole[:at])
            with closing(RecordIndex(path)) as index:
                index.refresh(store)
                assert [
                    (row.started, row.outcomes, row.capabilities) for row in index.runs(store)
                ] == told
                assert len(index.runs(store)) == 30

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE cells SET runs = x'90'",
            "DELETE FROM cells",
            "DELETE FROM facts",
            "UPDATE facts SET fact = x'90'",
        ],
    )
    def test_an_index_that_says_something_else_than_the_files_is_made_anew(
        self, path: Path, store: RecordFiles, change: str
    ) -> None:
        store.add(full())
        with closing(RecordIndex(path)) as index:
            index.refresh(store)
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute(change)
            assert outcomes(index, store) == [str(full().outcome)]
            assert index.refresh(store) == 0

    def test_where_the_file_cannot_be_made_it_does_without(
        self, tmp_path: Path, store: RecordFiles
    ) -> None:
        (tmp_path / "taken").write_text("")
        store.add(full())
        with closing(RecordIndex(tmp_path / "taken" / "records.sqlite")) as index:
            assert index.refresh(store) == 1
            assert len(index.runs(store)) == 1

    def test_where_another_run_holds_the_file_it_does_without(
        self, path: Path, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "LOCK_SECONDS", 0.1)
        store.add(full())
        with closing(RecordIndex(path)) as index, closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            held = path.stat().st_ino
            assert index.refresh(store) == 1
            assert len(index.runs(store)) == 1
            assert path.stat().st_ino == held

    def test_two_runs_may_refresh_one_index(self, path: Path, store: RecordFiles) -> None:
        store.add(full())
        with closing(RecordIndex(path)) as one, closing(RecordIndex(path)) as other:
            assert one.refresh(store) == 1
            store.add(ran("pass", day=1))
            assert other.refresh(store) == 1
            assert one.refresh(store) == 0
            assert len(one.runs(store)) == 2


DUE = """
import datetime, pathlib, sys
from compat.results.due import due
from compat.results.record_files import RecordFiles
from compat.results.index import RecordIndex
from compat.results.verdict import EvaluationContext
folder = pathlib.Path(sys.argv[1])
store, index = RecordFiles(folder / "tff"), RecordIndex(folder / "index")
index.refresh(store)
present = EvaluationContext(suite_digest=sys.argv[3], day=datetime.date(2026, 11, 1))
print(len(due(dict.fromkeys(store.cells(), sys.argv[2]), index.runs(store), present)))
"""


@pytest.mark.benchmark
def test_ten_thousand_records_are_judged_in_a_fraction_of_the_time_that_reading_them_takes(
    tmp_path: Path,
) -> None:
    many = tuple(
        Capability(id=f"area.capability-{n}", status="yes" if n % 3 else "absent")
        for n in range(40)
    )
    pins = tuple(Installed(name=f"package-{n}", version=f"{n}.0.1") for n in range(70))
    store = RecordFiles(tmp_path / "tff")
    for number in range(2000):
        folder = store.folder / f"py3.11-tf2.{number}"
        folder.mkdir(parents=True)
        for day in range(5):
            record = ran(
                "pass",
                cell=folder.name,
                day=-day,
                capabilities=many,
                installed=pins,
                log="x" * 2000,
            )
            text = encode_record(record)
            (folder / record_names(record, record_digest(text))[0]).write_text(text)
    marks = [time.perf_counter()]
    with closing(RecordIndex(tmp_path / "index")) as index:
        index.refresh(store)
    marks.append(time.perf_counter())
    with closing(RecordIndex(tmp_path / "index")) as index:
        assert index.refresh(store) == 0
        rows = index.runs(store)
        assert due(dict.fromkeys(store.cells(), LOCK), rows, PRESENT) == ()
        marks.append(time.perf_counter())
        for cell, of_cell in groupby(rows, key=lambda row: row.cell):
            assert verdict(cell, of_cell, PRESENT, lock_digest=LOCK).kind == "works"
    marks.append(time.perf_counter())
    command = [sys.executable, "-c", DUE, str(tmp_path), LOCK, SUITE]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"
    marks.append(time.perf_counter())
    anew, warm, judged, process = (after - before for before, after in pairwise(marks))
    print(
        f"10,000 records: anew {anew:.1f} s, due {warm:.2f} s, verdicts {judged:.2f} s, due with"
        f" Python {process:.2f} s"
    )
    assert max(warm, judged, process) < anew / 2


def test_records_of_one_lock_do_not_hide_those_of_another(
    index: RecordIndex, store: RecordFiles
) -> None:
    store.add(ran("pass"))
    store.add(ran("pass", lock=OTHER_LOCK))
    index.refresh(store)
    assert {row.lock_digest for row in index.runs(store)} == {LOCK, OTHER_LOCK}
