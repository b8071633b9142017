"""The `site` room's grids: releases of the subject against the other axes, by Python."""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from packaging.version import Version

from compat.declare.matrix import Matrix, PackageAxis
from compat.results.answer import Answer
from compat.results.representative import representative
from compat.site.edition import Board, MatrixReport, Versions
from compat.site.pages.place_view import AnswerPart, GridPlace, View, place_view
from compat.site.paths import grid_part_path, grid_path, page
from compat.site.status import (
    EXPECTED,
    STYLES,
    StatusStyle,
    is_admitted,
    place_style,
)
from compat.site.wording import python_of, ranges

PROVEN = ("works", "decayed", "relaxed", "partial")
# A page with so many places weighs some 45 KiB gzipped; see `weights`.
_MOST_PLACES = 4_000


class GridColumn(View, frozen=True):
    """One column: the versions of the other axes, and when the newest of them came out."""

    label: str
    released: datetime.date | None


class GridRow(View, frozen=True):
    """One release of the subject.

    `answers` is what was proven, `declared` what its metadata admits.
    """

    version: str
    path: str
    released: datetime.date | None
    answers: tuple[AnswerPart, ...]
    declared: str
    places: tuple[GridPlace | None, ...]
    kinds: str


class Key(View, frozen=True):
    """An entry of the legend: a style in use, and how many places have it."""

    style: StatusStyle
    count: int


class GridChoice(View, frozen=True):
    """A grid that can be looked at: of one Python, or of all."""

    label: str
    path: str
    tested: int
    is_here: bool


class GridPart(View, frozen=True):
    """A page of a grid that has several, newest releases first."""

    label: str
    path: str
    is_here: bool


class Grid(View, frozen=True):
    """A grid, as its page shows it; `parts` are its pages where it has several, of which this one
    has the rows and the legend.

    `hidden` counts the releases about which there is nothing to say on this Python.
    """

    label: str
    others: str
    subject: str
    columns: tuple[GridColumn, ...]
    rows: tuple[GridRow, ...]
    legend: tuple[Key, ...]
    choices: tuple[GridChoice, ...]
    parts: tuple[GridPart, ...]
    tested: int
    declared: int
    stale: int
    hidden: int


def main_python(report: MatrixReport) -> Version | None:
    """Return the newest Python on which anything was tested; where nothing was, the newest that a
    release admits.

    None, for all of them, where the matrix has no cell: nothing is on the index yet.
    """
    counted = {python: _counts(board) for python, board in report.board.items()}
    for counts in (0, 1):
        pythons = [python for python, numbers in counted.items() if numbers[counts]]
        if pythons:
            return pythons[-1]
    return [*counted][-1] if counted else None


def grid(report: MatrixReport, python: Version | None, number: int = 0) -> Grid:
    """Return that page of the grid of one Python, or with None of that of all: each place as it is
    on the best of them.
    """
    matrix = report.snapshot.matrix
    places, parts = _places(report, python), grid_parts(report, python)
    every_shown, counts = _shown_places(report, python), _grid_counts(report, python)
    shown = [every_shown[subject] for subject in parts[number]]
    columns = sorted({others for of_release in shown for others in of_release}, reverse=True)
    every = sorted({others for of_release in places.values() for others in of_release})
    styles = Counter(place_style(entries) for board in shown for entries in board.values())
    return Grid(
        label="all Pythons" if python is None else f"Python {python}",
        others=" and ".join(axis.package for axis in _other_axes(matrix)),
        subject=matrix.subject_axis.package,
        columns=tuple(
            GridColumn(label=label_of(others), released=_newest(report, others))
            for others in columns
        ),
        rows=tuple(
            _row(report, subject, columns, every, places[subject], python is None)
            for subject in parts[number]
        ),
        legend=tuple(Key(style=style, count=styles[style]) for style in _ordered(styles)),
        choices=choices(report, python),
        parts=tuple(
            GridPart(
                label=part_label(subjects),
                path=grid_part_path(report.name, python, place),
                is_here=place == number,
            )
            for place, subjects in enumerate(parts)
            if parts[1:]
        ),
        tested=counts.tested,
        declared=counts.declared,
        stale=counts.stale,
        hidden=len(places) - len(every_shown),
    )


class GridCounts(View, frozen=True):
    """How many places of a whole grid were tested, are declared, are to be tested again."""

    tested: int
    declared: int
    stale: int


def _grid_counts(report: MatrixReport, python: Version | None) -> GridCounts:
    def counted() -> GridCounts:
        tested, declared = _counts(_places(report, python))
        shown = _every(_shown_places(report, python))
        stale = sum(representative(entries).verdict.stale for entries in shown)
        return GridCounts(tested=tested, declared=declared, stale=stale)

    return report.snapshot.once(("grid-counts", python), counted)


def grid_parts(report: MatrixReport, python: Version | None) -> tuple[tuple[Version, ...], ...]:
    """Return the releases on each page of a grid, the newest first; there is at least one page."""
    return report.snapshot.once(("grid-parts", python), partial(_parts, report, python))


def part_label(subjects: Sequence[Version]) -> str:
    return f"{subjects[0]} to {subjects[-1]}" if subjects[1:] else f"{subjects[0]}"


def _parts(report: MatrixReport, python: Version | None) -> tuple[tuple[Version, ...], ...]:
    shown = _shown_places(report, python)
    parts: list[tuple[Version, ...]] = [()]
    on_page: set[Versions] = set()
    for subject in sorted(shown, reverse=True):
        on_page |= shown[subject].keys()
        if parts[-1] and len(on_page) * (len(parts[-1]) + 1) > _MOST_PLACES:
            parts.append(())
            on_page = {*shown[subject]}
        parts[-1] = (*parts[-1], subject)
    return tuple(parts)


