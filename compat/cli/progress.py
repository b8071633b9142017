"""How a run goes on, on stderr: a line for each worker on a terminal, else a line for each cell
that ends.
"""

import threading
import time

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from compat.cli.output import about, note
from compat.errors import one_line
from compat.results.judged import JudgedRun
from compat.run.job import Job


class Progress:
    """A Reporter for people. Use it as a context."""

    def __init__(self, total: int, seconds: float | None) -> None:
        """Take how many cells there are, and how many seconds all take, if anybody knows."""
        self._total = total
        self._seconds = seconds
        self._began = time.monotonic()
        self._ended = 0
        self._at: dict[int, tuple[str, float]] = {}
        self._lock = threading.Lock()
        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = (
            Live(console=console, get_renderable=self._lines, refresh_per_second=4)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> "Progress":
        """Begin to show."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop showing."""
        if self._live is not None:
            self._live.stop()

    def began(self, worker: int, job: Job) -> None:
        """A cell began."""
        with self._lock:
            self._at[worker] = (job.cell, time.monotonic())

    def ended(self, worker: int, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        """A cell ended."""
        seconds = sum(attempt.evidence.seconds for attempt in attempts)
        with self._lock:
            self._at.pop(worker, None)
        self.counted(f"{job.cell}  {attempts[-1].outcome}  {seconds:.0f} s")

    def faulted(self, worker: int, job: Job, why: str) -> None:
        """A cell has no result, as compat itself failed with it."""
        with self._lock:
            self._at.pop(worker, None)
        self.counted(f"{job.cell}  was not run: {why}")

    def stopped(self, worker: int, why: str) -> None:
        """A worker takes no more cells."""
        self.tell(f"worker {worker} stopped: {why}")

    def counted(self, line: str) -> None:
        """One more of the cells came to an end, whether or not it could be run."""
        with self._lock:
            self._ended += 1
            line = f"[{self._ended}/{self._total}] {line}"
        self.tell(line)

    def tell(self, line: str) -> None:
        """Print a line above what is shown."""
        if self._live is not None:
            self._live.console.print(Text(one_line(line)))
        else:
            note(line)

    def _lines(self) -> Table:
        now = time.monotonic()
        grid = Table.grid(padding=(0, 2))
        with self._lock:
            for worker, (cell, since) in sorted(self._at.items()):
                grid.add_row(f"worker {worker}", cell, f"{now - since:.0f} s")
            left = self._left(now)
            grid.add_row(
                "",
                f"{self._ended} of {self._total} cells",
                "" if left is None else f"{about(left)} left",
            )
        return grid

    def _left(self, now: float) -> float | None:
        """How many seconds the other cells take, by this run or earlier ones; None if unknown."""
        whole = (now - self._began) / self._ended * self._total if self._ended else self._seconds
        return None if whole is None else whole * (self._total - self._ended) / self._total
