"""The `site` room's feeds: past events as Atom (RFC 4287); calendars have what is still to come.

Written with the standard library: feedgen, the best known package that writes Atom, needs
lxml, and adds elements that these feeds have no use for. An entry's id names what
happened, so it is never used again.
"""

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree

from compat.advise.request import label
from compat.policy.proposal import Proposal
from compat.results.answer import Answer
from compat.site.edition import Edition, MatrixReport, SiteFile, place_of
from compat.site.encode import fit, moment, written
from compat.site.history import Event
from compat.site.paths import cell_page, feed_entry_id, feed_path, page, segment
from compat.site.status import style_then
from compat.site.wording import cause_sentence, day, listed, place_words, plain_dates
from compat.value import Value

ATOM = "http://www.w3.org/2005/Atom"
MOST_ENTRIES = 100
FEED_TITLES = {
    "all": "all events",
    "regressions": "regressions",
    "releases": "new releases",
    "proposals": "proposed minimum versions",
    "health": "whether tests still run",
}


class FeedEntry(Value, frozen=True, kw_only=True):
    """An event: the feeds that have it besides `all`, a name that no other event will ever have,
    and its text.
    """

    feeds: tuple[str, ...]
    name: str
    moment: datetime.datetime
    title: str
    text: str
    path: str


def feeds(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        past = sorted(
            feed_entries(report), key=lambda entry: (-entry.moment.timestamp(), entry.name)
        )
        for name in FEED_TITLES:
            entries = [entry for entry in past if name == "all" or name in entry.feeds]
            yield SiteFile(
                path=feed_path(report.name, name),
                content=atom(edition, report, name, entries[:MOST_ENTRIES]),
            )


def feed_entries(report: MatrixReport) -> Iterator[FeedEntry]:
    yield from (_change(report, event) for event in _newest(report.events))
    yield from _releases(report)
    yield from (_proposal(report, proposal) for proposal in report.proposals if proposal.is_open)
    yield from _silence(report)


def _newest(events: Sequence[Event]) -> tuple[Event, ...]:
    """The newest changes and the newest regressions, as many as feeds hold; events come the newest
    first.
    """
    regressed = [event for event in events[MOST_ENTRIES:] if event.change.kind == "regressed"]
    return (*events[:MOST_ENTRIES], *regressed[:MOST_ENTRIES])


def atom(edition: Edition, report: MatrixReport, name: str, entries: Iterable[FeedEntry]) -> bytes:
    """Return a feed as a document; it was last updated when its newest entry happened."""
    shown, url = list(entries), edition.url(feed_path(report.name, name))
    root = ElementTree.Element("feed", xmlns=ATOM)
    _text(root, "id", url)
    _text(root, "title", f"{report.snapshot.matrix.title}: {FEED_TITLES[name]}")
    _text(
        root,
        "updated",
        _stamp(max((entry.moment for entry in shown), default=moment(datetime.date(2000, 1, 1)))),
    )
    ElementTree.SubElement(root, "link", rel="self", type="application/atom+xml", href=fit(url))
    ElementTree.SubElement(
        root, "link", rel="alternate", type="text/html", href=fit(edition.url(page(report.name)))
    )
    _text(ElementTree.SubElement(root, "author"), "name", "compat")
    for entry in shown:
        _add(root, edition, report, entry)
    return written(root)


def _add(
    root: ElementTree.Element, edition: Edition, report: MatrixReport, entry: FeedEntry
) -> None:
    element, url = ElementTree.SubElement(root, "entry"), edition.url(entry.path)
    _text(element, "id", edition.url(feed_entry_id(report.name, entry.name)))
    _text(element, "title", entry.title)
    _text(element, "updated", _stamp(entry.moment))
    _text(element, "published", _stamp(entry.moment))
    ElementTree.SubElement(element, "link", rel="alternate", type="text/html", href=fit(url))
    _text(element, "content", entry.text).set("type", "text")


def _text(parent: ElementTree.Element, name: str, text: str) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, name)
    element.text = fit(text)
    return element


