"""What locks say of one failure that the bad end has and the good end has not."""

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
from packaging.version import Version

from compat.lock.lockfile import Lock, Pin
from compat.lock.mixed import Asks
from compat.results.record import Record
from compat.run.outcome import PLACED, STAGES, Cause, Failed, Outcome, is_spurious
from compat.search.boundary import FAILS_BELOW, FAILS_FROM, log_marginal
from compat.search.shrink import Trial
from compat.value import Value

# These come from what is installed, and come again: one run says it. An assertion, a crash or a
# limit may be chance.
STEADY: frozenset[Cause] = frozenset(
    (
        *("missing-module", "missing-attribute", "syntax", "type-error", "version-guard"),
        *("binary-incompatible", "requires-python", "no-artifact", "hash-mismatch"),
    )
)
# So many runs of each end, where the failure may be chance; and where it was seen to be. So often
# is a bad end run that works at first.
# Simulated on 2026-11-23, see tests/search/test_blame.py.
FIRST_RUNS = 3
MORE_RUNS = 16
PATIENCE = 6
ODDS = 100.0
# Of an environment that was seen to do both, nothing says that one side is nearly always right
# (the prior of Jeffreys).
UNINFORMED = (0.5, 0.5)
# Where the ends fail more alike than this, no number of runs that anybody waits for tells them
# apart.
LEAST_DIFFERENCE = 0.15


class FailureRates(Value, frozen=True, kw_only=True):
    """How often each end was seen to fail in the way that is looked into.

    `is_doubted` says that some environment was seen to do both, so that one run says nothing.
    """

    good_fails: int
    good_runs: int
    bad_fails: int
    bad_runs: int
    is_doubted: bool = False

    @property
    def is_steady(self) -> bool:
        """Whether the bad end always failed and the good end never did, so that one run tells."""
        return not self.is_doubted and self.good_fails == 0 and self.bad_fails == self.bad_runs

    @property
    def is_told_apart(self) -> bool:
        """Whether the bad end fails so much more often that other environments can be judged."""
        good, bad = (fails / sum(pair) for pair in (self._good, self._bad) for fails in pair[:1])
        return bad - good >= LEAST_DIFFERENCE

    def decision(self, fails: Sequence[bool]) -> bool | None:
        """Return whether an environment with these results has the failure; None while it is open.

        Each of `fails` says of one run whether it failed in that way.
        """
        if self.is_steady:
            return fails[0] if fails and len(set(fails)) == 1 else None
        counts = fails.count(True), fails.count(False)
        weight = log_marginal(self._bad, *counts) - log_marginal(self._good, *counts)
        return weight > 0 if abs(weight) >= math.log(ODDS) else None

    # How often each end fails is itself known from a few runs only: so each has a distribution, as
    # in the search for a boundary.

    @property
    def _good(self) -> tuple[float, float]:
        fails, works = UNINFORMED if self.is_doubted else FAILS_FROM
        return fails + self.good_fails, works + self.good_runs - self.good_fails

    @property
    def _bad(self) -> tuple[float, float]:
        fails, works = UNINFORMED if self.is_doubted else FAILS_BELOW
        return fails + self.bad_fails, works + self.bad_runs - self.bad_fails


def may_be_chance(failure: Failed) -> bool:
    return failure.cause not in STEADY


_RAISED = re.compile(r"[\w.]+: ")
_LINE = re.compile(r":\d+$")


def symptoms(record: Record) -> tuple[Failed, ...]:
    """Return what failed: the outcome first, then each capability; without places, as the lines of
    a file move from release to release.
    """
    if not isinstance(record.outcome, Failed) or is_of_runner(record.outcome):
        return ()
    capabilities = (c.failed for c in record.capabilities)
    failed = (record.outcome, *(failure for failure in capabilities if failure is not None))
    return tuple(dict.fromkeys(map(_placeless, failed)))


def is_of_runner(outcome: Outcome) -> bool:
    """Return whether pytest itself did not start: that says nothing about what it would test."""
    return isinstance(outcome, Failed) and outcome.cause == "test-runner"


def message_of(record: Record, target: Failed) -> str:
    """Return what was raised, in its own words: `Type: message`; empty where nothing was."""
    for capability in record.capabilities:
        if capability.failed is not None and _placeless(capability.failed) == target:
            return capability.subject
    first = next(iter(record.log.splitlines()), "")
    return first if _RAISED.match(first) else ""


def trial_of(record: Record, target: Failed, usual: Iterable[Failed]) -> Trial:
    """Return what a run says of a failure: it is there, it is gone, or nothing can be said.

    What fails in the good environment, too, is `usual`. A failure is gone where the run went past
    its stage, or did what failed, whatever else fails then.
    """
    outcome = record.outcome
    if is_spurious(outcome) or is_of_runner(outcome):
        return "unresolved"
    shown = symptoms(record)
    if target in shown:
        return "fails"
    if not set(shown) - set(usual):
        return "works"
    assert isinstance(outcome, Failed)
    if target.stage == "test":
        done = {capability.id for capability in record.capabilities if capability.status == "yes"}
        return "works" if target.subject in done else "unresolved"
    is_past = STAGES.index(outcome.stage) > STAGES.index(target.stage)
    return "works" if is_past else "unresolved"


def _placeless(failed: Failed) -> Failed:
    subject = failed.subject
    if failed.stage in ("import", "collect") and failed.cause in PLACED:
        subject = _LINE.sub("", subject)
    return msgspec.structs.replace(failed, subject=subject, at="")


# An environment that was run so often and still says now this, now that, says nothing.
MOST_RUNS = 40
# So many mixes in a row that cannot be installed end the search: their locks are whole, so
# something else is in the way.
MOST_UNINSTALLED = 12


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
        self._uninstalled = 0
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
            self._stop_if_nothing_installs(record, runs[-1])
        return "unresolved"

    def _stop_if_nothing_installs(self, record: Record, trial: Trial) -> None:
        # A cache that cannot be written, say, ends each of thousands of mixes in the same way.
        outcome = record.outcome
        is_early = isinstance(outcome, Failed) and outcome.stage in STAGES[: STAGES.index("import")]
        if trial != "unresolved" or not is_early:
            self._uninstalled = 0
            return
        self._uninstalled += 1
        if self._uninstalled == MOST_UNINSTALLED:
            raise SearchStopped(
                f"{MOST_UNINSTALLED} mixes in a row could not be installed, the last with {outcome}"
            )

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
