# ruff: noqa: E501
# mypy: disable-error-code="no-any-return, no-untyped-call"
"""A published site held against its own answers: every sentence that states a number, a range or a
verdict is read from the HTML as a stranger reads it, and worked out again from the SQLite file and
the JSON documents. Nothing here imports what writes a page.

A block of text is *read* by one of the rules below, which work it out again, or it is *quoted*: it
stands word for word in the documents of what its page is about. Whatever is neither is `unread`.
"""

import calendar
import datetime
import functools
import json
import math
import posixpath
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from support.documents import named_rows

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
# What a heading leaves out of a path.
FOLDERS = re.compile(r"(?:[\w.-]+/)+(?=[\w.-]+/[\w.-]+:\d)")
VERSIONED = r"[a-zA-Z][\w.-]* [\w.!+]+"
DAY = rf"\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}"
WORDS = {
    "decayed": "works only with packages of its time",
    "relaxed": "works with changed dependency pins",
    "partial": "partly works",
    "flaky": "flaky",
    "infeasible": "ruled out",
    "dated": "works with packages of its time",
}
EXPECTED = {
    "works": "expected to work (inferred)",
    "partial": "expected to work in part (inferred)",
    "broken": "expected to fail (inferred)",
}
EVERY_WORD = sorted(
    {"works", "broken", "does not install", "no answer yet", "declared", "not tested"}
    | {*WORDS.values(), *EXPECTED.values()},
    key=len,
    reverse=True,
)
WORD = rf"(?:{'|'.join(map(re.escape, EVERY_WORD))})(?: \(smoke\))?"
RECIPES = {
    "fresh": "as published, today",
    "dated": "as published, when it was new",
    "relaxed": "with changed dependency pins",
    "lowest": "with the lowest declared versions, today",
    "prerelease": "with a pre-release, today",
}
UNCHANGED = "as published: no dependency pin had to change"
RECIPE = "|".join(map(re.escape, (*RECIPES.values(), UNCHANGED)))
SCORE = r"(?:(?:[Aa]ll )?\d+ (?:of \d+ )?works?|[Tt]he 1 asked works)(?:; [^;.()]+)*"
CAUSES = {
    "assertion": "wrong result",
    "error": "exception",
    "type-error": "TypeError: wrong arguments",
    "missing-attribute": "missing name",
    "missing-module": "missing module",
    "wall-time": "time limit reached",
    "silence": "hung without output",
    "abort": "interpreter aborted",
    "segfault": "segmentation fault",
    "memory": "memory limit reached",
}
# What a text must have to be a claim.
STATES = re.compile(
    r"\d|\b(?:works?|fails?|broken|flaky|partly|absent|ruled out|expected to|not tested|declare[sd]?"
    r"|no answer|install|installs|refused|resolves|no wheel|blocked|held|none)\b",
    re.IGNORECASE,
)
RANK = ("works", "partial", "flaky", "broken", "unknown", "infeasible")
VOID = frozenset(["meta", "link", "input", "br", "img", "path", "rect", "hr", "source", "circle"])
INLINE = frozenset(["a", "span", "strong", "code", "time", "em", "b", "i", "option"])
SKIPPED = frozenset(
    ["script", "style", "select", "textarea", "pre", "footer", "header", "noscript", "nav"]
)


class Block(NamedTuple):
    """A text that no other block is in, with the pages that it links, the class of its element, and
    the section, the row and the column in which it stands.
    """

    path: str
    text: str
    links: tuple[str, ...]
    tag: str
    css: str
    section: str
    row: str
    head: str
    table: int


class Reader(HTMLParser):
    """The blocks of a page, in their order."""

    def __init__(self, path: str, source: str) -> None:
        super().__init__()
        self.path, self.blocks = path, list[Block]()
        self.open: list[tuple[str, str, str]] = []
        self.words, self.links = list[str](), list[str]()
        self.heads, self.row, self.column, self.in_head = list[str](), "", 0, False
        self.table = 0
        self.feed(source)
        self.flush()

    def flush(self) -> None:
        text = " ".join("".join(self.words).split())
        if text and not any(tag in SKIPPED for tag, _, _ in self.open):
            block = next((one for one in reversed(self.open) if one[0] not in INLINE), ("", "", ""))
            section = next((i for t, _, i in reversed(self.open) if t == "section" and i), "")
            head = self.heads[self.column] if self.column < len(self.heads) else ""
            self.blocks.append(
                Block(
                    self.path, text, tuple(self.links), *block[:2], section, self.row,
                    "" if self.in_head else head, self.table,
                )
            )  # fmt: skip
            if block[0] == "th" and self.in_head:
                self.heads += [""] * (self.column + 1 - len(self.heads))
                self.heads[self.column] = text
            elif block[0] == "th":
                self.row = text
        self.words, self.links = [], []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        if tag in VOID:
            self.words.append(" " if tag == "br" else "")
            return
        if tag not in INLINE:
            self.flush()
        if tag == "table":
            self.heads, self.row, self.table = [], "", self.table + 1
        elif tag == "thead":
            self.in_head = True
        elif tag == "tr":
            self.column, self.row = -1, ""
        elif tag in ("td", "th"):
            self.column += 1
        self.open.append((tag, of.get("class", ""), of.get("aria-labelledby") or of.get("id", "")))
        if tag == "a" and "aria-label" in of:
            self.words.append(f"{of['aria-label']} ")
        if tag == "a" and "href" in of and "//" not in of["href"]:
            target = of["href"].partition("#")[0]
            self.links.append(
                posixpath.normpath(posixpath.join(posixpath.dirname(self.path), target))
            )

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if tag not in INLINE:
            self.flush()
        while self.open and self.open.pop()[0] != tag:
            pass
        if tag == "thead":
            self.in_head = False
        elif tag == "table":
            self.heads, self.row = [], ""

    def handle_data(self, data: str) -> None:
        self.words.append(data)


