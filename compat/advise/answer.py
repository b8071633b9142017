"""Recommends tested combinations: those that ran on their current lock and work, wholly or in part,
in the order of the goals. Reports what an alternative gains and loses against the best, or the
nearest combination and what blocks the request.
"""

import datetime
import operator
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Literal

from packaging.version import Version

from compat.advise.request import (
    GOALS,
    Goal,
    Request,
    Want,
    exactly,
    label,
    unavailable,
    wanted_coordinates,
)
from compat.declare.matrix import Axis, Matrix
from compat.lock.lockfile import Lock
from compat.lock.recipe import pinned
from compat.plan.cell import RECIPES, Cell, Recipe, axis_coordinates
from compat.plan.feasible import Obstacle
from compat.results.answer import Answer, Lifted, verdict_clause
from compat.results.installs import plain_install
from compat.results.snapshot import Snapshot
from compat.value import Value

MOST_ALTERNATIVES = 2


def tested_capabilities(snapshot: Snapshot) -> frozenset[str]:
    every = {id(e.capabilities): e.capabilities for e in snapshot.known}
    return frozenset(c.id for capabilities in every.values() for c in capabilities)


def unmet(proof: Answer, request: Request) -> tuple[Want, ...]:
    return tuple(want for want in request.wants if not want.is_met_by(*_on(proof, want.axis.name)))


def lacking(proof: Answer, request: Request) -> tuple[str, ...]:
    passing = {c.id for c in proof.capabilities if c.status == "yes"} if request.needs else ()
    return tuple(need for need in request.needs if need not in passing)


def is_goal_met(proof: Answer, request: Request) -> bool:
    return request.goal != "published" or not proof.lifted


def _on(proof: Answer, axis: str) -> tuple[Version, Version]:
    return proof.cell.on(axis).version, proof.version(axis)


class AsPublished(Value, frozen=True):
    """What `command` does today: `works`, `fails`, or `unknown` where untested."""

    command: str
    state: Literal["works", "fails", "unknown"]
    sentence: str


def as_published(snapshot: Snapshot, cell: Cell) -> AsPublished:
    pins = (f"'{pinned(axis, cell)}'" for axis in snapshot.matrix.packages)
    fresh = cell.id.partition("+")[0]
    entry, install = snapshot.by_id.get(fresh), plain_install(snapshot, fresh)
    state: Literal["works", "fails", "unknown"] = "fails"
    if install is not None and install.ground in ("resolver", "clause"):
        if install.state == "resolves":
            state, sentence = "unknown", f"resolves on {install.on}, and was not run"
        elif install.state == "needs-build":
            sentence = f"needs a build from source, checked on {install.on}: {install.because}"
            state = "unknown"
        else:
            sentence = f"does not resolve: {install.outcome}, checked on {install.on}"
            missing = str(install.outcome).partition("no-artifact(")[2]
            for source in snapshot.matrix.sources:
                if missing.startswith(tuple(source.package + mark for mark in "=<>~!")):
                    sentence += f"; with --find-links {source.find_links} an older file may fit"
    elif entry is None or entry.kind == "unknown":
        state, sentence = "unknown", "was not tried so far"
    elif entry.kind == "works":
        state, sentence = "works", f"{verdict_clause(entry)}, tested on {entry.latest}"
    elif entry.kind == "infeasible" or entry.outcome is None:
        sentence = f"cannot work: {'; '.join(entry.reasons)}"
    elif entry.kind == "partial" and entry.score.words:
        sentence = f"{verdict_clause(entry)}: {entry.score.words}; tested on {entry.latest}"
    else:
        sentence = f"{verdict_clause(entry)}: {entry.outcome}, tested on {entry.latest}"
    return AsPublished(command=f"pip install {' '.join(pins)}", state=state, sentence=sentence)


