"""The first process inside an isolation: starts one command, adopts its orphans, and ends after
them.

`compat.run.isolation` starts it with each command of each cell, `-I -S`: so it imports only its
neighbour `processes` and a minimum of the standard library. It is the init of its pid namespace
(L3, L2), a subreaper (L1), or a plain parent (L0).

Its three channels are closed to the command: standard input brings orders, standard output takes
the report. Standard error is the log, which the command shares. The end of the input is the order
to kill, so nothing survives a killed supervisor. A starved or stopped supervisor gives no order, so
the keeper also has the deadline and ends the command itself.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import select
import signal
import stat
import struct
import time
from collections.abc import Iterable, Iterator, Sequence

# The processes of this machine from /proc, and how to kill all descendants of one.
#
# It is a part of `compat.run.keeper`, which starts with each command of each cell. So it imports
# only the standard library, and no `typing`, which takes as long as everything else.

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


DUMP, TERMINATE, KILL = b"d", b"t", b"k"
# Seconds from the signal to the dump of all stacks; faulthandler takes milliseconds.
DUMP_SECONDS = 1.0
# From the request to end to the end.
GRACE_SECONDS = 2.0
# Normally the supervisor ends a command at its deadline; this late it must be starved.
_LATE_SECONDS = 1.0
# Steps of nice(2) by which the command's priority is lower, where the keeper's could not be raised.
_BEHIND = 2
READY = b"ready\n"
# Children that end with their parent need a moment; only those alive afterwards have survived it.
SETTLE_SECONDS = 0.25
# <linux/prctl.h>, <linux/capability.h>, <linux/sockios.h>, <linux/if.h>, <linux/mount.h>
_PDEATHSIG, _DUMPABLE, _CAPBSET_DROP, _SUBREAPER, _NO_NEW_PRIVS = 1, 4, 24, 36, 38
_AMBIENT, _AMBIENT_CLEAR_ALL = 47, 4
# In the initial namespace, root keeps only its rights over files and accounts. With CAP_SYS_ADMIN
# or CAP_PERFMON it could read the environment of every process despite Landlock; with others it
# could set the clock or load a module.
_OF_FILES_AND_ACCOUNTS = 8
_CAPABILITY_VERSION_3 = 0x20080522
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_NO_SUID_NO_DEV = 6
# <linux/landlock.h>: calls (same numbers on every processor but Alpha), the right to move files
# between folders, abstract sockets and signals.
_CREATE_RULES, _ADD_RULE, _RESTRICT, _ASK_VERSION, _BELOW = 444, 445, 446, 1, 1
_MOVE, _SCOPES = 1 << 13, 3
# Below L3 a command changes files only in its own folders and in these. It never makes a device
# (bits 6 and 11): root could write to a disk through one. A file has only bits 1 and 14.
_GOVERNED, _TRUNCATE = 0x1FF2, 1 << 14
_GRANTED, _OF_A_FILE = _GOVERNED & ~(1 << 6 | 1 << 11) | _TRUNCATE, 1 << 1 | _TRUNCATE
_WRITABLE = (
    *("/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/dev/ptmx", "/dev/tty"),
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
)
# <linux/audit.h>, <asm/unistd.h>, for each processor: its kernel name, the calls seccomp, socket
# and prlimit64, and the denied ones: add_key, request_key, keyctl, io_uring_setup, fsopen.
_CALLS = {
    "x86_64": (0xC000003E, 317, 41, 302, (248, 249, 250, 425, 430)),
    "aarch64": (0xC00000B7, 277, 198, 261, (217, 218, 219, 425, 430)),
}
# <linux/bpf_common.h>, <linux/seccomp.h>
_LOAD, _EQUAL, _ABOVE, _END, _ALLOW, _FAIL = 0x20, 0x15, 0x35, 0x06, 0x7FFF0000, 0x50000
_UNIX_IP_NETLINK = (1, 2, 10, 16)


# How the command starts: priority as in nice(2), RLIMIT_NPROC (0 for none), the writable folders
# (None leaves that to the root that it has, L3), and its words.
Start = tuple[int, int, "list[str] | None", list[str]]


class Keeper:
    """The loop of the first process: the wait status, the orders, the deadline, the orphans."""

    def __init__(self, level: str, seconds: float, start: Start) -> None:
        end = time.monotonic() + seconds + _LATE_SECONDS
        # The keeper's own orders, and when they are due.
        self.own = [
            (end, DUMP),
            (end + DUMP_SECONDS, TERMINATE),
            (end + DUMP_SECONDS + GRACE_SECONDS, KILL),
        ]
        self.is_expired = False
        self.is_init = level in ("L3", "L2")
        self.known: Known | None = set() if level == "L0" else None
        self.status: int | None = None
        self.bell, bell = os.pipe()
        os.set_blocking(bell, False)
        signal.set_wakeup_fd(bell)
        # The kernel drops signals that an init does not handle: no cell ends it by a signal.
        for number in (signal.SIGCHLD, *(() if self.is_init else (signal.SIGTERM,))):
            signal.signal(number, lambda *_: None)
        # The original environment: Python changes its own in the C locale (PEP 538).
        with open("/proc/self/environ", "rb") as file:
            pairs = [each.partition(b"=") for each in file.read().split(b"\0") if each]
        variables = {name: value for name, _, value in pairs}
        if level == "L0":
            variables[MARK.encode()] = str(os.getpid()).encode()
        self.main = _started(start, variables, self.is_init)

    def wait(self) -> None:
        while self.status is None:
            patience = max(self.own[0][0] - time.monotonic(), 0)
            ready, _, _ = select.select(
                [0, self.bell], [], [], patience if self.known is None else min(patience, 0.2)
            )
            rung = os.read(self.bell, 4096) if self.bell in ready else b""
            self._reap()
            if self.known is not None:
                family(os.getpid(), self.known)
            if signal.SIGTERM in rung:
                return
            if 0 in ready:
                # The supervisor ends the command now, and may still be starved before its last
                # order.
                last = time.monotonic() + _LATE_SECONDS + DUMP_SECONDS + GRACE_SECONDS
                self.own = [(min(last, self.own[-1][0]), KILL)]
                if not self._obeyed(os.read(0, 64)):
                    return
            if self.status is None and self.own[0][0] <= time.monotonic():
                self.is_expired = True
                if not self._obeyed(self.own.pop(0)[1]):
                    return

    def _obeyed(self, orders: bytes) -> bool:
        if not orders or KILL in orders:
            return False
        if DUMP in orders:
            self._signal(signal.SIGUSR1)
        if TERMINATE in orders:
            self._signal(signal.SIGTERM, signal.SIGCONT)
        return True

    def _signal(self, *numbers: int) -> None:
        if not self.is_init:
            send(self._alive(), *numbers)
            return
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, number)

    def _reap(self) -> bool:
        ended: dict[int, int] = {}
        others = reap_all(ended)
        self.status = ended.get(self.main, self.status)
        return others

    def _alive(self) -> list[Process]:
        return [each for each in family(os.getpid(), self.known) if each.alive]

    def _left(self) -> int:
        others = self._reap()
        return max(len(self._alive()), int(others and self.known is None))

    def end(self) -> int:
        """Kill everything that is left, and return how many had survived the command's own end."""
        survivors = 0
        if self.status is not None:
            patience = time.monotonic() + SETTLE_SECONDS
            while (survivors := self._left()) and time.monotonic() < patience:
                time.sleep(0.01)
        if self.is_init:
            # This kills the whole namespace at once: no fork escapes.
            self._signal(signal.SIGKILL)
        if self.known is None:
            kill_children()
        else:
            kill_descendants(os.getpid(), self.known)
        return survivors


