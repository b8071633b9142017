"""The `site` room's pages of what is known beside the grid: plain installs, other platforms and
variants; and the sections of a release's page about them.
"""

import datetime
from collections.abc import Callable, Iterator, Sequence

from packaging.version import Version

from compat.advise.commands import commands
from compat.declare.platforms import own_name
from compat.plan.cell import LANES, Recipe
from compat.results.compare import LaneCell
from compat.results.installs import (
    PLAIN_STATES,
    Install,
    InstallCause,
    InstallState,
    OnPlatform,
    install_causes,
    on_platforms,
    plain_installs,
)
from compat.run.outcome import Failed
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.exports.lock_files import whereabouts
from compat.site.install_words import (
    INSTALL_STYLES,
    InstallStyle,
    evidence_words,
    install_reason,
    install_subject,
    installable_words,
    plain_command,
    platform_title,
    works_instead,
)
from compat.site.lane_words import (
    LANE_QUESTIONS,
    LANE_TITLES,
    floor_words,
    lane_blame,
    no_prerelease_words,
)
from compat.site.pages.place_view import View, cell_symbol, entry_page
from compat.site.paths import api_path, cell_page, page
from compat.site.status import StatusStyle, style_of
from compat.site.wording import cause_sentence, listed, place_words, ranges

# Of a release's Pythons the one counts where it gets farthest.
_OUT: tuple[InstallState, ...] = ("ruled-out", "not-admitted")
_OWN_ORDER = (*(state for state in PLAIN_STATES if state not in _OUT), *_OUT)


class PlainInstead(View, frozen=True):
    """A tested combination of the release on that Python: its page, how it is shown, and the
    shortest command.
    """

    path: str
    style: StatusStyle
    command: str


class PlainRow(View, frozen=True):
    """A plain install that comes to the same on all these Pythons, as ranges; `instead` are the
    combinations that were tested instead, each with its Python, the newest first.
    """

    pythons: str
    style: InstallStyle
    reason: str
    on: datetime.date | None
    is_run: bool
    witness: str
    instead: tuple[tuple[str, PlainInstead], ...]


class PlainSection(View, frozen=True):
    """The section of a release's page: the command, and each answer once, the best first."""

    command: str
    rows: tuple[PlainRow, ...]
    path: str


class CauseOfPlain(View, frozen=True):
    """A cause, with its releases by Python as ranges."""

    style: InstallStyle
    reason: str
    outcome: str
    example: str
    first: datetime.date | None
    last: datetime.date | None
    count: int
    releases: tuple[tuple[str, str], ...]


class PlainCell(View, frozen=True):
    """A field of the table: how it is shown, and what a refusal is about."""

    style: InstallStyle
    subject: str


class ReleasesAlike(View, frozen=True):
    """Neighbouring releases with the same answers, newest first, each with its page; `words` names
    them.
    """

    words: str
    path: str
    answers: tuple[PlainCell | InstallStyle, ...]


class PlainPage(View, frozen=True):
    """All plain installs: by cause, and as a table."""

    package: str
    pythons: tuple[str, ...]
    causes: tuple[CauseOfPlain, ...]
    rows: tuple[ReleasesAlike, ...]
    count: int
    asked: int
    first: datetime.date | None
    last: datetime.date | None
    data: str


def plain_section(edition: Edition, report: MatrixReport, version: Version) -> PlainSection:
    installs = [i for i in plain_installs(report.snapshot) if i.release == str(version)]
    installs.sort(key=lambda install: Version(install.python), reverse=True)
    pythons = [install.python for install in reversed(installs)]
    alike: dict[tuple[object, ...], list[Install]] = {}
    for install in installs:
        key = (install.state, _reason(install), install.on, install.ground, install.witness)
        alike.setdefault(key, []).append(install)
    groups = sorted(alike.values(), key=lambda group: PLAIN_STATES.index(group[0].state))
    return PlainSection(
        command=plain_command(report.snapshot.matrix.subject_axis.package, str(version)),
        rows=tuple(_row(edition, report, group, pythons) for group in groups),
        path=page(report.name, "plain"),
    )


def plain_page(report: MatrixReport) -> PlainPage:
    installs = plain_installs(report.snapshot)
    releases = [str(v) for v in sorted({Version(install.release) for install in installs})]
    pythons = [str(v) for v in sorted({Version(install.python) for install in installs})]
    by_pair = {(install.release, install.python): install for install in installs}
    answers = report.snapshot.plain
    days = [answers[i.cell].on for i in installs if i.cell in answers]
    return PlainPage(
        package=report.snapshot.matrix.subject_axis.package,
        pythons=tuple(pythons),
        causes=tuple(_cause(cause, releases) for cause in install_causes(installs)),
        rows=_alike(
            report, releases, lambda r: tuple(_cell(by_pair[r, python]) for python in pythons)
        ),
        count=len(installs),
        asked=len(days),
        first=min(days, default=None),
        last=max(days, default=None),
        data=api_path(report.name, "plain-installs"),
    )