class Ranks:
    """The order of recommended proofs, by goal; shared by the command, the pages and their data."""

    def __init__(self, snapshot: Snapshot, proofs: tuple[Answer, ...]) -> None:
        self.positions = positions(snapshot)
        self._subject = snapshot.matrix.subject
        axes = [axis.name for axis in _order(snapshot.matrix)]
        every = [
            tuple([self.positions[axis][proof.cell.on(axis).version] for axis in axes])
            for proof in proofs
        ]
        newest_first = sorted(set(every), reverse=True)
        age = {places: number for number, places in enumerate(newest_first)}
        # The criteria by which proofs are compared; less is better in each.
        self._criteria = {
            id(proof): (proof.doubts, proof.changed, -proof.days, age[places])
            for proof, places in zip(proofs, every, strict=True)
        }
        self._proofs = proofs
        self._ranks = cache(self._ranks_by)

    def of(self, proof: Answer, goal: Goal) -> int:
        return self._ranks(goal)[id(proof)]

    def _ranks_by(self, goal: Goal) -> dict[int, int]:
        ordered = sorted(self._proofs, key=partial(self._key, goal))
        return {id(proof): rank for rank, proof in enumerate(ordered)}

    def order(self, proof: Answer, request: Request) -> tuple[object, ...]:
        return self._tier(proof, request), *self._key(request.goal, proof)

    def _tier(self, proof: Answer, request: Request) -> int:
        """The rank before a goal's own order: the tier.

        Where capabilities are required, and so work, whether the release is published for the
        versions; with the goal `closest` nothing.
        """
        if request.goal == "closest":
            return 0
        return min(proof.outside, 1) if request.needs else proof.tier

    def _compared(self, proof: Answer, request: Request) -> tuple[int, ...]:
        """Tier, failures, changed pins, days of runs and newness: less is better in each."""
        *rest, age = self._criteria[id(proof)]
        return self._tier(proof, request), *rest, -age if request.goal == "minimum" else age

    def undominated(self, proofs: Iterable[Answer], request: Request) -> Iterator[Answer]:
        """Yield, the best first, those proofs that no other dominates."""
        # Only an earlier one dominates a later one.
        front: list[tuple[int, ...]] = []
        for proof in sorted(proofs, key=lambda proof: self.order(proof, request)):
            own = self._compared(proof, request)
            if not any(each != own and all(map(operator.le, each, own)) for each in front):
                front.append(own)
                yield proof

    def _key(self, goal: Goal, proof: Answer) -> tuple[object, ...]:
        """The sort key of proofs: the four criteria in the order of the goal, then the others."""
        doubts, changed, days, age = self._criteria[id(proof)]
        subject = self.positions[self._subject][proof.cell.on(self._subject).version]
        last = (proof.stale, RECIPES.index(proof.cell.recipe), proof.id)
        match goal:
            case "newest":
                return -subject, doubts, changed, days, age, *last
            case "stable":
                return days, doubts, changed, age, *last
            case "closest":
                return changed, doubts, days, age, *last
            case "minimum":
                return subject, doubts, changed, -age, days, *last
        return changed > 0, doubts, changed, age, days, *last

    def distance(
        self,
        proof: Answer,
        missed: Collection[Want],
        request: Request,
        asked: Mapping[str, Collection[Version]],
    ) -> tuple[object, ...]:
        """Return how far a proof is from a request.

        The key has: whether its pins are rejected, missing needs, `missed` wants, coordinates off,
        its order. `asked` has the wanted coordinates of each axis. For an unavailable version the
        steps to its position count.
        """
        steps: float = 0
        for want in missed:
            places = self.positions[want.axis.name]
            position = places[proof.cell.on(want.axis.name).version]
            wanted: list[float] = [places[version] for version in asked[want.axis.name]]
            # Between two coordinates: a missing version is equally far from both.
            wanted = wanted or [bisect_left([*places], v) - 0.5 for v in want.bounds]
            steps += min((abs(position - place) for place in wanted), default=len(places))
        return (
            int(not is_goal_met(proof, request)),
            len(lacking(proof, request)),
            len(missed),
            steps,
            *self.order(proof, request),
        )


def positions(snapshot: Snapshot) -> dict[str, dict[Version, int]]:
    """Number each coordinate on its axis, oldest first, including those only in records."""
    places = {(c.axis, c.version) for entry in snapshot.known for c in entry.cell.coordinates}
    for axis in snapshot.matrix.axes:
        places |= {(c.axis, c.version) for c in axis_coordinates(axis, snapshot.catalogue)}
    by_axis: dict[str, dict[Version, int]] = {axis.name: {} for axis in snapshot.matrix.axes}
    for name, version in sorted(places):
        by_axis[name][version] = len(by_axis[name])
    return by_axis


