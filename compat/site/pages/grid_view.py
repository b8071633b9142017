"""The `site` room's grids and releases: the subject against the other axes, by Python."""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from packaging.version import Version

from compat.declare.matrix import Matrix, PackageAxis
from compat.results.answer import Answer, representative, representative_of_release
from compat.site.api.why_documents import python_document
from compat.site.edition import Board, MatrixReport, Versions
from compat.site.pages.install_views import release_installs
from compat.site.pages.place_view import Doc, has_page, place_view
from compat.site.paths import grid_part_path, grid_path, page
from compat.site.status import EXPECTED, STYLES, StatusStyle, is_admitted, place_style
from compat.site.why_words import place_lines, unreached_sentence
from compat.site.wording import python_of, ranges

PROVEN = ("works", "decayed", "relaxed", "partial")
# A page with so many places weighs some 45 KiB gzipped.
_MOST_PLACES = 4_000
_MOST_OBSTACLES = 12
_FAILING = ("broken", "partial", "flaky")
_NOT_DECLARED = ("requires-python", "excluded", "yanked")
Places = tuple[Answer, ...]
# A style, and the versions that have it, as ranges.
StyledVersions = tuple[StatusStyle, str]


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


def grid(report: MatrixReport, python: Version | None, number: int = 0) -> Doc:
    """Return that page of the grid of one Python, or with None of that of all: each place as it is
    on the best of them. `parts` are the pages of a grid that has several, `hidden` counts the
    releases about which there is nothing to say on this Python, and `narrowed` are the columns that
    are left out: no release admits them, and nothing works there.
    """
    matrix, parts = report.snapshot.matrix, grid_parts(report, python)
    places, every_shown = _places(report, python), _shown_places(report, python)
    counts = _grid_counts(report, python)
    shown = [every_shown[subject] for subject in parts[number]]
    every = sorted({others for of_release in places.values() for others in of_release})
    columns = _columns(report, shown)
    rows = [
        _row(report, str(subject), page(report.name, "release", str(subject)), columns, every,
             places[subject], python is None)
        for subject in parts[number]
    ]  # fmt: skip
    in_columns = (board.get(others) for board in shown for others in columns)
    styles = Counter(place_style(entries) for entries in in_columns if entries)
    left = {others for board in shown for others in board} - {*columns}
    return Doc(
        label="all Pythons" if python is None else f"Python {python}",
        others=" and ".join(axis.package for axis in _other_axes(matrix)),
        subject=matrix.subject_axis.package,
        columns=[(label_of(others), _newest(report, others)) for others in columns],
        rows=rows,
        legend=[(style, styles[style]) for style in _ordered(styles)],
        choices=[(*choice, choice[0] == python) for choice in choices(report)],
        parts=[
            (part_label(subjects), grid_part_path(report.name, python, place), place == number)
            for place, subjects in enumerate(parts)
            if parts[1:]
        ],
        tested=counts.tested,
        declared=counts.declared,
        stale=counts.stale,
        hidden=len(places) - len(every_shown),
        narrowed=ranges(map(label_of, left), [label_of(others) for others in every]),
    )


def _columns(report: MatrixReport, boards: Sequence[Mapping[Versions, Places]]) -> list[Versions]:
    """The columns that some release admits, or in which something works; newest first. All, where
    there is no such column.
    """
    every = {others for board in boards for others in board}
    worth = {
        others
        for board in boards
        for others, entries in board.items()
        if is_declared(report, entries) or place_style(entries).state in PROVEN
    }
    return sorted(worth or every, reverse=True)


def is_declared(report: MatrixReport, entries: Sequence[Answer]) -> bool:
    """Return whether the release's own metadata admits a place, whatever else stands against it."""
    facts, axes = report.facts, _other_axes(report.snapshot.matrix)
    return any(
        entry.planned
        and entry.cell.recipe == "fresh"
        and (entry.obstacle is None or entry.obstacle.kind not in _NOT_DECLARED)
        and not any(facts.moved(entry.cell, axis.name) for axis in axes)
        for entry in entries
    )


def _grid_counts(report: MatrixReport, python: Version | None) -> Doc:
    """How many places of a whole grid were tested, are declared, are to be tested again."""

    def counted() -> Doc:
        tested, declared = _counts(_places(report, python))
        shown = _every(_shown_places(report, python))
        stale = sum(representative(entries).stale for entries in shown)
        return Doc(tested=tested, declared=declared, stale=stale)

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


def choices(report: MatrixReport) -> list[tuple[Version | None, int]]:
    """Return how many places were tested: on any Python, then on each, the newest first."""

    def tested() -> list[tuple[Version | None, int]]:
        of_each = {python: _counts(board)[0] for python, board in report.board.items()}
        return [(None, _counts(_places(report, None))[0]), *sorted(of_each.items(), reverse=True)]

    return report.snapshot.once("tested-places", tested)


def answers(
    places: Iterable[tuple[str, Sequence[Answer]]], every: Sequence[str], *, inferred: bool = False
) -> tuple[StyledVersions, ...]:
    """Return what was proven of places with their labels, or what is inferred, the best first;
    `every` label there is orders them.
    """
    by_style = defaultdict[StatusStyle, list[str]](list)
    for label, entries in places:
        style = place_style(entries)
        if style in EXPECTED.values() if inferred else style.state in PROVEN:
            by_style[style].append(label)
    return tuple((style, ranges(by_style[style], every)) for style in _ordered(by_style))


