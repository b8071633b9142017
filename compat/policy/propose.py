"""Proposes the floor moves that policy and records require on one day.

Raise: to the version that the calendar allows (under a hold: that the hold allows), else to the
newest supported one. Lower: to the lowest version from which on all up to the floor are supported,
unless the calendar would raise it again. Early: the floor's own cells are broken, so the floor goes
to the next version that works, regardless of the calendar. A blocked move is returned with its
objections.

Proposals, schedule, outlook, feeds and pages all read the steps here, so they never name different
versions for one day. An extension is a version that the matrix does not have yet; one run of one
cell with the newest release opens it.
"""

import datetime
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.request import label
from compat.declare.matrix import Axis, Hold, InterpreterAxis
from compat.declare.parsing import parsed
from compat.index.discover import lowest_of
from compat.plan.plan import Extension, extensions
from compat.policy.evaluation import (
    CADENCES,
    PYTHONS,
    Affected,
    AxisFloor,
    CellEvidence,
    Evaluation,
    FloorEvidence,
    FloorKind,
    Objection,
    Proposal,
    VersionRelease,
    cell_evidence,
    evaluation_on,
    hold_words,
    is_red,
    months_later,
    move_day,
    objection,
    package_and_version,
    rule_of,
)
from compat.results.answer import representative
from compat.results.snapshot import Snapshot
from compat.value import StrictValue


class FloorStep(StrictValue, frozen=True, kw_only=True):
    """A version to which a floor may rise with the first release after `on`; `held` is the hold
    that delays it.
    """

    slot: VersionRelease
    on: datetime.date
    held: Hold | None

    @property
    def version(self) -> Version:
        return self.slot.version


