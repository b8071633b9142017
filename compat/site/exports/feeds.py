"""The `site` room's feeds: what happened, as Atom (RFC 4287); nothing that is still to come.

Written with the standard library: feedgen, the best known package that writes Atom, brings lxml
along and adds elements of its own, for the twelve that stand here. An entry's id names what
happened, so it is never used again.
"""

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree

from packaging.utils import canonicalize_name

from compat.advise.request import label
from compat.index.select import selected
from compat.policy.proposal import Proposal
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import fit, moment, written
from compat.site.history import Event
from compat.site.paths import cell_page, feed_entry, feed_path, page, segment
from compat.site.wording import cause_sentence, day, listed, place_words
from compat.value import Value

ATOM = "http://www.w3.org/2005/Atom"
MOST_ENTRIES = 100
_TITLES = {
    "all": "everything that happened",
    "regressions": "what ceased to work",
    "releases": "new releases",
    "proposals": "proposed minimum versions",
    "health": "whether the records are renewed",
}


class Happening(Value, frozen=True, kw_only=True):
    """Something that happened: the feeds that tell of it, a name that nothing else will ever have,
    and the words.
    """

    feeds: tuple[str, ...]
    name: str
    moment: datetime.datetime
    title: str
    text: str
    path: str


def feeds(edition: Edition) -> Iterator[SiteFile]:
    """Yield the feeds of every matrix."""
    for report in edition.reports:
        found = sorted(happenings(report), key=lambda one: (-one.moment.timestamp(), one.name))
        for name in _TITLES:
            entries = [one for one in found if name == "all" or name in one.feeds]
            yield SiteFile(
                path=feed_path(report.name, name),
                content=atom(edition, report, name, entries[:MOST_ENTRIES]),
            )


def happenings(report: MatrixReport) -> Iterator[Happening]:
    """Yield what happened up to the report's day and may stand in a feed, in no order."""
    yield from (_change(report, event) for event in _telling(report.events))
    yield from _releases(report)
    yield from (_proposal(report, one) for one in report.proposals if one.is_open)
    yield from _silence(report)


def _telling(events: Sequence[Event]) -> tuple[Event, ...]:
    """The newest changes and the newest regressions, as many as feeds hold; events come the newest
    first.
    """
    regressed = [event for event in events[MOST_ENTRIES:] if event.change.kind == "regressed"]
    return (*events[:MOST_ENTRIES], *regressed[:MOST_ENTRIES])


def atom(edition: Edition, report: MatrixReport, name: str, entries: Iterable[Happening]) -> bytes:
    """Return a feed as a document; it was last updated when its newest entry happened."""
    shown, url = list(entries), edition.url(feed_path(report.name, name))
    root = ElementTree.Element("feed", xmlns=ATOM)
    _say(root, "id", url)
    _say(root, "title", f"{report.snapshot.matrix.title}: {_TITLES[name]}")
    _say(
        root,
        "updated",
        _stamp(max((one.moment for one in shown), default=moment(datetime.date(2000, 1, 1)))),
    )
    ElementTree.SubElement(root, "link", rel="self", type="application/atom+xml", href=fit(url))
    ElementTree.SubElement(
        root, "link", rel="alternate", type="text/html", href=fit(edition.url(page(report.name)))
    )
    _say(ElementTree.SubElement(root, "author"), "name", "compat")
    for one in shown:
        _entry(root, edition, report, one)
    return written(root)


def _entry(
    root: ElementTree.Element, edition: Edition, report: MatrixReport, one: Happening
) -> None:
    entry, url = ElementTree.SubElement(root, "entry"), edition.url(one.path)
    _say(entry, "id", edition.url(feed_entry(report.name, one.name)))
    _say(entry, "title", one.title)
    _say(entry, "updated", _stamp(one.moment))
    _say(entry, "published", _stamp(one.moment))
    ElementTree.SubElement(entry, "link", rel="alternate", type="text/html", href=fit(url))
    _say(entry, "content", one.text).set("type", "text")


def _say(parent: ElementTree.Element, name: str, text: str) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, name)
    element.text = fit(text)
    return element


def _stamp(when: datetime.datetime) -> str:
    return (
        when.astimezone(datetime.timezone.utc)
        .isoformat(timespec="microseconds")
        .replace("+00:00", "Z")
    )


def _change(report: MatrixReport, event: Event) -> Happening:
    change, cell = event.change, event.entry.cell
    before = "" if change.before in (None, "unknown") else f", was {change.before}"
    place, outcome = place_words(cell, report.snapshot.matrix), event.verdict.outcome
    lines = [
        f"Cell {cell.id}.",
        "" if outcome is None else f"{outcome}. {cause_sentence(outcome)}",
        f"Ceased to work: {listed(change.lost)}." if change.lost else "",
        f"Works now: {listed(change.gained)}." if change.gained else "",
        f"The {' and the '.join(event.beside)} had changed, too." if event.beside else "",
    ]
    return Happening(
        feeds=("regressions",) if change.kind == "regressed" else (),
        name=f"cell-{cell.id}-{_stamp(event.moment)}-{_short(change.kind, str(outcome))}",
        moment=event.moment,
        title=f"{change.after}{before}: {place} ({cell.recipe})",
        text=" ".join(line for line in lines if line),
        path=cell_page(cell),
    )


def _releases(report: MatrixReport) -> Iterator[Happening]:
    snapshot = report.snapshot
    for axis in snapshot.matrix.packages:
        for release in selected(
            axis.select, snapshot.catalogue.package(canonicalize_name(axis.package))
        ):
            if release.uploaded is None or release.uploaded.date() > snapshot.day:
                continue
            is_subject = axis.name == snapshot.matrix.subject
            yield Happening(
                feeds=("releases",),
                name=f"release-{axis.name}-{segment(str(release.version))}",
                moment=release.uploaded,
                title=f"{label(axis)} {release.version} came out",
                text=f"{label(axis)} {release.version} came out on {day(release.uploaded.date())}.",
                path=(
                    page(report.name, "release", str(release.version))
                    if is_subject
                    else page(report.name, "grid")
                ),
            )


def _proposal(report: MatrixReport, one: Proposal) -> Happening:
    """A proposal happened when the newest run that it rests on did."""
    days = [
        proof.latest
        for proof in one.evidence
        if proof.latest is not None and proof.latest <= report.snapshot.day
    ]
    return Happening(
        feeds=("proposals",),
        name=f"proposal-{one.id}-{one.digest[:16]}",
        moment=moment(max(days, default=report.snapshot.day)),
        title=f"proposed: {one.package} {one.current} to {one.proposed} as the minimum",
        text=f"{one.because}. {' '.join(one.grounds)}",
        path=page(report.name, "proposals"),
    )


def _silence(report: MatrixReport) -> Iterator[Happening]:
    """That nothing ran for so long that every verdict is stale; it happened on the first such
    day.
    """
    tested = [
        entry.verdict.latest for entry in report.snapshot.known if entry.verdict.latest is not None
    ]
    if not tested:
        return
    since = max(tested) + datetime.timedelta(days=report.snapshot.present.fresh_days + 1)
    if since <= report.snapshot.day:
        yield Happening(
            feeds=("health",),
            name=f"stale-{since}",
            moment=moment(since),
            title="every verdict is stale: nothing runs what is due",
            text=f"The newest run that counts was on {day(max(tested))}.",
            path=page(report.name, "reliability"),
        )


def _short(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:12]
