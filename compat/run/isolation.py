"""The isolation of a process tree: what a command may see, and the command line for it."""

import functools
import pwd
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from compat.run import keeper
from compat.run.evidence import Isolation
from compat.value import Value

HIGHEST_FIRST: tuple[Isolation, ...] = get_args(Isolation)
# Never the caller's PATH: it may begin with a cell's folder, where hostile code may have put a
# `bwrap`.
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# What a cell at L3 can read of this machine, if present, besides its interpreter and its own
# folders. A read-only mount does not stop a connection to a socket, so folders with sockets are not
# listed. docs/isolation.md prints the list; a test compares them.
SYSTEM = """
/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /gnu/store /sys/devices/system
/etc/alternatives /etc/ca-certificates /etc/crypto-policies /etc/fonts /etc/gai.conf /etc/host.conf
/etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/localtime /etc/mime.types /etc/nsswitch.conf
/etc/os-release /etc/pki/ca-trust/extracted /etc/pki/tls/cert.pem /etc/pki/tls/certs
/etc/pki/tls/openssl.cnf /etc/protocols /etc/services /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem
/etc/ssl/certs /etc/ssl/openssl.cnf /etc/terminfo /etc/timezone /var/lib/ca-certificates
"""
NETWORK = ("/etc/resolv.conf", "/etc/hosts")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_SETTINGS = tuple(
    f"/proc/{each}" for each in ["sys", "fs", "acpi", "scsi", "driver", "mtrr", "pressure"]
)
_SHARED_MEMORY, _TEMPORARY = "/dev/shm", ("/tmp", "/var/tmp")
# An isolated Python (-I) has none of our folders on its path. Ours comes last, so that it hides
# nothing of the standard library. Imported, because a script's bytecode is not cached.
_KEEPER = (
    "import sys; sys.path.append(sys.argv[1]);"
    " from compat.run.keeper import supervise_command; supervise_command(*sys.argv[2:])"
)


class Room(Value, frozen=True):
    """What a command can access.

    `variables` are its whole environment. `log` takes its standard output and standard error; it is
    never a pipe, so an orphan cannot block its reader. Only `writable` can be written. At L3
    nothing else is visible but `readable` and `SYSTEM`. Below L3 Landlock enforces it, and leaves
    the machine's temporary folders writable. `temporary`, a private folder, is then mounted at /tmp
    and /var/tmp, because programs write there by name; the default is memory. Without `network`
    only the loopback device remains (L3 and L2). With `links` it is an installer that hard-links
    files of its cache, which takes no disk space.
    """

    cwd: Path
    variables: tuple[tuple[str, str], ...]
    log: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    network: bool = True
    temporary: Path | None = None
    links: bool = False


def wrapped(
    command: Sequence[str],
    room: Room,
    level: Isolation,
    bounds: str,
    most: int,
    files: Iterable[tuple[str, int]],
) -> list[str]:
    """In a sandbox (L3) each file system in memory has at most so many bytes; 0 is unlimited. The
    files, each an open descriptor, replace the machine's.
    """
    network = "on" if room.network else "off"
    place = str(Path(keeper.__file__).parents[2])
    # The path as called may name folders outside the sandbox: ../.venv/bin/python.
    python = Path(sys.executable).parent.resolve() / Path(sys.executable).name
    argv = [str(python), "-I", "-S", "-B", "-c", _KEEPER, place, level, network, bounds]
    argv += [str(len(room.writable)), *map(str, room.writable), *command]
    match level:
        case "L3":
            program = Path(command[0])
            readable = (*room.readable, *([program] if program.is_absolute() else []))
            own = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
            own += ["--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--hostname"]
            own += ["localhost", *([] if room.network else ["--unshare-net"])]
            mounts = _mounts(room, readable, most)
            # Bubblewrap begins with an empty root, and makes each folder that a mount needs.
            for path in sorted(mounts, key=lambda path: len(path.parts)):
                own += mounts[path]
            for name, handle in files:
                own += ["--file", str(handle), name]
            own += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(room.cwd.resolve())]
            return [tool("bwrap"), *own, "--", *argv]
        case "L2":
            # The keeper needs the new user namespace's capabilities to bring up the loopback device
            # and to mount shared memory; its command drops them.
            words = ["--user", "--map-current-user", "--keep-caps", "--pid", "--fork", "--ipc"]
            words += ["--kill-child=KILL", "--mount-proc", *([] if room.network else ["--net"])]
            return [tool("unshare"), *words, "--", *argv]
        case _:
            return argv


