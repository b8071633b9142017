"""What a process tree takes while it runs, and the first limit that it breaks."""

import contextlib
import os
import re
import signal
import string
import time
from collections.abc import Iterable

from compat.run.cgroup import Group, tasks
from compat.run.disk import IN_MEMORY, MIB, Disk
from compat.run.evidence import DeadChild, EndedBy, Isolation, Limits, MemoryMeans
from compat.run.isolation import Room, in_memory
from compat.run.processes import Known, Process, family

# The first seconds decide most: import faults, runaway loops. Later a slower look costs less than 1
# % of a processor.
YOUNG_SECONDS = 10.0
_LOOK_SECONDS = {True: 0.5, False: 1.0}
_TICK_SECONDS = {True: 0.1, False: 0.25}
# Idle threads wake up now and then (gRPC's, for one). A tree that takes less than this share of a
# processor is silent.
IDLE_SHARE = 0.005
_IDLE_SECONDS = 0.05
# Up to so many processes are weighed at each tick, so that a fast hog is met early.
_FEW = 16
# Signals of a crash: the rest is sent by somebody.
_FATAL = frozenset((signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV))
_OF_A_NAME = frozenset(string.ascii_letters + string.digits + "_.+-")
# In /proc/PID/smaps: device and inode of a shared mapping, and its share of the memory.
_SHARED = re.compile(
    rb"^[\da-f]+-[\da-f]+ ...s [\da-f]+ ([\da-f]+):([\da-f]+) (\d+).*\n(?:\w+:.*\n)*?Pss: +(\d+)",
    re.MULTILINE,
)
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class Meter:
    """Looks at a tree from outside: cheaply at each tick, at every process at each look."""

    def __init__(
        self, level: Isolation, log: int, room: Room, limits: Limits, group: Group
    ) -> None:
        self.level, self.log, self.limits, self.group = level, log, limits, group
        self.known: Known | None = set() if level == "L0" else None
        self.disk = Disk(room.writable, limits.disk_mb, log=log, links=room.links)
        self.in_memory = in_memory(room, level)
        self.keepers: list[Process] = []
        self.begin(0)
        self.members: list[Process] = []
        self.peak_mb = 0
        self.cpu = 0.0
        self.size = 0

    def begin(self, root: int) -> None:
        """The time runs from here."""
        self.root, self.tasks = root, _tasks()
        self.began = self.looked = self.active = time.monotonic()

    def tick(self) -> float:
        return _TICK_SECONDS[self._is_young()]

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def broken(self) -> EndedBy | None:
        if self.seconds() > self.limits.wall_seconds:
            return "wall-time"
        if self.is_too_long():
            return "output"
        if by := self.refused():
            return by
        if self._is_due():
            return self._looked()
        return "memory" if len(self.members) <= _FEW and self._is_too_heavy() else None

    def refused(self) -> EndedBy | None:
        """Return the limit at which the kernel itself refused or killed something; the peak is the
        limit then.
        """
        by = self.group.broken()
        if by == "memory":
            self.peak_mb = max(self.peak_mb, self.limits.memory_mb)
        return by

    def is_too_long(self) -> bool:
        return os.fstat(self.log).st_size > self.limits.output_mb * MIB

    def dead_child(self) -> DeadChild | None:
        """Return the oldest process of the tree that a crash has ended and that nobody has asked
        for.
        """
        dead = [each for each in self._members() if not each.alive and each.status & 0x7F in _FATAL]
        if not dead:
            return None
        first = min(dead, key=lambda each: (each.born, each.pid))
        program = _read(first, "comm").decode(errors="replace").strip()
        # What is dead chose this name itself, see PR_SET_NAME in prctl(2).
        shown = "".join(sign if sign in _OF_A_NAME else "?" for sign in program)
        return DeadChild(program=shown or "?", signal=first.status & 0x7F)

    def _is_young(self) -> bool:
        return self.seconds() < YOUNG_SECONDS

    def _is_due(self) -> bool:
        # One small file tells how many tasks the machine has: a fork bomb is met at the next tick.
        sprouting = _tasks() - self.tasks > self.limits.processes // 2
        return sprouting or time.monotonic() - self.looked >= _LOOK_SECONDS[self._is_young()]

    def _looked(self) -> EndedBy | None:
        self.members = self._members()
        self.looked, self.tasks = time.monotonic(), _tasks()
        threads = sum(member.threads for member in self.members)
        if len(self.members) > self.limits.processes or threads > tasks(self.limits):
            return "processes"
        if self._is_too_heavy():
            return "memory"
        if self.disk.is_full([member.pid for member in self.members]):
            return "disk"
        return "silence" if self._is_silent() else None

    def _members(self) -> list[Process]:
        processes = family(self.root, self.known)
        if self.level in ("L1", "L0"):
            return processes
        self.keepers = [each for each in processes if each.parent == self.root]
        return [each for each in processes if each.parent != self.root]

    def _is_silent(self) -> bool:
        now, size = time.monotonic(), os.fstat(self.log).st_size
        cpu = sum(member.ticks for member in self.members) / _CLOCK_TICKS
        if (
            size != self.size
            or cpu < self.cpu
            or cpu - self.cpu > (now - self.active) * IDLE_SHARE + _IDLE_SECONDS
        ):
            self.active, self.cpu, self.size = now, cpu, size
        return now - self.active > self.limits.silence_seconds

    def means(self, is_sized: bool) -> tuple[MemoryMeans, ...]:
        """Return what holds the tree to its memory; `is_sized` is about a sandbox (L3)."""
        group: tuple[MemoryMeans, ...] = ("group",) if "memory" in self.group.controllers else ()
        sized = self.level == "L2" or (self.level == "L3" and is_sized)
        return (*group, "counted", *(("sizes",) if sized else ()))

    def _is_too_heavy(self) -> bool:
        most = self.limits.memory_mb
        held = Held()
        for keeper in self.keepers:
            for name in self.in_memory:
                held.add_volume(name, f"/proc/{keeper.pid}/root{name}")
        for member in self.members:
            held.add_files(member)
        weight = held.kilobytes + _own(self.members)
        # Forked processes share pages that each counts as its own. Dividing them is slow, so only
        # when it matters.
        if weight > max(most, self.peak_mb) * 1024:
            weight = min(weight, held.kilobytes + _divided(self.members, held))
        self.peak_mb = max(self.peak_mb, weight // 1024)
        return weight > most * 1024


class Held:
    """Memory that lies in files, whether a process maps it or not: memfds, and file systems of the
    tree's own.
    """

    def __init__(self) -> None:
        self.kilobytes = 0
        self._files: set[tuple[int, int]] = set()
        self._devices: set[int] = set()

    def add_volume(self, name: str, path: str) -> None:
        """Count a file system, unless there is still the machine's own under that name."""
        try:
            device, volume = os.stat(path).st_dev, os.statvfs(path)
            if device == os.stat(name).st_dev:
                return
        except OSError:
            return
        self._devices.add(device)
        # An empty file takes some, too.
        self.kilobytes += (volume.f_blocks - volume.f_bfree) * volume.f_frsize // 1024
        self.kilobytes += volume.f_files - volume.f_ffree

    def add_files(self, member: Process) -> None:
        folder = f"/proc/{member.pid}/fd"
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                path = f"{folder}/{name}"
                if not os.readlink(path).startswith(IN_MEMORY):
                    continue
                status = os.stat(path)
                if not self.has(status.st_dev, status.st_ino):
                    self._files.add((status.st_dev, status.st_ino))
                    self.kilobytes += status.st_blocks // 2

    def has(self, device: int, file: int) -> bool:
        return device in self._devices or (device, file) in self._files

    def mapped(self, member: Process) -> int:
        """Return the KiB of it that a process maps, each page divided by its sharers."""
        if not self.kilobytes:
            return 0
        return sum(
            int(size)
            for major, minor, file, size in _SHARED.findall(_read(member, "smaps"))
            if self.has(os.makedev(int(major, 16), int(minor, 16)), int(file))
        )


def _own(members: Iterable[Process]) -> int:
    texts = [_read(member, "status") for member in members]
    keys = (b"RssAnon:", b"RssShmem:")
    return sum(_kilobytes(text, key) for text in texts for key in keys)


def _divided(members: Iterable[Process], held: Held) -> int:
    """Return the KiB of the processes besides what is held, each shared page divided by its
    sharers; pages of files are not counted.
    """
    total = 0
    for member in members:
        # What it maps is read first: a process that ends or takes more between the two readings
        # must not count what is held a second time.
        mapped = held.mapped(member)
        text = _read(member, "smaps_rollup")
        shared = max(_kilobytes(text, b"Pss_Shmem:") - mapped, 0)
        # Who forbids to be looked at counts in full.
        total += _kilobytes(text, b"Pss_Anon:") + shared if text else _own([member])
    return total


def _read(member: Process, name: str) -> bytes:
    try:
        with open(f"/proc/{member.pid}/{name}", "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _kilobytes(text: bytes, key: bytes) -> int:
    place = text.find(key)
    return int(text[place + len(key) :].split(None, 1)[0]) if place >= 0 else 0


def _tasks() -> int:
    with open("/proc/loadavg", "rb", buffering=0) as file:
        return int(file.read().split(b"/")[1].split()[0])
