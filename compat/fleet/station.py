"""How one worker goes about its cells: its canary first, the attempts at each, and the breaker that
says when the worker itself is at fault.
"""

import datetime
import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from compat.files import code_of, read_if_there, write
from compat.results.judged import JudgedRun, judged
from compat.run.cell_run import CellRun
from compat.run.evidence import Evidence
from compat.run.job import Bench, Job
from compat.run.outcome import Failed, Passed, is_spurious
from compat.run.steps import Enter


class CanaryDays:
    """The day on which the canary of one interpreter passed at one isolation level, by this code.

    A bench that names no folder for it remembers nothing.
    """

    def __init__(self, bench: Bench) -> None:
        parts = (bench.python, bench.tag, bench.level, bench.sandbox)
        digest = hashlib.sha256("\0".join(parts).encode() + code_of("run")).hexdigest()
        self._path = Path(bench.canaries, digest[:32]) if bench.canaries else None

    def passed_on(self, day: datetime.date) -> bool:
        text = None if self._path is None else read_if_there(self._path)
        return text == day.isoformat().encode()

    def keep(self, day: datetime.date) -> None:
        """Remember that it passed on that day."""
        if self._path is not None:
            write(self._path, day.isoformat())

    def forget(self) -> None:
        """Forget that it passed."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


# So many cells in a row that fail at their install, or by the machine, say more about the worker
# than about the cells.
BREAKER = 5
_RETRIED = frozenset(("network", "index", "cache", "sandbox", "worker", "killed"))
# By these a machine that is short of memory ends every cell; one alone may be the cell's own doing.
_OF_A_SHORT_MACHINE = frozenset(("memory", "killed"))


RunCell = Callable[[Job, Bench, datetime.datetime, threading.Event, Enter], Evidence]


class CellFault:
    """An exception in compat's own handling of a cell, as it is told."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def of(cls, fault: Exception) -> "CellFault":
        return cls(f"{type(fault).__name__} in compat itself: {fault}")

    def __str__(self) -> str:
        return self._text


Attempts = tuple[JudgedRun, ...] | CellFault


class Station:
    """One worker's way with a job."""

    def __init__(
        self,
        bench: Callable[[Job], Bench],
        canary: Callable[[Job], Job],
        now: Callable[[], datetime.datetime],
        *,
        attempts: int = 1,
        run_cell: RunCell | None = None,
    ) -> None:
        """Take what gives the worker its bench for a job, the canary to go before a job, and the
        clock.

        `attempts` is how often each cell is run; `run_cell` is how.
        """
        self._bench = bench
        self._canary = canary
        self._now = now
        self._attempts = attempts
        self._run_cell = run_cell or _run_cell
        self._passed: dict[str, CanaryDays] = {}

    def trouble(self, job: Job, cancel: threading.Event) -> str:
        """Run the canary before the first job of an interpreter, unless it passed here today;
        return what is wrong with the worker, empty when nothing is.
        """
        try:
            bench, now = self._bench(job), self._now()
            if bench.python in self._passed:
                return ""
            days = CanaryDays(bench)
            if not days.passed_on(now.date()):
                outcome = self._once(self._canary(job), cancel).outcome
                if not isinstance(outcome, Passed):
                    return f"its canary cell came to {outcome}"
                days.keep(now.date())
            self._passed[bench.python] = days
        except Exception as fault:
            return f"its canary cell met {CellFault.of(fault)}"
        return ""

    def distrust(self) -> None:
        """Let canaries go first again: the worker is at fault, whatever they came to before."""
        for days in self._passed.values():
            days.forget()
        self._passed.clear()

    def attempted(self, job: Job, cancel: threading.Event, enter: Enter) -> Attempts:
        """Run a cell as often as asked; once more when what ended it says nothing about the cell
        and may pass.

        A fault of compat itself ends this cell and no other: what a package left behind may have
        caused it.
        """
        try:
            attempts = [self._once(job, cancel, enter)]
            while not cancel.is_set() and len(attempts) < self._attempts:
                attempts.append(self._once(job, cancel, enter))
            last = attempts[-1].outcome
            if isinstance(last, Failed) and last.cause in _RETRIED and not cancel.is_set():
                attempts.append(self._once(job, cancel, enter))
            return tuple(attempts)
        except Exception as fault:
            return CellFault.of(fault)

    def _once(
        self, job: Job, cancel: threading.Event, enter: Enter = lambda activity, cell: None
    ) -> JudgedRun:
        return judged(self._run_cell(job, self._bench(job), self._now(), cancel, enter))


class Breaker:
    """Holds back what a worker's cells came to while that may be the worker's doing."""

    def __init__(self) -> None:
        self._suspects: list[str] = []
        self._held: list[tuple[Job, Attempts]] = []

    def take(self, job: Job, attempts: Attempts) -> list[tuple[Job, Attempts]]:
        """Take what a cell came to, and return what need not be held back any more: with it, what
        was held before, or nothing.
        """
        suspicion = _suspicion(attempts)
        self._suspects = [*self._suspects, suspicion] if suspicion else []
        self._held.append((job, attempts))
        return [] if self._suspects else self.held()

    @property
    def why(self) -> str:
        """Why the worker takes no more cells; empty until the breaker opens."""
        if len(self._suspects) < BREAKER:
            return ""
        counts = Counter(self._suspects).most_common()
        causes = ", ".join(
            cause if number == len(self._suspects) else f"{cause} ({number})"
            for cause, number in counts
        )
        return f"{len(self._suspects)} cells in a row failed: {causes}"

    def held(self) -> list[tuple[Job, Attempts]]:
        held, self._held = self._held, []
        return held


def _run_cell(
    job: Job, bench: Bench, started: datetime.datetime, cancel: threading.Event, enter: Enter
) -> Evidence:
    return CellRun(job, bench, started, cancel, enter).run()


def _suspicion(attempts: Attempts) -> str:
    """What a cell failed of that may be the worker's doing; empty when nothing of the kind did."""
    if isinstance(attempts, CellFault):
        return "a fault of compat itself"
    outcome = attempts[-1].outcome
    if not isinstance(outcome, Failed) or outcome.cause in ("cancelled", "suite-fault"):
        return ""
    of_machine = is_spurious(outcome) or outcome.cause in _OF_A_SHORT_MACHINE
    return (
        f"{outcome.stage}-fail:{outcome.cause}" if outcome.stage == "install" or of_machine else ""
    )
