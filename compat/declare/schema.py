"""The `declare` room's JSON schemas (draft 2020-12): what editors and the list of all faults go
by.
"""

import inspect
import json
from functools import cache
from typing import Any

import msgspec

from compat.declare.matrix import Matrix, schema_custom
from compat.declare.policy import Policy

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/"


def matrix_schema() -> dict[str, Any]:
    return _schema(Matrix, "A declared matrix: matrix.toml")


def policy_schema() -> dict[str, Any]:
    return _schema(Policy, "A declared policy: policy.toml")


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as its file's text."""
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Return the schema of every declared type by the type's name; not to be changed."""
    return {**_derived(Matrix)["$defs"], **_derived(Policy)["$defs"]}


def _schema(kind: type, title: str) -> dict[str, Any]:
    derived = _derived(kind)
    description = derived["$defs"][kind.__name__]["description"]
    return {"$schema": DIALECT, "title": title, "description": description, **derived}


def _derived(kind: type) -> dict[str, Any]:
    """Return msgspec's schema, its descriptions without the indentation and wrapping of
    docstrings.
    """
    derived = msgspec.json.schema(kind, schema_hook=schema_custom)
    for definition in derived["$defs"].values():
        paragraphs = inspect.cleandoc(definition["description"]).split("\n\n")
        definition["description"] = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    return derived
