"""The table over the record files: it says what the files say, notices what changed, and is safe to
delete.
"""

import random
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import groupby, pairwise, product
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples
from support.made_records import (
    CELL,
    LOCK,
    OTHER_LOCK,
    START,
    SUITE,
    capabilities,
    cell_of,
    full,
    ran,
    runs,
)

import compat.results.answers as module
from compat.results.answers import AnswerTable
from compat.results.judge import EvaluationContext, judge
from compat.results.record import Capability, Record, encode_line
from compat.results.record_files import RecordFiles
from compat.results.runs import Run
from compat.run.evidence import Installed

PRESENT = EvaluationContext(suite_digest=SUITE, day=START.date())
OTHER_CELL = "py3.9-tf2.3-tff0.17.0"
TABLES = ("files", "runs")


@pytest.fixture
def store(tmp_path: Path) -> RecordFiles:
    (tmp_path / "tff").mkdir()
    return RecordFiles(tmp_path / "tff")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def opened(folder: Path | None, store: RecordFiles) -> "closing[AnswerTable]":
    return closing(AnswerTable(folder, store, START.date()))


@pytest.fixture
def table(folder: Path, store: RecordFiles) -> Iterator[AnswerTable]:
    with opened(folder, store) as table:
        yield table


def every(table: AnswerTable) -> tuple[Run, ...]:
    runs = table.runs
    return tuple(run for cell in sorted(runs) for run in runs[cell])


def outcomes(table: AnswerTable) -> list[str]:
    return [str(run.outcome) for run in every(table)]


def file_in(folder: Path) -> Path:
    (path,) = folder.glob("*.sqlite")
    return path


class TestRefresh:
    def test_threads_share_one_table(self, table: AnswerTable, store: RecordFiles) -> None:
        def add_and_read(day: int) -> int:
            store.add(ran("pass", day=day))
            table.refresh()
            return len(table.runs_of(CELL))

        with ThreadPoolExecutor(4) as pool:
            seen = list(pool.map(add_and_read, range(40)))
        assert min(seen) >= 1
        assert len(table.runs_of(CELL)) == 40

    def test_only_what_is_new_is_read(self, table: AnswerTable, store: RecordFiles) -> None:
        store.add(ran("pass"))
        assert [table.refresh(), table.refresh()] == [1, 0]
        store.add(ran("import-fail:abort", day=1))
        assert [table.refresh(), table.refresh()] == [1, 0]
        assert outcomes(table) == ["pass", "import-fail:abort"]

    def test_more_days_do_not_take_more_memory(self, tmp_path: Path) -> None:
        many = capabilities(**{f"capability-{number}": "yes" for number in range(100)})
        peaks = []
        for days in (14, 42):  # more records than are held for pages
            folder = tmp_path / f"{days}" / "tff"
            folder.mkdir(parents=True)
            store = RecordFiles(folder)
            each = product(range(days), range(20))
            store.add_all(ran("pass", day=d, second=n, capabilities=many) for d, n in each)
            with opened(None, store) as table:
                tracemalloc.start()
                assert table.refresh() == days
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
        assert peaks[1] < 2 * peaks[0]

    def test_a_file_that_is_gone_is_forgotten(
        self, table: AnswerTable, store: RecordFiles, folder: Path
    ) -> None:
        store.add(full())
        store.add(ran("pass", day=1))
        table.refresh()
        (store.folder / "2026-11-01.jsonl").unlink()
        assert table.refresh() == 1
        with closing(sqlite3.connect(file_in(folder))) as connection:
            left = [
                connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in TABLES
            ]
        assert left == [(1,), (1,)]
        assert outcomes(table) == ["pass"]

    def test_a_damaged_file_is_told_and_a_repaired_one_is_read(
        self, table: AnswerTable, store: RecordFiles
    ) -> None:
        store.add(full())
        file = store.folder / "2026-11-01.jsonl"
        text = file.read_text()
        file.write_text(text[:100])
        assert table.refresh() == 1
        assert outcomes(table) == []
        assert len(table.damaged(START)) == 1
        file.write_text(text)
        assert table.refresh() == 1
        assert table.damaged(START) == ()
        assert outcomes(table) == [str(full().outcome)]

    def test_it_is_kept_between_runs(self, folder: Path, store: RecordFiles) -> None:
        store.add(full())
        with opened(folder, store) as first:
            first.refresh()
        with opened(folder, store) as second:
            assert second.refresh() == 0
            assert outcomes(second) == [str(full().outcome)]

    def test_matrices_do_not_mix(
        self, table: AnswerTable, store: RecordFiles, folder: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "pip-tools").mkdir()
        other = RecordFiles(tmp_path / "pip-tools")
        store.add(ran("pass"))
        other.add(ran("import-fail:abort", matrix="pip-tools"))
        table.refresh()
        with opened(folder, other) as beside:
            beside.refresh()
            assert (outcomes(table), outcomes(beside)) == (["pass"], ["import-fail:abort"])
            assert [table.refresh(), beside.refresh()] == [0, 0]