class FloorSteps:
    """The steps of one axis on the day of an evaluation, and the moves of its floor."""

    def __init__(self, as_of: Evaluation, axis: Axis) -> None:
        self.as_of = as_of
        self.axis = axis
        self.at = self.as_of.floors[axis.name]
        self.hold = self.as_of.hold(axis.name)
        reached = self.as_of.calendar(axis.name)
        oldest = min((self.at, *self.as_of.existing[axis.name]))
        self.allowed = oldest if reached is None else reached.version
        self.limit = self.allowed if self.hold is None else min(self.allowed, self.hold.at)
        self.proof = partial(self.as_of.floor, axis.name)

    @cached_property
    def every(self) -> tuple[FloorStep, ...]:
        # Every known step, oldest version first: those of the calendar, and below the due ones the
        # best that runs support.
        within = [v for v in self.reachable() if self.at < v <= self.limit]
        green = [v for v in within if self.proof(v).is_green]
        proven = [v for v in green if self.proof(v).state == "proven"]
        best = (proven or green or within)[-1:]
        return _once((*self.calendar, *(step for step in self._above if step.version in best)))

    @cached_property
    def proposed(self) -> tuple[FloorStep, ...]:
        soon = self.as_of.day + datetime.timedelta(days=self.as_of.policy.notice_days)
        reached = self.as_of.calendar(self.axis.name, soon)
        held = [step for step in self.calendar if step.held is not None]
        is_in_the_way = (
            self.hold is not None and reached is not None and reached.version > self.hold.at
        )
        due = [step for step in self.every if step.on <= soon]
        return _once((*due, *(held[:1] if is_in_the_way else ())))

    @cached_property
    def calendar(self) -> tuple[FloorStep, ...]:
        # The steps by date alone, with holds: the newest due one, then each that is newest on its
        # day.
        due = max((step.version for step in self._above if step.on <= self.as_of.day), default=None)
        return tuple(
            s
            for s in self._above
            if (due is None or s.version >= due)
            and not any(later.version > s.version and later.on <= s.on for later in self._above)
        )

    @cached_property
    def under_the_hold(self) -> Version | None:
        if self.hold is None:
            return None
        step = self.as_of.calendar(self.axis.name, up_to=self.hold.at)
        return None if step is None or step.version <= self.at else step.version

    def reachable(self) -> list[Version]:
        bad, reach = self.as_of.bad(self.axis.name), self.as_of.reach[self.axis.name]
        slots, day = self.as_of.slots[self.axis.name], self.as_of.day
        allowed = {slot.version for slot in slots if slot.on is not None and slot.on <= day}
        existing = self.as_of.existing[self.axis.name]
        return [v for v in existing if v in allowed and v in reach and v not in bad]

    @cached_property
    def _above(self) -> tuple[FloorStep, ...]:
        bad, name = self.as_of.bad(self.axis.name), self.axis.name
        return tuple(
            FloorStep(
                slot=slot,
                on=max(slot.on, self.as_of.lifted(name, slot.version) or slot.on),
                held=max(
                    self.as_of.holds(name, slot.version), key=lambda hold: hold.until, default=None
                ),
            )
            for slot in self.as_of.slots[name]
            if slot.version > self.at and slot.version not in bad and slot.on is not None
        )

    def proposals(self, lowered: Proposal | None) -> Iterator[Proposal]:
        raises = [self._raise(step) for step in self.proposed]
        nearest = max((raised.proposed for raised in raises if raised.is_open), default=None)
        for raised in raises:
            *lines, last = raised.arithmetic
            if nearest is not None and not raised.is_open:
                lines.append(f"{last} Now it can rise to {nearest}.")
                yield msgspec.structs.replace(raised, arithmetic=tuple(lines))
            else:
                yield raised
        early = self._early()
        if early is not None and not any(
            proposal.is_open or proposal.proposed == early.proposed for proposal in raises
        ):
            yield early
        lower = self._lower(lowered)
        if lower is not None:
            yield lower

    def _raise(self, step: FloorStep) -> Proposal:
        to, against = step.version, list[Objection]()
        if step.held is not None:
            under = self.under_the_hold
            now = package_and_version(self.axis, under) if under else "nothing above the floor"
            words = hold_words(step.held, self.at)
            against.append(Objection("hold", f"{words}; now calendar and hold allow {now}"))
        elif step.on > self.as_of.day:
            on = f"the calendar allows it from {step.on} on"
            against.append(Objection("calendar", f"this is an announcement: {on}"))
        proof = self.as_of.raised(self.axis.name, to)
        if not against:
            against += self._too_young(to, self._lowest_run(to, (proof,)))
        return self._made("raise", to, (proof,), against, allowed=step.slot.on)

    def _lowest_run(self, to: Version, proofs: Sequence[FloorEvidence]) -> Version | None:
        # The lowest release of a series that its supporting cells installed, if not its first; None
        # without a lock.
        if self.axis.package is None or self.as_of.looks_back:
            return None
        by_id, name = self.as_of.snapshot.by_id, self.axis.name
        supporting = (by_id[c.cell] for proof in proofs for c in proof.evidence if c.supports)
        ran = [
            version
            for known in supporting
            if known.cell.on(name).version == to and (version := known.pinned(name)) is not None
        ]
        lowest, first = min(ran, default=None), next(iter(self.as_of.releases(self.axis, to)), None)
        return None if lowest == first else lowest

    def _too_young(self, to: Version, ran: Version | None) -> Iterator[Objection]:
        window = self.as_of.policy.window(self.axis)
        months = window.months
        if ran is None or months is None or self.axis.package is None:
            return
        days: dict[tuple[int, ...], datetime.datetime] = {}
        for release in self.as_of.catalogue.of(self.axis).releases:
            if release.uploaded is not None and window.dropped:
                days.setdefault(release.version.release[:2], release.uploaded)
            elif release.version == ran and release.uploaded is not None:
                days[()] = release.uploaded
        # A version dropped by age is replaced by the minor version after it.
        uploaded = max((d for m, d in days.items() if m < ran.release[:2]), default=None)
        if uploaded is None:
            return
        on = move_day(months_later(uploaded.date(), months), self.as_of.policy)
        if on > self.as_of.day:
            what = f"{package_and_version(self.axis, ran)}, the lowest of {to} that ran,"
            since = "is newer than one that came out" if window.dropped else "came out"
            when = f"{since} on {uploaded.date()}: the calendar allows it from {on} on"
            remedy = f'`patch = "oldest"` in `select` of axis {self.axis.name} runs an older one'
            yield Objection("calendar", f"{what} {when}; {remedy}")

    def _early(self) -> Proposal | None:
        floor_evidence = self.proof(self.at)
        bad = self.as_of.bad(self.axis.name)
        above = [v for v in self.as_of.existing[self.axis.name] if v > self.at and v not in bad]
        if floor_evidence.state != "red" or not above:
            return None
        held = [v for v in above if self.hold is None or v <= self.hold.at]
        green = [v for v in held if self.proof(v).is_green]
        hopeful = [v for v in held if self.proof(v).state != "red"]
        beyond = [v for v in above if self.proof(v).is_green]
        to, against = (*green, *hopeful, *beyond, *above)[0], list[Objection]()
        if self.hold is not None and to > self.hold.at:
            none = f"the runs support no version above the floor up to {self.hold.at}"
            against.append(Objection("hold", f"{hold_words(self.hold, self.at)}; {none}"))
        wanted = self.as_of.policy.witnesses
        if floor_evidence.red_days < wanted:
            days = f"{floor_evidence.red_days} of {wanted} days"
            because = f"a representative cell of the floor was broken on {days}"
            cells = (evidence.cell for evidence in floor_evidence.evidence)
            against.append(Objection("witnesses", because, tuple(cells)))
        return self._made("early", to, (self.proof(to),), against, broken=floor_evidence)

    def _lower(self, lowered: Proposal | None) -> Proposal | None:
        to = self._lowest()
        if to is None:
            return None
        between = [v for v in self.as_of.existing[self.axis.name] if to <= v <= self.at]
        against = []
        if lowered is not None:
            because = f"one lowering at a time: it is asked again once {lowered.id} is made"
            against.append(Objection("one-at-a-time", because))
        proofs = tuple(self.proof(version) for version in between)
        return self._made("lower", to, proofs, against)

    def _lowest(self) -> Version | None:
        # How far down to propose: proven versions first, then green ones, then the next version, if
        # there is a reason; none that the calendar would raise again.
        below = [v for v in reversed(self.as_of.existing[self.axis.name]) if v < self.at]
        if not below or self.at not in self.as_of.existing[self.axis.name]:
            return None
        # The newest green version that the calendar allows: it would raise a lower floor to it.
        allowed = (v for v in self.reachable() if v <= self.limit)
        back = max((v for v in allowed if self.proof(v).is_green), default=below[-1])
        bad = {*self.as_of.bad(self.axis.name), *(v for v in below if v < back)}
        for wanted in (("proven",), ("proven", "green")):
            chain = list[Version]()
            for version in (self.at, *below):
                if self.proof(version).state not in wanted:
                    break
                chain.append(version)
            if versions := [v for v in chain[1:] if v not in bad]:
                return versions[-1]
        has_reason = below[0] >= self.limit or self.proof(below[0]).is_tested
        return below[0] if has_reason and below[0] not in bad else None

    def _made(
        self,
        kind: FloorKind,
        to: Version,
        proofs: tuple[FloorEvidence, ...],
        against: Sequence[Objection],
        *,
        allowed: datetime.date | None = None,
        broken: FloorEvidence | None = None,
    ) -> Proposal:
        release = self.as_of.called
        evidence = dict.fromkeys(cell for proof in proofs for cell in proof.evidence)
        objections = (*against, *dict.fromkeys(o for proof in proofs for o in proof.objections))
        needs = tuple(dict.fromkeys(cell for proof in proofs for cell in proof.needs))
        ran, what = self._lowest_run(to, proofs), package_and_version(self.axis, to)
        lifted = None if kind == "lower" else self.as_of.lifted(self.axis.name, to)
        earliest = max((day for day in (allowed, lifted) if day is not None), default=None)
        absent = "" if kind == "lower" else self.as_of.absence(self.axis.name, self.at)
        lapsed = [f"no passing cell supports the current floor: {absent}"] if absent else []
        left = () if broken is None else broken.evidence
        failing = self.as_of.failing(self.axis.name, self.at, to)
        below = [v for v in self.as_of.existing[self.axis.name] if to <= v < self.at]
        leaving = (msgspec.structs.replace(cell, supports=is_red(cell)) for cell in left)
        match kind:
            case "raise":
                who = "the calendar allows" if earliest == allowed else "calendar and hold allow"
                verb, ground = (
                    "rise",
                    f"{who} {what} from {earliest} on, and the floor is {self.at}",
                )
            case "lower":
                ground = f"it is declared from {self.at} on, and {release} may work from {what} on"
                verb = "go down"
            case "early":
                floor = package_and_version(self.axis, self.at)
                ground = f"every representative cell of {release} at the floor, {floor}, is broken"
                verb = "rise ahead of the calendar"
        conclusion = f"So the floor can {verb} from {self.at} to {to}: every representative cell"
        conclusion += " supports it." + (f" The lowest of {to} that ran is {ran}." if ran else "")
        conclusion = f"Blocked: {self.at} -> {to}." if objections else conclusion
        return Proposal(
            matrix=self.as_of.matrix.name,
            axis=self.axis.name,
            package=label(self.axis),
            kind=kind,
            release=release,
            current=self.at,
            proposed=to,
            lowest_run=ran,
            earliest=earliest,
            grounds=(ground, *lapsed, *failing),
            objections=objections,
            arithmetic=(*floor_arithmetic(self), conclusion),
            evidence=(*leaving, *evidence),
            lost=() if kind == "lower" else lost(self.as_of, self.axis, self.at, to),
            gained=(_affected(self.as_of, self.axis, below),) if kind == "lower" else (),
            needs=needs,
        )


