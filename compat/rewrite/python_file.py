"""noxfile.py and setup.py: Python texts whose literals name versions; no code of them runs."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.errors import DeclarationError
from compat.rewrite.classifiers import classifier_changes
from compat.rewrite.ranges import Move, RangePlace, Unsatisfiable, moved
from compat.rewrite.toml_values import Rewritten
from compat.rewrite.version_lists import (
    ListedVersion,
    TextChange,
    applied_changes,
    list_changes,
    plain_version,
    scalar_change,
)

# A literal of one piece, without a prefix that changes what stands in it.
_LITERAL = re.compile(r"(?P<quote>['\"])(?P<text>[^'\"\\\n]*)(?P=quote)")
_PYTHON = re.compile(r"(?P<pypy>pypy-?)?(?P<version>\d+\.\d+)(?:\.\d+)?t?")
# Names that noxfiles give lists of Pythons; a list that a `python=` names counts, too.
_NAMES = re.compile(r"(?i)(?:supported_|all_)?(?:pythons?|py|python_versions?|py_versions?)")
_REQUIREMENTS = ("install_requires", "tests_require", "setup_requires")


class _Text(NamedTuple):
    """A string literal: its stretch with the quotes, and what it says."""

    start: int
    end: int
    quote: str
    text: str


class PythonSource:
    """The string literals of a Python text, with where they stand."""

    def __init__(self, text: str) -> None:
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
            raise DeclarationError.of(f"is not valid Python: {fault}") from fault
        self._text = text
        self._lines = text.splitlines(keepends=True)
        starts = [0]
        for line in self._lines:
            starts.append(starts[-1] + len(line))
        self._starts = starts

    def literal(self, node: ast.AST) -> _Text | None:
        """Return a plain string literal; None for anything else."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return None
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        match = _LITERAL.fullmatch(self._text, start, end)
        return None if match is None else _Text(start, end, match["quote"], match["text"])

    def literals(self, node: ast.AST | None) -> list[_Text] | None:
        """Return the literals of a list, tuple or set of nothing else; None for another node."""
        if not isinstance(node, ast.List | ast.Tuple | ast.Set):
            return None
        texts = [self.literal(element) for element in node.elts]
        known = [text for text in texts if text is not None]
        return known if known and len(known) == len(texts) else None

    def _offset(self, line: int, column: int) -> int:
        before = self._lines[line - 1].encode()[:column] if line <= len(self._lines) else b""
        return self._starts[line - 1] + len(before.decode())


def rewritten_noxfile(text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Return a noxfile after a move: the lists of Pythons, or those that `parametrize` gives a
    package.

    Raises DeclarationError for a text that is not Python.
    """
    source = PythonSource(text)
    lists = _parametrized(source, move.package) if move.package else _python_lists(source)
    changes: dict[tuple[int, int], TextChange] = {}
    for literals in lists:
        items = [item for literal in literals if (item := _item(literal, move)) is not None]
        moves = list_changes(text, items, move) if len(literals) > 1 else []
        if len(literals) == 1 and items:
            moves = scalar_change(items[0], move)
        changes |= {(change.start, change.end): change for change in moves}
    after, edits = applied_changes(text, list(changes.values()), "nox")
    return Rewritten(text=after, edits=edits)


def rewritten_setup_py(text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Return a setup.py after a move: literals of `python_requires`, `install_requires` and
    `extras_require`, and the classifiers.

    Raises DeclarationError for a text that is not Python.
    """
    source = PythonSource(text)
    literals = [
        (name, literal)
        for call in ast.walk(source.tree)
        if isinstance(call, ast.Call) and _called(call.func) == "setup"
        for name, literal in _ranges(source, call, move)
    ]
    outcome = moved([RangePlace(name=name, text=lit.text) for name, lit in literals], move)
    if isinstance(outcome, Unsatisfiable):
        return outcome
    changes = [
        TextChange(start=lit.start, end=lit.end, after=f"{lit.quote}{after}{lit.quote}")
        for (_, lit), after in zip(literals, outcome.texts, strict=True)
        if after != lit.text
    ]
    changes += classifier_changes(text, move)
    after, edits = applied_changes(text, changes, "setup.py")
    return Rewritten(text=after, edits=edits, left=outcome.left)


def _ranges(source: PythonSource, call: ast.Call, move: Move) -> Iterator[tuple[str, _Text]]:
    for keyword in call.keywords:
        name, value = keyword.arg or "", keyword.value
        if move.package is None:
            literal = source.literal(value) if name == "python_requires" else None
            yield from [] if literal is None else [(name, literal)]
        elif name in _REQUIREMENTS:
            yield from ((name, literal) for literal in source.literals(value) or ())
        elif name == "extras_require" and isinstance(value, ast.Dict):
            for extra in value.values:
                yield from ((name, literal) for literal in source.literals(extra) or ())


def _python_lists(source: PythonSource) -> Iterator[Sequence[_Text]]:
    values = [
        keyword.value
        for call in ast.walk(source.tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in ("python", "pythons")
    ]
    names = {node.id for node in values if isinstance(node, ast.Name)}
    for node in ast.walk(source.tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        known = [target.id for target in targets if isinstance(target, ast.Name)]
        if any(name in names or _NAMES.fullmatch(name) for name in known):
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            values += [] if node.value is None else [node.value]
    for value in values:
        literal = source.literal(value)
        yield [literal] if literal is not None else source.literals(value) or []


def _parametrized(source: PythonSource, package: str) -> Iterator[Sequence[_Text]]:
    for call in ast.walk(source.tree):
        if not isinstance(call, ast.Call) or _called(call.func) != "parametrize":
            continue
        first = source.literal(call.args[0]) if call.args else None
        if (
            first is not None
            and canonicalize_name(first.text) == canonicalize_name(package)
            and len(call.args) > 1
        ):
            yield source.literals(call.args[1]) or []


def _item(literal: _Text, move: Move) -> ListedVersion | None:
    quote = literal.quote
    spell = lambda version: f"{quote}{version}{quote}"  # noqa: E731
    if move.package is None:
        match = _PYTHON.fullmatch(literal.text)
        if match is None:
            return None
        is_plain = match["version"] == literal.text
        version = Version(match["version"])
        own = spell if is_plain else None
        return ListedVersion(start=literal.start, end=literal.end, version=version, spell=own)
    known = plain_version(literal.text)
    if known is None:
        return None
    return ListedVersion(start=literal.start, end=literal.end, version=known, spell=spell)


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
