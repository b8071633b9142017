"""The `site` room's description of the API: a schema of each document, one OpenAPI file, and what
changed when.
"""

from typing import Any

import msgspec

from compat.site.api.axis_documents import (
    CapabilityDocument,
    ChangesDocument,
    MinimumDocument,
    Proposals,
    ReleaseDocument,
    ScheduleDocument,
)
from compat.site.api.cell_documents import CellDocument, Cells, MoreCells
from compat.site.api.envelope import SCHEMA_VERSION, Advise, FolderListing, MatrixIndex, Root
from compat.site.api.lane_documents import LanesDocument
from compat.site.api.plain_documents import PlainInstalls
from compat.site.api.platform_documents import PlatformInstalls
from compat.site.api.why_documents import FloorsDocument
from compat.site.encode import json
from compat.site.paths import schema_path
from compat.value import Value, schema_hook

_READING = frozenset(
    ("default", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
)
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, type[Value]] = {
    "root": Root,
    "index": MatrixIndex,
    "listing": FolderListing,
    "cells": Cells,
    "more-cells": MoreCells,
    "cell": CellDocument,
    "release": ReleaseDocument,
    "capability": CapabilityDocument,
    "minimum": MinimumDocument,
    "schedule": ScheduleDocument,
    "proposals": Proposals,
    "advise": Advise,
    "changes": ChangesDocument,
    "plain-installs": PlainInstalls,
    "platform-installs": PlatformInstalls,
    "floors": FloorsDocument,
    "lanes": LanesDocument,
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
    "/api/v1/{matrix}/plain-installs.json": "plain-installs",
    "/api/v1/{matrix}/platform-installs.json": "platform-installs",
    "/api/v1/{matrix}/floors.json": "floors",
    "/api/v1/{matrix}/lanes.json": "lanes",
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
# Day, version, changes.
HISTORY = (
    (
        "2026-11-26",
        1,
        (
            "The rows of `advise.json` have `outside`: how many axes have a version that the"
            " release's own requirements exclude. `tier` is 0 to 2: 0 is a release that is"
            " published for its versions and mostly works, 1 another combination in which all"
            " works. With a needed capability `outside` counts in its place.",
        ),
    ),
    (
        "2026-11-25",
        1,
        (
            "The document of a capability has `left_out`: of a matrix with more than 4,000 known"
            " cells it lists so many, first those in which the capability does not work. The rows"
            " of `cells.json` have every cell.",
        ),
    ),
    (
        "2026-11-23",
        1,
        (
            "New document `plain-installs.json`: what a plain install of each release on each"
            " Python comes to today, by a resolver or by a run, and each cause once. Before its"
            " release: each sentence and the command stand there once.",
            "New document `platform-installs.json` of a matrix that declares other platforms: what"
            " a plain install of each release on each Python comes to there, by metadata or by a"
            " resolver; nothing was run.",
            "New document `floors.json`: what keeps each release from an older Python, and from"
            " older versions of other packages.",
            "New document `lanes.json` of a matrix that declares a lane: what the lowest declared"
            " versions and dependencies that are not out yet come to beside ordinary cells.",
            "`evidence` of a cell may be `asked`: a resolver refused it, and nothing was run. Where"
            " another cell with the same conflict was refused it is `inferred`, and so it is where"
            " tested neighbours on both sides agree: then `expected` says what they came to.",
            "A code of `verdicts` has `evidence` and `expected`.",
            "`evidence` of a cell may be `smoke`: only the core of the suite was run, which"
            " `core` of the matrix names. A run has `tier`, `full` or `smoke`; the cells of a"
            " proposal have `evidence`; a plain install may be `works-smoke`, `partial-smoke`,"
            " `flaky-smoke` or `broken-smoke`.",
            "`kind` of a proposal may be `extend`: a version newer than all that an axis has.",
        ),
    ),
    (
        "2026-11-22",
        1,
        (
            "The first version.",
            "Before its release: a capability has an empty text instead of null in `cause`,"
            " `subject` and `spelling` where there is nothing to say.",
            "Before its release: the objections `rebound` and `together` of a proposal are called"
            " and `one-at-a-time`.",
            "Before its release: in the document of a capability `says`, `quick`, `looks_for`,"
            " `file`, `line` and `code` moved into `test`, which is null where the suite no longer"
            " has it, and has `helper` and `of` too. Each of its cells repeats the `id`.",
            "Before its release: a proposal has `matrix`, its evidence `recipe`; a lifted"
            " requirement has `published` and `instead`.",
            "Before its release: the document of the proposals has `outlooks`: of each floor, in"
            " one sentence, whether it can move, when, and what is missing. Below a hold it is the"
            " move of the schedule that is proposed. The schedule has the move below the newest one"
            " that is due, where runs support it.",
            "Before its release: `commands` of a cell have `folder`, `platform`, `pyproject`,"
            " `project`, `colab` and `docker`; `uv` and `pip` end with the activation of the"
            " environment and a look at the version.",
            "Before its release: `advise.json` has `refusals`, which says for each coordinate why"
            " another one is offered.",
            "Before its release: a cell has `score`, how much works and whose fault the rest is;"
            " each of its capabilities has `fault`. What fails in every combination of a release,"
            " or needs what the index no longer has, makes no cell `partial` any more.",
            "Before its release: advice is ranked by failures of the combination, changed pins,"
            " days of runs and newness. Its goals are also `best`, `closest` and `published`; its"
            " rows have `words`, `score`, `failing`, `faults` and `changed`; `tier` is 0 or 1.",
        ),
    ),
)


def schema_file(name: str, base_url: str) -> bytes:
    address = f"{base_url}{schema_path(name)}"
    return json({"$schema": DIALECT, "$id": address, **document_schema(DOCUMENTS[name])})


def document_schema(kind: type[Value]) -> dict[str, Any]:
    """Return the JSON schema of a document: every key is there, and readers pass over others.

    The types of other rooms also say what may be read in: defaults, unknown keys that are refused,
    and bounds, which may be widened within `v1`. Of what is written none of these holds.
    """
    schema = msgspec.json.schema(kind, schema_hook=schema_hook)
    return {**schema, "$defs": {name: _written(part) for name, part in schema["$defs"].items()}}


def _written(schema: Any) -> Any:
    match schema:
        case {"properties": properties}:
            rest = {key: part for key, part in schema.items() if key != "additionalProperties"}
            parts = {name: _written(part) for name, part in properties.items()}
            return {**rest, "properties": parts, "required": list(parts)}
        case dict():
            return {key: _written(part) for key, part in schema.items() if key not in _READING}
        case list():
            return [_written(part) for part in schema]
    return schema


def openapi(base_url: str) -> bytes:
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
