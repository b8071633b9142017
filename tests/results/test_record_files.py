"""Records as files: what is kept, what is told to be damaged, and what no fault of the machine can
do to them.
"""

import datetime
import errno
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.made_records import CELL, NOW, OTHER_LOCK, cells_in, damaged, full, ran

import compat.files as files
import compat.results.record_files as module
from compat.errors import CompatError, RecordError
from compat.results.record import MOST_BYTES, Record, encode_line, encode_record, record_digest
from compat.results.record_files import RecordFiles

LATER = NOW + datetime.timedelta(days=365)


@pytest.fixture
def store(tmp_path: Path) -> RecordFiles:
    (tmp_path / "tff").mkdir()
    return RecordFiles(tmp_path / "tff")


def only_file(store: RecordFiles) -> Path:
    ((name, _),) = store.states()
    return store.folder / name


def lines_in(store: RecordFiles) -> list[bytes]:
    paths = [store.folder / name for name, _ in store.states()]
    return [line for path in paths for line in path.read_bytes().splitlines(keepends=True)]


class TestTheStore:
    def test_a_record_is_read_as_it_was_kept(self, store: RecordFiles) -> None:
        assert store.add(full())
        assert store.records(CELL) == (full(),)
        assert cells_in(store) == (CELL,)

    def test_the_identical_record_is_kept_once(self, store: RecordFiles) -> None:
        assert [store.add(full()), store.add(full())] == [True, False]
        assert store.records(CELL) == (full(),)

    def test_conflicting_records_of_one_moment_are_both_kept(self, store: RecordFiles) -> None:
        records = [ran("pass"), ran("import-fail:abort")]
        assert all(store.add(record) for record in records)
        assert set(store.records(CELL)) == set(records)

    def test_records_come_by_when_they_started(self, store: RecordFiles) -> None:
        records = [
            ran("pass", day=day, second=second / 8)
            for day, second in [(3, 0), (1, 0), (2, 0), (1, 3), (1, 1)]
        ]
        for record in records:
            store.add(record)
        assert store.records(CELL) == tuple(sorted(records, key=lambda record: record.started))

    def test_a_cell_that_never_ran_has_no_records(self, store: RecordFiles) -> None:
        assert store.records(CELL) == ()
        assert cells_in(store) == ()

    def test_what_cannot_be_read_back_is_not_kept(self, store: RecordFiles) -> None:
        with pytest.raises(RecordError):
            store.add(ran("pass", cell="../../tmp/x"))
        assert cells_in(store) == ()


class TestFiles:
    def test_a_file_holds_the_records_of_a_day_one_a_line(self, store: RecordFiles) -> None:
        records = [full(), ran("pass", second=1), ran("pass", day=1)]
        for record in records:
            store.add(record)
        assert sorted(os.listdir(store.folder)) == [
            ".gitattributes",
            "2026-11-01.jsonl",
            "2026-11-02.jsonl",
        ]
        assert lines_in(store) == [encode_line(record) for record in records]

    def test_of_two_branches_git_takes_the_lines_of_both(self, tmp_path: Path) -> None:
        def git(*words: str) -> None:
            options = ("-c", "user.name=a", "-c", "user.email=a@example.org")
            subprocess.run(["git", *options, *words], cwd=tmp_path, check=True, capture_output=True)

        (tmp_path / "tff").mkdir()
        store = RecordFiles(tmp_path / "tff")
        store.add(full())
        git("init", "--initial-branch=main")
        for branch, second in (("main", 0), ("other", 1), ("main", 2)):
            git("checkout", *(["-B"] if second < 2 else []), branch)
            store.add(ran("pass", second=second))
            git("add", "--all")
            git("commit", "--message", branch)
        git("merge", "other")
        assert len(lines_in(store)) == len(store.records(CELL)) == 4
        assert damaged(store, NOW) == ()

    def test_a_file_can_be_read_by_all(self, store: RecordFiles) -> None:
        before = os.umask(0o022)
        try:
            store.add(full())
        finally:
            os.umask(before)
        assert only_file(store).stat().st_mode & 0o777 == 0o644

    def test_a_record_of_another_matrix_has_no_place_here(self, store: RecordFiles) -> None:
        with pytest.raises(RecordError, match="no place"):
            store.add(ran("pass", matrix="pip-tools"))

    def test_a_withdrawn_record_is_not_read_and_its_line_stays(self, store: RecordFiles) -> None:
        store.add(full())
        store.add(ran("pass"))
        digest = record_digest(encode_record(full()))
        assert store.withdraw(digest[:12], "a test was wrong") == [full()]
        assert store.withdraw(digest[:12], "a test was wrong") == []
        assert store.records(CELL) == (ran("pass"),)
        assert [record for _, record in store.read(only_file(store)).records] == [ran("pass")]
        assert (len(lines_in(store)), damaged(store, NOW)) == (3, ())
        store.withdraw("", "all of them")
        assert cells_in(store) == ()

    def test_a_folder_that_is_not_there_is_told_with_its_place(self, tmp_path: Path) -> None:
        with pytest.raises(CompatError) as caught:
            RecordFiles(tmp_path / "none" / "tff").add(full())
        assert str(caught.value).startswith("matrices/tff/records/2026-11-01.jsonl: ")
        assert caught.value.exit_code == 3


