"""The `site` room's shapes of what policy says: the minimum versions, the schedule, the
proposals.
"""

from compat.results.verdict import Kind
from compat.site.api.shapes import ApiShape, Date, Dated, Sha256, Site


class FloorShape(ApiShape, frozen=True):
    """The oldest coordinate of an axis that is supported, and why."""

    axis: str
    label: str
    at: str
    because: str


class DatedMinimum(ApiShape, frozen=True):
    """The minimum versions from a day on, by axis: by the rules, and with those moves only that are
    proven now.
    """

    on: Date
    floors: dict[str, str]
    proven: dict[str, str]


class MinimumDocument(Dated, frozen=True):
    """The minimum versions now, and those that the schedule brings."""

    floors: tuple[FloorShape, ...]
    dated: tuple[DatedMinimum, ...]


class AffectedShape(ApiShape, frozen=True):
    """What users lose or get."""

    axis: str
    package: str
    versions: tuple[str, ...]
    releases: tuple[str, ...]


class MoveShape(ApiShape, frozen=True):
    """A coming move of a floor.

    `allowed` is when the rule lets it, `announced` from when it is told, `on` when.

    `before` is the floor that it follows on, `lost` what is covered from there on and ends with it.
    """

    id: str
    axis: str
    package: str
    floor: str
    to: str
    released: Date
    allowed: Date
    announced: Date
    on: Date
    wording: str
    state: str
    rule: str
    source: str
    held: str | None
    proven: bool
    proof: str
    before: str
    lost: tuple[AffectedShape, ...]


class BarShape(ApiShape, frozen=True):
    """A version of an axis: when it came out, until when it is supported by rule, and upstream's
    end of life.
    """

    axis: str
    version: str
    released: Date
    until: Date | None
    end_of_life: Date | None
    is_floor: bool


class QuarterShape(ApiShape, frozen=True):
    """Three months: the minimum versions on a day of it (`on`), and the ids of the moves that fall
    into it.
    """

    id: str
    page: Site
    begin: Date
    end: Date
    on: Date
    floors: dict[str, str]
    proven: dict[str, str]
    moves: tuple[str, ...]


class ScheduleShape(Dated, frozen=True):
    """The coming moves up to a day, also by quarter, and every version's window."""

    until: Date
    moves: tuple[MoveShape, ...]
    quarters: tuple[QuarterShape, ...]
    bars: tuple[BarShape, ...]


class EvidenceShape(ApiShape, frozen=True):
    """A cell that a proposal rests on."""

    cell: str
    verdict: Kind
    outcome: str
    latest: Date | None
    days: tuple[Date, ...]
    supports: bool
    stale: bool
    because: str


class ObjectionShape(ApiShape, frozen=True):
    """What speaks against a proposal."""

    against: str
    because: str
    cells: tuple[str, ...]


class ProposalShape(ApiShape, frozen=True):
    """A proposed move of one floor.

    `open` says that nothing speaks against it, `because` what is known of it.

    `earliest` is the first day for it by calendar and holds, null where neither names one.
    """

    id: str
    digest: Sha256
    open: bool
    axis: str
    package: str
    kind: str
    release: str
    current: str
    proposed: str
    because: str
    earliest: Date | None
    grounds: tuple[str, ...]
    objections: tuple[ObjectionShape, ...]
    arithmetic: tuple[str, ...]
    evidence: tuple[EvidenceShape, ...]
    lost: tuple[AffectedShape, ...]
    gained: tuple[AffectedShape, ...]
    needs: tuple[str, ...]


class Proposals(Dated, frozen=True):
    """The proposals of the day."""

    proposals: tuple[ProposalShape, ...]
