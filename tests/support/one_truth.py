"""A published site, read back as strangers read it: where two of its files say different things."""

import csv
import html
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from icalendar import Calendar

from compat.results.answer import BRIEF_WORDS, STATE_WORDS
from compat.site.wording import plain_dates
from support.documents import named_rows

ATOM = "{http://www.w3.org/2005/Atom}"
KEPT = ("recipe", "verdict", "state", "evidence", "outcome", "since", "latest", "stale", "score")


class Published:
    """The published files of one matrix; the table for spreadsheets has the words of every cell."""

    def __init__(self, folder: Path, matrix: str) -> None:
        """Take the site's folder."""
        self.folder, self.matrix = folder, matrix
        table = (folder / "download" / f"{matrix}.csv").read_text(encoding="utf-8")
        self.rows = {row["cell"]: row for row in csv.DictReader(table.splitlines())}
        self.words = {cell: row["words"] for cell, row in self.rows.items()}
        self.cells: dict[str, dict[str, Any]] = {}
        name: str | None = f"api/v1/{matrix}/cells.json"
        while name is not None:
            document = json.loads((folder / name).read_text(encoding="utf-8"))
            self.cells |= {cell["id"]: cell for cell in document["cells"]}
            name = document["next"]

    def api(self, name: str) -> dict[str, Any]:
        """Return a document of the API."""
        path = self.folder / "api" / "v1" / self.matrix / f"{name}.json"
        return named_rows(path.read_bytes())

    def text(self, path: str) -> str:
        """Return what a reader reads on a page, in one line."""
        shown = re.sub(r"<[^>]*>", " ", (self.folder / path).read_text(encoding="utf-8"))
        return " ".join(html.unescape(shown).split())


def differences(folder: Path, matrix: str) -> tuple[int, list[str]]:
    """Return how many statements of a matrix were compared, and those that differ."""
    site = Published(folder, matrix)
    compared = [
        found
        for look in (_cells, _database, _pages, _advice, _badges, _feed, _calendar, _plain)
        for found in look(site)
    ]
    different = [f"{where}: {one!r}, elsewhere {other!r}" for where, one, other in compared
                 if one != other]  # fmt: skip
    return len(compared), different


def cell_release(cell: str) -> str:
    """Return the release of the subject in the id of a cell."""
    return re.sub(r"^[a-z]+", "", cell.partition("+")[0].rpartition("-")[2])


Compared = Iterator[tuple[str, object, object]]


def _cells(site: Published) -> Compared:
    """The table, the list of all cells, and the document of each."""
    yield "csv: cells", sorted(site.rows), sorted(site.cells)
    for name, cell in site.cells.items():
        row, document = site.rows[name], site.api(f"cells/{name}")
        for key in KEPT:
            yield f"api {name}: {key}", document[key], cell[key]
        for key in ("recipe", "state", "outcome", "latest"):
            yield f"csv {name}: {key}", row[key], cell[key] or ""
        yield f"csv {name}: stale", row["stale"], "yes" if cell["stale"] else "no"


def _database(site: Published) -> Compared:
    file = site.folder / "download" / f"{site.matrix}.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT id, verdict, state, outcome, latest, score FROM cells")
        known = {row[0]: row[1:] for row in rows if row[0] in site.cells}
    yield "sqlite: cells", sorted(known), sorted(site.cells)
    for name, row in known.items():
        cell = site.cells[name]
        said = (*(cell[key] for key in ("verdict", "state", "outcome", "latest")),)
        yield f"sqlite {name}", tuple(row), (*said, cell["score"]["words"])


def _pages(site: Published) -> Compared:
    """The page of each cell, and every list item or row that names one cell with its word."""
    words = sorted(STATE_WORDS.values(), key=len, reverse=True)
    for name, cell in site.cells.items():
        path = f"{site.matrix}/cell/{name}/index.html"
        source = (site.folder / path).read_text(encoding="utf-8")
        head = re.search(r'class="verdict-line">.*?<strong>(.*?)</strong>', source, re.DOTALL)
        assert head is not None
        yield f"{path}: head", html.unescape(head[1]).lower(), site.words[name]
        score = cell["score"]["words"]
        yield f"{path}: score", score in site.text(path).replace("All ", "all "), True
        version = cell_release(name)
        listed = (site.folder / f"{site.matrix}/release/{version}/index.html").read_text()
        link = f'cell/{name}/"'
        for item in re.findall(r"<li>(?:(?!</li>).)*</li>", listed, re.DOTALL):
            if link in item and item.count("<a ") == 1 and 'class="dot' in item:
                shown = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", item)).split())
                said = [word for word in words if f": {word}" in shown][:1]
                yield f"release {version}, {name}", said, [site.words[name]]


