"""Measures the memory, processes and disk of a command by polling, and limits them by a control
group where one was delegated to us.
"""

import contextlib
import functools
import itertools
import math
import os
import re
import signal
import stat
import string
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from compat.run.evidence import DeadChild, EndedBy, Isolation, Limits, MemoryMeans
from compat.run.isolation import Room, in_memory
from compat.run.keeper import Known, Process, family, process
from compat.value import Value

MIB = 1 << 20
# The kernel's names for files that take memory and no disk.
IN_MEMORY = ("/memfd:", "/dev/shm/")
# In /proc/PID/maps: address and inode of a nameless file on disk. The kernel's own files in memory
# are on device 0:1.
_MAPPED = re.compile(
    rb"^([\da-f]+-[\da-f]+) \S+ \S+ (?!00:01 )\S+ (\d+) +/(?!dev/shm/).* \(deleted\)$", re.MULTILINE
)
# Below this the machine's own work is in danger, records included.
FLOOR_BYTES = 256 * MIB
# Folders are walked at least this often, because freed space elsewhere may hide usage here.
_WALK_SECONDS = 5.0
# But a walk may take this share of the time; a folder of 100,000 files takes a second.
_WALK_SHARE = 0.02
# Files carry the time of the kernel's last clock tick, so new ones may seem a little older.
_CLOCK_SECONDS = 1.0
# An empty file takes no block, but one of a disk's limited number of files.
_EMPTY_BYTES = 4096
# Bytes of a log that are moved at once.
_CHUNK = 1 << 20
_GONE = (FileNotFoundError, NotADirectoryError, ProcessLookupError)