class TestReading:
    def test_a_row_says_what_its_record_says(self, table: AnswerTable, store: RecordFiles) -> None:
        record = full()
        store.add(record)
        table.refresh()
        (row,) = every(table)
        for field in (
            *("cell", "started", "outcome", "outcomes", "seconds", "lock_digest", "suite_digest"),
            *("isolation", "tier", "capabilities", "metrics", "involved"),
        ):
            assert getattr(row, field) == getattr(record, field)

    def test_one_cell_is_read_by_itself(self, table: AnswerTable, store: RecordFiles) -> None:
        for record in (
            ran("import-fail:abort", day=3),
            ran("pass", day=2),
            ran("test-fail:memory", cell=OTHER_CELL),
        ):
            store.add(record)
        table.refresh()
        assert set(table.runs) == {CELL, OTHER_CELL}
        assert [str(row.outcome) for row in table.runs_of(CELL)] == [
            "pass",
            "import-fail:abort",
        ]
        assert table.runs_of("py3.9-tf2.9-tff9") == ()
        assert tuple(table.runs[CELL]) == table.runs_of(CELL)

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
        with opened(None, store) as table:
            table.refresh()
            rows = every(table)
        records = store.records(CELL)
        of_rows, of_records = (
            judge(cell_of(CELL), known, PRESENT, lock_digest=LOCK) for known in (rows, records)
        )
        assert msgspec.structs.replace(of_rows, history=of_records.history) == of_records


