"""The `site` room's pages of no matrix: the front, search, what to build on, the box for other
people's pages, and what stands where there is no page.
"""

from collections.abc import Iterator
from xml.etree import ElementTree

from markupsafe import Markup

from compat.advise.request import label
from compat.results.answer import representative
from compat.site.edition import Edition, MatrixReport
from compat.site.exports.badges import drawing, matrix_badges
from compat.site.exports.feeds import FEED_TITLES
from compat.site.pages.advice_view import tiles
from compat.site.pages.place_view import Doc
from compat.site.pages.results_view import matrix_health
from compat.site.paths import (
    BUILD,
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
from compat.site.status import style_of
from compat.site.wording import day

# The tabs; a page below them names the one that it belongs to.
TABS: dict[str, str] = {
    "advise": "Install",
    "grid": "Grid",
    "cap": "Capabilities",
    "roadmap": "Roadmap",
    "more": "More",
}
# What stands below a tab, and what it is about.
SECTIONS: dict[str, tuple[str, str]] = {
    "plain": (
        "Plain installs and platforms",
        "What `pip install` does today, on each Python and platform.",
    ),
    "causes": ("Causes", "Why combinations fail: each cause with its cells and releases."),
    "changes": ("Changes", "Verdicts that changed, newest first."),
    "charts": ("Charts", "Measurements that changed from a release on."),
    "reliability": ("Reliability", "How many runs, how old, in which sandbox, and what is flaky."),
    "lanes": ("Variants", "Lowest declared versions, and pre-releases of dependencies."),
}
# Sections of earlier editions that are a part of another page now.
JOINED = {"platforms": "plain", "schedule": "roadmap", "proposals": "roadmap"}
_MOST_PYTHONS = 5


def section_paths(report: MatrixReport) -> dict[str, str]:
    """Return the path of each section of a matrix; the variants have one where it declares any."""
    sections = [*TABS, *SECTIONS]
    if not report.snapshot.matrix.has_lanes:
        sections.remove("lanes")
    return {section: page(report.name, section) for section in sections}


def front(edition: Edition) -> list[Doc]:
    """Return the libraries: each with its best answer, and how it is covered."""
    return [
        Doc(report=report, best=report.best("best", {}), health=matrix_health(report))
        for report in edition.reports
    ]


def more(report: MatrixReport) -> list[tuple[str, str, str]]:
    """Return what stands under no other tab: title, path, and what it is about."""
    paths = section_paths(report)
    below = [
        (words, paths[name], about) for name, (words, about) in SECTIONS.items() if name in paths
    ]
    return [
        *below,
        ("Build on it", BUILD, "Badges, feeds, calendars, downloads, the API, a box to embed."),
        ("Documentation", "about/index.html", "How results are made, and how to use compat."),
    ]


def embed_box(report: MatrixReport) -> Doc:
    """Return the box: the newest Pythons that something works with, and when it was tested."""
    latest = [entry.latest for entry in report.snapshot.known if entry.latest is not None]
    python, rows = report.snapshot.matrix.interpreters.name, []
    for series in reversed(report.advisor.ranks.positions[python]):
        proof = report.best("best", {python: series})
        if proof is not None:
            entry = report.snapshot.by_id[proof.id]
            style = style_of(entry, report.places[entry.cell.id.partition("+")[0]])
            others = [f"{name} {v}" for name, v, _ in tiles(report, proof) if name != "Python"]
            words, path = (
                f"{', '.join(others)}: {style.word}",
                page(report.name, "advise", proof.id),
            )
            rows.append(Doc(python=series, words=words, style=style, path=path))
    return Doc(
        title=f"{report.snapshot.matrix.title}: what works with what",
        rows=rows[:_MOST_PYTHONS],
        tested=f"Last tested on {day(max(latest))}" if latest else "Nothing was tested yet",
        home=page(report.name),
    )


def build_page(edition: Edition) -> list[Doc]:
    return [_section(edition, report) for report in edition.reports]


def _section(edition: Edition, report: MatrixReport) -> Doc:
    """What there is of one matrix: what it is, and its path."""
    name, matrix = report.name, report.snapshot.matrix
    home, box = edition.url(page(name)), f"{matrix.title}: what works with what"
    partners = {axis.name: f"moves of {label(axis)}" for axis in matrix.axes}
    del partners[matrix.subject]
    calendars = {"all": "all moves of minimum versions", "minimums": "the minimum versions by date"}
    badges = []
    for named, badge in matrix_badges(report):
        stem, words = badge_path(name, *named), f"{badge.label}: {badge.message}"
        drawn = drawing(badge, f"{stem.replace('/', '-')}-")
        alternative = words.translate({ord(sign): "" for sign in "[]\\`"})
        badges.append(
            Doc(
                name="/".join(named),
                # The text in it went through ElementTree, which escapes it.
                picture=Markup(ElementTree.tostring(drawn, encoding="unicode")),
                words=words,
                markdown=f"[![{alternative}]({edition.url(f'{stem}.svg')})]({home})",
            )
        )
    return Doc(
        name=name,
        title=matrix.title,
        badges=[badge for badge in badges if not badge.name.startswith("release/")],
        release_badges=[badge for badge in badges[::-1] if badge.name.startswith("release/")],
        feeds=[(words, feed_path(name, feed)) for feed, words in FEED_TITLES.items()],
        calendars=[(w, calendar_path(name, each)) for each, w in (calendars | partners).items()],
        downloads=[
            ("every known cell as CSV", download_path(name, "csv")),
            ("all runs as an SQLite database", download_path(name, "sqlite")),
            ("queries to begin with", download_path(name, "sql")),
            ("a picture for posts, PNG", card_path(name, "png")),
        ],
        curls=[*_curls(edition, report)],
        image=embed_image(name),
        frame=embed_path(name),
        image_markdown=f"[![{box}]({edition.url(embed_image(name))})]({home})",
        frame_html=(
            f'<iframe src="{edition.url(embed_path(name))}" title="{box}" width="440"'
            ' height="260" loading="lazy"></iframe>'
        ),
    )


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