def _started(start: Start, variables: dict[bytes, bytes], is_init: bool) -> int:
    # The command must not reach its keeper's memory and pipes through /proc: the report is there.
    libc = ctypes.CDLL(None)
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)
    if (pid := os.fork()) == 0:
        try:
            libc.prctl(_DUMPABLE, 1, 0, 0, 0)
            _exec(start, variables, is_init)
        except BaseException as fault:
            reason = fault.strerror if isinstance(fault, OSError) else str(fault)
            message = f"{start[-1][0]} could not be started: {reason}\n"
            os.write(2, message.encode(errors="surrogateescape"))
        os._exit(127)
    return pid


def _exec(start: Start, variables: dict[bytes, bytes], is_init: bool) -> None:
    priority, tasks, writable, command = start
    signal.set_wakeup_fd(-1)
    # Programs hang if they inherit SIG_IGN of SIGINT and end their children with it.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.closerange(3, 256)
    # When memory runs out, the kernel should kill the cell and not its supervisor.
    with (
        contextlib.suppress(OSError),
        open("/proc/self/oom_score_adj", "w", encoding="ascii") as file,
    ):
        file.write("500")
    is_ahead = os.getpriority(os.PRIO_PROCESS, 0) < priority
    os.setpriority(os.PRIO_PROCESS, 0, min(priority + (0 if is_ahead else _BEHIND), 19))
    if tasks:
        resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(0 if is_init else _OF_FILES_AND_ACCOUNTS, 64):
        libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    if is_init:
        libc.prctl(_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
        if libc.capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), bytes(24)) != 0:
            raise OSError(ctypes.get_errno(), "capset")
    _confine(writable)
    _filter_calls(is_strict=writable is None)
    os.execvpe(command[0], command, variables)


