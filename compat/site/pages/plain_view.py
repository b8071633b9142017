"""The `site` room's plain installs: a release's own section, and the page of all releases."""

import datetime
from collections.abc import Sequence

from packaging.version import Version

from compat.advise.commands import commands
from compat.results.plain_installs import (
    PLAIN_STATES,
    PlainCause,
    PlainInstall,
    plain_causes,
    plain_installs,
)
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.exports.lock_files import whereabouts
from compat.site.pages.place_view import View
from compat.site.paths import api_path, cell_page, page
from compat.site.plain_words import (
    PLAIN_STYLES,
    PlainStyle,
    plain_command,
    plain_reason,
    plain_subject,
    works_instead,
)
from compat.site.status import StatusStyle, style_of
from compat.site.wording import listed, ranges


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
    style: PlainStyle
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

    style: PlainStyle
    reason: str
    outcome: str
    example: str
    first: datetime.date | None
    last: datetime.date | None
    count: int
    releases: tuple[tuple[str, str], ...]


class PlainCell(View, frozen=True):
    """A field of the table: how it is shown, and what a refusal is about."""

    style: PlainStyle
    subject: str


class ReleasesAlike(View, frozen=True):
    """Neighbouring releases with the same answers, newest first, each with its page; `words` names
    them.
    """

    words: str
    path: str
    answers: tuple[PlainCell, ...]


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
    alike: dict[tuple[object, ...], list[PlainInstall]] = {}
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
    answers = report.snapshot.plain
    days = [answers[i.cell].on for i in installs if i.cell in answers]
    return PlainPage(
        package=report.snapshot.matrix.subject_axis.package,
        pythons=tuple(pythons),
        causes=tuple(_cause(cause, releases) for cause in plain_causes(installs)),
        rows=tuple(_alike(report, installs, releases, pythons)),
        count=len(installs),
        asked=len(days),
        first=min(days, default=None),
        last=max(days, default=None),
        data=api_path(report.name, "plain-installs"),
    )


def _row(
    edition: Edition, report: MatrixReport, alike: Sequence[PlainInstall], pythons: Sequence[str]
) -> PlainRow:
    install = alike[0]
    others = ((same.python, _instead(edition, report, same)) for same in alike)
    return PlainRow(
        pythons=ranges((same.python for same in alike), pythons),
        style=PLAIN_STYLES[install.state],
        reason=_reason(install),
        on=install.on,
        is_run=install.ground == "run",
        witness=install.witness,
        instead=tuple((python, other) for python, other in others if other is not None),
    )


def _reason(install: PlainInstall) -> str:
    """Why, without the Python where that alone differs: it is named beside it."""
    return plain_reason(install).removesuffix(f", not {install.python}")


def _instead(edition: Edition, report: MatrixReport, install: PlainInstall) -> PlainInstead | None:
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


def _cause(cause: PlainCause, releases: Sequence[str]) -> CauseOfPlain:
    return CauseOfPlain(
        style=PLAIN_STYLES[cause.state],
        reason=plain_reason(cause),
        outcome=cause.outcome if "-fail:" in cause.outcome else "",
        example=cause.example,
        first=None if cause.on is None else cause.on[0],
        last=None if cause.on is None else cause.on[1],
        count=cause.count,
        releases=_by_python(cause, releases),
    )


def _by_python(cause: PlainCause, releases: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The Pythons with the same releases together: `3.9 and 3.10`, `0.63.0 to 0.87.0`."""
    pythons: dict[str, list[str]] = {}
    for python, versions in cause.releases.items():
        pythons.setdefault(ranges(versions, releases), []).append(python)
    return tuple((listed(alike), versions) for versions, alike in pythons.items())


def _alike(
    report: MatrixReport,
    installs: Sequence[PlainInstall],
    releases: Sequence[str],
    pythons: Sequence[str],
) -> list[ReleasesAlike]:
    """The releases, newest first, neighbours with the same answers in one row."""
    by_pair = {(install.release, install.python): install for install in installs}
    rows: list[tuple[list[str], tuple[PlainCell, ...]]] = []
    for release in reversed(releases):
        answers = tuple(_cell(by_pair[release, python]) for python in pythons)
        if rows and rows[-1][1] == answers:
            rows[-1][0].append(release)
        else:
            rows.append(([release], answers))
    return [
        ReleasesAlike(
            words=ranges(alike, releases),
            path=page(report.name, "release", alike[0]),
            answers=answers,
        )
        for alike, answers in rows
    ]


def _cell(install: PlainInstall) -> PlainCell:
    subject = plain_subject(install) if install.state in ("refused", "needs-build") else ""
    return PlainCell(style=PLAIN_STYLES[install.state], subject=subject)
