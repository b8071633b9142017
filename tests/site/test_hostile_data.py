"""Hostile texts through everything that is no page: it stays well-formed, fits its schema, and
nothing comes alive.
"""

import datetime
import json
import re
from functools import cache
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from icalendar import Calendar
from jsonschema import Draft202012Validator
from packaging.version import Version
from support.corpus import each
from support.editions import edition, files
from support.hostile_texts import HUGE, STRINGS
from support.known import MATRIX, Shelf, lock_of, ran
from test_api import schema_of

from compat.declare.capabilities import Described
from compat.declare.matrix import Floor, KnownIssue, Policy
from compat.results.record import Capability
from compat.run.evidence import Metric
from compat.run.outcome import Failed
from compat.site import pictures
from compat.site.documents import api, cell_files
from compat.site.edition import fit
from compat.site.edition import lock_site_files as installs
from compat.site.exports import calendars, feeds
from compat.site.pictures import Badge, badges, endpoint, svg

NEW = "py3.9-dep2-demo2.0"
RELAXED = "py3.8-dep2-demo1.0+relaxed"
EARLY = datetime.date(2021, 1, 10)
POLICY = Policy(default_months=24, cadence="quarterly", notice_days=90, witnesses=1)
SVG_TAGS = {"svg", "title", "desc", "rect", "g", "text"}
ATOM_TAGS = {
    *(
        "feed",
        "id",
        "title",
        "updated",
        "link",
        "author",
        "category",
        "name",
        "entry",
        "published",
        "content",
    ),
}


def hostile_matrix(text: str) -> Any:
    """The matrix with the text wherever people or packages put one; the declarations' own checks
    are left out.
    """
    python, dep, demo = MATRIX.axes
    return msgspec.structs.replace(
        MATRIX,
        title=text,
        axes=(python, dep, demo),
        floors=tuple(
            Floor(axis=axis, at=Version(at), because="a reason")
            for axis, at in (("python", "3.8"), ("dep", "1"))
        ),
        rules=tuple(msgspec.structs.replace(rule, because=text) for rule in MATRIX.rules),
        known=(
            KnownIssue(because="a reason of ten", outcome="test-fail"),
            KnownIssue(because="a reason of ten", capability="x"),
        ),
    )


def hostile_shelf(text: str) -> Shelf:
    """Runs whose every text is the hostile one.

    No record can hold a lone surrogate: its file is UTF-8.
    """
    text = whole(text)
    lock, relaxed = lock_of(NEW), lock_of(RELAXED)
    broken = ran(
        lock,
        "test-fail:error",
        outcome=Failed(stage="test", cause="error", subject=text),
        capabilities=(
            Capability(id="sum", status="yes", spelling=text),
            Capability(id=text or "x", status="no", cause="error", subject=text),
            Capability(id="gone", status="absent", missing=(text,)),
        ),
        metrics=(Metric(name=text, value=1.0, unit=text, better="lower"),),
        log=text,
        run_url=text,
        days_ago=2200,
    )
    return Shelf([broken, ran(relaxed, days_ago=2150)], [lock, relaxed], POLICY)


