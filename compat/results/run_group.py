"""The `results` room's reading of a cell's runs on one lock and suite: what they say together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Literal, get_args

from compat.declare.suite_table import Tier
from compat.results.involved import third_package
from compat.results.ran import Ran
from compat.results.record import Capability, Status
from compat.results.score import EXCUSED, Blame, CapabilityFault, Score, blame_of
from compat.run.outcome import Failed, Outcome, Passed, brief

Kind = Literal["works", "partial", "broken", "flaky", "infeasible", "unknown"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_MOST_ALIKE = 10_000
CORE_ALONE = "only the core of the suite was run"


class RunGroup:
    """The runs on one lock and suite, and what they say together; runs are added oldest first.

    With the packages that are `asked` about, a failure by any other package leaves the cell without
    an answer. `helpers` are the capabilities that say nothing about the subject, `blames` says
    whose fault it is that a capability fails, the first that is about the failure.

    Where a run of the whole suite is among them, those of the core alone say no more than whether
    the same files came to the same.
    """

    def __init__(
        self, asked: frozenset[str], helpers: frozenset[str], blames: tuple[CapabilityFault, ...]
    ) -> None:
        self._asked = asked
        self.helpers = helpers
        self._blames = blames
        self.tier: Tier = "smoke"
        self.outcomes: list[Outcome] = []
        self.changing: set[str] = set()
        self.is_finished = True
        self._statuses: dict[str, Status] = {}
        # Whether runs came as far as the tests, and the outcomes of all of them.
        self._reached: set[bool] = set()
        self._every: list[Outcome] = []
        self._said: tuple[tuple[Capability, ...], tuple[Outcome, ...], Tier] | None = None

    def add(self, run: Ran, outcomes: Iterable[Outcome]) -> None:
        """Add a run, with those of its outcomes that say something about the versions."""
        outcomes = tuple(outcomes)
        if self._repeats(run, outcomes):
            self.newest = run
            return
        asked = run.capabilities
        if self.helpers:
            asked = tuple(c for c in asked if c.id not in self.helpers)
        for capability in asked:
            if self._statuses.setdefault(capability.id, capability.status) != capability.status:
                self.changing.add(capability.id)
        if run.tier == "full" and self.tier == "smoke":
            self.tier, self.outcomes, self.is_finished = "full", [], True
        is_outranked = run.tier != self.tier
        if not is_outranked:
            self.newest, self.capabilities = run, asked
        ends = [_of_subject(outcome, asked, self.helpers) for outcome in outcomes]
        self._every += ends
        self._reached |= {_reached_tests(end) for end in ends}
        if not is_outranked:
            self.outcomes += ends
            self.is_finished = self.is_finished and self._ended_by_tests(ends)
        self.faults = tuple(
            CapabilityFault(id=capability.id, fault=blame_of(capability, self._blames))
            for capability in self._failing
        )
        self.kind = self._kind()

    def _repeats(self, run: Ran, outcomes: tuple[Outcome, ...]) -> bool:
        """Whether the run says what the one before it said, word for word: nightly runs do, and
        then nothing follows but that it is newer. Equal capabilities are one object in the index.
        """
        answer = (run.capabilities, outcomes, run.tier)
        before, self._said = self._said, answer
        return (
            before is not None
            and before[0] is answer[0]
            and before[1:] == answer[1:]
            and run.tier == self.tier
        )

    @cached_property
    def score(self) -> Score:
        """How much works, and whose fault the rest is; asked for once all runs were added."""
        return Score.of(self.capabilities, self.faults, finished=self.is_finished)

    def as_of(self, newest: Ran) -> RunGroup:
        group = copy(self)
        group.newest = newest
        return group

    @property
    def _failing(self) -> tuple[Capability, ...]:
        return tuple(capability for capability in self.capabilities if capability.status == "no")

    def _ended_by_tests(self, outcomes: Iterable[Outcome]) -> bool:
        """Whether the tests of the newest run ran to their end: it passed, or it failed by tests
        that did. A crash, a time limit and tests that never ran are no failing capability.
        """
        ends = {brief(failed) for c in self._failing if (failed := c.failed) is not None}
        return all(isinstance(end, Passed) or brief(end) in ends for end in outcomes)

    def _kind(self) -> Kind:
        if self.changing or len(self._reached) > 1 or len(set(map(brief, self.outcomes))) > 1:
            return "flaky"
        outcome, statuses = (
            self.outcomes[-1],
            {capability.status for capability in self.capabilities},
        )
        if isinstance(outcome, Passed) and "no" not in statuses:
            return "works"
        if _reached_tests(outcome) and "yes" in statuses:
            is_excused = all(fault.fault in EXCUSED for fault in self.faults)
            return "works" if is_excused and self.is_finished else "partial"
        return "unknown" if self.blocked_by else "broken"

    @property
    def blocked_by(self) -> str:
        """The package, neither subject nor on an axis, by which the newest run failed. What only
        runs the tests is never asked about.
        """
        last = self.outcomes[-1] if self.outcomes else None
        if isinstance(last, Failed) and last.cause == "test-runner":
            return self.newest.involved[0] if self.newest.involved else "pytest"
        return third_package(self.newest.involved, self._asked)

    @property
    def outcome(self) -> Outcome:
        """What the newest run came to; where runs disagree, the newest failure."""
        # That a run of the core alone failed is told only where it contradicts the whole suite.
        ends = self._every if len(self._reached) > 1 else self.outcomes
        failures = [outcome for outcome in ends if isinstance(outcome, Failed)]
        return failures[-1] if failures else self.outcomes[-1]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the runs have their kind, as sentences."""
        day = self.newest.started.date()
        core = (CORE_ALONE,) if self.tier == "smoke" and self._reached == {True} else ()
        match self.kind:
            case "flaky" if self.changing:
                return (
                    (
                        "on the same lock and suite these came and went:"
                        f" {', '.join(sorted(self.changing))}"
                    ),
                )
            case "flaky":
                return (
                    (
                        "the same lock and suite came to"
                        f" {' and '.join(sorted(set(map(str, self._every))))}"
                    ),
                )
            case "unknown":
                return (f"blocked by {self.blocked_by}: it came to {self.outcome} on {day}",)
            case "partial":
                return (f"it imports, and came to {self.outcome} on {day}{self._by_fault()}", *core)
            case "works" if self.faults and not core:
                return (f"all that this release can do works, as of {day}{self._by_fault()}",)
        return (f"it came to {self.outcome} on {day}{self._by_fault() if core else ''}", *core)

    def _by_fault(self) -> str:
        words: tuple[tuple[tuple[Blame, ...], str], ...] = (
            (("combination", "unexplained"), "these fail"),
            (("release",), "in every combination of this release these fail"),
            (("index",), "not to be had today"),
        )
        return "".join(
            f"; {phrase}: {', '.join(ids)}"
            for faults, phrase in words
            if (ids := sorted(fault.id for fault in self.faults if fault.fault in faults))
        )


