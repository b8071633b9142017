"""Compares a checkout with a release, place by place: the release's cells that have no result are
run first, and what breaks in one place alone is run once more before it is called broken.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec
from packaging.version import Version

from compat.fleet.batch import BatchResult
from compat.fleet.checkout_run import CheckoutCells, CheckoutChoice
from compat.results.compare import CellDifference
from compat.value import Value

RunReleased = Callable[[Sequence[str]], BatchResult]
RunPairs = Callable[[Mapping[str, str]], BatchResult]


class Comparison(Value, frozen=True, kw_only=True):
    """What became of each place, the batches that were run, and how many cells had a result kept
    from before.
    """

    differences: tuple[CellDifference, ...]
    batches: tuple[BatchResult, ...]
    kept: int

    @property
    def breaking(self) -> tuple[CellDifference, ...]:
        return tuple(known for known in self.differences if known.difference == "breaks")

    @property
    def has_suite_fault(self) -> bool:
        return any(batch.suite_faults for batch in self.batches)

    @property
    def is_incomplete(self) -> bool:
        return any(known.difference == "unknown" for known in self.differences)


def compared(
    cells: CheckoutCells,
    choice: CheckoutChoice,
    release: Version,
    run_released: RunReleased,
    run_pairs: RunPairs,
) -> Comparison:
    """Return what became of the places that are meant.

    A place that the checkout cannot be installed in counts where the release can.
    """
    places = [(cell, cells.counterpart(cell, release)) for cell in choice.cells]
    for fate in choice.infeasible:
        beside = cells.counterpart(fate.cell, release)
        if not cells.cannot_be_released(beside):
            places.append((fate.cell, beside))
    due = [beside.id for _, beside in places if cells.is_due(beside)]
    batches = [run_released(due)] if due else []
    cells.workspace.refresh()
    feasible = {cell.id for cell in choice.cells}
    pairs = {cell.id: beside.id for cell, beside in places if cell.id in feasible}
    batches.append(run_pairs(pairs))
    # Another try finds no other Python, so what was not tried is not run again.
    untried = {cell: why for batch in batches for cell, why in batch.untried.items()}
    alone = _alone([cells.difference(cell, beside) for cell, beside in places])
    worth = alone.intersection(cells.locks).difference(untried)
    again = {name: beside for name, beside in pairs.items() if name in worth}
    batches += [run_pairs(again)] if again else []
    return Comparison(
        differences=tuple(
            _with_reason(cells.difference(cell, beside), untried) for cell, beside in places
        ),
        batches=tuple(batches),
        kept=len(places) - len(due),
    )


def _with_reason(known: CellDifference, untried: Mapping[str, str]) -> CellDifference:
    why = untried.get(known.cell, untried.get(known.against, ""))
    if known.difference != "unknown" or not why:
        return known
    return msgspec.structs.replace(known, because=why)


def _alone(differences: Sequence[CellDifference]) -> set[str]:
    """The cells of which one run more can tell a failure from chance: those without an answer, and
    those that break as no other does.
    """
    counts = Counter(sign for known in differences for sign in _signs(known))
    return {
        known.cell
        for known in differences
        if known.after == "unknown" or any(counts[sign] == 1 for sign in _signs(known))
    }


def _signs(known: CellDifference) -> set[str]:
    if known.difference != "breaks":
        return set()
    worse = {change.id for change in known.capabilities if change.is_worse}
    return worse or {known.outcome_after}
