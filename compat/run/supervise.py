"""Runs a command as a process tree under limits, and kills all of it at the end."""

import contextlib
import functools
import logging
import os
import re
import select
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from compat.run import keeper
from compat.run.evidence import DeadChild, Ended, EndedBy, Isolation, Limits
from compat.run.isolation import HIGHEST_FIRST, Room, made_up, tool, wrapped
from compat.run.meter import MIB, Group, Meter, cut_log, group_homes, open_log, tasks

_LOG = logging.getLogger(__name__)
# Seconds that the keeper needs to kill its tree, before it is killed with it.
_KILL_SECONDS = 1.5
# Freeing a dead tree's memory takes a moment for gigabytes.
_GONE_SECONDS = 5.0
# These limits ask the tree to end, because its dump is useful; a tree that exhausts the machine is
# killed at once.
_POLITE: frozenset[EndedBy] = frozenset(("wall-time", "silence", "cancelled"))
_DUMPED: frozenset[EndedBy] = frozenset(("wall-time", "silence"))
_REPORT = re.compile(keeper.READY + rb"(exit|signal|killed|expired) (\d+) (\d+)\n")
# Steps of nice(2) by which the keeper's priority is better.
_AHEAD = 5
_MARGIN = 50
_PROBE = Limits(
    wall_seconds=10, silence_seconds=10, memory_mb=256, processes=16, output_mb=1, disk_mb=16
)


def levels(environ: Mapping[str, str]) -> tuple[Isolation, ...]:
    """Highest first, each verified by running something in it."""
    allowed: list[Isolation] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for level in HIGHEST_FIRST:
            room = Room(
                cwd=folder,
                variables=tuple(environ.items()),
                log=folder / "log",
                writable=(folder,),
                network=level == "L1",
            )
            command = ["/bin/sh", "-c", f"test -e {folder} && exit 42"]
            ended = None if level == "L0" else run_limited(command, room, _PROBE, level=level)
            if ended is None or (ended.by == "exit" and ended.exit_code == 42):
                allowed.append(level)
    return tuple(allowed)


def run_limited(
    command: Sequence[str],
    room: Room,
    limits: Limits,
    *,
    level: Isolation,
    cancel: threading.Event | None = None,
) -> Ended:
    """Run the command in the room under the limits, and return how it ended; all of it is dead
    then.

    Blocks; to end it early set `cancel`. A command that cannot be started ends with 127, as in a
    shell. A log over its limit is cut to head and tail. Raises OSError when the log cannot be
    written.
    """
    log = open_log(room.log)
    try:
        group = Group(limits, group_homes())
        try:
            meter = Meter(level, log, room, limits, group)
            tree = _Tree()
            try:
                with _files(room, level) as files:
                    most = limits.memory_mb * MIB if _sizes(level) else 0
                    bounds = _bounds(limits, level, group)
                    argv = wrapped(command, room, level, bounds, most, files)
                    handles = (*group.handles, *(handle for _, handle in files))
                    tree.start(argv, room, level, log, handles)
                meter.begin(tree.root)
                by = _watched(tree, meter, cancel)
                dead_child = meter.dead_child() if by == "silence" else None
                if by in _DUMPED:
                    tree.order(keeper.DUMP)
                    tree.has_ended(keeper.DUMP_SECONDS)
                if by in _POLITE:
                    tree.order(keeper.TERMINATE)
                    tree.has_ended(keeper.GRACE_SECONDS)
            finally:
                tree.close(level, meter.known)
            return _ended(tree, meter, by, dead_child)
        finally:
            group.close()
    finally:
        cut_log(log, int(limits.output_mb * MIB))
        os.close(log)


def _bounds(limits: Limits, level: Isolation, group: Group) -> str:
    """Return the keeper's bounds: seconds, the command's priority, RLIMIT_NPROC (0 for none), MiB
    of shared memory, groups to enter.

    RLIMIT_NPROC counts per user namespace since Linux 5.14, and never limits the real root, see
    getrlimit(2). The margin lets the meter see too many tasks before the first is denied.
    """
    kernel = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    is_counted = level in ("L3", "L2") and os.getuid() != 0 and kernel >= (5, 14)
    most = tasks(limits) + _MARGIN if is_counted and "pids" not in group.controllers else 0
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    bounds = (limits.wall_seconds, priority, most, limits.memory_mb, *group.handles)
    return ":".join(map(str, bounds))


