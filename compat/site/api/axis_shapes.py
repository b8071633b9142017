"""The `site` room's shapes, beyond cells: releases, capabilities, advice, changes, and where the
API begins.
"""

import datetime
from typing import Literal

from compat.advise.rows import AdviceTable
from compat.results.compare import ChangeKind
from compat.results.verdict import Kind
from compat.site.api.shapes import ApiShape, Date, Dated, Document, FileShape, Site
from compat.site.status import State


class ReleaseFile(ApiShape, frozen=True):
    """A release that a coordinate stands for, and when it came out, as far as the index tells."""

    version: str
    uploaded: datetime.datetime | None
    yanked: bool


class Range(ApiShape, frozen=True):
    """The coordinates of another axis with which the best cell is in a state."""

    axis: str
    state: State
    coordinates: tuple[str, ...]


class Reason(ApiShape, frozen=True):
    """How many cells the plan rules out by an obstacle of a kind, with the sentence of the
    newest.
    """

    kind: str
    count: int
    example: str
    because: str


class ReleaseShape(Document, frozen=True):
    """What is known about one coordinate of an axis; of a series, all its releases.

    The interpreter has none.
    """

    axis: str
    version: str
    label: str
    requires_python: str | None
    releases: tuple[ReleaseFile, ...]
    verdicts: dict[str, int]
    ranges: tuple[Range, ...]
    cells: tuple[str, ...]
    ruled_out: tuple[Reason, ...]


class CapabilityCell(ApiShape, frozen=True):
    """A capability in one cell."""

    cell: str
    status: Literal["yes", "no", "absent"]
    cause: str | None
    subject: str | None
    spelling: str | None
    missing: tuple[str, ...]
    latest: Date | None
    stale: bool


class CapabilityDocument(Document, frozen=True):
    """One capability: what the suite says of it, and every cell that was asked.

    `title` is the id where the suite no longer has it; `looks_for` the spellings that are tried,
    for each thing that changed its name. `of_helper` is true where the test looks at a file of the
    suite alone, and says nothing about the subject.
    """

    id: str
    title: str
    says: str
    group: str
    quick: bool
    of_helper: bool
    looks_for: tuple[tuple[str, ...], ...]
    file: str | None
    line: int | None
    code: str | None
    counts: dict[str, int]
    cells: tuple[CapabilityCell, ...]


class Advise(Dated, frozen=True):
    """What the advisor answers from."""

    advice: AdviceTable


class ChangeShape(ApiShape, frozen=True):
    """A change of a cell's verdict, by the run that started then.

    `before` is null for the first of a cell's runs.

    `beside` is what else had changed since the run before: the lock, the suite.
    """

    moment: datetime.datetime
    cell: str
    kind: ChangeKind
    before: Kind | None
    after: Kind | None
    outcome: str | None
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    beside: tuple[str, ...]


class ChangesDocument(Document, frozen=True):
    """The changes, newest first; `left_out` is how many older ones are not listed."""

    changes: tuple[ChangeShape, ...]
    left_out: int


class MatrixShape(ApiShape, frozen=True):
    """A matrix of the site."""

    name: str
    title: str
    index: Site


class Root(ApiShape, frozen=True):
    """Where the API begins: its matrices, and its own files."""

    schema_version: int
    day: Date
    matrices: tuple[MatrixShape, ...]
    files: tuple[FileShape, ...]
