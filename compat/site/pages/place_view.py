"""The `site` room's documents of pages, and its place: cells folded into one symbol, sentence and
link.
"""

from collections.abc import Sequence
from types import SimpleNamespace

from compat.declare.matrix import Matrix
from compat.results.answer import Answer, representative
from compat.site.paths import cell_page
from compat.site.status import STALE, StatusStyle, place_style, style_of
from compat.site.wording import RECIPE_WORDS, UNCHANGED_WORDS, day, listed, place_words, python_of


class Doc(SimpleNamespace):
    """What a template shows where no document of the API has it: names with values, entries and
    other documents.
    """


def place_view(entries: Sequence[Answer], matrix: Matrix, pythons: Sequence[str] = ()) -> Doc:
    """Return the place of these entries as a grid shows it; `pythons`, where there are any, are
    named instead of its own. `path` is empty where its representative cell has no page.
    """
    spoken, style = representative(entries), place_style(entries)
    where = place_words(spoken.cell, matrix)
    if pythons:
        where = where.removesuffix(str(python_of(spoken.cell, matrix))) + listed(pythons)
    tested = f", tested {day(spoken.latest)}" if spoken.latest is not None else ""
    recipe = f", {recipe_words(spoken)}" if style.state in ("partial", "broken", "flaky") else ""
    # What is inferred has no run that could be old.
    is_old = spoken.stale and spoken.is_tested
    old = f" ({STALE[1]})" if is_old else ""
    return Doc(
        css=f"{style.css} {STALE[1]}" if is_old else style.css,
        symbol=style.symbol + STALE[0] if is_old else style.symbol,
        sentence=f"{where}: {style.word}{recipe}{tested}{old}",
        path=entry_page(spoken),
        kind=style.state,
    )


def has_page(entry: Answer) -> bool:
    """Return whether the cell has a page: it has a lock or a run."""
    return bool(entry.runs) or entry.lock_digest is not None


def entry_page(entry: Answer) -> str:
    """Return the path of the cell's page; empty where it has none."""
    return cell_page(entry.cell) if has_page(entry) else ""


def links_to(entries: Sequence[Answer], matrix: Matrix) -> tuple[tuple[str, str], ...]:
    """Return place and page of each cell, to be listed; all of them must have a page."""
    return tuple((place_words(entry.cell, matrix), cell_page(entry.cell)) for entry in entries)


def cell_symbol(entry: Answer, siblings: Sequence[Answer] = ()) -> tuple[str, StatusStyle]:
    style = style_of(entry, siblings)
    return style.symbol + (STALE[0] if entry.stale else ""), style


def recipe_words(entry: Answer) -> str:
    return UNCHANGED_WORDS if entry.is_unchanged else RECIPE_WORDS[entry.cell.recipe]