def _advice(site: Published) -> Compared:
    table = site.api("advise")["advice"]
    for row in table["rows"]:
        yield f"advise {row['id']}", table["sentences"][row["words"]], site.words[row["id"]]
        score = site.cells[row["id"]]["score"]["words"]
        yield f"advise {row['id']}: score", table["sentences"][row["score"]], score
    embed = (site.folder / "embed" / site.matrix / "index.html").read_text(encoding="utf-8")
    for cell, shown in re.findall(r'cell/([^/"]+)/#install"[^>]*>([^<]*)</a>', embed):
        yield f"embed {cell}", html.unescape(shown).rpartition(": ")[2], site.words[cell]


def _badges(site: Published) -> Compared:
    brief = {word: BRIEF_WORDS.get(name, word) for name, word in STATE_WORDS.items()}
    inferred = {word for name, word in BRIEF_WORDS.items() if name.startswith("expected")}
    for file in sorted((site.folder / "badge" / site.matrix).rglob("*.json")):
        badge = json.loads(file.read_text(encoding="utf-8"))
        picture = file.with_suffix(".svg").read_text(encoding="utf-8")
        yield f"{file.name}: svg", badge["message"] in html.unescape(picture), True
        if file.parent.name == "release":
            said = re.sub(r", \d+/\d+$", "", badge["message"].removesuffix(", stale"))
            own = _said_of_release(site, file.stem)
            yield (
                f"badge {file.stem}",
                said in ({brief[own]} if own else {"no data", "ruled out", *inferred}),
                True,
            )
    for floor in site.api("minimum")["floors"]:
        badge = site.folder / "badge" / site.matrix / f"{floor['axis']}-min.json"
        message = json.loads(badge.read_text(encoding="utf-8"))["message"]
        yield f"badge minimum {floor['axis']}", message, f"{floor['at']} or newer"


def _said_of_release(site: Published, version: str) -> str:
    """The word that a release's page opens with; empty where none of its cells was tested."""
    source = (site.folder / f"{site.matrix}/release/{version}/index.html").read_text("utf-8")
    opening = source.partition('<div class="verdict">')[2].partition("</div>")[0]
    shown = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", opening)).split())
    chip = re.search(r'class="chip[^>]*><span[^>]*>[^<]*</span> ([^<]*)<', opening)
    tested = {
        site.words[name]
        for name, cell in site.cells.items()
        if cell["evidence"] in ("tested", "smoke") and cell_release(name) == version
    }
    assert (chip is None) == (not tested), f"{version} opens with: {shown}"
    return "" if chip is None else html.unescape(chip[1])


def _feed(site: Published) -> Compared:
    """The newest entry about a cell has the word that it has now. More evidence makes no entry."""
    root = ElementTree.parse(site.folder / "feed" / site.matrix / "all.atom").getroot()
    seen: set[str] = set()
    for entry in root.iter(f"{ATOM}entry"):
        link = entry.find(f"{ATOM}link")
        title = entry.findtext(f"{ATOM}title") or ""
        cell = re.search(r"/cell/([^/]+)/$", "" if link is None else link.get("href") or "")
        if cell is None or cell[1] in seen:
            continue
        seen.add(cell[1])
        said = re.split(r"; was: |: ", title)[0]
        now = site.words[cell[1]].removesuffix(" (smoke)")
        yield f"feed {cell[1]}", said.removesuffix(" (smoke)"), now


def _calendar(site: Published) -> Compared:
    moves = {f"{site.matrix}-{m['id']}@compat": m for m in site.api("schedule")["moves"]}
    calendar = (site.folder / "cal" / site.matrix / "all.ics").read_bytes()
    events = {str(event["uid"]): event for event in Calendar.from_ical(calendar).walk("VEVENT")}
    yield "calendar: moves", sorted(events), sorted(moves)
    page = site.text(f"{site.matrix}/roadmap/index.html")
    for uid, move in moves.items():
        event = events[uid]
        # A calendar writes addresses so that no program makes links of them.
        description = " ".join(str(event["description"]).replace(": //", "://").split())
        yield f"calendar {uid}: day", str(event.decoded("dtstart")), move["on"]
        for key in ("wording", "rule", "source", "proof"):
            yield f"calendar {uid}: {key}", plain_dates(move[key]) in description, True
        yield f"schedule {uid}: day", plain_dates(move["on"]) in page, True


def _plain(site: Published) -> Compared:
    """Plain installs: what ran has the verdict of its cell, and each release's page its answers."""
    document = site.api("plain-installs")
    pages: dict[str, str] = {}
    for row in document["installs"]:
        version = row["release"]
        where = f"plain {version} on {row['python']}"
        if row["ground"] == "run":
            cell = site.cells[row["cell"]]
            core = "-smoke" if cell["evidence"] == "smoke" else ""
            yield where, row["state"], f"{cell['verdict']}{core}"
        path = f"{site.matrix}/release/{version}/index.html"
        page = pages.setdefault(version, site.text(path))
        part = page.partition("Does ")[2].partition("All releases")[0]
        yield f"{where}: command", document["command"].replace("RELEASE", version) in part, True
    counted = sum(cause["count"] for cause in document["causes"])
    yield "plain: causes", counted, len(document["installs"])
