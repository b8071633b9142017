"""The JSON schemas follow from the types, are valid, stand current in matrices/, and accept what
decodes.
"""

import datetime
import difflib
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.documents import MATRIX, POLICY, changed

from compat.declare.load import matrix_schema, policy_schema, schema_text

MATRICES = Path(__file__).parents[2] / "matrices"
SCHEMAS = {"matrix": (matrix_schema(), MATRIX), "policy": (policy_schema(), POLICY)}


def as_json(document: Any) -> Any:
    return json.loads(json.dumps(document, default=datetime.date.isoformat))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_file_is_current(name: str) -> None:
    written, derived = (
        (MATRICES / f"{name}.schema.json").read_text(encoding="utf-8"),
        schema_text(SCHEMAS[name][0]),
    )
    change = difflib.unified_diff(
        written.splitlines(), derived.splitlines(), "written", "derived", lineterm=""
    )
    assert written == derived, "run `compat matrix schema --write`:\n" + "\n".join(
        list(change)[:40]
    )


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_keeps_to_its_dialect(name: str) -> None:
    schema, _ = SCHEMAS[name]
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_editor_finds_nothing_wrong_in_a_sound_document(name: str) -> None:
    schema, document = SCHEMAS[name]
    assert list(Draft202012Validator(schema).iter_errors(as_json(document))) == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_editor_finds_an_unknown_key(name: str) -> None:
    schema, document = SCHEMAS[name]
    assert list(Draft202012Validator(schema).iter_errors({**as_json(document), "surprise": 1}))


def test_an_editor_finds_a_trailing_line_break() -> None:
    document = as_json(changed(MATRIX, ("name",), "demo\n"))
    assert [
        list(error.path) for error in Draft202012Validator(matrix_schema()).iter_errors(document)
    ] == [["name"]]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_type_has_a_description_without_indentation(name: str) -> None:
    for definition in SCHEMAS[name][0]["$defs"].values():
        assert definition["description"]
        assert "\n " not in definition["description"]
