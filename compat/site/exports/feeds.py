"""The `site` room's feeds: what happened, as Atom (RFC 4287); nothing that is still to come.

Written with the standard library: feedgen, the best known package that writes Atom, brings lxml
along and adds elements of its own, for the twelve that stand here. An entry's id names what
happened, so it is never used again.
"""

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree

from compat.advise.request import label
from compat.policy.proposal import Proposal
from compat.site.edition import Edition, MatrixReport, SiteFile, cell_page, page, segment
from compat.site.encode import fit, moment, written
from compat.site.history import Event
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
    for volume in edition.volumes:
        found = sorted(happenings(volume), key=lambda one: (-one.moment.timestamp(), one.name))
        for name in _TITLES:
            entries = [one for one in found if name == "all" or name in one.feeds]
            yield SiteFile(
                path=feed_path(volume.name, name),
                content=atom(edition, volume, name, entries[:MOST_ENTRIES]),
            )


def feed_path(matrix: str, name: str) -> str:
    """Return the path of a feed."""
    return f"feed/{segment(matrix)}/{name}.atom"


def happenings(volume: MatrixReport) -> Iterator[Happening]:
    """Yield what happened up to the volume's day and may stand in a feed, in no order."""
    yield from (_change(volume, event) for event in _telling(volume.events))
    yield from _releases(volume)
    yield from (_proposal(volume, one) for one in volume.proposals if one.is_open)
    yield from _silence(volume)


def _telling(events: Sequence[Event]) -> tuple[Event, ...]:
    """The newest changes and the newest regressions, as many as feeds hold; events come the newest
    first.
    """
    regressed = [event for event in events[MOST_ENTRIES:] if event.change.kind == "regressed"]
    return (*events[:MOST_ENTRIES], *regressed[:MOST_ENTRIES])


def atom(edition: Edition, volume: MatrixReport, name: str, entries: Iterable[Happening]) -> bytes:
    """Return a feed as a document; it was last updated when its newest entry happened."""
    shown, url = list(entries), edition.url(feed_path(volume.name, name))
    root = ElementTree.Element("feed", xmlns=ATOM)
    _say(root, "id", url)
    _say(root, "title", f"{volume.picture.matrix.title}: {_TITLES[name]}")
    _say(
        root,
        "updated",
        _stamp(max((one.moment for one in shown), default=moment(datetime.date(2000, 1, 1)))),
    )
    ElementTree.SubElement(root, "link", rel="self", type="application/atom+xml", href=fit(url))
    ElementTree.SubElement(
        root, "link", rel="alternate", type="text/html", href=fit(edition.url(page(volume.name)))
    )
    _say(ElementTree.SubElement(root, "author"), "name", "compat")
    for one in shown:
        _entry(root, edition, volume, one)
    return written(root)


def _entry(
    root: ElementTree.Element, edition: Edition, volume: MatrixReport, one: Happening
) -> None:
    entry, url = ElementTree.SubElement(root, "entry"), edition.url(one.path)
    _say(entry, "id", f"{edition.base_url}feed/{segment(volume.name)}/#{one.name}")
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


def _change(volume: MatrixReport, event: Event) -> Happening:
    change, cell = event.change, event.entry.cell
    before = "" if change.before in (None, "unknown") else f", was {change.before}"
    outcome = event.verdict.outcome
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
        title=f"{change.after}{before}: {place_words(cell, volume.picture.matrix)} ({cell.recipe})",
        text=" ".join(line for line in lines if line),
        path=cell_page(cell),
    )


def _releases(volume: MatrixReport) -> Iterator[Happening]:
    picture = volume.picture
    for axis in picture.matrix.packages:
        for release in picture.catalogue.of(axis).selected(axis.select):
            if release.uploaded is None or release.uploaded.date() > picture.day:
                continue
            is_subject = axis.name == picture.matrix.subject
            yield Happening(
                feeds=("releases",),
                name=f"release-{axis.name}-{segment(str(release.version))}",
                moment=release.uploaded,
                title=f"{label(axis)} {release.version} came out",
                text=f"{label(axis)} {release.version} came out on {day(release.uploaded.date())}.",
                path=(
                    page(volume.name, "release", str(release.version))
                    if is_subject
                    else page(volume.name, "grid")
                ),
            )


def _proposal(volume: MatrixReport, one: Proposal) -> Happening:
    """A proposal happened when the newest run that it rests on did."""
    days = [
        proof.latest
        for proof in one.evidence
        if proof.latest is not None and proof.latest <= volume.picture.day
    ]
    return Happening(
        feeds=("proposals",),
        name=f"proposal-{one.id}-{one.digest[:16]}",
        moment=moment(max(days, default=volume.picture.day)),
        title=f"proposed: {one.package} {one.current} to {one.proposed} as the minimum",
        text=f"{one.because}. {' '.join(one.grounds)}",
        path=page(volume.name, "proposals"),
    )


def _silence(volume: MatrixReport) -> Iterator[Happening]:
    """That nothing ran for so long that every verdict is stale; it happened on the first such
    day.
    """
    tested = [
        entry.verdict.latest for entry in volume.picture.known if entry.verdict.latest is not None
    ]
    if not tested:
        return
    since = max(tested) + datetime.timedelta(days=volume.picture.present.fresh_days + 1)
    if since <= volume.picture.day:
        yield Happening(
            feeds=("health",),
            name=f"stale-{since}",
            moment=moment(since),
            title="every verdict is stale: nothing runs what is due",
            text=f"The newest run that counts was on {day(max(tested))}.",
            path=page(volume.name, "reliability"),
        )


def _short(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:12]