def _order(matrix: Matrix) -> tuple[Axis, ...]:
    """The axes as combinations are compared by them: the subject, its packages, the Python."""
    others = (axis for axis in matrix.packages if axis.name != matrix.subject)
    return matrix.subject_axis, *others, matrix.interpreters


def _alternatives(matrix: Matrix, best: Answer, others: Sequence[Answer]) -> list[Answer]:
    """Two alternatives that are better, each in another criterion, or the next best."""
    chosen: list[Answer] = []
    offered: set[str] = set()
    for other in others:
        if len(chosen) == MOST_ALTERNATIVES:
            return chosen
        gained = {respect for respect, _, _ in _better_in(matrix, other, best)}
        if gained - offered:
            chosen.append(other)
            offered |= gained
    rest = [other for other in others if all(other is not each for each in chosen)]
    return chosen + rest[: MOST_ALTERNATIVES - len(chosen)]


def _trade_off(matrix: Matrix, best: Answer, other: Answer) -> str:
    gained = ", ".join(gain for _, gain, _ in _better_in(matrix, other, best))
    lost = ", ".join(loss for _, _, loss in _better_in(matrix, best, other) if loss)
    sentence = f"{gained}, but {lost}" if gained and lost else gained or lost
    sentence = sentence or "the same, locked another way"
    return f"{sentence[0].upper()}{sentence[1:]}."


def _better_in(matrix: Matrix, one: Answer, other: Answer) -> Iterator[tuple[str, str, str]]:
    """Yield in what the first is better: `kind`, `range`, `recipe`, `pins`, `stale`, `days`, or the
    name of an axis; its gain by that, and the other's loss.
    """

    def pins(proof: Answer) -> str:
        return "1 changed pin" if proof.changed == 1 else f"{proof.changed} changed pins"

    if one.doubts < other.doubts:
        gain = "fewer failures" if one.doubts else "nothing fails in this combination"
        faults = other.failing_here
        doubtful = (*faults, *other.untried)
        loss = "its tests did not finish"
        if doubtful:
            verb = "fails" if len(doubtful) == 1 else "fail"
            untested = "was not tested" if len(doubtful) == 1 else "were not tested"
            more = " and more" if doubtful[3:] else ""
            loss = f"{' and '.join(doubtful[:3])}{more} {verb if faults else untested}"
        yield "kind", gain, loss
    if one.outside < other.outside:
        yield "range", "published for these versions", "not published for these versions"
    if not one.lifted and other.lifted:
        loss = "only with changed dependency pins"
        yield "recipe", "as published, with nothing lifted", loss
    elif one.changed < other.changed:
        yield "pins", f"with only {pins(one)}", f"with {pins(other)}"
    for axis in _order(matrix):
        name = axis.name
        if one.cell.on(name).version > other.cell.on(name).version:
            newer, older = (f"{label(axis)} {each.version(name)}" for each in (one, other))
            yield name, f"newer {newer}", f"older {older}"
    if other.stale and not one.stale:
        yield "stale", "with fresh evidence", "its evidence is stale"
    if one.days > other.days:
        yield "days", f"tested on {one.days} days", ""


def tested(proof: Answer) -> str:
    """Return how often and on how many days: `tested once`, `tested twice on 1 day`."""
    if proof.tested == 1:
        return "tested once"
    times = "twice" if proof.tested == 2 else f"{proof.tested} times"
    return f"tested {times} on {proof.days} {'day' if proof.days == 1 else 'days'}"


