"""The `site` room's pictures for other pages: badges, also as shields.io's JSON, the social
card, and the box of what to install for each Python.
"""

import io
from collections.abc import Iterator, Sequence
from typing import get_args

from packaging.version import Version

from compat.advise.answer import Recommended
from compat.advise.request import Request, label
from compat.results.answer import Answer, Kind, representative_of_release
from compat.site.edition import Edition, MatrixReport, SiteFile, json_bytes, line, rendered
from compat.site.paths import badge_path, export_path
from compat.site.reports import embed_box, tiles
from compat.site.results import matrix_health
from compat.site.status import State
from compat.site.wording import day
from compat.value import Value

CACHE_SECONDS = 3600
NO_DATA = "no data"
# White text has a contrast of at least 5:1 on each, and no two differ by colour alone: the words
# differ.
BLUE, AMBER, RED, GREY = "#0b5cad", "#8a5a00", "#8f1d14", "#6b6b6b"
_COLOURS: dict[State, str] = {
    "works": BLUE,
    "relaxed": BLUE,
    "decayed": AMBER,
    "partial": AMBER,
    "flaky": AMBER,
    "broken": RED,
    "unknown": GREY,
    "infeasible": GREY,
}
# A message has a verdict, a score, versions and a date.
_LONGEST = 80
# About how wide a letter is in Verdana of 11 pixels; the image stretches the text to its width.
_LETTER = 6.2


class Badge(Value, frozen=True, kw_only=True):
    """A badge: what it is about, the fact, and a colour that adds nothing to the words."""

    label: str
    message: str
    colour: str


