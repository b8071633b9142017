"""The `site` room's API: every document of `api/v1/` with its schema, each folder with the digests
of its files, and one OpenAPI file.
"""

from collections.abc import Iterator
from functools import cache, partial
from importlib import resources
from typing import Any

import msgspec

from compat.advise.commands import shell_lines
from compat.advise.proof import TestedCombination
from compat.advise.rows import ProofWords, ShellLines, advise_rows
from compat.site.api.axis_documents import (
    CapabilityDocument,
    ChangesDocument,
    MinimumDocument,
    Proposals,
    ReleaseDocument,
    ScheduleDocument,
    capability_documents,
    changes_document,
    coordinate_entries,
    minimum_document,
    proposals_document,
    release_document,
    schedule_document,
)
from compat.site.api.cell_documents import (
    CellDocument,
    Cells,
    MoreCells,
    cells_document,
    chunks,
    last_cell_document,
    more_cells,
)
from compat.site.api.envelope import (
    SCHEMA_VERSION,
    Advise,
    Document,
    FolderListing,
    MatrixIndex,
    Root,
    dated,
    head,
    index_document,
    is_of_matrix,
    is_of_root,
    root_document,
)
from compat.site.api.install_documents import (
    LanesDocument,
    PlainInstalls,
    PlatformInstalls,
    lanes_document,
    plain_document,
    platforms_document,
)
from compat.site.api.why_documents import FloorsDocument, floors_document
from compat.site.edition import DigestListing, Edition, Listed, MatrixReport, SiteFile, place_of
from compat.site.encode import json
from compat.site.exports.lock_files import whereabouts
from compat.site.paths import API_ROOT, api_path, schema_path, segment
from compat.site.status import style_of
from compat.site.wording import failing_words
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
# The changelog has in its first paragraph what the API promises.
_CHANGELOG = resources.files("compat.site") / "assets" / "templates" / "CHANGELOG_API.md"


def schema_file(name: str, base_url: str) -> bytes:
    address = f"{base_url}{schema_path(name)}"
    return json({"$schema": DIALECT, "$id": address, **document_schema(DOCUMENTS[name])})


@cache
def document_schema(kind: type[Value]) -> dict[str, Any]:
    """Return the JSON schema of a document: every key is there, and readers pass over others.

    Defaults, refused keys and bounds of the types are of what is read in; they may widen in `v1`.
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
                "description": changelog().split("\n\n")[1],
            },
            "servers": [{"url": base_url.rstrip("/")}],
            "paths": {path: {"get": _get(path, name, base_url)} for path, name in PATHS.items()},
        }
    )


def changelog() -> str:
    return _CHANGELOG.read_text(encoding="utf-8")


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


FOLDERS = ("cells", "releases", "capabilities")


def api(edition: Edition) -> Iterator[SiteFile | DigestListing]:
    """Yield every file of the API but the documents of cells, which come before it: the documents
    of each matrix, their schemas, and the index of all.
    """
    for report in edition.reports:
        yield from _matrix(edition, report)
    for name in DOCUMENTS:
        yield SiteFile(path=schema_path(name), content=schema_file(name, edition.base_url))
    yield SiteFile(path=f"{API_ROOT}/openapi.json", content=openapi(edition.base_url))
    yield SiteFile(path=f"{API_ROOT}/CHANGELOG_API.md", content=changelog().encode())
    yield DigestListing(
        path=f"{API_ROOT}/index.json",
        lists=partial(is_of_root, [api_path(report.name) for report in edition.reports]),
        make=lambda listed: json(root_document(edition, listed)),
    )


def cell_files(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        for entry in report.snapshot.known:
            document = last_cell_document(edition, report, entry)
            path = api_path(report.name, "cells", entry.cell.id)
            yield SiteFile(path=path, content=json(document))


def _matrix(edition: Edition, report: MatrixReport) -> Iterator[SiteFile | DigestListing]:
    name = report.name
    parts = chunks(report)
    paths = [api_path(name, f"cells-{n}" if n else "cells") for n in range(len(parts))]
    for number, (path, chunk) in enumerate(zip(paths, parts, strict=True)):
        after = paths[number + 1] if number + 1 < len(paths) else None
        rows = (more_cells if number else cells_document)(report, chunk, after)
        yield SiteFile(path=path, content=json(rows))
    for axis, version, entries in coordinate_entries(report):
        document: Document = release_document(report, axis, version, entries)
        path = api_path(name, "releases", axis.name, str(version))
        yield SiteFile(path=path, content=json(document))
    for capability in capability_documents(report):
        yield SiteFile(path=api_path(name, "capabilities", capability.id), content=json(capability))
    lines, words = partial(_shell_lines, edition, report), partial(_proof_words, report)
    documents: dict[str, Document] = {
        "minimum": minimum_document(report),
        "schedule": schedule_document(report),
        "proposals": proposals_document(report),
        "advise": Advise(**dated(report), advice=advise_rows(report.advisor, lines, words)),
        "changes": changes_document(report),
        "plain-installs": plain_document(report),
        "floors": floors_document(report),
    }
    if report.snapshot.matrix.platforms:
        documents["platform-installs"] = platforms_document(report)
    if report.snapshot.matrix.has_lanes:
        documents["lanes"] = lanes_document(report)
    for title, document in documents.items():
        yield SiteFile(path=api_path(name, title), content=json(document))
    root = f"{API_ROOT}/{segment(name)}/"

    def folder(listed: tuple[Listed, ...]) -> bytes:
        return json(FolderListing(**head(report), files=listed))

    for each in FOLDERS:
        below = f"{root}{each}/"
        yield DigestListing(path=f"{below}index.json", lists=partial(_is_below, below), make=folder)
    yield DigestListing(
        path=api_path(name),
        lists=partial(is_of_matrix, root),
        make=lambda listed: json(index_document(report, listed)),
    )


def _shell_lines(edition: Edition, report: MatrixReport, proof: TestedCombination) -> ShellLines:
    inputs = report.locks.inputs(proof.id)
    return shell_lines(inputs, whereabouts(edition, report, inputs), report.snapshot.matrix)


def _proof_words(report: MatrixReport, proof: TestedCombination) -> ProofWords:
    entry = report.snapshot.by_id[proof.id]
    word = style_of(entry, report.places[place_of(proof.cell)]).word
    return ProofWords(verdict=word, failing=failing_words(entry, report.title))


def _is_below(folder: str, path: str) -> bool:
    return path.startswith(folder)