class AlikeGroups:
    """Groups whose runs all came to the same: most cells came to what another one did, and what
    follows is worked out once.
    """

    def __init__(self) -> None:
        # With what the keys name by identity, so that nothing else gets that identity.
        self._groups: dict[Hashable, tuple[RunGroup, object]] = {}

    def of(
        self,
        runs: Sequence[tuple[Ran, tuple[Outcome, ...]]],
        asked: frozenset[str],
        helpers: frozenset[str],
        faults: tuple[CapabilityFault, ...],
    ) -> RunGroup | None:
        """Return the group of runs, oldest first, each with those of its outcomes that count; None
        where they are of several locks or suites, or did not all say the same, word for word.
        Nothing may be added to it.
        """
        (first, outcomes), (newest, _) = runs[0], runs[-1]
        if not all(_says_the_same(first, run) and outcomes == counted for run, counted in runs[1:]):
            return None
        # Equal capabilities are one object in the index, and to compare them takes longer.
        shared = first.capabilities, faults
        key = (*map(id, shared), outcomes, first.tier, first.involved, asked, helpers)
        known = self._groups.get(key)
        if known is None:
            if len(self._groups) >= _MOST_ALIKE:
                self._groups.clear()
            group = RunGroup(asked, helpers, faults)
            group.add(first, outcomes)
            assert group.score is not None, "it is worked out once for all"
            known = self._groups[key] = group, shared
        return known[0].as_of(newest)


def _says_the_same(run: Ran, other: Ran) -> bool:
    return (
        run.capabilities is other.capabilities
        and (run.lock_digest, run.suite_digest) == (other.lock_digest, other.suite_digest)
        and (run.tier, run.involved) == (other.tier, other.involved)
    )


def _reached_tests(outcome: Outcome) -> bool:
    return isinstance(outcome, Passed) or outcome.stage == "test"


def _of_subject(
    outcome: Outcome, capabilities: Iterable[Capability], helpers: frozenset[str]
) -> Outcome:
    """Return what an outcome says of the subject: that a helper of the suite fails is no fault of
    it.
    """
    if not isinstance(outcome, Failed) or outcome.stage != "test" or outcome.subject not in helpers:
        return outcome
    return next(
        (
            Failed(stage="test", cause=capability.cause or "error", subject=capability.id)
            for capability in capabilities
            if capability.status == "no"
        ),
        Passed(),
    )