class TestDamage:
    def faults(self, store: RecordFiles) -> list[str]:
        return [fault.line() for fault in damaged(store, NOW)]

    def test_a_sound_store_has_none(self, store: RecordFiles) -> None:
        assert self.faults(store) == []
        store.add(full())
        assert self.faults(store) == []

    def test_every_truncated_or_flipped_line_is_named_and_the_others_are_read(
        self, store: RecordFiles
    ) -> None:
        chance = random.Random(16)
        for number in range(200):
            store.add(ran("pass", second=number))
        path, lines = only_file(store), lines_in(store)
        spoilt = sorted(chance.sample(range(200), 40))
        for number in spoilt:
            data = bytearray(lines[number][:-1])
            at = chance.randrange(len(data))
            # No flip makes a line break of it: that would be two lines.
            data[at] ^= 1 << chance.choice([bit for bit in range(8) if data[at] ^ 1 << bit != 10])
            lines[number] = bytes(data if number % 2 else data[:at]) + b"\n"
        path.write_bytes(b"".join(lines))
        assert [fault.path.partition(": ")[0] for fault in damaged(store, NOW)] == [
            f"{store.name(path)}:{number + 1}" for number in spoilt
        ]
        assert len(store.records(CELL)) == 160
        assert lines_in(store) == lines

    def test_a_record_from_the_future_is_a_fault(self, store: RecordFiles) -> None:
        store.add(ran("pass"))
        store.add(ran("pass", started=NOW + datetime.timedelta(seconds=1)))
        (fault,) = self.faults(store)
        assert fault.endswith("in the future, 2026-11-21T22:40:13+00:00")

    def test_a_line_in_the_file_of_another_day_or_matrix_is_a_fault(
        self, store: RecordFiles, tmp_path: Path
    ) -> None:
        store.add(full())
        only_file(store).rename(store.folder / "2026-11-02.jsonl")
        (tmp_path / "other").mkdir()
        RecordFiles(tmp_path / "other").add(ran("pass", matrix="other"))
        (tmp_path / "other" / "records" / "2026-11-01.jsonl").rename(
            store.folder / "2026-11-01.jsonl"
        )
        reasons = [fault.rpartition(": ")[2] for fault in self.faults(store)]
        assert [reason.split()[-1] for reason in reasons] == [CELL, "day"]
        assert store.records(CELL) == ()

    def test_links_pipes_and_folders_are_no_records(
        self, store: RecordFiles, tmp_path: Path
    ) -> None:
        store.add(full())
        path = only_file(store)
        path.rename(tmp_path / path.name)
        path.symlink_to(tmp_path / path.name)
        os.mkfifo(store.folder / "2026-11-02.jsonl")
        (store.folder / "2026-11-03.jsonl").mkdir()
        (store.folder / "2026-11-04.jsonl").write_bytes(b"\xff\xfe\n")
        assert [fault.rpartition(": ")[2] for fault in self.faults(store)] == [
            "too many levels of symbolic links",
            "it is no regular file",
            "it is no regular file",
            "is not UTF-8 at byte 0",
        ]
        assert store.records(CELL) == ()
        with pytest.raises(CompatError, match="it is no regular file"):
            store.add(ran("pass", day=1))

    def test_a_stray_file_or_folder_is_a_fault(self, store: RecordFiles) -> None:
        store.add(full())
        (store.folder / "README").write_text("x")
        (store.folder / "con").mkdir()
        (store.folder / CELL).mkdir()
        (store.folder / ".hidden").mkdir()
        assert ["2026-11-01.jsonl" in fault for fault in self.faults(store)] == [True, True, True]
        assert cells_in(store) == (CELL,)

    def test_a_folder_that_cannot_be_listed_is_a_fault(
        self, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.add(full())

        def listdir(path: Any) -> Any:
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(os, "listdir", listdir)
        assert self.faults(store) == ["matrices/tff/records: cannot be listed: permission denied"]

    def test_a_huge_file_is_refused_without_being_read_whole(self, store: RecordFiles) -> None:
        store.add(full())
        with only_file(store).open("r+b") as file:
            file.truncate(10 * 1024**3)
        (fault,) = self.faults(store)
        assert fault.endswith(f".jsonl:2: is larger than {MOST_BYTES} bytes")


class TestWhatAKilledWriterLeaves:
    @pytest.fixture
    def torn(self, store: RecordFiles) -> RecordFiles:
        store.add(full())
        with only_file(store).open("ab") as file:
            file.write(encode_line(ran("pass"))[:-20])
        return store

    def test_it_is_named_and_not_read(self, torn: RecordFiles) -> None:
        assert torn.records(CELL) == (full(),)
        (fault,) = damaged(torn, NOW)
        assert fault.message.startswith("is cut off: ")

    def test_the_next_writer_removes_it(self, torn: RecordFiles) -> None:
        assert torn.add(ran("pass"))
        assert set(torn.records(CELL)) == {full(), ran("pass")}
        assert (len(lines_in(torn)), damaged(torn, NOW)) == (2, ())

    def test_so_does_the_next_run(self, torn: RecordFiles) -> None:
        assert [torn.sweep(), torn.sweep()] == [1, 0]
        assert (lines_in(torn), damaged(torn, NOW)) == ([encode_line(full())], ())

    def test_a_sound_last_line_without_its_end_is_read_and_stays(self, store: RecordFiles) -> None:
        store.add(full())
        path = only_file(store)
        path.write_bytes(path.read_bytes()[:-1])
        assert (store.records(CELL), damaged(store, NOW), store.sweep()) == ((full(),), (), 0)
        assert store.add(ran("pass"))
        assert set(store.records(CELL)) == {full(), ran("pass")}
        assert damaged(store, NOW) == ()


class FailingOs:
    """The `os` module, of which the k-th call of the named functions fails."""

    def __init__(self, functions: tuple[str, ...], failing: int, number: int) -> None:
        self._functions, self._failing, self._number = functions, failing, number
        self.calls = 0
        self.failed = ""

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return (
            real
            if name not in self._functions
            else lambda *args, **more: self._call(name, real, *args, **more)
        )

    def _call(self, name: str, real: Any, *args: Any, **more: Any) -> Any:
        self.calls += 1
        if self.calls != self._failing:
            return real(*args, **more)
        self.failed = name
        if name == "close":
            real(*args)
        raise OSError(self._number, os.strerror(self._number))


TOUCHING = ("open", "write", "fsync", "close", "mkdir", "fstat", "ftruncate")


def faults_of_the_machine() -> Iterator[tuple[int, int]]:
    for number in (errno.EIO, errno.ENOSPC):
        for failing in range(1, 30):
            yield failing, number


class TestFaultsOfTheMachine:
    @pytest.mark.parametrize("old", [None, ran("import-fail:abort", lock=OTHER_LOCK)])
    def test_wherever_one_call_fails_old_and_new_are_whole(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: Record | None
    ) -> None:
        failed = set()
        for case, (failing, number) in enumerate(faults_of_the_machine()):
            folder = tmp_path / str(case) / "tff"
            folder.mkdir(parents=True)
            store = RecordFiles(folder)
            before = {old} - {None}
            for record in before:
                store.add(record)
            machine = FailingOs(TOUCHING, failing, number)
            monkeypatch.setattr(module, "os", machine)
            monkeypatch.setattr(files, "os", machine)
            told = ""
            try:
                acknowledged = store.add(full())
            except CompatError as error:
                acknowledged, told = False, str(error)
            finally:
                monkeypatch.setattr(module, "os", os)
                monkeypatch.setattr(files, "os", os)
            after = set(store.records(CELL))
            assert before <= after <= before | {full()}
            assert damaged(store, NOW) == ()
            assert acknowledged or "cannot be written: " in told
            assert not acknowledged or full() in after
            store.add(full())
            assert set(store.records(CELL)) == before | {full()}
            assert len(lines_in(store)) == len(before) + 1
            failed.add(machine.failed)
        assert failed >= {"open", "write", "fsync", "close", ""}

    def test_a_file_and_its_folders_are_on_the_disk_before_it_is_acknowledged(
        self, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.add(ran("pass"))
        synced: list[str] = []
        fsync = os.fsync

        def noted(handle: int) -> None:
            synced.append(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
            fsync(handle)

        monkeypatch.setattr(os, "fsync", noted)
        store.add(full())
        assert synced == ["2026-11-01.jsonl", "records", "tff"]

    def test_a_short_write_is_carried_on(
        self, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.write
        monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data)[:7]))
        store.add(full())
        monkeypatch.undo()
        assert store.records(CELL) == (full(),)

    def test_no_file_stays_open(self, store: RecordFiles) -> None:
        before = len(os.listdir("/proc/self/fd"))
        for number in range(20):
            store.add(ran("pass", second=number))
        (store.folder / "2026-11-03.jsonl").mkdir()
        store.records(CELL)
        damaged(store, LATER)
        assert len(os.listdir("/proc/self/fd")) == before
