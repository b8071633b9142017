"""The `site` room's platforms: the page of all releases, and a release's own section."""

from collections.abc import Sequence

from compat.declare.platforms import own_name
from compat.results.plain_installs import PLAIN_STATES, PlainState, plain_installs
from compat.results.platform_installs import OnPlatform, on_platforms, platform_causes
from compat.site.edition import MatrixReport
from compat.site.pages.place_view import View
from compat.site.paths import api_path, page
from compat.site.plain_words import PLAIN_STYLES, PlainStyle
from compat.site.platform_words import (
    PLATFORM_STYLES,
    evidence_words,
    installable_words,
    platform_reason,
    platform_title,
)
from compat.site.wording import listed, ranges

# Of a release's Pythons the one counts where it comes farthest.
_OUT: tuple[PlainState, ...] = ("ruled-out", "not-admitted")
_OWN_ORDER = (*(state for state in PLAIN_STATES if state not in _OUT), *_OUT)


class PlatformRow(View, frozen=True):
    """What a release comes to on a platform, on the Pythons where it comes to its best."""

    title: str
    pythons: str
    style: PlainStyle
    reason: str
    evidence: str


class PlatformReason(View, frozen=True):
    """An answer with all plain installs that came to it, by Python as ranges of releases; with
    `is_example` the reason is that of the newest alone.
    """

    style: PlainStyle
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


class PlatformLine(View, frozen=True):
    """Neighbouring releases with the same answers, newest first: the best of each platform."""

    words: str
    path: str
    answers: tuple[PlainStyle, ...]


class PlatformsPage(View, frozen=True):
    """All platforms: the table of releases, and each platform by itself; `own` is the one that
    cells run on, the first column.
    """

    package: str
    own: str
    titles: tuple[str, ...]
    rows: tuple[PlatformLine, ...]
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
        rows=tuple(_lines(report, releases)),
        parts=_parts(report, releases),
        plain=page(report.name, "plain"),
        data=api_path(report.name, "platform-installs"),
    )


def platform_rows(report: MatrixReport, release: str) -> tuple[PlatformRow, ...]:
    own = (i for i in report.snapshot.platform_installs if i.release == release)
    return tuple(map(_row, on_platforms(own)))


def _row(best: OnPlatform) -> PlatformRow:
    return PlatformRow(
        title=platform_title(best.platform),
        pythons=listed(best.pythons),
        style=PLATFORM_STYLES[best.state],
        reason=platform_reason(best.install),
        evidence=evidence_words(best.install),
    )


def _parts(report: MatrixReport, releases: Sequence[str]) -> tuple[PlatformPart, ...]:
    matrix, installs = report.snapshot.matrix, report.snapshot.platform_installs
    causes = platform_causes(installs)
    return tuple(
        PlatformPart(
            id=name,
            title=platform_title(name),
            sentence=installable_words(installs, name, matrix.subject_axis.package),
            causes=tuple(
                PlatformReason(
                    style=PLATFORM_STYLES[cause.state],
                    reason=platform_reason(cause.example),
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


def _lines(report: MatrixReport, releases: Sequence[str]) -> list[PlatformLine]:
    """The releases, newest first, neighbours with the same answers in one line."""
    own: dict[str, int] = {}
    for install in plain_installs(report.snapshot):
        rank = _OWN_ORDER.index(install.state)
        own[install.release] = min(rank, own.get(install.release, rank))
    best = {(r.release, r.platform): r for r in on_platforms(report.snapshot.platform_installs)}
    groups: list[tuple[list[str], tuple[PlainStyle, ...]]] = []
    for release in reversed(releases):
        answers = (
            PLAIN_STYLES[_OWN_ORDER[own[release]]],
            *(
                PLATFORM_STYLES[best[release, name].state]
                for name in report.snapshot.matrix.platforms
            ),
        )
        if groups and groups[-1][1] == answers:
            groups[-1][0].append(release)
        else:
            groups.append(([release], answers))
    return [
        PlatformLine(
            words=ranges(alike, releases),
            path=page(report.name, "release", alike[0]),
            answers=answers,
        )
        for alike, answers in groups
    ]
