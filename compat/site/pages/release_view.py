"""The `site` room's release pages: all that is known of one version of the subject."""

import datetime
from collections.abc import Sequence

from packaging.version import Version

from compat.results.answer import Answer
from compat.results.representative import representative_of_release
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.pages.advice_view import CardView, best
from compat.site.pages.grid_view import answers, label_of
from compat.site.pages.install_views import PlainSection, PlatformRow, plain_section, platform_rows
from compat.site.pages.place_view import (
    AnswerPart,
    View,
    cell_symbol,
    entry_page,
    has_page,
    recipe_words,
)
from compat.site.paths import api_path, grid_path, page
from compat.site.status import StatusStyle, is_admitted
from compat.site.why_words import (
    BLIND_SPOTS,
    below_sentence,
    changed_sentence,
    keeper_sentence,
    place_lines,
    unreached_sentence,
)
from compat.site.wording import place_words, ranges

_MOST_OBSTACLES = 6


class OnPython(View, frozen=True):
    """What is known of the release on one Python: proven, inferred, declared, and what is in the
    way of the rest.
    """

    python: str
    path: str
    answers: tuple[AnswerPart, ...]
    inferred: tuple[AnswerPart, ...]
    declared: str
    obstacles: tuple[tuple[str, int], ...]


class KnownCell(View, frozen=True):
    """A cell of the release that has a page."""

    place: str
    recipe: str
    style: StatusStyle
    symbol: str
    score: str
    path: str
    latest: datetime.date | None


class WhySection(View, frozen=True):
    """What keeps the release from an older Python: one sentence, the places, and what came of the
    cells below and of changed copies.
    """

    sentence: str
    places: tuple[str, ...]
    unreached: str
    below: tuple[str, ...]
    changed: tuple[str, ...]
    read_by: str
    limits: str
    api_path: str


class ReleaseView(View, frozen=True):
    """A release, as its page shows it.

    `spoken` is its representative cell, None where none was tested. `cautions` are what is declared
    of its cells on other machines. `best` is what to install of
    it, ranked by proof: often another cell; None where none works or their locks have changed.
    """

    package: str
    version: str
    released: datetime.date | None
    yanked: bool
    requires_python: str
    requires: tuple[str, ...]
    spoken: KnownCell | None
    cautions: tuple[str, ...]
    best: CardView | None
    plain: PlainSection
    platforms: tuple[PlatformRow, ...]
    platforms_path: str
    why: WhySection | None
    pythons: tuple[OnPython, ...]
    cells: tuple[KnownCell, ...]
    older: tuple[str, str] | None
    newer: tuple[str, str] | None


def subject_versions(report: MatrixReport) -> tuple[Version, ...]:
    every = (subject for by_subject in report.board.values() for subject in by_subject)
    return tuple(sorted(set(every)))


def release_entries(report: MatrixReport) -> dict[Version, list[Answer]]:
    subject = report.snapshot.matrix.subject
    entries: dict[Version, list[Answer]] = {}
    for entry in report.snapshot.known:
        entries.setdefault(entry.cell.on(subject).version, []).append(entry)
    return entries


def release_view(edition: Edition, report: MatrixReport, version: Version) -> ReleaseView:
    axis = report.snapshot.matrix.subject_axis
    versions = subject_versions(report)
    number = versions.index(version)
    releases = report.facts.subject_releases(version)
    # A series is shown with what its newest release asks for.
    newest = next((release for release in reversed(releases) if not release.yanked), None)
    published = None if newest is None else newest.published
    entries = report.entries_at({axis.name: version})
    known = [entry for entry in entries if has_page(entry)]
    spoken = representative_of_release(entries)
    return ReleaseView(
        package=axis.package,
        version=str(version),
        released=report.released(axis.name, version),
        yanked=bool(releases) and newest is None,
        requires_python="" if published is None else str(published.requires_python or ""),
        requires=() if published is None else published.requires_dist,
        spoken=_cell(report, spoken) if spoken.is_tested else None,
        # What is said of cells that nobody tried stands on their own pages.
        cautions=tuple(
            dict.fromkeys(
                caution
                for entry in entries
                if entry.lock_digest is not None
                for caution in report.snapshot.cautions(entry)
            )
        ),
        best=best(edition, report, {axis.name: version}),
        plain=plain_section(edition, report, version),
        platforms=platform_rows(report, str(version)),
        platforms_path=page(report.name, "platforms"),
        why=_why(report, version),
        pythons=tuple(_on_python(report, python, version) for python in reversed(report.board)),
        cells=tuple(_cell(report, entry) for entry in known),
        older=_link(report, versions[number - 1]) if number else None,
        newer=_link(report, versions[number + 1]) if number + 1 < len(versions) else None,
    )


def _why(report: MatrixReport, version: Version) -> WhySection | None:
    """What keeps its Python; nothing for a release whose sources were not read."""
    floor = report.python_floors.get(version)
    if floor is None or floor.needs is None:
        return None
    return WhySection(
        sentence=keeper_sentence(floor),
        places=place_lines(floor) if floor.keepers else (),
        unreached=unreached_sentence(floor),
        below=tuple(below_sentence(cell, "Python") for cell in floor.below),
        changed=tuple(changed_sentence(floor, run) for run in floor.changed),
        read_by=report.needs.read_by,
        limits=BLIND_SPOTS,
        api_path=api_path(report.name, "floors"),
    )


def _on_python(report: MatrixReport, python: Version, version: Version) -> OnPython:
    places = sorted(report.board[python].get(version, {}).items())
    every = [label_of(others) for others, _ in places]
    admitted = [label_of(others) for others, entries in places if is_admitted(entries)]
    labelled = [(label_of(others), entries) for others, entries in places]
    return OnPython(
        python=str(python),
        path=grid_path(report.name, python),
        answers=answers(labelled, every),
        inferred=answers(labelled, every, inferred=True),
        declared=ranges(admitted, every),
        obstacles=_obstacles(report, [entry for _, entries in places for entry in entries]),
    )


def _obstacles(report: MatrixReport, entries: Sequence[Answer]) -> tuple[tuple[str, int], ...]:
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
    return tuple(sorted(counted, key=lambda item: (-item[1], item[0]))[:_MOST_OBSTACLES])


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


def _cell(report: MatrixReport, entry: Answer) -> KnownCell:
    symbol, style = cell_symbol(entry, report.places[place_of(entry.cell)])
    return KnownCell(
        place=place_words(entry.cell, report.snapshot.matrix),
        recipe="" if entry.cell.recipe == "fresh" else recipe_words(entry),
        style=style,
        symbol=symbol,
        score=entry.verdict.score.words,
        path=entry_page(entry),
        latest=entry.verdict.latest,
    )


def _link(report: MatrixReport, version: Version) -> tuple[str, str]:
    return str(version), page(report.name, "release", str(version))