def steps_of(as_of: Evaluation, axis: Axis) -> FloorSteps:
    snapshot, day = as_of.snapshot, as_of.day
    return snapshot.once((FloorSteps, day, axis.name), lambda: FloorSteps(as_of, axis))


def _once(steps: Iterable[FloorStep]) -> tuple[FloorStep, ...]:
    by_version = {step.version: step for step in steps}
    return tuple(by_version[version] for version in sorted(by_version))


def floor_arithmetic(steps: FloorSteps) -> Iterator[str]:
    as_of, axis, hold = steps.as_of, steps.axis, steps.hold
    package, window = label(axis), as_of.policy.window(axis)
    floor, asks = as_of.floors[axis.name], as_of.asks(axis)
    if as_of.looks_back:
        yield (
            f"This looks back at {as_of.day}: only what had been released by then counts, and"
            " declared holds do not. The cells were run later, some with a patch release that came"
            " after that day."
        )
    if not as_of.looks_back:
        because = next(floor.because for floor in as_of.matrix.floors if floor.axis == axis.name)
        yield f"The floor of {package} is {floor}: {_ended(because)}"
    elif as_of.newest is not None:
        day = as_of.newest[1].uploaded
        since = "" if day is None else f" of {day.date()}"
        asked = f"asks for {_asked(as_of, axis)}"
        yield f"The newest release then, {as_of.called}{since}, {asked}, so the floor is {floor}."
    yield f"The floor may rise to {rule_of(window)}. {_ended(window.because)}"
    reached = as_of.calendar(axis.name)
    following = next((step for step in steps.calendar if step.on > as_of.day), None)
    is_stopped = hold is not None and reached is not None and reached.version > hold.at
    if reached is None:
        yield f"On {as_of.day} the calendar does not let go of any {package} yet."
    elif not is_stopped:
        allowed = reached.allowed
        yield f"{package} {reached.version} came out on {reached.released} ({reached.source})."
        if window.months is None:
            yield f"By the rule it is allowed from {allowed} on."
        elif window.dropped:
            yield f"All before it have been out for {window.months} months on {allowed}."
        else:
            yield f"{window.months} months later is {allowed}."
        if reached.on != allowed:
            every = CADENCES[as_of.policy.cadence]
            yield f"Floors rise on the first day of a {every}: {reached.on}."
        yield f"So on {as_of.day} the calendar allows {package} {reached.version}."
    if hold is not None:
        yield f"Until {hold.until} there is {_ended(hold_words(hold, steps.at, dated=False))}"
    if is_stopped and steps.under_the_hold is not None:
        yield f"So on {as_of.day} calendar and hold allow {package} {steps.under_the_hold}."
    if following is not None:
        slot, on = following.slot, following.on
        out = "out since" if slot.released <= as_of.day else "planned for"
        which = f"{slot.version}, {out} {slot.released}"
        if following.held is not None:
            yield f"The first step past the hold is {package} {which}: with a release after {on}."
        else:
            yield (
                f"The {'next' if reached else 'first'} is {which}: allowed from {slot.allowed}, on"
                f" the first day of a {CADENCES[as_of.policy.cadence]} from {on}."
            )
    for bad in as_of.policy.known_bad:
        if bad.axis == axis.name:
            why = f"it is known to be bad: {_ended(bad.because)}"
            yield f"{package} {bad.version} is passed over, {why}"
    if asks is not None and not as_of.looks_back:
        yield f"The newest release, {as_of.called}, asks for {_asked(as_of, axis)}."


