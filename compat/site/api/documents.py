"""The `site` room's API: every document of `api/v1/`, each folder with the digests of its files."""

from collections.abc import Iterator
from functools import partial

from compat.advise.commands import shell_lines
from compat.advise.proof import TestedCombination
from compat.advise.rows import ProofWords, ShellLines, advise_rows
from compat.site.api.axis_documents import (
    capability_documents,
    changes_document,
    coordinate_entries,
    minimum_document,
    proposals_document,
    release_document,
    schedule_document,
)
from compat.site.api.cell_documents import cells_document, chunks, last_cell_document, more_cells
from compat.site.api.envelope import (
    Advise,
    Document,
    FolderListing,
    dated,
    head,
    index_document,
    is_of_matrix,
    is_of_root,
    root_document,
)
from compat.site.api.lane_documents import lanes_document
from compat.site.api.openapi import DOCUMENTS, changelog, openapi, schema_file
from compat.site.api.plain_documents import plain_document
from compat.site.api.platform_documents import platforms_document
from compat.site.api.why_documents import floors_document
from compat.site.edition import DigestListing, Edition, Listed, MatrixReport, SiteFile, place_of
from compat.site.encode import json
from compat.site.exports.lock_files import whereabouts
from compat.site.paths import API_ROOT, api_path, schema_path, segment
from compat.site.status import style_of
from compat.site.wording import failing_words

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
            path = api_path(report.name, "cells", entry.verdict.cell)
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
    return ProofWords(verdict=word, failing=failing_words(entry.verdict, report.title))


def _is_below(folder: str, path: str) -> bool:
    return path.startswith(folder)
