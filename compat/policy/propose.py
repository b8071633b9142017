"""The `policy` room's proposals: a Picture and a day -> the floor moves that policy and records ask for.

Raise: to what the calendar allows, and short of that to the newest version that is borne out. Lower: to the lowest
version from which on every one up to the floor, the floor too, is borne out, as long as the calendar would not raise it
again at once. Early: the floor's own cells are broken, so the floor goes to the next version that works, whatever the
calendar says. A move that something speaks against is returned with its objections.
"""

import datetime
from collections.abc import Iterator, Sequence

from packaging.version import Version

from compat.declare.matrix import Axis
from compat.policy.affected import gained, lost
from compat.policy.arithmetic import named, told
from compat.policy.guard import Guard, Proof, merged
from compat.policy.moment import Moment, package_of
from compat.policy.proposal import Against, Floor, Kind, Objection, Proposal, Value
from compat.results.picture import Picture


def proposals(picture: Picture, day: datetime.date) -> tuple[Proposal, ...]:
    """Return the moves to propose on that day, open and objected ones, in the order of the axes.

    For a day before the picture's own this is what a maintainer would have been told then; see Moment. A matrix
    without a policy, and one without a release, has none.
    """
    guard = _guard(picture, day)
    if guard is None or guard.moment.newest is None:
        return ()
    found: list[Proposal] = []
    for axis in _moving(guard.moment):
        lowered = next((one for one in found if one.kind == "lower" and one.is_open), None)
        found += _Mover(guard, axis, lowered).proposals()
    return tuple(found)


def floors(picture: Picture, day: datetime.date) -> tuple[Floor, ...]:
    """Return the floors that can move, and what the calendar allows them on that day; none without a policy."""
    guard = _guard(picture, day)
    if guard is None:
        return ()
    moment = guard.moment
    return tuple(
        Floor(axis=axis.name, package=package_of(axis), at=moment.floors[axis.name], arithmetic=told(moment, axis))
        for axis in _moving(moment)
    )


def _guard(picture: Picture, day: datetime.date) -> Guard | None:
    policy = picture.ask.policy
    return None if policy is None else Guard(Moment(picture, policy, day))


def _moving(moment: Moment) -> list[Axis]:
    return [axis for axis in moment.others if axis.name in moment.floors]


