"""The `results` room's one rule for which cell stands for a place or a release.

Grid, badges, capability table and proposals all ask here, so none shows another answer than the
next. The representative cell is the best answer that a user can have, the most usual first:

1. Of a place, a flaky fresh cell is representative: that a plain install works by chance is not
   outdone by what works with older packages or changed pins.
2. Then the verdict decides: works, partial, flaky, broken, unknown, infeasible. What nothing is
   known of comes before what is ruled out: it may still be tried.
3. Then what was tested with the whole suite, before what was with its core alone, what a resolver
   said, what is inferred, and what nothing is known of.
4. Of cells that do not work in full, the one with the most capabilities that work.
5. Then the recipe: as published today, as published at the time, with changed dependency pins.
6. Of a release, then the most capabilities that work, and the newest versions.

A release has many places: one where only the suite's core was run says less of it than another
where the whole suite worked, in full or in part, and does not represent it.

Whoever asks may leave out cells that cannot answer (the table: those that did not reach the suite),
but never orders the rest.
"""

from collections.abc import Iterable

import msgspec
from packaging.version import Version

from compat.plan.cell import RECIPES, Recipe
from compat.results.answer import Answer, EvidenceKind, Kind
from compat.results.snapshot import Snapshot

_KIND_RANK: dict[Kind, int] = {
    "works": 0,
    "partial": 1,
    "flaky": 2,
    "broken": 3,
    "unknown": 4,
    "infeasible": 5,
}
_RUN_RANK: dict[EvidenceKind, int] = {"tested": 4, "smoke": 3, "asked": 2, "inferred": 1}
_RECIPE_RANK: dict[Recipe, int] = {"fresh": 0, "dated": 1, "relaxed": 2}


def representative(entries: Iterable[Answer]) -> Answer:
    """Return the cell that represents the entries: those of one place, or of a release's places.

    Raises ValueError without any entry.
    """
    places: dict[str, list[Answer]] = {}
    for entry in entries:
        places.setdefault(entry.cell.place, []).append(entry)
    return _preferred([_of_place(of_place) for of_place in places.values()])


def representative_of_release(entries: Iterable[Answer]) -> Answer:
    """Return the cell that represents a release, of all its cells or of those that can answer.

    Raises ValueError without any entry.
    """
    every = tuple(entries)
    is_whole = any(
        entry.evidence == "tested" and entry.kind in ("works", "partial") for entry in every
    )
    return representative(e for e in every if not (is_whole and e.evidence == "smoke"))


def newest_versions(entry: Answer) -> tuple[Version, ...]:
    return entry.cell.versions[::-1]


def _of_place(entries: list[Answer]) -> Answer:
    for entry in entries:
        if entry.cell.recipe == "fresh" and entry.kind == "flaky":
            return entry
    return _preferred(entries)


def _preferred(entries: list[Answer]) -> Answer:
    """The entry with the greatest preference; only those of the best kind are compared further."""
    best = min(_KIND_RANK[entry.kind] for entry in entries)
    candidates = [entry for entry in entries if _KIND_RANK[entry.kind] == best]
    return candidates[0] if len(candidates) == 1 else max(candidates, key=_preference)


def _preference(entry: Answer) -> tuple[int, int, int, int, int, tuple[Version, ...]]:
    kind = entry.kind
    working = entry.score.passing
    return (
        -_KIND_RANK[kind],
        _RUN_RANK.get(entry.evidence, 0),
        0 if kind == "works" else working,
        -_RECIPE_RANK[entry.recipe],
        working,
        newest_versions(entry),
    )


def beside(known: Snapshot, entry: Answer) -> list[Answer]:
    cells = (msgspec.structs.replace(entry.cell, recipe=recipe) for recipe in RECIPES)
    entries = (known.by_id.get(cell.id) for cell in cells)
    return [entry for entry in entries if entry is not None]
