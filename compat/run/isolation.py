"""The isolation of a process tree: the room that a command gets, and the command line that puts it
there.
"""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from compat.run import keeper
from compat.run.evidence import Isolation
from compat.value import Value

HIGHEST_FIRST: tuple[Isolation, ...] = get_args(Isolation)
# Never the caller's PATH: it may begin with the folder of a cell, and hostile code may have put a
# `bwrap` there.
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Sockets of other programs live here (containers, the session bus): a read-only mount does not stop
# a connection.
_SOCKETS = Path("/run")
_TEMPORARY = (Path("/tmp"), Path("/var/tmp"))
_RESOLVER = Path("/etc/resolv.conf")
# An isolated Python (-I) has no folder of ours on its path: it comes last, so that nothing of the
# standard library is hidden. Imported, as the bytecode of a script is not kept.
_KEEPER = (
    "import sys; sys.path.append(sys.argv[1]);"
    " from compat.run.keeper import supervise_command; supervise_command(*sys.argv[2:])"
)
Mount = Literal["hide", "read", "write", "replace"]


class Room(Value, frozen=True):
    """What a command finds around it.

    `variables` are all that its environment holds. `log` takes its standard output and standard
    error; it is never a pipe, so an orphan cannot hold its reader. At L3 only `writable` can be
    written, and `hidden` is empty except for what is `readable` or `writable` below it.
    `temporary`, a folder of the command's own, then stands at /tmp and /var/tmp, too: programs
    write there by name. Without `network` there is still the loopback device (L3 and L2).
    """

    cwd: Path
    variables: tuple[tuple[str, str], ...]
    log: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = True
    temporary: Path | None = None


def wrapped(command: Sequence[str], room: Room, level: Isolation, bounds: str) -> list[str]:
    """Return the command line that runs the command at the level, under its keeper, which keeps
    these bounds.
    """
    network = "on" if room.network else "off"
    place = str(Path(keeper.__file__).parents[2])
    argv = [sys.executable, "-I", "-S", "-B", "-c", _KEEPER, place, level, network, bounds]
    argv += command
    match level:
        case "L3":
            return [_tool("bwrap"), *_bubblewrap(room), "--", *argv]
        case "L2":
            return [_tool("unshare"), *_unshare(room), "--", *argv]
        case _:
            return argv


def _tool(name: str) -> str:
    return shutil.which(name, path=_SYSTEM_PATH) or f"/usr/bin/{name}"


def _unshare(room: Room) -> Iterator[str]:
    # The keeper needs the capabilities of the new user namespace to bring up the loopback device;
    # it drops them after.
    yield from (
        "--user",
        "--map-current-user",
        "--keep-caps",
        "--pid",
        "--fork",
        "--kill-child=KILL",
        "--mount-proc",
    )
    if not room.network:
        yield "--net"


def _bubblewrap(room: Room) -> Iterator[str]:
    yield from ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts")
    yield from ("--die-with-parent", "--as-pid-1", "--cap-drop", "ALL")
    if not room.network:
        yield "--unshare-net"
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    mounts = sorted(_mounts(room).items(), key=lambda item: len(item[0].parts))
    for path, kind in mounts:
        yield from _mounted(path, kind, room.temporary)
    for path, kind in mounts:
        if kind == "hide" and path.is_dir():
            yield from ("--remount-ro", str(path))
    yield from ("--chdir", str(room.cwd.resolve()))


def _mounts(room: Room) -> dict[Path, Mount]:
    """Return how each path is mounted; what is said later wins, so a path that is hidden and
    writable is writable.
    """
    paths = [Path(sys.prefix), Path(sys.base_prefix), Path(keeper.__file__).parent, *room.readable]
    if room.network:
        paths.append(_RESOLVER)
    mounts: dict[Path, Mount] = dict.fromkeys(_there((_SOCKETS, *room.hidden)), "hide")
    if room.temporary is not None:
        mounts |= dict.fromkeys(_there(_TEMPORARY), "replace")
    hidden = tuple(mounts)
    mounts |= {
        path: "read"
        for path in _there(paths)
        if any(path.is_relative_to(folder) for folder in hidden)
    }
    mounts |= dict.fromkeys(_there(room.writable), "write")
    return mounts


def _there(paths: Iterable[Path]) -> Iterator[Path]:
    return (path.resolve() for path in paths if path.exists())


def _mounted(path: Path, kind: Mount, temporary: Path | None) -> tuple[str, ...]:
    name = str(path)
    match kind:
        case "replace":
            return ("--bind", str(temporary), name)
        case "hide" if path.is_dir():
            return ("--tmpfs", name)
        case "hide":
            return ("--ro-bind", "/dev/null", name)
        case "read":
            return ("--ro-bind", name, name)
        case "write":
            return ("--bind", name, name)
