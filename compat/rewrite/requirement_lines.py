"""The floors of texts that are read line by line: setup.cfg and requirements files."""

import configparser
import re
from collections.abc import Iterator, Sequence

from compat.errors import DeclarationError
from compat.rewrite.ranges import (
    Edit,
    Move,
    RangePlace,
    Skipped,
    Unsatisfiable,
    moved,
    names_package,
)
from compat.rewrite.toml_values import Rewritten
from compat.value import Value


class _Piece(Value, frozen=True):
    """A stretch of a text that holds one requirement or one specifier, or that cannot be moved
    because of something.
    """

    place: str
    start: int
    end: int
    because: str = ""


class _Line(Value, frozen=True):
    number: int
    start: int
    text: str


class _Value(Value, frozen=True):
    """A key of setup.cfg and the lines of its value, the first without the key."""

    section: str
    key: str
    lines: tuple[_Line, ...]


_HEADER = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([^\s=:][^=:]*?)\s*[=:]\s*")
_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTION = re.compile(r"\s--?[A-Za-z]")


def rewritten_requirements(text: str, move: Move) -> Rewritten | Unsatisfiable:
    # Return a requirements file after a move; what is pinned with hashes is a lock, to be made
    # again, and stays.
    if move.package is None:
        return Rewritten(text=text)
    return _spliced(text, list(_requirement_pieces(text, move.package)), move, pins=True)


def rewritten_setup_cfg(text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Return a setup.cfg after a move: `python_requires`, `install_requires` and
    `options.extras_require`.

    Raises DeclarationError for a text that configparser does not read.
    """
    try:
        configparser.RawConfigParser().read_string(text)
    except configparser.Error as fault:
        raise DeclarationError.of(f"is not a valid setup.cfg: {fault}") from fault
    pieces = [piece for value in _values(text) for piece in _value_pieces(value, move)]
    return _spliced(text, pieces, move)


def rewritten_deps(text: str, move: Move) -> Rewritten | Unsatisfiable:
    package = move.package or ""
    pieces = [
        piece
        for value in _values(text)
        if value.key == "deps" and value.section.startswith("testenv")
        for piece in _list_pieces(_without_comments(value), f"{value.section}.deps", package)
    ]
    return _spliced(text, pieces, move)


def _without_comments(value: _Value) -> _Value:
    lines = (_Line(line.number, line.start, _COMMENT.sub("", line.text)) for line in value.lines)
    return _Value(value.section, value.key, tuple(lines))


def _spliced(
    text: str, pieces: Sequence[_Piece], move: Move, pins: bool = False
) -> Rewritten | Unsatisfiable:
    open_pieces = [piece for piece in pieces if not piece.because]
    places = [RangePlace(name=p.place, text=text[p.start : p.end], pins=pins) for p in open_pieces]
    outcome = moved(places, move)
    if isinstance(outcome, Unsatisfiable):
        return outcome
    skippeds = tuple(
        Skipped(place=piece.place, text=text[piece.start : piece.end], because=piece.because)
        for piece in pieces
        if piece.because
    )
    edits: list[Edit] = []
    changed = text
    for piece, after in reversed(list(zip(open_pieces, outcome.texts, strict=True))):
        before = text[piece.start : piece.end]
        if after != before:
            edits.insert(0, Edit(place=piece.place, before=before, after=after))
            changed = changed[: piece.start] + after + changed[piece.end :]
    return Rewritten(text=changed, edits=tuple(edits), left=(*skippeds, *outcome.left))


def _lines(text: str) -> Iterator[_Line]:
    for number, match in enumerate(re.finditer(r"[^\n]*\n|[^\n]+", text), start=1):
        yield _Line(number, match.start(), match[0].rstrip("\r\n"))


def _requirement_pieces(text: str, package: str) -> Iterator[_Piece]:
    for group in _logical(text):
        first = group[0]
        content = _COMMENT.sub("", first.text).rstrip()
        if not names_package(content, package):
            continue
        because = ""
        if any(_OPTION.search(line.text) for line in group):
            because = "it is pinned with options of its own; lock it again instead"
        elif len(group) > 1:
            because = "it goes over several lines; change it by hand"
        yield _Piece(f"line {first.number}", first.start, first.start + len(content), because)


def _logical(text: str) -> Iterator[list[_Line]]:
    # Yield lines, those joined by a backslash together; as for pip, a comment ends what is joined.
    group: list[_Line] = []
    for line in _lines(text):
        group.append(line)
        if not line.text.endswith("\\") or line.text.lstrip().startswith("#"):
            yield group
            group = []
    if group:
        yield group


def _values(text: str) -> Iterator[_Value]:
    section, key, lines = "", "", list[_Line]()
    for line in _lines(text):
        if line.text.lstrip()[:1] in ("#", ";"):
            continue
        if line.text[:1].isspace() or not line.text:
            lines += [line] if line.text.strip() else []
            continue
        if key:
            yield _Value(section, key, tuple(lines))
        key, lines = "", []
        if header := _HEADER.match(line.text):
            section = header[1]
        elif match := _KEY.match(line.text):
            key = match[1].lower().replace("-", "_")
            lines = [_Line(line.number, line.start + match.end(), line.text[match.end() :])]
    if key:
        yield _Value(section, key, tuple(lines))


def _value_pieces(value: _Value, move: Move) -> Iterator[_Piece]:
    place = f"{value.section}.{value.key}"
    if move.package is None:
        if place == "options.python_requires":
            yield from _python_pieces(value, place)
    elif place == "options.install_requires" or value.section == "options.extras_require":
        yield from _list_pieces(value, place, move.package)


def _python_pieces(value: _Value, place: str) -> Iterator[_Piece]:
    lines = [line for line in value.lines if line.text.strip()]
    for line in lines:
        yield _stripped(
            line, place, "it goes over several lines; change it by hand" if len(lines) > 1 else ""
        )


def _list_pieces(value: _Value, place: str, package: str) -> Iterator[_Piece]:
    # Yield a list's requirements as setuptools reads them: one a line, or on a single line between
    # semicolons.
    first = value.lines[0]
    if first.text.startswith("file:"):
        yield _stripped(first, place, "it is read from another file; move that one")
        return
    lines = value.lines if len(value.lines) > 1 else _at_semicolons(first)
    for line in lines:
        if names_package(line.text, package):
            yield _stripped(line, f"{place}, line {line.number}")


def _at_semicolons(line: _Line) -> Iterator[_Line]:
    for match in re.finditer(r"[^;]+", line.text):
        yield _Line(line.number, line.start + match.start(), match[0])


def _stripped(line: _Line, place: str, because: str = "") -> _Piece:
    start = line.start + len(line.text) - len(line.text.lstrip())
    return _Piece(place, start, start + len(line.text.strip()), because)
