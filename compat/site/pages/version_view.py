"""The `site` room's page of one version of Python or of a package beside the subject: what works
with it, what does not and why, and until when it is supported.
"""

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence

from packaging.version import Version

from compat.advise.request import Request, label
from compat.declare.matrix import Axis
from compat.policy.window import version_releases
from compat.results.answer import Answer
from compat.results.representative import representative
from compat.run.outcome import Failed
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.pages.advice_view import (
    Advice,
    Option,
    advice,
    answer_path,
    by_others,
    wants,
    without,
)
from compat.site.pages.causes_view import cause_anchor, obstacle_words
from compat.site.pages.place_view import View, entry_page
from compat.site.pages.question_view import QuestionForm, question
from compat.site.status import STYLES, StatusStyle, style_of
from compat.site.wording import cause_sentence, day, ranges

_MOST = 5


class Releases(View, frozen=True):
    """The releases of the subject that are in one state with this version: as ranges, or each with
    the page of its cell where it was tested.
    """

    style: StatusStyle
    versions: str
    tested: tuple[tuple[str, str], ...]


class Reason(View, frozen=True):
    """Why cells with this version do not work: a sentence, how many, and where the causes page has
    it.
    """

    sentence: str
    count: int
    anchor: str


class Sibling(View, frozen=True):
    """A version of the same axis, and its page."""

    label: str
    path: str
    is_here: bool


class VersionPage(View, frozen=True):
    """All that is known of one version; `without` says why nothing works with it."""

    label: str
    subject: str
    question: QuestionForm
    advice: Advice
    without: str
    support: tuple[str, ...]
    beside: tuple[tuple[str, tuple[Option, ...]], ...]
    releases: tuple[Releases, ...]
    failures: tuple[Reason, ...]
    ruled_out: tuple[Reason, ...]
    siblings: tuple[Sibling, ...]


def version_axes(report: MatrixReport) -> Iterator[tuple[Axis, Version]]:
    """Yield each version that has such a page: those of every axis but the subject's, whose pages
    are those of its releases.
    """
    for axis in report.snapshot.matrix.axes:
        if axis.name != report.snapshot.matrix.subject:
            for version in report.advisor.ranks.positions[axis.name]:
                yield axis, version


def version_page(
    edition: Edition, report: MatrixReport, axis: Axis, version: Version
) -> VersionPage:
    coordinates = {axis.name: version}
    entries = report.entries_at(coordinates)
    answer = advice(edition, report, Request(wants=wants(report, coordinates)))
    return VersionPage(
        label=f"{label(axis)} {version}",
        subject=report.snapshot.matrix.subject_axis.package,
        question=question(report, coordinates),
        advice=answer,
        without="" if answer.proven else without(report, coordinates),
        support=tuple(_support(report, axis, version)),
        beside=by_others(edition, report, coordinates),
        releases=tuple(_releases(report, entries)),
        failures=tuple(_failures(entries)),
        ruled_out=tuple(_ruled_out(entries)),
        siblings=tuple(
            Sibling(
                label=str(other),
                path=answer_path(report, {axis.name: other}),
                is_here=other == version,
            )
            for other in reversed(report.advisor.ranks.positions[axis.name])
        ),
    )


def _support(report: MatrixReport, axis: Axis, version: Version) -> Iterator[str]:
    snapshot = report.snapshot
    today = snapshot.day
    releases = snapshot.once(
        ("version-releases", axis.name), lambda: version_releases(axis, snapshot.catalogue)
    )
    for release in releases:
        if release.version == version:
            yield f"Released on {day(release.released)}."
            yield (
                "Upstream names no end of support."
                if release.ends is None
                else f"Upstream support {_ends(release.ends, today)} on {day(release.ends)}."
            )
    for bar in report.schedule.bars:
        if (bar.axis, bar.version) != (axis.name, version):
            continue
        if bar.until is not None:
            yield f"Its window in this matrix {_ends(bar.until, today)} on {day(bar.until)}."
        if bar.is_floor:
            yield "It is the minimum version of this matrix now."


def _ends(date: datetime.date, today: datetime.date) -> str:
    return "ended" if date < today else "ends"


def _releases(report: MatrixReport, entries: Sequence[Answer]) -> Iterator[Releases]:
    subject = report.snapshot.matrix.subject
    by_release: dict[Version, list[Answer]] = {}
    for entry in entries:
        by_release.setdefault(entry.cell.on(subject).version, []).append(entry)
    every = sorted(by_release)
    by_style: dict[str, list[tuple[Version, Answer]]] = {}
    for version in every:
        best = representative(by_release[version])
        style = style_of(best, report.places[place_of(best.cell)])
        by_style.setdefault(style.css, []).append((version, best))
    for style in STYLES.values():
        shown = by_style.get(style.css, [])
        if shown:
            yield Releases(
                style=style,
                versions=ranges(
                    [str(version) for version, _ in shown], [str(version) for version in every]
                ),
                tested=tuple(
                    (str(version), entry_page(best))
                    for version, best in reversed(shown)
                    if best.is_tested
                ),
            )


def _failures(entries: Sequence[Answer]) -> Iterator[Reason]:
    outcomes = [
        entry.verdict.outcome
        for entry in entries
        if entry.is_tested and isinstance(entry.verdict.outcome, Failed)
    ]
    anchors = Counter((cause_anchor(outcome), cause_sentence(outcome)) for outcome in outcomes)
    for (anchor, sentence), number in anchors.most_common(_MOST):
        yield Reason(sentence=sentence, count=number, anchor=anchor)


def _ruled_out(entries: Sequence[Answer]) -> Iterator[Reason]:
    kinds = Counter(
        entry.obstacle.kind
        for entry in entries
        if entry.obstacle is not None and not entry.is_tested
    )
    for kind, number in kinds.most_common(_MOST):
        yield Reason(sentence=obstacle_words(kind), count=number, anchor="out")
