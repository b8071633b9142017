"""The `site` room's API: what every document begins with, the parts that several have, and its
indexes.

Documents are values of the other rooms encoded by `compat.value.encode`; a type of its own stands
in this folder only where the public form differs on purpose. The JSON schemas are made from the
same types. Every key is always there; what may be null says so.
"""

import datetime
from collections import Counter
from collections.abc import Collection
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict

from compat.advise.request import label
from compat.advise.rows import AdviceAxis, AdviceTable
from compat.declare.matrix import InterpreterAxis
from compat.plan.cell import RECIPES, Recipe, axis_coordinates
from compat.results.coverage import cell_count
from compat.site.edition import Edition, Listed, MatrixReport
from compat.site.paths import API_ROOT, api_path
from compat.value import Value

SCHEMA_VERSION = 1
Sha256 = Annotated[
    str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$", description="a sha256 in lower-case hex")
]
SitePath = Annotated[
    str, msgspec.Meta(description="a path below the root of the site, without a leading slash")
]


class Document(Value, frozen=True, kw_only=True):
    """Base of all documents: the version of the schemas, and the name of the matrix."""

    schema_version: int
    matrix: str


class Dated(Document, frozen=True, kw_only=True):
    """Base of the documents whose content depends on the day of the edition."""

    day: datetime.date


class FolderListing(Document, frozen=True, kw_only=True):
    """The files of one folder of the API."""

    files: tuple[Listed, ...]


class AxisCoordinates(AdviceAxis, frozen=True, kw_only=True):
    """An axis: its name, its short name in ids, what people call it, its package (null: it is the
    interpreter), and its coordinates, oldest first.
    """

    package: str | None


def head(report: MatrixReport) -> dict[str, Any]:
    return {"schema_version": SCHEMA_VERSION, "matrix": report.name}


def dated(report: MatrixReport) -> dict[str, Any]:
    return {**head(report), "day": report.snapshot.day}


def axes_of(report: MatrixReport) -> tuple[AxisCoordinates, ...]:
    snapshot = report.snapshot
    return tuple(
        AxisCoordinates(
            name=axis.name,
            short=axis.short,
            label=label(axis),
            package=None if isinstance(axis, InterpreterAxis) else axis.package,
            coordinates=tuple(
                str(coordinate.version) for coordinate in axis_coordinates(axis, snapshot.catalogue)
            ),
        )
        for axis in snapshot.matrix.axes
    )


class Counts(Value, frozen=True, kw_only=True):
    """How many cells there are: in the plan; of these each once, as tested, undecided by its runs,
    known to fail or expected to come to something without a run, untried, or ruled out; with a run
    or a lock, stale; and by verdict.
    """

    planned: int
    tested: int
    undecided: int
    refused: int
    expected: int
    untried: int
    ruled_out: int
    known: int
    stale: int
    verdicts: dict[str, int]


class MatrixIndex(Dated, frozen=True, kw_only=True):
    """What the API has about a matrix.

    `files` are its own, those of folders are listed in the folders' own indexes.

    `latest` is the day of the newest run that counts; verdicts are stale after `fresh_days`.
    """

    title: str
    subject: str
    platform: str
    suite_digest: str
    fresh_days: int
    latest: datetime.date | None
    axes: tuple[AxisCoordinates, ...]
    recipes: tuple[Recipe, ...]
    capabilities: tuple[str, ...]
    counts: Counts
    files: tuple[Listed, ...]


class Advise(Dated, frozen=True, kw_only=True):
    """What the advisor answers from."""

    advice: AdviceTable


class MatrixLink(Value, frozen=True, kw_only=True):
    """A matrix of the site."""

    name: str
    title: str
    index: SitePath


class Root(Value, frozen=True, kw_only=True):
    """Where the API begins: its matrices, and its own files."""

    schema_version: int
    day: datetime.date
    matrices: tuple[MatrixLink, ...]
    files: tuple[Listed, ...]


def is_of_root(indexes: Collection[str], path: str) -> bool:
    """Return whether the document that the API begins with lists a file; `indexes` are the paths of
    the matrices' own.
    """
    return path.startswith("schema/v1/") or path.rpartition("/")[0] == API_ROOT or path in indexes


def root_document(edition: Edition, listed: tuple[Listed, ...]) -> Root:
    matrices = (
        MatrixLink(
            name=report.name, title=report.snapshot.matrix.title, index=api_path(report.name)
        )
        for report in edition.reports
    )
    return Root(
        schema_version=SCHEMA_VERSION, day=edition.day, matrices=tuple(matrices), files=listed
    )


def is_of_matrix(folder: str, path: str) -> bool:
    """Return whether the index of a matrix lists a file, whose folder in the API is this: its own
    files, and the indexes of the folders in it.
    """
    rest = path.removeprefix(folder)
    return rest != path and ("/" not in rest or rest.endswith("/index.json"))


def index_document(report: MatrixReport, listed: tuple[Listed, ...]) -> MatrixIndex:
    snapshot = report.snapshot
    verdicts = Counter(entry.kind for entry in snapshot.entries if entry.planned)
    tested = [entry for entry in snapshot.known if entry.is_tested]
    days = (entry.latest for entry in tested if entry.latest is not None)
    return MatrixIndex(
        **dated(report),
        title=snapshot.matrix.title,
        subject=snapshot.matrix.subject,
        platform=snapshot.matrix.platform,
        suite_digest=snapshot.present.suite_digest,
        fresh_days=snapshot.present.fresh_days,
        latest=max(days, default=None),
        axes=axes_of(report),
        recipes=RECIPES,
        capabilities=report.asked,
        counts=Counts(
            planned=cell_count(snapshot).planned,
            **asdict(cell_count(snapshot)),
            known=len(snapshot.known),
            stale=sum(entry.stale for entry in tested),
            verdicts={kind: verdicts[kind] for kind in verdicts},
        ),
        files=listed,
    )
