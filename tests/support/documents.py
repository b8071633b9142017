"""One small sound matrix and policy as plain documents, and how to change and to write them."""

import copy
import datetime
import json
from collections.abc import Iterator
from typing import Any

Document = dict[str, Any]
Path = tuple[str | int, ...]


def named_rows(content: bytes) -> Document:
    """Return a document of the API; a row that is a list in the order of its `columns` has their
    names.
    """
    decoded: Document = json.loads(content)
    if "columns" in decoded:
        rows = [dict(zip(decoded["columns"], row, strict=True)) for row in decoded["installs"]]
        decoded["installs"] = rows
    return decoded


TODAY = datetime.date(2026, 6, 1)

MATRIX: Document = {
    "name": "demo",
    "title": "Demo",
    "subject": "demo",
    "platform": "x86_64-manylinux_2_28",
    "margin_days": 30,
    "requirements": ["attrs>=23"],
    "suite": {"path": "suite", "requirements": ["pytest>=7"]},
    "axes": [
        {
            "kind": "interpreter",
            "name": "python",
            "short": "py",
            "releases": ["3.9.18", "3.10.13", "3.11.7"],
        },
        {
            "kind": "package",
            "name": "engine",
            "short": "en",
            "package": "demo-engine",
            "select": {"specifier": ">=2.3,<4", "keep": "minor", "prereleases": False},
        },
        {"kind": "package", "name": "demo", "short": "demo", "package": "demo"},
    ],
    "floors": [{"axis": "engine", "at": "2.5", "because": "what the newest demo asks for"}],
    "rules": [
        {
            "name": "engine-moved",
            "effect": "relax",
            "because": "another engine brings its own companions along",
            "link": "https://example.org/why",
            "until": datetime.date(2027, 1, 31),
            "when": {"engine": "moved", "demo": ">=0.2"},
            "relaxations": [
                {"package": "companion", "to": ">=1,<3", "as_of": "engine", "everywhere": True},
                {"package": "demo", "ignore_requires_python": True},
            ],
        },
        {
            "name": "known-crash",
            "effect": "exclude",
            "because": "this pair crashes the machine that it runs on",
            "when": {"python": ">=3.11", "engine": "<2.5"},
        },
    ],
}

POLICY: Document = {
    "default_months": 24,
    "cadence": "quarterly",
    "notice_days": 90,
    "witnesses": 3,
    "windows": [{"axis": "engine", "months": 18, "because": "engines are replaced quickly"}],
    "holds": [
        {
            "axis": "engine",
            "at": "2.7",
            "because": "a large user cannot follow before winter",
            "until": datetime.date(2026, 12, 31),
            "link": "https://example.org/hold",
        }
    ],
    "known_bad": [{"axis": "engine", "version": "2.6.1", "because": "its wheels lack a library"}],
}


def changed(document: Document, path: Path, value: object) -> Document:
    """Return the document with another value at the path."""
    copied = copy.deepcopy(document)
    inner: Any = copied
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return copied


def without(document: Document, path: Path) -> Document:
    """Return the document without what stands at the path."""
    copied = copy.deepcopy(document)
    inner: Any = copied
    for part in path[:-1]:
        inner = inner[part]
    del inner[path[-1]]
    return copied


def places(document: Document) -> Iterator[tuple[Path, Any]]:
    """Yield every path of the document with its value, tables and arrays before what is in them."""
    waiting: list[tuple[Path, Any]] = [((), document)]
    while waiting:
        path, value = waiting.pop(0)
        if path:
            yield path, value
        if isinstance(value, dict):
            waiting += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, index), inner) for index, inner in enumerate(value)]


def toml(document: Document) -> bytes:
    """Return the document as TOML."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in document.items()).encode()


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int() | float():
            return repr(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return (
                f"{{{', '.join(f'{_key(key)} = {_value(inner)}' for key, inner in value.items())}}}"
            )
    raise TypeError(type(value))


def _key(key: str) -> str:
    return _text(key)


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped, and for characters beyond 16
    # bits.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
