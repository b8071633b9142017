"""The `results` room's difference: what kind of change lies between two verdicts."""

from typing import Literal, get_args

from compat.results.answer import Answer, Kind
from compat.value import StrictValue

ChangeKind = Literal["regressed", "fixed", "spurious", "new", "gone", "same"]
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
_AFTER: tuple[Kind | None, ...] = (
    "works",
    "partial",
    "broken",
    "infeasible",
    "flaky",
    "unknown",
    None,
)
# Before in rows, after in columns, in the order above. What is ruled out works no better and no
# worse than what is broken; to and from flaky chance decides; what was unknown is new when it is
# known. fmt: off
_TABLE: dict[Kind | None, tuple[ChangeKind, ...]] = {
    "works": ("same", "regressed", "regressed", "regressed", "spurious", "gone", "gone"),
    "partial": ("fixed", "same", "regressed", "regressed", "spurious", "gone", "gone"),
    "broken": ("fixed", "fixed", "same", "same", "spurious", "gone", "gone"),
    "infeasible": ("fixed", "fixed", "same", "same", "spurious", "gone", "gone"),
    "flaky": ("spurious", "spurious", "spurious", "spurious", "same", "gone", "gone"),
    "unknown": ("new", "new", "new", "new", "new", "same", "gone"),
    None: ("new", "new", "new", "new", "new", "new", "same"),
}
# fmt: on


class Change(StrictValue, frozen=True, kw_only=True):
    """What became of a cell's verdict.

    `lost` and `gained` are capabilities that ceased or began to be `yes`.

    `spurious` is a change to or from `flaky`: chance decided, so it is neither a regression nor a
    fix. `new` is the first that is known of a cell, `gone` the end of it.
    """

    cell: str
    kind: ChangeKind
    before: Kind | None
    after: Kind | None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()


def compare(before: Answer | None, after: Answer | None) -> Change:
    """Return the change from one verdict of a cell to the next.

    None stands for a cell that is not in the plan.

    Two partial verdicts are told apart by their capabilities, and two that work by what fails in
    every combination of the release. Raises ValueError for verdicts of two cells.
    """
    cells = {verdict.id for verdict in (before, after) if verdict is not None}
    if len(cells) > 1:
        raise ValueError(f"verdicts of two cells: {', '.join(sorted(cells))}")
    lost, gained = _ceased(before, after), _ceased(after, before)
    old, new = before.kind if before else None, after.kind if after else None
    kind = change_kind(old, new)
    if kind == "same" and new == "partial" and (lost or gained):
        kind = "regressed" if lost else "fixed"
    if kind == "same" and new == "works":
        broke = _failing(after).intersection(lost)
        kind = "regressed" if broke else "fixed" if _failing(before).intersection(gained) else kind
    return Change(cell="".join(cells), kind=kind, before=old, after=new, lost=lost, gained=gained)


def change_kind(before: Kind | None, after: Kind | None) -> ChangeKind:
    return _TABLE[before][_AFTER.index(after)]


def _failing(verdict: Answer | None) -> set[str]:
    return {fault.id for fault in verdict.faults} if verdict else set()


def _ceased(before: Answer | None, after: Answer | None) -> tuple[str, ...]:
    """The capabilities that were `yes` before and are known to be something else after."""
    # Equal capabilities are one object in the index.
    if before is None or after is None or before.capabilities is after.capabilities:
        return ()
    if not before.capabilities or not after.capabilities:
        return ()
    were = {capability.id for capability in before.capabilities if capability.status == "yes"}
    others = {capability.id for capability in after.capabilities if capability.status != "yes"}
    return tuple(sorted(were & others))
