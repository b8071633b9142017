"""Another process that imports the library once, and then runs programs for tests, one after the other.

An import of the library takes as long as twenty tests do. The process has none of the code of the tests' process; of a
program before it keeps nothing but what the library itself keeps. A program that raises, that outlasts its test, or
whose test fails takes the process with it, so that the next one gets a new one: what breaks one capability cannot be
what breaks another.
"""

import contextlib
import json
import os
import runpy
import signal
import sys
import traceback

from processes import end, started, wait_until

SECONDS = 50  # for a program that is to end, with the import if it is the first


class AnotherProcess:
    """Runs Python programs in a process that is started for the first, and again when it is gone."""

    def __init__(self, folder):
        """Take a folder for its output and for what the programs came to; nothing starts yet."""
        self._folder = folder
        self._process = None
        self._programs = 0

    def run(self, program, *arguments):
        """Run a program to its end."""
        with self.running(program, *arguments):
            pass

    @contextlib.contextmanager
    def running(self, program, *arguments):
        """Run a program beside the block, at whose end it ends by itself; fail with what it raised.

        The block gets a function that says whether the program has ended.
        """
        outcome = self._hand_over([os.path.abspath(str(program)), *map(str, arguments)])

        def ended():
            return outcome.exists() or self._process.poll() is not None

        try:
            yield ended
            wait_until(ended, SECONDS, "the end of a program")
            assert outcome.exists(), "the process ended early: " + self._log.read_text(errors="replace")[-2000:]
            raised = outcome.read_text()
            assert not raised, raised[-2000:]
        except BaseException:
            self.end()
            raise

    def end(self):
        """End the process, and all that it started."""
        if self._process is not None:
            end(self._process)
            with contextlib.suppress(BrokenPipeError):  # it was gone before it read what it was handed
                self._process.stdin.close()
            self._process = None

    @property
    def _log(self):
        return self._folder / "log"

    def _hand_over(self, command):
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._process = started(self._log, sys.executable, os.path.abspath(__file__), takes_input=True)
        self._programs += 1
        outcome = self._folder / str(self._programs)
        self._process.stdin.write(json.dumps([str(outcome), command]).encode() + b"\n")
        self._process.stdin.flush()
        return outcome


def main():
    """Run the programs that are named on standard input, until it ends."""
    # The library stops what it starts by this signal; where it is ignored, that waits for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    programs = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what the programs and the library start must not hold it
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # the programs know nothing of the suite
    import tensorflow_federated  # noqa: F401

    for line in programs:
        outcome, sys.argv = json.loads(line.decode())
        raised = ""
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except BaseException:
            raised = traceback.format_exc()
        with open(outcome + ".part", "w") as file:
            file.write(raised)
        os.replace(outcome + ".part", outcome)


if __name__ == "__main__":
    main()