class _Mover:
    """The floor of one axis, and where it might go; `lowered` is an open lowering of another axis."""

    def __init__(self, guard: Guard, axis: Axis, lowered: Proposal | None) -> None:
        self.lowered = lowered
        self.guard = guard
        self.moment = guard.moment
        self.axis = axis
        self.at = self.moment.floors[axis.name]
        self.hold = self.moment.hold(axis.name)
        reached = self.moment.calendar(axis.name)
        oldest = min((self.at, *self.moment.existing[axis.name]))
        self.allowed = oldest if reached is None else reached.version
        self.limit = self.allowed if self.hold is None else min(self.allowed, self.hold.at)

    def proposals(self) -> Iterator[Proposal]:
        """Yield the moves: raises, then an early move, then a lowering."""
        raises = [self._raise(version) for version in self._higher()]
        yield from raises
        early = self._early()
        if early is not None and not any(one.is_open or one.proposed == early.proposed for one in raises):
            yield early
        lower = self._lower()
        if lower is not None:
            yield lower

    def proof(self, version: Version) -> Proof:
        return self.guard.proof(self.axis.name, version)

    def _higher(self) -> list[Version]:
        """Where the floor might rise: to the best that is proven, the calendar's own, and what is announced."""
        notice = datetime.timedelta(days=self.moment.policy.notice_days)
        soon = self.moment.calendar(self.axis.name, self.moment.day + notice)
        found = {self.allowed} if soon is None else {self.allowed, soon.version}
        found.update(self._best(self.limit))
        return sorted(version for version in found if version > self.at)

    def _best(self, limit: Version) -> list[Version]:
        """The newest proven version above the floor up to the limit; else the newest green one, else the newest."""
        within = [v for v in self._reachable() if self.at < v <= limit]
        green = [v for v in within if self.proof(v).is_green]
        proven = [v for v in green if self.proof(v).state == "proven"]
        return (proven or green or within)[-1:]

    def _reachable(self) -> list[Version]:
        """The versions that the newest release can be had with as published, and that may be a floor."""
        bad, reach = self.moment.bad(self.axis.name), self.guard.reach[self.axis.name]
        return [v for v in self.moment.existing[self.axis.name] if v in reach and v not in bad]

    def _raise(self, to: Version) -> Proposal:
        slot = next((slot for slot in self.moment.slots[self.axis.name] if slot.version == to), None)
        earliest = None if slot is None else slot.on
        against = [*self._announced(earliest), *self._held(to)]
        proof = self.guard.raised(self.axis.name, to)
        return self._made(_Draft(kind="raise", to=to, proofs=(proof,), against=tuple(against), earliest=earliest))

    def _announced(self, earliest: datetime.date | None) -> Iterator[Objection]:
        if earliest is not None and earliest > self.moment.day:
            yield _says("calendar", f"this is an announcement: the calendar allows it from {earliest} on")

    def _held(self, to: Version) -> Iterator[Objection]:
        if self.hold is not None and to > self.hold.at:
            yield _says("hold", f"held at {self.hold.at} until {self.hold.until}: {self.hold.because}")

    def _early(self) -> Proposal | None:
        here = self.proof(self.at)
        bad = self.moment.bad(self.axis.name)
        above = [v for v in self.moment.existing[self.axis.name] if v > self.at and v not in bad]
        if here.state != "red" or not above:
            return None
        to = next((v for v in above if self.proof(v).is_green), above[0])
        against = list(self._held(to))
        wanted = self.moment.policy.witnesses
        if here.red_days < wanted:
            because = f"the floor's own cells have been broken on {here.red_days} of {wanted} days"
            against.append(_says("witnesses", because, *(one.cell for one in here.evidence)))
        return self._made(_Draft(kind="early", to=to, proofs=(self.proof(to),), against=tuple(against), broken=here))

    def _lower(self) -> Proposal | None:
        to = self._lowest()
        if to is None:
            return None
        between = [v for v in self.moment.existing[self.axis.name] if to <= v <= self.at]
        against = []
        back = self._pull()
        if back is not None and back > to:
            package = package_of(self.axis)
            because = f"the calendar would raise it again at once: it has let go of {package} {to} for {back}"
            remedy = f"a hold on {self.axis.name} at {to} in policy.toml, with its reason, would keep it"
            against.append(_says("rebound", f"{because}; {remedy}"))
        if self.lowered is not None:
            because = f"one lowering at a time: no cell has shown what it comes to together with {self.lowered.id}"
            against.append(_says("together", because))
        proofs = tuple(self.proof(version) for version in between)
        return self._made(_Draft(kind="lower", to=to, proofs=proofs, against=tuple(against)))

    def _pull(self) -> Version | None:
        """Where the calendar would raise a lowered floor to: the newest green version that it allows."""
        return max((v for v in self._reachable() if v <= self.limit and self.proof(v).is_green), default=None)

    def _lowest(self) -> Version | None:
        """How far down to propose: proven ground first, then green, then the next version, if there is reason to."""
        below = [v for v in reversed(self.moment.existing[self.axis.name]) if v < self.at]
        if not below or self.at not in self.moment.existing[self.axis.name]:
            return None
        bad, back = self.moment.bad(self.axis.name), self._pull()
        for wanted in (("proven",), ("proven", "green")):
            chain = self._chain(below, wanted)
            kept = [v for v in chain if v not in bad and (back is None or v >= back)]
            if kept:
                return kept[-1]
        green = [v for v in self._chain(below, ("proven", "green")) if v not in bad]
        if green:
            return green[-1]
        has_reason = below[0] >= self.limit or self.proof(below[0]).is_tested
        return below[0] if has_reason and below[0] not in bad else None

    def _chain(self, below: Sequence[Version], states: tuple[str, ...]) -> list[Version]:
        """The unbroken run of versions downward from the floor, which counts itself, that have one of the states."""
        chain: list[Version] = []
        if self.proof(self.at).state not in states:
            return chain
        for version in below:
            if self.proof(version).state not in states:
                break
            chain.append(version)
        return chain

    def _made(self, draft: "_Draft") -> Proposal:
        evidence, objections, needs = merged(draft.proofs)
        broken = () if draft.broken is None else draft.broken.evidence
        lowers = draft.kind == "lower"
        return Proposal(
            matrix=self.moment.matrix.name,
            axis=self.axis.name,
            package=package_of(self.axis),
            kind=draft.kind,
            release=self.moment.called,
            current=self.at,
            proposed=draft.to,
            earliest=draft.earliest,
            grounds=(self._ground(draft), *self._failing(draft.to)),
            objections=(*draft.against, *objections),
            arithmetic=(*told(self.moment, self.axis), self._conclusion(draft, not (draft.against or objections))),
            evidence=(*broken, *evidence),
            lost=() if lowers else lost(self.guard, self.axis, self.at, draft.to),
            gained=gained(self.guard, self.axis, self.at, draft.to) if lowers else (),
            needs=needs,
        )

    def _ground(self, draft: "_Draft") -> str:
        release, to, at = self.moment.called, named(self.axis, draft.to), self.at
        match draft.kind:
            case "raise":
                return f"the calendar allows {to} from {draft.earliest} on, and the floor is {at}"
            case "lower":
                return f"it is declared from {at} on, and {release} may work from {to} on"
            case "early":
                return f"every cell of {release} at the floor, {named(self.axis, at)}, is broken"

    def _failing(self, to: Version) -> Iterator[str]:
        for cell, names in self.guard.failing(self.axis.name, self.at, to).items():
            yield f"in {cell} these fail, which work with {named(self.axis, self.at)}: {', '.join(names)}"

    def _conclusion(self, draft: "_Draft", is_open: bool) -> str:
        verb = {"raise": "rise", "lower": "go down", "early": "rise ahead of the calendar"}[draft.kind]
        if is_open:
            return f"So the floor can {verb} from {self.at} to {draft.to}: the cells bear it out."
        return f"So the floor could {verb} from {self.at} to {draft.to} if nothing spoke against it."


class _Draft(Value, frozen=True, kw_only=True):
    """A move before it is told: what it rests on, what speaks against it besides, and the broken floor it leaves."""

    kind: Kind
    to: Version
    proofs: tuple[Proof, ...]
    against: tuple[Objection, ...]
    earliest: datetime.date | None = None
    broken: Proof | None = None


def _says(against: Against, because: str, *cells: str) -> Objection:
    return Objection(against=against, because=because, cells=cells)
