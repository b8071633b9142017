"""Evaluates one day: what had been released, which combinations a floor promises, and what supports
or blocks each floor.

A floor at X promises that the subject's newest release works with X. It is tested at X's corners:
with the lowest and the highest promised version of each other axis that is available together with
X. The range of an axis goes from its floor to the last version that the release admits. A
combination is no evidence if the plan rules out its cells and no run counts.

A corner has a cell for each recipe; the representative one gives its result. Where it works, the
strictest recipe with enough runs is the evidence, because "works with changed dependency pins"
answers whether the code works. A cell supports a floor if it works, is tested, fresh and not flaky.
A failure in every combination of a release does not count against the floor. A failure of this
combination does, even with a declared cause. Runs count if they were of today's lock and suite, one
a day, isolated and of the tier that the policy requires.
"""

import calendar
import datetime
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Literal

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.advise.request import label
from compat.declare.matrix import Axis, Hold, InterpreterAxis, Matrix, Policy, Window
from compat.declare.parsing import Name, minor_series
from compat.index.release import Catalogue, Release
from compat.plan.cell import RECIPES, Recipe, axis_coordinates
from compat.plan.platform import active, admits, marker_values, named
from compat.results.answer import Answer, EvidenceKind, representative
from compat.results.answer import Kind as VerdictKind
from compat.results.judge import judge
from compat.results.runs import is_whole
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed
from compat.value import StrictValue, derive

# A proposal to move one floor, or to extend one axis, with its reasons and objections.

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


class VersionRelease(StrictValue, frozen=True, kw_only=True):
    """A version of an axis and its release date; `ends` is upstream's last day for it, if known.

    `newest_minor` is when the newest minor version of a series was released. `planned`: upstream
    has not released it yet. `allowed` is the first day that the window allows it as the floor, `on`
    the first day of the cadence from then on. Both are None while the deciding version is not
    released.
    """

    version: Version
    released: datetime.date
    source: str
    ends: datetime.date | None = None
    newest_minor: datetime.date | None = None
    planned: bool = False
    allowed: datetime.date | None = None
    on: datetime.date | None = None


# From "Status of Python versions" of the developer's guide (devguide.python.org/versions), as of
# 2026-09: series, release, end, and the PEP. Where a PEP names only a month, its last day is used.
# `planned` marks what the PEP still calls a plan.
_PYTHONS = """
3.6 2016-12-23 2021-12-23 PEP 494
3.7 2018-06-27 2023-06-27 PEP 537
3.8 2019-10-14 2024-10-07 PEP 569
3.9 2020-10-05 2025-10-31 PEP 596
3.10 2021-10-04 2026-10-31 PEP 619
3.11 2022-10-24 2027-10-31 PEP 664
3.12 2023-10-02 2028-10-31 PEP 693
3.13 2024-10-07 2029-10-31 PEP 719
3.14 2025-10-07 2030-10-31 PEP 745
3.15 2026-10-01 2031-10-31 PEP 790, planned
3.16 2027-10-06 2032-10-31 PEP 826, planned
"""
PYTHONS: tuple[VersionRelease, ...] = tuple(
    VersionRelease(
        version=Version(version),
        released=datetime.date.fromisoformat(released),
        ends=datetime.date.fromisoformat(ends),
        source=source,
        planned=source.endswith("planned"),
    )
    for version, released, ends, source in (row.split(" ", 3) for row in _PYTHONS.split("\n")[1:-1])
)
DAY = datetime.timedelta(days=1)
STEPS = {"monthly": 1, "quarterly": 3, "half-yearly": 6, "yearly": 12}
CADENCES = {cadence: cadence.removesuffix("ly") for cadence in STEPS}


def rule_of(window: Window) -> str:
    if window.months is not None:
        so_old = f"been out for {window.months} months"
        return f"the {'oldest that has not' if window.dropped else 'newest that has'} {so_old}"
    if window.minors is not None:
        return f"the oldest of the {window.minors} newest" if window.minors > 1 else "the newest"
    return "the oldest that upstream still supports"


