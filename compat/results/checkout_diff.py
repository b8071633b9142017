"""The `results` room's pull request: what a checkout breaks and mends, cell by cell, capability by
capability, beside a release at the same place.
"""

from typing import Literal

from compat.results.answer import Answer, Kind
from compat.results.record import Capability, Status
from compat.results.runs import BEFORE_TESTS
from compat.run.outcome import Failed, Stage
from compat.value import StrictValue

Difference = Literal["breaks", "mends", "same", "flaky", "unknown"]
# A cell that came to no more than this was not there to be used.
_BEFORE_IMPORT: tuple[Stage, ...] = ("plan", "lock", "install")
_NOT_INSTALLED: frozenset[Kind] = frozenset(("infeasible",))


class CapabilityDifference(StrictValue, frozen=True, kw_only=True):
    """A capability that another status than before.

    `after` is None where the checkout's run said nothing of it; `subject` is what was raised, and
    where.
    """

    id: str
    before: Status | None
    after: Status | None
    cause: str = ""
    subject: str = ""

    @property
    def is_worse(self) -> bool:
        return self.before == "yes"


class CellDifference(StrictValue, frozen=True, kw_only=True):
    """What became of a place: the checkout's cell, the release's beside it, and the difference.

    It `breaks` when something that worked does not any more, or when what could not be installed
    with the release can be, and fails. It is `flaky` when runs of the same files disagree, so that
    chance decides, `unknown` when one side has no result. `moved` are packages that the two locks
    have at other versions.
    """

    cell: str
    against: str
    difference: Difference
    before: Kind
    after: Kind
    outcome_before: str = ""
    outcome_after: str = ""
    because: str = ""
    capabilities: tuple[CapabilityDifference, ...] = ()
    moved: tuple[str, ...] = ()


def cell_difference(
    before: Answer, after: Answer, moved: tuple[str, ...] = (), obstacle: str = ""
) -> CellDifference:
    """Return what became of a place; `obstacle` says why the checkout cannot be installed there."""
    changed = _capabilities(before, after)
    return CellDifference(
        cell=after.id,
        against=before.id,
        difference=_difference(before, after, changed),
        before=before.kind,
        after=after.kind,
        outcome_before="" if before.outcome is None else str(before.outcome),
        outcome_after="" if after.outcome is None else str(after.outcome),
        because=obstacle,
        capabilities=changed,
        moved=moved,
    )


def _difference(
    before: Answer, after: Answer, changed: tuple[CapabilityDifference, ...]
) -> Difference:
    if "flaky" in (before.kind, after.kind):
        return "flaky"
    if "unknown" in (before.kind, after.kind):
        return "unknown"
    if _was_not_installed(before):
        failed = after.kind in ("partial", "broken") and not _was_not_installed(after)
        return "breaks" if failed else "same" if _was_not_installed(after) else "mends"
    rank: dict[Kind, int] = {"works": 2, "partial": 1, "broken": 0, "infeasible": 0}
    if rank[after.kind] < rank[before.kind] or any(change.is_worse for change in changed):
        return "breaks"
    return "mends" if rank[after.kind] > rank[before.kind] or changed else "same"


def _was_not_installed(verdict: Answer) -> bool:
    outcome = verdict.outcome
    if isinstance(outcome, Failed) and verdict.kind == "broken":
        return outcome.stage in _BEFORE_IMPORT
    return verdict.kind in _NOT_INSTALLED


def _capabilities(before: Answer, after: Answer) -> tuple[CapabilityDifference, ...]:
    # The capabilities that began or ceased to be `yes`; none where one side ran no test, as its
    # outcome says it all.
    if not (_reached_tests(before) and _reached_tests(after)):
        return ()
    earlier = {capability.id: capability for capability in before.capabilities}
    later = {capability.id: capability for capability in after.capabilities}
    return tuple(
        _changed(name, earlier.get(name), later.get(name))
        for name in sorted({*earlier, *later})
        if _is_yes(earlier.get(name)) != _is_yes(later.get(name))
    )


def _reached_tests(verdict: Answer) -> bool:
    outcome = verdict.outcome
    return outcome is not None and not (
        isinstance(outcome, Failed) and outcome.stage in BEFORE_TESTS
    )


def _is_yes(capability: Capability | None) -> bool:
    return capability is not None and capability.status == "yes"


def _changed(
    name: str, before: Capability | None, after: Capability | None
) -> CapabilityDifference:
    return CapabilityDifference(
        id=name,
        before=None if before is None else before.status,
        after=None if after is None else after.status,
        cause="" if after is None else after.cause,
        subject="" if after is None else after.subject or ", ".join(after.missing),
    )