class TestTrouble:
    def test_a_file_that_is_no_table_is_made_anew(self, folder: Path, store: RecordFiles) -> None:
        store.add(full())
        folder.mkdir()
        with opened(folder, store) as table:
            table.refresh()
        file_in(folder).write_bytes(b"this is no database" * 1000)
        with opened(folder, store) as table:
            assert table.refresh() == 1
        with opened(folder, store) as table:
            assert table.refresh() == 0

    def test_a_table_of_another_version_is_made_anew(
        self, folder: Path, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.add(full())
        with opened(folder, store) as table:
            table.refresh()
        monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
        with opened(folder, store) as table:
            assert [table.refresh(), table.refresh()] == [1, 0]

    def test_a_file_without_its_tables_is_made_anew(self, folder: Path, store: RecordFiles) -> None:
        store.add(full())
        with opened(folder, store) as table:
            table.refresh()
        path = file_in(folder)
        path.unlink()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE other (x)")
            connection.execute(f"PRAGMA user_version = {module.VERSION}")
        with opened(folder, store) as table:
            assert table.refresh() == 1
        with opened(folder, store) as table:
            assert table.refresh() == 0

    def test_damage_anywhere_in_the_file_never_stops_the_reading(
        self, folder: Path, store: RecordFiles
    ) -> None:
        for number in range(30):
            store.add(
                ran("pass", second=number, capabilities=capabilities(sum="yes", mean="absent"))
            )
        with opened(folder, store) as table:
            table.refresh()
            told = [(row.started, row.outcomes, row.capabilities) for row in every(table)]
        path = file_in(folder)
        whole = path.read_bytes()
        chance = random.Random(5)
        for _ in range(60):
            spoilt = bytearray(whole)
            at = chance.randrange(len(spoilt))
            spoilt[at : at + 64] = chance.randbytes(64)
            path.write_bytes(spoilt if chance.random() < 0.7 else whole[:at])
            with opened(folder, store) as table:
                table.refresh()
                assert [
                    (row.started, row.outcomes, row.capabilities) for row in every(table)
                ] == told
                assert len(every(table)) == 30

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE runs SET body = x'90'",
            "DELETE FROM shared",
            "UPDATE shared SET body = x'90'",
        ],
    )
    def test_a_table_that_says_something_else_than_the_files_is_made_anew(
        self, folder: Path, store: RecordFiles, change: str
    ) -> None:
        store.add(full())
        with opened(folder, store) as table:
            table.refresh()
        with closing(sqlite3.connect(file_in(folder), isolation_level=None)) as other:
            other.execute(change)
        with opened(folder, store) as table:
            table.refresh()
            assert outcomes(table) == [str(full().outcome)]
            assert table.refresh() == 0

    def test_where_the_file_cannot_be_made_it_does_without(
        self, tmp_path: Path, store: RecordFiles
    ) -> None:
        (tmp_path / "taken").write_text("")
        store.add(full())
        with opened(tmp_path / "taken", store) as table:
            assert table.refresh() == 1
            assert len(every(table)) == 1

    def test_two_runs_may_refresh_one_table(self, folder: Path, store: RecordFiles) -> None:
        store.add(full())
        with opened(folder, store) as one, opened(folder, store) as other:
            assert one.refresh() == 1
            store.add(ran("pass", day=1))
            assert other.refresh() == 1
            assert one.refresh() == 0
            assert len(every(one)) == 2


DUE = """
import datetime, pathlib, sys
from compat.results.record_files import RecordFiles
from compat.results.answers import AnswerTable
from compat.results.snapshot import due_of
from compat.plan.cell import Cell
from compat.results.judge import EvaluationContext, judge
folder = pathlib.Path(sys.argv[1])
store = RecordFiles(folder / "tff")
table = AnswerTable(folder / "index", store, datetime.date(2026, 11, 1))
table.refresh()
present = EvaluationContext(suite_digest=sys.argv[3], day=datetime.date(2026, 11, 1))
every = {
    cell: judge(Cell(matrix="tff", coordinates=(), recipe="fresh", unread=cell), runs, present,
                lock_digest=sys.argv[2])
    for cell, runs in table.runs.items()
}
print(sum(due_of(cell, known, present.day) is not None for cell, known in every.items()))
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
        for day in range(5):
            record = ran(
                "pass",
                cell=f"py3.11-tf2.{number}",
                day=-day,
                capabilities=many,
                installed=pins,
                log="x" * 2000,
            )
            store.folder.mkdir(parents=True, exist_ok=True)
            with (store.folder / f"{record.started:%Y-%m-%d}.jsonl").open("ab") as file:
                file.write(encode_line(record))
    marks = [time.perf_counter()]
    with opened(tmp_path / "index", store) as table:
        table.refresh()
    marks.append(time.perf_counter())
    with opened(tmp_path / "index", store) as table:
        assert table.refresh() == 0
        rows = every(table)
        marks.append(time.perf_counter())
        for cell, of_cell in groupby(rows, key=lambda row: row.cell):
            assert judge(cell_of(cell), of_cell, PRESENT, lock_digest=LOCK).kind == "works"
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
    table: AnswerTable, store: RecordFiles
) -> None:
    store.add(ran("pass"))
    store.add(ran("pass", lock=OTHER_LOCK))
    table.refresh()
    assert {row.lock_digest for row in every(table)} == {LOCK, OTHER_LOCK}
