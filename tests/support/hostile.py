"""Programs that misbehave, and a room to run them in; each has a cap of its own, so that none can
harm this machine.
"""

import ctypes
import functools
import os
import sys
import textwrap
import threading
import time
import uuid
from pathlib import Path

import pytest

from compat.run.evidence import Ended, Isolation, Limits
from compat.run.isolation import HIGHEST_FIRST, Room
from compat.run.keeper import processes
from compat.run.supervise import levels, run_limited

PATH = "/usr/local/bin:/usr/bin:/bin"
PLENTY = Limits(
    wall_seconds=20, silence_seconds=20, memory_mb=1000, processes=50, output_mb=5, disk_mb=500
)
# Ends itself, whatever becomes of its supervisor.
_CAP = "import os, signal, sys, time, resource\nsignal.alarm(20)\n"

ORPHANS = """
    def idle():
        signal.alarm(20)
        while True:
            time.sleep(1)

    def plain():
        if os.fork() == 0:
            idle()

    def in_a_session_of_its_own():
        if os.fork() == 0:
            os.setsid()
            idle()

    def forked_twice_without_environment():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execve(sys.executable, [sys.executable, "-S", "-c", CHILD, sys.argv[1]], {})
            os._exit(0)
        os.wait()

    CHILD = "import signal, time; signal.alarm(20); time.sleep(30)"
    plain()
    in_a_session_of_its_own()
    forked_twice_without_environment()
    time.sleep(0.3)
"""


@functools.cache
def allowed() -> tuple[Isolation, ...]:
    """The levels of this machine."""
    return levels({"PATH": PATH})


def landlock() -> int:
    """The version of this kernel's Landlock; below 1 there is none."""
    return int(ctypes.CDLL(None).syscall(444, 0, 0, 1))


class Place:
    """A folder, a level, and a mark by which the processes of one run are known."""

    def __init__(self, folder: Path, level: Isolation) -> None:
        self.folder, self.level = folder, level
        self.mark = f"mark-{uuid.uuid4().hex}"
        self.log = folder / "log"

    def room(self, **changes: object) -> Room:
        fields = {
            "cwd": self.folder,
            "variables": (("PATH", PATH),),
            "log": self.log,
            "writable": (self.folder,),
        }
        return Room(**{**fields, "network": False, **changes})  # type: ignore[arg-type]

    def script(self, text: str) -> list[str]:
        path = self.folder / "hostile.py"
        path.write_text(_CAP + textwrap.dedent(text), encoding="utf-8")
        return [sys.executable, "-S", str(path), self.mark]

    def run(self, text: str, cancel: threading.Event | None = None, **limits: float) -> Ended:
        """Run the program in the room, with these limits changed."""
        fields = {name: getattr(PLENTY, name) for name in PLENTY.__struct_fields__} | limits
        return run_limited(
            self.script(text), self.room(), Limits(**fields), level=self.level, cancel=cancel
        )

    def alive(self, seconds: float = 2.0) -> list[str]:
        """Return the processes of the run that are still there after so many seconds."""
        deadline = time.monotonic() + seconds
        while (found := self._marked()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def _marked(self) -> list[str]:
        found = []
        for each in processes():
            try:
                line = Path(f"/proc/{each.pid}/cmdline").read_bytes()
            except OSError:
                continue
            if self.mark.encode() in line and each.alive:
                found.append(line.replace(b"\0", b" ").decode()[-120:])
        return found


def signal_keeper(number: int) -> None:
    """Signal the keeper of the only command that runs, at L1: no program in it can."""
    for each in processes():
        if each.parent == os.getpid():
            os.kill(each.pid, number)


def place(request: pytest.FixtureRequest, tmp_path: Path, but: tuple[Isolation, ...] = ()) -> Place:
    """Return the place of the level; skip where the machine or the test does not have it."""
    level = request.param
    if level not in allowed():
        pytest.skip(f"this machine does not allow {level}")
    return Place(tmp_path, level)


EACH_LEVEL = HIGHEST_FIRST
CONTAINED: tuple[Isolation, ...] = ("L3", "L2", "L1")
NAMESPACED: tuple[Isolation, ...] = ("L3", "L2")