@contextlib.contextmanager
def _files(room: Room, level: Isolation) -> Iterator[list[tuple[str, int]]]:
    files: list[tuple[str, int]] = []
    try:
        texts = made_up(room, os.getuid(), os.getgid()) if level == "L3" else {}
        for name, text in texts.items():
            files.append((name, os.memfd_create("compat")))
            os.write(files[-1][1], text.encode())
            os.lseek(files[-1][1], 0, os.SEEK_SET)
        yield files
    finally:
        for _, handle in files:
            os.close(handle)


def _sizes(level: Isolation) -> bool:
    """Whether the sandbox limits its file systems in memory."""
    return level == "L3" and _version(tool("bwrap")) >= (0, 7)


@functools.cache
def _version(program: str) -> tuple[int, ...]:
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))


class _Tree:
    """The keeper, its processes, and the keeper's two pipes, which no other process gets."""

    def __init__(self) -> None:
        self.outer: subprocess.Popen[bytes] | None = None
        self.said = b""

    @property
    def root(self) -> int:
        return self.outer.pid if self.outer else 0

    def start(
        self, command: Sequence[str], room: Room, level: Isolation, log: int, handles: Sequence[int]
    ) -> None:
        """If it cannot be started, the log has the reason."""
        _LOG.info("starting %s", shlex.join(command))
        # Deadlines hold on a starved machine if the keeper's priority is raised. On Linux one
        # belongs to a thread. Where it cannot be raised, the keeper lowers the cell's.
        priority = os.getpriority(os.PRIO_PROCESS, 0)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, priority - _AHEAD)
        try:
            self.outer = subprocess.Popen(
                command,
                cwd=room.cwd,
                env=dict(room.variables),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                pass_fds=handles,
            )
        except OSError as fault:
            message = f"the isolation {level} could not be started: {fault}\n"
            os.write(log, message.encode(errors="replace"))
        finally:
            os.setpriority(os.PRIO_PROCESS, 0, priority)

    def order(self, what: bytes) -> None:
        if self.outer and self.outer.stdin:
            with contextlib.suppress(OSError):
                self.outer.stdin.write(what)

    def has_ended(self, seconds: float) -> bool:
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
        """Works even when the keeper was killed, stopped or starved."""
        if self.outer is None:
            return
        if not self.has_ended(0):
            self.order(keeper.KILL)
            if not self.has_ended(_KILL_SECONDS):
                if level in ("L1", "L0"):
                    keeper.kill_descendants(self.root, known)
                self.outer.kill()
                self.has_ended(_GONE_SECONDS)
        if known is not None:
            keeper.kill_descendants(self.root, known)
        for pipe in (self.outer.stdin, self.outer.stdout):
            if pipe:
                pipe.close()
        self.outer.wait()


def _watched(tree: _Tree, meter: Meter, cancel: threading.Event | None) -> EndedBy:
    while not tree.has_ended(meter.tick()):
        if cancel is not None and cancel.is_set():
            return "cancelled"
        broken = meter.broken()
        if broken:
            return broken
    # Independent of speed: a log over its limit ends the same way each time.
    return "output" if meter.is_too_long() else meter.refused() or "exit"


def _ended(tree: _Tree, meter: Meter, by: EndedBy, dead_child: DeadChild | None) -> Ended:
    """A keeper that never began or never reported was not in charge: the sandbox failed."""
    match = _REPORT.fullmatch(tree.said)
    kind, code, survivors = (match[1], int(match[2]), int(match[3])) if match else (b"", 0, 0)
    if by == "exit" and kind == b"expired":
        by = "wall-time"
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
        dead_child=dead_child,
        memory=meter.means(_sizes(meter.level)),
    )