def _row(
    edition: Edition, report: MatrixReport, alike: Sequence[Install], pythons: Sequence[str]
) -> PlainRow:
    install = alike[0]
    others = ((same.python, _instead(edition, report, same)) for same in alike)
    return PlainRow(
        pythons=ranges((same.python for same in alike), pythons),
        style=INSTALL_STYLES[install.state],
        reason=_reason(install),
        on=install.on,
        is_run=install.ground == "run",
        witness=install.witness,
        instead=tuple((python, other) for python, other in others if other is not None),
    )


def _reason(install: Install) -> str:
    """Why, without the Python where that alone differs: it is named beside it."""
    return install_reason(install).removesuffix(f", not {install.python}")


def _instead(edition: Edition, report: MatrixReport, install: Install) -> PlainInstead | None:
    proof = None if install.state == "works" else works_instead(report.advisor, install)
    if proof is None:
        return None
    lock = report.locks[proof.id]
    lines = commands(lock, whereabouts(edition, report, lock.inputs), report.snapshot.matrix)
    return PlainInstead(
        path=cell_page(proof.cell),
        style=style_of(report.snapshot.by_id[proof.id], report.places[place_of(proof.cell)]),
        command=lines.pip[1].removeprefix(f"{lines.folder}/bin/"),
    )


def _cause(cause: InstallCause, releases: Sequence[str]) -> CauseOfPlain:
    return CauseOfPlain(
        style=INSTALL_STYLES[cause.state],
        reason=install_reason(cause),
        outcome=cause.outcome if "-fail:" in cause.outcome else "",
        example=cause.example.because,
        first=None if cause.on is None else cause.on[0],
        last=None if cause.on is None else cause.on[1],
        count=cause.count,
        releases=_by_python(cause, releases),
    )