def _stamp(when: datetime.datetime) -> str:
    return (
        when.astimezone(datetime.timezone.utc)
        .isoformat(timespec="microseconds")
        .replace("+00:00", "Z")
    )


def _change(report: MatrixReport, event: Event) -> FeedEntry:
    change, cell = event.change, event.entry.cell
    was = "" if change.before in (None, "unknown") else _word(report, event, event.before)
    before = f"; was: {was}" if was else ""
    score = event.verdict.score.words
    place, outcome = place_words(cell, report.snapshot.matrix), event.verdict.outcome
    lines = [
        f"Cell {cell.id}.",
        "" if outcome is None else f"{outcome}. {cause_sentence(outcome)}",
        f"{score[0].upper()}{score[1:]}." if score else "",
        f"Works no longer: {listed(change.lost)}." if change.lost else "",
        f"Works now: {listed(change.gained)}." if change.gained else "",
        f"The {' and the '.join(event.beside)} also changed." if event.beside else "",
    ]
    return FeedEntry(
        feeds=("regressions",) if change.kind == "regressed" else (),
        name=f"cell-{cell.id}-{_stamp(event.moment)}-{_short(change.kind, str(outcome))}",
        moment=event.moment,
        title=f"{_word(report, event, event.verdict)}{before}: {place} ({cell.recipe})",
        text=plain_dates(" ".join(line for line in lines if line)),
        path=cell_page(cell),
    )


def _word(report: MatrixReport, event: Event, verdict: Answer) -> str:
    return style_then(event.entry, verdict, report.places[place_of(event.entry.cell)]).word


def _releases(report: MatrixReport) -> Iterator[FeedEntry]:
    snapshot = report.snapshot
    for axis in snapshot.matrix.packages:
        for release in snapshot.catalogue.of(axis).selected(axis.select):
            if release.uploaded is None or release.uploaded.date() > snapshot.day:
                continue
            is_subject = axis.name == snapshot.matrix.subject
            yield FeedEntry(
                feeds=("releases",),
                name=f"release-{axis.name}-{segment(str(release.version))}",
                moment=release.uploaded,
                title=f"{label(axis)} {release.version} released",
                text=(
                    f"{label(axis)} {release.version} was released on"
                    f" {day(release.uploaded.date())}."
                ),
                path=(
                    page(report.name, "release", str(release.version))
                    if is_subject
                    else page(report.name, "grid")
                ),
            )


def _proposal(report: MatrixReport, proposal: Proposal) -> FeedEntry:
    days = [
        proof.latest
        for proof in proposal.evidence
        if proof.latest is not None and proof.latest <= report.snapshot.day
    ]
    return FeedEntry(
        feeds=("proposals",),
        name=f"proposal-{proposal.id}-{proposal.digest[:16]}",
        moment=moment(max(days, default=report.snapshot.day)),
        title=(
            f"proposed: {proposal.package} {proposal.proposed} as a further version of the matrix"
            if proposal.kind == "extend"
            else f"proposed: {proposal.package} {proposal.proposed} as the minimum instead of"
            f" {proposal.current}"
        ),
        text=plain_dates(f"{proposal.because}. {' '.join(proposal.grounds)}"),
        path=page(report.name, "roadmap"),
    )


def _silence(report: MatrixReport) -> Iterator[FeedEntry]:
    tested = [entry.latest for entry in report.snapshot.known if entry.latest is not None]
    if not tested:
        return
    since = max(tested) + datetime.timedelta(days=report.snapshot.present.fresh_days + 1)
    if since <= report.snapshot.day:
        yield FeedEntry(
            feeds=("health",),
            name=f"stale-{since}",
            moment=moment(since),
            title="every result is out of date: no test runs any more",
            text=f"The newest run that counts was on {day(max(tested))}.",
            path=page(report.name, "reliability"),
        )


def _short(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:12]
