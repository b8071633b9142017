"""Faults of declarations: where, what is allowed, and what was probably meant."""

import datetime
import difflib
import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from compat.errors import Fault

MOST_FAULTS = 50

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")
_LONGEST = 60

Part = str | int
Path = tuple[Part, ...]
# Types of TOML by their names in a schema; a boolean is an integer to Python, too.
KINDS: dict[str, tuple[type, str]] = {
    "boolean": (bool, "a boolean"),
    "string": (str, "a string"),
    "integer": (int, "an integer"),
    "number": (float, "a number"),
    "date-time": (datetime.datetime, "a date with a time"),
    "date": (datetime.date, "a date"),
    "time": (datetime.time, "a time"),
    "array": (list, "an array"),
    "object": (dict, "a table"),
}


class Finding(NamedTuple):
    """A fault inside a document that is not named yet."""

    code: str
    path: Path
    message: str
    hint: str = ""


def faults_of(
    source: str, findings: Iterable[Finding], *, complete: bool = True
) -> tuple[Fault, ...]:
    """Return at most 50 faults by place, and how many more there are; `complete`: no other is."""

    def order(finding: Finding) -> list[tuple[int, int, str]]:
        return [(0, p, "") if isinstance(p, int) else (1, 0, p) for p in finding.path]

    faults = [
        Fault(code=code, path=fault_place(source, path), message=message, hint=hint)
        for code, path, message, hint in sorted(findings, key=order)
    ]
    if (rest := len(faults) - MOST_FAULTS) > 0:
        message = f"... and {rest if complete else f'at least {rest}'} more"
        faults[MOST_FAULTS:] = [Fault(code="more-faults", path=source, message=message)]
    return tuple(faults)


def suite_faults_at(source: str, path: Path, message: str, hint: str = "") -> tuple[Fault, ...]:
    return faults_of(source, [Finding("suite", ("suite", *path), message, hint)])


def unknown_axis(path: Path, name: str, allowed: Iterable[str], kind: str = "axis") -> Finding:
    return Finding(
        "unknown-axis",
        path,
        f"{shown(name)} is no {kind} of the matrix; {choice(name, sorted(allowed))}",
    )


def repeated(keys: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    first: dict[str, Path] = {}
    for path, key in keys:
        if first.setdefault(key, path) != path:
            yield Finding(
                "duplicate", path, f"{shown(key)} stands at {key_path(first[key])} already"
            )


def key_path(parts: Iterable[Part]) -> str:
    """Return the path of a key as in TOML: `rules[2].when.tf`; arrays count from 0."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
            continue
        path += ("." if path else "") + (
            part if _BARE_KEY.fullmatch(part) else json.dumps(_cut(part))
        )
    return path


def fault_place(source: str, parts: Iterable[Part] = ()) -> str:
    path = key_path(parts)
    return f"{source}: {path}" if path else source


def shown(value: object) -> str:
    """Return a declared value for a message: short, quoted, escaped."""
    match value:
        case str():
            return repr(_cut(value))
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
    return kind_of(value)


def kind_of(value: object) -> str:
    return next(name for kind, name in KINDS.values() if isinstance(value, kind))


def choice(word: str, allowed: Iterable[str]) -> str:
    """Return the allowed words, and the one that was probably meant."""
    words = list(allowed)
    if not words:
        return "none is declared"
    near = difflib.get_close_matches(_cut(word).lower(), words, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return f"allowed: {', '.join(words)}{meant}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
