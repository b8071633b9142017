"""Progress of a run on stderr: a line for each worker on a terminal, else a line for each finished
cell and one a minute for the running ones.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from compat.cli.output import console as stderr_console
from compat.cli.output import note
from compat.errors import one_line
from compat.results.durations import seconds_left
from compat.results.judged import JudgedRun
from compat.results.record import StepSeconds
from compat.run.events import SuiteProgress, SuiteWatch
from compat.run.job import Job
from compat.run.steps import Activity
from compat.site.wording import count, listed

MINUTE = 60.0
# Below this many columns a worker takes two lines; below the second number there is no bar.
_WIDE = 115
_BARRED = 60
_BAR = 20
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
    watch: SuiteWatch | None = None
    suite: SuiteProgress | None = None


@dataclass(frozen=True)
class RunHistory:
    """Known durations of steps, and how to word the result of a run."""

    steps: Mapping[str, StepSeconds] = field(default_factory=dict)
    words: Callable[[JudgedRun], str] = lambda attempt: str(attempt.outcome)


class Progress:
    """A Reporter for people and a context manager. `expected` has the seconds of each cell, None if
    unknown; `minute` is the interval of lines without a terminal.
    """

    def __init__(
        self,
        expected: Mapping[str, float | None],
        workers: int,
        *,
        known: RunHistory | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        minute: float = MINUTE,
    ) -> None:
        self._expected = expected
        self._known = known or RunHistory()
        self._workers = workers
        self._clock = clock
        self._minute = minute
        self._waiting = set(expected)
        self._total = len(expected)
        self._ended = 0
        # How long the cells took that ended in this run: what is known of a matrix without records.
        self._taken: list[float] = []
        self._running: dict[int, _Running] = {}
        self._locking: dict[str, _Running] = {}
        self._lock = threading.RLock()
        self._over = threading.Event()
        console = console or stderr_console(stderr=True)
        self._live = (
            Live(console=console, get_renderable=lambda: self, refresh_per_second=4)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> "Progress":
        if self._live is not None:
            self._live.start()
        else:
            threading.Thread(target=self._report_each_minute, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._live is not None:
            self._live.stop()

    # Called by the workers.

    def locking(self, cell: str) -> None:
        with self._lock:
            now = self._clock()
            self._locking[cell] = _Running(cell, now, now, "lock")

    def locked(self, cell: str) -> None:
        with self._lock:
            self._locking.pop(cell, None)

    def began(self, worker: int, job: Job) -> None:
        with self._lock:
            self._waiting.discard(job.cell)
            now = self._clock()
            self._running[worker] = _Running(job.cell, now, now, "starting")

    def entered(self, worker: int, job: Job, activity: Activity, cell: Path) -> None:
        with self._lock:
            running = self._running[worker]
            if _STEP_OF.get(activity) != _STEP_OF.get(running.activity):
                running.entered = self._clock()
            running.activity, running.suite = activity, None
            running.watch = SuiteWatch(cell) if activity == "suite" else None

    def ended(self, worker: int, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        seconds = sum(attempt.evidence.seconds for attempt in attempts)
        self._taken.append(seconds)
        self._end(worker, job.cell, f"{self._known.words(attempts[-1])}  {seconds:.0f} s")

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

    def tell(self, line: str) -> None:
        if self._live is not None:
            self._live.console.print(Text(one_line(line)))
        else:
            note(line)

    def _end(self, worker: int, cell: str, why: str) -> None:
        """The breaker may hold a result back, so the worker may be at another cell already."""
        with self._lock:
            running = self._running.get(worker)
            if running is not None and running.cell == cell:
                del self._running[worker]
        self.counted(cell, why)

    # What is shown.

    def running_line(self) -> str:
        with self._lock:
            parts = [f"worker {w} {r.cell} {_doing(r)}" for w, r in self._looked()]
            parts += [f"{cell} lock" for cell in self._locking]
            left = self._left()
        if not parts:
            return ""
        tail = "" if left is None else f"; {_about_left(left)}"
        return f"{self._ended} of {count(self._total, 'cell')}; {listed(parts)}{tail}"

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        width = options.max_width
        with self._lock:
            rows = [(f"{worker}", running) for worker, running in self._looked()]
            rows += [("-", running) for running in self._locking.values()]
            shown = [(n, r.cell, self._parts(r, width >= _BARRED)) for n, r in rows]
            left = self._left()
        if width >= _WIDE:
            yield _grid([(name, cell, *parts) for name, cell, parts in shown])
        else:
            for name, cell, parts in shown:
                yield _cut(f"{name}  {cell}")
                yield _grid([(" ", *parts)])
        tail = "" if left is None else f", {_about_left(left)}"
        yield _cut(f"{self._ended} of {count(self._total, 'cell')}{tail}")

    def _parts(self, running: _Running, has_bar: bool) -> tuple[RenderableType, ...]:
        left, suite = self._left_of(running), running.suite
        elapsed = _duration(self._clock() - running.since)
        times = "" if left is None or left <= 0 else _about_left(left)
        if not has_bar:
            return _doing(running).removeprefix("suite, "), times or elapsed
        bar: RenderableType = ""
        if suite is not None and suite.collected:
            bar = ProgressBar(total=suite.collected, completed=suite.running - 1, width=_BAR)
        return _doing(running), bar, f"{elapsed}, {times}" if times else elapsed

    def _looked(self) -> list[tuple[int, _Running]]:
        for running in self._running.values():
            if running.watch is not None:
                running.suite = running.watch.look()
        return sorted(self._running.items())

    def _left_of(self, running: _Running) -> float | None:
        """Seconds left, at least 0 in a known step; None if unknown, as while locking."""
        expected = self._seconds_of(running.cell)
        if expected is None or running.activity == "lock":
            return None
        steps, step = self._known.steps.get(running.cell), _STEP_OF.get(running.activity)
        if steps is None or step is None:
            return expected - (self._clock() - running.since)
        seconds = [getattr(steps, name) or 0.0 for name in _STEPS[_STEPS.index(step) :]]
        return max(0.0, seconds[0] - (self._clock() - running.entered)) + sum(seconds[1:])

    def _left(self) -> float | None:
        running = [self._left_of(running) for running in self._running.values()]
        waiting = [self._seconds_of(cell) for cell in self._waiting]
        return seconds_left(running, waiting, self._workers) or None

    def _seconds_of(self, cell: str) -> float | None:
        expected = self._expected.get(cell)
        return statistics.median(self._taken) if expected is None and self._taken else expected

    def _report_each_minute(self) -> None:
        while not self._over.wait(self._minute):
            if line := self.running_line():
                note(line)


def _doing(running: _Running) -> str:
    suite = running.suite
    if suite is None:
        return running.activity
    of = "" if suite.collected is None else f" of {suite.collected:,}"
    return f"{running.activity}, test {suite.running:,}{of}"


def _about_left(seconds: float) -> str:
    return f"about {_duration(max(1.0, seconds))} left"


def _duration(seconds: float) -> str:
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{round(minutes / 60)} h"


def _cut(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="ellipsis")


def _grid(rows: Sequence[Sequence[RenderableType]]) -> Table:
    """Rows of columns; what does not fit is cut off."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(max(map(len, rows), default=0)):
        grid.add_column(no_wrap=True, overflow="ellipsis")
    for row in rows:
        grid.add_row(*(_cut(part) if isinstance(part, str) else part for part in row))
    return grid
