"""Control groups of the kernel: how many tasks a process tree may have, and how much memory,
whoever is starved.
"""

import contextlib
import functools
import itertools
import os
import re
import time
from pathlib import Path

from compat.run.disk import MIB
from compat.run.evidence import EndedBy, Limits
from compat.run.processes import process
from compat.value import Value

_ROOT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("pids", "memory")
# The kernel counts threads, and a numeric library starts some for each processor: of a cell with
# 500 processes none should be refused before the supervisor has seen that they are too many.
_TASKS_PER_PROCESS = 4
_SUPERVISOR = "compat-supervisor"
_NAME = re.compile(r"compat-(\d+)-(\d+)-\d+")
_NUMBERS = itertools.count()
# A group is busy until the kernel has taken apart the last of its processes.
_EMPTY_SECONDS = 2.0
# What the kernel reports, in which file of a group, under which key (cgroup v2 and v1), and what it
# means.
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
    """Without a home there is none, and nothing is limited by it."""

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
                # Whoever writes to it enters, and is asked for no right of its own: opened here,
                # used by the keeper.
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
    """Return where this process may make groups, after removing those of processes that are gone.

    Only where that is ours to do: below a group that was delegated to us, or at the root of a
    hierarchy. In another's group its manager is the only one to make groups
    (https://systemd.io/CGROUP_DELEGATION, "single-writer rule").
    """
    homes = tuple(homes_of(_ROOT, Path("/proc/self/cgroup").read_text(encoding="utf-8")))
    for home in homes:
        remove_dead_groups(home.folder)
    return homes


def homes_of(root: Path, memberships: str) -> list[Home]:
    """`memberships` is the text of /proc/PID/cgroup, see cgroups(7)."""
    homes: list[Home] = []
    missing = list(_CONTROLLERS)
    # Version 2 comes last in the file and is to be preferred.
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
    # With its beginning, a later process with the same id is another.
    own = process(os.getpid())
    return f"{os.getpid()}-{own.born if own else 0}"


def _delegated(mount: Path, path: str) -> Path:
    """The nearest folder from ours upwards that was delegated to us, or the root of what we see;
    else an empty path.
    """
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
            # A group with processes of its own can have no limited groups below it: they move into
            # one.
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
    # A kernel that does not account for swap has no such file.
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
