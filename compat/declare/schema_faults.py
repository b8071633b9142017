"""The `declare` room's explanation of a document that does not decode: every fault of it, found by
its JSON schema.
"""

import datetime
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import msgspec
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from compat.declare.faults import Finding, Part, Path, capped, choice, faults_of, kind_of, shown
from compat.declare.matrix import decode_custom, parse_condition, parse_pin
from compat.declare.parsing import parse_requirement, parse_specifier, parse_version
from compat.declare.schema import REFERENCE, definitions
from compat.errors import Fault
from compat.value import StrictValue

# Enough to fill a screen several times; a hostile document would have tens of thousands.
MOST_FOUND = 500

Errors = Iterator[ValidationError]

_KIND_NAMES = {
    "array": "an array",
    "boolean": "a boolean",
    "date": "a date",
    "integer": "an integer",
    "object": "a table",
    "string": "a string",
}


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not a date such as 2027-01-31") from error


_FORMATS: dict[str, tuple[str, Callable[[str], object]]] = {
    "condition": ("bad-specifier", parse_condition),
    "date": ("bad-value", _date),
    "pep440-specifier": ("bad-specifier", parse_specifier),
    "pep440-version": ("bad-version", parse_version),
    "pin": ("bad-specifier", parse_pin),
    "requirement": ("bad-requirement", parse_requirement),
}
_MSGSPEC_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_MSGSPEC_PART = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>[0-9]+)\]")


def explained(document: dict[str, Any], kind: type[StrictValue], source: str) -> tuple[Fault, ...]:
    """Return the faults of a document that is not of that kind: at most one a key, sorted by
    place.
    """
    errors = _validator(kind).iter_errors(document)
    collected = list(islice(errors, MOST_FOUND))
    first: dict[Path, ValidationError] = {}
    for error in collected:
        first.setdefault(tuple(error.absolute_path), error)
    findings = (_finding(error, path) for path, error in first.items())
    return capped(faults_of(source, findings), source, complete=len(collected) < MOST_FOUND)


def _finding(error: ValidationError, path: Path) -> Finding:
    code, message = _told(error)
    return Finding(code, path, message, _remedy(error, path))


def _told(error: ValidationError) -> tuple[str, str]:
    bound: Any = error.validator_value
    schema: Any = error.schema
    instance: Any = error.instance
    match error.validator:
        case "enum":
            return "bad-value", f"{shown(instance)} is not allowed; {choice(str(instance), bound)}"
        case "pattern":
            return "bad-value", f"{shown(instance)} is not {schema['description']}"
        case "minLength" | "maxLength":
            return "bad-value", f"has {len(instance)} characters; {_range(schema, 'Length')}"
        case "minItems" | "maxItems":
            return "bad-value", f"has {len(instance)} entries; {_range(schema, 'Items')}"
        case "minimum" | "maximum":
            return "bad-value", f"{shown(instance)} is out of range; {_range(schema, 'imum')}"
        case "format":
            return _FORMATS[bound][0], str(error.cause)
    return str(error.validator), error.message


def _range(schema: Any, ending: str) -> str:
    least, most = schema.get(f"min{ending}"), schema.get(f"max{ending}")
    return f"allowed: at most {most}" if least is None else f"allowed: {least} to {most}"


def _remedy(error: ValidationError, path: Path) -> str:
    if error.validator != "wrong-type":
        return ""
    match error.validator_value, error.instance:
        case "string", int() | float() | datetime.date() if not isinstance(error.instance, bool):
            return f'put it in quotes: "{shown(error.instance)}"'
        case "array", dict() if len(path) == 1:
            return f"write [[{path[0]}]] instead of [{path[0]}]"
        case "object", list() if len(path) == 1:
            return f"write [{path[0]}] instead of [[{path[0]}]]"
    return ""


# The keywords below differ from jsonschema's own: they name the very key, follow the one branch
# that was meant, and do not repeat for every entry what is wrong with the whole. The code stands in
# the error's `validator`.