def version_releases(axis: Axis, catalogue: Catalogue) -> tuple[VersionRelease, ...]:
    if isinstance(axis, InterpreterAxis):
        oldest = min(axis.series)
        return tuple(series for series in PYTHONS if series.version >= oldest)
    source = f"upload time of {axis.package} on the package index"
    releases = list[VersionRelease]()
    for version in catalogue.coordinates(axis):
        first = catalogue.release_day(axis, version)
        minors: dict[tuple[int, ...], datetime.date] = {}
        for release in catalogue.members(axis, version) if axis.select.keep == "major" else ():
            if release.uploaded is not None:
                minors.setdefault(release.version.release[:2], release.uploaded.date())
        if first is not None:
            newest, day = max(minors.values(), default=None), first.date()
            releases.append(
                VersionRelease(version=version, released=day, source=source, newest_minor=newest)
            )
    return tuple(releases)


def slots(
    came: Sequence[VersionRelease], window: Window, policy: Policy
) -> tuple[VersionRelease, ...]:
    dated = []
    for index, version in enumerate(came):
        allowed = _allowed(came, index, window)
        on = None if allowed is None else move_day(allowed, policy)
        dated.append(msgspec.structs.replace(version, allowed=allowed, on=on))
    return tuple(dated)


def months_later(day: datetime.date, months: int) -> datetime.date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))


