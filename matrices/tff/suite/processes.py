"""Other processes that a test starts: limited in time, and ended with all that they started."""

import collections
import contextlib
import glob
import os
import signal
import subprocess
import time


@contextlib.contextmanager
def running(log, *command):
    """Run a command in a session of its own until the block ends; its output goes to a file."""
    process = started(log, *command)
    try:
        yield process
    finally:
        end(process)


def started(log, *command, takes_input=False):
    """Start a command in a session of its own; its output goes to a file."""
    # A pipe would be held open by the processes that the library starts.
    with open(str(log), "wb") as output:
        return subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=os.path.dirname(os.path.abspath(__file__)),
        )


def end(process):
    """End a process and all of its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def wait_until(condition, seconds=45, what="the condition"):
    """Wait until a function returns something true, and return that."""
    limit = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < limit, f"{what} did not come true within {seconds} s"
        time.sleep(0.02)


def with_memory(call):
    """Return what a call returns, and by how many megabytes this process and its children grew meanwhile, at most.

    The library's runtime is such a child since 0.41. None where the kernel does not tell.
    """
    try:
        before = {process: resident(process, "VmRSS") for process in family()}
        for process in before:
            with open(f"/proc/{process}/clear_refs", "w") as file:
                file.write("5")  # the largest so far begins again
    except OSError:
        return call(), None
    result = call()
    grown = [resident(process, "VmHWM") - before.get(process, 0) for process in family()]
    return result, sum(max(0, kilobytes) for kilobytes in grown) / 1024


def family():
    """Return the numbers of this process and of all that it started, and they did."""
    children = collections.defaultdict(list)
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError), open(path) as file:
            number, _, rest = file.read().partition(" ")
            children[int(rest.rpartition(")")[2].split()[1])].append(int(number))
    found = [os.getpid()]
    for process in found:
        found += children[process]
    return found


def resident(process, kind):
    """Return a size of a process's memory in kilobytes; 0 when it has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/status") as file:
        for line in file:
            if line.startswith(kind + ":"):
                return int(line.split()[1])
    return 0
