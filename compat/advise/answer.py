"""The `advise` room's answer: the best proven combination for a request, what another one gains and
loses against it, or the nearest one and what blocks the request.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property

from packaging.version import Version

from compat.advise.lifted import Lifted
from compat.advise.proof import (
    AsPublished,
    Ranks,
    TestedCombination,
    VersionsOf,
    as_published,
    is_current,
    is_goal_met,
    positions,
    proofs,
)
from compat.advise.request import Request, Want, label, unavailable, wanted_coordinates
from compat.declare.matrix import Axis, Matrix
from compat.lock.lockfile import Lock
from compat.plan.feasible import Obstacle
from compat.results.answer import Answer, verdict_clause
from compat.results.snapshot import Snapshot
from compat.value import Value


class ProofsByVersion:
    """Proofs by what stands on each axis: the coordinate, and what the lock installs there. Each
    such pair is held against a want once, and not that of each proof.
    """

    def __init__(self, proofs: Sequence[TestedCombination]) -> None:
        self._proofs = proofs
        self._by_axis: dict[str, dict[tuple[Version, Version], list[int]]] = {}
        self.meeting = cache(self._meeting)

    def matching(self, request: Request) -> list[TestedCombination]:
        return [
            proof
            for proof, unmet in self.candidates(request)
            if not unmet and is_goal_met(proof, request) and not proof.lacking(request)
        ]

    def candidates(self, request: Request) -> Iterator[tuple[TestedCombination, tuple[Want, ...]]]:
        """Yield every proof with the wants of a request that it does not meet."""
        by_want = [(want, self.meeting(want)) for want in request.wants]
        for number, proof in enumerate(self._proofs):
            yield proof, tuple(want for want, meeting in by_want if number not in meeting)

    def _meeting(self, want: Want) -> frozenset[int]:
        axis = want.axis.name
        if axis not in self._by_axis:
            pairs: defaultdict[tuple[Version, Version], list[int]] = defaultdict(list)
            for number, proof in enumerate(self._proofs):
                pairs[proof.on(axis)].append(number)
            self._by_axis[axis] = pairs
        by_pair = self._by_axis[axis].items()
        return frozenset(n for pair, numbers in by_pair if want.is_met_by(*pair) for n in numbers)


MOST_ALTERNATIVES = 2


def alternatives(
    matrix: Matrix, best: TestedCombination, others: Sequence[TestedCombination]
) -> tuple[TestedCombination, ...]:
    """Return up to two others, first those that are better in different respects."""
    chosen: list[TestedCombination] = []
    offered: set[str] = set()
    for other in others:
        if len(chosen) == MOST_ALTERNATIVES:
            return tuple(chosen)
        gained = {respect for respect, _, _ in better_in(matrix, other, best)}
        if gained - offered:
            chosen.append(other)
            offered |= gained
    chosen += [other for other in others if other not in chosen][: MOST_ALTERNATIVES - len(chosen)]
    return tuple(chosen)


def trade_off(matrix: Matrix, best: TestedCombination, other: TestedCombination) -> str:
    gained = ", ".join(gain for _, gain, _ in better_in(matrix, other, best))
    lost = ", ".join(loss for _, _, loss in better_in(matrix, best, other) if loss)
    sentence = f"{gained}, but {lost}" if gained and lost else gained or lost
    sentence = sentence or "the same, locked another way"
    return f"{sentence[0].upper()}{sentence[1:]}."


def better_in(
    matrix: Matrix, one: TestedCombination, other: TestedCombination
) -> Iterator[tuple[str, str, str]]:
    """Yield in what the first is better: `kind`, `range`, `recipe`, `pins`, `stale`, `days`, or the
    name of an axis; what it gains by that, and what the other loses.
    """
    if one.doubts < other.doubts:
        gain = "less fails" if one.doubts else "nothing fails in this combination"
        yield "kind", gain, _failures(other)
    if one.outside < other.outside:
        yield "range", "published for these versions", "not published for these versions"
    if one.is_published and not other.is_published:
        loss = "only with changed dependency pins"
        yield "recipe", "as published, with nothing lifted", loss
    elif one.changed < other.changed:
        yield "pins", f"with only {_pins(one)}", f"with {_pins(other)}"
    companions = (axis for axis in matrix.packages if axis.name != matrix.subject)
    axes: tuple[Axis, ...] = (matrix.subject_axis, *companions, matrix.interpreters)
    for axis in axes:
        name = axis.name
        if one.cell.on(name).version > other.cell.on(name).version:
            newer, older = (f"{label(axis)} {each.version(name)}" for each in (one, other))
            yield name, f"newer {newer}", f"older {older}"
    if other.stale and not one.stale:
        yield "stale", "with fresh evidence", "its evidence is stale"
    if one.days > other.days:
        yield "days", f"tested on {one.days} days", ""


def _failures(proof: TestedCombination) -> str:
    lacking = (*proof.faults, *proof.untried)
    if not lacking:
        return "its tests did not run to their end"
    verb = "fails" if len(lacking) == 1 else "fail"
    verb = verb if proof.faults else "was not tested" if len(lacking) == 1 else "were not tested"
    return f"{' and '.join(lacking[:3])}{' and more' if lacking[3:] else ''} {verb}"


def _pins(proof: TestedCombination) -> str:
    return "1 changed pin" if proof.changed == 1 else f"{proof.changed} changed pins"


def tested(proof: TestedCombination) -> str:
    """Return how often and on how many days: `tested once`, `tested twice on 1 day`."""
    if proof.tested == 1:
        return "tested once"
    times = "twice" if proof.tested == 2 else f"{proof.tested} times"
    return f"tested {times} on {proof.days} {'day' if proof.days == 1 else 'days'}"


def obstructions(
    snapshot: Snapshot, request: Request, proofs: Mapping[str, TestedCombination]
) -> tuple[str, ...]:
    """Return what blocks a request that no proof meets, as sentences: runs, then metadata and rules
    of the cells as published, then what was never run or published. `proofs` goes by cell id.
    """
    known = positions(snapshot)
    asked = wanted_coordinates(request, known, snapshot.catalogue)
    matching = list(snapshot.having(asked))
    if not matching:
        nowhere = (want for want in request.wants if not asked[want.axis.name])
        missing = (unavailable(want, snapshot.catalogue) for want in nowhere)
        return *missing, *_of_unpublished(snapshot.matrix, request)
    matching.sort(
        key=lambda entry: [-known[axis][entry.cell.on(axis).version] for axis in _order(snapshot)]
    )
    return (
        *_of_runs(snapshot, matching, request, proofs),
        *_of_metadata(snapshot, matching, request),
        *_of_untested(matching, request),
        *_of_unpublished(snapshot.matrix, request),
    )


def _order(snapshot: Snapshot) -> tuple[str, ...]:
    subject = snapshot.matrix.subject
    return subject, *(axis.name for axis in snapshot.matrix.axes if axis.name != subject)


def _of_runs(
    snapshot: Snapshot,
    matching: Sequence[Answer],
    request: Request,
    proofs: Mapping[str, TestedCombination],
) -> Iterator[str]:
    failing = [entry for entry in matching if entry.is_tested]
    if not failing:
        return
    entry = failing[0]
    why = _failure(snapshot, entry, request, proofs.get(entry.id))
    others = len(failing) - 1
    more = "1 more was run and does not do" if others == 1 else ""
    more = f"{others:,} more were run and do not do" if others > 1 else more
    yield f"{entry.id} {why}{'; ' if more else ''}{more}"


def _failure(
    snapshot: Snapshot, entry: Answer, request: Request, proof: TestedCombination | None
) -> str:
    if entry.kind in ("works", "partial"):
        if entry.lock_digest is None:
            return "worked, but has no lock that could be installed"
        if proof is None or not is_current(entry):
            return "worked on another lock than it has now, and was not run since"
        words = {"no": "fails", "absent": "is not there"}
        known = {c.id: words.get(c.status, "") for c in entry.capabilities}
        differs = (
            *(() if is_goal_met(proof, request) else ("with changed dependency pins",)),
            *(
                f"{need} {known.get(need, 'was not tested')}"
                for need in request.needs
                if known.get(need) != ""
            ),
            *(
                f"with {label(want.axis)} {proof.version(want.axis.name)}, not {want.specifier}"
                for want in proof.unmet(request)
            ),
        )
        return f"{verdict_clause(entry)}, but {', '.join(differs)}"
    issue = snapshot.explained(entry)
    because = f" ({issue.because})" if issue is not None else ""
    return f"{verdict_clause(entry)}: {entry.outcome}, tested on {entry.latest}{because}"


def _of_metadata(snapshot: Snapshot, matching: Sequence[Answer], request: Request) -> Iterator[str]:
    # The obstacle that speaks of what was asked is the one shown.
    published = [entry for entry in matching if entry.cell.recipe != "relaxed"]
    ruled_out = [(entry, entry.obstacle) for entry in published if entry.obstacle is not None]
    if not ruled_out or len(ruled_out) < len(published):
        return
    _, obstacle = min(ruled_out, key=lambda pair: _beside(snapshot, request, *pair))
    releases = len({entry.cell.on(snapshot.matrix.subject).version for entry, _ in ruled_out})
    others = (
        f"; as published none of the {releases - 1} other releases fits" if releases > 1 else ""
    )
    yield f"{obstacle.because}{others}"


def _beside(snapshot: Snapshot, request: Request, entry: Answer, obstacle: Obstacle) -> int:
    asked = {snapshot.matrix.subject, *(want.axis.name for want in request.wants)}
    axes = {place.text: place.axis for place in reversed(entry.cell.coordinates)}
    return sum(axes.get(text) not in (None, *asked) for text in obstacle.between)


def _of_untested(matching: Sequence[Answer], request: Request) -> Iterator[str]:
    """What could work and was never run; else what is refused without a run."""
    is_strict = request.goal == "published"
    open_to = [e for e in matching if not (is_strict and e.cell.recipe == "relaxed")]
    untested = [entry for entry in open_to if entry.kind == "unknown" and not entry.counted]
    refused = [entry for entry in open_to if entry.kind == "broken" and not entry.is_tested]
    if untested:
        plural = len(untested) != 1
        many = f"{len(untested):,} combinations that fit" if plural else "1 combination that fits"
        is_relaxed = all(entry.cell.recipe == "relaxed" for entry in untested)
        relaxed = " once pins are lifted" if is_relaxed else ""
        likely = min(untested, key=lambda entry: entry.expected not in ("works", "partial"))
        expected = "" if likely.expected is None else f" ({verdict_clause(likely)})"
        yield f"{many}{relaxed} could work and were never run, such as {likely.cell.id}{expected}"
    elif refused:
        first = refused[0]
        more = f"; {len(refused) - 1:,} more are refused, too" if refused[1:] else ""
        yield f"{first.id} {verdict_clause(first)}: {'; '.join(first.reasons)}{more}"


def _of_unpublished(matrix: Matrix, request: Request) -> Iterator[str]:
    """What was tagged and never published, where all that is asked fits what it declares."""
    wants = {want.axis.name: want.specifier for want in request.wants}
    for state in matrix.unpublished:
        both = [wants[axis] & s for axis, s in state.when.conditions if axis in wants]
        if both and not any(specifier.is_unsatisfiable() for specifier in both):
            yield f"{state.state} of {matrix.title} is not on the index: {state.because}"


class Card(Value, frozen=True):
    """A proven combination as it is recommended, beside what a plain install does."""

    proof: TestedCombination
    lock: Lock
    published: AsPublished
    cautions: tuple[str, ...]

    @property
    def lifted(self) -> tuple[Lifted, ...]:
        """The published requirements that the lock does not keep."""
        return self.proof.lifted


def asked_pins(lock: Lock, request: Request) -> dict[str, Version]:
    """Return which versions the lock installs of the packages on no axis that are asked about."""
    locked = {pin.name: pin.version for pin in lock.library_pins}
    return {name: locked[name] for name, _ in request.packages if name in locked}


class Alternative(Value, frozen=True):
    """Another proven combination, and what it gains and loses in one sentence."""

    card: Card
    trade_off: str


class Recommended(Value, frozen=True):
    """Something that meets the request is proven; `because` says why the best of it is the best."""

    request: Request
    best: Card
    because: str
    alternatives: tuple[Alternative, ...]


class Unproven(Value, frozen=True):
    """Nothing that meets the request is proven: why, and the nearest proof with what is not as
    asked, if there is one.

    `changes` is the smallest change of the request that makes it provable.
    """

    request: Request
    in_the_way: tuple[str, ...]
    nearest: Card | None
    changes: tuple[str, ...]


class Advisor:
    """Answers requests about one snapshot."""

    def __init__(
        self, snapshot: Snapshot, locks: Mapping[str, Lock], versions: VersionsOf | None = None
    ) -> None:
        """Take what is known, and the lock of each cell that has one; only those of proven cells
        are looked at. `versions` returns which versions of the axes a cell's lock has, where that
        is quicker than to read the lock.
        """
        self.snapshot = snapshot
        self._locks = locks
        self._versions = versions

    @cached_property
    def proofs(self) -> tuple[TestedCombination, ...]:
        return proofs(self.snapshot, self._locks, self._versions)

    @cached_property
    def _by_version(self) -> ProofsByVersion:
        return ProofsByVersion(self.proofs)

    @cached_property
    def _by_id(self) -> dict[str, TestedCombination]:
        return {proof.id: proof for proof in self.proofs}

    @cached_property
    def ranks(self) -> Ranks:
        return Ranks(self.snapshot, self.proofs)

    def answer(self, request: Request) -> Recommended | Unproven:
        """Return the best proven combination that meets the request, or what is in the way of
        one. Neither it nor an alternative is dominated by another that meets the request.
        """
        fitting, matrix = self._by_version.matching(request), self.snapshot.matrix
        matching = [proof for proof in fitting if not self._other_pins(proof, request)]
        if fitting and not matching:
            return self._with_other_pins(fitting, request)
        if not matching:
            ways = obstructions(self.snapshot, request, self._by_id)
            if not self.proofs:
                return Unproven(request=request, in_the_way=ways, nearest=None, changes=())
            asked = wanted_coordinates(request, self.ranks.positions, self.snapshot.catalogue)
            nearest, _ = min(
                self._by_version.candidates(request),
                key=lambda pair: self.ranks.distance(pair[0], pair[1], request, asked),
            )
            changes = tuple(self._changes(nearest, request))
            return Unproven(
                request=request, in_the_way=ways, nearest=self.card(nearest), changes=changes
            )
        contenders = self._sorted(self.ranks.contenders(matching, request), request)
        best, *others = self.ranks.undominated(contenders, request)
        return Recommended(
            request=request,
            best=self.card(best),
            because=because(best, request, matrix),
            alternatives=tuple(
                Alternative(
                    card=self.card(alternative), trade_off=trade_off(matrix, best, alternative)
                )
                for alternative in alternatives(matrix, best, others)
            ),
        )

    def locked_names(self) -> frozenset[str]:
        """Return the packages of all locks, which takes reading each."""
        return frozenset(pin.name for lock in self._locks.values() for pin in lock.pins)

    def _other_pins(self, proof: TestedCombination, request: Request) -> dict[str, Version]:
        if not request.packages:
            return {}
        pins, asked = asked_pins(self._locks[proof.id], request), dict(request.packages)
        return {
            name: version
            for name, version in pins.items()
            if not asked[name].contains(version, prereleases=True)
        }

    def _with_other_pins(self, fitting: list[TestedCombination], request: Request) -> Unproven:
        """The answer where everything fits but packages that are on no axis."""
        others = {proof.id: self._other_pins(proof, request) for proof in fitting}
        nearest = min(
            fitting, key=lambda each: (len(others[each.id]), self.ranks.order(each, request))
        )
        ways: list[str] = []
        for name, _ in request.packages:
            if have := sorted(pins[name] for pins in others.values() if name in pins):
                span = f"{have[0]} to {have[-1]}" if have[0] < have[-1] else f"{have[0]}"
                counted = f"{len(have):,} of {len(fitting):,}"
                ways.append(f"{counted} that fit otherwise have {name} {span}")
        changes = [
            f"use {name} {version} instead of {dict(request.packages)[name]}"
            for name, version in others[nearest.id].items()
        ]
        return Unproven(
            request=request,
            in_the_way=tuple(ways),
            nearest=self.card(nearest),
            changes=(*self._changes(nearest, request), *changes),
        )

    def fitting(self, request: Request) -> list[TestedCombination]:
        return self._sorted(self._by_version.matching(request), request)

    def first(self, request: Request) -> TestedCombination | None:
        matching = self._by_version.matching(request)
        return min(matching, key=lambda proof: self.ranks.order(proof, request), default=None)

    def _sorted(self, proofs: list[TestedCombination], request: Request) -> list[TestedCombination]:
        return sorted(proofs, key=lambda proof: self.ranks.order(proof, request))

    def card(self, proof: TestedCombination) -> Card:
        return Card(
            proof=proof,
            lock=self._locks[proof.id],
            published=as_published(self.snapshot, proof.cell),
            cautions=self.snapshot.cautions(self.snapshot.by_id[proof.id]),
        )

    def _changes(self, proof: TestedCombination, request: Request) -> Iterator[str]:
        if not is_goal_met(proof, request):
            yield "with changed dependency pins"
        for want in proof.unmet(request):
            version = proof.version(want.axis.name)
            yield f"use {label(want.axis)} {version} ({self.refusal(want)})"
        for need in proof.lacking(request):
            yield f"without {need}"

    def refusal(self, want: Want) -> str:
        """Return why what is wanted of one axis is not offered: `3.12 is not supported`."""
        text = str(want.specifier)
        exact = text.removeprefix("==") if text.count(",") == 0 else text
        alone = Request(wants=(want,))
        if self._by_version.meeting(want):
            return f"{exact} works only in other combinations"
        asked = wanted_coordinates(alone, self.ranks.positions, self.snapshot.catalogue)
        axis = want.axis.name
        if not asked[axis]:
            return f"{exact} is not in this matrix"
        entries = list(self.snapshot.having({axis: asked[axis]}))
        if any(entry.is_tested for entry in entries):
            return f"no tested combination with {exact} works"
        if any(entry.kind == "unknown" for entry in entries):
            return f"no combination with {exact} was tested"
        return f"{exact} is not supported"


def because(best: TestedCombination, request: Request, matrix: Matrix) -> str:
    subject = f"{matrix.subject_axis.package} {best.version(matrix.subject)}"
    most = {
        "best": (
            "installs as published"
            if best.is_published
            else f"has the fewest failures ({best.doubts}), then changed pins ({best.changed})"
        ),
        "newest": "is the newest",
        "stable": f"was run on the most days ({best.days})",
        "closest": f"has the fewest changed pins ({best.changed})",
        "published": "installs as published",
        "minimum": "is the oldest",
    }[request.goal]
    if request.goal == "closest":
        of = "Of all that fit"
    elif request.needs:
        none = "No tested combination is published for these versions. Of the others"
        of = none if best.outside else "Of the combinations that are published for these versions"
    else:
        none = "No release that is published for these versions mostly works"
        of = (
            "Of the releases that are published for these versions and mostly work",
            f"{none}. Of those in which everything works",
            f"{none}, and no other works in full. Of all that fit",
        )[best.tier]
    return f"{of}, {subject} {most}."
