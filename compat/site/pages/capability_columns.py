"""The `site` room's columns of the table of all capabilities: as many as fit on a wide screen.

A matrix has any number of tested releases, and with a column for each the table would be cut off.
Neighbours with the same result in every row share a column. Where those are still too many, the
newest, the oldest and those in which most results change have one; the page names the others.
"""

from collections.abc import Iterator, Mapping, Sequence

from packaging.version import Version

from compat.results.record import Status
from compat.results.table import ReleaseColumn
from compat.value import Value

# Pixels, as Chromium lays the table out on a screen of 1440 (measured 2026-11-24): of the box of
# 1376 the names of the capabilities take up to 320, and a column of `0.87.0` takes 61.
_ROOM = 1056
_CHARACTER, _PADDING, _NARROWEST = 8, 15, 44
# By row; None where the release was not asked.
Statuses = tuple[Status | None, ...]


class SharedColumn(Value, frozen=True, kw_only=True):
    """Neighbouring tested releases, oldest first, that came to the same in every row."""

    releases: tuple[ReleaseColumn, ...]
    statuses: Statuses

    @property
    def label(self) -> str:
        first, last = self.releases[0].version, self.releases[-1].version
        return str(first) if first == last else f"{first} to {last}"


class ChosenColumns(Value, frozen=True, kw_only=True):
    """The columns of the table, and the tested releases that stand in none; newest first."""

    shown: tuple[SharedColumn, ...]
    left_out: tuple[Version, ...]


def chosen_columns(
    columns: Sequence[ReleaseColumn], rows: Sequence[str], positions: Mapping[Version, int]
) -> ChosenColumns:
    """Return the columns for tested releases, which come oldest first.

    `rows` are the ids of capabilities, `positions` the number of each release in the matrix.
    """
    shared = list(_shared(columns, rows, positions))
    chosen = _chosen(shared, _most(columns))
    newest_first = range(len(shared))[::-1]
    return ChosenColumns(
        shown=tuple(shared[number] for number in newest_first if number in chosen),
        left_out=tuple(
            release.version
            for number in newest_first
            if number not in chosen
            for release in shared[number].releases[::-1]
        ),
    )


def _shared(
    columns: Sequence[ReleaseColumn], rows: Sequence[str], positions: Mapping[Version, int]
) -> Iterator[SharedColumn]:
    # The columns, those of neighbours in one. Releases with an untested one between them are no
    # neighbours: what they share would be said of that one, too.
    group: list[ReleaseColumn] = []
    before: Statuses = ()
    for column in columns:
        by_id = {asked.id: asked.status for asked in column.entry.verdict.capabilities}
        statuses = tuple(by_id.get(name) for name in rows)
        is_next = group and positions[column.version] == positions[group[-1].version] + 1
        if group and not (is_next and statuses == before):
            yield SharedColumn(releases=tuple(group), statuses=before)
            group = []
        group.append(column)
        before = statuses
    if group:
        yield SharedColumn(releases=tuple(group), statuses=before)


def _most(columns: Sequence[ReleaseColumn]) -> int:
    """How many columns fit, of versions of this length; never fewer than the two ends."""
    longest = max((len(str(column.version)) for column in columns), default=0)
    return max(2, _ROOM // max(_NARROWEST, longest * _CHARACTER + _PADDING))


def _chosen(shared: Sequence[SharedColumn], most: int) -> frozenset[int]:
    # The numbers of the newest, the oldest, and those with most changes, of two alike the newer; so
    # many in all.
    changes, last = list(_changes(shared)), len(shared) - 1
    between = sorted(range(1, last), key=lambda number: (changes[number], number), reverse=True)
    return frozenset((0, last, *between[: most - 2]))


def _changes(shared: Sequence[SharedColumn]) -> Iterator[int]:
    # In how many rows each differs from the newest older one that was asked about the row: that a
    # release was not asked is no change.
    known: Statuses = shared[0].statuses if shared else ()
    for column in shared:
        pairs = list(zip(known, column.statuses, strict=True))
        yield sum(None not in pair and pair[0] != pair[1] for pair in pairs)
        known = tuple(before if now is None else now for before, now in pairs)
