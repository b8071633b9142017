import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from support import hostile
from support.hostile import CONTAINED, EACH_LEVEL, NAMESPACED, ORPHANS, PATH, Place

from compat.run import meter
from compat.run.keeper import process


@pytest.fixture(params=EACH_LEVEL)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return hostile.place(request, tmp_path)


@pytest.fixture(params=CONTAINED)
def contained(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return hostile.place(request, tmp_path)


@pytest.fixture(params=NAMESPACED)
def namespaced(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return hostile.place(request, tmp_path)


def script(text: str) -> str:
    return textwrap.dedent(ORPHANS) + textwrap.dedent(text)


class TestThreeKindsOfOrphan:
    def test_none_survives_a_program_that_ended_by_itself(self, contained: Place) -> None:
        ended = contained.run(script("os._exit(0)"))
        assert (ended.by, ended.exit_code, ended.survivors) == ("exit", 0, 3)
        assert not contained.alive(0)

    def test_none_survives_a_program_that_ran_out_of_time(self, contained: Place) -> None:
        ended = contained.run(script("time.sleep(30)"), wall_seconds=1)
        assert ended.by == "wall-time"
        assert not contained.alive(0)

    def test_none_survives_a_program_that_crashed(self, contained: Place) -> None:
        ended = contained.run(script("os.abort()"))
        assert (ended.signal, ended.survivors) == (signal.SIGABRT, 3)
        assert not contained.alive(0)

    def test_without_any_isolation_those_with_a_trace_are_found(self, tmp_path: Path) -> None:
        place = Place(tmp_path, "L0")
        ended = place.run(script("os._exit(0)"))
        try:
            assert ended.survivors >= 2
            assert len(place.alive(0)) <= 1
        finally:
            kill_marked(place)

    def test_children_that_end_with_their_parent_are_no_survivors(self, place: Place) -> None:
        ended = place.run("if os.fork() == 0: time.sleep(0.01); os._exit(0)")
        assert (ended.by, ended.survivors) == ("exit", 0)


class TestASupervisorThatIsKilled:
    def test_takes_everything_with_it(self, contained: Place) -> None:
        supervisor = supervised(contained, script("time.sleep(30)"))
        assert len(contained.alive(0)) >= 4
        supervisor.kill()
        supervisor.wait()
        assert not contained.alive(10)

    def test_takes_everything_with_it_even_when_the_program_ignores_signals(
        self, namespaced: Place
    ) -> None:
        text = "for n in (1, 2, 10, 15): signal.signal(n, signal.SIG_IGN)\n"
        supervisor = supervised(namespaced, text + script("while True: time.sleep(1)"))
        supervisor.kill()
        supervisor.wait()
        assert not namespaced.alive(10)

    def test_leaves_nothing_when_it_is_interrupted(self, place: Place) -> None:
        supervisor = supervised(place, "while True: time.sleep(0.1)")
        supervisor.send_signal(signal.SIGINT)
        assert supervisor.wait(60) != 0
        assert not place.alive(0)


@pytest.mark.slow
class TestASupervisorThatIsStarved:
    def test_has_a_keeper_that_ends_the_program_at_the_deadline(self, contained: Place) -> None:
        text = "for n in (1, 2, 10, 15): signal.signal(n, signal.SIG_IGN)\n" + script(
            "while True: time.sleep(1)"
        )
        supervisor = supervised(contained, text, wall_seconds=3)
        assert contained.alive(0)
        supervisor.send_signal(signal.SIGSTOP)
        try:
            # The program's own cap is 20 seconds.
            deadline = time.monotonic() + 14
            while len(contained.alive(0)) > 1 and time.monotonic() < deadline:
                time.sleep(0.1)
            assert [line for line in contained.alive(0) if "hostile.py" in line] == []
        finally:
            supervisor.send_signal(signal.SIGCONT)
        assert supervisor.communicate(timeout=60)[0] == b"wall-time\n"

    def test_has_a_keeper_that_ends_a_program_politely(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(meter.Meter, "broken", lambda self: None)
        ended = place.run(
            """
            signal.signal(signal.SIGUSR1, lambda *_: print("stacks", flush=True))
            signal.signal(signal.SIGTERM, lambda *_: (print("goodbye", flush=True), sys.exit(0)))
            while True:
                time.sleep(0.01)
            """,
            wall_seconds=1,
        )
        assert (ended.by, ended.exit_code, ended.signal) == ("wall-time", None, None)
        assert place.log.read_text() == "stacks\ngoodbye\n"


class TestAHostileProgram:
    def test_cannot_stop_or_kill_an_init(self, namespaced: Place) -> None:
        ended = namespaced.run(
            """
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
                try:
                    os.kill(1, number)
                except PermissionError:
                    pass
            time.sleep(30)
            """,
            wall_seconds=1,
        )
        # The request to end reaches the keeper also from inside: the program only ends itself by
        # it.
        assert ended.by in ("wall-time", "sandbox")
        assert not namespaced.alive(0)

    def test_whose_keeper_is_stopped_is_killed_from_outside(self, tmp_path: Path) -> None:
        place = Place(tmp_path, "L1")
        threading.Timer(0.5, hostile.signal_keeper, (signal.SIGSTOP,)).start()
        ended = place.run("time.sleep(30)", wall_seconds=1)
        assert ended.by == "wall-time"
        assert not place.alive(0)

    @pytest.mark.parametrize("rest", [0, 0.001, 0.01])
    def test_a_chain_in_which_each_starts_the_next_and_leaves_is_ended(
        self, contained: Place, rest: float
    ) -> None:
        ended = contained.run(
            f"""
            end = time.monotonic() + 15
            while time.monotonic() < end:
                if os.fork() != 0:
                    os._exit(0)
                time.sleep({rest})
            """,
        )
        # Where a loaded machine does not reap the dead ones in time, their number ends the chain.
        assert (ended.by, ended.exit_code) in (("exit", 0), ("processes", None))
        assert ended.by == "processes" or ended.survivors >= 1
        assert not contained.alive(0)


def supervised(place: Place, text: str, **limits: float) -> "subprocess.Popen[bytes]":
    """Return a supervisor as a process of its own, once its program runs."""
    # What a shell starts in the background ignores interrupts, and so does what that starts.
    program = f"""
import signal
from pathlib import Path
from support.hostile import PLENTY, Place
signal.signal(signal.SIGINT, signal.default_int_handler)
place = Place(Path({str(place.folder)!r}), {place.level!r})
place.mark = {place.mark!r}
print(place.run({text!r}, **{limits!r}).by)
"""
    found = subprocess.Popen(
        [sys.executable, "-c", program],
        env={"PATH": PATH, "PYTHONPATH": str(Path(hostile.__file__).parent.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 15
    wanted = 4 if "ORPHANS" in text or "idle()" in text else 1
    while len(place.alive(0)) < wanted + 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    return found


def kill_marked(place: Place) -> None:
    for name in os.listdir("/proc"):
        if name.isdigit() and process(int(name)):
            line = Path(f"/proc/{name}/cmdline")
            if line.exists() and place.mark.encode() in line.read_bytes():
                os.kill(int(name), signal.SIGKILL)
