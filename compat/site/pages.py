"""The `site` room's table of pages: which there are, from which template, and what each depends on."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from compat.results.picture import Entry
from compat.site.edition import Edition, Volume, cell_page, page, place_of
from compat.site.neighbours import Neighbours
from compat.site.views_cell import cell_view
from compat.site.views_grid import grid, grid_path, main_python
from compat.site.words import place_words


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page: its path, its template, its title, a sentence for search engines, and its view, made when needed.

    `matrix` is the volume that it is of, None for a page of the whole site; `section` its entry in the menu.
    `inputs` is a digest of all that the view is made from. `canonical` is another path that has the same content.
    """

    path: str
    template: str
    title: str
    about: str
    view: Callable[[], Any]
    inputs: str
    matrix: str | None = None
    section: str = ""
    canonical: str = ""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the menu."""

    word: str
    path: str
    section: str


class Menu(msgspec.Struct, frozen=True, kw_only=True):
    """The menu of a volume."""

    title: str
    entries: tuple[Link, ...]


def menu_of(volume: Volume) -> Menu:
    """Return the menu of a volume."""
    words = ("advise", "What to install"), ("grid", "Grid"), ("cap", "Capabilities"), ("changes", "Changes")
    return Menu(
        title=volume.picture.matrix.title,
        entries=(
            Link(word=volume.picture.matrix.title, path=page(volume.name), section="home"),
            *(Link(word=word, path=page(volume.name, section), section=section) for section, word in words),
        ),
    )


class Tokens:
    """What the pages of a volume depend on, as digests: `seed` of all that was declared, and one of each known cell."""

    def __init__(self, edition: Edition, volume: Volume) -> None:
        """Take the volume and its edition."""
        picture = volume.picture
        self.seed = digest(
            edition.base_url,
            [(one.name, one.picture.matrix.title) for one in edition.volumes],
            repr(picture.ask),
            msgspec.json.encode(picture.catalogue, enc_hook=str),
            sorted(volume.suite.items()),
        )
        self._of = {entry.cell.id: _token(entry) for entry in picture.known}

    def of(self, *entries: Entry | None) -> str:
        """Return a digest of what is known of these cells."""
        return digest(self.seed, [self._of.get(entry.cell.id, entry.cell.id) for entry in entries if entry is not None])

    @property
    def all(self) -> str:
        """A digest of what is known of every cell."""
        return digest(self.seed, sorted(self._of.items()))


def pages(edition: Edition) -> Iterator[Page]:
    """Yield every page of an edition."""
    for volume in edition.volumes:
        tokens = Tokens(edition, volume)
        yield from _grids(volume, tokens)
        yield from _cells(edition, volume, tokens)


def digest(*parts: object) -> str:
    """Return a digest of values that print what they are."""
    return hashlib.sha256(
        "\0".join(part if isinstance(part, str) else repr(part) for part in parts).encode(errors="surrogatepass")
    ).hexdigest()


def _grids(volume: Volume, tokens: Tokens) -> Iterator[Page]:
    main = main_python(volume)
    subject = volume.picture.matrix.subject_axis.package

    def of(python: Any, path: str, canonical: str = "") -> Page:
        where = "any Python" if python is None else f"Python {python}"
        return Page(
            path=path,
            template="grid.html",
            title=f"What works with {subject} on {where}?",
            about=f"Each release of {subject} against what it needs, on {where}, as it was run.",
            view=lambda: grid(volume, python),
            inputs=tokens.all,
            matrix=volume.name,
            section="grid",
            canonical=canonical,
        )

    yield of(main, page(volume.name, "grid"), grid_path(volume, main))
    for python in (*volume.board, None):
        yield of(python, grid_path(volume, python))


def _cells(edition: Edition, volume: Volume, tokens: Tokens) -> Iterator[Page]:
    neighbours = Neighbours(volume)
    for entry in volume.picture.known:
        yield _cell(edition, volume, tokens, entry, neighbours)


def _cell(edition: Edition, volume: Volume, tokens: Tokens, entry: Entry, neighbours: Neighbours) -> Page:
    cell = entry.cell
    around: Iterable[Entry | None] = (one for pair in neighbours.beside(cell).values() for one in pair)
    green = neighbours.green(cell) if entry.verdict.kind in ("broken", "partial", "flaky") else None
    place = place_words(cell, volume.picture.matrix)
    return Page(
        path=cell_page(cell),
        template="cell.html",
        title=f"{place}: {entry.verdict.kind}",
        about=f"Does {place} work? What was installed, what passed, what failed, and how to do it again.",
        view=lambda: cell_view(edition, volume, entry, neighbours),
        inputs=tokens.of(*volume.places[place_of(cell)], entry, green, *around),
        matrix=volume.name,
        section="grid",
    )


def _token(entry: Entry) -> str:
    runs = [(run.started, run.lock_digest, run.suite_digest, [str(one) for one in run.outcomes]) for run in entry.runs]
    told = msgspec.msgpack.encode((entry.lock_digest, entry.verdict, entry.obstacle, runs), enc_hook=str)
    return hashlib.sha256(told).hexdigest()
