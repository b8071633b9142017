"""The JSON schemas of declarations (draft 2020-12), and every fault that they find."""

import datetime
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import msgspec

from compat.declare import matrix
from compat.declare.faults import KINDS, Finding, Path, choice, faults_of, kind_of, shown
from compat.declare.parsing import parse_requirement, parse_specifier, parse_version
from compat.errors import Fault
from compat.value import StrictValue

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/"


def matrix_schema() -> dict[str, Any]:
    return _schema(matrix.Matrix, "A declared matrix: matrix.toml")


def policy_schema() -> dict[str, Any]:
    return _schema(matrix.Policy, "A declared policy: policy.toml")


def schema_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


@cache
def definitions() -> dict[str, dict[str, Any]]:
    return {**_derived(matrix.Matrix)["$defs"], **_derived(matrix.Policy)["$defs"]}


def _schema(kind: type, title: str) -> dict[str, Any]:
    derived = _derived(kind)
    description = derived["$defs"][kind.__name__]["description"]
    return {"$schema": DIALECT, "title": title, "description": description, **derived}


def _derived(kind: type) -> dict[str, Any]:
    derived = msgspec.json.schema(kind, schema_hook=matrix.schema_custom)
    for definition in derived["$defs"].values():
        paragraphs = inspect.cleandoc(definition["description"]).split("\n\n")
        definition["description"] = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    return derived


# Enough to fill a screen several times; a hostile document would have tens of thousands.
MOST_FOUND = 500


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not a date such as 2027-01-31") from error


_FORMATS: dict[str, tuple[str, Callable[[str], object]]] = {
    "condition": ("bad-specifier", matrix.parse_condition),
    "date": ("bad-value", _date),
    "pep440-specifier": ("bad-specifier", parse_specifier),
    "pep440-version": ("bad-version", parse_version),
    "pin": ("bad-specifier", matrix.parse_pin),
    "requirement": ("bad-requirement", parse_requirement),
}
_MSGSPEC_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_MSGSPEC_PART = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>[0-9]+)\]")


def explained(document: dict[str, Any], kind: type[StrictValue], source: str) -> tuple[Fault, ...]:
    """Return the faults of a document of that kind: at most one a key, sorted by place."""
    collected = list(islice(_faults(document, {"$ref": REFERENCE + kind.__name__}, ()), MOST_FOUND))
    first: dict[Path, Finding] = {}
    for finding in collected:
        first.setdefault(finding.path, finding)
    return faults_of(source, first.values(), complete=len(collected) < MOST_FOUND)


def _faults(value: Any, schema: dict[str, Any], path: Path) -> Iterator[Finding]:
    if "$ref" in schema:
        yield from _reference(value, schema["$ref"], path)
        return
    if "anyOf" in schema:
        yield from _any_of(value, schema, path)
        return
    if "enum" in schema:
        if value not in schema["enum"]:
            message = f"{shown(value)} is not allowed; {choice(str(value), schema['enum'])}"
            yield Finding("bad-value", path, message)
        return
    name = "date" if schema.get("format") == "date" else schema.get("type")
    if name == "date" and isinstance(value, str):
        name = "string"
    # In Python a boolean is an integer and a moment a date; in TOML they are not.
    if name is not None and type(value) is not KINDS[name][0]:
        yield _wrong_type(name, value, path)
    elif isinstance(value, dict):
        yield from _of_table(value, schema, path)
    elif isinstance(value, list):
        yield from _of_bounds(len(value), schema, path, "Items", f"has {len(value)} entries")
        for index, entry in enumerate(value[: schema.get("maxItems")]):
            yield from _faults(entry, schema["items"], (*path, index))
    elif isinstance(value, str):
        yield from _of_text(value, schema, path)
    elif isinstance(value, int):
        yield from _of_bounds(value, schema, path, "imum", f"{shown(value)} is out of range")