def badges(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        for name, badge in matrix_badges(report):
            stem = badge_path(report.name, *name)
            yield SiteFile(path=f"{stem}.json", content=endpoint(badge))
            yield SiteFile(path=f"{stem}.svg", content=svg(badge))


def matrix_badges(report: MatrixReport) -> Iterator[tuple[tuple[str, ...], Badge]]:
    subject = report.snapshot.matrix.subject
    every = report.by_coordinate.items()
    releases = {version: entries for (axis, version), entries in every if axis == subject}
    newest = max(releases, default=None)
    unknown = Badge(label=report.snapshot.matrix.subject_axis.short, message=NO_DATA, colour=GREY)
    yield ("status",), _release(report, newest, releases[newest]) if newest else unknown
    yield ("latest",), _latest(report, releases) or unknown
    floors = {floor.axis: str(floor.at) for floor in report.snapshot.matrix.floors}
    for axis in report.snapshot.matrix.axes:
        if axis.name != subject:
            floor, words = floors.get(axis.name), f"minimum {label(axis)}"
            message, colour = (NO_DATA, GREY) if floor is None else (f"{floor} or newer", BLUE)
            yield (f"{axis.name}-min",), Badge(label=words, message=message, colour=colour)
    yield ("proposal",), _proposal(report)
    yield ("freshness",), _freshness(report)
    for version, entries in sorted(releases.items()):
        yield ("release", str(version)), _release(report, version, entries)


def endpoint(badge: Badge) -> bytes:
    """Return the badge as shields.io asks for it, https://shields.io/badges/endpoint-badge; it has
    no other keys.
    """
    return json_bytes(
        {
            "schemaVersion": 1,
            "label": line(badge.label, _LONGEST),
            "message": line(badge.message, _LONGEST),
            "color": badge.colour,
            "cacheSeconds": CACHE_SECONDS,
        }
    )


def svg(badge: Badge) -> bytes:
    left, right = line(badge.label, _LONGEST), line(badge.message, _LONGEST)
    wide, rest = (round(_LETTER * len(text)) + 12 for text in (left, right))
    return rendered("badge.svg", left=left, right=right, wide=wide, rest=rest, colour=badge.colour)


def _release(report: MatrixReport, version: Version, entries: Sequence[Answer]) -> Badge:
    best = representative_of_release(entries)
    name = f"{report.snapshot.matrix.subject_axis.short} {version}"
    if not best.is_tested:
        expected = [entry for entry in entries if entry.expected is not None]
        best = representative_of_release(expected) if expected else best
        look = report.style(best)
        is_told = expected or look.state == "infeasible"
        return Badge(label=name, message=look.brief if is_told else NO_DATA, colour=GREY)
    message, colour = _state(report, best)
    return Badge(label=name, message=message, colour=colour)


def _state(report: MatrixReport, entry: Answer) -> tuple[str, str]:
    look = report.style(entry)
    score = entry.score
    part = f", {score.passing}/{score.asked}" if look.state == "partial" else ""
    stale = ", stale" if entry.stale else ""
    return f"{look.brief}{part}{stale}", _COLOURS[look.state]


def _latest(report: MatrixReport, releases: dict[Version, list[Answer]]) -> Badge | None:
    tested = [
        (version, best)
        for version in sorted(releases, reverse=True)
        if (best := representative_of_release(releases[version])).is_tested
    ]
    for kinds in (("works",), ("partial",), get_args(Kind)):
        for version, best in tested:
            if best.kind in kinds:
                message, colour = _state(report, best)
                name = f"newest {report.snapshot.matrix.subject_axis.short}"
                return Badge(label=name, message=f"{version} {message}", colour=colour)
    return None


def _proposal(report: MatrixReport) -> Badge:
    name = "proposed"
    if report.snapshot.ask.policy is None:
        return Badge(label=name, message=NO_DATA, colour=GREY)
    moves = [proposal for proposal in report.proposals if proposal.is_open]
    first = f"{moves[0].package} {moves[0].proposed}" if moves else "none"
    message = f"{first} and {len(moves) - 1} more" if moves[1:] else first
    return Badge(label=name, message=message, colour=AMBER if moves else BLUE)


def _freshness(report: MatrixReport) -> Badge:
    health = matrix_health(report)
    if health.newest is None:
        return Badge(label="tested", message=NO_DATA, colour=GREY)
    tested = sum(entry.is_tested for entry in report.snapshot.known)
    stale = f", {health.stale} of {tested} stale" if health.stale else ""
    number, month, year = day(health.newest).split()
    colour = RED if health.is_quiet else AMBER if health.stale else BLUE
    return Badge(label="tested", message=f"{number} {month[:3]} {year}{stale}", colour=colour)


WIDTH, HEIGHT = 1200, 630
PAPER, BAR, INK = "#0d1b2a", "#cfe8ff", "#ffffff"
_LEFT = 80
# Of each line its size, its base and its colour: one sentence, and below it what it rests on.
_LINES = ((56, 190, BAR), (76, 300, INK), (76, 400, INK), (32, 540, BAR))
# More colours than these shades of three would only make the file larger.
_SHADES = 32
_LINE = 58


def cards(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        yield SiteFile(path=export_path("card-bitmap", report.name), content=bitmap(report))
        box = embed_box(report)
        lines = [*(f"Python {row.python}: {row.words}" for row in box.rows), box.tested]
        shown = {"title": line(box.title, _LINE), "lines": [line(words, _LINE) for words in lines]}
        content = rendered("box.svg", says=line(". ".join(lines), 1000), **shown)
        # The address of a picture that said the same as the box.
        for kind in ("embed-image", "card"):
            yield SiteFile(path=export_path(kind, report.name), content=content)


def bitmap(report: MatrixReport) -> bytes:
    # Only here, as no other command needs it: it takes 40 ms to import (measured 2026-11-23).
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, 24, HEIGHT), fill=BAR)
    for (size, y, colour), words in zip(_LINES, card_lines(report), strict=True):
        font = ImageFont.load_default(size)
        canvas.text((_LEFT, y), words, fill=colour, font=font, anchor="ls")
    content = io.BytesIO()
    image.quantize(_SHADES).save(content, "PNG", optimize=True)
    return content.getvalue()


def card_lines(report: MatrixReport) -> tuple[str, str, str, str]:
    """The one sentence of the card, in three lines, and what it rests on."""
    matrix, answer = report.snapshot.matrix, report.answer(Request())
    if not isinstance(answer, Recommended):
        line_of_day = f"compat, {day(report.snapshot.day)}"
        return line(matrix.title, 30), "no combination passed yet", "", line_of_day
    proof = answer.best.proof
    subject, *others = tiles(report, proof)
    with_what = " and ".join(f"{label} {version}" for label, version, _ in others[:-1])
    return (
        line(f"{subject[0]} {subject[1]}", 30),
        line(f"works with {with_what}" if with_what else "works", 34),
        line(f"on {others[-1][0]} {others[-1][1]}", 34),
        line(f"installed and tested on {day(proof.latest or report.snapshot.day)} by compat", 60),
    )