@cache
def _validator(kind: type[StrictValue]) -> Validator:
    keywords = {
        "$ref": _reference,
        "additionalProperties": _additional_properties,
        "anyOf": _any_of,
        "items": _items,
        "required": _required,
        "type": _type,
    }
    formats = FormatChecker(formats=())
    for name, (_, parse) in _FORMATS.items():
        formats.checks(name, raises=ValueError)(_check(parse))
    extend_untyped: Any = extend
    extended: type[Validator] = extend_untyped(Draft202012Validator, keywords)
    return extended({"$ref": REFERENCE + kind.__name__}, format_checker=formats)


def _check(parse: Callable[[str], object]) -> Callable[[object], bool]:
    def check(value: object) -> bool:
        if isinstance(value, str):
            parse(value)
        return True

    return check


def _reference(validator: Any, reference: str, instance: Any, schema: Any) -> Errors:
    # Follow a reference; where the schema finds nothing, ask the type itself, which knows its
    # invariants.
    name = reference.removeprefix(REFERENCE)
    sound = True
    for error in validator.descend(instance, definitions()[name]):
        sound = False
        yield error
    if sound:
        yield from _misfit(name, instance)


def _misfit(name: str, instance: Any) -> Errors:
    kind = next(kind for kind in StrictValue.__subclasses__() if kind.__name__ == name)
    try:
        msgspec.convert(instance, kind, dec_hook=decode_custom)
    except msgspec.ValidationError as error:
        message = str(error)
        match = _MSGSPEC_PATH.search(message)
        parts = _MSGSPEC_PART.finditer(match["path"]) if match else ()
        yield ValidationError(
            _MSGSPEC_PATH.sub("", message),
            validator="bad-value",
            path=[part["key"] or int(part["index"]) for part in parts],
        )


def _any_of(validator: Any, branches: list[dict[str, Any]], instance: Any, schema: Any) -> Errors:
    # Follow the branch that the discriminator names, or else the first: the others are null, which
    # TOML has not.
    if "discriminator" not in schema:
        yield from validator.descend(instance, branches[0])
    elif not isinstance(instance, dict):
        yield _wrong_type("object", instance)
    else:
        key, mapping = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
        word = instance.get(key)
        if key not in instance:
            message = f"missing key {key!r}; {choice('', mapping)}"
            yield ValidationError(message, validator="missing-key", path=[key])
        elif not isinstance(word, str):
            yield _wrong_type("string", word, key)
        elif word not in mapping:
            message = f"{shown(word)} is not allowed; {choice(word, mapping)}"
            yield ValidationError(message, validator="bad-value", path=[key])
        else:
            yield from validator.descend(instance, {"$ref": mapping[word]})


def _items(validator: Any, items: dict[str, Any], instance: Any, schema: Any) -> Errors:
    if isinstance(instance, list):
        for index, entry in enumerate(instance[: schema.get("maxItems")]):
            yield from validator.descend(entry, items, path=index)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Errors:
    known = schema.get("properties", {})
    if not isinstance(instance, dict):
        return
    for key in instance.keys() - known.keys():
        if allowed is False:
            message = f"unknown key {shown(key)}; {choice(key, sorted(known))}"
            yield ValidationError(message, validator="unknown-key", path=[key])
        else:
            yield from validator.descend(instance[key], allowed, path=key)


def _required(validator: Any, required: list[str], instance: Any, schema: Any) -> Errors:
    for key in required if isinstance(instance, dict) else ():
        if key not in instance:
            yield ValidationError(f"missing key {key!r}", validator="missing-key", path=[key])


def _type(validator: Any, name: str, instance: Any, schema: Any) -> Errors:
    if schema.get("format") == "date" and not isinstance(instance, str):
        if type(instance) is not datetime.date:
            yield _wrong_type("date", instance)
    elif not validator.is_type(instance, name) or (
        name == "integer" and isinstance(instance, float)
    ):
        yield _wrong_type(name, instance)


def _wrong_type(name: str, instance: Any, *path: Part) -> ValidationError:
    got = shown(instance) if isinstance(instance, bool | int | float | str) else kind_of(instance)
    message = f"expected {_KIND_NAMES[name]}, got {got}"
    return ValidationError(
        message, validator="wrong-type", validator_value=name, instance=instance, path=path
    )
