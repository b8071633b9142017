"""Cut GitHub's published OpenAPI description down to what compat calls, as JSON Schemas that
jsonschema reads.

Run by hand when a call is added or GitHub's description moves on:

    npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
    python tests/support/cut_openapi.py package tests/policy/github_openapi.json

The package is under the MIT licence; the file names its version. Descriptions and examples of
single fields are dropped, references stay, `nullable` becomes a type. What is sent may hold no key
that the description does not know.
"""

import json
import sys
from pathlib import Path
from typing import Any

REPOSITORY = "/repos/{owner}/{repo}"
CALLS = (
    ("get", "/git/ref/{ref}"),
    ("get", "/git/commits/{commit_sha}"),
    ("post", "/git/trees"),
    ("post", "/git/commits"),
    ("post", "/git/refs"),
    ("patch", "/git/refs/{ref}"),
    ("get", "/contents/{path}"),
    ("get", "/pulls"),
    ("post", "/pulls"),
    ("patch", "/pulls/{pull_number}"),
    ("get", "/issues"),
    ("post", "/issues"),
    ("patch", "/issues/{issue_number}"),
    ("get", "/issues/{issue_number}/comments"),
    ("post", "/issues/{issue_number}/comments"),
)
KEPT = {
    *(
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "oneOf",
        "anyOf",
        "allOf",
        "additionalProperties",
        "$ref",
    ),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"),
}
# One example of each answer, from which the tests' own server starts and into which it puts its
# real state.
EXAMPLES = ("pull-request", "pull-request-simple-items", "issue", "issue-comment")


def cut(description: dict[str, Any], package: dict[str, Any]) -> dict[str, Any]:
    """Return the calls, the schemas that they need, and an example of each answer."""
    paths: dict[str, Any] = {}
    for method, path in CALLS:
        operation = description["paths"][REPOSITORY + path][method]
        paths.setdefault(REPOSITORY + path, {})[method] = _operation(operation, description)
    schemas: dict[str, Any] = {}
    wanted = _references(paths) | {"basic-error", "validation-error"}
    while wanted - set(schemas):
        for name in sorted(wanted - set(schemas)):
            schemas[name] = _schema(description["components"]["schemas"][name])
        wanted |= _references(schemas)
    examples = description["components"]["examples"]
    return {
        "source": (
            f"{package['name']} {package['version']}, api.github.com, licence {package['license']}"
        ),
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
        "examples": {name: examples[name]["value"] for name in EXAMPLES},
    }


def _operation(operation: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        _resolved(parameter, description) for parameter in operation.get("parameters", ())
    ]
    query = {item["name"]: _schema(item["schema"]) for item in parameters if item["in"] == "query"}
    answers = {}
    for status, answer in operation["responses"].items():
        content = _resolved(answer, description).get("content", {}).get("application/json")
        answers[status] = _schema(content["schema"]) if content else {}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return {"query": query, "answers": answers} | (
        {"body": _closed(_schema(body["schema"]))} if body else {}
    )


def _resolved(item: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    found: Any = item
    while "$ref" in found:
        target, found = found["$ref"], description
        for key in target.removeprefix("#/").split("/"):
            found = found[key]
    return found


def _schema(schema: Any) -> Any:
    """Return a schema without prose, with `nullable` as JSON Schema says it."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key in KEPT}
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = _schema(kept[key])
    for key in ("oneOf", "anyOf", "allOf"):
        if key in kept:
            kept[key] = [_schema(item) for item in kept[key]]
    if "properties" in kept:
        kept["properties"] = {key: _schema(value) for key, value in kept["properties"].items()}
    # With `oneOf`, an answer that fits two lax branches would be refused; GitHub's own answers do.
    if "oneOf" in kept:
        kept["anyOf"] = kept.pop("oneOf")
    return {"anyOf": [kept, {"type": "null"}]} if schema.get("nullable") else kept


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        key: _closed(value) for key, value in schema.items() if key not in ("enum", "required")
    }
    closed |= {key: schema[key] for key in ("enum", "required") if key in schema}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"].rsplit("/", 1)[1]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


def main() -> None:
    """Read the unpacked package, write the cut."""
    package, target = map(Path, sys.argv[1:])
    description = json.loads(
        (package / "generated/api.github.com.json").read_text(encoding="utf-8")
    )
    content = cut(description, json.loads((package / "package.json").read_text(encoding="utf-8")))
    target.write_text(
        json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