def whole(text: str) -> str:
    """The text with lone surrogates replaced, which UTF-8 cannot hold."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def hostile_edition(text: str, draws: bool = True) -> dict[str, bytes]:
    told = [
        Described(
            id=text or "x",
            title=text,
            says=text,
            file=text,
            line=1,
            code=text,
            looks_for=((text,),),
        )
    ]
    of = edition(hostile_shelf(text), EARLY, hostile_matrix(text), told)
    with pytest.MonkeyPatch.context() as patch:
        if not draws:
            patch.setattr(pictures, "bitmap", lambda _: b"")
        return files(of, installs, badges, feeds, calendars, pictures.cards, cell_files, api)


@cache
def schemas() -> dict[str, Draft202012Validator]:
    made = files(edition(Shelf()), cell_files, api)
    return {
        path.removeprefix("schema/v1/").removesuffix(".json"): Draft202012Validator(
            json.loads(text)
        )
        for path, text in made.items()
        if path.startswith("schema/")
    }


@each("text", STRINGS[::12])
def test_a_hostile_text_changes_the_form_of_nothing_and_is_told_whole(text: str) -> None:
    check_published(text)


@pytest.mark.slow
@each("text", STRINGS)
def test_no_hostile_text_changes_the_form_of_anything(text: str) -> None:
    # To draw the bitmap of the card would take half of the time, and nothing reads it back.
    check_published(text, draws=False)


def check_published(text: str, draws: bool = True) -> None:
    """Every file that an edition with the text has keeps its form, and tells the text."""
    published = hostile_edition(text, draws)
    check_told(text, published)
    for path, content in published.items():
        assert re.fullmatch(r"[a-z0-9_.+~/-]+|api/v1/CHANGELOG_API\.md", path), path
        assert not {"", ".", ".."} & set(path.split("/"))
        match path.rpartition(".")[2]:
            case "json":
                check_json(path, content)
            case "svg":
                check_svg(content)
            case "atom":
                check_atom(content)
            case "ics":
                check_ics(content)


def check_json(path: str, content: bytes) -> None:
    """It is strict JSON in UTF-8, and fits its schema."""
    document = json.loads(content.decode("utf-8"), parse_constant=pytest.fail)
    if path.startswith("api/v1/") and not path.endswith("openapi.json"):
        schemas()[schema_of(path)].validate(document)
    if path.startswith("badge/"):
        assert sorted(document) == ["cacheSeconds", "color", "label", "message", "schemaVersion"]


def check_svg(content: bytes) -> None:
    """It is well-formed, has only our elements, no handler and no address."""
    for element in ElementTree.fromstring(content).iter():
        assert element.tag.rpartition("}")[2] in SVG_TAGS
        assert not any(
            name.startswith("on") or "href" in name or name == "style" for name in element.attrib
        )


def check_atom(content: bytes) -> None:
    """It is well-formed, has only our elements, all its text is plain, and its links lead to us."""
    for element in ElementTree.fromstring(content).iter():
        assert element.tag.removeprefix("{http://www.w3.org/2005/Atom}") in ATOM_TAGS
        assert element.get("type", "text") in ("text", "text/html", "application/atom+xml")
        assert element.get("href", "https://compat.example/").startswith("https://compat.example/")


def check_ics(content: bytes) -> None:
    """It folds at 75 octets, begins nothing but what we began, and is read back."""
    assert content.endswith(b"END:VCALENDAR\r\n")
    for line in content.split(b"\r\n"):
        assert len(line) <= 75
        assert not any(byte < 32 and byte != 9 for byte in line)
    names = {
        line.partition(b":")[0].partition(b";")[0]
        for line in re.sub(rb"\r\n[ \t]", b"", content).split(b"\r\n")
    }
    assert names <= {
        *(
            b"",
            b"BEGIN",
            b"END",
            b"VERSION",
            b"PRODID",
            b"X-WR-CALNAME",
            b"SUMMARY",
            b"DTSTART",
            b"DTEND",
            b"DTSTAMP",
        ),
        *(b"UID", b"DESCRIPTION", b"TRANSP", b"ACTION", b"TRIGGER"),
    }
    calendar = Calendar.from_ical(content.decode())
    assert content.split(b"\r\n").count(b"BEGIN:VEVENT") == len(calendar.walk("VEVENT"))
    assert len({str(event["UID"]) for event in calendar.walk("VEVENT")}) == len(
        calendar.walk("VEVENT")
    )


def check_told(text: str, made: dict[str, bytes]) -> None:
    """What the documents and the feed tell is what was there."""
    cell = json.loads(made[f"api/v1/demo/cells/{NEW}.json"])
    assert (cell["subject"] or "") == whole(text)
    assert cell["log"] == "\n".join(whole(text).splitlines())
    assert json.loads(made["api/v1/demo/index.json"])["title"] == whole(text)
    feed = ElementTree.fromstring(made["feed/demo/all.atom"])
    title = feed.findtext("{http://www.w3.org/2005/Atom}title") or ""
    assert title == fit(f"{text}: what happened").replace("\r\n", "\n").replace("\r", "\n")


@each("text", STRINGS)
def test_a_badge_stays_on_one_line_and_short(text: str) -> None:
    badge = Badge(label=text, message=text, colour="#000000")
    told = json.loads(endpoint(badge))
    assert len(told["label"]) <= 80
    assert told["message"].isprintable()
    check_svg(svg(badge))


def test_a_megabyte_does_no_harm() -> None:
    badge = Badge(label=HUGE, message=HUGE, colour="#000000")
    assert len(svg(badge)) < 5000
    for path, content in hostile_edition(HUGE).items():
        if path.endswith((".svg", ".ics")):
            assert len(content) < 100_000