def _asked(as_of: Evaluation, axis: Axis) -> str:
    # The newest release's requirement on an axis; of a package, with the newest Python of the
    # matrix.
    asked = as_of.asks(axis)
    what = f"{label(axis)} {asked}" if asked else f"any {label(axis)}"
    return what if isinstance(axis, InterpreterAxis) else f"{what} on Python {as_of.newest_python}"


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def lost(as_of: Evaluation, axis: Axis, current: Version, to: Version) -> tuple[Affected, ...]:
    below = [v for v in as_of.existing[axis.name] if current <= v < to]
    dropped = []
    for version in below:
        promised, places = version in as_of.promised(axis.name), as_of.having(axis.name, version)
        fresh = [as_of.entries.get(place, {}).get("fresh") for place in places]
        # Promised, or only a package without an axis rules it out as published.
        if (promised and places) or any(
            entry is not None
            and entry.obstacle is not None
            and not {each.text for each in entry.cell.coordinates} & set(entry.obstacle.between)
            for entry in fresh
        ):
            dropped.append(version)
    own = [_affected(as_of, axis, dropped)] if dropped else []
    for other in as_of.others:
        if other is not axis and to in as_of.reach[axis.name]:
            before = _together(as_of, axis, other, current)
            gone = sorted(before - _together(as_of, axis, other, to))
            own += [_affected(as_of, other, gone)] if gone else []
    return tuple(own)


