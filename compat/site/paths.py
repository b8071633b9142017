"""The `site` room's one scheme of addresses: the path of each file of the site, below its root.

    index.html                         the home of all matrices
    <matrix>/index.html                the home of one; below it advise/ grid/ grid/<py3.9>/
                                       grid/<py3.9>/<2>/ changes/<2026-11>/
                                       cell/<id>/ cap/<id>/ release/<version>/ plain/ compare/
                                       schedule/ proposals/ changes/ lanes/ reliability/
    <matrix>/advise/<py3.9>/           the answer for a version or two (<py3.9-dep2>/); that of
                                       a tested combination is on the page of its cell
    search/ search/entries.json        what can be searched; search/signs.json has what a pasted
                                       error is known by
    build/                             badges, feeds, calendars, downloads, API, box
    404.html favicon.ico               what hosts and browsers ask for by these names
    embed/<matrix>/ embed/<matrix>.svg a box for other people's pages
    lock/<matrix>/<cell-id>.txt        the hash-locked requirements of a cell
    api/v1/<matrix>/... badge/<matrix>/... feed/<matrix>/... cal/<matrix>/... schema/v1/...
    card/<matrix>.svg card/<matrix>.png
    download/<matrix>.sqlite
    advisory/<matrix>/<id>.json        what is proven not to work together; advisory/all.zip has all
    llms.txt                           what programs can read here
    about/ about/<page>/               the documentation, from docs/*.md

Paths have no leading slash and use `/`. A page at `a/b/` is the file `a/b/index.html`. Every part
that comes from outside goes through `segment`.
"""

import hashlib
import re
from functools import lru_cache
from urllib.parse import urlencode

from packaging.version import Version

from compat.plan.cell import Cell
from compat.results.record import RESERVED

API_ROOT = "api/v1"
SEARCH = "search/index.html"
ENTRIES = "search/entries.json"
SIGNS = "search/signs.json"
NOT_FOUND = "404.html"
BUILD = "build/index.html"
ADVISORIES = "advisory/all.zip"
# The file of the documentation whose page is the one at `about/`.
CONTENTS = "README.md"
# File systems allow 255 bytes a name; an ending and the prefix of a temporary file come on top.
_LONGEST = 150
_TAKEN = frozenset(("index.html", "index.json"))
_PLAIN = re.compile(r"[a-z0-9_.+-]+")


@lru_cache(maxsize=100_000)
def segment(text: str) -> str:
    """Return the text as one part of a path: another text gives another part, on any file system.

    Lower-case ASCII letters, digits and `_.+-` stand for themselves; any other byte is `~` and two
    hex digits. What would be long ends in its sha256.
    """
    begin = text[: _LONGEST + 1]
    coded = (
        begin
        if _PLAIN.fullmatch(begin)
        else "".join(char if _PLAIN.fullmatch(char) else _coded(char) for char in begin)
    )
    stem = coded.partition(".")[0]
    if not coded or coded in _TAKEN or stem in RESERVED or coded.startswith("."):
        coded = f"~{coded}"
    if coded.endswith("."):
        coded = f"{coded[:-1]}~2e"
    if len(coded) > _LONGEST:
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        return f"{coded[:60]}~~{digest}"
    return coded


def page(matrix: str, *parts: str) -> str:
    """Return the path of a matrix's page: `page("demo", "cap", "sum")` is
    `demo/cap/sum/index.html`.
    """
    return "/".join((*map(segment, (matrix, *parts)), "index.html"))


def address(path: str) -> str:
    return path.removesuffix("index.html")


def cell_page(cell: Cell) -> str:
    return page(cell.matrix, "cell", cell.id)


def compared(matrix: str, old: str, new: str) -> str:
    return f"{address(page(matrix, 'compare'))}?{urlencode({'old': old, 'new': new})}"


def is_cell_page(path: str) -> bool:
    parts = path.split("/")
    return len(parts) == 4 and parts[1] == "cell"


def grid_path(matrix: str, python: Version | None) -> str:
    return page(matrix, "grid", "all" if python is None else f"py{python}")


def grid_part_path(matrix: str, python: Version | None, number: int) -> str:
    path = grid_path(matrix, python)
    return path if number == 0 else path.replace("/index.html", f"/{number + 1}/index.html")


def about_path(name: str) -> str:
    return "about/index.html" if name == CONTENTS else page("about", name.removesuffix(".md"))


def api_path(matrix: str, *parts: str) -> str:
    """Return the path of a document of a matrix: `api_path("demo", "cells", "py3.9-demo1.0")`;
    alone, its index.
    """
    if not parts:
        return f"{API_ROOT}/{segment(matrix)}/index.json"
    *folders, last = map(segment, (matrix, *parts))
    return "/".join((API_ROOT, *folders, "~index.json" if last == "index" else f"{last}.json"))


def schema_path(name: str) -> str:
    return f"schema/v1/{name}.json"


def lock_file(matrix: str, cell: str) -> str:
    return f"lock/{segment(matrix)}/{segment(cell)}.txt"


def badge_path(matrix: str, *name: str) -> str:
    return "/".join(("badge", *map(segment, (matrix, *name))))


# What other programs read of a matrix, each in a folder of its kind.
_EXPORTS = {
    "feed": "feed/{}/all.atom",
    "calendar": "cal/{}/all.ics",
    "card": "card/{}.svg",
    "card-bitmap": "card/{}.png",
    "embed": "embed/{}/index.html",
    "embed-image": "embed/{}.svg",
    "csv": "download/{}.csv",
    "sqlite": "download/{}.sqlite",
    "sql": "download/{}.sql",
}


def export_path(kind: str, matrix: str) -> str:
    return _EXPORTS[kind].format(segment(matrix))


def feed_entry_id(matrix: str, name: str) -> str:
    """Return what stands below the site's address in the id of an entry of feeds: no file is
    there.
    """
    return f"feed/{segment(matrix)}/#{name}"


def advisory_path(matrix: str, name: str) -> str:
    return f"advisory/{segment(matrix)}/{segment(name)}.json"


def _coded(char: str) -> str:
    return "".join(f"~{byte:02x}" for byte in char.encode(errors="surrogatepass"))