def move_day(day: datetime.date, policy: Policy) -> datetime.date:
    step = STEPS[policy.cadence]
    first = day.replace(day=1, month=(day.month - 1) // step * step + 1)
    return first if first == day else months_later(first, step)


def allowed_on(
    day: datetime.date, known: Iterable[VersionRelease], bad: Iterable[Version] = ()
) -> VersionRelease | None:
    barred = frozenset(bad)
    reached = (s for s in known if s.on is not None and s.on <= day and s.version not in barred)
    return max(reached, key=lambda slot: slot.version, default=None)


def hold_on(policy: Policy, axis: str, day: datetime.date) -> Hold | None:
    held = (hold for hold in policy.holds if hold.axis == axis and day <= hold.until)
    return min(held, key=lambda hold: hold.at, default=None)


def hold_words(hold: Hold, floor: Version, dated: bool = True) -> str:
    """Describe a hold; a floor above it stays, and may return to the hold's version."""
    until = f" until {hold.until}" if dated else ""
    back = f", which lets it come back to {hold.at}" if hold.at < floor else ""
    return f"a hold at {max(hold.at, floor)}{until}{back}: {hold.because.rstrip('.')}"


def _allowed(
    releases: Sequence[VersionRelease], index: int, window: Window
) -> datetime.date | None:
    version_release = releases[index]
    if window.months is not None and window.dropped:
        gone = [months_later(r.newest_minor or r.released, window.months) for r in releases[:index]]
        return max([version_release.released, *gone])
    if window.months is not None:
        return months_later(version_release.released, window.months)
    if window.minors is not None:
        newest = index + window.minors - 1
        span = releases[index : newest + 1]
        return max(later.released for later in span) if newest < len(releases) else None
    ends = [before.ends + DAY for before in releases[:index] if before.ends is not None]
    return max([version_release.released, *ends])


def package_and_version(axis: Axis, version: Version) -> str:
    return f"{label(axis)} {version}"


def until(catalogue: Catalogue, day: datetime.date) -> Catalogue:
    """A package without any upload times is included whole."""
    packages = []
    for package in catalogue.packages:
        releases = []
        for release in package.releases:
            known = ((file.uploaded, file) for file in release.artifacts)
            files = tuple(file for uploaded, file in known if uploaded and uploaded.date() <= day)
            if files:
                releases.append(msgspec.structs.replace(release, artifacts=files))
        cut = msgspec.structs.replace(package, releases=tuple(releases))
        packages.append(package if package.first_uploaded is None else cut)
    return Catalogue(packages=tuple(packages))


Place = tuple[Version, ...]


FloorState = Literal["proven", "green", "red", "open"]


class FloorEvidence(StrictValue, frozen=True, kw_only=True):
    """The evidence for a floor at one version.

    `proven`: every corner is green with enough passing runs; `green`: with too few; `red`: every
    corner is broken; `open`: anything else. `red_days`: days on which the least often broken corner
    failed.
    """

    version: Version
    state: FloorState = "open"
    evidence: tuple[CellEvidence, ...] = ()
    objections: tuple[Objection, ...]
    needs: tuple[str, ...] = ()
    red_days: int = 0

    @property
    def is_green(self) -> bool:
        return self.state in ("proven", "green")

    @property
    def is_tested(self) -> bool:
        return any(cell.latest is not None for cell in self.evidence)


def cell_evidence(entry: Answer, as_of: "Evaluation") -> CellEvidence:
    snapshot, policy = as_of.snapshot, as_of.policy
    verdict = entry
    # Without a newer, unresolved run: infrastructure errors neither move nor stop a floor.
    if entry.history.unanswered is not None:
        verdict = judge(
            entry.cell,
            entry.history.answered,
            snapshot.attribution.context(entry.cell, snapshot.present),
            lock_digest=entry.lock_digest,
            obstacle=entry.obstacle,
        )
    reasons, known = verdict.reasons, snapshot.explained(entry)
    if known is not None and (known.since is None or known.since <= as_of.day):
        # The date of a removal from the index is unknown.
        is_dated = known.since is not None and known.fault != "index"
        reasons = (*reasons, f"it is known{'' if is_dated else as_of.as_of_today}: {known.because}")
    because = "; ".join(reasons)
    if verdict.kind == "partial" and (failing := verdict.failing("combination", "unexplained")):
        because = f"in this combination these fail: {', '.join(failing)}; {because}"
    deciding = [c.run for c in entry.history.deciding] if entry.counted else []
    fit = {
        run.started.date()
        for run in deciding
        if (run.lock_digest == "" or run.isolation >= policy.isolation)
        and (policy.tier == "smoke" or is_whole(run))
    }
    days = tuple(sorted(fit))
    is_sound = verdict.kind == "works" and _is_enough(verdict.evidence, policy)
    return CellEvidence(
        cell=entry.cell.id,
        recipe=entry.recipe,
        verdict=verdict.kind,
        evidence=verdict.evidence,
        outcome="" if verdict.outcome is None else str(verdict.outcome),
        latest=verdict.latest,
        days=days,
        supports=is_sound and not verdict.stale and bool(days),
        stale=verdict.stale,
        because=because,
    )


def objection(evidence: CellEvidence, policy: Policy) -> Objection | None:
    cell, says = evidence.cell, partial(Objection, cells=(evidence.cell,))
    if evidence.supports:
        if len(evidence.days) >= policy.witnesses:
            return None
        after = evidence.days[-1] + datetime.timedelta(days=1)
        days = ", ".join(str(day) for day in evidence.days)
        number = f"{len(evidence.days)} of {policy.witnesses} days"
        ran = f"{cell} has supporting runs on {number} ({days})"
        return says("witnesses", f"{ran}; a run from {after} on is the next that counts")
    if evidence.latest is None:
        return says("missing", f"no run of {cell} counts yet")
    if evidence.verdict == "flaky":
        return says("flaky", f"{cell} is flaky: {evidence.because}")
    if evidence.stale:
        return says("stale", f"{cell} must run again: {evidence.because}")
    if evidence.verdict in ("works", "partial") and not _is_enough(evidence.evidence, policy):
        return says("missing", f"{cell} was not run with the whole suite yet: {evidence.because}")
    if not evidence.days and evidence.verdict in ("works", "partial", "broken"):
        needed = f"{cell} has no run at isolation {policy.isolation}, which a floor needs"
        return says("isolation", f"{needed}: {evidence.because}")
    if evidence.verdict == "unknown":
        return says("missing", f"{cell} has no answer yet: {evidence.because}")
    if evidence.verdict == "partial":
        return says("red", f"{cell} works only in part: {evidence.because}")
    return says("red", f"{cell} does not work: {evidence.because}")


def is_red(evidence: CellEvidence) -> bool:
    return evidence.verdict == "broken" and bool(evidence.days) and not evidence.stale


def _is_enough(evidence: EvidenceKind, policy: Policy) -> bool:
    return evidence == "tested" or (evidence == "smoke" and policy.tier == "smoke")


def evaluation_on(snapshot: Snapshot, day: datetime.date) -> "Evaluation | None":
    policy = snapshot.ask.policy
    if policy is None:
        return None
    return snapshot.once((Evaluation, day), lambda: Evaluation(snapshot, policy, day))


class Evaluation:
    """A snapshot as of a day, and what supports or forbids a floor then; each version is judged
    once.

    For a past day only what had been released by then counts. Floors are those that the newest
    release of that day declared, and holds, which are younger, are ignored. Runs count whenever
    they were made. A place is a combination of the newest release: a version of each other axis, in
    their order.
    """

    def __init__(self, snapshot: Snapshot, policy: Policy, day: datetime.date) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self.day = day
        self.looks_back = day < snapshot.day
        self.matrix: Matrix = snapshot.matrix
        self.catalogue = until(snapshot.catalogue, day)
        self.others: tuple[Axis, ...] = tuple(
            axis for axis in self.matrix.axes if axis.name != self.matrix.subject
        )
        self.names = tuple(axis.name for axis in self.others)
        self._axes = {axis.name: axis for axis in self.others}
        self.floor = cache(self._floor)

    @property
    def as_of_today(self) -> str:
        return f" (as of {self.snapshot.day})" if self.looks_back else ""

    @cached_property
    def newest(self) -> tuple[Version, Release] | None:
        axis = self.matrix.subject_axis
        for version in reversed(self.catalogue.coordinates(axis)):
            for release in reversed(self.catalogue.members(axis, version)):
                if release.has_usable_file:
                    return version, release
        return None

    @property
    def newest_python(self) -> Version:
        published = None if self.newest is None else self.newest[1].published
        python = None if published is None else published.requires_python
        patches = self.matrix.interpreters.patches
        return Version(minor_series(max([p for p in patches if admits(python, p)] or patches)))

    @property
    def called(self) -> str:
        version = self.newest[1].version if self.newest else "(none)"
        return f"{self.matrix.subject_axis.package} {version}"

    @cached_property
    def existing(self) -> dict[str, tuple[Version, ...]]:
        known = {axis.name: self.catalogue.coordinates(axis) for axis in self.matrix.axes}
        python = self.matrix.interpreters
        planned = {
            r.version for r in version_releases(python, self.catalogue) if r.released > self.day
        }
        known[python.name] = tuple(v for v in known[python.name] if v not in planned)
        return known

    @cached_property
    def slots(self) -> dict[str, tuple[VersionRelease, ...]]:
        every = [(axis, version_releases(axis, self.catalogue)) for axis in self.others]
        return {a.name: slots(out, self.policy.window(a), self.policy) for a, out in every}

    @cached_property
    def floors(self) -> dict[str, Version]:
        if not self.looks_back:
            known = self.matrix.floors
            return {floor.axis: floor.at for floor in known if floor.axis in self.names}
        declared = {axis.name: self._declared(axis) for axis in self.others}
        return {name: version for name, version in declared.items() if version is not None}

    @property
    def moving(self) -> list[Axis]:
        return [axis for axis in self.others if axis.name in self.floors]

    @cached_property
    def cells(self) -> tuple[Answer, ...]:
        # The entries of the newest release whose coordinates all existed; for a past day, without
        # the recipe `fresh`.
        admitted = {name: frozenset(versions) for name, versions in self.existing.items()}
        admitted[self.matrix.subject] = frozenset(() if self.newest is None else self.newest[:1])
        return tuple(
            entry
            for entry in self.snapshot.having(admitted)
            if entry.planned and not (self.looks_back and entry.cell.recipe == "fresh")
        )

    def calendar(
        self, axis: str, day: datetime.date | None = None, up_to: Version | None = None
    ) -> VersionRelease | None:
        known = (slot for slot in self.slots[axis] if up_to is None or slot.version <= up_to)
        return allowed_on(day or self.day, known, self.bad(axis))

    def hold(self, axis: str) -> Hold | None:
        return None if self.looks_back else hold_on(self.policy, axis, self.day)

    def lifted(self, axis: str, version: Version) -> datetime.date | None:
        last = max((hold.until for hold in self.holds(axis, version)), default=None)
        return None if last is None else move_day(last + DAY, self.policy)

    def holds(self, axis: str, version: Version) -> tuple[Hold, ...]:
        holds = () if self.looks_back else self.policy.holds
        return tuple(h for h in holds if h.axis == axis and h.at < version and self.day <= h.until)

    def bad(self, axis: str) -> frozenset[Version]:
        return frozenset(bad.version for bad in self.policy.known_bad if bad.axis == axis)

    def asks(self, axis: Axis) -> SpecifierSet | None:
        published = None if self.newest is None else self.newest[1].published
        if published is None:
            return None
        if isinstance(axis, InterpreterAxis):
            return published.requires_python
        patch = self.matrix.interpreters.series[self.newest_python]
        markers = marker_values(patch, self.matrix.platform)
        asked = named(active(published, markers), axis.normalised_name)
        parts = (str(requirement.specifier) for requirement in asked)
        return SpecifierSet(",".join(filter(None, parts))) if asked else None

    def releases(self, axis: Axis, version: Version) -> tuple[Version, ...]:
        return tuple(release.version for release in self.catalogue.members(axis, version))

    def _declared(self, axis: Axis) -> Version | None:
        asked, versions = self.asks(axis), self.existing[axis.name]
        if asked is None:
            return None
        if isinstance(axis, InterpreterAxis):
            admitted = [v for v in versions if asked.contains(axis.series[v], prereleases=True)]
        else:
            admitted = [v for v in versions if any(asked.filter(self.releases(axis, v), True))]
        return min(admitted, default=None)

    @cached_property
    def entries(self) -> dict[Place, dict[Recipe, Answer]]:
        entries: dict[Place, dict[Recipe, Answer]] = {}
        for entry in self.cells:
            place = tuple(entry.cell.on(name).version for name in self.names)
            entries.setdefault(place, {})[entry.cell.recipe] = entry
        return entries

    @cached_property
    def reach(self) -> dict[str, frozenset[Version]]:
        """The versions of each axis with which the newest release is installable as published."""
        reached: dict[str, set[Version]] = {name: set() for name in self.names}
        for place, recipes in self.entries.items():
            if any(e.obstacle is None for recipe, e in recipes.items() if recipe != "relaxed"):
                for name, version in zip(self.names, place, strict=True):
                    reached[name].add(version)
        return {name: frozenset(versions) for name, versions in reached.items()}

    def promised(self, axis: str) -> frozenset[Version]:
        floor = self.floors.get(axis)
        if floor is None:
            return self.reach[axis]
        return frozenset((floor, *(v for v in self.reach[axis] if v >= floor)))

    def corners(self, axis: str, floor: Version) -> tuple[Place, ...]:
        places = self.having(axis, floor)
        if not places:
            return ()
        ends = [{min(versions), max(versions)} for versions in zip(*places, strict=True)]
        outer = tuple(p for p in places if all(v in end for v, end in zip(p, ends, strict=True)))
        return outer or (places[0], places[-1])

    def having(self, axis: str, version: Version) -> tuple[Place, ...]:
        spans = [frozenset((version,)) if n == axis else self.promised(n) for n in self.names]
        return tuple(p for p in itertools.product(*map(sorted, spans)) if self.can_be_had(p))

    def can_be_had(self, place: Place) -> bool:
        recipes = self.entries.get(place, {}).values()
        return any(entry.obstacle is None or entry.is_tested for entry in recipes)

    def absence(self, axis: str, version: Version) -> str:
        if self.newest is None:
            return f"{self.matrix.subject_axis.package} has no release that is not yanked"
        if version not in self.existing[axis]:
            what = package_and_version(self._axes[axis], version)
            every = axis_coordinates(self._axes[axis], self.snapshot.catalogue)
            if any(coordinate.version == version for coordinate in every):
                return f"{what} was not out on {self.day}"
            return f"no cell has {what}: the matrix does not have it"
        if self.corners(axis, version):
            return ""
        return self.ruled_out(axis, version, as_published=False)

    def ruled_out(self, axis: str, version: Version, as_published: bool) -> str:
        what = f"{self.called} with {package_and_version(self._axes[axis], version)}"
        obstacles = self._obstacles(axis, version, as_published)
        if not obstacles:
            empty = [
                (label(other), self.floors.get(other.name))
                for other in self.others
                if other.name != axis
                and self.promised(other.name).isdisjoint(self.existing[other.name])
            ]
            without = (f"{p}{'' if f is None else f' from {f} on'}" for p, f in empty)
            return (
                f"no planned cell of {what} has promised versions of the others: as published, it"
                f" can be had with no {' and no '.join(without)}"
            )
        _, recipe_rank, place, because = min(obstacles)
        cell = self.entries[place][RECIPES[recipe_rank]].cell.id
        others = " and promised versions of the others" if self.names[1:] else ""
        which = " as published" if as_published else others
        return f"the plan rules out every cell of {what}{which}, such as {cell}: {because}"

    def obstacle(self, axis: str, version: Version) -> str:
        known = min(self._obstacles(axis, version, as_published=True), default=None)
        return "" if known is None else known[-1]

    def _obstacles(
        self, axis: str, version: Version, as_published: bool
    ) -> list[tuple[bool, int, Place, str]]:
        index, subject = self.names.index(axis), self.matrix.subject_axis.short
        return [
            (
                not any(part.startswith(subject) for part in entry.obstacle.between),
                RECIPES.index(recipe),
                place,
                entry.obstacle.because
                # The index may have had a file that it lacks today: the date of the removal is
                # unknown.
                + (self.as_of_today if entry.obstacle.kind in ("no-artifact", "yanked") else ""),
            )
            for place, recipes in self.entries.items()
            if place[index] == version
            and all(
                beside in self.promised(name)
                for name, beside in zip(self.names, place, strict=True)
                if name != axis
            )
            for recipe, entry in recipes.items()
            if entry.obstacle is not None and (recipe != "relaxed" or not as_published)
        ]

    def raised(self, axis: str, version: Version) -> FloorEvidence:
        # Return the evidence for a raise to that version: the newest release must be installable
        # with it as published.
        if version not in self.existing[axis] or version in self.reach[axis]:
            return self.floor(axis, version)
        because = self.ruled_out(axis, version, as_published=True)
        return FloorEvidence(version=version, objections=(Objection("missing", because),))

    def failing(self, axis: str, current: Version, to: Version) -> Iterator[str]:
        """Each representative cell is compared with the one that differs only in this axis."""
        index = self.names.index(axis)
        for place in self.corners(axis, to):
            beside = (*place[:index], current, *place[index + 1 :])
            if self.can_be_had(beside):
                after, before = self._corner(place)[0].cell, self._corner(beside)[0].cell
                known = self.snapshot.by_id
                worked, statuses = known[before].statuses, known[after].statuses
                lost = [name for name, status in statuses.items() if status == "no"]
                if lost := [name for name in lost if worked.get(name) == "yes"]:
                    names = ", ".join(lost)
                    yield f"in {after} these fail, which work in {before}: {names}"

    def _floor(self, axis: str, version: Version) -> FloorEvidence:
        policy = self.policy
        if because := self.absence(axis, version):
            return FloorEvidence(version=version, objections=(Objection("missing", because),))
        corners = [self._corner(place) for place in self.corners(axis, version)]
        deciding = [corner[0] for corner in corners]
        objections = tuple(filter(None, (objection(cell, policy) for cell in deciding)))
        state: FloorState = "open"
        if all(cell.supports for cell in deciding):
            state = "green" if objections else "proven"
        elif all(is_red(cell) for cell in deciding):
            state = "red"
        return FloorEvidence(
            version=version,
            state=state,
            evidence=tuple(itertools.chain.from_iterable(corners)),
            objections=objections,
            needs=tuple(
                c.cell for c in deciding if not c.supports or len(c.days) < policy.witnesses
            ),
            red_days=min(len(cell.days) for cell in deciding) if state == "red" else 0,
        )

    def _corner(self, place: Place) -> list[CellEvidence]:
        recipes = self.entries[place]
        known = (recipes[recipe] for recipe in RECIPES if recipe in recipes)
        able = [entry for entry in known if entry.obstacle is None or entry.latest is not None]
        deciding = self._deciding(able)
        others = (entry for entry in able if entry is not deciding and entry.latest)
        return [cell_evidence(entry, self) for entry in (deciding, *others)]

    def _deciding(self, able: Sequence[Answer]) -> Answer:
        """The cell that decides a combination, among the installable ones, strictest recipe first.

        Where the representative cell works, a cell that supports the floor decides, preferably one
        with enough runs. Where it is broken or unknown, one that has not run yet and may still work
        decides, preferably one with a lock. Otherwise a broken one of the laxest recipe decides.
        """
        best = representative(able)
        match best.kind:
            case "works" | "partial":
                known = ((entry, cell_evidence(entry, self)) for entry in able)
                supporting = [(entry, len(each.days)) for entry, each in known if each.supports]
                few = self.policy.witnesses
                return min(supporting, key=lambda pair: pair[1] < few, default=(best, 0))[0]
            case "flaky":
                return best
        waiting = [e for e in able if e.kind == "unknown" and e.cell.recipe not in self._hopeless]
        waiting.sort(key=lambda entry: entry.lock_digest is None)
        return waiting[0] if waiting else able[-1]

    @cached_property
    def _hopeless(self) -> frozenset[Recipe]:
        # Recipes not worth a run: those that fail to resolve elsewhere for this release; today
        # `dated` too, because it tests the past.
        known = ((entry.cell.recipe, entry.outcome) for entry in self.cells)
        refused = {r for r, o in known if isinstance(o, Failed) and o.stage == "lock"} - {"relaxed"}
        return frozenset(refused if self.looks_back else {*refused, "dated"})
