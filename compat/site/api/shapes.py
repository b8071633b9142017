"""The `site` room's shapes: what each document of the API holds; their JSON schemas are made from
these types.

Every key is always there; what may be null says so. Names of values (verdicts, causes, states) may
be added later, and keys too; none is renamed or taken away within `v1`.
"""

import datetime
from typing import Annotated, Literal

import msgspec

from compat.plan.cell import Recipe
from compat.results.verdict import EvidenceKind, Kind
from compat.site.status import State
from compat.value import Value

SCHEMA_VERSION = 1
Date = datetime.date
Sha256 = Annotated[
    str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$", description="a sha256 in lower-case hex")
]
Site = Annotated[
    str, msgspec.Meta(description="a path below the root of the site, without a leading slash")
]


class ApiShape(Value, frozen=True, kw_only=True):
    """Base of all parts."""


class Document(ApiShape, frozen=True):
    """Base of all documents: the version of the shapes, and the matrix that it is of."""

    schema_version: int
    matrix: str


class Dated(Document, frozen=True):
    """Base of the documents that speak for a day."""

    day: Date


class FileShape(ApiShape, frozen=True):
    """A file of the API: its path below the site's root, its sha256 and its size."""

    path: Site
    sha256: Sha256
    bytes: int


class AxisShape(ApiShape, frozen=True):
    """An axis: its name, its short name in ids, what people call it, its package (null: it is the
    interpreter), and its coordinates, oldest first.
    """

    name: str
    short: str
    label: str
    package: str | None
    coordinates: tuple[str, ...]


class Counts(ApiShape, frozen=True):
    """How many cells there are: in the plan, with a run or a lock, tested, stale; and by
    verdict.
    """

    planned: int
    known: int
    tested: int
    stale: int
    verdicts: dict[str, int]


class MatrixIndex(Dated, frozen=True):
    """What the API has about a matrix.

    `files` are its own, those of folders are listed in the folders' own indexes.

    `latest` is the day of the newest run that counts; verdicts are stale after `fresh_days`.
    """

    title: str
    subject: str
    platform: str
    suite_digest: str
    fresh_days: int
    latest: Date | None
    axes: tuple[AxisShape, ...]
    recipes: tuple[Recipe, ...]
    capabilities: tuple[str, ...]
    counts: Counts
    files: tuple[FileShape, ...]


class FolderListing(Document, frozen=True):
    """The files of one folder of the API."""

    files: tuple[FileShape, ...]


class Code(ApiShape, frozen=True):
    """What a letter of `verdicts` stands for; `obstacle` is its kind where the plan rules the cell
    out.
    """

    verdict: Kind
    obstacle: str | None


class CellRow(ApiShape, frozen=True):
    """What is known of a cell that has a lock or a run.

    `capabilities` has a letter for each of the index: y yes, n no, a absent (not in this version),
    - unknown. `tested` is how many runs count, `passed` how many of them passed.
    """

    id: str
    recipe: Recipe
    verdict: Kind
    state: State
    evidence: EvidenceKind
    outcome: str | None
    since: Date | None
    latest: Date | None
    stale: bool
    tested: int
    passed: int
    isolation: str | None
    planned: bool
    capabilities: str


class Cells(Dated, frozen=True):
    """The verdict of every planned cell as one letter, and a row for each that is known.

    `verdicts` goes through the product of `axes` in their order, the last one fastest, and at each
    place through `recipes`. `next` is the file with further rows; null when there is none.
    """

    axes: tuple[AxisShape, ...]
    recipes: tuple[Recipe, ...]
    codes: dict[str, Code]
    verdicts: str
    capabilities: tuple[str, ...]
    cells: tuple[CellRow, ...]
    next: Site | None


class MoreCells(Document, frozen=True):
    """Further rows of cells."""

    cells: tuple[CellRow, ...]
    next: Site | None


class ObstacleShape(ApiShape, frozen=True):
    """Why the plan rules a cell out: the kind, what it stands between, and one sentence."""

    kind: str
    between: tuple[str, ...]
    because: str


class CapabilityShape(ApiShape, frozen=True):
    """A capability in a cell.

    `cause` and `subject` say why not; `missing` what an absent one looked for; `spelling` the name
    under which this version has it; `explained` why, where people found out.
    """

    id: str
    status: Literal["yes", "no", "absent"]
    cause: str | None
    subject: str | None
    missing: tuple[str, ...]
    spelling: str | None
    explained: str | None


class MetricShape(ApiShape, frozen=True):
    """A number that the newest run reports."""

    name: str
    value: float
    unit: str
    better: str


class RunShape(ApiShape, frozen=True):
    """A run. `outcomes` are those of its attempts; `steps` the seconds that each took, null when it
    was not reached.
    """

    started: datetime.datetime
    outcome: str
    outcomes: tuple[str, ...]
    seconds: float
    steps: dict[str, float | None]
    isolation: str
    host: str
    lock_digest: str
    suite_digest: str
    run_url: str | None


class PackageShape(ApiShape, frozen=True):
    """A pin of the lock; the lock's file has its hashes."""

    name: str
    version: str


class LiftedShape(ApiShape, frozen=True):
    """Published requirements that a relaxed cell does not keep: a sentence, the rule, and its
    reason.
    """

    packages: tuple[str, ...]
    sentence: str
    rule: str
    because: str


class PublishedShape(ApiShape, frozen=True):
    """What a plain install of the same versions does today."""

    command: str
    state: Literal["works", "fails", "unknown"]
    sentence: str


class CommandsShape(ApiShape, frozen=True):
    """The lines that install the lock."""

    uv: tuple[str, ...]
    pip: tuple[str, ...]


class Links(ApiShape, frozen=True):
    """Where more is told of a cell; `lock` is null when it has none."""

    page: Site
    lock: Site | None


class CellShape(Document, frozen=True):
    """All that is known of one cell.

    `sentence` says what the outcome means, `explained` why, where people found out.

    `log` is the excerpt of the newest run; empty when it left none.
    """

    id: str
    coordinates: dict[str, str]
    recipe: Recipe
    verdict: Kind
    state: State
    evidence: EvidenceKind
    outcome: str | None
    stage: str | None
    cause: str | None
    subject: str | None
    sentence: str | None
    explained: str | None
    reasons: tuple[str, ...]
    since: Date | None
    latest: Date | None
    stale: bool
    tested: int
    passed: int
    isolation: str | None
    planned: bool
    obstacle: ObstacleShape | None
    capabilities: tuple[CapabilityShape, ...]
    helpers: tuple[CapabilityShape, ...]
    metrics: tuple[MetricShape, ...]
    runs: tuple[RunShape, ...]
    log: str
    lock_digest: Sha256 | None
    packages: tuple[PackageShape, ...]
    lifted: tuple[LiftedShape, ...]
    published: PublishedShape
    commands: CommandsShape | None
    links: Links
