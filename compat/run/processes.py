"""The processes of this machine from /proc, and how to kill all descendants of one.

It is a part of `compat.run.keeper`, which starts with each command of each cell. So it imports only
the standard library, and no `typing`, which takes as long as everything else.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence

SWEEP_SECONDS = 5.0
# One scan of /proc can miss a process that forks meanwhile; in tests three in a row never did.
_EMPTY_LOOKS = 3

# At L0 the command's environment has this variable, which identifies orphans without other trace.
MARK = "COMPAT_CELL"

Known = set[tuple[int, int]]


class Process:
    """A line of `/proc/PID/stat`, see proc(5).

    `born` and `ticks` (CPU, with reaped children) are in clock ticks. `status` is the wait status
    of a zombie, and 0 where that is not shown.
    """

    __slots__ = ("born", "group", "parent", "pid", "session", "state", "status", "threads", "ticks")

    def __init__(self, pid: int, field: Sequence[bytes]) -> None:
        self.pid, self.state = pid, field[0].decode()
        self.parent, self.group, self.session = map(int, field[1:4])
        self.ticks = sum(map(int, field[11:15]))
        self.threads, self.born, self.status = int(field[17]), int(field[19]), int(field[49])

    @property
    def alive(self) -> bool:
        """Whether it still runs or could run: a zombie only waits for its parent to reap it."""
        return self.state not in "ZX"


def processes() -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if name.isdigit() and (entry := process(int(name))):
            yield entry


def process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            line = file.read()
    except OSError:
        return None
    # The name is in parentheses and may itself hold spaces and parentheses.
    return Process(pid, line[line.rindex(b")") + 2 :].split())


def family(root: int, known: Known | None = None) -> list[Process]:
    """Return the descendants of `root`, without it.

    At L0 orphans leave the tree. `known` remembers its members, and their sessions and groups
    identify the rest.
    """
    everyone = list(processes())
    children: dict[int, list[Process]] = {}
    for each in everyone:
        children.setdefault(each.parent, []).append(each)
    members = {each.pid: each for each in children.get(root, ())}
    if known is not None:
        sessions = {member.session for member in members.values()} - {os.getsid(0), 0}
        current = {each.pid: each.born for each in everyone}
        was = {pid for pid, born in known if current.get(pid, born) == born}
        members |= {
            each.pid: each
            for each in everyone
            if (each.pid, each.born) in known
            or each.session in sessions | was
            or each.group in was
            or _is_marked(each.pid, root)
        }
    waiting = list(members.values())
    while waiting:
        fresh = [each for each in children.get(waiting.pop().pid, ()) if each.pid not in members]
        members |= {each.pid: each for each in fresh}
        waiting += fresh
    if known is not None:
        known |= {(member.pid, member.born) for member in members.values()}
    return [member for member in members.values() if member.pid not in (root, os.getpid())]


def _is_marked(pid: int, root: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return f"{MARK}={root}".encode() in file.read().split(b"\0")
    return False


def send(members: Iterable[Process], *numbers: int) -> None:
    for member in members:
        now = process(member.pid)
        if now is not None and now.born == member.born:
            for number in numbers:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(member.pid, number)


def kill_descendants(root: int, known: Known | None = None) -> int:
    """Kill the descendants of another process; return how many remain after `SWEEP_SECONDS`.

    They are killed rather than frozen first: dead processes neither fork nor are scanned again, so
    the rounds get shorter and win against a fork bomb. A scan is not atomic: an empty one is not
    enough.
    """
    deadline = time.monotonic() + SWEEP_SECONDS
    empty = 0
    left: list[Process] = []
    while empty < _EMPTY_LOOKS and time.monotonic() < deadline:
        left = [each for each in family(root, known) if each.alive]
        empty = 0 if left else empty + 1
        send(left, signal.SIGKILL)
        reap_all({})
        time.sleep(0.003)
    return len(left)


def reap_all(ended: dict[int, int]) -> bool:
    """Note ended children; return whether others are left. None means no descendant, for sure."""
    try:
        while (pair := os.waitpid(-1, os.WNOHANG))[0]:
            ended[pair[0]] = pair[1]
    except ChildProcessError:
        return False
    return True


def kill_children() -> None:
    """Kill own children and their adopted orphans until none is left, for up to `SWEEP_SECONDS`.

    Their ids cannot be reused, as only we reap them. It is faster than a scan of all processes, so
    it catches even a chain in which each process starts the next and exits.
    """
    deadline = time.monotonic() + SWEEP_SECONDS
    while reap_all({}) and time.monotonic() < deadline:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb", buffering=0) as file:
                children = [int(pid) for pid in file.read().split()]
        except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
            children = [each.pid for each in family(os.getpid())]
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
