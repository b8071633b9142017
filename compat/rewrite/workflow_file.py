"""The matrices of a CI in YAML: keys such as `python-version`, as a list in either style, or as one
version.

Found by a parser that says where each value stands; the text itself is changed there alone.
"""

import re
from collections.abc import Iterator

import yaml
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.errors import DeclarationError
from compat.rewrite.ranges import Move, Skipped, Unsatisfiable
from compat.rewrite.toml_values import Rewritten
from compat.rewrite.version_lists import (
    ListedVersion,
    TextChange,
    applied_changes,
    list_changes,
    plain_version,
    scalar_change,
)

_PYTHON_KEY = re.compile(r"(?i)(?:python|py)(?:[-_]?versions?)?")
_PYTHON = re.compile(
    r"~?(?P<pypy>pypy-?)?(?P<version>\d+\.\d+)(?:\.(?:\d+|x|\*))?(?:t|-dev|-0|-v[\w.]+)?"
)
# An entry of a matrix speaks of more than its Python, such as a tox environment.
_ENTRIES = ("exclude", "include")
_IN_ENTRY = "it stands in an entry of `exclude` or `include`; change the entry by hand"
_LAST_PYPY = "the list's only PyPy was removed with it; add a newer one if PyPy is supported"


def rewritten_workflow(text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Return a workflow after a move: lists of Pythons, or of the package's versions under its own
    name.

    Raises DeclarationError for a text that is not YAML.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as fault:
        line = " ".join(str(fault).split())
        raise DeclarationError.of(f"is not valid YAML: {line}") from fault
    changes: dict[tuple[int, int], TextChange] = {}
    left: list[Skipped] = []
    for value, keys in _values(root, move, frozenset()):
        moves = _changes(text, value, move)
        if not keys.isdisjoint(_ENTRIES):
            left += [_skipped(text, change, _IN_ENTRY) for change in moves]
        else:
            changes |= {(change.start, change.end): change for change in moves}
            pypys = [change for change in moves if "pypy" in text[change.start : change.end]]
            if pypys and _pypys(value) == len(pypys):
                left.append(_skipped(text, pypys[-1], _LAST_PYPY))
    after, edits = applied_changes(text, list(changes.values()), "workflow")
    return Rewritten(text=after, edits=edits, left=tuple(left))


def _values(
    node: yaml.Node | None, move: Move, keys: frozenset[str]
) -> Iterator[tuple[yaml.Node, frozenset[str]]]:
    if isinstance(node, yaml.SequenceNode):
        for element in node.value:
            yield from _values(element, move, keys)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            # Outside of a matrix a package's variable may as well hold a tag or a branch.
            if _is_about(name, move) and (move.package is None or "matrix" in keys):
                yield value, keys
            yield from _values(value, move, keys | {name})


def _pypys(value: yaml.Node) -> int:
    nodes = value.value if isinstance(value, yaml.SequenceNode) else ()
    return sum(isinstance(n, yaml.ScalarNode) and n.value.startswith("pypy") for n in nodes)


def _is_about(key: str, move: Move) -> bool:
    if move.package is None:
        return bool(_PYTHON_KEY.fullmatch(key))
    name = re.sub(r"[-_]?versions?$", "", key, flags=re.I)
    return bool(name) and canonicalize_name(name) == canonicalize_name(move.package)


def _changes(text: str, value: yaml.Node, move: Move) -> list[TextChange]:
    if isinstance(value, yaml.ScalarNode):
        item = _item(text, value, move)
        return [] if item is None else scalar_change(item, move)
    if not isinstance(value, yaml.SequenceNode):
        return []
    items = [_item(text, element, move) for element in value.value]
    known = [item for item in items if item is not None]
    if len(value.value) == 1:
        return scalar_change(known[0], move) if known else []
    return list_changes(text, known, move)


def _item(text: str, node: yaml.Node, move: Move) -> ListedVersion | None:
    if not isinstance(node, yaml.ScalarNode) or node.style not in (None, "'", '"'):
        return None
    start, end = node.start_mark.index, node.end_mark.index
    # A number without quotes would lose its last zero: 3.10 is 3.1.
    quote = node.style or '"'
    spell = lambda version: f"{quote}{version}{quote}"  # noqa: E731
    written = text[start:end].strip("'\"")
    if move.package is None:
        match = _PYTHON.fullmatch(written)
        if match is None:
            return None
        own = spell if match["version"] == written else None
        return ListedVersion(start=start, end=end, version=Version(match["version"]), spell=own)
    known = plain_version(written)
    return (
        None if known is None else ListedVersion(start=start, end=end, version=known, spell=spell)
    )


def _skipped(text: str, change: TextChange, because: str) -> Skipped:
    line = text.count("\n", 0, change.start) + 1
    stretch = text[change.start : change.end].strip()
    return Skipped(place=f"line {line}", text=stretch, because=because)