def _places(report: MatrixReport, python: Version | None) -> Board:
    if python is None:
        return report.snapshot.once("all-places", partial(_all, report))
    return report.board[python]


def _shown_places(report: MatrixReport, python: Version | None) -> Board:
    def shown() -> Board:
        worth_a_sign = {
            subject: {o: entries for o, entries in board.items() if _says_something(entries)}
            for subject, board in _places(report, python).items()
        }
        return {subject: board for subject, board in worth_a_sign.items() if board}

    return report.snapshot.once(("shown-places", python), shown)


def choices(report: MatrixReport, chosen: Version | None) -> tuple[GridChoice, ...]:
    options = report.snapshot.once("tested-places", partial(_tested_places, report))
    return tuple(
        GridChoice(
            label="all" if python is None else str(python),
            path=grid_path(report.name, python),
            tested=count,
            is_here=python == chosen,
        )
        for python, count in options
    )


def _tested_places(report: MatrixReport) -> list[tuple[Version | None, int]]:
    """How many places were tested: on any Python, then on each, the newest first."""
    tested = {python: _counts(board)[0] for python, board in report.board.items()}
    return [(None, _counts(_places(report, None))[0]), *sorted(tested.items(), reverse=True)]


def answers(
    places: Iterable[tuple[str, Sequence[Answer]]], every: Sequence[str], *, inferred: bool = False
) -> tuple[AnswerPart, ...]:
    """Return what was proven of places with their labels, or what is inferred, the best first;
    `every` label there is orders them.
    """
    by_style = defaultdict[StatusStyle, list[str]](list)
    for label, entries in places:
        style = place_style(entries)
        if style in EXPECTED.values() if inferred else style.state in PROVEN:
            by_style[style].append(label)
    return tuple(
        AnswerPart(style=style, versions=ranges(by_style[style], every))
        for style in _ordered(by_style)
    )


def _row(
    report: MatrixReport,
    subject: Version,
    columns: Sequence[Versions],
    every: Sequence[Versions],
    places: Mapping[Versions, tuple[Answer, ...]],
    over_pythons: bool,
) -> GridRow:
    matrix = report.snapshot.matrix
    row = [(others, places[others]) for others in every if others in places]
    admitted = [label_of(others) for others, entries in row if is_admitted(entries)]
    shown = tuple(_shown(matrix, places.get(others, ()), over_pythons) for others in columns)
    return GridRow(
        version=str(subject),
        path=page(report.name, "release", str(subject)),
        released=report.released(matrix.subject, subject),
        answers=answers(
            ((label_of(others), entries) for others, entries in row),
            [label_of(versions) for versions in every],
        ),
        declared=ranges(admitted, [label_of(versions) for versions in every]),
        places=shown,
        kinds=" ".join(
            sorted({place.kind for place in shown if place is not None and place.kind != "unknown"})
        ),
    )


def _shown(matrix: Matrix, entries: tuple[Answer, ...], over_pythons: bool) -> GridPlace | None:
    """The place, or None where there is nothing to say; ruled out is worth a sign only beside what
    is not.
    """
    if not entries:
        return None
    if not _says_something(entries):
        return None if place_style(entries).state == "unknown" else place_view(entries, matrix)
    alike: Sequence[str] = ()
    if over_pythons:
        by_python = defaultdict[Version, list[Answer]](list)
        for entry in entries:
            by_python[python_of(entry.cell, matrix)].append(entry)
        style = place_style(entries)
        alike = [
            str(python)
            for python, group in sorted(by_python.items())
            if place_style(group) == style
        ]
    return place_view(entries, matrix, alike)


def _all(report: MatrixReport) -> Board:
    merged: dict[Version, dict[Versions, tuple[Answer, ...]]] = {}
    for board in report.board.values():
        for subject, of_release in board.items():
            places = merged.setdefault(subject, {})
            for others, entries in of_release.items():
                places[others] = (*places.get(others, ()), *entries)
    return merged


def _every(board: Board) -> Iterator[tuple[Answer, ...]]:
    return (entries for of_release in board.values() for entries in of_release.values())


def _counts(board: Board) -> tuple[int, int]:
    tested = sum(any(entry.is_tested for entry in entries) for entries in _every(board))
    return tested, sum(is_admitted(entries) for entries in _every(board))


def _says_something(entries: Sequence[Answer]) -> bool:
    if any(entry.is_tested for entry in entries) or is_admitted(entries):
        return True
    return any(
        entry.obstacle is None and (entry.refusal is not None or entry.verdict.expected is not None)
        for entry in entries
    )


def _other_axes(matrix: Matrix) -> tuple[PackageAxis, ...]:
    return tuple(axis for axis in matrix.packages if axis is not matrix.subject_axis)


def label_of(others: Versions) -> str:
    return " · ".join(map(str, others)) or "alone"


def _newest(report: MatrixReport, others: Versions) -> datetime.date | None:
    axes = _other_axes(report.snapshot.matrix)
    days = [report.released(axis.name, version) for axis, version in zip(axes, others, strict=True)]
    return max((day for day in days if day is not None), default=None)


def _ordered(styles: Iterable[StatusStyle]) -> list[StatusStyle]:
    order = [*STYLES.values()]
    return sorted(styles, key=order.index)
