"""A proposal to move one floor, or to extend one axis, with its reasons and objections."""

import datetime
import hashlib
from typing import Literal

import msgspec
from packaging.version import Version

from compat.declare.parsing import Name
from compat.plan.cell import Recipe
from compat.results.answer import EvidenceKind
from compat.results.answer import Kind as VerdictKind
from compat.value import StrictValue, derive

FloorKind = Literal["raise", "lower", "early"]
Kind = Literal[FloorKind, "extend"]
# Objections to the proof itself; any other means that a supported move waits for its date.
DOUBTS = frozenset(("missing", "red", "flaky", "stale", "isolation"))
Against = Literal[
    "calendar",
    "hold",
    "known-bad",
    "missing",
    "red",
    "flaky",
    "stale",
    "isolation",
    "witnesses",
    "one-at-a-time",
]


class CellEvidence(StrictValue, frozen=True, kw_only=True):
    """The evidence of one cell that a move depends on.

    `latest` is the day of its newest counting run, `days` are those of the sufficiently isolated
    runs behind its verdict. `supports`: the cell works with the new floor, or is broken at the
    floor that an early move leaves.
    """

    cell: str
    recipe: Recipe
    verdict: VerdictKind
    evidence: EvidenceKind = "none"
    outcome: str
    latest: datetime.date | None
    days: tuple[datetime.date, ...]
    supports: bool
    stale: bool
    because: str

    @property
    def word(self) -> str:
        if self.supports:
            return "supports"
        if self.latest is None:
            return "no run counts"
        if self.verdict == "unknown":
            return "no answer yet"
        if self.evidence == "smoke" and self.verdict in ("works", "partial") and not self.stale:
            return "core alone"
        if self.verdict == "flaky" or self.stale:
            return "flaky" if self.verdict == "flaky" else "outdated"
        return "contradicts" if self.days else "not isolated"

    @property
    def place(self) -> str:
        return self.cell.partition("+")[0]


class Objection(StrictValue, frozen=True):
    """Why a move is not opened: its kind, one sentence, and the affected cells."""

    against: Against
    because: str
    cells: tuple[str, ...] = ()


class Affected(StrictValue, frozen=True, kw_only=True):
    """Versions of an axis that a move drops or adds; `releases` are those on the index."""

    axis: Name
    package: str
    versions: tuple[Version, ...]
    releases: tuple[Version, ...] = ()


class AxisFloor(StrictValue, frozen=True, kw_only=True):
    """Where the floor of an axis is, and the lines that derive what the calendar allows."""

    axis: Name
    package: str
    at: Version
    arithmetic: tuple[str, ...]


class Proposal(StrictValue, frozen=True, kw_only=True):
    """A move of one floor of the subject's `release`, its newest; or of kind `extend`, a version
    newer than all of an axis.

    For `extend`, `current` is the newest version there, and `proposed` the new one. `lowest_run` is
    the lowest release of the series `proposed` that the evidence installed, if it is not its first:
    a project's own files get it as their bound. `arithmetic` are the lines that a person can follow
    from the dates to the floor. `earliest` is the first day on which a release may have the new
    floor by calendar and holds; None where neither names one. `lost` and `gained` are what users
    lose and get. `needs` are the cells to lock and run before the move is proven, each once.

    These are derived: `id` is constant while the same move is proposed and is fit for a path;
    `is_open` (in JSON `open`) means that nothing blocks it; `because` is the reason of the new
    floor, for its declaration, or what the move waits for. `digest` is a sha256 of the move's
    evidence: it changes when a verdict does, and not when a green cell runs again.
    """

    id: str = ""
    digest: str = ""
    is_open: bool = msgspec.field(default=False, name="open")
    matrix: str
    axis: Name
    package: str
    kind: Kind
    release: str
    current: Version
    proposed: Version
    lowest_run: Version | None = None
    because: str = ""
    earliest: datetime.date | None
    grounds: tuple[str, ...]
    objections: tuple[Objection, ...]
    arithmetic: tuple[str, ...]
    evidence: tuple[CellEvidence, ...]
    lost: tuple[Affected, ...] = ()
    gained: tuple[Affected, ...] = ()
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        derive(self, id=f"{self.kind}-{self.axis}-{self.current}-to-{self.proposed}")
        waits = "".join(f"; it waits: {first.because}" for first in self.objections[:1])
        lines = [self.id, self.release]
        lines += [f"{c.cell} {c.verdict} {c.outcome} {c.supports}" for c in self.evidence]
        lines += [
            f"{objection.against} {' '.join(objection.cells)}"
            for objection in self.objections
            if objection.against != "witnesses"
        ]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        is_open = not self.objections
        derive(self, is_open=is_open, because=f"{self.reason}{waits}", digest=digest)

    @property
    def is_supported(self) -> bool:
        return bool(self.evidence) and not any(
            objection.against in DOUBTS for objection in self.objections
        )

    @property
    def reason(self) -> str:
        working = [cell for cell in self.evidence if cell.supports and cell.verdict != "broken"]
        published = {cell.place for cell in working if cell.recipe != "relaxed"}
        if self.is_supported and {cell.place for cell in working} - published:
            extent = "in part only" if published else "only"
            return f"{self._claim}, {extent} with changed dependency pins"
        return self._claim

    @property
    def _claim(self) -> str:
        works = "works" if self.is_supported else "may work"
        match self.kind:
            case "raise":
                what = f"{self.package} {self.proposed}, allowed from {self.earliest} on"
                return f"{self.release} {works} with {what}"
            case "lower":
                return (
                    f"{self.release} {works} with {self.package} from {self.proposed} on, up to"
                    f" {self.current}"
                )
            case "early":
                broken = f"{self.release} is broken with {self.package} {self.current}"
                return f"{broken}, and {works} with {self.proposed}"
            case "extend":
                return f"{self.release} {works} with {self.package} {self.proposed}"
