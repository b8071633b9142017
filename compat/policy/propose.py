"""The `policy` room's proposals: the floor moves that policy and records ask for on one day.

Raise: to what the calendar allows, under a hold to what that allows, and short of that to the
newest version that is supported; see `floor_steps`. Lower: to the lowest version from which on
every one up to the floor, the floor too, is supported, as long as the calendar would not raise it
again. Early: the floor's own representative cells are broken, so the floor goes to the next version
that works, whatever the calendar says. A move that something speaks against is returned with its
objections.
"""

import datetime
import itertools
from collections.abc import Iterator, Sequence

import msgspec
from packaging.version import Version

from compat.declare.matrix import Axis, InterpreterAxis
from compat.policy.affected import gained, lost
from compat.policy.arithmetic import floor_arithmetic, package_and_version
from compat.policy.as_of import AsOf, package_words
from compat.policy.cell_evidence import FloorEvidence, merged
from compat.policy.evaluation import Evaluation, evaluation_on
from compat.policy.floor_steps import FloorStep, steps_of
from compat.policy.proposal import (
    Against,
    AxisFloor,
    CellEvidence,
    FloorKind,
    Objection,
    Proposal,
)
from compat.policy.window import hold_words, months_later, move_day, window_of
from compat.results.snapshot import Snapshot
from compat.value import StrictValue


def proposals(snapshot: Snapshot, day: datetime.date) -> tuple[Proposal, ...]:
    """Return the moves to propose on that day, open and objected ones, in the order of the axes.

    For a day before the snapshot's own this is what a maintainer would have been told then; see
    AsOf. A matrix without a policy, and one without a release, has none.
    """
    evaluation = evaluation_on(snapshot, day)
    if evaluation is None or evaluation.as_of.newest is None:
        return ()
    moves: list[Proposal] = []
    for axis in _moving(evaluation.as_of):
        lowered = next(
            (proposal for proposal in moves if proposal.kind == "lower" and proposal.is_open), None
        )
        moves += _Mover(evaluation, axis, lowered).proposals()
    return tuple(moves)


def floors(snapshot: Snapshot, day: datetime.date) -> tuple[AxisFloor, ...]:
    # Return the floors that can move, and what the calendar allows them on that day; none without a
    # policy.
    evaluation = evaluation_on(snapshot, day)
    if evaluation is None:
        return ()
    as_of = evaluation.as_of
    return tuple(
        AxisFloor(
            axis=axis.name,
            package=package_words(axis),
            at=as_of.floors[axis.name],
            arithmetic=floor_arithmetic(steps_of(evaluation, axis)),
        )
        for axis in _moving(as_of)
    )


def _moving(as_of: AsOf) -> list[Axis]:
    return [axis for axis in as_of.others if axis.name in as_of.floors]


