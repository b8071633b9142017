"""Other processes that a test starts: limited in time, and ended with all that they started."""

import contextlib
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
