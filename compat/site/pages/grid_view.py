"""The `site` room's grids and releases: the subject against the other axes, by Python."""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from packaging.version import Version

from compat.declare.matrix import Matrix, PackageAxis
from compat.results.answer import Answer, representative, representative_of_release
from compat.site.api.why_documents import python_document
from compat.site.edition import Board, Edition, MatrixReport, Versions
from compat.site.pages.install_views import plain_section, platform_rows
from compat.site.pages.place_view import Doc, has_page, place_view
from compat.site.paths import grid_part_path
from compat.site.status import EXPECTED, STYLES, StatusStyle, is_admitted, place_style
from compat.site.why_words import place_lines, unreached_sentence
from compat.site.wording import python_of, ranges

PROVEN = ("works", "decayed", "relaxed", "partial")
# A page with so many places weighs some 45 KiB gzipped.
_MOST_PLACES = 4_000
_MOST_OBSTACLES = 6
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
    releases about which there is nothing to say on this Python.
    """
    matrix = report.snapshot.matrix
    places, parts = _places(report, python), grid_parts(report, python)
    every_shown, counts = _shown_places(report, python), _grid_counts(report, python)
    shown = [every_shown[subject] for subject in parts[number]]
    columns = sorted({others for of_release in shown for others in of_release}, reverse=True)
    every = sorted({others for of_release in places.values() for others in of_release})
    styles = Counter(place_style(entries) for board in shown for entries in board.values())
    return Doc(
        label="all Pythons" if python is None else f"Python {python}",
        others=" and ".join(axis.package for axis in _other_axes(matrix)),
        subject=matrix.subject_axis.package,
        columns=[(label_of(others), _newest(report, others)) for others in columns],
        rows=[
            _row(report, subject, columns, every, places[subject], python is None)
            for subject in parts[number]
        ],
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
    subject: Version,
    columns: Sequence[Versions],
    every: Sequence[Versions],
    places: Mapping[Versions, tuple[Answer, ...]],
    over_pythons: bool,
) -> Doc:
    """One release of the subject: `answers` is what was proven, `declared` what its metadata
    admits.
    """
    matrix, labels = report.snapshot.matrix, [label_of(versions) for versions in every]
    row = [(label_of(others), places[others]) for others in every if others in places]
    shown = [_shown(matrix, places.get(others, ()), over_pythons) for others in columns]
    kinds = {place.kind for place in shown if place is not None} - {"unknown"}
    return Doc(
        version=subject,
        answers=answers(row, labels),
        declared=ranges((label for label, entries in row if is_admitted(entries)), labels),
        places=shown,
        kinds=" ".join(sorted(kinds)),
    )


def _shown(matrix: Matrix, entries: tuple[Answer, ...], over_pythons: bool) -> Doc | None:
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


def release_view(edition: Edition, report: MatrixReport, version: Version) -> Doc:
    """Return the page of a release. `spoken` is its representative cell, None where none was
    tested; `cautions` are what is declared of its cells on other machines. `best` is what to
    install of it, ranked by proof: often another cell; None where none works or their locks have
    changed.
    """
    axis, versions = report.snapshot.matrix.subject_axis, subject_versions(report)
    number, releases = versions.index(version), report.facts.subject_releases(version)
    # A series is shown with what its newest release asks for.
    newest = next((release for release in reversed(releases) if not release.yanked), None)
    entries = report.entries_at({axis.name: version})
    spoken, floor = representative_of_release(entries), report.python_floors.get(version)
    # Nothing is said of what keeps the Python of a release whose sources were not read.
    is_read = floor is not None and floor.needs is not None
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
        plain=plain_section(edition, report, version),
        platforms=platform_rows(report, str(version)),
        why=python_document(floor) if floor is not None and is_read else None,
        places=place_lines(floor) if floor is not None and is_read and floor.keepers else (),
        unreached=unreached_sentence(floor) if floor is not None and is_read else "",
        pythons=[_on_python(report, python, version) for python in reversed(report.board)],
        cells=[entry for entry in entries if has_page(entry)],
        older=versions[number - 1] if number else None,
        newer=versions[number + 1] if number + 1 < len(versions) else None,
    )


def _on_python(report: MatrixReport, python: Version, version: Version) -> Doc:
    """What is known of the release on one Python: proven, inferred, declared, and what is in the
    way of the rest.
    """
    places = sorted(report.board[python].get(version, {}).items())
    row = [(label_of(others), entries) for others, entries in places]
    every = [label for label, _ in row]
    return Doc(
        python=python,
        answers=answers(row, every),
        inferred=answers(row, every, inferred=True),
        declared=ranges((label for label, entries in row if is_admitted(entries)), every),
        obstacles=_obstacles(report, [entry for _, entries in places for entry in entries]),
    )


def _obstacles(report: MatrixReport, entries: Sequence[Answer]) -> list[tuple[str, int]]:
    """What is in the way, those of one cause in one line with their versions, the most common
    first.
    """
    by_sentence: dict[str, list[Answer]] = {}
    for entry in entries:
        if entry.obstacle is not None and entry.cell.recipe != "dated":
            by_sentence.setdefault(_general(entry, report), []).append(entry)
    counted = []
    for general, group in by_sentence.items():
        sentence = general
        for axis in report.snapshot.matrix.packages:
            if f"{axis.package} \0" not in general:
                continue
            every = [str(version) for version in report.advisor.ranks.positions[axis.name]]
            versions = ranges((entry.cell.on(axis.name).number for entry in group), every)
            sentence = sentence.replace(f"{axis.package} \0", f"{axis.package} {versions}")
        counted.append((sentence, len(group)))
    return sorted(counted, key=lambda item: (-item[1], item[0]))[:_MOST_OBSTACLES]


def _general(entry: Answer, report: MatrixReport) -> str:
    assert entry.obstacle is not None
    because, kind = entry.obstacle.because, entry.obstacle.kind
    if kind in ("conflicting-pin", "requires-python"):
        because = because.rpartition(", not ")[0] or because
    for axis in report.snapshot.matrix.packages:
        if axis.name != report.snapshot.matrix.subject and kind != "conflicting-pin":
            because = because.replace(
                f"{axis.package} {entry.cell.on(axis.name).version} ", f"{axis.package} \0 ", 1
            )
    return because