def obstructions(snapshot: Snapshot, request: Request) -> Iterator[str]:
    """Yield what blocks a request: runs, then metadata and rules, then untested cells."""
    known, subject = positions(snapshot), snapshot.matrix.subject
    asked = wanted_coordinates(request, known, snapshot.catalogue)
    matching = list(snapshot.having(asked))
    if not matching:
        nowhere = (want for want in request.wants if not asked[want.axis.name])
        yield from (unavailable(want, snapshot.catalogue) for want in nowhere)
        return
    order = [(axis.name, known[axis.name]) for axis in _order(snapshot.matrix)]
    matching.sort(key=lambda e: [-numbers[e.cell.on(name).version] for name, numbers in order])
    tried = [entry for entry in matching if entry.is_tested]
    if tried:
        others = len(tried) - 1
        more = "; 1 other tested cell does not fit" if others == 1 else ""
        more = f"; {others:,} other tested cells do not fit" if others > 1 else more
        yield f"{tried[0].id} {_failure(snapshot, tried[0], request)}{more}"
    published = [entry for entry in matching if entry.cell.recipe != "relaxed"]
    ruled_out = [(entry, entry.obstacle) for entry in published if entry.obstacle is not None]
    if ruled_out and len(ruled_out) == len(published):
        # The obstacle about the request, if there is one.
        spoken = {subject, *(want.axis.name for want in request.wants)}

        def beside(entry: Answer, obstacle: Obstacle) -> int:
            axes = {place.text: place.axis for place in reversed(entry.cell.coordinates)}
            return sum(axes.get(text) not in (None, *spoken) for text in obstacle.between)

        _, obstacle = min(ruled_out, key=lambda pair: beside(*pair))
        releases = len({entry.cell.on(subject).version for entry, _ in ruled_out}) - 1
        also = f"; as published none of the {releases} other releases fits" if releases else ""
        yield f"{obstacle.because}{also}"
    is_strict = request.goal == "published"
    open_to = [e for e in matching if not (is_strict and e.cell.recipe == "relaxed")]
    possible = (e for e in open_to if e.kind == "unknown" and e.obstacle is None)
    untested = [entry for entry in possible if not entry.counted]
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
        more = f"; {len(refused) - 1:,} more do not resolve" if refused[1:] else ""
        yield f"{first.id} {verdict_clause(first)}: {'; '.join(first.reasons)}{more}"


def _unpublished(matrix: Matrix, request: Request) -> Iterator[str]:
    wants = {want.axis.name: want.specifier for want in request.wants}
    for state in matrix.unpublished:
        both = [wants[axis] & s for axis, s in state.when.conditions if axis in wants]
        if both and not any(specifier.is_unsatisfiable() for specifier in both):
            yield f"{state.state} of {matrix.title} is not on the index: {state.because}"


def _failure(snapshot: Snapshot, entry: Answer, request: Request) -> str:
    if entry.kind not in ("works", "partial"):
        issue = snapshot.explained(entry)
        because = f" ({issue.because})" if issue is not None else ""
        return f"{verdict_clause(entry)}: {entry.outcome}, tested on {entry.latest}{because}"
    if entry.lock_digest is None:
        return "passed, but has no installable lock"
    if not entry.is_proof:
        return "passed on an earlier lock and has not run since"
    words = {"no": "fails", "absent": "is missing"}
    known = {c.id: words.get(c.status, "") for c in entry.capabilities}
    needs = ((need, known.get(need, "was not tested")) for need in request.needs)
    differs = (
        *(() if is_goal_met(entry, request) else ("with changed dependency pins",)),
        *(f"{need} {what}" for need, what in needs if what),
        *(
            f"with {label(want.axis)} {entry.version(want.axis.name)}, not {want.specifier}"
            for want in unmet(entry, request)
        ),
    )
    return f"{verdict_clause(entry)}, but {', '.join(differs)}"


class Card(Value, frozen=True):
    """A proven combination as it is recommended, and the result of a plain install."""

    proof: Answer
    lock: Lock
    published: AsPublished
    cautions: tuple[str, ...]

    @property
    def lifted(self) -> tuple[Lifted, ...]:
        return self.proof.lifted or ()


def requested_pins(lock: Lock, request: Request) -> dict[str, Version]:
    locked = {pin.name: pin.version for pin in lock.library_pins}
    return {name: locked[name] for name, _ in request.packages if name in locked}


class Alternative(Value, frozen=True):
    """Another proven combination, and what it gains and loses in one sentence."""

    card: Card
    trade_off: str


class Recommended(Value, frozen=True):
    """A proven answer to the request; `because` says why it is the best."""

    request: Request
    best: Card
    because: str
    alternatives: tuple[Alternative, ...]


class Unproven(Value, frozen=True):
    """Why nothing proven meets the request, the nearest proof, and the least `changes` to it."""

    request: Request
    in_the_way: tuple[str, ...]
    nearest: Card | None
    changes: tuple[str, ...]