def _confine(writable: list[str] | None) -> None:
    """Restrict the command by Landlock at every level.

    Denied: the memory and environment of outside processes, signals to them, their abstract
    sockets, mounts, and changing files outside these folders. A kernel before 5.19 enforces none of
    it, one before 6.12 neither signals nor sockets.
    """
    libc = ctypes.CDLL(None)
    version = libc.syscall(_CREATE_RULES, 0, 0, _ASK_VERSION)
    if version < 2:
        return
    # A ruleset must govern some right: moving files, which is then allowed everywhere.
    scopes, governed = _SCOPES if version >= 6 else 0, _MOVE
    if writable is not None:
        governed |= _GOVERNED | (_TRUNCATE if version >= 3 else 0)
    known = struct.pack("QQQ", governed, 0, scopes)[: 24 if scopes else 8]
    rules = libc.syscall(_CREATE_RULES, known, len(known), 0)
    for path in ("/", *([] if writable is None else (*writable, *_WRITABLE))):
        with contextlib.suppress(FileNotFoundError):
            place = os.open(path, os.O_PATH)
            is_folder = stat.S_ISDIR(os.fstat(place).st_mode)
            granted = _MOVE if path == "/" else governed & (_GRANTED if is_folder else _OF_A_FILE)
            libc.syscall(_ADD_RULE, rules, _BELOW, struct.pack("=Qi", granted, place), 0)
            os.close(place)
    if libc.syscall(_RESTRICT, rules, 0) != 0:
        raise OSError(0, "Landlock refuses its rules")
    os.close(rules)


