import mmap
import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import pytest
from support import hostile
from support.hostile import CONTAINED, EACH_LEVEL, PATH, PLENTY, Place

from compat.files import remove_tree
from compat.run import keeper, meter
from compat.run.evidence import DeadChild, Isolation
from compat.run.meter import Disk, taken
from compat.run.supervise import levels, run_limited


@pytest.fixture(params=EACH_LEVEL)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return hostile.place(request, tmp_path)


class TestACommandThatEndsByItself:
    def test_gives_its_exit_code_and_its_output(self, place: Place) -> None:
        ended = place.run("print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)")
        assert (ended.by, ended.exit_code, ended.signal) == ("exit", 3, None)
        assert (ended.isolation, ended.survivors) == (place.level, 0)
        assert place.log.read_text() == "out\nerr\n"

    @pytest.mark.parametrize(
        "number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGKILL]
    )
    def test_gives_the_signal_that_killed_it(self, place: Place, number: signal.Signals) -> None:
        ended = place.run(f"os.kill(os.getpid(), {int(number)})")
        assert (ended.by, ended.exit_code, ended.signal) == ("exit", None, number)

    def test_a_real_segmentation_fault_is_one(self, place: Place) -> None:
        assert place.run("import ctypes; ctypes.string_at(0)").signal == signal.SIGSEGV

    def test_finds_its_signals_as_they_are_by_default(self, place: Place) -> None:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            ended = place.run("""
                print(sorted(n for n in signal.valid_signals() if signal.getsignal(n) == \
signal.SIG_IGN))
                print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), \
resource.getrlimit(resource.RLIMIT_CORE))
                """)
        finally:
            signal.signal(signal.SIGINT, before)
        assert ended.exit_code == 0
        # Python itself ignores these two.
        ignored = [signal.SIGPIPE, signal.SIGXFSZ]
        assert place.log.read_text() == f"{ignored}\n[] (0, 0)\n"

    def test_sees_the_variables_of_the_room_and_no_other(self, place: Place) -> None:
        ended = run_limited(["/usr/bin/env"], place.room(), PLENTY, level=place.level)
        names = {line.partition("=")[0] for line in place.log.read_text().splitlines()}
        # Bubblewrap says where the program stands; at L0 a mark tells whose orphan it is.
        assert names - {"PWD"} == ({"PATH", "COMPAT_CELL"} if place.level == "L0" else {"PATH"})
        assert ended.exit_code == 0

    def test_reads_nothing_and_has_no_descriptor_of_ours(self, place: Place) -> None:
        place.run("print(repr(sys.stdin.read()), len(os.listdir('/proc/self/fd')))")
        assert place.log.read_text() == "'' 4\n"

    def test_that_cannot_be_started_ends_as_in_a_shell(self, place: Place) -> None:
        ended = run_limited(["/no/such/program"], place.room(), PLENTY, level=place.level)
        assert (ended.by, ended.exit_code) == ("exit", 127)
        assert "/no/such/program could not be started" in place.log.read_text()