def _together(as_of: Evaluation, axis: Axis, other: Axis, floor: Version) -> set[Version]:
    position = [other.name for other in as_of.others].index(other.name)
    versions = (v for v in as_of.promised(axis.name) if v >= floor)
    return {p[position] for v in versions for p in as_of.having(axis.name, v)}


def affected_words(move: Affected) -> str:
    releases = f" (releases {', '.join(map(str, move.releases))})" if move.releases else ""
    return f"{move.package} {', '.join(map(str, move.versions))}{releases}"


def _affected(as_of: Evaluation, axis: Axis, versions: list[Version]) -> Affected:
    releases = [r for v in versions for r in as_of.releases(axis, v)]
    return Affected(
        axis=axis.name,
        package=label(axis),
        versions=tuple(versions),
        releases=() if releases == versions else tuple(releases),
    )


def proposals(snapshot: Snapshot, day: datetime.date) -> tuple[Proposal, ...]:
    as_of = evaluation_on(snapshot, day)
    if as_of is None or as_of.newest is None:
        return ()
    moves: list[Proposal] = []
    for axis in as_of.moving:
        lowered = next((p for p in moves if p.kind == "lower" and p.is_open), None)
        moves += steps_of(as_of, axis).proposals(lowered)
    return tuple(moves)


def floors(snapshot: Snapshot, day: datetime.date) -> tuple[AxisFloor, ...]:
    as_of = evaluation_on(snapshot, day)
    if as_of is None:
        return ()
    return tuple(
        AxisFloor(
            axis=axis.name,
            package=label(axis),
            at=as_of.floors[axis.name],
            arithmetic=tuple(floor_arithmetic(steps_of(as_of, axis))),
        )
        for axis in as_of.moving
    )


def without_axis(snapshot: Snapshot, day: datetime.date) -> tuple[str, ...]:
    """The newest release's requirements whose minimum no axis has, so that none is proposed."""
    as_of = evaluation_on(snapshot, day)
    published = None if as_of is None or as_of.newest is None else as_of.newest[1].published
    names = {axis.normalised_name for axis in snapshot.matrix.packages}
    required = map(parsed, () if published is None else published.requires_dist)
    return tuple(
        f"{r.name}{r.specifier}"
        for r in filter(None, required)
        if "extra" not in str(r.marker or "")
        and lowest_of(r.specifier) is not None
        and canonicalize_name(r.name) not in names
    )