class _Mover:
    """The floor of one axis, and where it might go; `lowered` is an open lowering of another
    axis.
    """

    def __init__(self, evaluation: Evaluation, axis: Axis, lowered: Proposal | None) -> None:
        self.lowered = lowered
        self.evaluation = evaluation
        self.as_of = evaluation.as_of
        self.axis = axis
        self.steps = steps_of(evaluation, axis)
        self.at, self.hold = self.steps.at, self.steps.hold

    def proposals(self) -> Iterator[Proposal]:
        raises = self._with_nearest([self._raise(step) for step in self.steps.proposed])
        yield from raises
        early = self._early()
        if early is not None and not any(
            proposal.is_open or proposal.proposed == early.proposed for proposal in raises
        ):
            yield early
        lower = self._lower()
        if lower is not None:
            yield lower

    def proof(self, version: Version) -> FloorEvidence:
        return self.evaluation.floor(self.axis.name, version)

    def _with_nearest(self, raises: list[Proposal]) -> list[Proposal]:
        nearest = max((raised.proposed for raised in raises if raised.is_open), default=None)
        if nearest is None:
            return raises
        words = f"Now it can rise to {nearest}."
        return [
            raised
            if raised.is_open
            else msgspec.structs.replace(
                raised,
                arithmetic=(*raised.arithmetic[:-1], f"{raised.arithmetic[-1]} {words}"),
            )
            for raised in raises
        ]

    def _raise(self, step: FloorStep) -> Proposal:
        to, allowed = step.version, step.slot.on
        against = [*self._held(step), *self._announced(step)]
        proof = self.evaluation.raised(self.axis.name, to)
        if not against:
            against += self._too_young(to, self._lowest_run(to, (proof,)))
        return self._made(
            _Draft(kind="raise", to=to, proofs=(proof,), against=tuple(against), allowed=allowed)
        )

    def _lowest_run(self, to: Version, proofs: Sequence[FloorEvidence]) -> Version | None:
        # The lowest release of a series that its supporting cells installed, where that is not its
        # first; None where no lock tells.
        if isinstance(self.axis, InterpreterAxis) or self.as_of.looks_back:
            return None
        snapshot, name = self.as_of.snapshot, self.axis.normalised_name
        ran = [
            version
            for cell in (cell for proof in proofs for cell in proof.evidence if cell.supports)
            if snapshot.by_id[cell.cell].cell.on(self.axis.name).version == to
            and (version := snapshot.versions(cell.cell).get(name)) is not None
        ]
        lowest, first = min(ran, default=None), next(iter(self.as_of.releases(self.axis, to)), None)
        return None if lowest == first else lowest

    def _too_young(self, to: Version, ran: Version | None) -> Iterator[Objection]:
        months = window_of(self.as_of.policy, self.axis.name).months
        if ran is None or months is None or isinstance(self.axis, InterpreterAxis):
            return
        releases = self.as_of.catalogue.of(self.axis).releases
        uploaded = next((r.uploaded for r in releases if r.version == ran), None)
        if uploaded is None:
            return
        on = move_day(months_later(uploaded.date(), months), self.as_of.policy)
        if on > self.as_of.day:
            what = f"{package_and_version(self.axis, ran)}, the lowest of {to} that ran,"
            when = f"came out on {uploaded.date()}: the calendar allows it from {on} on"
            remedy = f'`patch = "oldest"` in `select` of axis {self.axis.name} runs an older one'
            yield _says("calendar", f"{what} {when}; {remedy}")

    def _announced(self, step: FloorStep) -> Iterator[Objection]:
        if step.held is None and step.on > self.as_of.day:
            yield _says(
                "calendar", f"this is an announcement: the calendar allows it from {step.on} on"
            )

    def _held(self, step: FloorStep) -> Iterator[Objection]:
        if step.held is not None:
            under = self.steps.under_the_hold
            now = (
                "nothing above the floor"
                if under is None
                else package_and_version(self.axis, under)
            )
            words = hold_words(step.held, self.at)
            yield _says("hold", f"{words}; now calendar and hold allow {now}")

    def _early_held(self, to: Version) -> Iterator[Objection]:
        if self.hold is not None and to > self.hold.at:
            none = f"the runs support no version above the floor up to {self.hold.at}"
            yield _says("hold", f"{hold_words(self.hold, self.at)}; {none}")

    def _early(self) -> Proposal | None:
        floor_evidence = self.proof(self.at)
        bad = self.as_of.bad(self.axis.name)
        above = [v for v in self.as_of.existing[self.axis.name] if v > self.at and v not in bad]
        if floor_evidence.state != "red" or not above:
            return None
        to = self._next(above)
        against = list(self._early_held(to))
        wanted = self.as_of.policy.witnesses
        if floor_evidence.red_days < wanted:
            because = (
                f"a representative cell of the floor was broken on {floor_evidence.red_days} of"
                f" {wanted} days"
            )
            against.append(
                _says(
                    "witnesses",
                    because,
                    *(cell_evidence.cell for cell_evidence in floor_evidence.evidence),
                )
            )
        return self._made(
            _Draft(
                kind="early",
                to=to,
                proofs=(self.proof(to),),
                against=tuple(against),
                broken=floor_evidence,
            )
        )

    def _next(self, above: Sequence[Version]) -> Version:
        held = [v for v in above if self.hold is None or v <= self.hold.at]
        green = [v for v in held if self.proof(v).is_green]
        hopeful = [v for v in held if self.proof(v).state != "red"]
        beyond = [v for v in above if self.proof(v).is_green]
        return next(itertools.chain(green, hopeful, beyond, above))

    def _lower(self) -> Proposal | None:
        to = self._lowest()
        if to is None:
            return None
        between = [v for v in self.as_of.existing[self.axis.name] if to <= v <= self.at]
        against = []
        if self.lowered is not None:
            because = f"one lowering at a time: it is asked again once {self.lowered.id} is made"
            against.append(_says("one-at-a-time", because))
        proofs = tuple(self.proof(version) for version in between)
        return self._made(_Draft(kind="lower", to=to, proofs=proofs, against=tuple(against)))

    def _pull(self) -> Version | None:
        # Where the calendar would raise a lowered floor to: the newest green version that it
        # allows.
        return max(
            (v for v in self.steps.reachable() if v <= self.steps.limit and self.proof(v).is_green),
            default=None,
        )

    def _lowest(self) -> Version | None:
        # How far down to propose: proven ground first, then green, then the next version, if there
        # is reason to; nothing that the calendar would raise again.
        below = [v for v in reversed(self.as_of.existing[self.axis.name]) if v < self.at]
        if not below or self.at not in self.as_of.existing[self.axis.name]:
            return None
        back = self._pull()
        bad = {
            *self.as_of.bad(self.axis.name),
            *(v for v in below if back is not None and v < back),
        }
        for wanted in (("proven",), ("proven", "green")):
            chain = self._chain(below, wanted)
            versions = [v for v in chain if v not in bad]
            if versions:
                return versions[-1]
        has_reason = below[0] >= self.steps.limit or self.proof(below[0]).is_tested
        return below[0] if has_reason and below[0] not in bad else None

    def _chain(self, below: Sequence[Version], states: tuple[str, ...]) -> list[Version]:
        # The unbroken run of versions downward from the floor, which counts itself, that have one
        # of the states.
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
        ran = self._lowest_run(draft.to, draft.proofs)
        lowers = draft.kind == "lower"
        return Proposal(
            matrix=self.as_of.matrix.name,
            axis=self.axis.name,
            package=package_words(self.axis),
            kind=draft.kind,
            release=self.as_of.called,
            current=self.at,
            proposed=draft.to,
            lowest_run=ran,
            earliest=self._earliest(draft),
            grounds=(self._ground(draft), *self._lapsed(draft), *self._failing(draft.to)),
            objections=(*draft.against, *objections),
            arithmetic=(
                *floor_arithmetic(self.steps),
                self._conclusion(draft, ran, not (draft.against or objections)),
            ),
            evidence=(*_leaving(draft.broken), *evidence),
            lost=() if lowers else lost(self.evaluation, self.axis, self.at, draft.to),
            gained=gained(self.evaluation, self.axis, self.at, draft.to) if lowers else (),
            needs=needs,
        )

    def _earliest(self, draft: "_Draft") -> datetime.date | None:
        lifted = None if draft.kind == "lower" else self.as_of.lifted(self.axis.name, draft.to)
        return max((day for day in (draft.allowed, lifted) if day is not None), default=None)

    def _ground(self, draft: "_Draft") -> str:
        release, to, version = self.as_of.called, package_and_version(self.axis, draft.to), self.at
        match draft.kind:
            case "raise":
                on = self._earliest(draft)
                what = "the calendar allows" if on == draft.allowed else "calendar and hold allow"
                return f"{what} {to} from {on} on, and the floor is {version}"
            case "lower":
                return f"it is declared from {version} on, and {release} may work from {to} on"
            case "early":
                floor = package_and_version(self.axis, version)
                return f"every representative cell of {release} at the floor, {floor}, is broken"

    def _lapsed(self, draft: "_Draft") -> Iterator[str]:
        because = (
            "" if draft.kind == "lower" else self.evaluation.places.absence(self.axis.name, self.at)
        )
        if because:
            yield f"the floor itself is not supported by any cell: {because}"

    def _failing(self, to: Version) -> Iterator[str]:
        for cell, before, names in self.evaluation.failing(self.axis.name, self.at, to):
            yield f"in {cell} these fail, which work in {before}: {', '.join(names)}"

    def _conclusion(self, draft: "_Draft", ran: Version | None, is_open: bool) -> str:
        verb = {"raise": "rise", "lower": "go down", "early": "rise ahead of the calendar"}[
            draft.kind
        ]
        if is_open:
            words = "" if ran is None else f" The lowest of {draft.to} that ran is {ran}."
            return (
                f"So the floor can {verb} from {self.at} to {draft.to}: every representative cell"
                f" supports it.{words}"
            )
        return (
            f"So the floor could {verb} from {self.at} to {draft.to} if nothing spoke against it."
        )


class _Draft(StrictValue, frozen=True, kw_only=True):
    """A move before it is told: what it rests on, what speaks against it besides, and the broken
    floor it leaves.
    """

    kind: FloorKind
    to: Version
    proofs: tuple[FloorEvidence, ...]
    against: tuple[Objection, ...]
    allowed: datetime.date | None = None
    broken: FloorEvidence | None = None


def _leaving(broken: FloorEvidence | None) -> Iterator[CellEvidence]:
    for cell in () if broken is None else broken.evidence:
        yield msgspec.structs.replace(
            cell, supports=cell.verdict == "broken" and bool(cell.days) and not cell.stale
        )


def _says(against: Against, because: str, *cells: str) -> Objection:
    return Objection(against=against, because=because, cells=cells)
