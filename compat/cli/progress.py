"""How a run goes on, on stderr: a line for each worker on a terminal, else a line for each cell that ends."""

import threading
import time

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from compat.cli.output import note
from compat.errors import one_line
from compat.fleet.local import Attempt
from compat.run.session import Job


class Progress:
    """A Reporter for people. Use it as a context."""

    def __init__(self, total: int, seconds_each: float, workers: int) -> None:
        """Take how many cells there are, what one takes as far as anybody knows, and how many run at once."""
        self._total = total
        self._each = seconds_each
        self._workers = max(1, workers)
        self._ended = 0
        self._at: dict[int, tuple[str, float]] = {}
        self._lock = threading.Lock()
        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = (
            Live(console=console, get_renderable=self._lines, refresh_per_second=4) if console.is_terminal else None
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

    def ended(self, worker: int, job: Job, attempts: tuple[Attempt, ...]) -> None:
        """A cell ended."""
        seconds = sum(attempt.evidence.seconds for attempt in attempts)
        with self._lock:
            self._ended += 1
            self._at.pop(worker, None)
            line = f"[{self._ended}/{self._total}] {job.cell}  {attempts[-1].outcome}  {seconds:.0f} s"
        self._tell(line)

    def stopped(self, worker: int, why: str) -> None:
        """A worker takes no more cells."""
        self._tell(f"worker {worker} stopped: {why}")

    def _tell(self, line: str) -> None:
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
            left = (self._total - self._ended) * self._each / self._workers
            grid.add_row("", f"{self._ended} of {self._total} cells", f"about {left / 60:.0f} min left")
        return grid
