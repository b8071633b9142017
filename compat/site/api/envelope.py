"""The `site` room's API: what every document begins with, and the parts that several have.

Documents are values of the other rooms encoded by `compat.value.encode`; a type of its own stands
in this folder only where the public form differs on purpose. The JSON schemas are made from the
same types. Every key is always there; what may be null says so.
"""

import datetime
from typing import Annotated, Any

import msgspec

from compat.advise.request import label
from compat.advise.rows import AdviceAxis
from compat.declare.matrix import InterpreterAxis
from compat.plan.cell import axis_coordinates
from compat.site.edition import Listed, MatrixReport
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