class Disk:
    """Watches folders. Others use the disk too, so free space, which is cheap to read, only says
    when to walk them.
    """

    def __init__(
        self, folders: Iterable[Path], most_mb: int, *, log: int = -1, links: bool = False
    ) -> None:
        """With `links` no code of a package runs, and old files only get further links."""
        self.folders, self.log, self.links = tuple(folders), log, links
        self.most = most_mb * MIB
        self.began = time.time() - _CLOCK_SECONDS
        self.highest = self._free()
        self.grown, self.hides = 0, False
        self.cost = 0.0
        self.walked = time.monotonic()
        self.walk: threading.Thread | None = None

    def is_full(self, pids: Sequence[int] = ()) -> bool:
        """Return whether the disk limit is exceeded or hardly anything is free; waits for no walk.

        Counts the folders, the log, and nameless files that these processes hold. If something is
        unreadable, the whole loss of free disk space counts.
        """
        free = self._free()
        self.highest = max(self.highest, free)
        if free < 0:
            return True
        since = time.monotonic() - self.walked
        is_due = self.highest - free > self.most or since > _WALK_SECONDS
        if is_due and since >= self.cost / _WALK_SHARE and not (self.walk and self.walk.is_alive()):
            self.walk = threading.Thread(target=self._walk, args=(pids,), daemon=True)
            self.walk.start()
            # Most walks are short, and then the answer need not wait for the next look.
            self.walk.join(0.1)
        # Blocks, see fallocate(2). Not in the walk, which may outlast the log's descriptor.
        log = os.fstat(self.log).st_blocks * 512 if self.log >= 0 else 0
        return max(self.grown + log, self.highest - free if self.hides else 0) > self.most

    def _walk(self, pids: Sequence[int]) -> None:
        begin, hidden = time.monotonic(), list[OSError]()
        self.grown = taken(self.folders, self.began, hidden, self.links) + _nameless(pids, hidden)
        self.hides = any(not isinstance(fault, _GONE) for fault in hidden)
        self.walked, self.cost = time.monotonic(), time.monotonic() - begin

    def _free(self) -> float:
        """Return the free bytes above the floor; a small disk has a lower floor."""
        free = []
        for folder in self.folders:
            try:
                volume = os.statvfs(folder)
            except OSError:
                continue
            free.append(
                volume.f_bavail * volume.f_frsize
                - min(FLOOR_BYTES, volume.f_blocks * volume.f_frsize // 20)
            )
        return min(free, default=math.inf)


def taken(folders: Iterable[Path], since: float, hidden: list[OSError], links: bool) -> int:
    """Files that are also linked from elsewhere, as uv links from its cache, take nothing here.
    With `links`, neither do old files with a new link. Code of a package could date back its files.
    """
    total = 0
    met: dict[tuple[int, int], int] = {}
    for status in (file for file in files_below(folders, hidden) if file.st_ctime >= since):
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            if links and status.st_mtime < since:
                continue
            key = (status.st_dev, status.st_ino)
            met[key] = met.get(key, 0) + 1
            if met[key] != status.st_nlink:
                continue
        total += status.st_blocks * 512 or _EMPTY_BYTES
    return total


def _nameless(pids: Iterable[int], hidden: list[OSError]) -> int:
    """Count bytes of nameless files, open or mapped; root alone sees mapped ones, see proc(5)."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        waiting = [f"/proc/{pid}/maps", f"/proc/{pid}/fd"]
        while waiting:
            path = waiting.pop()
            try:
                if path.endswith("/fd"):
                    waiting += (f"{path}/{name}" for name in os.listdir(path))
                elif path.endswith("/maps"):
                    with open(path, "rb") as file:
                        mapped = _MAPPED.findall(file.read())
                    known = {inode for _, inode in sizes}
                    places = {int(i): address.decode() for address, i in mapped}
                    waiting += (f"/proc/{pid}/map_files/{places[i]}" for i in places.keys() - known)
                else:
                    status = os.stat(path)
                    if not status.st_nlink and stat.S_ISREG(status.st_mode):
                        is_memory = os.readlink(path).startswith(IN_MEMORY)
                        size = 0 if is_memory else status.st_blocks * 512
                        sizes[status.st_dev, status.st_ino] = size
            except OSError as fault:
                hidden.append(fault)
    return sum(sizes.values())


def files_below(folders: Iterable[Path], hidden: list[OSError]) -> Iterator[os.stat_result]:
    """Yield files and folders below; note unreadable ones (no rights, path too long)."""
    waiting = [os.fspath(folder) for folder in folders]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        yield entry.stat(follow_symlinks=False)
                    except OSError as fault:
                        hidden.append(fault)
        except OSError as fault:
            hidden.append(fault)


def open_log(path: Path) -> int:
    """It only appends, so processes that share it do not overwrite each other."""
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o644)


def cut_log(log: int, most: int) -> None:
    """Keep head and tail, in place and by pieces: on a full disk, and for any size."""
    whole = os.fstat(log).st_size
    if whole <= most:
        return
    line = f"\n... {whole - most} bytes cut ...\n".encode()
    head = max((most - len(line)) // 2, 0)
    tail = max(most - len(line) - head, 0)
    # A descriptor that only appends would append even positioned writes, see pwrite(2).
    log = os.open(f"/proc/self/fd/{log}", os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(log, line[:most], head)
        for begin in range(0, tail, _CHUNK):
            piece = os.pread(log, min(_CHUNK, tail - begin), whole - tail + begin)
            os.pwrite(log, piece, head + len(line) + begin)
        os.ftruncate(log, min(most, head + len(line) + tail))
    finally:
        os.close(log)


_ROOT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("pids", "memory")
# The kernel counts threads, and a numeric library starts some for each processor. In a cell with
# 500 processes none should be denied before the supervisor has seen that they are too many.
_TASKS_PER_PROCESS = 4
_SUPERVISOR = "compat-supervisor"
_NAME = re.compile(r"compat-(\d+)-(\d+)-\d+")
_NUMBERS = itertools.count()
# A group is busy until the kernel has removed the last of its processes.
_EMPTY_SECONDS = 2.0
# The kernel's reports: the file of a group, the key (cgroup v2 and v1), and the meaning.
_REPORTS: tuple[tuple[str, str, EndedBy], ...] = (
    ("memory.events", "oom_kill", "memory"),
    ("memory.oom_control", "oom_kill", "memory"),
    ("pids.events", "max", "processes"),
)


class Home(Value, frozen=True):
    """A folder in which this process may make groups, and the controllers that they have."""

    folder: Path
    controllers: tuple[str, ...]


class Group:
    """A control group; without a home there is none, and nothing is limited by it."""

    def __init__(self, limits: Limits, homes: tuple[Home, ...]) -> None:
        self.controllers = {controller for home in homes for controller in home.controllers}
        self.folders: list[Path] = []
        self.handles: list[int] = []
        try:
            for home in homes:
                folder = home.folder / f"compat-{_myself()}-{next(_NUMBERS)}"
                folder.mkdir()
                self.folders.append(folder)
                _limit(folder, home.controllers, limits)
                # Any writer enters the group without rights of its own: opened here, used by the
                # keeper.
                self.handles.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
        except BaseException:
            self.close()
            raise

    def broken(self) -> EndedBy | None:
        for folder in self.folders:
            for name, key, by in _REPORTS:
                if _counted(folder / name, key):
                    return by
        return None

    def close(self) -> None:
        for handle in self.handles:
            os.close(handle)
        self.handles.clear()
        deadline = time.monotonic() + _EMPTY_SECONDS
        for folder in self.folders:
            while not _removed(folder) and time.monotonic() < deadline:
                time.sleep(0.005)
        self.folders.clear()


def tasks(limits: Limits) -> int:
    return limits.processes * _TASKS_PER_PROCESS


@functools.cache
def group_homes() -> tuple[Home, ...]:
    """Return where this process may make groups, after removing those of dead processes.

    Only below a group that was delegated to us, or at the root of a hierarchy. In another's group
    only its manager may make groups (https://systemd.io/CGROUP_DELEGATION, "single-writer rule").
    """
    homes = tuple(homes_of(_ROOT, Path("/proc/self/cgroup").read_text(encoding="utf-8")))
    for home in homes:
        remove_dead_groups(home.folder)
    return homes


def homes_of(root: Path, memberships: str) -> list[Home]:
    """`memberships` is the text of /proc/PID/cgroup, see cgroups(7)."""
    homes: list[Home] = []
    missing = list(_CONTROLLERS)
    # Version 2 is last in the file and is preferred.
    for line in reversed(memberships.splitlines()):
        number, controllers, path = line.split(":", 2)
        folder = root
        if number != "0":
            has = tuple(name for name in controllers.split(",") if name in missing)
            folder = root / controllers if path == "/" else Path()
        else:
            mount = root if (root / "cgroup.controllers").exists() else root / "unified"
            folder = _delegated(mount, path)
            has = _enabled(folder, missing) if folder != Path() else ()
        if (
            has
            and folder != Path()
            and os.access(folder, os.W_OK)
            and os.access(folder / "cgroup.procs", os.W_OK)
        ):
            homes.append(Home(folder=folder, controllers=has))
            missing = [name for name in missing if name not in has]
    return homes


def remove_dead_groups(home: Path) -> int:
    count = 0
    for folder in home.glob("compat-*"):
        match = _NAME.fullmatch(folder.name)
        owner = process(int(match[1])) if match else None
        if match and (owner is None or owner.born != int(match[2])):
            count += _removed(folder)
    return count


def _myself() -> str:
    # The start time distinguishes it from a later process with the same id.
    own = process(os.getpid())
    return f"{os.getpid()}-{own.born if own else 0}"


def _delegated(mount: Path, path: str) -> Path:
    """The nearest folder upwards that was delegated to us, or the visible root; else empty."""
    if path == "/":
        return mount
    below = [part for part in path.split("/") if part]
    for depth in range(len(below), 0, -1):
        folder = mount.joinpath(*below[:depth])
        with contextlib.suppress(OSError):
            # systemd marks what it delegated (since version 251).
            if os.getxattr(folder, "user.delegate") == b"1":
                return folder
    return Path()


def _enabled(folder: Path, wanted: list[str]) -> tuple[str, ...]:
    control = folder / "cgroup.subtree_control"
    try:
        available = (folder / "cgroup.controllers").read_text(encoding="utf-8").split()
        names = tuple(name for name in wanted if name in available)
        if set(names) <= set(control.read_text(encoding="utf-8").split()):
            return names
        try:
            _write(control, " ".join(f"+{name}" for name in names))
        except OSError:
            # A group with its own processes cannot have limited child groups: they move into one.
            leaf = folder / _SUPERVISOR
            leaf.mkdir(exist_ok=True)
            for pid in (folder / "cgroup.procs").read_text(encoding="utf-8").split():
                _write(leaf / "cgroup.procs", pid)
            _write(control, " ".join(f"+{name}" for name in names))
    except OSError:
        return ()
    return names


def _limit(folder: Path, controllers: tuple[str, ...], limits: Limits) -> None:
    if "pids" in controllers:
        _write(folder / "pids.max", str(tasks(limits)))
    if "memory" not in controllers:
        return
    most = str(limits.memory_mb * MIB)
    if (folder / "memory.limit_in_bytes").exists():
        _write(folder / "memory.limit_in_bytes", most)
        swap = folder / "memory.memsw.limit_in_bytes", most
    else:
        _write(folder / "memory.max", most)
        swap = folder / "memory.swap.max", "0"
    # A kernel without swap accounting has no such file.
    if swap[0].exists():
        _write(*swap)


def _counted(path: Path, key: str) -> int:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[0] == key), 0)


def _write(path: Path, text: str) -> None:
    with path.open("w", encoding="ascii") as file:
        file.write(text)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


# The first seconds matter most: import errors, runaway loops. Later a slower look takes less than 1
# % of a processor.
YOUNG_SECONDS = 10.0
_LOOK_SECONDS = {True: 0.5, False: 1.0}
_TICK_SECONDS = {True: 0.1, False: 0.25}
# Idle threads wake up now and then (gRPC's, for one). A tree below this share of a processor is
# silent.
IDLE_SHARE = 0.005
_IDLE_SECONDS = 0.05
# Up to this many processes are measured at each tick, so that a fast hog is caught early.
_FEW = 16
# Signals of a crash; other signals are sent by somebody.
_FATAL = frozenset((signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGSEGV))
_OF_A_NAME = frozenset(string.ascii_letters + string.digits + "_.+-")
# In /proc/PID/smaps: device and inode of a shared mapping, and its proportional size.
_SHARED = re.compile(
    rb"^[\da-f]+-[\da-f]+ ...s [\da-f]+ ([\da-f]+):([\da-f]+) (\d+).*\n(?:\w+:.*\n)*?Pss: +(\d+)",
    re.MULTILINE,
)
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class Meter:
    """Polls a tree from outside: cheaply at each tick, at every process at each look."""

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
        # One small file has the machine's task count: a fork bomb is caught at the next tick.
        sprouting = _tasks() - self.tasks > self.limits.processes // 2
        if sprouting or time.monotonic() - self.looked >= _LOOK_SECONDS[self._is_young()]:
            return self._looked()
        return "memory" if len(self.members) <= _FEW and self._is_too_heavy() else None

    def refused(self) -> EndedBy | None:
        """Return the limit that the kernel itself enforced; the peak is then the limit."""
        by = self.group.broken()
        if by == "memory":
            self.peak_mb = max(self.peak_mb, self.limits.memory_mb)
        return by

    def is_too_long(self) -> bool:
        return os.fstat(self.log).st_size > self.limits.output_mb * MIB

    def dead_child(self) -> DeadChild | None:
        """Return the tree's oldest crashed process that nobody has reaped."""
        dead = [each for each in self._members() if not each.alive and each.status & 0x7F in _FATAL]
        if not dead:
            return None
        first = min(dead, key=lambda each: (each.born, each.pid))
        program = _read(first, "comm").decode(errors="replace").strip()
        # The dead process chose this name itself, see PR_SET_NAME in prctl(2).
        shown = "".join(sign if sign in _OF_A_NAME else "?" for sign in program)
        return DeadChild(program=shown or "?", signal=first.status & 0x7F)

    def _is_young(self) -> bool:
        return self.seconds() < YOUNG_SECONDS

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
        now, size = time.monotonic(), os.fstat(self.log).st_size
        cpu = sum(member.ticks for member in self.members) / _CLOCK_TICKS
        is_active = cpu - self.cpu > (now - self.active) * IDLE_SHARE + _IDLE_SECONDS
        if size != self.size or cpu < self.cpu or is_active:
            self.active, self.cpu, self.size = now, cpu, size
        return "silence" if now - self.active > self.limits.silence_seconds else None

    def _members(self) -> list[Process]:
        processes = family(self.root, self.known)
        if self.level in ("L1", "L0"):
            return processes
        self.keepers = [each for each in processes if each.parent == self.root]
        return [each for each in processes if each.parent != self.root]

    def means(self, is_sized: bool) -> tuple[MemoryMeans, ...]:
        """Return what limits the tree's memory; `is_sized` concerns a sandbox (L3)."""
        group: tuple[MemoryMeans, ...] = ("group",) if "memory" in self.group.controllers else ()
        return (*group, "counted", *(("sizes",) if is_sized or self.level == "L2" else ()))

    def _is_too_heavy(self) -> bool:
        most = self.limits.memory_mb
        held = Held()
        for keeper in self.keepers:
            for name in self.in_memory:
                held.add_volume(name, f"/proc/{keeper.pid}/root{name}")
        for member in self.members:
            held.add_files(member)
        weight = held.kilobytes + _own(self.members)
        # Forked processes share pages that each counts in full. Dividing them is slow, so only do
        # it when it matters.
        if weight > max(most, self.peak_mb) * 1024:
            weight = min(weight, held.kilobytes + _divided(self.members, held))
        self.peak_mb = max(self.peak_mb, weight // 1024)
        return weight > most * 1024


class Held:
    """Memory in files, mapped or not: memfds, and the tree's own file systems."""

    def __init__(self) -> None:
        self.kilobytes = 0
        self._files: set[tuple[int, int]] = set()
        self._devices: set[int] = set()

    def add_volume(self, name: str, path: str) -> None:
        """Count a file system, unless that name is still the machine's own."""
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
    """Sum KiB without held memory and file pages; sharers divide each shared page."""
    total = 0
    for member in members:
        # Mappings are read first: a process that ends or grows between the two readings must not
        # count held memory twice.
        mapped = held.mapped(member)
        text = _read(member, "smaps_rollup")
        shared = max(_kilobytes(text, b"Pss_Shmem:") - mapped, 0)
        # A process that denies access counts in full.
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
