"""tox.ini: the environments of `envlist`, the Pythons that a CI maps to them, and the requirements
of `deps` (https://tox.wiki/en/stable/config.html).
"""

import re
from collections.abc import Iterator

from packaging.version import Version

from compat.rewrite.ranges import Move, Unsatisfiable
from compat.rewrite.requirement_lines import rewritten_deps
from compat.rewrite.toml_values import Rewritten
from compat.rewrite.version_lists import ListedVersion, TextChange, applied_changes, list_changes

_LIST = re.compile(
    r"^env_?list[ \t]*=(?P<value>[^\n]*\n?(?:[ \t]+[^\n]*\n?|[ \t]*\r?\n(?=[ \t]))*)", re.M
)
_BRACES = re.compile(r"(?<![\w.])(?P<prefix>py3?|pypy3?|)\{(?P<items>[^{}]*)\}")
_ITEM = re.compile(r"[^,\s{}]+")
_SPAN = re.compile(r"(?<![^,\s{])(?P<low>\d+)-(?P<high>\d+)(?![^,\s}])")
_NAME = re.compile(r"(?P<prefix>py-?|pypy-?|)(?P<version>3\.?\d+)(?P<rest>(?:-[^,\s]*)?)")
_MAPPING = re.compile(r"^(?P<line>[ \t]*(?P<version>3\.\d+)[ \t]*[:=][^\n]*\n?)", re.M)
_MAPPED = re.compile(
    r"^\[gh(?:-actions)?(?::[\w-]+)?\][ \t]*\n(?P<body>(?:(?!\[)[^\n]*\n?)*)", re.M
)


def rewritten_tox(text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Return a tox.ini after a move: of Python its environments, of a package its `deps`."""
    if move.package is not None:
        return rewritten_deps(text, move)
    changes = [change for match in _LIST.finditer(text) for change in _listed(text, match, move)]
    changes += [change for match in _MAPPED.finditer(text) for change in _mapped(match, move)]
    after, edits = applied_changes(text, _apart(changes), "tox")
    return Rewritten(text=after, edits=edits)


def _listed(text: str, match: re.Match[str], move: Move) -> Iterator[TextChange]:
    start, end = match.span("value")
    outside = text[start:end]
    for braces in _BRACES.finditer(text, start, end):
        items = [_braced(item, braces) for item in _ITEM.finditer(text, *braces.span("items"))]
        yield from list_changes(text, [item for item in items if item is not None], move)
        for span in _SPAN.finditer(text, *braces.span("items")):
            yield from _span_changes(span, braces["prefix"], move)
        left, right = braces.start() - start, braces.end() - start
        outside = outside[:left] + "x" * (right - left) + outside[right:]
    names = (
        (name, _NAME.fullmatch(name[0].split("#")[0]))
        for name in re.finditer(r"[^,\s]+", outside)
        if "#" not in outside[outside.rfind("\n", 0, name.start()) + 1 : name.start()]
    )
    plain = [_named(name.start() + start, known) for name, known in names if known is not None]
    yield from list_changes(text, plain, move)


def _span_changes(span: re.Match[str], prefix: str, move: Move) -> Iterator[TextChange]:
    if move.before is None or "pypy" in prefix or not prefix:
        return
    digits = {end: span[end] if prefix.endswith("3") else span[end][1:] for end in ("low", "high")}
    if not all(digits.values()):
        return
    low, high = Version(f"3.{digits['low']}"), Version(f"3.{digits['high']}")
    is_raised = move.before <= low < move.floor
    changed: tuple[str, Version] | None = None
    if move.added is not None and high == max(move.known):
        changed = "high", move.added
    elif is_raised or (low == move.before and move.floor < low):
        changed = "low", move.floor
    if changed is not None:
        end, version = changed
        after = str(version.minor) if prefix.endswith("3") else f"3{version.minor}"
        yield TextChange(start=span.start(end), end=span.end(end), after=after)


def _braced(item: re.Match[str], braces: re.Match[str]) -> ListedVersion | None:
    prefix = braces["prefix"]
    if prefix.endswith("3"):
        if not item[0].isdecimal():
            return None
        version, is_own = Version(f"3.{item[0]}"), prefix == "py3"
        spell = (lambda version: str(version.minor)) if is_own else None
        return ListedVersion(start=item.start(), end=item.end(), version=version, spell=spell)
    known = _NAME.fullmatch(item[0])
    if known is None or known["rest"]:
        return None
    if not prefix and not known["prefix"] and "." not in known["version"]:
        return None
    return _named(item.start(), known, is_pypy=prefix.startswith("pypy"))


def _named(start: int, known: re.Match[str], is_pypy: bool = False) -> ListedVersion:
    prefix, rest, is_dotted = known["prefix"], known["rest"], "." in known["version"]
    digits = known["version"].replace(".", "")

    def spell(version: Version) -> str:
        number = str(version) if is_dotted else f"{version.major}{version.minor}"
        return f"{prefix}{number}{rest}"

    return ListedVersion(
        start=start,
        end=start + len(known[0]),
        version=Version(f"{digits[0]}.{digits[1:]}"),
        spell=None if is_pypy or prefix.startswith("pypy") else spell,
    )


def _mapped(match: re.Match[str], move: Move) -> Iterator[TextChange]:
    # The lines of tox-gh and tox-gh-actions whose Python goes, and one for a Python that is added,
    # like that of the newest.
    if move.before is None or move.floor < move.before:
        return
    lines = list(_MAPPING.finditer(match.string, *match.span("body")))
    versions = [Version(line["version"]) for line in lines]
    is_new = move.added is not None and move.added not in versions
    for line, version in zip(lines, versions, strict=True):
        if is_new and version == max(move.known):
            yield TextChange(start=line.end(), end=line.end(), after=_respelled(line[0], move))
        if move.before <= version < move.floor:
            yield TextChange(start=line.start(), end=line.end(), after="")


def _respelled(line: str, move: Move) -> str:
    newest, added = max(move.known), move.added
    assert added is not None
    dotted = line.replace(str(newest), str(added))
    return dotted.replace(f"{newest.major}{newest.minor}", f"{added.major}{added.minor}")


def _apart(changes: list[TextChange]) -> list[TextChange]:
    by_stretch: dict[tuple[int, int], TextChange] = {(c.start, c.end): c for c in changes}
    return list(by_stretch.values())