@pytest.mark.slow
class TestTime:
    def test_a_program_that_ignores_every_request_to_end_is_killed(self, place: Place) -> None:
        ended = place.run(
            """
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)
            while True:
                pass
            """,
            wall_seconds=1,
        )
        assert (ended.by, ended.exit_code, ended.signal) == ("wall-time", None, None)
        assert not place.alive(0)

    def test_a_stopped_program_is_killed(self, place: Place) -> None:
        ended = place.run("os.kill(os.getpid(), signal.SIGSTOP)", wall_seconds=1)
        assert ended.by == "wall-time"
        assert not place.alive(0)

    def test_a_program_that_is_asked_to_end_may_say_a_last_word(self, place: Place) -> None:
        ended = place.run(
            """
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, lambda *_: (print("goodbye"), sys.exit(0)))
            while True:
                time.sleep(0.01)
            """,
            # Long enough for an interpreter to start on a machine under load.
            wall_seconds=5,
        )
        assert (ended.by, ended.exit_code) == ("wall-time", None)
        assert place.log.read_text() == "goodbye\n"

    def test_a_silent_hang_ends_early_and_leaves_its_stacks(self, place: Place) -> None:
        ended = place.run(
            """
            import faulthandler
            faulthandler.register(signal.SIGUSR1, all_threads=True)
            def waits_for_ever():
                time.sleep(100)
            waits_for_ever()
            """,
            silence_seconds=1,
        )
        assert ended.by == "silence"
        assert "in waits_for_ever" in place.log.read_text()

    def test_a_silence_over_a_crashed_child_names_it(self, place: Place) -> None:
        ended = place.run(
            """
            if os.fork() == 0:
                import ctypes
                # PR_SET_NAME: below L3 Landlock keeps a cell from writing to /proc.
                ctypes.CDLL(None).prctl(15, b"a (w) Z 1", 0, 0, 0)
                os.kill(os.getpid(), signal.SIGILL)
            time.sleep(100)
            """,
            silence_seconds=1,
        )
        assert ended.by == "silence"
        assert ended.dead_child == DeadChild(program="a??w??Z?1", signal=signal.SIGILL)

    @pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), signal.SIGTERM)"])
    def test_a_child_that_ended_otherwise_explains_no_silence(self, place: Place, end: str) -> None:
        ended = place.run(
            f"""
            if os.fork() == 0:
                {end}
            time.sleep(100)
            """,
            silence_seconds=1,
        )
        assert (ended.by, ended.dead_child) == ("silence", None)

    @pytest.mark.parametrize("who", ["itself", "a child"])
    @pytest.mark.parametrize(
        "work", ["sum(range(1000))", "(time.sleep(0.2), print('.', flush=True))"]
    )
    def test_work_or_output_is_no_silence(self, place: Place, work: str, who: str) -> None:
        ended = place.run(
            f"""
            if {who == "a child"} and os.fork():
                os.wait()
                sys.exit(0)
            end = time.monotonic() + 3.2
            while time.monotonic() < end:
                {work}
            """,
            silence_seconds=1.5,
        )
        assert ended.by == "exit"

    def test_a_cancelled_program_ends(self, place: Place) -> None:
        cancel = threading.Event()
        threading.Timer(0.5, cancel.set).start()
        ended = place.run(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)", cancel
        )
        assert ended.by == "cancelled"
        assert not place.alive(0)


FORKS = "for _ in range({}):\n    if os.fork() == 0:\n        "
TOUCH = "taken = {}\nfor page in range(0, len(taken), 4096):\n    taken[page] = 1"
TAKING = {
    "by all processes together": FORKS.format(4) + "break\ntaken = b'x' * (80 << 20)",
    "anonymous shared memory": TOUCH.format("mmap.mmap(-1, 400 << 20)"),
    "shared memory of each": FORKS.format(3) + "break\n" + TOUCH.format("mmap.mmap(-1, 90 << 20)"),
}
ONCE = {
    "by forked processes": (
        "taken = b'x' * (100 << 20)\n"
        + FORKS.format(4)
        + "time.sleep(1.5); os._exit(0)\nfor _ in range(4): os.wait()",
        100,
    ),
    "held and mapped": (
        "file = os.memfd_create('m')\nos.ftruncate(file, 120 << 20)\n"
        + TOUCH.format("mmap.mmap(file, 120 << 20)")
        + "\ntime.sleep(1.5)",
        120,
    ),
}


