"""GitHub's published description, asked whether a request and its answer are as it says."""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

DESCRIPTION = json.loads(
    (Path(__file__).parent / "github_openapi.json").read_text(encoding="utf-8")
)
# What every operation may answer, though few of them list it.
ERROR = {"$ref": "#/components/schemas/basic-error"}
INVALID = {"anyOf": [{"$ref": "#/components/schemas/validation-error"}, ERROR]}


def violations(
    method: str, path: str, query: dict[str, str], body: Any, status: int, answer: Any
) -> list[str]:
    """Return what the description does not allow in a request and its answer."""
    found = operation(method, path)
    if found is None:
        return [f"{method} {path}: no such operation"]
    name, described = found
    return [
        f"{method} {name}: {fault}"
        for fault in (
            *_query(described, query),
            *_body(described, body),
            *(f"answer {status}: {fault}" for fault in _faults(_answer(described, status), answer)),
        )
    ]


def operation(method: str, path: str) -> tuple[str, dict[str, Any]] | None:
    """Return the path template and the operation of a call."""
    for name, methods in DESCRIPTION["paths"].items():
        if method.lower() in methods and re.fullmatch(_pattern(name), path):
            return name, methods[method.lower()]
    return None


def _pattern(name: str) -> str:
    """A reference and a file's path may hold slashes; nothing else may."""
    return re.sub(
        r"\{(\w+)\}", lambda match: ".+" if match[1] in ("ref", "path") else "[^/]+", name
    )


def _query(described: dict[str, Any], query: dict[str, str]) -> Iterator[str]:
    for key, text in query.items():
        schema = described["query"].get(key)
        if schema is None:
            yield f"query {key} is not known"
        else:
            value = int(text) if schema.get("type") == "integer" and text.isdecimal() else text
            yield from (f"query {key}: {fault}" for fault in _faults(schema, value))


def _body(described: dict[str, Any], body: Any) -> Iterator[str]:
    if "body" in described:
        yield from (f"body: {fault}" for fault in _faults(described["body"], body))
    elif body is not None:
        yield "takes no body"


def _answer(described: dict[str, Any], status: int) -> dict[str, Any]:
    listed = described["answers"].get(str(status))
    if listed:
        return listed
    if status < 400:
        return {"not": {}}
    return INVALID if status == 422 else ERROR


def _faults(schema: dict[str, Any], value: Any) -> list[str]:
    return [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in _validator(json.dumps(schema, sort_keys=True)).iter_errors(value)
    ]


@functools.lru_cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator({"components": DESCRIPTION["components"], **json.loads(schema)})
