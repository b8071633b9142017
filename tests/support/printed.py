"""Sites printed for tests: a shelf with a cell in every state, and every file of an edition by its
path.
"""

import re
from collections.abc import Iterable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from compat.site.edition import Edition
from compat.site.render import Printer, assets
from support.editions import edition, files
from support.known import Shelf, lock_of, ran, statuses

SITE = assets()
LOG = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'dep'"


def every_state() -> Shelf:
    """One cell that works, works with packages of its time, works with changed dependency pins,
    partly works, is flaky, is broken, is stale.
    """
    names = {
        "works": "py3.9-dep2-demo2.0",
        "once": "py3.8-dep1-demo1.0+dated",
        "relaxed": "py3.8-dep2-demo1.0+relaxed",
        "partial": "py3.9-dep2-demo1.0+relaxed",
        "flaky": "py3.8-dep1-demo2.0+relaxed",
        "broken": "py3.8-dep2-demo2.0+relaxed",
    }
    locks = {state: lock_of(cell) for state, cell in names.items()}
    locks["broken"] = lock_of(
        names["broken"], install_as_python="3.9.18", pytest="7.1", spare="1.0"
    )
    failed = "test-fail:assertion(mean)"
    records = [
        ran(locks["works"]),
        ran(locks["once"]),
        ran("py3.8-dep1-demo1.0", "lock-fail:no-artifact(dep==1.0)"),
        ran(locks["relaxed"], days_ago=200),
        ran(
            locks["partial"],
            failed,
            capabilities=statuses(**{"import": "yes", "mean": "no", "sum": "absent"}),
        ),
        ran(locks["flaky"], failed, minute=1, capabilities=statuses(mean="no")),
        ran(locks["flaky"], minute=2),
        ran(locks["broken"], "import-fail:missing-module(dep)", log=LOG),
    ]
    return Shelf(records, locks.values())


def printed(of: Edition) -> dict[str, str]:
    """Return the HTML of every page, by path."""
    own = Printer(of, SITE).files()
    return {one.path: one.content.decode() for one in own if one.path.endswith(".html")}


def whole(of: Edition) -> dict[str, bytes]:
    """Return every file of an edition: pages, static files and data."""
    return {one.path: one.content for one in Printer(of, SITE).files()} | files(of)


def page_of(shelf: Shelf, path: str) -> str:
    """Return one page of a shelf."""
    return printed(edition(shelf))[path]


def put(folder: Path, content: dict[str, bytes]) -> None:
    """Write files below a folder."""
    for path, text in content.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)


class Addresses(HTMLParser):
    """The ids of a page, and where its links, scripts and styles point."""

    def __init__(self, text: str) -> None:
        """Read the page."""
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag points to."""
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(str(found["id"]))
        for key in ("href", "src", "data-advise"):
            if (value := found.get(key)) is not None and found.get("rel") != "canonical":
                self.links.append(value)

    def handle_data(self, data: str) -> None:
        """Note what is read."""
        self.words.append(data)


def words(html: str) -> str:
    """What a reader reads, in one line."""
    return " ".join(" ".join(Addresses(html).words).split())


def main_words(html: str) -> str:
    """What a reader reads of what only this page has, in one line."""
    text = re.sub(r"<[^>]+>", " ", html.partition("<main")[2].partition("</main>")[0])
    return " ".join(unescape(text).split())


def broken_links(content: dict[str, bytes], pages: Iterable[str]) -> list[str]:
    """Return every link inside the site that leads nowhere, with the page that it stands on."""
    texts = {path: Addresses(content[path].decode()) for path in pages}
    found = []
    for path, page in texts.items():
        here = Path("/") / path
        for link in page.links:
            place, _, anchor = link.partition("#")
            place = place.partition("?")[0]
            if "://" in place or link.startswith("?"):
                continue
            target = (here.parent / place).as_posix() if place else here.as_posix()
            resolved = _resolved(target, is_folder=place.endswith("/"))
            if resolved not in content or (
                anchor and resolved in texts and anchor not in texts[resolved].ids
            ):
                found.append(f"{path}: {link}")
    return found


def _resolved(target: str, is_folder: bool) -> str:
    parts: list[str] = []
    for part in target.split("/"):
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join([*parts, "index.html"] if is_folder else parts)