def _row(
    report: MatrixReport,
    label: str,
    path: str,
    columns: Sequence[Versions],
    every: Sequence[Versions],
    places: Mapping[Versions, Places],
    over_pythons: bool = False,
) -> Doc:
    """One row: `answers` is what was proven, else `inferred`, else `declared`, what the metadata
    admits.
    """
    labels = [label_of(versions) for versions in every]
    row = [(label_of(others), places[others]) for others in every if others in places]
    shown = [_shown(report, places.get(others, ()), over_pythons) for others in columns]
    tested = [entries for _, entries in row if any(entry.is_tested for entry in entries)]
    failing = any(place_style(entries).state in _FAILING for entries in tested)
    return Doc(
        label=label,
        path=path,
        answers=answers(row, labels) or answers(row, labels, inferred=True),
        declared=ranges((name for name, entries in row if is_declared(report, entries)), labels),
        places=shown,
        kinds=" ".join(["tested"] * bool(tested) + ["failing"] * failing),
    )


def _shown(report: MatrixReport, entries: Places, over_pythons: bool) -> Doc | None:
    """The place, or None where it is ruled out and nothing more is known."""
    if not entries:
        return None
    matrix, style, alike = report.snapshot.matrix, place_style(entries), list[str]()
    if over_pythons:
        by_python = defaultdict[Version, list[Answer]](list)
        for entry in entries:
            by_python[python_of(entry.cell, matrix)].append(entry)
        alike = [
            str(python)
            for python, group in sorted(by_python.items())
            if place_style(group) == style
        ]
    declared = is_declared(report, entries)
    if not declared and not _says_something(entries):
        return None
    place = place_view(entries, matrix, alike)
    if declared:
        place.css += " asked"
        place.sentence += "; the release declares it"
    return place


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
        entry.obstacle is None and (entry.refusal is not None or entry.expected is not None)
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


def subject_versions(report: MatrixReport) -> tuple[Version, ...]:
    every = (subject for by_subject in report.board.values() for subject in by_subject)
    return tuple(sorted(set(every)))


def release_view(report: MatrixReport, version: Version) -> Doc:
    """Return the page of a release. `spoken` is its representative cell, None where none was
    tested; `cautions` are what is declared of its cells on other machines. `best` is what to
    install of it, ranked by proof: often another cell; None where none works or their locks have
    changed. `rows` is its own grid, a row for each Python.
    """
    axis, versions = report.snapshot.matrix.subject_axis, subject_versions(report)
    number, releases = versions.index(version), report.facts.subject_releases(version)
    # A series is shown with what its newest release asks for.
    newest = next((release for release in reversed(releases) if not release.yanked), None)
    entries = report.entries_at({axis.name: version})
    spoken, floor = representative_of_release(entries), report.python_floors.get(version)
    # Nothing is said of what keeps the Python of a release whose sources were not read.
    is_read = floor is not None and floor.needs is not None
    boards = {python: board.get(version, {}) for python, board in report.board.items()}
    columns = _columns(report, [*boards.values()])
    every = sorted({others for board in boards.values() for others in board})
    styles = Counter(
        place_style(board[o]) for board in boards.values() for o in columns if o in board
    )
    rows = [
        _row(report, f"Python {python}", grid_path(report.name, python), columns, every, board)
        for python, board in reversed(boards.items())
    ]
    shown = {place.css.split()[0] for row in rows for place in row.places if place is not None}
    return Doc(
        version=version,
        yanked=bool(releases) and newest is None,
        published=None if newest is None else newest.published,
        spoken=spoken if spoken.is_tested else None,
        # What is said of cells that nobody tried stands on their own pages.
        cautions=[
            *dict.fromkeys(
                caution
                for entry in entries
                if entry.lock_digest is not None
                for caution in report.snapshot.cautions(entry)
            )
        ],
        best=report.best("best", {axis.name: version}),
        others=" and ".join(other.package for other in _other_axes(report.snapshot.matrix)),
        columns=[label_of(others) for others in columns],
        rows=rows,
        legend=[style for style in _ordered(styles) if style.css.split()[0] in shown],
        installs=release_installs(report, version),
        why=python_document(floor) if floor is not None and is_read else None,
        places=place_lines(floor) if floor is not None and is_read and floor.keepers else (),
        unreached=unreached_sentence(floor) if floor is not None and is_read else "",
        ruled_out=_obstacles(report, entries),
        cells=[entry for entry in entries if has_page(entry)],
        older=versions[number - 1] if number else None,
        newer=versions[number + 1] if number + 1 < len(versions) else None,
    )


def _obstacles(report: MatrixReport, entries: Sequence[Answer]) -> list[tuple[str, int]]:
    """What rules cells out, each cause once without the version that it refuses, the most common
    first.
    """
    counted = Counter[str]()
    for entry in entries:
        if entry.obstacle is not None and entry.cell.recipe != "dated":
            because = entry.obstacle.because
            counted[because.rpartition(", not ")[0] or because] += 1
    return counted.most_common(_MOST_OBSTACLES)