class TestMemory:
    def test_a_program_over_the_limit_is_killed(self, place: Place) -> None:
        ended = place.run(
            """
            resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
            taken = []
            while len(taken) < 60:
                taken.append(b"x" * (10 << 20))
                time.sleep(0.02)
            time.sleep(20)
            """,
            memory_mb=200,
        )
        assert ended.by == "memory"
        assert 200 <= ended.peak_memory_mb < 600

    @pytest.mark.parametrize("take", TAKING.values(), ids=TAKING)
    def test_what_is_taken_over_the_limit_counts(self, place: Place, take: str) -> None:
        ended = place.run(f"import mmap\n{take}\ntime.sleep(20)", memory_mb=200)
        assert ended.by == "memory"
        assert not place.alive(0)

    @pytest.mark.parametrize(("take", "least"), ONCE.values(), ids=ONCE)
    def test_what_is_shared_counts_once(self, place: Place, take: str, least: int) -> None:
        ended = place.run(f"import mmap\n{take}", memory_mb=200)
        assert ended.by == "exit"
        assert least <= ended.peak_memory_mb < 200

    @pytest.mark.parametrize(
        "file",
        [
            'os.memfd_create("m")',
            'os.open("/dev/shm/" + sys.argv[1], os.O_CREAT | os.O_WRONLY)',
            'os.open("/tmp/" + sys.argv[1], os.O_CREAT | os.O_WRONLY)',
        ],
        ids=("memfd", "shm", "tmp"),
    )
    def test_memory_that_nobody_maps_counts(self, place: Place, file: str) -> None:
        if "/tmp/" in file and place.level != "L3":
            pytest.skip("no memory: below L3 it is the machine's own folder")
        ended = place.run(
            f"""
            descriptor = {file}
            if "memfd" not in {file!r}:
                os.unlink(os.readlink(f"/proc/self/fd/{{descriptor}}"))
            try:
                for _ in range(400):
                    os.write(descriptor, b"x" * (1 << 20))
            except OSError as fault:
                print(fault.strerror)
            time.sleep(20)
            """,
            memory_mb=200,
        )
        by_size = place.log.read_text() == "No space left on device\n"
        assert ended.by == "memory"
        assert not by_size or "sizes" in ended.memory

    @pytest.mark.parametrize("missing", ["smaps", "smaps_rollup", "status"])
    def test_what_is_held_counts_once_when_its_process_ends_between_two_readings(
        self, monkeypatch: pytest.MonkeyPatch, missing: str
    ) -> None:
        """Each reading is the last that finds the process, whichever order they have."""
        myself = keeper.process(os.getpid())
        assert myself is not None
        descriptor = os.memfd_create("m")
        try:
            os.ftruncate(descriptor, 64 << 20)
            with mmap.mmap(descriptor, 64 << 20) as taken:
                taken.write(b"x" * (64 << 20))
                held, read, gone = meter.Held(), meter._read, []
                held.add_files(myself)

                def ending(member: keeper.Process, name: str) -> bytes:
                    gone.extend([name] if name == missing else [])
                    return b"" if gone else read(member, name)

                whole = meter._divided([myself], held)
                monkeypatch.setattr(meter, "_read", ending)
                assert meter._divided([myself], held) <= whole + (4 << 10)
        finally:
            os.close(descriptor)

    def test_a_process_that_forbids_to_be_looked_at_counts_in_full(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        myself = keeper.process(os.getpid())
        assert myself is not None
        read = meter._read
        monkeypatch.setattr(
            meter,
            "_read",
            lambda member, name: b"" if name == "smaps_rollup" else read(member, name),
        )
        assert meter._divided([myself] * 2, meter.Held()) >= 2 * meter._own([myself]) > 0


class TestOutput:
    def test_a_flood_is_cut_to_head_and_tail(self, place: Place) -> None:
        ended = place.run(
            r"""
            os.write(1, b"the head\n")
            for _ in range(60):
                os.write(1, (b"\xff\x00\x1b[31m" * 10 + b"\n") * (1 << 20 >> 6))
            time.sleep(20)
            """,
            output_mb=5,
        )
        assert (ended.by, ended.exit_code) == ("output", None)
        text = place.log.read_bytes()
        assert len(text) <= 5 << 20
        assert text.startswith(b"the head\n")
        assert b" bytes cut ..." in text[2 << 20 : 3 << 20]

    def test_one_huge_line_is_cut_even_when_it_ended_before_anyone_looked(
        self, place: Place
    ) -> None:
        ended = place.run("sys.stdout.write('x' * (2 << 20))", output_mb=1)
        assert ended.by == "output"
        assert place.log.stat().st_size <= 1 << 20

    def test_a_log_within_its_limit_is_left_alone(self, place: Place) -> None:
        place.run(r"os.write(1, b'\xff\x00' * 1000)", output_mb=1)
        assert place.log.read_bytes() == b"\xff\x00" * 1000

    def test_a_link_in_the_place_of_the_log_is_not_followed(self, place: Place) -> None:
        victim = place.folder / "victim"
        victim.write_text("precious")
        place.log.symlink_to(victim)
        with pytest.raises(OSError, match="symbolic links"):
            place.run("print()")
        assert victim.read_text() == "precious"


# How 200 writes of a MiB leave no file of that size to be seen. Lines are those of the test's own.
HIDDEN = {
    "without-a-name": "file = open('big', 'wb'); os.unlink('big')",
    "never-named": "file = open(os.open('.', os.O_TMPFILE | os.O_RDWR), 'wb')",
    "below-a-long-path": "for _ in range(99): os.mkdir('d' * 99), os.chdir('d' * 99)\n"
    "                file = open('big', 'wb')",
    "linked-and-dated-back": "big = os.open('big', os.O_CREAT | os.O_RDWR)\n"
    "                os.link('big', 'again'), os.posix_fallocate(big, 0, 200 << 20)\n"
    "                os.utime('big', (0, 0))\n"
    "                file = types.SimpleNamespace(write=len, flush=lambda: None)",
    "mapped-and-closed": "libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p\n"
    "                big = os.open('.', os.O_TMPFILE | os.O_RDWR)\n"
    "                size = 200 << 20; os.ftruncate(big, size)\n"
    "                at = libc.mmap(None, ctypes.c_size_t(size), 3, 1, big, ctypes.c_long(0))\n"
    "                os.close(big); pages = iter(range(at, at + size, 1 << 20))\n"
    "                write = lambda data: ctypes.memmove(next(pages), data, len(data))\n"
    "                file = types.SimpleNamespace(write=write, flush=lambda: None)",
    # FALLOC_FL_KEEP_SIZE leaves the length of the log as it is.
    "in-the-log": "take = ctypes.CDLL(None).fallocate\n"
    "                flush = lambda: take(1, 1, ctypes.c_long(0), ctypes.c_long(200 << 20))\n"
    "                file = types.SimpleNamespace(write=len, flush=flush)",
}


class TestDisk:
    def test_a_program_that_fills_its_folder_is_killed(self, place: Place) -> None:
        ended = place.run(
            """
            with open("big", "wb") as file:
                for _ in range(200):
                    file.write(os.urandom(1 << 20))
                    file.flush()
                    time.sleep(0.01)
            time.sleep(20)
            """,
            disk_mb=50,
        )
        assert ended.by == "disk"
        assert (place.folder / "big").stat().st_size <= 200 << 20

    @pytest.mark.parametrize("level", CONTAINED)
    @pytest.mark.parametrize("hide", HIDDEN.values(), ids=HIDDEN)
    def test_files_that_are_hidden_count(self, tmp_path: Path, level: Isolation, hide: str) -> None:
        if level not in hostile.allowed():
            pytest.skip(f"this machine does not allow {level}")
        # Its own /tmp would be memory; and only a disk has what free space shows.
        with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
            place = Place(Path(folder), level)
            place.log = tmp_path / "log"
            ended = place.run(
                f"""
                import ctypes, mmap, types
                {hide}
                for _ in range(200):
                    file.write(os.urandom(1 << 20))
                    file.flush()
                    time.sleep(0.01)
                time.sleep(20)
                """,
                disk_mb=50,
            )
            remove_tree(Path(folder))
            Path(folder).mkdir()
        assert ended.by == "disk"

    def test_hardly_anything_free_is_full_whoever_took_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disk = Disk([tmp_path], 50)
        assert not disk.is_full()
        found = os.statvfs(tmp_path)
        nearly_full = (*found[:3], 1, 1, *found[5:10])
        monkeypatch.setattr(
            "compat.run.meter.os.statvfs", lambda folder: os.statvfs_result(nearly_full)
        )
        assert disk.is_full()

    def test_what_others_free_does_not_hide_what_is_taken(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("compat.run.meter._WALK_SECONDS", 0)
        monkeypatch.setattr(Disk, "_free", lambda disk: 1e12)
        disk = Disk([tmp_path], 1)
        (tmp_path / "big").write_bytes(bytes(2 << 20))
        time.sleep(0.01)
        disk.is_full()
        assert disk.walk is not None
        disk.walk.join()
        assert disk.is_full()

    def test_a_walk_may_outlast_the_descriptor_of_the_log(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ended, faults = threading.Event(), list[threading.ExceptHookArgs]()
        monkeypatch.setattr("threading.excepthook", faults.append)
        monkeypatch.setattr("compat.run.meter._WALK_SECONDS", -1)
        monkeypatch.setattr("compat.run.meter.taken", lambda *given: ended.wait(60) and 0)
        with (tmp_path / "log").open("wb") as log:
            disk = Disk([tmp_path], 50, log=log.fileno())
            assert not disk.is_full()
        ended.set()
        assert disk.walk is not None
        disk.walk.join()
        assert not faults

    def test_only_new_files_count_and_none_that_is_linked_from_elsewhere(
        self, tmp_path: Path
    ) -> None:
        cell = tmp_path / "cell"
        cell.mkdir()
        for name in ("cell/old", "wheel"):
            (tmp_path / name).write_bytes(bytes(1 << 20))
        time.sleep(0.1)
        since = time.time() - 0.05
        os.link(tmp_path / "wheel", cell / "installed")
        (cell / "new").write_bytes(bytes(2 << 20))
        os.link(cell / "new", cell / "again")
        (cell / "sparse").touch()
        os.truncate(cell / "sparse", 1 << 30)
        (cell / "folder").mkdir()
        # A file without content and a folder are one of a number that a disk can hold.
        small = (cell / "folder").stat().st_blocks * 512 or 4096
        assert taken([cell], since, [], links=True) == (2 << 20) + 4096 + small
        # The wheel's other link is elsewhere; an old file that is not, code may have dated back.
        os.link(cell / "old", cell / "relinked")
        assert taken([cell], since, [], links=True) < 3 << 20
        assert taken([cell], since, [], links=False) == (3 << 20) + 4096 + small


BOMB = """
    signal.alarm(15)
    # The cap: a place in a queue that holds no more than 400.
    read, write = os.pipe()
    os.write(write, b"x" * 400)
    os.set_blocking(read, False)
    while True:
        try:
            if not os.read(read, 1):
                break
            if os.fork() == 0:
                signal.alarm(15)
        except OSError:
            time.sleep(1)
"""


class TestProcesses:
    def test_a_fork_bomb_is_contained(self, place: Place) -> None:
        ended = place.run(BOMB, processes=60)
        assert ended.by == "processes"
        assert not place.alive()

    @pytest.mark.parametrize("means", ["group", "limit of the user"])
    def test_the_kernel_refuses_what_a_starved_supervisor_does_not_see(
        self, place: Place, means: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        is_group = means == "group"
        if is_group and not any("pids" in home.controllers for home in meter.group_homes()):
            pytest.skip("this machine gives no control group for processes")
        if not is_group:
            if os.getuid() == 0 or place.level not in hostile.NAMESPACED:
                pytest.skip("the kernel counts no processes of root, and others' by namespace")
            monkeypatch.setattr(meter, "group_homes", lambda: ())
        monkeypatch.setattr(meter.Meter, "_looked", lambda self: None)
        monkeypatch.setattr(meter.Meter, "broken", lambda self: None)
        ended = place.run(
            """
            read, write = os.pipe()
            started = 0
            try:
                while started < 100:
                    if os.fork() == 0:
                        os.read(read, 1)
                        os._exit(0)
                    started += 1
            except BlockingIOError:
                pass
            print(started)
            os.write(write, bytes(100))
            """,
            processes=10,
        )
        # Beside them the keeper and the program itself are in the group.
        assert not is_group or (ended.by, place.log.read_text()) == ("processes", "38\n")
        # 4 tasks for each of 10 processes, and a margin in which the supervisor sees them first.
        assert int(place.log.read_text()) < 90

    def test_many_threads_count_as_processes_do(self, place: Place) -> None:
        ended = place.run(
            """
            import threading
            try:
                for _ in range(100):
                    threading.Thread(target=time.sleep, args=(10,), daemon=True).start()
            except RuntimeError:
                pass
            time.sleep(15)
            """,
            processes=10,
        )
        assert ended.by == "processes"

    def test_a_few_are_no_bomb(self, place: Place) -> None:
        ended = place.run("""
            for _ in range(30):
                if os.fork() == 0:
                    time.sleep(1)
                    os._exit(0)
            for _ in range(30):
                os.wait()
            """)
        assert ended.by == "exit"


class TestLevels:
    def test_the_lowest_is_always_there_and_the_highest_comes_first(self) -> None:
        found = levels({"PATH": PATH})
        assert found[-1] == "L0"
        assert list(found) == [level for level in EACH_LEVEL if level in found]

    def test_a_sandbox_that_does_not_start_is_no_verdict(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refuses = tmp_path / "bwrap"
        refuses.write_text(
            "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
        )
        refuses.chmod(0o755)
        monkeypatch.setattr("compat.run.isolation._SYSTEM_PATH", str(tmp_path))
        ended = Place(tmp_path, "L3").run("print()")
        assert (ended.by, ended.exit_code) == ("sandbox", None)
        assert "Permission denied" in (tmp_path / "log").read_text()
        assert "L3" not in levels({"PATH": PATH})

    def test_a_missing_sandbox_is_no_verdict(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("compat.run.isolation.tool", lambda name: str(tmp_path / name))
        assert Place(tmp_path, "L2").run("print()").by == "sandbox"
        assert "could not be started" in (tmp_path / "log").read_text()

    def test_a_keeper_that_vanishes_is_no_verdict(self, tmp_path: Path) -> None:
        threading.Timer(0.5, hostile.signal_keeper, (signal.SIGKILL,)).start()
        ended = Place(tmp_path, "L1").run("time.sleep(10)")
        assert ended.by == "sandbox"

    def test_a_long_run_costs_its_supervisor_few_looks(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks: list[float] = []
        looked = meter.Meter._looked
        monkeypatch.setattr(
            meter.Meter, "_looked", lambda self: (looks.append(self.seconds()), looked(self))[1]
        )
        ended = Place(tmp_path, "L1").run("time.sleep(4)")
        assert ended.by == "exit"
        assert 0 < len(looks) <= ended.seconds / 0.5 + 2  # one more at each end
