"""The `site` room's API: every document of `api/v1/`, each folder with the digests of its files."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from compat.advise.rows import advise_rows
from compat.plan.cell import RECIPES
from compat.site.api.axis_documents import (
    capabilities,
    changes_document,
    coordinate_entries,
    release,
)
from compat.site.api.axis_shapes import Advise, MatrixShape, Root
from compat.site.api.cell_documents import (
    axes_of,
    cell,
    cells_document,
    chunks,
    dated,
    head,
    more_cells,
)
from compat.site.api.openapi import changelog, openapi, schemas
from compat.site.api.policy_documents import minimum, proposals_shape, schedule_shape
from compat.site.api.shapes import SCHEMA_VERSION, Counts, FileShape, MatrixIndex
from compat.site.api.shapes import FolderListing as ListingShape
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
from compat.site.paths import API_ROOT, api_path, schema_path, segment
from compat.site.tokens import Tokens, digest

FOLDERS = ("cells", "releases", "capabilities")


def api(edition: Edition) -> Iterator[SiteFile | Made | DigestListing]:
    """Yield every file of the API, its schemas among them."""
    for report in edition.reports:
        yield from _report(edition, report)
    yield from (
        SiteFile(path=schema_path(name), content=text) for name, text in schemas(edition.base_url)
    )
    yield SiteFile(path=f"{API_ROOT}/openapi.json", content=openapi(edition.base_url))
    yield SiteFile(path=f"{API_ROOT}/CHANGELOG_API.md", content=changelog().encode())
    yield DigestListing(
        path=f"{API_ROOT}/index.json", below="", make=lambda listed: json(_root(edition, listed))
    )


def _report(edition: Edition, report: MatrixReport) -> Iterator[SiteFile | Made | DigestListing]:
    name, tokens = report.name, edition.tokens(report)
    yield from _cells(report, tokens)
    for entry in report.snapshot.known:
        make = _maker(edition, report, entry.verdict.cell)
        siblings = report.places[place_of(entry.cell)]
        yield Made(
            path=api_path(name, "cells", entry.verdict.cell),
            inputs=tokens.of(entry, *siblings),
            make=make,
        )
    for axis, version, entries in coordinate_entries(report):
        document = partial(release, report, axis, version, entries)
        path = api_path(name, "releases", axis.name, str(version))
        yield Made(path=path, inputs=tokens.of(*entries), make=_encoder(document))
    for capability in capabilities(report):
        yield SiteFile(path=api_path(name, "capabilities", capability.id), content=json(capability))
    yield from _policy(report)
    advice = advise_rows(report.advisor, lambda lock: whereabouts(edition, report, lock))
    yield SiteFile(
        path=api_path(name, "advise"), content=json(Advise(**dated(report), advice=advice))
    )
    yield SiteFile(path=api_path(name, "changes"), content=json(changes_document(report)))
    for folder in FOLDERS:
        below = f"{API_ROOT}/{segment(name)}/{folder}/"
        yield DigestListing(path=f"{below}index.json", below=below, make=_lister(report))
    below = f"{API_ROOT}/{segment(name)}/"
    yield DigestListing(
        path=f"{below}index.json",
        below=below,
        make=lambda listed: json(_index(report, below, listed)),
    )


def _cells(report: MatrixReport, tokens: Tokens) -> Iterator[SiteFile | Made]:
    """The rows of all cells; those of a document depend on its own cells, on those beside them, and
    on the columns.
    """
    first, *more = found = chunks(report)
    paths = [
        api_path(report.name, "cells" if number == 0 else f"cells-{number}")
        for number in range(len(found))
    ]
    afters = [*paths[1:], None]
    yield SiteFile(path=paths[0], content=json(cells_document(report, first, afters[0])))
    for path, after, chunk in zip(paths[1:], afters[1:], more, strict=True):
        entries = (one for entry in chunk for one in (entry, *report.places[place_of(entry.cell)]))
        inputs = digest(tokens.of(*entries), report.asked, after)
        yield Made(
            path=path, inputs=inputs, make=_encoder(partial(more_cells, report, chunk, after))
        )


def _encoder(document: Callable[[], Any]) -> Callable[[], bytes]:
    return lambda: json(document())


def _policy(report: MatrixReport) -> Iterator[SiteFile]:
    yield SiteFile(path=api_path(report.name, "minimum"), content=json(minimum(report)))
    yield SiteFile(path=api_path(report.name, "schedule"), content=json(schedule_shape(report)))
    yield SiteFile(path=api_path(report.name, "proposals"), content=json(proposals_shape(report)))


def _maker(edition: Edition, report: MatrixReport, cell_id: str) -> Callable[[], bytes]:
    return lambda: json(cell(edition, report, report.snapshot.by_id[cell_id]))


def _lister(report: MatrixReport) -> Callable[[tuple[Listed, ...]], bytes]:
    return lambda listed: json(ListingShape(**head(report), files=_files(listed)))


def _files(listed: tuple[Listed, ...]) -> tuple[FileShape, ...]:
    return tuple(FileShape(path=one.path, sha256=one.sha256, bytes=one.bytes) for one in listed)


def _index(report: MatrixReport, below: str, listed: tuple[Listed, ...]) -> MatrixIndex:
    snapshot = report.snapshot
    own = [
        one
        for one in listed
        if "/" not in one.path.removeprefix(below) or one.path.endswith("/index.json")
    ]
    verdicts = Counter(entry.verdict.kind for entry in snapshot.entries)
    tested = [entry for entry in snapshot.known if entry.is_tested]
    return MatrixIndex(
        **dated(report),
        title=snapshot.matrix.title,
        subject=snapshot.matrix.subject,
        platform=snapshot.matrix.platform,
        suite_digest=snapshot.present.suite_digest,
        fresh_days=snapshot.present.fresh_days,
        latest=max(
            (entry.verdict.latest for entry in tested if entry.verdict.latest is not None),
            default=None,
        ),
        axes=axes_of(report),
        recipes=RECIPES,
        capabilities=report.asked,
        counts=Counts(
            planned=sum(entry.planned for entry in snapshot.entries),
            known=len(snapshot.known),
            tested=len(tested),
            stale=sum(entry.verdict.stale for entry in tested),
            verdicts=dict(sorted(verdicts.items())),
        ),
        files=_files(tuple(own)),
    )


def _root(edition: Edition, listed: tuple[Listed, ...]) -> Root:
    indexes = {api_path(report.name) for report in edition.reports}
    own = [
        one
        for one in listed
        if one.path in indexes
        or one.path.startswith("schema/v1/")
        or one.path.rpartition("/")[0] == API_ROOT
    ]
    return Root(
        schema_version=SCHEMA_VERSION,
        day=edition.day,
        matrices=tuple(
            MatrixShape(
                name=report.name, title=report.snapshot.matrix.title, index=api_path(report.name)
            )
            for report in edition.reports
        ),
        files=_files(tuple(own)),
    )