def _by_python(cause: InstallCause, releases: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The Pythons with the same releases together: `3.9 and 3.10`, `0.63.0 to 0.87.0`."""
    pythons: dict[str, list[str]] = {}
    for python, versions in cause.releases.items():
        pythons.setdefault(ranges(versions, releases), []).append(python)
    return tuple((listed(alike), versions) for versions, alike in pythons.items())


def _alike(
    report: MatrixReport,
    releases: Sequence[str],
    answers_of: Callable[[str], tuple[PlainCell | InstallStyle, ...]],
) -> tuple[ReleasesAlike, ...]:
    """The rows of a table, newest release first; neighbours with the same answers are one row."""
    rows: list[tuple[list[str], tuple[PlainCell | InstallStyle, ...]]] = []
    for release in reversed(releases):
        answers = answers_of(release)
        if rows and rows[-1][1] == answers:
            rows[-1][0].append(release)
        else:
            rows.append(([release], answers))
    return tuple(
        ReleasesAlike(
            words=ranges(alike, releases),
            path=page(report.name, "release", alike[0]),
            answers=answers,
        )
        for alike, answers in rows
    )


def _cell(install: Install) -> PlainCell:
    subject = install_subject(install) if install.state in ("refused", "needs-build") else ""
    return PlainCell(style=INSTALL_STYLES[install.state], subject=subject)


class PlatformRow(View, frozen=True):
    """What a release comes to on a platform, on the Pythons where it comes to its best."""

    title: str
    pythons: str
    style: InstallStyle
    reason: str
    evidence: str


class PlatformReason(View, frozen=True):
    """An answer with all plain installs that came to it, by Python as ranges of releases; with
    `is_example` the reason is that of the newest alone.
    """

    style: InstallStyle
    reason: str
    evidence: str
    count: int
    is_example: bool
    releases: tuple[tuple[str, str], ...]


class PlatformPart(View, frozen=True):
    """A platform: which release installs there, and each answer once."""

    id: str
    title: str
    sentence: str
    causes: tuple[PlatformReason, ...]


class PlatformsPage(View, frozen=True):
    """All platforms: the table of releases, and each platform by itself; `own` is the one that
    cells run on, the first column.
    """

    package: str
    own: str
    titles: tuple[str, ...]
    rows: tuple[ReleasesAlike, ...]
    parts: tuple[PlatformPart, ...]
    plain: str
    data: str


def platforms_page(report: MatrixReport) -> PlatformsPage:
    matrix, installs = report.snapshot.matrix, report.snapshot.platform_installs
    releases = list(dict.fromkeys(install.release for install in installs))
    return PlatformsPage(
        package=matrix.subject_axis.package,
        own=platform_title(own_name(matrix.platform)),
        titles=tuple(map(platform_title, matrix.platforms)),
        rows=_lines(report, releases),
        parts=_parts(report, releases),
        plain=page(report.name, "plain"),
        data=api_path(report.name, "platform-installs"),
    )


def platform_rows(report: MatrixReport, release: str) -> tuple[PlatformRow, ...]:
    own = (i for i in report.snapshot.platform_installs if i.release == release)
    return tuple(map(_platform_row, on_platforms(own)))


def _platform_row(best: OnPlatform) -> PlatformRow:
    return PlatformRow(
        title=platform_title(best.platform),
        pythons=listed(best.pythons),
        style=INSTALL_STYLES[best.state],
        reason=install_reason(best.install),
        evidence=evidence_words(best.install),
    )


def _parts(report: MatrixReport, releases: Sequence[str]) -> tuple[PlatformPart, ...]:
    matrix, installs = report.snapshot.matrix, report.snapshot.platform_installs
    causes = install_causes(installs)
    return tuple(
        PlatformPart(
            id=name,
            title=platform_title(name),
            sentence=installable_words(installs, name, matrix.subject_axis.package),
            causes=tuple(
                PlatformReason(
                    style=INSTALL_STYLES[cause.state],
                    reason=install_reason(cause.example),
                    evidence=evidence_words(cause.example),
                    count=cause.count,
                    is_example=cause.is_example,
                    releases=tuple(
                        (python, ranges(versions, releases))
                        for python, versions in cause.releases.items()
                    ),
                )
                for cause in causes
                if cause.platform == name
            ),
        )
        for name in matrix.platforms
    )


def _lines(report: MatrixReport, releases: Sequence[str]) -> tuple[ReleasesAlike, ...]:
    own: dict[str, int] = {}
    for install in plain_installs(report.snapshot):
        rank = _OWN_ORDER.index(install.state)
        own[install.release] = min(rank, own.get(install.release, rank))
    best = {(r.release, r.platform): r for r in on_platforms(report.snapshot.platform_installs)}

    def answers_of(release: str) -> tuple[InstallStyle, ...]:
        states = (best[release, name].state for name in report.snapshot.matrix.platforms)
        return tuple(INSTALL_STYLES[state] for state in (_OWN_ORDER[own[release]], *states))

    return _alike(report, releases, answers_of)


class LaneRow(View, frozen=True):
    """A cell of a lane that was tried: how it is shown, the ordinary cell beside it with its page,
    and each declared lowest version with what is installed.

    `against` is empty where no ordinary cell of the release and Python works; `blame` is the
    command that finds what makes a broken one fail, empty for others.
    """

    cell: str
    place: str
    style: StatusStyle
    symbol: str
    why: str
    against: str
    path: str
    floors: tuple[tuple[str, str], ...]
    blame: str


class LaneSection(View, frozen=True):
    """A lane: its alerts, the cells that were tried, and how many were not or cannot be."""

    lane: Recipe
    title: str
    question: str
    alerts: tuple[str, ...]
    notes: tuple[str, ...]
    rows: tuple[LaneRow, ...]
    waiting: int
    ruled_out: int
    command: str


class LanesView(View, frozen=True):
    """The lanes that a matrix declares, and where the same stands as data."""

    lanes: tuple[LaneSection, ...]
    data: str


def lanes_view(report: MatrixReport) -> LanesView:
    return LanesView(lanes=tuple(_lanes(report)), data=api_path(report.name, "lanes"))


def _lanes(report: MatrixReport) -> Iterator[LaneSection]:
    matrix, absent = report.snapshot.matrix, _without_prerelease(report)
    for lane in LANES:
        cells = [cell for cell in report.lanes.cells if cell.lane == lane]
        notes = absent if lane == "prerelease" else ()
        is_declared = matrix.lowest if lane == "lowest" else bool(matrix.prerelease_axes)
        if not (is_declared or cells or notes):
            continue
        yield LaneSection(
            lane=lane,
            title=LANE_TITLES[lane],
            question=LANE_QUESTIONS[lane],
            alerts=tuple(a.sentence for a in report.lanes.alerts if a.lane == lane),
            notes=notes,
            rows=tuple(
                _lane_row(report, cell)
                for cell in cells
                if cell.verdict not in ("unknown", "infeasible")
            ),
            waiting=sum(cell.verdict == "unknown" for cell in cells),
            ruled_out=sum(cell.verdict == "infeasible" for cell in cells),
            command=f"compat run {report.name} '*+{lane}'",
        )


def _without_prerelease(report: MatrixReport) -> tuple[str, ...]:
    awaited = report.snapshot.catalogue.prereleases
    return tuple(no_prerelease_words(p.name) for p in awaited if not p.releases)


def _lane_row(report: MatrixReport, cell: LaneCell) -> LaneRow:
    by_id, matrix = report.snapshot.by_id, report.snapshot.matrix
    entry, beside = by_id[cell.cell], by_id[cell.against] if cell.against else None
    symbol, style = cell_symbol(entry)
    outcome = entry.outcome
    return LaneRow(
        cell=cell.cell,
        place=place_words(entry.cell, matrix),
        style=style,
        symbol=symbol,
        why=cause_sentence(outcome) if isinstance(outcome, Failed) else "",
        against="" if beside is None else _beside(cell, place_words(beside.cell, matrix)),
        path="" if beside is None else entry_page(beside),
        floors=tuple((floor.declared, floor_words(floor)) for floor in cell.floors),
        blame=lane_blame(report.name, cell) if cell.is_broken else "",
    )


def _beside(cell: LaneCell, place: str) -> str:
    return f"{place}, which works in part" if cell.in_part else place