class Advisor:
    """Answers requests about a snapshot. Of `locks`, by cell, only those of proofs are read."""

    def __init__(self, snapshot: Snapshot, locks: Mapping[str, Lock]) -> None:
        self.snapshot = snapshot
        self._locks = locks
        self.proofs = tuple(entry for entry in snapshot.known if entry.is_proof)
        # Each pair of coordinate and locked version is compared with a want once.
        self._meeting = cache(self._that_meet)

    @cached_property
    def ranks(self) -> Ranks:
        return Ranks(self.snapshot, self.proofs)

    def matching(self, request: Request) -> list[Answer]:
        return [
            proof
            for proof, missed in self.candidates(request)
            if not missed and is_goal_met(proof, request) and not lacking(proof, request)
        ]

    def candidates(self, request: Request) -> Iterator[tuple[Answer, tuple[Want, ...]]]:
        by_want = [(want, want.axis.name, self._meeting(want)) for want in request.wants]
        for proof in self.proofs:
            yield proof, tuple(w for w, axis, met in by_want if _on(proof, axis) not in met)

    def _that_meet(self, want: Want) -> frozenset[tuple[Version, Version]]:
        pairs = {_on(proof, want.axis.name) for proof in self.proofs}
        return frozenset(pair for pair in pairs if want.is_met_by(*pair))

    def answer(self, request: Request) -> Recommended | Unproven:
        """Return the best proof, and alternatives that none dominates, or what blocks one."""
        fitting, matrix = self.matching(request), self.snapshot.matrix
        matching = [proof for proof in fitting if not self._other_pins(proof, request)]
        if fitting and not matching:
            return self._with_other_pins(fitting, request)
        if not matching:
            ways = (*obstructions(self.snapshot, request), *_unpublished(matrix, request))
            asked = wanted_coordinates(request, self.ranks.positions, self.snapshot.catalogue)
            nearest, _ = min(
                self.candidates(request),
                key=lambda pair: self.ranks.distance(pair[0], pair[1], request, asked),
                default=(None, ()),
            )
            return Unproven(
                request=request,
                in_the_way=ways,
                nearest=None if nearest is None else self.card(nearest),
                changes=() if nearest is None else tuple(self._changes(nearest, request)),
            )
        best, *others = self.ranks.undominated(matching, request)
        return Recommended(
            request=request,
            best=self.card(best),
            because=because(best, request, matrix),
            alternatives=tuple(
                Alternative(card=self.card(other), trade_off=_trade_off(matrix, best, other))
                for other in _alternatives(matrix, best, others)
            ),
        )

    def locked_names(self) -> frozenset[str]:
        """Return the packages of all locks; this reads each lock."""
        return frozenset(pin.name for lock in self._locks.values() for pin in lock.pins)

    def _other_pins(self, proof: Answer, request: Request) -> dict[str, Version | None]:
        """Return the pins that differ from the request; None for a package that is not there."""
        pins = requested_pins(self._locks[proof.id], request) if request.packages else {}
        return {
            name: pins.get(name)
            for name, specifier in request.packages
            if name not in pins or not specifier.contains(pins[name], prereleases=True)
        }

    def _with_other_pins(self, fitting: list[Answer], request: Request) -> Unproven:
        others = {proof.id: self._other_pins(proof, request) for proof in fitting}
        nearest = min(
            fitting, key=lambda each: (len(others[each.id]), self.ranks.order(each, request))
        )
        ways: list[str] = []
        for name, _ in request.packages:
            differing = [pins[name] for pins in others.values() if name in pins]
            have = sorted(version for version in differing if version is not None)
            where = f"of {len(fitting):,} that fit otherwise"
            if have:
                span = f"{have[0]} to {have[-1]}" if have[0] < have[-1] else f"{have[0]}"
                ways.append(f"{len(have):,} {where} have {name} {span}")
            if none := differing.count(None):
                ways.append(f"{none:,} {where} have no {name}")
        changes = [
            f"use {name} {version} instead of {dict(request.packages)[name]}"
            if version
            else f"it has no {name}"
            for name, version in others[nearest.id].items()
        ]
        return Unproven(
            request=request,
            in_the_way=tuple(ways),
            nearest=self.card(nearest),
            changes=(*self._changes(nearest, request), *changes),
        )

    def fitting(self, request: Request) -> list[Answer]:
        return sorted(self.matching(request), key=lambda proof: self.ranks.order(proof, request))

    def first(self, request: Request) -> Answer | None:
        return next(iter(self.fitting(request)), None)

    def card(self, proof: Answer) -> Card:
        return Card(
            proof=proof,
            lock=self._locks[proof.id],
            published=as_published(self.snapshot, proof.cell),
            cautions=self.snapshot.cautions(proof),
        )

    def _changes(self, proof: Answer, request: Request) -> Iterator[str]:
        if not is_goal_met(proof, request):
            yield "with changed dependency pins"
        for want in unmet(proof, request):
            version = proof.version(want.axis.name)
            yield f"use {label(want.axis)} {version} ({self.refusal(want)})"
        for need in lacking(proof, request):
            yield f"without {need}"

    def refusal(self, want: Want) -> str:
        """Return why something else is offered: `3.12 is not supported`."""
        text = str(want.specifier)
        exact = text.removeprefix("==") if text.count(",") == 0 else text
        if self._meeting(want):
            return f"{exact} works only in other combinations"
        alone, axis = Request(wants=(want,)), want.axis.name
        asked = wanted_coordinates(alone, self.ranks.positions, self.snapshot.catalogue)
        if not asked[axis]:
            return f"{exact} is not in this matrix"
        entries = list(self.snapshot.having({axis: asked[axis]}))
        if any(entry.is_tested for entry in entries):
            return f"no tested combination with {exact} works"
        if any(entry.kind == "unknown" for entry in entries):
            return f"no combination with {exact} was tested"
        return f"{exact} is not supported"


