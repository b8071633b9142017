"""The `site` room's API: every document of `api/v1/`, each folder with the digests of its files."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from compat.advise.commands import shell_lines
from compat.advise.proof import TestedCombination
from compat.advise.rows import ShellLines, advise_rows
from compat.site.api.axis_documents import (
    capability_documents,
    changes_document,
    coordinate_entries,
    release_document,
)
from compat.site.api.cell_documents import cell_document, cells_document, chunks, more_cells
from compat.site.api.envelope import Document, FolderListing, dated, head
from compat.site.api.index_documents import (
    Advise,
    index_document,
    is_of_matrix,
    is_of_root,
    root_document,
)
from compat.site.api.install_documents import lanes_document, plain_document, platforms_document
from compat.site.api.openapi import DOCUMENTS, changelog, openapi, schema_file
from compat.site.api.policy_documents import (
    minimum_document,
    proposals_document,
    schedule_document,
)
from compat.site.api.why_documents import floors_document
from compat.site.edition import (
    DigestListing,
    Edition,
    Listed,
    Made,
    MatrixReport,
    SiteFile,
    place_of,
)
from compat.site.encode import json
from compat.site.exports.lock_files import whereabouts
from compat.site.pages.advice_view import proof_words
from compat.site.paths import API_ROOT, api_path, schema_path, segment
from compat.site.tokens import Tokens, digest

FOLDERS = ("cells", "releases", "capabilities")


def api(edition: Edition) -> Iterator[SiteFile | Made | DigestListing]:
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


def cell_files(edition: Edition) -> Iterator[Made]:
    for report in edition.reports:
        tokens = edition.tokens(report)
        for entry in report.snapshot.known:
            yield Made(
                path=api_path(report.name, "cells", entry.cell.id),
                inputs=tokens.of(entry, *report.places[place_of(entry.cell)]),
                make=_encoder(partial(cell_document, edition, report, entry)),
            )


def _matrix(edition: Edition, report: MatrixReport) -> Iterator[SiteFile | Made | DigestListing]:
    name, tokens = report.name, edition.tokens(report)
    yield from _rows(report, tokens)
    for axis, version, entries in coordinate_entries(report):
        yield Made(
            path=api_path(name, "releases", axis.name, str(version)),
            inputs=tokens.of(*entries),
            make=_encoder(partial(release_document, report, axis, version, entries)),
        )
    for capability in capability_documents(report):
        yield SiteFile(path=api_path(name, "capabilities", capability.id), content=json(capability))
    advice = advise_rows(
        report.advisor,
        partial(_shell_lines, edition, report),
        lambda proof: proof_words(report, proof),
    )
    documents: dict[str, Document] = {
        "minimum": minimum_document(report),
        "schedule": schedule_document(report),
        "proposals": proposals_document(report),
        "advise": Advise(**dated(report), advice=advice),
        "changes": changes_document(report),
        "plain-installs": plain_document(report),
        "floors": floors_document(report),
    }
    if report.snapshot.matrix.platforms:
        documents["platform-installs"] = platforms_document(report)
    if report.snapshot.matrix.has_lanes:
        documents["lanes"] = lanes_document(report)
    for document, content in documents.items():
        yield SiteFile(path=api_path(name, document), content=json(content))
    root = f"{API_ROOT}/{segment(name)}/"
    for folder in FOLDERS:
        below = f"{root}{folder}/"
        yield DigestListing(
            path=f"{below}index.json",
            lists=partial(_is_below, below),
            make=partial(_folder, report),
        )
    yield DigestListing(
        path=api_path(name), lists=partial(is_of_matrix, root), make=partial(_index, report)
    )


def _rows(report: MatrixReport, tokens: Tokens) -> Iterator[SiteFile | Made]:
    """The rows of all cells; those of a document depend on its own cells, on those beside them, and
    on the columns.
    """
    first, *more = parts = chunks(report)
    paths = [
        api_path(report.name, "cells" if number == 0 else f"cells-{number}")
        for number in range(len(parts))
    ]
    afters = [*paths[1:], None]
    yield SiteFile(path=paths[0], content=json(cells_document(report, first, afters[0])))
    for path, after, chunk in zip(paths[1:], afters[1:], more, strict=True):
        entries = (
            beside for entry in chunk for beside in (entry, *report.places[place_of(entry.cell)])
        )
        yield Made(
            path=path,
            inputs=digest(tokens.of(*entries), report.asked, after),
            make=_encoder(partial(more_cells, report, chunk, after)),
        )


def _shell_lines(edition: Edition, report: MatrixReport, proof: TestedCombination) -> ShellLines:
    inputs = report.locks.inputs(proof.id)
    return shell_lines(inputs, whereabouts(edition, report, inputs), report.snapshot.matrix)


def _encoder(document: Callable[[], Any]) -> Callable[[], bytes]:
    return lambda: json(document())


def _folder(report: MatrixReport, listed: tuple[Listed, ...]) -> bytes:
    return json(FolderListing(**head(report), files=listed))


def _is_below(folder: str, path: str) -> bool:
    return path.startswith(folder)


def _index(report: MatrixReport, listed: tuple[Listed, ...]) -> bytes:
    return json(index_document(report, listed))
