"""Rewrites the floors of a TOML text with tomlkit: a library's pyproject.toml, and matrix.toml."""

from collections.abc import Iterable, Iterator
from typing import Any

import tomlkit
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import String

from compat.declare.matrix import InterpreterAxis, Rule, added_python, widened_specifier
from compat.declare.parsing import choice, poetry_range
from compat.errors import DeclarationError, UsageError
from compat.policy.evaluation import Proposal
from compat.rewrite.ranges import Move, Rewritten, Skipped, Unsatisfiable, moved
from compat.value import Value

_REQUIREMENTS = (
    ("project", "dependencies", "*"),
    ("project", "optional-dependencies", "*", "*"),
    ("dependency-groups", "*", "*"),
)
_POETRY = (
    ("tool", "poetry", "dependencies", "*"),
    ("tool", "poetry", "group", "*", "dependencies", "*"),
)
_TOOLS = (
    ("tool", "ruff", "target-version"),
    ("tool", "mypy", "python_version"),
    ("tool", "pyright", "pythonVersion"),
)


class _Slot(Value, frozen=True):
    """A string of a document, under a key of a table or array."""

    place: str
    container: Any
    key: str | int

    @property
    def text(self) -> str:
        return str(self.container[self.key])

    def put(self, text: str) -> None:
        self.container[self.key] = String.from_raw(text, self.container[self.key]._t)


def rewritten_matrix(text: str, axis: str, floor: Version, because: str) -> str:
    """Raises DeclarationError if it is not TOML, UsageError for an axis without a floor."""
    document = parsed_document(text)
    floors = [entry for entry in document.get("floors", ()) if isinstance(entry, dict)]
    known = [str(entry.get("axis", "")) for entry in floors]
    if axis not in known:
        raise UsageError.of(
            f"declares no floor of axis '{axis}'", path="floors", hint=choice(axis, known)
        )
    entry = floors[known.index(axis)]
    try:
        is_there = Version(str(entry.get("at"))) == floor
    except InvalidVersion:
        is_there = False
    if not is_there:
        _set(entry, "at", str(floor))
    if entry.get("because") != because:
        _set(entry, "because", because)
    return tomlkit.dumps(document)


def rewritten_pyproject(text: str, move: Move) -> Rewritten | Unsatisfiable:
    """PEP 621, PEP 735, Poetry and `_TOOLS`. Raises DeclarationError if it is not TOML."""
    document = parsed_document(text)
    asked = (("project", "requires-python"),) if move.package is None else _REQUIREMENTS
    slots = [slot for path in asked for slot in _strings(document, *path)]
    poetry = list(_poetry(document, move))
    slots += (slot for slot in poetry if isinstance(slot, _Slot))
    outcome = moved([(slot.place, slot.text) for slot in slots], move)
    if isinstance(outcome, Unsatisfiable):
        return outcome
    texts, left = outcome
    every = (*zip(slots, texts, strict=True), *_stated(document, move))
    changes = [(slot, after) for slot, after in every if after != slot.text]
    for slot, after in changes:
        slot.put(after)
    left = (*left, *(known for known in poetry if isinstance(known, Skipped)))
    return Rewritten(text=tomlkit.dumps(document) if changes else text, left=left)