def _filter_calls(is_strict: bool) -> None:
    """Deny calls that no namespace isolates.

    These are the keys of the user's session, limits of other processes (the keeper's, too), and
    sockets of other families. One such family connects a virtual machine and its host. io_uring
    would open such sockets unseen, and memory in an unmounted file system is not counted. A 32-bit
    program has other call numbers and may make none of its calls.
    """
    name, seccomp, socket, limit, refused = _CALLS.get(os.uname().machine, (0, 0, 0, 0, ()))
    if not name or struct.calcsize("P") != 8:
        return
    # Each: label, code, number, and the next label on a match and otherwise.
    program = [
        ("", _LOAD, 4, "", ""),
        ("", _EQUAL, name, "", "unknown"),
        ("", _LOAD, 0, "", ""),
        ("", _ABOVE, 1 << 30, "unknown", ""),
        *(("", _EQUAL, call, "unknown", "") for call in refused),
        ("", _EQUAL, socket, "socket", ""),
        ("", _EQUAL, limit, "", "allow"),
        # The process, 0 for the caller; and both halves of the address of a new limit.
        ("", _LOAD, 16, "", ""),
        ("", _EQUAL, 0, "allow", ""),
        ("", _LOAD, 32, "", ""),
        ("", _EQUAL, 0, "", "deny"),
        ("", _LOAD, 36, "", ""),
        ("", _EQUAL, 0, "allow", ""),
        ("deny", _END, _FAIL | errno.EPERM, "", ""),
        ("socket", _LOAD, 16, "", ""),
        *(("", _EQUAL, family, "allow", "") for family in _UNIX_IP_NETLINK),
        ("", _END, _FAIL | errno.EAFNOSUPPORT, "", ""),
        ("unknown", _END, _FAIL | errno.ENOSYS, "", ""),
        ("allow", _END, _ALLOW, "", ""),
    ]
    # No label means the next instruction.
    labels = {label: n for n, (label, *_) in enumerate(program)}
    code = b"".join(
        struct.pack("HBBI", what, *(labels[to] - n - 1 if to else 0 for to in (yes, no)), number)
        for n, (_, what, number, yes, no) in enumerate(program)
    )
    filled = ctypes.create_string_buffer(code)
    whole = struct.pack("HP", len(program), ctypes.addressof(filled))
    # 4: without a mitigation that would slow the program down (SECCOMP_FILTER_FLAG_SPEC_ALLOW).
    if ctypes.CDLL(None).syscall(seccomp, 1, 4, whole) != 0 and is_strict:
        raise OSError(0, "the kernel takes no filter of system calls")


def _settle_in(level: str, network: str, shared_mb: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if level in ("L1", "L0"):
        libc.prctl(_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if level == "L1" and libc.prctl(_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no subreaper")
    if level == "L2" and network == "off":
        # Only L2 needs it, and it takes as long as three of the imports above.
        import socket

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            request = bytearray(struct.pack("16sh22x", b"lo", 0))
            fcntl.ioctl(channel, _GET_FLAGS, request)
            flags = struct.unpack_from("h", request, 16)[0]
            struct.pack_into("h", request, 16, flags | _UP)
            fcntl.ioctl(channel, _SET_FLAGS, request)
    size = f"mode=1777,size={shared_mb}m".encode()
    if level == "L2" and libc.mount(b"shm", b"/dev/shm", b"tmpfs", _NO_SUID_NO_DEV, size) != 0:
        raise OSError(ctypes.get_errno(), "no shared memory of its own")
    # No sudo out of the cell, at any level.
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The parent's signals do not concern the keeper: only orders end it.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)


def supervise_command(level: str, network: str, bounds: str, folders: str, *words: str) -> None:
    """Run a command at the level, with the network "on" or "off", within `supervise._bounds`.

    The words are the number of writable folders, these folders, and the command.
    """
    count = int(folders)
    writable = None if level == "L3" else list(words[:count])
    seconds, priority, tasks, shared_mb, *groups = bounds.split(":")
    _settle_in(level, network, shared_mb)
    for group in groups:
        os.write(int(group), b"0")
        os.close(int(group))
    os.write(1, READY)
    start = int(priority), int(tasks), writable, list(words[count:])
    keeper = Keeper(level, float(seconds), start)
    keeper.wait()
    survivors = keeper.end()
    end = "expired 0" if keeper.is_expired else "killed 0"
    if not keeper.is_expired and keeper.status is not None:
        code = os.waitstatus_to_exitcode(keeper.status)
        end = f"{'exit' if code >= 0 else 'signal'} {abs(code)}"
    with contextlib.suppress(BrokenPipeError):
        os.write(1, f"{end} {survivors}\n".encode())