def _of_bounds(
    number: int, schema: dict[str, Any], path: Path, ending: str, wrong: str
) -> Iterator[Finding]:
    least, most = schema.get(f"min{ending}"), schema.get(f"max{ending}")
    if (least is not None and number < least) or (most is not None and number > most):
        allowed = f"at most {most}" if least is None else f"{least} to {most}"
        yield Finding("bad-value", path, f"{wrong}; allowed: {allowed}")


def _of_text(text: str, schema: dict[str, Any], path: Path) -> Iterator[Finding]:
    if "pattern" in schema and re.search(schema["pattern"], text) is None:
        yield Finding("bad-value", path, f"{shown(text)} is not {schema['description']}")
    if "format" in schema:
        code, parse = _FORMATS[schema["format"]]
        try:
            parse(text)
        except ValueError as error:
            yield Finding(code, path, str(error))
    yield from _of_bounds(len(text), schema, path, "Length", f"has {len(text)} characters")


def _of_table(table: dict[str, Any], schema: dict[str, Any], path: Path) -> Iterator[Finding]:
    known = schema.get("properties", {})
    allowed = schema.get("additionalProperties", True)
    for key, value in table.items():
        if key in known:
            yield from _faults(value, known[key], (*path, key))
        elif allowed is False:
            message = f"unknown key {shown(key)}; {choice(key, sorted(known))}"
            yield Finding("unknown-key", (*path, key), message)
        elif allowed is not True:
            yield from _faults(value, allowed, (*path, key))
    for key in schema.get("required", ()):
        if key not in table:
            yield Finding("missing-key", (*path, key), f"missing key {key!r}")


def _reference(value: Any, reference: str, path: Path) -> Iterator[Finding]:
    # Follow a reference; where the schema finds nothing, ask the type itself, which knows its
    # invariants.
    name = reference.removeprefix(REFERENCE)
    sound = True
    for finding in _faults(value, definitions()[name], path):
        sound = False
        yield finding
    if not sound:
        return
    kind = next(kind for kind in StrictValue.__subclasses__() if kind.__name__ == name)
    try:
        msgspec.convert(value, kind, dec_hook=matrix.decode_custom)
    except msgspec.ValidationError as error:
        message = str(error)
        match = _MSGSPEC_PATH.search(message)
        parts = _MSGSPEC_PART.finditer(match["path"]) if match else ()
        inner = (part["key"] or int(part["index"]) for part in parts)
        yield Finding("bad-value", (*path, *inner), _MSGSPEC_PATH.sub("", message))


def _any_of(value: Any, schema: dict[str, Any], path: Path) -> Iterator[Finding]:
    # Follow the branch that the discriminator names, or else the first: the others are null, which
    # TOML has not.
    if "discriminator" not in schema:
        yield from _faults(value, schema["anyOf"][0], path)
    elif not isinstance(value, dict):
        yield _wrong_type("object", value, path)
    else:
        key, mapping = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
        word = value.get(key)
        if key not in value:
            message = f"missing key {key!r}; {choice('', mapping)}"
            yield Finding("missing-key", (*path, key), message)
        elif not isinstance(word, str):
            yield _wrong_type("string", word, (*path, key))
        elif word not in mapping:
            message = f"{shown(word)} is not allowed; {choice(word, mapping)}"
            yield Finding("bad-value", (*path, key), message)
        else:
            yield from _faults(value, {"$ref": mapping[word]}, path)


def _wrong_type(name: str, value: Any, path: Path) -> Finding:
    got = shown(value) if isinstance(value, bool | int | float | str) else kind_of(value)
    remedy = ""
    match name, value:
        case "string", int() | float() | datetime.date() if not isinstance(value, bool):
            remedy = f'put it in quotes: "{shown(value)}"'
        case "array", dict() if len(path) == 1:
            remedy = f"write [[{path[0]}]] instead of [{path[0]}]"
        case "object", list() if len(path) == 1:
            remedy = f"write [{path[0]}] instead of [[{path[0]}]]"
    return Finding("wrong-type", path, f"expected {KINDS[name][1]}, got {got}", remedy)
