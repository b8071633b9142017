"""Runs a command as a process tree under limits, so that nothing of it survives."""

import contextlib
import os
import re
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from compat.run import keeper, logfile
from compat.run.disk import MIB
from compat.run.evidence import Ended, EndedBy, Isolation, Limits
from compat.run.isolation import HIGHEST_FIRST, Room, wrapped
from compat.run.meter import Meter

GRACE_SECONDS = 2.0
# From the signal to the dump of all stacks; faulthandler writes one in milliseconds.
_DUMP_SECONDS = 1.0
# What the keeper needs to kill its tree, before it is killed with it.
_KILL_SECONDS = 1.5
# A dead tree's memory is given back: gigabytes take a moment.
_GONE_SECONDS = 5.0
# These ask the tree to end, as it may have something to say; what eats the machine is killed at once.
_POLITE: frozenset[EndedBy] = frozenset(("wall-time", "silence", "cancelled"))
_DUMPED: frozenset[EndedBy] = frozenset(("wall-time", "silence"))
_REPORT = re.compile(keeper.READY + rb"(exit|signal|killed) (\d+) (\d+)\n")
_PROBE = Limits(wall_seconds=10, silence_seconds=10, memory_mb=256, processes=16, output_mb=1, disk_mb=16)


def levels(environ: Mapping[str, str]) -> tuple[Isolation, ...]:
    """Return the isolation levels that this machine allows, highest first, each found by running something in it."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(level for level in HIGHEST_FIRST if level == "L0" or _works(level, Path(folder), environ))


def run(
    command: Sequence[str],
    room: Room,
    limits: Limits,
    *,
    level: Isolation,
    cancel: threading.Event | None = None,
    grace_seconds: float = GRACE_SECONDS,
) -> Ended:
    """Return how the command ended, in the room, under the limits; nothing of it is alive then.

    Blocks; to end it early set `cancel`. A command that cannot be started ends with 127, as in a shell. A log that
    outgrew its limit keeps head and tail. Raises OSError when the log cannot be written.
    """
    log = logfile.opened(room.log)
    try:
        meter = Meter(level, log, room.writable, limits)
        tree = _Tree()
        try:
            tree.start(command, room, level, log)
            meter.begin(tree.root)
            by = _watched(tree, meter, cancel)
            _ask_to_end(tree, by, grace_seconds)
        finally:
            tree.close(level, meter.known)
        return _ended(tree, meter, by)
    finally:
        logfile.cut(log, int(limits.output_mb * MIB))
        os.close(log)


def _works(level: Isolation, folder: Path, environ: Mapping[str, str]) -> bool:
    room = Room(
        cwd=folder, variables=tuple(environ.items()), log=folder / "log", writable=(folder,), network=level == "L1"
    )
    ended = run(["/bin/sh", "-c", f"test -e {folder} && exit 42"], room, _PROBE, level=level)
    return ended.by == "exit" and ended.exit_code == 42


class _Tree:
    """The keeper and its processes, and the two pipes to the keeper, which no other process gets."""

    def __init__(self) -> None:
        self.outer: subprocess.Popen[bytes] | None = None
        self.said = b""

    @property
    def root(self) -> int:
        """The first process, which is the keeper or has put it into its namespace; 0 when there is none."""
        return self.outer.pid if self.outer else 0

    def start(self, command: Sequence[str], room: Room, level: Isolation, log: int) -> None:
        """Start the command; when that cannot be, the log says why."""
        try:
            self.outer = subprocess.Popen(
                wrapped(command, room, level), cwd=room.cwd, env=dict(room.variables), bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        except OSError as fault:
            os.write(log, f"the isolation {level} could not be started: {fault}\n".encode(errors="replace"))

    def order(self, what: bytes) -> None:
        """Tell the keeper, if it still listens."""
        if self.outer and self.outer.stdin:
            with contextlib.suppress(OSError):
                self.outer.stdin.write(what)

    def has_ended(self, seconds: float) -> bool:
        """Return whether the keeper has ended, after waiting up to so many seconds for it."""
        deadline = time.monotonic() + seconds
        while self.outer and self.outer.stdout:
            # Not select(2): a worker with many connections has descriptors beyond its 1,024.
            report = select.poll()
            report.register(self.outer.stdout, select.POLLIN)
            if not report.poll(max(deadline - time.monotonic(), 0) * 1000):
                return False
            heard = os.read(self.outer.stdout.fileno(), 4096)
            if not heard:
                return True
            self.said += heard
        return True

    def close(self, level: Isolation, known: keeper.Known | None) -> None:
        """Make sure that nothing is left, even when the keeper was killed, stopped or starved."""
        if self.outer is None:
            return
        if not self.has_ended(0):
            self.order(keeper.KILL)
            if not self.has_ended(_KILL_SECONDS):
                if level in ("L1", "L0"):
                    keeper.sweep(self.root, known)
                self.outer.kill()
                self.has_ended(_GONE_SECONDS)
        if known is not None:
            keeper.sweep(self.root, known)
        for pipe in (self.outer.stdin, self.outer.stdout):
            if pipe:
                pipe.close()
        self.outer.wait()


def _ask_to_end(tree: _Tree, by: EndedBy, grace_seconds: float) -> None:
    if by in _DUMPED:
        tree.order(keeper.DUMP)
        tree.has_ended(_DUMP_SECONDS)
    if by in _POLITE:
        tree.order(keeper.TERMINATE)
        tree.has_ended(grace_seconds)


def _watched(tree: _Tree, meter: Meter, cancel: threading.Event | None) -> EndedBy:
    """Return why the tree ended or has to end."""
    while not tree.has_ended(meter.tick()):
        if cancel is not None and cancel.is_set():
            return "cancelled"
        broken = meter.broken()
        if broken:
            return broken
    # However fast it was: a log over its limit ends the same way each time.
    return "output" if meter.is_too_long() else "exit"


def _ended(tree: _Tree, meter: Meter, by: EndedBy) -> Ended:
    """Return the end as a value. A keeper that never began or never reported was not in charge: the sandbox failed."""
    said = _REPORT.fullmatch(tree.said)
    kind, code, survivors = (said[1], int(said[2]), int(said[3])) if said else (b"", 0, 0)
    if by == "exit" and kind not in (b"exit", b"signal"):
        by = "sandbox"
    return Ended(
        by=by,
        exit_code=code if by == "exit" and kind == b"exit" else None,
        signal=code if by == "exit" and kind == b"signal" else None,
        seconds=round(meter.seconds(), 3),
        peak_memory_mb=meter.peak_mb,
        survivors=survivors,
        isolation=meter.level,
    )
