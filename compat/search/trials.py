"""What locks say of one failure that the bad end has and the good end has not."""

import datetime
from collections.abc import Sequence
from typing import Protocol

from packaging.version import Version

from compat.lock.lockfile import Lock, Pin
from compat.lock.mixed import Asks
from compat.results.record import Record
from compat.run.outcome import Failed
from compat.search.repetition import FIRST_RUNS, MORE_RUNS, PATIENCE, FailureRates, may_be_chance
from compat.search.shrink import Trial
from compat.search.symptoms import is_of_runner, message_of, symptoms, trial_of

# An environment that was run so often and still says now this, now that, says nothing.
MOST_RUNS = 40


class SearchStopped(Exception):
    """The search has to end here: the budget is spent, it was interrupted, or a run got no answer.

    What was run is kept, so that the same search goes on from there.
    """


class Laboratory(Protocol):
    """What a search can have done, and what is known already."""

    @property
    def asks(self) -> Asks:
        """What tells the requirements of a release."""

    @property
    def runner(self) -> frozenset[str]:
        """The packages of both ends that the suite's requirements alone bring."""

    @property
    def dates(self) -> tuple[datetime.datetime, datetime.datetime] | None:
        """The moments of both ends, where the date is all that they differ by; else None."""

    def results(self, lock: Lock) -> Sequence[Record]:
        """Return the earlier runs of a lock with the suite as it is now; none that was lost."""

    def run(self, lock: Lock, what: str) -> Record:
        """Run a lock once; `what` says in words what it is. Raises SearchStopped."""

    def lock_at(self, moment: datetime.datetime) -> Lock | None:
        """Return the lock of the ends' question as of a moment; None where it has none."""

    def releases(self, package: str) -> Sequence[Pin]:
        """Return the final releases of a package that can be installed here, oldest first; none
        that is yanked.
        """

    def yanked(self, package: str) -> Sequence[Version]:
        """Return the yanked releases of a package, oldest first."""


class Trials:
    """The two ends of a search, the failure that is looked into, and what other locks say of it.

    `target` is that failure; None where the bad end works. `because` says why nothing can be
    searched for; mostly empty.
    """

    def __init__(
        self,
        good: Lock,
        bad: Lock,
        laboratory: Laboratory,
        bad_name: str = "BAD",
        is_doubted: bool = False,
    ) -> None:
        """Run both ends, as often as the failure asks for. Raises SearchStopped.

        `is_doubted` says that the failure was seen to come and go.
        """
        self._is_doubted = is_doubted
        self._laboratory = laboratory
        self._ends = ((good, "GOOD"), (bad, bad_name))
        self.target: Failed | None = None
        self.because = ""
        goods, bads = self._run_ends(1)
        for least in range(2, PATIENCE + 1) if bad_name == "BAD" else ():
            # It may have worked by chance: whoever asks has seen it fail.
            if not _own(goods, bads):
                goods, bads = self._run_ends(least)
        self._rates = FailureRates(good_fails=0, good_runs=1, bad_fails=1, bad_runs=1)
        self._usual = frozenset(symptom for run in goods for symptom in symptoms(run))
        if own := _own(goods, bads):
            self.target = own[0]
            self._measure(self.target)

    @property
    def message(self) -> str:
        """What the bad end raised, in its own words; empty where nobody knows."""
        bad, _ = self._ends[1]
        texts = [
            message_of(run, self.target) for run in self._laboratory.results(bad) if self.target
        ]
        return next((text for text in texts if text), "")

    def of(self, lock: Lock, what: str) -> Trial:
        """Return what a lock says of the failure; it is run as often as it takes to know."""
        assert self.target is not None
        runs = [trial_of(run, self.target, self._usual) for run in self._laboratory.results(lock)]
        while len(runs) < MOST_RUNS:
            if runs.count("unresolved") > (0 if self._rates.is_steady else 1):
                return "unresolved"
            decision = self._rates.decision([run == "fails" for run in runs if run != "unresolved"])
            if decision is not None:
                return "fails" if decision else "works"
            record = self._laboratory.run(lock, what)
            runs.append(trial_of(record, self.target, self._usual))
        return "unresolved"

    def is_chance(self, fails: tuple[Lock, str], works: tuple[Lock, str]) -> bool:
        """Return whether a failure that may come and go does so, although the ends did not show it:
        two locks, run a few times more, do not always fail with the cause, or without it do now
        this, now that. One that always fails without it has another cause: that is no chance.
        """
        if self.target is None or not (may_be_chance(self.target) and self._rates.is_steady):
            return False
        with_cause, without = (
            {self.target in symptoms(run) for run in self._runs(*end, FIRST_RUNS)}
            for end in (fails, works)
        )
        return False in with_cause or len(without) > 1

    def _measure(self, target: Failed) -> None:
        goods, bads = self._run_ends(FIRST_RUNS if may_be_chance(target) else 1)
        self._rates = _rates(goods, bads, target, self._is_doubted)
        if not self._rates.is_steady:
            goods, bads = self._run_ends(MORE_RUNS)
            self._rates = _rates(goods, bads, target, is_doubted=True)
        self._usual = frozenset(s for run in goods for s in symptoms(run)) - {target}
        if not self._rates.is_told_apart:
            rates = self._rates
            self.because = (
                f"the failure comes and goes: in {rates.good_fails} of {rates.good_runs} runs of"
                f" GOOD, in {rates.bad_fails} of {rates.bad_runs} runs of BAD"
            )

    def _run_ends(self, least: int) -> tuple[list[Record], list[Record]]:
        goods, bads = (self._runs(lock, what, least) for lock, what in self._ends)
        for runs, (_, what) in zip((goods, bads), self._ends, strict=True):
            if all(is_of_runner(run.outcome) for run in runs):
                raise SearchStopped(f"{what} has no answer: {runs[-1].outcome}")
        return goods, bads

    def _runs(self, lock: Lock, what: str, least: int) -> list[Record]:
        records = list(self._laboratory.results(lock))
        while len(records) < least:
            records.append(self._laboratory.run(lock, what))
        return records


def _own(goods: Sequence[Record], bads: Sequence[Record]) -> list[Failed]:
    shown = dict.fromkeys(symptom for run in bads for symptom in symptoms(run))
    return [
        symptom for symptom in shown if _share(goods, symptom) < min(_share(bads, symptom), 1 / 2)
    ]


def _share(runs: Sequence[Record], symptom: Failed) -> float:
    return sum(symptom in symptoms(run) for run in runs) / len(runs)


def _rates(
    goods: Sequence[Record], bads: Sequence[Record], target: Failed, is_doubted: bool
) -> FailureRates:
    good_fails, bad_fails = (sum(target in symptoms(run) for run in runs) for runs in (goods, bads))
    return FailureRates(
        good_fails=good_fails,
        good_runs=len(goods),
        bad_fails=bad_fails,
        bad_runs=len(bads),
        is_doubted=is_doubted,
    )
