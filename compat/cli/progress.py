"""Progress of a run on stderr: a line for each finished cell. What runs stands below it on a
terminal, a line for each worker; elsewhere it is one line a minute.
"""

import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from rich.live import Live
from rich.text import Text

from compat.cli.arguments import given
from compat.cli.output import console as stderr_console
from compat.cli.output import note
from compat.errors import count, one_line
from compat.results.judge import JudgedRun
from compat.results.record import StepSeconds
from compat.results.runs import seconds_left
from compat.run.events import SuiteWatch
from compat.run.installation import Activity
from compat.run.job import Job

MINUTE = 60.0
# The steps whose seconds records have, in their order, and which of them an activity belongs to.
_STEPS = ("install", "import_", "suite", "overhead")
_STEP_OF: dict[str, str] = {
    "environment": "install",
    "install": "install",
    "import": "import_",
    "suite": "suite",
    "check": "overhead",
}


@dataclass
class _Running:
    """A cell in a worker or in the resolver."""

    cell: str
    since: float
    entered: float
    activity: Activity | Literal["lock", "starting"]
    watch: SuiteWatch


S = TypeVar("S", bound="Status")


class Status:
    """Shows lines about what runs while it is entered: below all others on a terminal, else once a
    minute as one line. The last of them is about the whole: alone, it is for terminals.
    """

    def __init__(self, lines: Callable[[], list[str]], minute: float = MINUTE) -> None:
        self._lines, self._minute = lines, minute
        self._over = threading.Event()
        self._live: Live | None = None

    def __enter__(self: S) -> S:
        console = stderr_console(stderr=True)
        if console.is_terminal and not given.quiet:
            self._live = Live(console=console, get_renderable=self._text, refresh_per_second=1)
            self._live.start()
        else:
            threading.Thread(target=self._note_each_minute, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._live is not None:
            self._live.stop()

    def tell(self, line: str) -> None:
        if self._live is not None:
            self._live.console.print(Text(one_line(line)))
        else:
            note(line)

    def _text(self) -> Text:
        return Text("\n".join(map(one_line, self._lines())))

    def _note_each_minute(self) -> None:
        while not self._over.wait(self._minute):
            if (lines := self._lines())[1:]:
                note("; ".join(lines))


class Progress(Status):
    """A Reporter for people. `expected` has the seconds of each cell, None if unknown, `steps`
    those of each step. `words` is how to word the result of a run.
    """

    def __init__(
        self,
        expected: Mapping[str, float | None],
        workers: int,
        *,
        steps: Mapping[str, StepSeconds] | None = None,
        words: Callable[[JudgedRun], str] = lambda attempt: str(attempt.outcome),
        clock: Callable[[], float] = time.monotonic,
        minute: float = MINUTE,
    ) -> None:
        super().__init__(self.lines, minute)
        self._expected = expected
        self._steps, self._words = steps or {}, words
        self._workers = workers
        self._clock = clock
        self._waiting = set(expected)
        self._total = len(expected)
        self._ended = 0
        # How long the cells took that ended in this run: what is known of a matrix without records.
        self._taken: list[float] = []
        # By worker, else by the cell that the resolver has.
        self._running: dict[int | str, _Running] = {}
        self._lock = threading.RLock()

    # Called by the workers.

    def locking(self, cell: str) -> None:
        with self._lock:
            now = self._clock()
            self._running[cell] = _Running(cell, now, now, "lock", SuiteWatch(Path()))

    def locked(self, cell: str) -> None:
        with self._lock:
            self._running.pop(cell, None)

    def began(self, worker: int, job: Job) -> None:
        with self._lock:
            self._waiting.discard(job.cell)
            now = self._clock()
            self._running[worker] = _Running(job.cell, now, now, "starting", SuiteWatch(Path()))

    def entered(self, worker: int, job: Job, activity: Activity, cell: Path) -> None:
        with self._lock:
            running = self._running[worker]
            if _STEP_OF.get(activity) != _STEP_OF.get(running.activity):
                running.entered = self._clock()
            running.activity, running.watch = activity, SuiteWatch(cell)

    def ended(self, worker: int, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        seconds = sum(attempt.evidence.seconds for attempt in attempts)
        self._taken.append(seconds)
        self._end(worker, job.cell, f"{self._words(attempts[-1])}  {seconds:.0f} s")

    def faulted(self, worker: int, job: Job, why: str) -> None:
        self._end(worker, job.cell, f"was not run: {why}")

    def stopped(self, worker: int, why: str) -> None:
        with self._lock:
            self._running.pop(worker, None)
        self.tell(f"worker {worker} stopped: {why}")

    def counted(self, cell: str, why: str) -> None:
        with self._lock:
            self._waiting.discard(cell)
            self._ended += 1
            line = f"[{self._ended}/{self._total}] {cell}  {why}"
        self.tell(line)

    def _end(self, worker: int, cell: str, why: str) -> None:
        """The breaker may hold a result back, so the worker may be at another cell already."""
        with self._lock:
            running = self._running.get(worker)
            if running is not None and running.cell == cell:
                del self._running[worker]
        self.counted(cell, why)

    # What is shown.

    def lines(self) -> list[str]:
        with self._lock:
            workers = sorted(who for who in self._running if isinstance(who, int))
            resolvers = [who for who in self._running if isinstance(who, str)]
            shown, rows = list[str](), list[int | str]([*workers, *resolvers])
            for who in rows:
                running = self._running[who]
                doing, elapsed = str(running.activity), _duration(self._clock() - running.since)
                if running.activity == "suite" and (tests := running.watch.progress()):
                    doing = f"suite, {tests}"
                name = "resolver" if isinstance(who, str) else f"worker {who}"
                left = _about_left(self._left_of(running))
                shown.append(f"{name} {running.cell} {doing}, {elapsed}{left}")
            busy = [self._left_of(self._running[worker]) for worker in workers]
            waiting = [self._seconds_of(cell) for cell in self._waiting]
            left = _about_left(seconds_left(busy, waiting, self._workers))
        return [*shown, f"{self._ended} of {count(self._total, 'cell')}{left}"]

    def _left_of(self, running: _Running) -> float | None:
        """Seconds left, at least 0 in a known step; None if unknown, as while locking."""
        expected = self._seconds_of(running.cell)
        if expected is None or running.activity == "lock":
            return None
        steps, step = self._steps.get(running.cell), _STEP_OF.get(running.activity)
        if steps is None or step is None:
            return expected - (self._clock() - running.since)
        seconds = [getattr(steps, name) or 0.0 for name in _STEPS[_STEPS.index(step) :]]
        return max(0.0, seconds[0] - (self._clock() - running.entered)) + sum(seconds[1:])

    def _seconds_of(self, cell: str) -> float | None:
        expected = self._expected.get(cell)
        return statistics.median(self._taken) if expected is None and self._taken else expected


def _about_left(seconds: float | None) -> str:
    return f", about {_duration(max(1.0, seconds))} left" if seconds and seconds > 0 else ""


def _duration(seconds: float) -> str:
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"
