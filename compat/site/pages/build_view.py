"""The `site` room's page of what others can build on: badges, feeds, calendars, downloads, the API,
and the box that other pages show.
"""

from collections.abc import Iterator
from xml.etree import ElementTree

from markupsafe import Markup

from compat.advise.request import label
from compat.results.representative import representative
from compat.site.edition import Edition, MatrixReport
from compat.site.exports.badges import Badge, drawing, matrix_badges
from compat.site.exports.feeds import FEED_TITLES
from compat.site.pages.advice_view import best
from compat.site.pages.place_view import View
from compat.site.paths import (
    api_path,
    badge_path,
    calendar_path,
    card_path,
    download_path,
    embed_image,
    embed_path,
    feed_path,
    lock_file,
    page,
)
from compat.site.status import StatusStyle
from compat.site.wording import day

_MOST_PYTHONS = 5


class BadgeLine(View, frozen=True):
    """A badge: its picture, where it is, and the Markdown that shows it."""

    name: str
    picture: Markup
    words: str
    markdown: str
    json_url: str


class Offer(View, frozen=True):
    """A file that can be read: what it is, its path and its address."""

    words: str
    path: str
    url: str


class BuildSection(View, frozen=True):
    """What there is of one matrix."""

    name: str
    title: str
    badges: tuple[BadgeLine, ...]
    release_badges: tuple[BadgeLine, ...]
    feeds: tuple[Offer, ...]
    calendars: tuple[Offer, ...]
    downloads: tuple[Offer, ...]
    curls: tuple[tuple[str, str], ...]
    image: Offer
    frame: Offer
    image_markdown: str
    frame_html: str


class EmbedRow(View, frozen=True):
    """A Python, and the best that is tested with it in words."""

    python: str
    words: str
    style: StatusStyle
    path: str


class EmbedBox(View, frozen=True):
    """The box: the newest Pythons that something works with, and when it was tested."""

    title: str
    rows: tuple[EmbedRow, ...]
    tested: str
    home: str


def build_page(edition: Edition) -> tuple[BuildSection, ...]:
    return tuple(_section(edition, report) for report in edition.reports)


def embed_box(edition: Edition, report: MatrixReport) -> EmbedBox:
    latest = [
        entry.verdict.latest for entry in report.snapshot.known if entry.verdict.latest is not None
    ]
    return EmbedBox(
        title=f"{report.snapshot.matrix.title}: what works with what",
        rows=tuple(_embed_rows(edition, report))[:_MOST_PYTHONS],
        tested=f"Last tested on {day(max(latest))}" if latest else "Nothing was tested yet",
        home=page(report.name),
    )


def _embed_rows(edition: Edition, report: MatrixReport) -> Iterator[EmbedRow]:
    python = report.snapshot.matrix.interpreters.name
    for series in reversed(report.advisor.ranks.positions[python]):
        card = best(edition, report, {python: series})
        if card is not None:
            versions = ", ".join(
                f"{tile.label} {tile.version}" for tile in card.tiles if tile.label != "Python"
            )
            yield EmbedRow(
                python=str(series),
                words=f"{versions}: {card.style.word}",
                style=card.style,
                path=card.answer_path,
            )


def _section(edition: Edition, report: MatrixReport) -> BuildSection:
    name, title = report.name, report.snapshot.matrix.title
    badges = [_badge(edition, report, *named) for named in matrix_badges(report)]
    matrix = report.snapshot.matrix
    partners = [(axis.name, label(axis)) for axis in matrix.axes if axis.name != matrix.subject]
    home = edition.url(page(name))
    image = _offer(edition, "an image, for a README", embed_image(name))
    frame = _offer(edition, "a page, for a frame", embed_path(name))
    return BuildSection(
        name=name,
        title=title,
        badges=tuple(badge for badge in badges if not badge.name.startswith("release/")),
        release_badges=tuple(
            badge for badge in reversed(badges) if badge.name.startswith("release/")
        ),
        feeds=tuple(
            _offer(edition, words, feed_path(name, feed)) for feed, words in FEED_TITLES.items()
        ),
        calendars=tuple(
            _offer(edition, words, calendar_path(name, calendar))
            for calendar, words in (
                ("all", "all moves of minimum versions"),
                ("minimums", "the minimum versions by date"),
                *((partner, f"moves of {words}") for partner, words in partners),
            )
        ),
        downloads=(
            _offer(edition, "every known cell as CSV", download_path(name, "csv")),
            _offer(edition, "all runs as an SQLite database", download_path(name, "sqlite")),
            _offer(edition, "queries to begin with", download_path(name, "sql")),
            _offer(edition, "a picture for posts, PNG", card_path(name, "png")),
        ),
        curls=tuple(_curls(edition, report)),
        image=image,
        frame=frame,
        image_markdown=f"[![{title}: what works with what]({image.url})]({home})",
        frame_html=(
            f'<iframe src="{frame.url}" title="{title}: what works with what" width="440"'
            ' height="260" loading="lazy"></iframe>'
        ),
    )


def _badge(
    edition: Edition, report: MatrixReport, name: tuple[str, ...], badge: Badge
) -> BadgeLine:
    stem, words = badge_path(report.name, *name), f"{badge.label}: {badge.message}"
    drawn = ElementTree.tostring(drawing(badge, f"{stem.replace('/', '-')}-"), encoding="unicode")
    home, image = edition.url(page(report.name)), edition.url(f"{stem}.svg")
    alternative = words.translate({ord(sign): "" for sign in "[]\\`"})
    return BadgeLine(
        name="/".join(name),
        # The text in it went through ElementTree, which escapes it.
        picture=Markup(drawn),
        words=words,
        markdown=f"[![{alternative}]({image})]({home})",
        json_url=edition.url(f"{stem}.json"),
    )


def _offer(edition: Edition, words: str, path: str) -> Offer:
    return Offer(words=words, path=path, url=edition.url(path))


def _curls(edition: Edition, report: MatrixReport) -> Iterator[tuple[str, str]]:
    name = report.name
    yield "What there is", f"curl -sS {edition.url(api_path(name))}"
    yield "What to install", f"curl -sS {edition.url(api_path(name, 'advise'))}"
    yield "All cells", f"curl -sS {edition.url(api_path(name, 'cells'))}"
    tested = [entry for entry in report.snapshot.known if entry.is_tested]
    if tested:
        cell = representative(tested).cell.id
        yield "One cell", f"curl -sS {edition.url(api_path(name, 'cells', cell))}"
        yield "Its lock file", f"curl -sSO {edition.url(lock_file(name, cell))}"