def parsed_document(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as fault:
        raise DeclarationError.of(f"is not valid TOML: {fault}") from fault


def _set(entry: Any, key: str, text: str) -> None:
    try:
        if "\r" in text:
            raise ValueError(text)
        _Slot(key, entry, key).put(text)
    except (KeyError, AttributeError, ValueError):
        entry[key] = text


def _stated(document: Any, move: Move) -> Iterator[tuple[_Slot, str]]:
    if move.package is not None or move.before is None:
        return
    old, new = move.before, move.floor
    spelled = {str(old): str(new), f"py{old.major}{old.minor}": f"py{new.major}{new.minor}"}
    for path in _TOOLS:
        for slot in _strings(document, *path):
            if slot.text in spelled:
                yield slot, spelled[slot.text]


def _strings(document: Any, *path: str) -> Iterator[_Slot]:
    places = _places(document, *path)
    return (_Slot(*each) for each in places if isinstance(each[1][each[2]], String))


def _places(container: Any, *path: str, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, container and key of what stands at a path, in which `*` is each key of a
    table or index of an array.
    """
    key, *rest = path
    keys: Iterable[str | int] = [key] if isinstance(container, dict) and key in container else ()
    if key == "*" and isinstance(container, dict | list):
        keys = list(container) if isinstance(container, dict) else range(len(container))
    for each in keys:
        name = f"{place}[{each}]" if isinstance(each, int) else f"{place}.{each}".lstrip(".")
        if rest:
            yield from _places(container[each], *rest, place=name)
        else:
            yield name, container, each


class _PoetrySlot(_Slot, frozen=True):
    """A constraint of Poetry, parsed as a requirement of this name."""

    name: str = ""

    @property
    def text(self) -> str:
        written = str(self.container[self.key])
        known = poetry_range(written)
        is_plain = known.replace(" ", "") == written.replace(" ", "")
        return self.name + (written if is_plain else known)

    def put(self, text: str) -> None:
        after = text.removeprefix(self.name)
        lowest = after.partition(",")[0].removeprefix(">=")
        if str(self.container[self.key])[0] in "^~" and poetry_range(f"^{lowest}") == after:
            after = f"^{lowest}"
        super().put(after)


def _poetry(document: Any, move: Move) -> Iterator[_PoetrySlot | Skipped]:
    name = "python" if move.package is None else canonicalize_name(move.package)
    paths = _POETRY if move.added is None else ()
    for place, table, key in (each for path in paths for each in _places(document, *path)):
        if canonicalize_name(key) == name:
            is_table = isinstance(table[key], dict)
            slot = _PoetrySlot(
                place,
                table[key] if is_table else table,
                "version" if is_table else key,
                name="" if move.package is None else key,
            )
            text = slot.container.get(slot.key)
            if isinstance(text, String) and "|" not in text:
                yield slot
            else:
                because = "it is no plain range of Poetry; change it by hand"
                yield Skipped(place=slot.place, text=str(table[key]), because=because)


def matrix_after(text: str, proposal: Proposal, because: str) -> str:
    name, version = proposal.axis, proposal.proposed
    if proposal.kind != "extend":
        return rewritten_matrix(text, name, version, because)
    document = parsed_document(text)
    axis = next((axis for axis in document.get("axes", ()) if axis.get("name") == name), None)
    if axis is None:
        raise UsageError.of(f"declares no axis '{name}'", path="axes")
    if axis.get("kind") == "interpreter":
        known = tuple(Version(str(release)) for release in axis["releases"])
        added = added_python(InterpreterAxis(name=name, short="py", releases=known), version)
        if added not in known:
            axis["releases"].append(str(added))
    else:
        select = axis["select"]
        before = str(select["specifier"])
        after = widened_specifier(before, version, str(select.get("keep", "each")))
        if after is not None and after != before:
            select["specifier"] = after
    return document.as_string()


def rule_text(rule: Rule, evidence: str = "") -> str:
    table = tomlkit.table()
    table["name"] = rule.name
    table["effect"] = rule.effect
    table["because"] = f"{rule.because}{evidence}"
    if rule.when.conditions:
        when = tomlkit.inline_table()
        when.update({axis: str(condition) for axis, condition in rule.when.conditions})
        table["when"] = when
    if rule.relaxations:
        relaxations = tomlkit.array().multiline(True)
        for relaxation in rule.relaxations:
            entry = tomlkit.inline_table()
            entry["package"] = relaxation.package
            if relaxation.ignore_requires_python:
                entry["ignore_requires_python"] = True
            else:
                entry["to"] = relaxation.to
                if relaxation.as_of is not None:
                    entry["as_of"] = relaxation.as_of
                names = (n for n in ("everywhere", "always") if getattr(relaxation, n))
                entry.update(dict.fromkeys(names, True))
            relaxations.append(entry)
        table["relaxations"] = relaxations
    rules = tomlkit.aot()
    rules.append(table)
    document = tomlkit.document()
    document["rules"] = rules
    return tomlkit.dumps(document)
