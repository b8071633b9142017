"""Records as files: what is kept, what is told to be damaged, and what no fault of the machine can
do to them.
"""

import datetime
import errno
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.made_records import CELL, NOW, OTHER_LOCK, full, ran

import compat.results.record_files as module
from compat.errors import CompatError, RecordError
from compat.results.record import Record, encode_record, record_digest
from compat.results.record_files import RecordFiles, record_names

LATER = NOW + datetime.timedelta(days=365)


@pytest.fixture
def store(tmp_path: Path) -> RecordFiles:
    (tmp_path / "tff").mkdir()
    return RecordFiles(tmp_path / "tff")


def only_file(store: RecordFiles) -> Path:
    (path,) = store.paths()
    return path


class TestTheStore:
    def test_a_record_is_read_as_it_was_kept(self, store: RecordFiles) -> None:
        assert store.add(full())
        assert store.records(CELL) == (full(),)
        assert store.cells() == (CELL,)

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
        assert store.cells() == ()

    def test_what_cannot_be_read_back_is_not_kept(self, store: RecordFiles) -> None:
        with pytest.raises(RecordError):
            store.add(ran("pass", cell="../../tmp/x"))
        assert store.cells() == ()


class TestFiles:
    def test_a_file_is_named_by_when_and_what(self, store: RecordFiles) -> None:
        store.add(full())
        digest = record_digest(encode_record(full()))
        assert (
            store.name(only_file(store))
            == f"matrices/tff/records/{CELL}/20261101T120000Z-{digest[:8]}.json"
        )

    def test_a_file_is_the_record_s_text_and_nothing_is_left_beside_it(
        self, store: RecordFiles
    ) -> None:
        store.add(full())
        assert only_file(store).read_text() == encode_record(full())
        assert os.listdir(store.folder / CELL) == [only_file(store).name]

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

    def test_where_two_digests_begin_alike_the_name_grows(self, store: RecordFiles) -> None:
        store.add(full())
        taken = only_file(store)
        taken.write_text("something else")
        assert store.add(full())
        assert store.records(CELL) == (full(),)
        assert [len(path.stem) for path in store.paths()] == [len(taken.stem), len(taken.stem) + 8]
        assert not store.add(full())

    def test_where_every_name_is_taken_by_damage_it_says_so(self, store: RecordFiles) -> None:
        (store.folder / CELL).mkdir(parents=True)
        for name in record_names(full(), record_digest(encode_record(full()))):
            (store.folder / CELL / name).write_text("damage")
        with pytest.raises(CompatError, match="stands where the record belongs"):
            store.add(full())

    def test_a_file_system_without_hard_links_will_do(
        self, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def link(*_: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", link)
        assert [store.add(full()), store.add(full())] == [True, False]
        assert store.records(CELL) == (full(),)
        assert store.damaged(NOW) == ()

    def test_a_folder_that_is_not_there_is_told_with_its_place(self, tmp_path: Path) -> None:
        with pytest.raises(CompatError) as caught:
            RecordFiles(tmp_path / "none" / "tff").add(full())
        assert (
            str(caught.value)
            == f"matrices/tff/records/{CELL}: cannot be written: no such file or directory"
        )
        assert caught.value.exit_code == 3


class TestDamage:
    def faults(self, store: RecordFiles) -> list[str]:
        return [fault.line() for fault in store.damaged(NOW)]

    def test_a_sound_store_has_none(self, store: RecordFiles) -> None:
        assert self.faults(store) == []
        store.add(full())
        assert self.faults(store) == []

    def test_every_truncated_or_flipped_file_is_named_and_the_others_are_read(
        self, store: RecordFiles
    ) -> None:
        chance = random.Random(16)
        for number in range(200):
            store.add(ran("pass", second=number))
        paths = list(store.paths())
        spoilt = chance.sample(paths, 40)
        for number, path in enumerate(spoilt):
            data = bytearray(path.read_bytes())
            at = chance.randrange(len(data))
            if number % 2:
                data[at] ^= 1 << chance.randrange(8)
            path.write_bytes(data if number % 2 else data[:at])
        assert [fault.path for fault in store.damaged(NOW)] == [
            store.name(path) for path in sorted(spoilt)
        ]
        assert len(store.records(CELL)) == 160
        assert all(path.exists() for path in spoilt)

    def test_a_record_from_the_future_is_a_fault(self, store: RecordFiles) -> None:
        store.add(ran("pass"))
        store.add(ran("pass", started=NOW + datetime.timedelta(seconds=1)))
        (fault,) = self.faults(store)
        assert fault.endswith("says that it started in the future, at 2026-11-21T22:40:13+00:00")

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("notes.txt", "is not a valid record"),
            ("20261101T120000Z-0123456.json", "is not a valid record"),
            ("20261101T120000Z-00000000.json", "has not the name that its content asks for"),
            ("20251101T120000Z-{digest}.json", "has not the name that its content asks for"),
        ],
    )
    def test_a_file_with_another_name_is_a_fault(
        self, store: RecordFiles, name: str, told: str
    ) -> None:
        store.add(full())
        path = only_file(store)
        path.rename(path.with_name(name.replace("{digest}", path.stem[-8:])))
        (fault,) = self.faults(store)
        assert fault.endswith(told)
        assert store.records(CELL) == ()

    def test_a_file_in_the_folder_of_another_cell_is_a_fault(self, store: RecordFiles) -> None:
        store.add(full())
        store.folder.joinpath(CELL).rename(store.folder / "py3.9-tf2.3-tff0.17.0")
        (fault,) = self.faults(store)
        assert fault.endswith(f"is a record of tff, {CELL}")
        assert store.records("py3.9-tf2.3-tff0.17.0") == ()

    def test_links_pipes_and_folders_are_no_records(
        self, store: RecordFiles, tmp_path: Path
    ) -> None:
        store.add(full())
        path = only_file(store)
        path.rename(tmp_path / path.name)
        path.symlink_to(tmp_path / path.name)
        os.mkfifo(path.with_name("20261101T120000Z-00000000.json"))
        path.with_name("20261101T120000Z-11111111.json").mkdir()
        path.with_name("20261101T120000Z-22222222.json").write_bytes(b"\xff\xfe")
        reasons = [fault.rpartition(": ")[2] for fault in self.faults(store)]
        assert sorted(reasons) == [
            "it is no regular file",
            "it is no regular file",
            "it is not UTF-8 at byte 0",
            "too many levels of symbolic links",
        ]

    def test_a_stray_file_or_folder_is_a_fault(self, store: RecordFiles, tmp_path: Path) -> None:
        store.add(full())
        (store.folder / "README").write_text("x")
        (store.folder / "con").mkdir()
        (store.folder / "py3.8-tf2.3-tff0.18.0").symlink_to(tmp_path)
        (store.folder / ".hidden").mkdir()
        assert [fault.rpartition(": ")[2] for fault in self.faults(store)] == [
            "is not a directory of a cell"
        ] * 3
        assert store.cells() == (CELL,)

    def test_a_folder_that_cannot_be_listed_is_a_fault(
        self, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.add(full())
        listed = os.scandir

        def scandir(path: Any) -> Any:
            if Path(path).name == CELL:
                raise PermissionError(errno.EACCES, "Permission denied")
            return listed(path)

        monkeypatch.setattr(os, "scandir", scandir)
        assert self.faults(store) == [
            f"matrices/tff/records/{CELL}: cannot be listed: permission denied"
        ]

    def test_a_huge_file_is_refused_without_being_read_whole(self, store: RecordFiles) -> None:
        store.add(full())
        path = only_file(store)
        with path.open("r+b") as file:
            file.truncate(10 * 1024**3)
        (fault,) = self.faults(store)
        assert fault.endswith("is larger than 2097152 bytes")


class TestSweep:
    def left_over(self, store: RecordFiles, minutes: float) -> Path:
        store.add(full())
        path = store.folder / CELL / ".1234-abcdef.tmp"
        path.write_text("torn")
        moment = (NOW - datetime.timedelta(minutes=minutes)).timestamp()
        os.utime(path, (moment, moment))
        return path

    def test_what_a_killed_writer_left_is_not_seen_and_goes_after_an_hour(
        self, store: RecordFiles
    ) -> None:
        path = self.left_over(store, minutes=61)
        assert store.records(CELL) == (full(),)
        assert store.damaged(NOW) == ()
        assert store.sweep(NOW) == 1
        assert not path.exists()
        assert store.records(CELL) == (full(),)

    def test_what_a_writer_may_still_be_writing_stays(self, store: RecordFiles) -> None:
        path = self.left_over(store, minutes=59)
        assert store.sweep(NOW) == 0
        assert path.exists()

    def test_what_was_written_by_a_clock_ahead_of_ours_stays(self, store: RecordFiles) -> None:
        path = self.left_over(store, minutes=-600)
        assert store.sweep(NOW) == 0
        assert path.exists()


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


TOUCHING = ("open", "write", "fsync", "link", "rename", "close", "mkdir", "unlink", "fstat")


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
            told = ""
            try:
                acknowledged = store.add(full())
            except CompatError as error:
                acknowledged, told = False, str(error)
            finally:
                monkeypatch.setattr(module, "os", os)
            after = set(store.records(CELL))
            assert before <= after <= before | {full()}
            assert store.damaged(NOW) == ()
            assert acknowledged or told.startswith(
                f"matrices/tff/records/{CELL}: cannot be written: "
            )
            assert not acknowledged or full() in after
            store.add(full())
            assert set(store.records(CELL)) == before | {full()}
            assert len(list(store.paths())) == len(before) + 1
            failed.add(machine.failed)
        assert failed >= {"open", "write", "fsync", "link", "close", ""}

    def test_a_file_and_its_folders_are_on_the_disk_before_it_is_acknowledged(
        self, store: RecordFiles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[str] = []
        fsync, link = os.fsync, os.link

        def synced(handle: int) -> None:
            told.append(f"sync {Path(os.readlink(f'/proc/self/fd/{handle}')).name}")
            fsync(handle)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "link", lambda *paths: (told.append("link"), link(*paths)))
        store.add(full())
        assert told[0].endswith(".tmp")
        assert told[1:] == ["link", f"sync {CELL}", "sync records", "sync tff"]

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
        (store.folder / CELL / "20261101T120000Z-11111111.json").mkdir()
        store.records(CELL)
        store.damaged(LATER)
        assert len(os.listdir("/proc/self/fd")) == before
