"""Postpones the annotations of a source by `from __future__ import annotations` (PEP 563), inserted
where it is legal and moves no line.

The import must come before all statements except the docstring and its kind:
https://docs.python.org/3/reference/simple_stmts.html#future-statements
"""

import ast
import tokenize
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from compat.files import write
from compat.run.events import read_bytes

STATEMENT = "from __future__ import annotations"
_MOST_BYTES = 2_000_000
_BOM = b"\xef\xbb\xbf"
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def with_postponed_annotations(source: bytes) -> bytes | None:
    """Return the source with postponed annotations; None where that changes nothing or is
    impossible.

    Impossible: it has the import, it is not Python, or it is not UTF-8. The returned source was
    parsed: it is the same module with one statement more.
    """
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
        if encoding not in ("utf-8", "utf-8-sig"):
            return None
        body = source.removeprefix(_BOM)
        before = ast.parse(body)
        if not before.body or has_future_annotations(before):
            return None
        changed = _inserted(body, before)
        after = ast.parse(changed)
    except _UNREADABLE:
        return None
    expected = ast.parse(STATEMENT).body[0]
    position = _preamble(before)
    after_without = [*after.body[:position], *after.body[position + 1 :]]
    is_same = ast.dump(after.body[position]) == ast.dump(expected) and (
        [ast.dump(node) for node in after_without] == [ast.dump(node) for node in before.body]
    )
    if not is_same:
        return None
    return (_BOM if source.startswith(_BOM) else b"") + changed


def has_future_annotations(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )


def postpone_in(cell: Path, site: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Change those files of a cell's site-packages before code of the cell runs; return the changed
    ones.

    A changed file is a new one: the old one may share a link with the installer's cache.
    """
    changed = []
    for path in paths:
        try:
            source = read_bytes(cell, f"{site}/{path}", _MOST_BYTES)
        except OSError:
            continue
        postponed = with_postponed_annotations(source)
        if postponed is not None:
            write(cell / site / path, postponed)
            changed.append(path)
    return tuple(changed)


def _preamble(tree: ast.Module) -> int:
    count = 0
    for node in tree.body:
        is_docstring = (
            count == 0
            and isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if not is_docstring and not (
            isinstance(node, ast.ImportFrom) and node.module == "__future__"
        ):
            break
        count += 1
    return count


def _inserted(body: bytes, tree: ast.Module) -> bytes:
    lines = body.split(b"\n")
    position = _preamble(tree)
    if position:
        last = tree.body[position - 1]
        row, column = (last.end_lineno or last.lineno) - 1, last.end_col_offset or 0
        lines[row] = lines[row][:column] + f"; {STATEMENT}".encode() + lines[row][column:]
        return b"\n".join(lines)
    first = tree.body[0]
    decorators = getattr(first, "decorator_list", [])
    row = min([first.lineno, *(node.lineno for node in decorators)]) - 1
    is_compound = hasattr(first, "body") or isinstance(first, ast.Match)
    if is_compound:
        # Nothing may precede it on its line, so here the line numbers do move.
        lines.insert(row, STATEMENT.encode() + (b"\r" if lines[row].endswith(b"\r") else b""))
    else:
        lines[row] = f"{STATEMENT}; ".encode() + lines[row]
    return b"\n".join(lines)