def proposed_extensions(snapshot: Snapshot, day: datetime.date) -> tuple[Proposal, ...]:
    as_of = evaluation_on(snapshot, day)
    if as_of is None or as_of.newest is None or as_of.looks_back:
        return ()
    every = ((e, _release_words(as_of, e)) for e in extensions(snapshot.feasibility))
    return tuple(_proposal(as_of, e, words) for e, words in every if words is not None)


def _release_words(as_of: Evaluation, extension: Extension) -> str | None:
    if isinstance(extension.axis, InterpreterAxis):
        series = next((s for s in PYTHONS if s.version == extension.version), None)
        if series is None or series.released > as_of.day:
            return None
        verb = "was due" if series.planned else "came out"
        return f"{verb} on {series.released} ({series.source})"
    releases = [
        release
        for release in as_of.snapshot.catalogue.newer_than(extension.axis)
        if extension.axis.coordinate(release.version) == extension.version
    ]
    uploaded = min((r.uploaded.date() for r in releases if r.uploaded is not None), default=None)
    if uploaded is None:
        return "came out on a day that the index does not give"
    words = f"came out on {uploaded} (upload time on the package index)"
    return words if uploaded <= as_of.day else None


def _proposal(as_of: Evaluation, extension: Extension, release_words: str) -> Proposal:
    axis, version = extension.axis, extension.version
    what = package_and_version(axis, version)
    newest = f"the newest that the matrix asks about is {extension.newest}"
    evidence = tuple(_evidence(as_of, extension))
    objections = tuple(_objections(as_of, extension, evidence))
    because = f"Blocked: extending the matrix to {version}."
    newer = as_of.snapshot.catalogue.newer_than(axis)
    taken_in = sorted({axis.coordinate(release.version) for release in newer}) or [version]
    if not objections:
        extent = "the core of the suite" if evidence[0].evidence == "smoke" else "the whole suite"
        because = f"So the matrix can be extended to {version}: a run of {extent} supports it."
    return Proposal(
        matrix=as_of.matrix.name,
        axis=axis.name,
        package=label(axis),
        kind="extend",
        release=as_of.called,
        current=extension.newest,
        proposed=version,
        earliest=None,
        grounds=(f"{what} {release_words}, and {newest}",),
        objections=objections,
        arithmetic=(because,),
        evidence=evidence,
        gained=(Affected(axis=axis.name, package=label(axis), versions=tuple(taken_in)),),
        needs=tuple(cell for o in objections if o.against != "red" for cell in o.cells)[:1],
    )


def _evidence(as_of: Evaluation, extension: Extension) -> Iterator[CellEvidence]:
    assert as_of.newest is not None, "without a release nothing is extended"
    subject = as_of.matrix.subject
    tried = [
        entry
        for entry in as_of.snapshot.known_on(extension.axis.name, extension.version)
        if entry.cell.on(subject).version == as_of.newest[0] and entry.latest is not None
    ]
    best = representative(tried) if tried else None
    for entry in sorted(tried, key=lambda entry: entry is not best):
        known = cell_evidence(entry, as_of)
        works = known.verdict in ("works", "partial") and not known.stale
        days = () if known.latest is None else (known.latest,)
        yield msgspec.structs.replace(known, supports=works, days=known.days or days)


def _objections(
    as_of: Evaluation, extension: Extension, evidence: tuple[CellEvidence, ...]
) -> Iterator[Objection]:
    if any(known.supports for known in evidence):
        return
    yield from filter(None, (objection(known, as_of.policy) for known in evidence[:1]))
    if not evidence and extension.trial is not None:
        cell = extension.trial.id
        command = f"`compat run {as_of.matrix.name} {cell}` makes the first"
        because = f"no run of {cell} counts yet; {command}"
        yield Objection("missing", because, (cell,))
    elif not evidence:
        what = f"{as_of.called} with {package_and_version(extension.axis, extension.version)}"
        reasons = "; ".join(
            f"{'with changed pins' if recipe == 'relaxed' else 'as published'} ({cell})"
            f" {obstacle.because}"
            for recipe, (cell, obstacle) in extension.obstacles.items()
        )
        because = f"the plan rules out every cell of {what}: {reasons}"
        yield Objection("missing", f"there is nothing to extend yet: {because}")
