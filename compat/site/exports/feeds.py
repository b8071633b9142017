"""The `site` room's feed of past events as Atom (RFC 4287), and calendar of the coming moves of
floors as iCalendar (RFC 5545). No clock is read: the same edition gives the same text.
"""

import datetime
import hashlib
import re
from collections.abc import Iterator

from compat.advise.request import label
from compat.github.markdown import plain
from compat.policy.calendar import Schedule, ScheduledMove
from compat.policy.proposal import Proposal
from compat.results.answer import Answer
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import moment, rendered
from compat.site.history import Event
from compat.site.paths import cell_page, export_path, page, segment
from compat.site.status import style_then
from compat.site.wording import cause_sentence, day, listed, place_words, plain_dates
from compat.value import Value

MOST_ENTRIES = 100


class FeedEntry(Value, frozen=True, kw_only=True):
    """An event: its category, a name that no other event will ever have, and its text."""

    category: str
    name: str
    moment: datetime.datetime
    title: str
    text: str
    path: str


def feeds(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        past = sorted(feed_entries(report), key=lambda one: (-one.moment.timestamp(), one.name))
        updated = max((entry.moment for entry in past), default=moment(datetime.date(2000, 1, 1)))
        shown = {"entries": past[:MOST_ENTRIES], "updated": updated, "stamp": _stamp}
        content = rendered("feed.atom", edition=edition, report=report, **shown)
        yield SiteFile(path=export_path("feed", report.name), content=content)


def feed_entries(report: MatrixReport) -> Iterator[FeedEntry]:
    yield from (_change(report, event) for event in report.events[:MOST_ENTRIES])
    yield from _releases(report)
    yield from (_proposal(report, proposal) for proposal in report.proposals if proposal.is_open)
    newest = report.run_days[-1] if report.run_days else report.snapshot.day
    since = newest + datetime.timedelta(days=report.snapshot.present.fresh_days + 1)
    if since <= report.snapshot.day:
        yield FeedEntry(
            category="health",
            name=f"stale-{since}",
            moment=moment(since),
            title="every result is out of date: no test runs any more",
            text=f"The newest run that counts was on {day(newest)}.",
            path=page(report.name, "reliability"),
        )


def _stamp(when: datetime.datetime) -> str:
    return f"{when.astimezone(datetime.timezone.utc):%Y-%m-%dT%H:%M:%S.%fZ}"


def _change(report: MatrixReport, event: Event) -> FeedEntry:
    change, cell = event.change, event.entry.cell
    was = "" if change.before in (None, "unknown") else _word(report, event, event.before)
    before = f"; was: {was}" if was else ""
    score = event.verdict.score.words
    place, outcome = place_words(cell, report.snapshot.matrix), event.verdict.outcome
    known = f"{change.kind}\0{outcome}".encode(errors="surrogatepass")
    lines = [
        f"Cell {cell.id}.",
        "" if outcome is None else f"{outcome}. {cause_sentence(outcome)}",
        f"{score[0].upper()}{score[1:]}." if score else "",
        f"Works no longer: {listed(change.lost)}." if change.lost else "",
        f"Works now: {listed(change.gained)}." if change.gained else "",
        f"The {' and the '.join(event.beside)} also changed." if event.beside else "",
    ]
    return FeedEntry(
        category="regressions" if change.kind == "regressed" else "changes",
        name=f"cell-{cell.id}-{_stamp(event.moment)}-{hashlib.sha256(known).hexdigest()[:12]}",
        moment=event.moment,
        title=f"{_word(report, event, event.verdict)}{before}: {place} ({cell.recipe})",
        text=plain_dates(" ".join(line for line in lines if line)),
        path=cell_page(cell),
    )


def _word(report: MatrixReport, event: Event, verdict: Answer) -> str:
    return style_then(event.entry, verdict, report.siblings(event.entry)).word


def _releases(report: MatrixReport) -> Iterator[FeedEntry]:
    snapshot = report.snapshot
    for axis in snapshot.matrix.packages:
        for release in snapshot.catalogue.of(axis).selected(axis.select):
            if release.uploaded is None or release.uploaded.date() > snapshot.day:
                continue
            what, is_subject = (
                f"{label(axis)} {release.version}",
                axis is snapshot.matrix.subject_axis,
            )
            place = ("release", str(release.version)) if is_subject else ("grid",)
            yield FeedEntry(
                category="releases",
                name=f"release-{axis.name}-{segment(str(release.version))}",
                moment=release.uploaded,
                title=f"{what} released",
                text=f"{what} was released on {day(release.uploaded.date())}.",
                path=page(report.name, *place),
            )


def _proposal(report: MatrixReport, proposal: Proposal) -> FeedEntry:
    today, latest = report.snapshot.day, [proof.latest for proof in proposal.evidence]
    days = [day for day in latest if day is not None and day <= today]
    return FeedEntry(
        category="proposals",
        name=f"proposal-{proposal.id}-{proposal.digest[:16]}",
        moment=moment(max(days, default=today)),
        title=(
            f"proposed: {proposal.package} {proposal.proposed} as a further version of the matrix"
            if proposal.kind == "extend"
            else f"proposed: {proposal.package} {proposal.proposed} as the minimum instead of"
            f" {proposal.current}"
        ),
        text=plain_dates(f"{proposal.because}. {' '.join(proposal.grounds)}"),
        path=page(report.name, "roadmap"),
    )


def calendars(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        text = ical(report.schedule)
        yield SiteFile(path=export_path("calendar", report.name), content=text.encode())


def ical(schedule: Schedule) -> str:
    text = rendered(
        "calendar.ics",
        schedule=schedule,
        described=_described,
        day=datetime.timedelta(days=1),
        plain=plain,
        escaped=_escaped,
    )
    return "".join(f"{_folded(line)}\r\n" for line in text.decode().split("\n")[:-1])


def _described(schedule: Schedule, move: ScheduledMove) -> str:
    released = "is planned for" if move.released > schedule.day else "was released on"
    lines = (
        f"With the {move.wording} the minimum may rise from {move.package} {move.before} to"
        f" {move.to}.",
        f"Rule: {move.rule}. {move.package} {move.to} {released} {move.released} ({move.source}).",
        f"Evidence: {move.proof}.",
        *((f"Hold: {move.held}",) if move.held else ()),
    )
    return "\n".join(plain(plain_dates(line), limit=1000) for line in lines)


def _escaped(text: str) -> str:
    text = re.sub(r"([\\;,])", r"\\\1", text)
    return re.sub(r"\r\n|[\r\n]", r"\\n", text)


def _folded(line: str) -> str:
    # A line has at most 75 octets (RFC 5545, 3.1), and none of its characters is cut.
    folded, octets = "", 0
    for character in line:
        size = len(character.encode())
        if octets + size > 75:
            folded, octets = f"{folded}\r\n ", 1
        folded, octets = folded + character, octets + size
    return folded