def because(best: Answer, request: Request, matrix: Matrix) -> str:
    subject = f"{matrix.subject_axis.package} {best.version(matrix.subject)}"
    fewest = f"has the fewest failures ({best.doubts}), then changed pins ({best.changed})"
    then = ", with packages of its time" if best.cell.recipe == "dated" else ""
    most = {
        "best": fewest if best.lifted else f"installs as published{then}",
        "newest": "is the newest",
        "stable": f"was run on the most days ({best.days})",
        "closest": f"has the fewest changed pins ({best.changed})",
        "published": f"installs as published{then}",
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


# The table with which a page answers requests by itself, like the command.
#
# Algorithm for a request of coordinates and capabilities: keep the rows whose `at` matches and
# whose `lacks` names no required capability; for the goal `published` only those whose `changed` is
# 0. Take the first by (`tier`, where a capability was required 1 if `outside` is not 0, and 0 if
# the goal is `closest`; `rank` of the goal). If no row is left, the nearest is the first by (1
# where `published` does not admit it; missing capabilities; mismatched axes; coordinates off, all
# axes together; that order).


class AdviceAxis(Value, frozen=True):
    """An axis: its name and short name in ids, its usual name, its package (null: it is the
    interpreter), and its coordinates, oldest first.
    """

    name: str
    short: str
    label: str
    coordinates: tuple[str, ...]
    package: str | None


class AdviceRow(Value, frozen=True):
    """A proven combination.

    Numbers index the table's lists: `at` the coordinates of each axis, `fails`, `faults` and
    `lacks` the `capabilities` (`lacks` has those that no run has shown), the others the
    `sentences`.

    `words` is the verdict in the words of pages; `score` is how much works; `failing` is what
    fails, with its cause. `faults` are those of `fails` that fail by the combination. `changed` is
    the number of packages with changed requirements, and `outside` the number of these that are
    axes whose version the release's own requirements exclude. `tested` counts the counting runs,
    `days` their days. `stale` says why its evidence is old, `lifted` which requirements it
    violates, `published` what a plain install does; `uv` and `pip` are the lines that install it.
    `rank` is its position among all by each goal, 0 for the best.
    """

    id: str
    at: tuple[int, ...]
    recipe: Recipe
    verdict: str
    words: int
    score: int
    failing: tuple[int, ...]
    tier: int
    outside: int
    changed: int
    versions: tuple[str, ...]
    fails: tuple[int, ...]
    faults: tuple[int, ...]
    lacks: tuple[int, ...]
    tested: int
    days: int
    last: datetime.date
    isolation: str
    stale: tuple[int, ...]
    lifted: tuple[int, ...]
    published: int
    uv: tuple[int, ...]
    pip: tuple[int, ...]
    rank: dict[Goal, int]


class AdviceTable(Value, frozen=True):
    """The proven combinations of a matrix, the best first, with the lists that they index.

    `refusals` gives, for each coordinate of each axis, the reason why another one is recommended.
    """

    matrix: str
    subject: str
    day: datetime.date
    goals: tuple[Goal, ...]
    axes: tuple[AdviceAxis, ...]
    refusals: tuple[tuple[int, ...], ...]
    capabilities: tuple[str, ...]
    sentences: tuple[str, ...]
    rows: tuple[AdviceRow, ...]


# What pages print of a proven combination: its verdict, and each failing capability.
ProofWords = tuple[str, tuple[str, ...]]
# The lines that install something, with uv and with pip.
ShellLines = tuple[tuple[str, ...], tuple[str, ...]]


def advise_rows(
    advisor: Advisor,
    lines: Callable[[Answer], ShellLines],
    words: Callable[[Answer], ProofWords],
) -> AdviceTable:
    snapshot, positions = advisor.snapshot, advisor.ranks.positions
    sentences: dict[str, int] = {}  # each once, by number

    def number(text: str) -> int:
        return sentences.setdefault(text, len(sentences))

    distinct = {id(proof.capabilities): proof.capabilities for proof in advisor.proofs}.values()
    asked = {c.id for every in distinct for c in every if c.status in ("yes", "no")}
    capabilities = sorted(asked)
    rows = _rows(advisor, capabilities, number, lines, words)
    return AdviceTable(
        matrix=snapshot.matrix.name,
        subject=snapshot.matrix.subject,
        day=snapshot.day,
        goals=GOALS,
        axes=axes_of(snapshot.matrix, positions),
        refusals=tuple(
            tuple(number(advisor.refusal(exactly(axis, v))) for v in positions[axis.name])
            for axis in snapshot.matrix.axes
        ),
        capabilities=tuple(capabilities),
        rows=tuple(rows),
        sentences=tuple(sentences),
    )


def axes_of(matrix: Matrix, versions: Mapping[str, Iterable[Version]]) -> tuple[AdviceAxis, ...]:
    return tuple(
        AdviceAxis(
            name=axis.name,
            short=axis.short,
            label=label(axis),
            coordinates=tuple(map(str, versions[axis.name])),
            package=axis.package,
        )
        for axis in matrix.axes
    )


def _rows(
    advisor: Advisor,
    capabilities: list[str],
    number: Callable[[str], int],
    lines: Callable[[Answer], ShellLines],
    words: Callable[[Answer], ProofWords],
) -> Iterator[AdviceRow]:
    snapshot, ranks = advisor.snapshot, advisor.ranks
    numbers = {name: place for place, name in enumerate(capabilities)}
    # Most proofs have the same capabilities, and then they are one object.
    lacks: dict[int, tuple[int, ...]] = {}
    for proof in sorted(advisor.proofs, key=lambda proof: ranks.of(proof, "best")):
        assert proof.latest is not None, "what is proven ran"
        same, (verdict, failing) = id(proof.capabilities), words(proof)
        if same not in lacks:
            passing = {c.id for c in proof.capabilities if c.status == "yes"}
            lacks[same] = tuple(n for name, n in numbers.items() if name not in passing)
        uv, pip = (tuple(map(number, steps)) for steps in lines(proof))
        yield AdviceRow(
            id=proof.id,
            at=tuple(ranks.positions[c.axis][c.version] for c in proof.cell.coordinates),
            recipe=proof.cell.recipe,
            verdict=proof.kind,
            words=number(verdict),
            score=number(proof.score.words),
            failing=tuple(map(number, failing)),
            tier=proof.tier,
            outside=proof.outside,
            changed=proof.changed,
            versions=tuple(str(proof.version(c.axis)) for c in proof.cell.coordinates),
            fails=tuple(numbers[name] for name in proof.fails),
            faults=tuple(numbers[name] for name in proof.failing_here),
            lacks=lacks[same],
            tested=proof.tested,
            days=proof.days,
            last=proof.latest,
            isolation=proof.isolation,
            stale=tuple(map(number, proof.outdated)),
            lifted=tuple(number(lifted.sentence) for lifted in proof.lifted or ()),
            published=number(as_published(snapshot, proof.cell).sentence),
            uv=uv,
            pip=pip,
            rank={goal: ranks.of(proof, goal) for goal in GOALS},
        )