def tool(name: str) -> str:
    return shutil.which(name, path=_SYSTEM_PATH) or f"/usr/bin/{name}"


def in_memory(room: Room, level: Isolation) -> tuple[str, ...]:
    temporary = _TEMPORARY if level == "L3" and not room.temporary else ()
    return (_SHARED_MEMORY, *temporary) if level in ("L3", "L2") else ()


def made_up(room: Room, uid: int, gid: int) -> dict[str, str]:
    """Files in place of the machine's. Without a network only the loopback's name resolves."""
    home = dict(room.variables).get("HOME", str(room.cwd))
    users = {0: "root", 65534: "nobody", uid: "cell" if uid else "root"}
    groups = {0: "root", 65534: "nogroup", gid: "cell" if gid else "root"}
    files = {
        "/etc/passwd": "".join(
            f"{name}:x:{number}:{gid if number == uid else number}::"
            f"{home if number == uid else '/nonexistent'}:/bin/sh\n"
            for number, name in users.items()
        ),
        "/etc/group": "".join(f"{name}:x:{number}:\n" for number, name in groups.items()),
    }
    hosts = {} if room.network else {"/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n"}
    return files | hosts


@functools.cache
def prefix_paths(prefix: Path) -> tuple[Path, ...]:
    """All of a prefix; of a home folder or `/` only the folders that a Python installs into."""
    homes = {Path("/"), *(Path(each.pw_dir) for each in pwd.getpwall())}
    if not any(home.is_relative_to(prefix) for home in homes):
        return (prefix,)
    names = ("bin", "include", "lib", "lib64", "libexec", "pyvenv.cfg", "share")
    return tuple(prefix / name for name in names)


def _mounts(room: Room, readable: Iterable[Path], most: int) -> dict[Path, tuple[str, ...]]:
    """Bubblewrap's mounts; writable paths stay writable even below readable ones."""
    size = ("--size", str(most)) if most else ()
    mounts: dict[Path, tuple[str, ...]] = {
        Path(name): (*size, "--tmpfs", name) for name in in_memory(room, "L3")
    }
    if room.temporary is not None:
        mounts |= {Path(name): ("--bind", str(room.temporary), name) for name in _TEMPORARY}
    mounts |= {Path(f"/{name}"): (f"--{name}", f"/{name}") for name in ("dev", "proc")}
    mounts[Path("/run")] = ("--dir", "/run")
    # Root owns these files, and the outer root is their owner inside, too.
    mounts |= {Path(name): ("--ro-bind-try", name, name) for name in _SETTINGS}
    variables: Mapping[str, str] = dict(room.variables)
    named = [variables[name] for name in _CERTIFICATES if name in variables]
    named += NETWORK if room.network else ()
    own = [path for name in {sys.prefix, sys.base_prefix} for path in prefix_paths(Path(name))]
    shown: set[Path] = set()
    for option, paths in (
        ("--bind", room.writable),
        ("--ro-bind", map(Path, (*SYSTEM.split(), *named))),
        ("--ro-bind", (*own, Path(keeper.__file__).parent, *readable)),
    ):
        for path in (path for path in paths if path.exists()):
            links = {link: ("--symlink", target, str(link)) for link, target in _links(path)}
            mounts = links | mounts
            place = path.resolve()
            if option == "--bind" or shown.isdisjoint((place, *place.parents)):
                mounts[place] = (option, str(place), str(place))
                shown.add(place)
    return {
        path: words
        for path, words in mounts.items()
        if words[0] != "--symlink" or shown.isdisjoint(path.parents)
    }


def _links(path: Path) -> Iterator[tuple[Path, str]]:
    place, left = Path("/"), list(path.absolute().parts[1:])
    while left:
        part = left.pop(0)
        place = place.parent if part == ".." else place / part
        if place.is_symlink():
            target = place.readlink()
            yield place, str(target)
            left = [*(target.parts[1:] if target.is_absolute() else target.parts), *left]
            place = Path("/") if target.is_absolute() else place.parent