class Site:
    """The answers of one matrix of a published site."""

    def __init__(self, folder: Path, matrix: str) -> None:
        self.folder, self.matrix = folder, matrix
        with closing(sqlite3.connect(folder / "download" / f"{matrix}.sqlite")) as database:
            database.row_factory = sqlite3.Row
            self.cells = {r["id"]: dict(r) for r in database.execute("SELECT * FROM cells")}
            self.planned = {r["cell"]: dict(r) for r in database.execute("SELECT * FROM planned")}
            self.runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for row in database.execute("SELECT * FROM runs ORDER BY started"):
                self.runs[row["cell"]].append(dict(row))
        self.index = self.api("index")
        self.axes = {axis["name"]: axis for axis in self.index["axes"]}
        self.subject = self.index["subject"]
        self.python = next(name for name, axis in self.axes.items() if axis["package"] is None)
        self.others = [a for a in self.axes if a not in (self.subject, self.python)]
        self.title, self.package = self.index["title"], self.axes[self.subject]["package"]
        self.letters: dict[str, str] = {}
        name: str | None = f"api/v1/{matrix}/cells.json"
        while name:
            document = json.loads((folder / name).read_bytes())
            self.letters |= {cell["id"]: cell["capabilities"] for cell in document["cells"]}
            name = document["next"]
        self.asked = self.index["capabilities"]
        self.places: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for cell in {**self.planned, **self.cells}:
            self.places[self.at(cell)].append(cell)
        folder_of_caps = folder / "api" / "v1" / matrix / "capabilities"
        documents = [json.loads(p.read_bytes()) for p in folder_of_caps.glob("*.json")]
        self.titles = {one["id"]: one["title"] for one in documents if "title" in one}
        self.by_title = {title: name for name, title in self.titles.items()}
        self.reading: list[Block] = []

    @functools.cache  # noqa: B019
    def api(self, name: str) -> Any:
        return named_rows((self.folder / "api/v1" / self.matrix / f"{name}.json").read_bytes())

    @functools.lru_cache(maxsize=64)  # noqa: B019
    def strings(self, name: str) -> list[str]:
        """The texts of a document that are sentences or names of some length, longest first."""
        found = set[str]()

        def look(value: Any) -> None:
            if isinstance(value, str) and len(value) > 7 and re.search(r"[A-Za-z]{2}", value):
                heads = (value.partition(cut)[0] for cut in (" (", ", not ", ", at "))
                every = {plain(one) for one in (value, *heads)}
                found.update(every, {FOLDERS.sub("", one) for one in every})
            elif isinstance(value, dict):
                for key, one in value.items():
                    look(None if key in ("words", "id", "log") else one)
            elif isinstance(value, list):
                for one in value:
                    look(one)

        if (self.folder / "api/v1" / self.matrix / f"{name}.json").exists():
            look(self.api(name))
        return sorted(found, key=len, reverse=True)

    @functools.cache  # noqa: B019
    def at(self, cell: str) -> tuple[str, ...]:
        """The versions of a cell in the order of the axes, from its id."""
        parts = re.split(r"[+@]", cell)[0].split("-")
        return tuple(
            part.removeprefix(axis["short"])
            for part, axis in zip(parts, self.axes.values(), strict=False)
        )

    def on(self, cell: str, axis: str) -> str:
        return self.at(cell)[[*self.axes].index(axis)]

    def place(self, cell: str) -> str:
        """`demo 2.0 with dep 1 on Python 3.9`."""
        beside = [f"{self.axes[a]['package']} {self.on(cell, a)}" for a in self.others]
        company = (
            f" with {' and '.join([', '.join(beside[:-1]), beside[-1]] if beside[1:] else beside)}"
        )
        return f"{self.package} {self.on(cell, self.subject)}{company * bool(beside)} on Python {self.on(cell, self.python)}"

    def fresh(self, cell: str) -> dict[str, Any] | None:
        fresh = cell.partition("+")[0]
        return self.cells.get(fresh) or self.planned.get(fresh)

    def words(self, cell: str) -> set[str]:
        """What may be said of a cell in a word."""
        known, planned = self.cells.get(cell), self.planned.get(cell, {})
        row = known or planned
        state = row.get("state", row["verdict"])
        fresh = self.fresh(cell)
        if state == "works":
            recipe = row.get("recipe", "fresh")
            of_time = recipe != "fresh" and not (fresh and fresh["verdict"] == "works")
            found = {WORDS["dated"] if of_time else "works"}
        elif state == "broken":
            stage = (row.get("outcome") or "").partition("-fail")[0]
            refused = stage in ("plan", "lock", "install") or not known
            found = {"does not install"} if refused else {"broken"}
            found |= {"broken"} if not known else set()
        elif state == "unknown":
            expected = planned.get("expected")
            admitted = fresh is not None and fresh["obstacle"] is None
            if row.get("blocked_by"):
                found = {"no answer yet"}
            elif expected:
                found = {EXPECTED[str(expected)]}
            else:
                found = {"not tested"} | ({"declared"} if admitted else set())
                found |= set() if known else {"no answer yet"}
        else:
            found = {WORDS[str(state)]}
        smoke = row["evidence"] == "smoke" and state != "unknown"
        return {f"{word} (smoke)" for word in found} if smoke else found

    def rank(self, cell: str) -> int:
        row = self.cells.get(cell) or self.planned[cell]
        return RANK.index(row["verdict"])

    def best(self, cells: list[str]) -> set[str]:
        """The words that a place may have: those of its cells of the best kind."""
        fresh = [
            c for c in cells if "+" not in c and self.cells.get(c, {}).get("verdict") == "flaky"
        ]
        least = min(map(self.rank, cells))
        return {w for c in fresh or cells if fresh or self.rank(c) == least for w in self.words(c)}

    def tested(self, cell: str) -> bool:
        return self.cells.get(cell, {}).get("evidence") in ("tested", "smoke")

    def score(self, cell: str) -> str:
        row = self.cells[cell]
        passing, combination, release, gone = (
            row[k] for k in ("passing", "combination", "release", "gone")
        )
        every = passing + combination + release + gone
        if not every:
            return ""
        head = f"{passing} of {every} {'works' if passing == 1 else 'work'}"
        if passing == every:
            head = "the 1 asked works" if every == 1 else f"all {every} work"
        verb = lambda n: "fails" if n == 1 else "fail"  # noqa: E731
        parts = [
            (combination, f"{verb(combination)} in this combination"),
            (release, f"{verb(release)} in every combination of this release"),
            (gone, f"{'is' if gone == 1 else 'are'} not available today"),
        ]
        return "; ".join([head, *(f"{n} {words}" for n, words in parts if n)])

    def failing(self, cell: str) -> list[str]:
        letters = self.letters[cell]
        return sorted(
            self.titles[name] for name, one in zip(self.asked, letters, strict=True) if one == "n"
        )

    def letter(self, cell: str, name: str) -> str:
        return self.letters[cell][self.asked.index(name)] if name in self.asked else "-"

    def cause(self, cell: str, title: str) -> str:
        found = (
            c
            for c in self.api(f"cells/{cell}")["capabilities"]
            if self.titles.get(c["id"]) == title
        )
        return CAUSES.get(next(found)["cause"], "")

    @functools.cached_property
    def by_words(self) -> dict[str, list[str]]:
        return {self.place(cells[0]): cells for cells in self.places.values()}

    def of_place(self, words: str) -> list[str]:
        """The cells of a place by its name, whose Python may be several."""
        head, _, pythons = words.rpartition(" on Python ")
        every = re.split(r", | and ", pythons)
        return [c for one in every for c in self.by_words.get(f"{head} on Python {one}", [])]

    def label(self, cell: str) -> str:
        """The head of the column of a cell: its versions on the axes beside Python and subject."""
        return " · ".join(self.on(cell, axis) for axis in self.others) or "alone"

    @functools.lru_cache(maxsize=256)  # noqa: B019
    def labels(self, version: str, python: str) -> list[str]:
        """The columns of a release, or of all, on a Python, or on all, in their order."""
        every = {
            cell.partition("+")[0]: self.label(cell)
            for cell in {**self.planned, **self.cells}
            if version in ("", self.on(cell, self.subject))
            and python in ("all", self.on(cell, self.python))
        }
        return sorted(
            set(every.values()),
            key=lambda label: [
                [int(n) for n in re.findall(r"\d+", one)] for one in label.split(" · ")
            ],
        )

    def beside(self, version: str, at: str) -> list[str]:
        return self.by_pair.get((version, at), [])

    @functools.cached_property
    def libraries(self) -> list["Site"]:
        root = json.loads((self.folder / "api/v1/index.json").read_bytes())
        names = [one["name"] for one in root["matrices"]]
        return [self if name == self.matrix else Site(self.folder, name) for name in names]

    @functools.cached_property
    def by_pair(self) -> dict[tuple[str, str], list[str]]:
        pairs: dict[tuple[str, str], list[str]] = defaultdict(list)
        for cell in {**self.planned, **self.cells}:
            pairs[self.on(cell, self.subject), self.label(cell)].append(cell)
        return pairs

    @functools.cached_property
    def capabilities(self) -> list[dict[str, Any]]:
        folder = self.folder / "api" / "v1" / self.matrix / "capabilities"
        return [
            d
            for p in sorted(folder.glob("*.json"))
            if "of_helper" in (d := json.loads(p.read_bytes()))
        ]

    @functools.cached_property
    def representatives(self) -> dict[str, str]:
        """The cell that stands for each release of the subject that reached the suite."""
        folder = self.folder / "api" / "v1" / self.matrix / "releases" / self.subject
        found = {
            d["version"]: d["representative"]
            for p in folder.glob("*.json")
            if (d := json.loads(p.read_bytes()))["representative"]
        }
        return {v: found[v] for v in self.ordered(self.subject) if v in found}

    def series(self, name: str) -> list[tuple[str, str]]:
        """What a capability came to in each release that was asked for it, oldest first."""
        every = ((v, self.letter(c, name)) for v, c in self.representatives.items())
        return [(v, letter) for v, letter in every if letter != "-"]

    @functools.cached_property
    def sentences(self) -> list[str]:
        """What the outcomes of all cells mean."""
        found = {
            plain(d["sentence"].partition(", at ")[0])
            for c in self.cells
            if (d := self.api(f"cells/{c}"))["sentence"]
        }
        return sorted(found - {""}, key=len, reverse=True)

    @functools.cached_property
    def names_of_packages(self) -> set[str]:
        return {name for c in self.cells for name in self.pins(c)}

    @functools.cache  # noqa: B019
    def pins(self, cell: str) -> dict[str, str]:
        lock = self.api(f"cells/{cell}")["links"]["lock"]
        text = (self.folder / lock).read_text(encoding="utf-8") if lock else ""
        return dict(re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", text, re.MULTILINE))

    @functools.cached_property
    def asked_days(self) -> set[str]:
        return {
            one["on"]
            for one in (*self.api("plain-installs")["installs"], *self.elsewhere)
            if one["on"]
        } | self.days

    @functools.cached_property
    def platforms(self) -> list[dict[str, Any]]:
        there = self.folder / "api" / "v1" / self.matrix / "platform-installs.json"
        return list(self.api("platform-installs")["platforms"]) if there.exists() else []

    @functools.cached_property
    def elsewhere(self) -> list[dict[str, Any]]:
        return list(self.api("platform-installs")["installs"]) if self.platforms else []

    def spread_in(self, text: str, every: list[str]) -> set[str]:
        return self.spread(text, self.python) or set()

    @staticmethod
    def cause_of(outcome: str) -> str:
        """An outcome without the line of a file."""
        return re.sub(r"; at [^)]*\)$", ")", outcome)

    @functools.cached_property
    def causes(self) -> set[str]:
        every = [o for runs in self.runs.values() for r in runs for o in attempts(r["outcome"])]
        return {self.cause_of(o) for o in every} | {
            self.cause_of(r["outcome"] or "") for r in self.cells.values()
        }

    def by_cause(self, outcome: str) -> list[dict[str, Any]]:
        return [
            r
            for r in self.cells.values()
            if r["outcome"] and self.cause_of(r["outcome"]) == outcome
        ]

    def row_of_cause(self, block: Block) -> list[dict[str, Any]]:
        """The cells of the cause that a row links, by the page that it leads to."""
        link = next(
            (
                x
                for b in self.reading
                if b.table == block.table and b.text == (block.row or block.text)
                for x in b.links
            ),
            "",
        )
        text = (self.folder / link / "index.html").read_text(encoding="utf-8")
        outcome = next(
            (
                b.text
                for b in Reader(f"{link}/index.html", text).blocks
                if b.tag == "p" and "-fail:" in b.text
            ),
            "",
        )
        cells = [c for b in Reader(f"{link}/index.html", text).blocks if (c := linked(self, b))]
        own = [self.cells[c] for c in cells if self.cells[c]["verdict"] == "unknown"]
        return own if "/undecided-" in link else self.by_cause(outcome)

    def plain_words(self, cell: str) -> set[str]:
        """As `words`, without a look at other cells of the place."""
        return {w.replace(WORDS["dated"], "works") for w in self.words(cell)} | self.words(cell)

    @functools.cached_property
    def said_of_any(self) -> set[str]:
        """Every word that is said of some cell of the plan."""
        return {
            word.removesuffix(" (smoke)")
            for c in {**self.planned, **self.cells}
            for word in self.words(c)
        }

    def tested_places(self, python: str | None) -> int:
        """How many places were tested on a Python; on any of them, each pair of the others once."""
        at = [*self.axes].index(self.python)
        tested = {self.at(cell) for cell in self.cells if self.tested(cell)}
        if python:
            return sum(place[at] == python for place in tested)
        return len({(*place[:at], *place[at + 1 :]) for place in tested})

    @functools.cached_property
    def days(self) -> set[str]:
        return {run["started"][:10] for runs in self.runs.values() for run in runs} | {
            self.index["day"]
        }

    def card(self, block: Block) -> str:
        """The cell of the card in which a block stands: the next link to a page of a cell."""
        if block.path.split("/")[1] == "cell":
            return block.path.split("/")[2]
        after = self.reading[self.reading.index(block) :]
        links = (link for one in after for link in one.links if "/cell/" in link)
        return next((c for link in links if (c := link.rpartition("/")[2]) in self.cells), "")

    @functools.lru_cache(maxsize=16)  # noqa: B019
    def pool(self, names: tuple[str, ...], with_sentences: bool) -> list[str]:
        found = {text for name in names for text in self.strings(name)}
        return sorted(found | {*(self.sentences if with_sentences else ())}, key=len, reverse=True)

    def same_row(self, block: Block, head: str) -> Block | None:
        at = self.reading.index(block)
        later = (b for b in self.reading[at:] if b.table == block.table and b.head == head)
        return next(later, None)

    def installs_in(self, text: str) -> set[tuple[str, str]]:
        """`Python 3.9 and 3.10: 1.0 to 2.0` as pairs of a Python and a release."""
        found = set[tuple[str, str]]()
        for pythons, releases in re.findall(
            r"Python ([\d., and]+): ([\d., to]+?)(?= Python|$)", text
        ):
            for release in self.spread(releases.strip(), self.subject) or set():
                found |= {(python, release) for python in re.split(r", | and ", pythons)}
        return found

    def card_before(self, block: Block) -> str:
        if block.path.split("/")[1] == "cell":
            return block.path.split("/")[2]
        before = self.reading[: self.reading.index(block)][::-1]
        links = (
            link for one in before for link in one.links if "/cell/" in link or "/lock/" in link
        )
        return next(
            (
                c
                for link in links
                if (c := link.rpartition("/")[2].removesuffix(".txt")) in self.cells
            ),
            "",
        )

    def at_address(self, block: Block) -> list[str]:
        """The cells with the versions that the address of an answer names."""
        where = block.path.split("/")[2].split("-")
        return sorted(set.intersection(*(self.by_version[one] for one in where)))

    @functools.cached_property
    def by_version(self) -> dict[str, set[str]]:
        """The cells of each version, by its name in an address."""
        found: dict[str, set[str]] = defaultdict(set)
        shorts = [axis["short"] for axis in self.axes.values()]
        for cell in {**self.planned, **self.cells}:
            for short, version in zip(shorts, self.at(cell), strict=True):
                found[f"{short}{version}"].add(cell)
        return found

    def row_cells(self, block: Block) -> list[str]:
        """The cells with the versions that a row of a table of answers names."""
        row = [b for b in self.reading if b.row == block.row and b.table == block.table]
        if not block.table:
            return []
        install = next((b.text for b in row if b.head == "Install"), "")
        axis = next((b.text for b in self.reading if b.table == block.table and b.tag == "th"), "")
        return self.cells_of(f"{install} with {axis} {block.row}") if install else []

    @functools.cache  # noqa: B019
    def cells_of(self, said: str) -> list[str]:
        return [c for c in self.cells if has(self, c, said)]

    def row_has(self, block: Block, word: str, on: str = "") -> bool:
        return any(
            (not word or word in self.words(c))
            and (not on or on in {r["started"][:10] for r in self.runs[c] if r["counts"]})
            for c in self.row_cells(block)
        )

    @functools.cache  # noqa: B019
    def ordered(self, axis: str) -> list[str]:
        """The versions of an axis, with those that only cells from before have."""
        every = {*self.axes[axis]["coordinates"], *(self.on(cell, axis) for cell in self.cells)}
        return sorted(every, key=Version)

    def spread(self, text: str, axis: str) -> set[str] | None:
        """The versions of ranges such as `2.8 to 2.11, 2.14`; None where one is no version."""
        return self.spread_over(text, self.axes[axis]["coordinates"])

    @staticmethod
    def spread_over(text: str, every: list[str]) -> set[str] | None:
        found = set[str]()
        for part in text.split(", "):
            first, _, last = part.partition(" to ")
            if first not in every or (last and last not in every):
                return None
            found |= {*every[every.index(first) : every.index(last or first) + 1]}
        return found


def attempts(text: str) -> list[str]:
    """The outcomes of a run, which may have spaces of their own."""
    return re.split(r" (?=(?:plan|lock|install|import|collect|test)-fail:|pass(?: |$))", text)


def iso(day: str) -> str:
    number, month, year = day.split()
    return f"{year}-{MONTHS.index(month) + 1:02d}-{int(number):02d}"


def day(text: str) -> str:
    year, month, number = text[:10].split("-")
    return f"{int(number)} {MONTHS[int(month) - 1]} {year}"


def plain(text: str) -> str:
    """A text as it may stand in a document and on a page alike."""
    text = re.sub(DAY, lambda found: iso(found[0]), text).replace("`", "").lower()
    return " ".join(text.split()).rstrip(".")


Said = re.Match[str]
Check = Callable[[Site, Block, Said], bool]
RULES: list[tuple[str, re.Pattern[str], str, Check]] = []


def rule(pattern: str, of: str = "") -> Callable[[Check], Check]:
    """A rule for the blocks whose whole text has a form; `of` is the kind of page, all if empty."""

    def add(check: Check) -> Check:
        RULES.append((check.__name__, re.compile(pattern), of, check))
        return check

    return add


def cell_in(site: Site, block: Block) -> str:
    """The id of the cell that a block links, or that its page is of."""
    for link in (*block.links, block.path):
        found = re.search(r"/cell/([^/]+)", link)
        if found and found[1] in site.cells:
            return found[1]
    return ""


def linked(site: Site, block: Block) -> str:
    return next((c for link in block.links if (c := link.rpartition("/")[2]) in site.cells), "")


def is_score(site: Site, cell: str, said: str) -> bool:
    said = said.strip().rstrip(".")
    want = site.score(cell)
    row = site.cells[cell]
    stopped = "; the tests did not run to their end"
    return said.lower() in (want, want + stopped) if want else not said and row["passing"] == 0


def is_of(site: Site, cell: str, place: str, word: str, day: str = "", old: str = "") -> bool:
    row = site.cells[cell]
    return (
        site.place(cell) == place
        and word in site.words(cell)
        and (not day or iso(day) == row["latest"])
        and (bool(row["stale"]) == bool(old) or not site.tested(cell))
    )


SIGN = r"(?:[✓✗⊘⊗⊝◐≃≈†○?∅]+[+°*◐✗†]* ?|\+°? ?)?"
VERDICT = rf"(?P<word>{WORD})"
BADGE = rf"{SIGN}{VERDICT}"
BRIEF = {
    "works as of its time": WORDS["dated"],
    "works, old packages": WORDS["decayed"],
    "works with old packages only": WORDS["decayed"],
    "works, pins changed": WORDS["relaxed"],
    "expected to work": EXPECTED["works"],
    "expected to work in part": EXPECTED["partial"],
    "expected to fail": EXPECTED["broken"],
}
SHORT = "|".join(map(re.escape, sorted(BRIEF, key=len, reverse=True)))


def number(text: str) -> int:
    return int(text.replace(",", ""))


def counted(site: Site, cell: str) -> list[str]:
    """The outcomes of the attempts of a cell that count."""
    return [one for run in site.runs[cell] if run["counts"] for one in attempts(run["outcome"])]


def recipe(site: Site, cell: str) -> str:
    document = site.api(f"cells/{cell}")
    if (
        site.cells[cell]["recipe"] == "relaxed"
        and document["lock_digest"]
        and not document["lifted"]
    ):
        return UNCHANGED
    return RECIPES[site.cells[cell]["recipe"]]


def styled(site: Site, block: Block, word: str) -> bool:
    """Whether a verdict is that of the cell which its text links."""
    cell = linked(site, block)
    return bool(cell) and word in site.words(cell)


# The grid, and the grid of a release.


@rule(
    rf"{SIGN}(.+ on Python (.+)): {VERDICT}(, (?:{RECIPE}))?(?:, tested ({DAY}))?(, to be tested again)?(; the release declares it)?",
    "grid release",
)
def place(site: Site, block: Block, said: Said) -> bool:
    cell, every = linked(site, block), site.of_place(said[1])
    if cell:
        row = site.cells[cell]
        return (
            cell in every
            and said["word"] in site.words(cell)
            and (said[2] != site.on(cell, site.python) or said["word"] in site.best(every))
            and said[5] == (day(row["latest"]) if row["latest"] else None)
            and bool(said[6]) == bool(row["stale"] and site.tested(cell))
            and (said[4] is None or said[4][2:] == recipe(site, cell))
        )
    return bool(every) and said["word"] in site.best(every) and not any(map(site.tested, every))


@rule(
    rf"(?:([\d.a-z]+) )?((?:{BADGE.replace('(?P<word>', '(?:')}: (?:alone|[\d., to·]+) ?)+|none|declares [\d., to·]+)",
    "grid release",
)
def answers_of_a_row(site: Site, block: Block, said: Said) -> bool:
    on_grid = block.path.split("/")[1] == "grid"
    label = said[1] or block.row
    version = label if on_grid else block.path.split("/")[2]
    python = (
        block.path.split("/")[2].removeprefix("py") if on_grid else label.removeprefix("Python ")
    )
    if on_grid and python in ("grid", "index.html"):
        return True  # the same page is read at its own address
    best = {}
    every = site.labels("" if on_grid else version, python if on_grid else "all")
    for beside in every:
        cells = [
            c
            for c in site.beside(version, beside)
            if python == "all" or site.on(c, site.python) == python
        ]
        if cells:
            best[beside] = site.best(cells), min(map(site.rank, cells))
    told = dict[str, str]()
    for part in re.finditer(
        rf"{BADGE}: (alone|[\d., to·]+?)(?= ?{BADGE.replace('(?P<word>', '(?:')}:|$)", said[2]
    ):
        spread = site.spread_over(part[2].strip(" ,"), every)
        if spread is None:
            return False
        told |= dict.fromkeys(spread, part["word"])
    proven = {v: words for v, (words, rank) in best.items() if rank <= 1}
    inferred = {v: w for v, (w, _) in best.items() if w & {*EXPECTED.values()}}
    if said[2] == "none" or said[2].startswith("declares"):
        return not proven and not inferred
    return all(v in best and word in best[v][0] for v, word in told.items()) and (
        {*told} == {*(proven or inferred)}
    )


@rule(r"([\d,]+) combinations? tested on (?:Python ([\d.]+)|all Pythons)\.", "grid")
def tested_on(site: Site, block: Block, said: Said) -> bool:
    return number(said[1]) == site.tested_places(said[2])


@rule(r"(?:([\d.]+)|all) ([\d,]+) tested", "grid")
def choice(site: Site, block: Block, said: Said) -> bool:
    return number(said[2]) == site.tested_places(said[1])


@rule(
    r"Not shown: \S+ ([\d., to]+), which no release here declares and with which nothing works\.",
    "grid",
)
def left_out(site: Site, block: Block, said: Said) -> bool:
    python = block.path.split("/")[2].removeprefix("py")
    spread = site.spread(said[1], site.others[0]) or set()
    within = [c for c in site.cells if site.on(c, site.others[0]) in spread]
    return bool(spread) and not any(
        site.rank(c) <= 1
        for c in within
        if python in ("all", "index.html", site.on(c, site.python))
    )


# The page of a cell.


@rule(rf"(?i:{BADGE})(?:, ({RECIPE}))?( to be tested again)?", "cell")
def verdict_line(site: Site, block: Block, said: Said) -> bool:
    cell = cell_in(site, block)
    if block.css != "verdict-line":
        return styled(site, block, said["word"])
    stale = bool(site.cells[cell]["stale"])
    return (
        said["word"] in {w.capitalize() for w in site.words(cell)} | site.words(cell)
        and bool(said[3]) == stale
        and said[2] in (None, recipe(site, cell))
    )


SENTENCES = {
    "work together as published: a plain install": "works",
    "work together as published, with packages of their time": WORDS["dated"],
    "work only with packages of their time": WORDS["decayed"],
    "work together when dependency pins": WORDS["relaxed"],
    "work in part": WORDS["partial"],
    "import, and a part": WORDS["partial"],
    "pass and fail by chance": "flaky",
    "do not work together: a run": "broken",
    "cannot be installed together": "does not install",
    "have no answer yet": "no answer yet",
    "were not tested; tested neighbours on both sides work in part": EXPECTED["partial"],
    "were not tested; tested neighbours on both sides work": EXPECTED["works"],
    "were not tested; tested neighbours on both sides fail": EXPECTED["broken"],
    "are admitted by": "declared",
    "were not tested yet": "not tested",
    "cannot work": WORDS["infeasible"],
    "install and import as published": "works",
    "pass the core of the suite as published": WORDS["dated"],
    "pass the core of the suite, and only": WORDS["decayed"],
    "pass the core of the suite when": WORDS["relaxed"],
}


@rule(
    rf"These versions (.+?)\. (?:Not tested yet\.|Not tested yet: (\d+) attempts? failed without saying anything about the versions\.|(\d+) attempts?(?:, (\d+) passed)?(?:, the last on ({DAY}))?\.(?: (\d+) more attempts? failed without saying anything about the versions\.)?)(?: Isolation level (L\d)\.)?",
    "cell",
)
def summary(site: Site, block: Block, said: Said) -> bool:
    cell = cell_in(site, block)
    row, runs = site.cells[cell], site.runs[cell]
    word = next((word for start, word in SENTENCES.items() if said[1].startswith(start)), "?")
    tries = [one for run in runs for one in attempts(run["outcome"])]
    outcomes = counted(site, cell)
    fits = {w.removesuffix(" (smoke)") for w in site.words(cell)}
    return (
        word in fits
        and (said[2] is None or (int(said[2]) == len(tries) and not outcomes))
        and (said[3] is None or int(said[3]) == len(outcomes))
        and (said[4] is None or int(said[4]) == sum("-fail:" not in one for one in outcomes))
        and (said[5] is None or iso(said[5]) == row["latest"])
        and (said[3] is None or int(said[6] or 0) == len(tries) - len(outcomes))
        and (not runs or said[7] == runs[-1]["isolation"])
    )


@rule(rf"({SCORE})\.?(?: Does not work: (.+)\.)?", "cell")
def score_line(site: Site, block: Block, said: Said) -> bool:
    cell = cell_in(site, block)
    return is_score(site, cell, said[1]) and (said[2] is None or fails_as_said(site, cell, said[2]))


@rule(r"(\d+) capabilit(?:y works|ies work)", "cell")
def how_many_work(site: Site, block: Block, said: Said) -> bool:
    return int(said[1]) == site.letters[cell_in(site, block)].count("y")


@rule(r"(\d+) capabilit(?:y is|ies are) absent: this release has no such API", "cell")
def how_many_are_absent(site: Site, block: Block, said: Said) -> bool:
    return int(said[1]) == site.letters[cell_in(site, block)].count("a")


@rule(
    r"[✗∅] (.+?) (fails in this combination(?:; the cause is not known yet)?"
    r"|fails in every combination of this release"
    r"|not available today: the package index no longer has what it needs"
    r"|looked for .+|this version has no such API)(?: (.+))?",
    "cell",
)
def one_capability(site: Site, block: Block, said: Said) -> bool:
    cell = cell_in(site, block)
    found = next(
        (
            c
            for c in site.api(f"cells/{cell}")["capabilities"]
            if site.titles.get(c["id"]) == said[1]
        ),
        None,
    )
    if block.text.startswith("∅"):
        absent = [
            id for id in site.api(f"cells/{cell}")["absent"] if site.titles.get(id) == said[1]
        ]
        return bool(absent) and site.letter(cell, absent[0]) == "a"
    if found is None:
        return False
    faults = {
        "fails in this": ("combination", "unexplained"),
        "fails in every": ("release",),
        "not available": ("index",),
    }
    good = next((kinds for start, kinds in faults.items() if said[2].startswith(start)), ())
    others = [c for c in site.api(f"cells/{cell}")["capabilities"] if c["id"] != found["id"]]
    why = not said[3] or said[3].startswith(CAUSES.get(found["cause"], "?")) or not found["cause"]
    if said[3] == "for the same reason":
        why = any(other["subject"] == found["subject"] for other in others)
    return found["fault"] in good and site.letter(cell, found["id"]) == "n" and why


@rule(rf"(?:The nearest cell with a better result: )?{SIGN}(.+?): {VERDICT}", "cell")
def neighbour(site: Site, block: Block, said: Said) -> bool:
    cell = linked(site, block)
    if not cell:
        here = cell_in(site, block).partition("+")[0]
        beside = [c for c in (here, f"{here}+dated", f"{here}+relaxed") if c in site.planned]
        own = [c for c in beside if RECIPES[c.partition("+")[2] or "fresh"] == said[1]]
        return any(said["word"] in site.words(c) for c in own) or block.head in ("Older", "Newer")
    about = said[1].removesuffix(f", {recipe(site, cell)}")
    return said["word"] in site.words(cell) and about in (
        site.place(cell),
        recipe(site, cell),
        *site.at(cell),
    )


@rule(r"(\d+) packages? differs?", "cell")
def how_many_differ(site: Site, block: Block, said: Said) -> bool:
    rows = [b for b in site.reading if b.tag == "td" and b.head == "Here"]
    table = max((b.table for b in rows), default=0)
    return int(said[1]) == sum(b.table == table for b in rows)


@rule(r"([\w.!+-]+|not installed)", "cell")
def package(site: Site, block: Block, said: Said) -> bool:
    """A version in a table of packages that differ: of the page's cell, or of the other one."""
    if block.tag == "th":
        return said[1] in site.ordered(site.subject) or said[1] in site.names_of_packages
    if block.tag != "td" or block.head not in ("Here", "There"):
        return False
    green = next(
        (linked(site, b) for b in site.reading if b.text.startswith("The nearest cell")), ""
    )
    cell = cell_in(site, block) if block.head == "Here" else green
    pins = site.pins(cell) if cell else {}
    if pins.get(block.row, "not installed") == said[1]:
        return True
    # What a run on an earlier lock had is in no published document.
    digest = site.api(f"cells/{cell}")["lock_digest"] if cell else None
    return not cell or digest not in {run["lock_digest"] for run in site.runs[cell][-1:]}


@rule(r"(\d+) attempts?, newest first", "cell")
def how_many_attempts(site: Site, block: Block, said: Said) -> bool:
    tries = [one for run in site.runs[cell_in(site, block)] for one in attempts(run["outcome"])]
    return int(said[1]) == len(tries)


@rule(rf"({DAY}), (\d\d:\d\d)", "cell")
def attempt_at(site: Site, block: Block, said: Said) -> bool:
    at = datetime.datetime.fromisoformat(f"{iso(said[1])}T{said[2]}:59+00:00")
    for run in site.runs[cell_in(site, block)]:
        began = datetime.datetime.fromisoformat(run["started"])
        if began <= at <= began + datetime.timedelta(seconds=run["seconds"] + 3660):
            return True
    return False


@rule(r"The lock changes (\d+) requirements? that the release publishes", "cell")
def how_many_lifted(site: Site, block: Block, said: Said) -> bool:
    return int(said[1]) == len(site.api(f"cells/{cell_in(site, block)}")["lifted"])


@rule(
    r"(.+) · (\d+) packages?, each checked by its hash(?: · .+)? · not measured: .+\. The lock file"
)
def lock_line(site: Site, block: Block, said: Said) -> bool:
    names = (link.rpartition("/")[2].removesuffix(".txt") for link in block.links)
    cell = next(name for name in names if name in site.cells)
    text = (site.folder / "lock" / site.matrix / f"{cell}.txt").read_text()
    pins = len(re.findall(r"^[a-z0-9][^ ]*==", text, re.MULTILINE))
    platform = site.api(f"cells/{cell}")["commands"]["platform"]
    return 0 < int(said[2]) <= pins and said[1] == platform


@rule(
    r"(?:Reproduce|Install it|What fails|What this release cannot do|Not counted: tests of the suite's own helpers.*|It has no lock file.*|No other cell does better.*)",
    "cell",
)
def heading_of_a_cell(site: Site, block: Block, said: Said) -> bool:
    cell = cell_in(site, block)
    fails = {"What fails": site.rank(cell) > 0 or site.cells[cell]["state"] == "infeasible"}
    return fails.get(said[0], True)


@rule(r"none known", "cell")
def no_neighbour(site: Site, block: Block, said: Said) -> bool:
    cell = cell_in(site, block)
    axis = next(name for name, one in site.axes.items() if one["label"] == block.row)
    every, here = site.ordered(axis), site.on(cell, axis)
    beyond = every[: every.index(here)] if block.head == "Older" else every[every.index(here) + 1 :]
    return not any(
        site.on(other, axis) in beyond
        and site.cells[other]["recipe"] == site.cells[cell]["recipe"]
        and all(site.on(other, a) == site.on(cell, a) for a in site.axes if a != axis)
        for other in site.cells
    )


@rule(r"(?:[\d.,]+ (?:s|min)|L\d|[\w-]+-\d[\w-]*)", "cell")
def of_an_attempt(site: Site, block: Block, said: Said) -> bool:
    runs = site.runs[cell_in(site, block)]
    if block.head == "Isolation":
        return said[0] in {r["isolation"] for r in runs}
    if block.head == "Machine":
        return said[0] in {r["host"] for r in site.api(f"cells/{cell_in(site, block)}")["runs"]}
    value, unit = said[0].split(" ")
    longest = max(r["seconds"] for r in runs)
    return (
        block.head == "Duration"
        and float(value) * (60 if unit == "min" else 1) <= longest * 1.3 + 1
    )


@rule(r"([\d.,e+-]+) ?(\S*)", "cell charts")
def measured(site: Site, block: Block, said: Said) -> bool:
    kind = block.path.split("/")[1]
    if kind == "charts" or not block.row:
        return kind == "charts"
    return any(
        said[1] in (f"{one['value']:,.0f}", f"{one['value']:.3g}") and said[2] == one["unit"]
        for one in site.api(f"cells/{cell_in(site, block)}")["metrics"]
    )


@rule(rf"(?P<place>.+ on Python [\d.]+): (?P<word>{WORD}|{SHORT})( \(smoke\))?", "cell")
def title_of_a_cell(site: Site, block: Block, said: Said) -> bool:
    cell = linked(site, block) or cell_in(site, block)
    word = BRIEF.get(said["word"], said["word"]) + (said[3] or "")
    return bool(cell) and site.place(cell) == said["place"] and word in site.words(cell)


@rule(rf"{SIGN}(?P<word>{SHORT}|{WORD}|absent)")
def of_a_legend(site: Site, block: Block, said: Said) -> bool:
    """What a legend explains is somewhere: it links nothing, and stands in no row."""
    if block.links or (block.row and block.tag == "td") or block.tag not in ("li", "th"):
        return False
    word = BRIEF.get(said["word"].removesuffix(" (smoke)"), said["word"].removesuffix(" (smoke)"))
    return word in site.said_of_any


# Any page: the name of a place, a card, a chip, a row of a table of answers.


@rule(r"(?:Install )?(.+ on Python [\d.]+)")
def name_of_a_place(site: Site, block: Block, said: Said) -> bool:
    cell = linked(site, block) or (cell_in(site, block) if block.tag in ("h1", "title") else "")
    return (
        site.place(cell) == said[1] if cell else bool(site.of_place(said[1])) and block.tag != "h1"
    )


def tiles(site: Site, text: str) -> dict[str, str] | None:
    """The versions that a text names by the axes' labels, by axis: `demo 2.0, dep 1, Python 3.9`."""
    labels = {axis["label"]: name for name, axis in site.axes.items()}
    found = {}
    for part in re.split(r", | with | on ", text):
        label, _, version = part.strip(" ,").rpartition(" ")
        if label not in labels:
            return None
        found[labels[label]] = version
    return found


def has(site: Site, cell: str, said: str) -> bool:
    """Whether a cell has the versions that a text names: those of its axes, or what its lock has."""
    named = tiles(site, said)
    if named is None:
        return False
    pins = site.pins(cell)
    return all(
        one in (site.on(cell, name), pins.get(site.axes[name]["package"]))
        for name, one in named.items()
    )


@rule(r"(\S+ [\d.]+[\w.]*, .+)", "advise home release cell")
def combination(site: Site, block: Block, said: Said) -> bool:
    """The head of a card: the cell of the card is of these versions."""
    return has(site, site.card(block), said[1])


@rule(rf"{BADGE} Tested ({DAY}) on [^:]+?(?:: ({SCORE}))?\.", "advise home cell")
def tested_line(site: Site, block: Block, said: Said) -> bool:
    cell = site.card(block)
    row = site.cells[cell]
    days = {run["started"][:10] for run in site.runs[cell] if run["counts"]}
    return (
        said["word"] in site.words(cell)
        and iso(said[2]) in days
        and iso(said[2]) <= row["latest"]
        and said[0]
        .partition(" on ")[2]
        .startswith(site.api(f"cells/{cell}")["commands"]["platform"])
        and (said[3] is None or is_score(site, cell, said[3]))
    )


def fails_as_said(site: Site, cell: str, said: str) -> bool:
    told = re.split(r" and (\d+) more$", said.removesuffix("."))
    more = int(told[1]) if told[1:] else 0
    failing = site.failing(cell)
    text = told[0]
    named = [
        title for title in failing if re.search(rf"(?:^|, ){re.escape(title)}(?:,| \(|$)", text)
    ]
    left = text
    for title in sorted(named, key=len, reverse=True):
        cause = site.cause(cell, title)
        left = re.sub(rf"{re.escape(title)}(?: \({re.escape(cause)}\))?", "", left, count=1)
    return len(named) + more == len(failing) and not left.strip(", ")


@rule(r"Does not work: (.+)\.", "advise home cell")
def does_not_work(site: Site, block: Block, said: Said) -> bool:
    return fails_as_said(site, site.card(block), said[1])


@rule(
    r"(\d+) runs? with exactly this lock file on (\d+) days?, isolation level (L\d)\.(?: Test results)?",
    "advise home cell",
)
def runs_of_the_lock(site: Site, block: Block, said: Said) -> bool:
    cell = linked(site, block) or cell_in(site, block)
    digest = site.api(f"cells/{cell}")["lock_digest"]
    runs = [r for r in site.runs[cell] if r["counts"] and r["lock_digest"] == digest]
    whole = [r for r in runs if r["tier"] == "full"] or runs
    days = {r["started"][:10] for r in whole}
    return (int(said[1]), int(said[2]), said[3]) == (len(whole), len(days), whole[-1]["isolation"])


@rule(rf"(.+?) {BADGE}(?: tested on (\d+) days?)?(?: .+)?", "advise home cell")
def proof_line(site: Site, block: Block, said: Said) -> bool:
    cell = next((c for link in block.links if (c := link.rpartition("/")[2]) in site.cells), "")
    if not cell and block.path == "index.html":
        return any(has(site, c, said[1]) and said["word"] in site.words(c) for c in site.cells)
    if not cell:
        return False
    days = {r["started"][:10] for r in site.runs[cell] if r["counts"]}
    return (
        has(site, cell, said[1])
        and said["word"] in site.words(cell)
        and (said[3] is None or 0 < int(said[3]) <= len(days))
    )


@rule(r"(\d+) alternatives?", "advise home cell")
def how_many_alternatives(site: Site, block: Block, said: Said) -> bool:
    return int(said[1]) == sum(
        b.tag == "li" and "/cell/" in " ".join(b.links) and b.section == "" for b in site.reading
    )


@rule(rf"{BADGE}(?: to be tested again)?", "advise home reliability release")
def chip(site: Site, block: Block, said: Said) -> bool:
    if linked(site, block):
        return styled(site, block, said["word"])
    if block.row and block.head and block.tag == "td":
        return site.row_has(block, said["word"])
    return any(said["word"] in site.words(cell) for cell in site.cells)


@rule(rf"({DAY})")
def bare_day(site: Site, block: Block, said: Said) -> bool:
    if block.head == "Last tested":
        return site.row_has(block, "", iso(said[1]))
    path = f"/{site.matrix}/as-of/{iso(said[1])}"
    return any(path in f"/{link}" for link in block.links) or iso(said[1]) in site.days


@rule(rf"({VERSIONED}(?:(?: with | on |, ){VERSIONED})*)", "advise home cell")
def install_words(site: Site, block: Block, said: Said) -> bool:
    return block.head == "Install" and bool(site.row_cells(block))


@rule(
    r"A plain install, (.+?), ((?:works|does not resolve|cannot work|was not|partly|has|is|fails|resolves|could).*)\.",
    "advise home cell",
)
def plain_install_of_a_card(site: Site, block: Block, said: Said) -> bool:
    published = site.api(f"cells/{site.card_before(block)}")["published"]
    return said[1] == published["command"] and plain(said[2]) == plain(published["sentence"])


@rule(r"(?:(\S+(?: \S+)*) )?([\d.]+[\w.]*)", "advise home cell")
def version_of_an_axis(site: Site, block: Block, said: Said) -> bool:
    """A version that leads to the page of its answer."""
    ends = [link.rpartition("/")[2] for link in block.links]
    shorts = {a["short"] for a in site.axes.values()}
    return (
        said[2] in ends
        or any(f"{short}{said[2]}" in ends for short in shorts)
        or (any(said[2] in site.at(end) for end in ends if end in site.cells))
    )


@rule(
    rf"(.+ on Python [\d.]+)(?:: ({SCORE}))?\.(?: No tested combination of this release works\.)? Test results",
    "release",
)
def spoken(site: Site, block: Block, said: Said) -> bool:
    cell, version = linked(site, block), block.path.split("/")[2]
    every = [c for c in site.cells if site.on(c, site.subject) == version and site.tested(c)]
    whole = [c for c in every if site.cells[c]["evidence"] == "tested"]
    every = whole if any(site.rank(c) <= 1 for c in whole) else every
    none_works = "No tested" in block.text
    return (
        site.place(cell) == said[1]
        and is_score(site, cell, said[2] or "")
        and site.rank(cell) == min(map(site.rank, every))
        and (not none_works or site.rank(cell) > 1)
    )


@rule(
    rf"Recommended: (.+?)(?:, {BADGE.replace('(?:[✓✗⊘⊗⊝◐≃≈†○?∅]+[+°*◐✗†]* ?|', '(?:')}(?: \(({SCORE})\))?)?\. How to install it",
    "release",
)
def recommended(site: Site, block: Block, said: Said) -> bool:
    cell = linked(site, block)
    return (
        has(site, cell, said[1])
        and (said["word"] is None or said["word"] in site.words(cell))
        and (said[3] is None or is_score(site, cell, said[3]))
    )


@rule(r"No combination of this release has a test result\.", "release")
def never_tested(site: Site, block: Block, said: Said) -> bool:
    version = block.path.split("/")[2]
    return not any(site.tested(c) for c in site.cells if site.on(c, site.subject) == version)


@rule(r"(\d+) cells? (?:has|have) a page", "release")
def how_many_cells(site: Site, block: Block, said: Said) -> bool:
    version = block.path.split("/")[2]
    return int(said[1]) == sum(site.on(cell, site.subject) == version for cell in site.cells)


@rule(
    rf"{SIGN}(.+ on Python [\d.]+)(?:, ({RECIPE}))?: {VERDICT}(?: \(({SCORE})\))?(?: ({DAY}))?",
    "release",
)
def cell_of_a_release(site: Site, block: Block, said: Said) -> bool:
    cell = linked(site, block)
    return (
        site.place(cell) == said[1]
        and said[2] in (None, recipe(site, cell))
        and said["word"] in site.words(cell)
        and (said[4] is None or is_score(site, cell, said[4]))
        and (said[5] is None or iso(said[5]) == site.cells[cell]["latest"])
    )


OBSTACLES = {
    "excluded by a rule": "excluded",
    "yanked release": "yanked",
    "python version not supported": "requires-python",
    "no matching file on the package index": "no-artifact",
    "conflicting pin": "conflicting-pin",
    "unknown release date": "undated",
    "missing interpreter": "no-interpreter",
}


@rule(
    rf"([\d,]+) cells?: ((?i:{'|'.join(OBSTACLES)}))(?: \(such as (\S+): .*\))?\.?",
    "release advise causes",
)
def ruled_out(site: Site, block: Block, said: Said) -> bool:
    kind, on = block.path.split("/")[1:3]

    def is_of(cell: str) -> bool:
        if kind == "release":
            return site.on(cell, site.subject) == on
        return kind == "causes" or any(
            f"{a['short']}{site.on(cell, n)}" == on for n, a in site.axes.items()
        )

    rows = [
        r
        for c, r in site.planned.items()
        if r["obstacle"] == OBSTACLES[said[2][0].lower() + said[2][1:]] and is_of(c)
    ]
    if kind != "release":
        rows = [r for r in rows if not site.tested(r["cell"])]
    return len(rows) == number(said[1]) and said[3] in (None, *(r["cell"] for r in rows))


@rule(
    rf"(?:Released ({DAY})\. ?)?(?:Requires Python (\S+)\.)?(?: Withdrawn from the index\.)?",
    "release",
)
def released(site: Site, block: Block, said: Said) -> bool:
    document = site.api(f"releases/{site.subject}/{block.path.split('/')[2]}")
    days = {one["uploaded"][:10] for one in document["releases"] if one["uploaded"]}
    return (said[1] is None or iso(said[1]) in days) and (said[2] or None) == (
        document["requires_python"] or None
    )


@rule(r"(\d+) requirements?", "release")
def how_many_requirements(site: Site, block: Block, said: Said) -> bool:
    return int(said[1]) == len(
        site.api(f"releases/{site.subject}/{block.path.split('/')[2]}")["requires_dist"]
    )


PLAIN = {
    "works": "works", "partly works": "partial", "flaky": "flaky", "broken": "broken",
    "resolves, not run": "resolves", "refused": "refused", "ruled out by metadata": "ruled-out",
    "needs a build from source": "needs-build", "Python not supported": "not-admitted",
    "not resolved yet": "not-asked", "installs by metadata": "by-metadata", "no wheel": "no-wheel",
}  # fmt: skip


@rule(
    rf"{SIGN}(?P<plain>{'|'.join(PLAIN)})(?P<smoke> \(smoke\))?(?: (?P<on>\D.+))?", "release plain"
)
def plain_install(site: Site, block: Block, said: Said) -> bool:
    state = PLAIN[said["plain"]] + ("-smoke" if said["smoke"] else "")
    own = site.api("plain-installs")["installs"]
    named = site.index["title"] and {p["title"]: p["name"] for p in site.platforms}
    if block.path.split("/")[1] == "release":
        version = block.path.split("/")[2]
        where, _, pythons = re.sub(r" and \d+ more$", "", block.row).rpartition("Python ")
        every = site.ordered(site.python)
        platform = named.get(where.rstrip(", "))
        on = (
            re.split(r", | and ", pythons)
            if platform
            else [p for p in every if p in (site.spread_in(pythons, every))]
        )
        rows = site.elsewhere if platform else own
        return bool(on) and all(
            any(
                r["state"] == state
                for r in rows
                if r["release"] == version
                and r["python"] == p
                and platform in (None, r["platform"])
            )
            for p in on
        )
    if not block.row or block.head in ("", "Answer"):  # the legend, and the reasons
        return any(r["state"] == state for r in (*own, *site.elsewhere))
    platform = named.get(block.head)
    releases = site.spread(block.row, site.subject) or set()
    rows = site.elsewhere if platform else own
    states = {
        r["release"]: {
            o["state"]
            for o in rows
            if o["release"] == r["release"]
            and (o["platform"] == platform if platform else o["python"] == block.head)
        }
        for r in own
        if r["release"] in releases
    }
    return bool(states) and all(state in found for found in states.values())


@rule(
    r"What pip install \S+==RELEASE does today\. (\d+) of (\d+) answers? for .+? come from a resolver(?:, the newest on (.+?))?\. .*",
    "plain",
)
def resolver_answers(site: Site, block: Block, said: Said) -> bool:
    installs = site.api("plain-installs")["installs"]
    days = [one["on"] for one in installs if one["ground"] == "resolver"]
    newest = max(days, default=None)
    return (int(said[1]), int(said[2])) == (len(days), len(installs)) and (
        (said[3] and iso(said[3])) == newest
    )


@rule(r"(\d+) reasons?, with the releases", "plain")
def how_many_reasons(site: Site, block: Block, said: Said) -> bool:
    return int(said[1]) == sum(b.tag == "td" and b.head == "Reason" for b in site.reading)


@rule(r"([\d,]+)", "plain")
def how_many_installs(site: Site, block: Block, said: Said) -> bool:
    row = site.same_row(block, "Releases")
    return (
        block.head == "Installs"
        and row is not None
        and number(said[1]) == len(site.installs_in(row.text))
    )


@rule(r"(Python [\d., and]+: [\d., to]+(?: Python [\d., and]+: [\d., to]+)*)", "plain")
def releases_of_a_reason(site: Site, block: Block, said: Said) -> bool:
    word = re.sub(rf"^{SIGN}", "", block.row)
    state = next(
        (s for w, s in sorted(PLAIN.items(), key=lambda i: -len(i[0])) if word.startswith(w)), ""
    )
    rows = [*site.api("plain-installs")["installs"], *site.elsewhere]
    known = {(r["python"], r["release"]) for r in rows if r["state"].startswith(state)}
    found = site.installs_in(said[1])
    return bool(found) and found <= known


@rule(
    r"No release of (\S+) installs on (.+?) as published, by what is known(?:; the newest that may, once something is built there: (\S+), on Python [\d., and]+)?\.(?: What to do on .+| All platforms and reasons)?",
    "plain advise",
)
def none_installs(site: Site, block: Block, said: Said) -> bool:
    platform = next(p["name"] for p in site.platforms if p["title"] == said[2])
    rows = [r for r in site.elsewhere if r["platform"] == platform]
    builds = [r["release"] for r in rows if r["state"] == "needs-build"]
    return not any(r["state"] in ("resolves", "by-metadata", "works") for r in rows) and (
        said[3] is None or said[3] == max(builds, key=site.ordered(site.subject).index)
    )


# Capabilities.


STATUS = {"works": "y", "fails": "n", "absent": "a", "not tested": "-"}
MARKS = {"✓": "y", "✗": "n", "∅": "a", "?": "-"}


@rule(
    r"([\w.!+-]+) \1: (works|fails|absent|not tested)(, another cell of this release has a different result)? ([✓✗∅?])(\*?)",
    "cap",
)
def mark(site: Site, block: Block, said: Said) -> bool:
    cell, name = linked(site, block), block.path.split("/")[2]
    told = STATUS[said[2]] == MARKS[said[4]]
    if name not in site.asked:
        return told
    others = {site.letter(c, name) for c in site.cells if site.on(c, site.subject) == said[1]} - {
        "-",
        STATUS[said[2]],
    }
    return (
        told
        and said[1] == site.on(cell, site.subject)
        and site.letter(cell, name) == STATUS[said[2]]
        and (not said[5] or bool(others))
        and bool(said[5]) == bool(said[3])
    )


def stretch(site: Site, name: str, status: str, where: str) -> bool:
    """Whether `since 1.2`, `until 1.0` or `in 1.0 to 1.2` holds by the cells that stand for the
    releases, and no further.
    """
    series = site.series(name)
    if where == "in every release tested for it":
        return {one for _, one in series} == {STATUS[status]}
    match = re.fullmatch(r"(since|until|in) (\S+?)(?: to (\S+))?", where)
    versions = [version for version, _ in series]
    if match is None or match[2] not in versions or (match[3] or match[2]) not in versions:
        return False
    at = versions.index(match[2])
    end = versions.index(match[3]) if match[3] else at
    begin, end = {"since": (at, len(versions) - 1), "until": (0, at)}.get(match[1], (at, end))
    inside = {one for _, one in series[begin : end + 1]}
    beside = {one for _, one in (*series[max(0, begin - 1) : begin], *series[end + 1 : end + 2])}
    return inside == {STATUS[status]} and STATUS[status] not in beside


@rule(
    r"(Works|Fails|Absent) (in every release tested for it|(?:since|until|in) \S+?(?: to \S+?)?)(?:[,:] .+)?\.",
    "cap",
)
def statement(site: Site, block: Block, said: Said) -> bool:
    name = block.path.split("/")[2]
    return name not in site.asked or stretch(site, name, said[1].lower(), said[2])


@rule(r"Not tested in any release yet\.", "cap")
def no_statement(site: Site, block: Block, said: Said) -> bool:
    return not site.series(block.path.split("/")[2])


@rule(r"(\S+)(?: to (\S+) \((\d+) tested\))?", "cap")
def consecutive(site: Site, block: Block, said: Said) -> bool:
    name = block.path.split("/")[2]
    versions = [version for version, _ in site.series(name)]
    if name not in site.asked or said[1] not in versions:
        return name not in site.asked or not re.match(r"\d", said[1])
    inside = versions[versions.index(said[1]) : versions.index(said[2] or said[1]) + 1]
    return said[3] is None or int(said[3]) == len(inside)


@rule(r"[✓✗∅] (works|fails|absent)", "cap")
def of_a_stretch(site: Site, block: Block, said: Said) -> bool:
    name, first = block.path.split("/")[2], block.row.split(" ")[0]
    return name not in site.asked or dict(site.series(name)).get(first) == STATUS[said[1]]


@rule(
    r"((?:[✓✗∅] (?:works|fails|absent) (?:in every release tested for it|(?:since|until|in) \S+?(?: to \S+?)?)(?: |$))+)",
    "cap",
)
def ranges_of_a_capability(site: Site, block: Block, said: Said) -> bool:
    name = site.by_title.get(block.row, "")
    parts = re.findall(
        r"[✓✗∅] (works|fails|absent) (in every release tested for it|(?:since|until|in) \S+(?: to \S+)?)",
        said[1],
    )
    return bool(parts) and all(stretch(site, name, status, where) for status, where in parts)


@rule(
    r"(\d+) capabilit(?:y|ies), each checked by one test of the suite(?:, in (\d+) tested releases? from (\S+) to (\S+))?\.",
    "cap",
)
def how_many_capabilities(site: Site, block: Block, said: Said) -> bool:
    releases = [v for v, _ in site.representatives.items()]
    return int(said[1]) == len(site.asked) and (
        said[2] is None
        or (int(said[2]), said[3], said[4]) == (len(releases), releases[0], releases[-1])
    )


@rule(r"(\d+) tests? of helper files that the suite offers.*", "cap")
def how_many_helpers(site: Site, block: Block, said: Said) -> bool:
    return int(said[1]) == sum(one["of_helper"] for one in site.capabilities)


@rule(r"and (\d+) more", "cap causes")
def and_more(site: Site, block: Block, said: Said) -> bool:
    at = site.reading.index(block)
    listed = 0
    while at and linked(site, site.reading[at - 1]) and site.reading[at - 1].tag == "li":
        at, listed = at - 1, listed + 1
    total = next((m for b in site.reading if (m := re.match(r"(\d+) cells? of ", b.text))), None)
    return int(said[1]) == int(total[1]) - listed if total else int(said[1]) > 0


# Causes, changes, coverage.


@rule(rf"([\d,]+) cells? of (\S+) ([\w., ]+?)(?:, since ({DAY}))?\.", "causes")
def cells_of_a_cause(site: Site, block: Block, said: Said) -> bool:
    outcome = next((b.text for b in site.reading if b.tag == "p" and "-fail:" in b.text), "")
    rows = site.by_cause(outcome)
    if "/undecided-" in block.path:  # what the newest attempts of cells without a verdict say
        rows = [site.cells[c] for b in site.reading if (c := linked(site, b))]
        for row in rows:
            every = {
                site.cause_of(o) for run in site.runs[row["id"]] for o in attempts(run["outcome"])
            }
            if row["verdict"] != "unknown" or outcome not in every:
                return False
    days = [row["since"] for row in rows if row["since"]]
    releases = {site.on(row["id"], site.subject) for row in rows}
    return (
        number(said[1]) == len(rows)
        and site.spread_over(said[3], site.ordered(site.subject)) == releases
        and (said[4] is None or iso(said[4]) == min(days))
    )


@rule(r"([\d,]+)", "causes")
def number_of_cells(site: Site, block: Block, said: Said) -> bool:
    return number(said[1]) == len(site.row_of_cause(block))


@rule(r"(\S+)(?: to (\S+) \((\d+)\))?", "causes")
def span(site: Site, block: Block, said: Said) -> bool:
    if block.head != "Releases":
        return not re.match(r"\d", said[1])
    every = site.ordered(site.subject)
    found = sorted(
        {site.on(r["id"], site.subject) for r in site.row_of_cause(block)}, key=every.index
    )
    return (said[1], said[2] or said[1], int(said[3] or 1)) == (found[0], found[-1], len(found))


@rule(r"([\d,]+) cells?, for (\d+) reasons?", "causes")
def inferred(site: Site, block: Block, said: Said) -> bool:
    return number(said[1]) == sum(row["evidence"] == "inferred" for row in site.planned.values())


@rule(r"(\d+) verdicts? changed so far: .+ (\d+) first results? changed nothing .+", "changes")
def how_many_changed(site: Site, block: Block, said: Said) -> bool:
    changes = site.api("changes")
    kinds = Counter(one["kind"] == "new" for one in changes["changes"])
    return changes["left_out"] > 0 or (int(said[1]), int(said[2])) == (kinds[False], kinds[True])


@rule(rf"({DAY}): ([\d,]+)", "changes")
def firsts(site: Site, block: Block, said: Said) -> bool:
    new = [
        o
        for o in site.api("changes")["changes"]
        if o["kind"] == "new" and o["moment"][:10] == iso(said[1])
    ]
    return site.api("changes")["left_out"] > 0 or number(said[2]) == len(new)


@rule(
    rf"{SIGN}(.+ on Python [\d.]+)(?:, (?:{RECIPE}))?: (?:was: ({WORD}), now: )?{VERDICT}\. ({DAY}): .+",
    "changes home",
)
def news(site: Site, block: Block, said: Said) -> bool:
    cell = linked(site, block)
    on = [
        o
        for o in site.api("changes")["changes"]
        if o["cell"] == cell and o["moment"][:10] == iso(said[4])
    ]
    kinds = {
        "works": "works",
        "partly works": "partial",
        "flaky": "flaky",
        "broken": "broken",
        "does not install": "broken",
    }
    kind = lambda word: next((k for w, k in kinds.items() if word.startswith(w)), "unknown")  # noqa: E731
    return site.place(cell) == said[1] and any(
        kind(said["word"]) == o["after"] and (said[2] is None or kind(said[2]) == o["before"])
        for o in on
    )


@rule(
    r"([\d,]+) cells?: (.+?); newest (.+?), oldest (.+?), (\d+) flaky, (\d+) to be tested again",
    "home reliability",
)
def health(site: Site, block: Block, said: Said) -> bool:
    counts, rows = site.index["counts"], [*site.cells.values()]
    words = {"tested": "tested", "ruled out before any run": "ruled_out", "inferred from tested neighbours": "expected",
             "known to fail without a run": "refused", "undecided after a run": "undecided"}  # fmt: skip
    own = {
        "tested": sum(map(site.tested, site.planned)),
        "ruled_out": sum(
            r["obstacle"] is not None and not site.tested(c) and r["evidence"] != "asked"
            for c, r in site.planned.items()
        ),
        "expected": sum(
            r["verdict"] == "unknown" and r["expected"] is not None for r in site.planned.values()
        ),
    }
    latest = [r["latest"] for r in rows if r["latest"]]
    for words_of, key in words.items():
        told = re.search(rf"([\d,]+) {words_of}", said[2])
        if told and number(told[1]) != own.get(key, counts[key]):
            return False
    return (
        number(said[1]) == len(site.planned)
        and (iso(said[3]), iso(said[4])) == (max(latest), min(latest))
        and int(said[5]) == sum(r["verdict"] == "flaky" for r in rows)
        and int(said[6]) == sum(bool(r["stale"]) for c, r in site.cells.items() if site.tested(c))
    )


@rule(r"([\d,]+)", "reliability as-of")
def figure(site: Site, block: Block, said: Said) -> bool:
    value, label = number(said[1]), ""
    at = site.reading.index(block)
    if block.tag == "dd":
        label = site.reading[at - 1].text
    known = site.cells
    own = {
        "runs kept": sum(map(len, site.runs.values())),
        "attempts in them": sum(
            len(attempts(r["outcome"])) for runs in site.runs.values() for r in runs
        ),
        "flaky": sum(r["verdict"] == "flaky" for r in known.values()),
        "to be tested again": sum(bool(r["stale"]) for c, r in known.items() if site.tested(c)),
        "undecided after a run": site.index["counts"]["undecided"],
        "cells ruled out before any run": site.index["counts"]["ruled_out"],
        "cells that could run and have no verdict": len(site.planned)
        - sum(map(site.tested, site.planned))
        - site.index["counts"]["ruled_out"],
    }
    if label:
        return own[label] == value
    if block.path.split("/")[1] == "as-of":
        kinds = Counter(site.api(f"as-of/{block.path.split('/')[2]}")["verdicts"].values())
        word = next(
            (
                k
                for k, w in (
                    *WORDS.items(),
                    ("works", "works"),
                    ("broken", "broken"),
                    ("unknown", "not tested"),
                )
                if w == block.row
            ),
            "",
        )
        return kinds[word] == value
    if re.fullmatch(r"L\d", block.row):
        return value == sum(
            r["isolation"] == block.row for runs in site.runs.values() for r in runs
        )
    word = re.sub(rf"^{SIGN}", "", block.row)
    return value == sum(word in site.words(cell) for cell in known)


@rule(r"(\S+-fail:\S+|\S+) ([\d,]+) times?", "reliability")
def ignored(site: Site, block: Block, said: Said) -> bool:
    every = Counter(
        o.partition("(")[0]
        for runs in site.runs.values()
        for r in runs
        for o in attempts(r["outcome"])
    )
    counting = Counter(
        o.partition("(")[0]
        for runs in site.runs.values()
        for r in runs
        if r["counts"]
        for o in attempts(r["outcome"])
    )
    return (
        0 < number(said[2]) <= every[said[1]]
        and number(said[2]) >= every[said[1]] - counting[said[1]]
    )


@rule(rf"(.+ on Python [\d.]+), ({DAY})", "reliability")
def oldest(site: Site, block: Block, said: Said) -> bool:
    cell = linked(site, block)
    return site.place(cell) == said[1] and iso(said[2]) == site.cells[cell]["latest"]


@rule(rf"(\d+) combinations? tested by the end of ({DAY})\. .*", "as-of")
def tested_by(site: Site, block: Block, said: Said) -> bool:
    document = site.api(f"as-of/{iso(said[2])}")
    began = {
        c
        for c, runs in site.runs.items()
        if any(r["counts"] and r["started"][:10] <= iso(said[2]) for r in runs)
    }
    return int(said[1]) == len(document["verdicts"]) and set(document["verdicts"]) <= began | set(
        site.runs
    )


@rule(r"(\d+) combinations? (?:was|were) tested for the first time after that day\.", "as-of")
def first_after(site: Site, block: Block, said: Said) -> bool:
    past = site.api(f"as-of/{block.path.split('/')[2]}")["verdicts"]
    return int(said[1]) == sum(site.tested(cell) and cell not in past for cell in site.cells)


@rule(r"(.+ on Python [\d.]+), .+: (.+) then, (.+) now", "as-of")
def then_and_now(site: Site, block: Block, said: Said) -> bool:
    cell, day_of = linked(site, block), block.path.split("/")[2]
    kinds = {"works": "works", "broken": "broken", **{v: k for k, v in WORDS.items()}}
    kinds["no answer yet"] = "unknown"
    past = site.api(f"as-of/{day_of}")["verdicts"]
    return (kinds[said[2]], kinds[said[3]]) == (past[cell], site.cells[cell]["verdict"])


@rule(rf"{BADGE} (.+)", "index")
def best_of_a_library(site: Site, block: Block, said: Said) -> bool:
    return any(
        has(one, c, said[2]) and said["word"] in one.words(c)
        for one in site.libraries
        for c in one.cells
    )


@rule(rf"(\d+) combinations? tested(?:, the newest on ({DAY}))?", "index")
def on_a_card(site: Site, block: Block, said: Said) -> bool:
    at = site.reading.index(block)
    heads = (link for b in reversed(site.reading[:at]) for link in b.links)
    name = next(heads, "").strip("/").split("/")[0]
    site = next((one for one in site.libraries if one.matrix == name), site)
    latest = [r["latest"] for r in site.cells.values() if r["latest"]]
    tested = sum(site.tested(cell) for cell in site.cells if cell in site.planned)
    return int(said[1]) == tested and (said[2] is None or iso(said[2]) == max(latest))


@rule(r".*")
def named_by_its_address(site: Site, block: Block, said: Said) -> bool:
    """A heading, a crumb or a link: its numbers are those of the addresses that it has."""
    is_name = (
        block.tag in ("title", "h1", "h2")
        or block.css == "crumbs"
        or (block.tag in ("li", "th", "dd", "p", "td", "div") and bool(block.links))
    )
    if not is_name or re.search(WORD.replace("works|", "") + r"|\d cells?:|: works", block.text):
        return False
    text = re.sub(DAY, lambda found: iso(found[0]), block.text)
    numbers = re.compile(r"\d+(?:\.\d+)*|(?<=py)\d[\d.]*")
    heads = " ".join(b.text for b in site.reading if b.tag == "h1") if block.tag == "title" else ""
    days = re.sub(DAY, lambda found: iso(found[0]), heads)
    known = {*numbers.findall(" ".join((block.path, *block.links, days)))}
    own = numbers.findall(text)
    return set(own) <= known and (bool(own) or block.tag in ("title", "h1", "h2"))


@rule(
    r"(.+?) (?:has no file for Python|requires) (.+?)(?:, not (\S+))? \(([\d,]+) cells?\)", "causes"
)
def obstacle_of_cells(site: Site, block: Block, said: Said) -> bool:
    """How many cells an obstacle rules out: those of the versions that its sentence names."""
    labels = {axis["label"]: name for name, axis in site.axes.items()}
    name, _, version = said[1].rpartition(" ")
    second = re.match(r"(\S+) on ", said[2])
    first_axis = labels.get(name)
    if first_axis is None:
        return False
    where = {first_axis: version}
    if second:
        where[site.python], kind = second[1], "no-artifact"
    elif said[3]:
        asked = said[2].split(" ")[0]
        where[labels.get(asked, site.python)], kind = (
            said[3],
            "requires-python" if asked == "Python" else "conflicting-pin",
        )
    else:
        return number(said[4]) <= len(site.planned)
    rows = [c for c, r in site.planned.items() if r["obstacle"] == kind and not site.tested(c)
            and all(site.on(c, a) == v for a, v in where.items())]  # fmt: skip
    return 0 < number(said[4]) <= len(rows)


@rule(r"(inferred: .+) \(([\d,]+) cells?\)", "causes")
def inferred_cells(site: Site, block: Block, said: Said) -> bool:
    every = {**site.planned, **site.cells}
    named = [c for c in re.findall(r"[a-z]+\d[\w.]*-[\w.+-]+", said[1]) if c in every]
    return 0 < number(said[2]) <= sum(
        r["evidence"] == "inferred" for r in site.planned.values()
    ) and bool(named)


@rule(r"The smallest change that makes it work: (.+)\.", "advise")
def smallest_change(site: Site, block: Block, said: Said) -> bool:
    cell = site.card_before(block)
    uses = re.findall(r"use ((?:\S+ )+?)([\w.!+]+)(?= \(|;|$)", said[1])
    return all(has(site, cell, f"{name}{version}") for name, version in uses)


@rule(r"(.+); as published none of the (\d+) other releases fits\.", "advise")
def none_of_the_others(site: Site, block: Block, said: Said) -> bool:
    cells = site.at_address(block)
    fresh = [c for c in cells if "+" not in c]
    return int(said[2]) < len(site.ordered(site.subject)) and all(
        site.planned[c]["obstacle"] is not None or site.rank(c) > 1
        for c in fresh
        if c in site.planned
    )


@rule(
    r"(\d+) combinations? that fits?(?: once pins are lifted)? could work and (?:was|were) never run, such as (\S+)\.",
    "advise",
)
def never_run(site: Site, block: Block, said: Said) -> bool:
    cells = [c for c in site.at_address(block) if c in site.planned]
    possible = [c for c in cells if not site.tested(c) and site.planned[c]["obstacle"] is None]
    return said[2] in possible and int(said[1]) <= len(possible)


@rule(
    r"(.+?): (no tested combination works|no release can be installed with it|not supported: .+?)(?:; (\S+) (\S+) requires Python (\S+))?\. The nearest tested combination:",
    "advise",
)
def nothing_fits(site: Site, block: Block, said: Said) -> bool:
    cells, named = site.at_address(block), tiles(site, said[1].replace(" and ", ", "))
    closed = all(site.planned[c]["obstacle"] for c in cells if c in site.planned)
    own = [v for v in site.ordered(site.subject) if f"{said[4]}.".startswith(f"{v}.")]
    documents = [site.api(f"releases/{site.subject}/{v}") for v in own]
    required = not said[4] or said[5] in {d["requires_python"] for d in documents}
    address = block.path.split("/")[2].split("-")
    return (
        required
        and named is not None
        and sorted(f"{site.axes[n]['short']}{v}" for n, v in named.items()) == sorted(address)
        and (said[2].startswith("no tested") or closed)
    )


@rule(r"No tested combination with (\d+) versions of .+", "advise")
def without(site: Site, block: Block, said: Said) -> bool:
    return int(said[1]) <= max(len(axis["coordinates"]) for axis in site.axes.values())


@rule(rf"{BADGE} ([\w.,! to+-]+?)(?: Test results: (.+))?", "advise")
def releases_by_verdict(site: Site, block: Block, said: Said) -> bool:
    cells = site.at_address(block)
    spread = site.spread(said[2], site.subject)
    return spread is not None and all(
        said["word"] in site.best(of)
        for v in spread
        if (of := [c for c in cells if site.on(c, site.subject) == v])
    )


@rule(r"([\d,]+) cells?: (.+)\.", "advise")
def cells_that_failed(site: Site, block: Block, said: Said) -> bool:
    tested = [c for c in site.at_address(block) if site.tested(c)]
    means = [plain(site.api(f"cells/{c}")["sentence"] or "") for c in tested]
    return number(said[1]) == means.count(plain(said[2]))


@rule(r"(\S+(?: · \S+)*)(?: (\d{4}))?", "grid release")
def head_of_a_column(site: Site, block: Block, said: Said) -> bool:
    """A version on each axis, and the year in which the last of them came out."""
    versions = said[1].split(" · ")
    if block.tag != "th" or said[1] not in site.labels("", "all"):
        return False
    releases = [
        one
        for axis, version in zip(site.others, versions, strict=True)
        for one in site.api(f"releases/{axis}/{version}")["releases"]
    ]
    return not said[2] or said[2] in {one["uploaded"][:4] for one in releases if one["uploaded"]}


@rule(r"(?:What works with )?.+ on (?:any Python|Python (\S+?))(?:, .+)?\??", "grid")
def title_of_a_grid(site: Site, block: Block, said: Said) -> bool:
    at = block.path.split("/")[2]
    if at != "index.html":
        return at == (f"py{said[1]}" if said[1] else "all")
    tested = [p for p in site.ordered(site.python) if site.tested_places(p)]
    return not tested or said[1] == tested[-1]


@rule(r"in a new environment of Python (\S+)", "advise home cell")
def environment(site: Site, block: Block, said: Said) -> bool:
    return site.on(site.card(block), site.python) == said[1]


@rule(
    r"To be tested again: the newest run that counts is (\d+) days old, and fresh are at most (\d+)\.",
    "advise home cell",
)
def too_old(site: Site, block: Block, said: Said) -> bool:
    latest = datetime.date.fromisoformat(site.cells[site.card_before(block)]["latest"])
    age = (datetime.date.fromisoformat(site.index["day"]) - latest).days
    return (int(said[1]), int(said[2])) == (age, site.index["fresh_days"])


@rule(r"((?:Released on|Upstream|Its window|It is the minimum) .+)", "advise")
def support(site: Site, block: Block, said: Said) -> bool:
    bars = site.api("schedule")["bars"]
    at = block.path.split("/")[2]
    own = [b for b in bars if f"{site.axes[b['axis']]['short']}{b['version']}" == at]
    days = {
        one for bar in own for one in (bar["released"], bar["until"], bar["end_of_life"]) if one
    }
    told = {iso(one) for one in re.findall(DAY, said[1])}
    floor = "minimum version of this matrix now" in said[1]
    return not bars or (told <= days and floor == any(bar["is_floor"] for bar in own))


@rule(
    r"(?:Python )?([\d., and to]+)|L\d|(.+), Python ([\d., and]+?(?: and \d+ more)?)",
    "release reliability plain",
)
def head_of_a_row(site: Site, block: Block, said: Said) -> bool:
    text = said[1] or said[3]
    pythons = re.split(r", | and | to ", re.sub(r" and \d+ more$", "", text)) if text else []
    return block.tag == "th" and (
        all(one in site.ordered(site.python) for one in pythons)
        or (
            block.path.split("/")[1] == "plain"
            and site.spread(block.text, site.subject) is not None
        )
    )


REASONS = {
    "It installs, and the suite finds no": "works", "It installs, imports and passes the core": "works (smoke)",
    "It installs and imports; some": "partly works", "It installs and imports; a part": "partly works (smoke)",
    "It installs; the suite": "flaky", "It installs; the core": "flaky (smoke)", "It was run and fails": "broken",
    "A run of the suite's core": "broken (smoke)", "A resolver finds packages": "resolves, not run",
    "A resolver finds no": "refused", "A package has no wheel here": "needs a build from source",
    "By metadata": "ruled out by metadata", "The release's own metadata": "Python not supported",
    "No resolver has run": "not resolved yet", "Wheel tags and known": "installs by metadata",
}  # fmt: skip


@rule(
    r"(?:Such as: )?([A-Z].+?\.)(?: (?:Tested|Asked|Declared|Locked|By metadata)(?: on (.+))?\.)?",
    "plain release",
)
def reason(site: Site, block: Block, said: Said) -> bool:
    head = re.sub(rf"^{SIGN}", "", block.row) if block.head == "Reason" else ""
    own = head or next(
        (b.text for b in site.reading if b.row == block.row and b.head == "Answer"), ""
    )
    word = next((word for start, word in REASONS.items() if said[1].startswith(start)), "")
    if not word and plain(said[1].partition(", at ")[0]) in site.sentences:
        word = "broken"
    return bool(word) and word in own and (said[2] is None or iso(said[2]) in site.asked_days)


@rule(
    r"No release installs on (.+?)\. Use the Docker tab, or Colab\. Both run .+\.|Not tested on (.+?)\. .+",
    "advise",
)
def elsewhere(site: Site, block: Block, said: Said) -> bool:
    platform = next(p["name"] for p in site.platforms if p["title"] == (said[1] or said[2]))
    states = {r["state"] for r in site.elsewhere if r["platform"] == platform}
    return bool(states & {"resolves", "by-metadata", "works"}) == bool(said[2])


@rule(
    r"(no tested combination works|no release can be installed with it|not supported: .+?)(?:; (\S+) (\S+) requires Python (\S+))?",
    "advise home cell",
)
def nothing_in_a_row(site: Site, block: Block, said: Said) -> bool:
    own = [v for v in site.ordered(site.subject) if f"{said[3]}.".startswith(f"{v}.")]
    documents = [site.api(f"releases/{site.subject}/{v}") for v in own]
    return block.tag == "td" and (
        not said[3] or said[4] in {d["requires_python"] for d in documents}
    )


@rule(
    r"(\d+) more releases? of \S+ (?:was|were) not tested on (?:Python (\S+)|all Pythons), and cannot be installed there as published\.",
    "grid",
)
def hidden(site: Site, block: Block, said: Said) -> bool:
    """What has no row on the page: none of it was tested there."""
    at = [c for c in {**site.planned, **site.cells} if said[2] in (None, site.on(c, site.python))]
    every = {site.on(c, site.subject) for c in at}
    rows = {
        b.text
        for b in site.reading
        if b.tag == "th" and any("/release/" in link for link in b.links)
    }
    tested = {site.on(c, site.subject) for c in at if site.tested(c)}
    return int(said[1]) == len(every - rows) and tested <= rows


@rule(r"((?:plan|lock|install|import|collect|test)-fail:.+)", "causes")
def outcome_of_a_cause(site: Site, block: Block, said: Said) -> bool:
    return block.text in site.causes


@rule(r"(.+?)…", "causes")
def title_of_a_cause(site: Site, block: Block, said: Said) -> bool:
    heads = [b.text for b in site.reading if b.tag == "h1"]
    return block.tag == "title" and heads[0].startswith(said[1])


@rule(r"(.+?\.)(?: known)?", "causes")
def name_of_a_cause(site: Site, block: Block, said: Said) -> bool:
    """A cause in the table is called as on its own page."""
    if block.tag != "th" or not block.links:
        return False
    path = f"{block.links[0]}/index.html"
    blocks = Reader(path, (site.folder / path).read_text(encoding="utf-8")).blocks
    return next(b.text for b in blocks if b.tag == "h1") == said[1] and bool(
        site.row_of_cause(block)
    )


@rule(
    r"Audited: of (\d+) inferred cells? asked on (.+?), (\d+) agree; at 95 % at most ([\d.]+) % are wrong\.",
    "causes cell",
)
def audited(site: Site, block: Block, said: Said) -> bool:
    """The bound is that share of wrong ones with which so few, or fewer, are met once in 20."""
    every, agree, share = int(said[1]), int(said[3]), float(said[4]) / 100

    def few(p: float) -> float:
        terms = range(every - agree + 1)
        return sum(math.comb(every, n) * p**n * (1 - p) ** (every - n) for n in terms)

    fits = share == 1 if not agree else few(share) <= 0.05 <= few(share - 0.002)
    return agree <= every and iso(said[2]) <= site.index["day"] and fits


@rule(
    r"(?:No set of packages satisfies it: )?[Tt]he package index has no (?:wheel of )?(\S+?)(?: for this Python)?\. Asked on (.+)\.",
    "release plain",
)
def index_lacks(site: Site, block: Block, said: Said) -> bool:
    rows = site.api("plain-installs")["installs"]
    on_release = block.path.split("/")[2] if block.path.split("/")[1] == "release" else None
    return any(
        r["outcome"] == f"lock-fail:no-artifact({said[1]})"
        and r["on"] == iso(said[2])
        and on_release in (None, r["release"])
        for r in rows
    )


@rule(r"\S.*", "release")
def requirement(site: Site, block: Block, said: Said) -> bool:
    document = site.api(f"releases/{site.subject}/{block.path.split('/')[2]}")
    return block.tag == "li" and block.text in document["requires_dist"]


@rule(r"(\S+?):(\d+): (.+)|and (\d+) more (.+)", "release")
def place_of_a_need(site: Site, block: Block, said: Said) -> bool:
    version = block.path.split("/")[2]
    floors = site.api("floors")["python"]
    floor = next(f for f in floors if f"{f['release']}.".startswith(f"{version}."))
    needs = [g for g in floor["needs"] or [] if g["series"] == floor["series"]]
    if said[4]:
        return int(said[4]) in {g["places"] - len(g["first"]) for g in needs}
    return any((p["file"], p["line"], plain(p["feature"])) == (said[1], int(said[2]), plain(said[3]))
               for g in needs for p in g["first"])  # fmt: skip


def bars(site: Site, name: str) -> list[dict[str, Any]]:
    label, _, version = name.rpartition(" ")
    return [
        b
        for b in site.api("schedule")["bars"]
        if site.axes[b["axis"]]["label"] == label and b["version"] == version
    ]


@rule(
    rf"(.+ \S+): (?:in its window until ({DAY})|its window has no end yet)(?:, upstream support until ({DAY}))?",
    "roadmap",
)
def bar(site: Site, block: Block, said: Said) -> bool:
    told = (said[2] and iso(said[2]), said[3] and iso(said[3]))
    return any((b["until"], b["end_of_life"]) == told for b in bars(site, said[1]))


@rule(rf"({DAY})", "roadmap")
def day_of_a_bar(site: Site, block: Block, said: Said) -> bool:
    key = {"released": "released", "window ends": "until", "upstream support ends": "end_of_life"}[
        block.head
    ]
    return any(b[key] == iso(said[1]) for b in bars(site, block.row))


@rule(r"(\S+ \S+)|\d{4}", "roadmap")
def name_of_a_bar(site: Site, block: Block, said: Said) -> bool:
    if block.tag in ("text", "th", "summary"):
        return not said[1] or bool(bars(site, said[1]))
    moves = site.api("schedule")["moves"]
    return block.tag == "td" and said[1] in {f"{m['package']} {m['before']}" for m in moves}


@rule(rf"({DAY}) (due|announced|planned)", "roadmap")
def day_of_a_move(site: Site, block: Block, said: Said) -> bool:
    return any(
        (m["on"], m["state"]) == (iso(said[1]), said[2]) for m in site.api("schedule")["moves"]
    )


@rule(r"([\d.]+)", "roadmap")
def target_of_a_move(site: Site, block: Block, said: Said) -> bool:
    return block.head == "To" and said[1] in {m["to"] for m in site.api("schedule")["moves"]}


@rule(r"(\S+) (\S+)(?: → (\S+))? (open|dated|runs|held|blocked|settled)(?: (.+))?", "roadmap")
def outlook(site: Site, block: Block, said: Said) -> bool:
    return any(
        (o["package"], o["floor"], o["to"] or None, o["prospect"], plain(o["because"]))
        == (*said.groups()[:4], plain(said[5] or ""))
        for o in site.api("proposals")["outlooks"]
    )


def months_after(day: str, months: int) -> str:
    year, month, number = map(int, day.split("-"))
    year, month = year + (month - 1 + months) // 12, (month - 1 + months) % 12 + 1
    last = calendar.monthrange(year, month)[1]
    return f"{year}-{month:02d}-{min(number, last):02d}"


def quarter(day: str) -> str:
    """The first day of a quarter on that day or after it."""
    year, month, number = map(int, day.split("-"))
    month = month if number == 1 else month + 1
    month = (month + 1) // 3 * 3 + 1
    return f"{year + month // 13}-{(month - 1) % 12 + 1:02d}-01"


def released_on(site: Site, package: str, version: str) -> str:
    """The day on which a version of an axis, such as `Numpy`, came out."""
    axis = next(a for a in site.axes.values() if a["label"].lower() == package.lower())
    if axis["package"] is None:
        return next(b["released"] for b in bars(site, f"{axis['label']} {version}"))
    name = next(n for n, one in site.axes.items() if one is axis)
    releases = site.api(f"releases/{name}/{version}")["releases"]
    return min(r["uploaded"][:10] for r in releases if r["uploaded"])


def before(site: Site, block: Block, pattern: str) -> Said:
    """What the nearest text before a line of a floor's arithmetic says in this form."""
    earlier = site.reading[: site.reading.index(block)][::-1]
    return next(m for b in earlier if (m := re.search(pattern, b.text)))


def months_of(site: Site, block: Block) -> int:
    return int(before(site, block, r"that has been out for (\d+) months")[1])


@rule(r"The floor of (.+?) is (\S+): (.+)\.", "roadmap")
def why_a_floor(site: Site, block: Block, said: Said) -> bool:
    return any(
        (f["label"], f["at"], plain(f["because"])) == (said[1], said[2], plain(said[3]))
        for f in site.api("minimum")["floors"]
    )


@rule(rf"(\S+) (\S+) came out on ({DAY})(?: \(.+\))?\.", "roadmap")
def release_day(site: Site, block: Block, said: Said) -> bool:
    return released_on(site, said[1], said[2]) == iso(said[3])


@rule(rf"(\d+) months later is ({DAY})\.", "roadmap")
def months_later(site: Site, block: Block, said: Said) -> bool:
    day = iso(before(site, block, rf"came out on ({DAY})")[1])
    return int(said[1]) == months_of(site, block) and months_after(day, int(said[1])) == iso(
        said[2]
    )


@rule(rf"Floors rise on the first day of a quarter: ({DAY})\.", "roadmap")
def first_of_a_quarter(site: Site, block: Block, said: Said) -> bool:
    return quarter(iso(before(site, block, rf"months later is ({DAY})")[1])) == iso(said[1])


@rule(rf"So on ({DAY}) the calendar allows (\S+) (\S+)\.", "roadmap")
def allowed(site: Site, block: Block, said: Said) -> bool:
    first = before(site, block, rf"first day of a quarter: ({DAY})")[1]
    out = before(site, block, rf"(\S+) (\S+) came out on {DAY}")
    return (
        (iso(said[1]), said[2].lower(), said[3])
        == (site.index["day"], out[1].lower(), out[2])
        and iso(first) <= site.index["day"]
    )  # fmt: skip


@rule(
    rf"The (?:next|first) is (\S+), out since ({DAY}): allowed from ({DAY}), on the first day of a quarter from ({DAY})\.",
    "roadmap",
)
def next_step(site: Site, block: Block, said: Said) -> bool:
    package = before(site, block, r"^The floor of (\S+) is")[1]
    out, later, on = map(iso, said.groups()[1:])
    return (
        released_on(site, package, said[1]) == out
        and months_after(out, months_of(site, block)) == later
        and quarter(later) == on
        and on > site.index["day"]
    )


@rule(rf"On ({DAY}) the calendar does not let go of any (\S+) yet\.", "roadmap")
def no_step_yet(site: Site, block: Block, said: Said) -> bool:
    floor = next(f for f in site.api("minimum")["floors"] if f["label"] == said[2])
    every = site.ordered(floor["axis"])
    later = every[every.index(floor["at"]) + 1 :]
    months, today = months_of(site, block), site.index["day"]
    return iso(said[1]) == today and all(
        quarter(months_after(released_on(site, said[2], one), months)) > today for one in later
    )


@rule(r"The newest release, (\S+) (\S+), asks for (\S+) (\S+?)(?: on Python (\S+))?\.", "roadmap")
def asked_by_the_newest(site: Site, block: Block, said: Said) -> bool:
    newest = site.axes[site.subject]["coordinates"][-1]
    document = site.api(f"releases/{site.subject}/{newest}")
    bounds = lambda text: sorted(filter(None, text.split(",")))  # noqa: E731
    if said[3] == "Python":
        every = [document["requires_python"] or ""]
    else:
        requirements = map(Requirement, document["requires_dist"])
        every = [str(r.specifier) for r in requirements if r.name.lower() == said[3].lower()]
    known = {bound for one in every for bound in bounds(one)}
    return said[1] == site.package and bool(every) and set(bounds(said[4])) <= known


@rule(r"(.+? [\w.!]+(?:, [\w.]+)*(?: \(releases? .+\))?)(?:; .+)?\.?", "roadmap proposals")
def affected(site: Site, block: Block, said: Said) -> bool:
    moves = [*site.api("schedule")["moves"], *site.api("proposals")["proposals"]]
    known = json.dumps([(m["lost"], m.get("gained")) for m in moves])
    return (block.head == "Drops" or block.tag == "li") and all(
        f'"{one}"' in known for one in re.findall(r"\d+(?:\.\d+)*", block.text)
    )


@rule(r"(?:Evidence )?(?:(\d+) of (\d+) cells? supports? it|No cell tests it)", "proposals")
def evidence(site: Site, block: Block, said: Said) -> bool:
    one = next(p for p in site.api("proposals")["proposals"] if p["id"] == block.path.split("/")[2])
    proofs = one["evidence"]
    return not said[1] or (int(said[1]), int(said[2])) == (
        sum(p["supports"] for p in proofs),
        len(proofs),
    )


@rule(rf"(open|waiting) (.+?)(?: Earliest with a release after ({DAY})\.)?", "proposals roadmap")
def state_of_a_proposal(site: Site, block: Block, said: Said) -> bool:
    one = next(p for p in site.api("proposals")["proposals"] if p["id"] == block.path.split("/")[2])
    because = plain(one["because"] if one["open"] else one["objections"][0]["because"])
    return (
        (said[1] == "open") == one["open"]
        and plain(said[2]) == because
        and ((said[3] and iso(said[3])) == one["earliest"])
    )


def chart_values(site: Site, block: Block) -> list[tuple[str, float]]:
    """The releases and the values of the table that belongs to a chart."""
    later = site.reading[site.reading.index(block) :]
    table = next(b.table for b in later if b.tag == "th" and b.text == "release")
    cells = [
        b
        for b in site.reading
        if b.table == table and b.tag == "td" and b.head not in ("measured in", "on")
    ]
    return [(b.row, float(b.text.split(" ")[0].replace(",", ""))) for b in cells]


def middle(values: list[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


@rule(r"(.+) is ([\d.e+]+) times (faster|slower|lower|higher) from (\S+) on", "charts")
def story(site: Site, block: Block, said: Said) -> bool:
    """What a chart is headed, by the medians of its own table."""
    values = chart_values(site, block)
    at = [release for release, _ in values].index(said[4])
    before, after = (middle([v for _, v in part]) for part in (values[:at], values[at:]))
    ratio = max(before, after) / min(before, after)
    falls = after < before
    return falls == (said[3] in ("faster", "lower")) and abs(ratio / float(said[2]) - 1) < 0.06


@rule(r"(\S+): ([\d.,e+-]+)( \S+)?", "charts")
def dot(site: Site, block: Block, said: Said) -> bool:
    return (said[1], float(said[2].replace(",", ""))) in chart_values(site, block)


@rule(r"(\S+) to (\S+): ([\d.e+-]+) to ([\d.e+-]+)", "charts")
def band(site: Site, block: Block, said: Said) -> bool:
    values = chart_values(site, block)
    every = [release for release, _ in values]
    inside = sorted(v for _, v in values[every.index(said[1]) : every.index(said[2]) + 1])
    low, high = inside[len(inside) // 4], inside[3 * (len(inside) - 1) // 4]
    return abs(low / float(said[3]) - 1) < 0.001 and abs(high / float(said[4]) - 1) < 0.001


@rule(r"([\d.,e+-]+) (\S+)", "charts")
def value_of_a_chart(site: Site, block: Block, said: Said) -> bool:
    """A value in a table of a chart is a metric of the cell that its row names."""
    rest = [b for b in site.reading if b.table == block.table and b.row == block.row]
    cell = next((b.text for b in rest if b.head == "measured in"), "")
    if not cell:
        return block.tag == "text" and not block.row
    return any(
        f"{one['value']:,.4g} {one['unit']}" == block.text
        for one in site.api(f"cells/{cell}")["metrics"]
    )


@rule(r"\S+", "charts")
def axis_of_a_chart(site: Site, block: Block, said: Said) -> bool:
    text = said[0]
    return text in site.cells or text in site.ordered(site.subject) or block.tag in ("text", "th")


@rule(
    r"(?:No clear change: .+|.+, as measured in the representative cell.+|Only a change that a rank test shows.+)",
    "charts",
)
def about_a_chart(site: Site, block: Block, said: Said) -> bool:
    host = re.search(r"one class of machine: ([\w.-]+?)\.?$", block.text)
    return host is None or any(
        r["host"] == host[1] for c in site.cells for r in site.api(f"cells/{c}")["runs"]
    )


@rule(r".+", "cell")
def name_of_a_metric(site: Site, block: Block, said: Said) -> bool:
    return block.tag == "th" and any(
        b.row == block.text and b.head == "Value" for b in site.reading
    )


@rule(r".+", "cap home advise")
def name_of_a_capability(site: Site, block: Block, said: Said) -> bool:
    return block.text in site.by_title and bool(block.links)


@rule(r".+", "cell")
def what_works(site: Site, block: Block, said: Said) -> bool:
    """The names of all that works in a cell."""
    cell = cell_in(site, block)
    names = [name for name in site.asked if site.letter(cell, name) == "y"]
    return block.tag == "p" and sorted(block.text.split(" · ")) == sorted(
        site.titles[n] for n in names
    )


@rule(
    r"(.+\.) (\d+) (?:.+?) in (\d+) files? would need Python (\S+) \((.+?):(\d+): .+\), but what the suite tries works on Python (\S+)\.",
    "release",
)
def unreached(site: Site, block: Block, said: Said) -> bool:
    floor = next(
        f
        for f in site.api("floors")["python"]
        if f"{f['release']}.".startswith(f"{block.path.split('/')[2]}.")
    )
    told = (int(said[2]), int(said[3]), said[4], said[5], int(said[6]))
    return (
        plain(said[1]) == plain(floor["sentence"])
        and said[7] == floor["works_on"]
        and any(
            told == (g["places"], g["files"], g["series"], first["file"], first["line"])
            for g in floor["unreached"]
            for first in g["first"][:1]
        )
    )


@rule(
    rf"(\S+) is ({WORD}): (.+?), tested on ({DAY})(?: \(.+\))?(?:; (\d+) other tested cells? (?:does|do) not fit)?\.",
    "advise",
)
def tested_against(site: Site, block: Block, said: Said) -> bool:
    row = site.cells[said[1]]
    tested = [c for c in site.at_address(block) if site.tested(c)]
    return (
        said[2] in site.words(said[1])
        and (said[3], iso(said[4])) == (row["outcome"], row["latest"])
        and (said[5] is None or int(said[5]) == len(tested) - 1)
    )


@rule(
    rf"(\S+) does not install: a resolver refused it on ({DAY}): .+?(?:; (\d+) more do not resolve)?\.",
    "advise",
)
def refused_by_a_resolver(site: Site, block: Block, said: Said) -> bool:
    rows = [r for c in site.at_address(block) if (r := site.planned.get(c))]
    refused = [r["cell"] for r in rows if r["verdict"] == "broken" and not site.tested(r["cell"])]
    return (
        said[1] in refused
        and site.planned[said[1]]["evidence"] == "asked"
        and iso(said[2]) <= site.index["day"]
        and int(said[3] or 0) == len(refused) - 1
    )


@rule(r"(.+?) is not on the index: (.+)\.", "advise home")
def unpublished(site: Site, block: Block, said: Said) -> bool:
    """A state of the subject without files, for versions that a page asks about."""
    versions = {n: v for c in site.at_address(block)[:1] for n, v in zip(site.axes, site.at(c))}  # noqa: B905
    asked = {n: v for n, v in versions.items() if f"{site.axes[n]['short']}{v}" in block.path}
    return any(
        (plain(f"{one['state']} of {site.title}"), plain(one["because"]))
        == (plain(said[1]), plain(said[2]))
        and any(SpecifierSet(one["when"].get(n, "<0")).contains(v) for n, v in asked.items())
        for one in site.index["unpublished"]
    )


@rule(rf"{SIGN}([\w.!+]+): {VERDICT}", "home")
def crossed(site: Site, block: Block, said: Said) -> bool:
    """The best of a version on a Python, with the page of its answer."""
    where = block.links[0].rpartition("/")[2].split("-")
    cells = set.intersection(*(site.by_version[one] for one in where))
    answer = f"{block.links[0]}/index.html"
    blocks = Reader(answer, (site.folder / answer).read_text(encoding="utf-8")).blocks
    card = next(b.text for b in blocks if b.css == "combination")
    return (
        f"{site.axes[site.python]['short']}{block.head.removeprefix('Python ')}" == where[0]
        and where[1].endswith(block.row)
        and f"{site.axes[site.subject]['label']} {said[1]}, " in card
        and any(
            f"{said[1]}.".startswith(f"{site.on(c, site.subject)}.")
            and said["word"] in site.words(c)
            for c in cells
            if site.tested(c) and site.rank(c) <= RANK.index("partial")
        )
    )


@rule(r"Python (\S+)", "home")
def head_of_crossed(site: Site, block: Block, said: Said) -> bool:
    """A Python has a column if something works on it."""
    works = {site.on(c, site.python) for c in site.cells if site.tested(c) and site.rank(c) <= 1}
    return block.tag == "th" and said[1] in works


@rule(r"No tested combination works with (\S+) (.+)\.", "home")
def none_works_with(site: Site, block: Block, said: Said) -> bool:
    axis = next(n for n in site.axes if site.axes[n]["label"] == said[1])
    spread = site.spread(said[2], axis) or set()
    rows = {b.text for b in site.reading if b.tag == "th" and b.table == block.table}
    works = {site.on(c, axis) for c in site.cells if site.tested(c) and site.rank(c) == 0}
    return bool(spread) and not spread & (rows | works)


@rule(r"No cell of the plan is ruled out\.", "causes")
def none_ruled_out(site: Site, block: Block, said: Said) -> bool:
    return not any(row["obstacle"] for row in site.planned.values())


def quoted(site: Site, block: Block) -> list[str]:
    """The texts of the documents of what a page is about."""
    parts = block.path.split("/")
    kind = parts[1] if parts[1:] else ""
    names = {
        "cell": [f"cells/{parts[2]}"] if parts[2:] else [],
        "release": [
            f"releases/{site.subject}/{parts[2]}",
            "floors",
            "plain-installs",
            "platform-installs",
        ]
        if parts[2:]
        else [],
        "cap": [f"capabilities/{parts[2]}"] if parts[3:] else [],
        "roadmap": ["proposals", "schedule", "minimum", "floors"],
        "proposals": ["proposals", "schedule"],
        "plain": ["plain-installs", "platform-installs"],
    }.get(kind, [])
    if kind == "advise" and parts[3:]:
        names += [
            f"releases/{n}/{site_version}"
            for n, a in site.axes.items()
            for one in parts[2].split("-")
            if (site_version := one.removeprefix(a["short"])) in a["coordinates"]
        ]
        names += ["plain-installs", "advise"]
    linking = (
        *block.links,
        *(x for b in site.reading if kind == "cap" and b.section == "fails" for x in b.links),
        *(x for b in site.reading if b.row and b.row == block.row for x in b.links),
    )
    cells = {c for link in linking if (c := link.rpartition("/")[2]) in site.cells}
    names += [f"cells/{one}" for one in cells]
    cell = site.card(block) if kind == "advise" or parts[1:] == ["index.html"] else ""
    own = (
        {cell, site.card_before(block)}
        if kind == "advise" or parts[1:] == ["index.html"]
        else set()
    )
    names += [f"cells/{c}" for c in own if c]
    if kind == "causes":
        first = next((c for b in site.reading if (c := linked(site, b))), "")
        if parts[2] == "index.html":
            first = next((r["id"] for r in site.row_of_cause(block)), "")
        of_cause = (
            {c for b in site.reading if (c := linked(site, b))}
            if not first or parts[2] != "index.html"
            else {first}
        )
        names += [f"cells/{one}" for one in sorted(of_cause)[:40]]
    if kind == "release":
        version = parts[2]
        names += [
            f"cells/{c}"
            for c in site.cells
            if site.on(c, site.subject) == version and "Caution" in block.text
        ]
    return site.pool(tuple(dict.fromkeys(names)), kind in ("plain", "release"))


STANDING = re.compile(
    r"(?:Each root cause once\..*|Causes? of failures|L3 is a sandbox.*|Infrastructure failures never.*|"
    r"Failed runs and failed installations|Ruled out before anything runs.*|Failed when it was tested:|"
    r"What (?:fails|it works with|does not work, and why|blocks the versions asked for|rules out the rest|keeps its lowest Python|to install.*)|"
    r"the processor that lacks .*|runs code at the interpreter's start: .*|RECORD does not fit.*|left out, as it belongs.*|works with \S+.*|flaky|By Python version, on .+|How many downloads a move.*|How long each version.*|nothing: ✓.*|Installs?|The oldest that works|Plain pip install, and other platforms|Published for these versions.*|As published|Compare two releases.*|How to install it|Plain installs(?: and platforms| by Python and platform)?|What pip install does today.*|Why combinations fail: each.*|How many runs, how old.*|This page moved to .*|The same as data: .*|cells (?:ruled out before any run|that could run and have no verdict)|undecided after a run|This matrix declares no policy.*|Each Python, and what works on it\.|not tested yet|Which versions of a library really work together\?.*|Works? with .+|failing(?: now)?|tested|all|Only .+:|Side by side|No verdict has changed yet\.|"
    r"Where it fails|Drops|Blocked by|must work|only the core(?: of the suite)? was run|"
    r"Ignored runs.*|No tested cell fails\.|None\.|.*: (?:what do I install|why things do not work|how reliable are the results|what changed|does pip install work|which minimum versions move, and when)\?|"
    r"It is read in this page and never sent.*|The notebook keeps its own Python\..*|with pip|Is a wheel.*)"
)


def read(site: Site, path: str, source: str) -> Iterator[tuple[str, Block, str]]:
    """Each claim of a page: `read` with its rule, `quoted`, `wrong` with a rule, or `unread`."""
    site.reading = Reader(path, source).blocks
    return judged(site, path, site.reading)


def judged(site: Site, path: str, blocks: list[Block]) -> Iterator[tuple[str, Block, str]]:
    parts = path.split("/")
    is_home = len(parts) == 2 or parts[1:] == ["advise", "index.html"]
    kind = "index" if path == "index.html" else "home" if is_home else parts[1]
    for block in blocks:
        if not STATES.search(block.text) or STANDING.fullmatch(block.text):
            continue
        tried = [
            (name, check, said)
            for name, pattern, of, check in RULES
            if (not of or kind in of.split(" ")) and (said := pattern.fullmatch(block.text))
        ]
        good = next((name for name, check, said in tried if holds(check, site, block, said)), "")
        if good:
            yield "read", block, good
        elif is_quoted(site, block):
            yield "quoted", block, ""
        else:
            forms = [name for name, _, _ in tried if name != "named_by_its_address"]
            yield ("wrong" if forms else "unread"), block, forms[0] if forms else ""


def holds(check: Check, site: Site, block: Block, said: Said) -> bool:
    """Whether a claim is true; what it names is perhaps not there at all."""
    try:
        return check(site, block, said)
    except (LookupError, ValueError, OSError, StopIteration):
        return False


def is_quoted(site: Site, block: Block) -> bool:
    left = plain(block.text)
    for text in quoted(site, block):
        left = left.replace(text, " ")
    left = re.sub(
        r"(?:tested|asked) on (\d{4}-\d\d-\d\d)",
        lambda d: "" if d[1] in site.asked_days else d[0],
        left,
    )
    left = re.sub(r"(?: known|[. ]*(?:declared|by metadata|locked)[. ]*)$", "", left)
    return not STATES.search(left)


if __name__ == "__main__":
    folder, matrix, glob = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    site, found, seen = Site(folder, matrix), Counter[str](), Counter[tuple[str, str]]()
    for page in sorted(folder.glob(glob)):
        path = page.relative_to(folder).as_posix()
        for verdict, block, name in read(site, path, page.read_text(encoding="utf-8")):
            found[verdict] += 1
            shape = re.sub(r"\d[\w.]*", "9", block.text)[:50]
            if verdict in ("wrong", "unread") and not seen[verdict, shape]:
                print(
                    verdict,
                    name,
                    "|",
                    path,
                    "|",
                    block.tag,
                    block.head,
                    block.row[:20],
                    "|",
                    block.text[:230],
                )
            seen[verdict, shape] += 1
    print(dict(found))
