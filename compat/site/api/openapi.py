"""The `site` room's description of the API: a schema of each document, one OpenAPI file, and what
changed when.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from compat.site.api.axis_shapes import (
    Advise,
    CapabilityDocument,
    ChangesDocument,
    ReleaseShape,
    Root,
)
from compat.site.api.policy_shapes import MinimumDocument, Proposals, ScheduleShape
from compat.site.api.shapes import (
    SCHEMA_VERSION,
    ApiShape,
    Cells,
    CellShape,
    FolderListing,
    MatrixIndex,
    MoreCells,
)
from compat.site.encode import json
from compat.site.paths import schema_path

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, type[ApiShape]] = {
    "root": Root,
    "index": MatrixIndex,
    "listing": FolderListing,
    "cells": Cells,
    "more-cells": MoreCells,
    "cell": CellShape,
    "release": ReleaseShape,
    "capability": CapabilityDocument,
    "minimum": MinimumDocument,
    "schedule": ScheduleShape,
    "proposals": Proposals,
    "advise": Advise,
    "changes": ChangesDocument,
}
# Where each document is; `{...}` are parts that change, as `api_path` writes them.
PATHS: dict[str, str] = {
    "/api/v1/index.json": "root",
    "/api/v1/{matrix}/index.json": "index",
    "/api/v1/{matrix}/cells.json": "cells",
    "/api/v1/{matrix}/cells-{number}.json": "more-cells",
    "/api/v1/{matrix}/{folder}/index.json": "listing",
    "/api/v1/{matrix}/cells/{cell}.json": "cell",
    "/api/v1/{matrix}/releases/{axis}/{version}.json": "release",
    "/api/v1/{matrix}/capabilities/{capability}.json": "capability",
    "/api/v1/{matrix}/minimum.json": "minimum",
    "/api/v1/{matrix}/schedule.json": "schedule",
    "/api/v1/{matrix}/proposals.json": "proposals",
    "/api/v1/{matrix}/advise.json": "advise",
    "/api/v1/{matrix}/changes.json": "changes",
}
PROMISE = """\
Static JSON, made anew with each edition of the site. Within `v1` keys and values of enumerations
are only added; every
key is always present, and what may be null says so. What is to go is announced here twelve months
before. `sha256` of
each file stands in the index of its folder, and those of the folders in the index of the matrix:
where they differ,
files of two editions are mixed, so fetch again. Parts of a path that are not lower-case ASCII
letters, digits, `.`,
`_`, `+` or `-` are written as `~` and two hex digits a byte."""
HISTORY = (("2026-11-22", 1, ("The first version.",)),)


def schemas(base_url: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the text of each document's JSON schema."""
    for name, kind in DOCUMENTS.items():
        yield (
            name,
            json(
                {
                    "$schema": DIALECT,
                    "$id": f"{base_url}{schema_path(name)}",
                    **document_schema(kind),
                }
            ),
        )


def document_schema(kind: type[ApiShape]) -> dict[str, Any]:
    """Return the JSON schema of a document."""
    return msgspec.json.schema(kind)


def openapi(base_url: str) -> bytes:
    """Return the OpenAPI description of all documents."""
    return json(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Which versions work together",
                "version": f"{SCHEMA_VERSION}.0",
                "description": PROMISE,
            },
            "servers": [{"url": base_url.rstrip("/")}],
            "paths": {path: {"get": _get(path, name, base_url)} for path, name in PATHS.items()},
        }
    )


def changelog() -> str:
    """Return the history of the API as Markdown."""
    lines = ["# Changes of the API", "", PROMISE, ""]
    for day, version, changes in HISTORY:
        lines += [f"## {day}: version {version}", "", *(f"- {change}" for change in changes), ""]
    return "\n".join(lines)


def _get(path: str, name: str, base_url: str) -> dict[str, Any]:
    parts = [part.partition("}")[0] for part in path.split("{")[1:]]
    about = (DOCUMENTS[name].__doc__ or "").partition("\n\n")[0]
    reference = {"$ref": f"{base_url}{schema_path(name)}"}
    return {
        "operationId": name,
        "summary": " ".join(about.split()),
        "parameters": [
            {"name": part, "in": "path", "required": True, "schema": {"type": "string"}}
            for part in parts
        ],
        "responses": {
            "200": {
                "description": "The document.",
                "content": {"application/json": {"schema": reference}},
            }
        },
    }
