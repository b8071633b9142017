"""The grid of a matrix on a terminal: releases against the other axes, for each Python, with the
signs of the site.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from packaging.version import Version
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from compat.declare.matrix import Matrix
from compat.plan.cell import HEAD, Coordinate
from compat.results.answer import Answer, beside, representative
from compat.results.snapshot import Snapshot
from compat.site.status import STALE, STYLES, StatusStyle, style_of
from compat.site.wording import count
from compat.value import grouped

# What stands for a sign where the terminal's encoding does not have it, by its name in the table.
_SIGNS = """works:+ dated:+d decayed:d relaxed:+c partial:% flaky:~ broken:x refused:xi blocked:!
expected:=+ expected-partial:=% expected-broken:=x declared:o unknown:? infeasible:-
works-smoke:+s dated-smoke:+ds decayed-smoke:ds relaxed-smoke:cs partial-smoke:%s
flaky-smoke:~s broken-smoke:xs refused-smoke:is"""
_ASCII = dict(pair.split(":") for pair in _SIGNS.split())
_ASCII_STALE = "*"
_COLOURS = {"decayed": "yellow", "partial": "yellow", "flaky": "magenta", "broken": "red"}
_COLOURS |= {"works": "green", "relaxed": "green"}
_INDENT = "  "
Sign = tuple[StatusStyle, bool]
Board = dict[tuple[str, str], Sign]


def print_grid(out: Console, known: Snapshot, shown: Iterable[Answer]) -> None:
    """Print the combinations of the shown cells as grids within the terminal's width, and a legend.

    `known` has the other recipes of these combinations, which make a sign exact.
    """
    places = grouped((entry.cell.coordinates, entry) for entry in shown)
    signs: dict[tuple[Coordinate, ...], Sign] = {}
    for place, entries in places.items():
        best = representative(entries)
        signs[place] = style_of(best, beside(known, best)), best.stale
    for title, rows, columns, board in _boards(known.matrix, signs):
        # A column is as wide as a space, its label or the widest sign, and the sign of a stale
        # result; what does not fit goes into another block.
        wide = {column: 1 + max(len(column), 2) + 1 for column in columns}
        first = max(map(len, rows))
        blocks: list[list[str]] = [[]]
        for column in columns:
            used = len(_INDENT) + first + sum(wide[placed] for placed in blocks[-1])
            if blocks[-1] and used + wide[column] > out.width:
                blocks.append([])
            blocks[-1].append(column)
        for block in blocks:
            labels = "".join(column.rjust(wide[column] - 1) + " " for column in block)
            lines = [Text(f"{_INDENT}{' ' * first}{labels}".rstrip())]
            for row in rows:
                if not any((row, column) in board for column in block):
                    continue
                line = Text(_INDENT + row.ljust(first))
                for column in block:
                    style, is_stale = board.get((row, column), (None, False))
                    text = Text() if style is None else sign_text(out, style, is_stale=is_stale)
                    if not is_stale:
                        text.append(" ")
                    line.append(" " * (wide[column] - cell_len(text.plain))).append(text)
                line.rstrip()
                lines.append(line)
            out.print(Text(title, style="bold"), soft_wrap=False)
            for line in lines:
                out.print(line, no_wrap=True, overflow="crop", crop=True, soft_wrap=False)
            out.print()
    counts = Counter(style for style, _ in signs.values())
    parts = [
        sign_text(out, style).append(f" {style.word}: {number:,}", style="default")
        for style in STYLES.values()
        if (number := counts[style])
    ]
    if stale := sum(is_stale for _, is_stale in signs.values()):
        parts.append(Text(f"{STALE[0] if _can_show(out) else _ASCII_STALE} stale: {stale:,}"))
    parts.append(Text(f"of {count(len(signs), 'combination')}"))
    line = Text()
    for part in parts:
        if line and cell_len(line.plain) + 3 + cell_len(part.plain) > out.width:
            out.print(line, soft_wrap=False)
            line = Text()
        line.append("   " if line else "").append(part)
    out.print(line, soft_wrap=False)


def sign_text(out: Console, style: StatusStyle, *, is_stale: bool = False) -> Text:
    name = next(name for name, known in STYLES.items() if known == style)
    if _can_show(out):
        sign = style.symbol + (STALE[0] if is_stale else "")
    else:
        sign = _ASCII[name] + (_ASCII_STALE if is_stale else "")
    return Text(sign, style=_COLOURS.get(style.state, "dim"))


def _boards(
    matrix: Matrix, signs: dict[tuple[Coordinate, ...], Sign]
) -> Iterator[tuple[str, list[str], list[str], Board]]:
    """Title, rows, columns and signs of each Python, the newest first; one grid whose columns are
    the Pythons if there is no other axis.
    """
    subject, python = matrix.subject_axis, matrix.interpreters.name
    others = [axis for axis in matrix.packages if axis is not subject]
    names = [axis.name for axis in others] or [python]
    boards = defaultdict[Version, dict[tuple[tuple[bool, Version], tuple[Version, ...]], Sign]](
        dict
    )
    for place, sign in signs.items():
        versions = {coordinate.axis: coordinate.version for coordinate in place}
        is_local = any(coordinate.is_local for coordinate in place)
        where = (is_local, versions[subject.name]), tuple(versions[name] for name in names)
        boards[versions[python] if others else Version("0")][where] = sign
    company = " and ".join(axis.package for axis in others) or "Python"
    title = f"{subject.package} (rows) with {company} (columns)"
    for series in sorted(boards, reverse=True):
        board = boards[series]
        labels = {c: "/".join(map(str, c)) for c in sorted({where for _, where in board})}
        releases = {row: HEAD if row[0] else str(row[1]) for row, _ in board}
        rows = [releases[row] for row in sorted(releases, reverse=True)]
        cells = {(releases[row], labels[column]): sign for (row, column), sign in board.items()}
        yield (f"Python {series}: {title}" if others else title, rows, [*labels.values()], cells)


def _can_show(out: Console) -> bool:
    try:
        "".join(style.symbol for style in STYLES.values()).encode(out.encoding)
        STALE[0].encode(out.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
