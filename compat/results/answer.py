"""The answer about a cell and its evidence: the one derived value behind all documents."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal, get_args

import msgspec
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import NOTHING, Rule
from compat.declare.parsing import minor_series
from compat.errors import listed
from compat.lock.lockfile import Lock, locked_version
from compat.plan.cell import RECIPES, Cell, Recipe
from compat.plan.feasible import Feasibility, Obstacle
from compat.plan.platform import named
from compat.results.record import Capability, Status, involved_in_failure
from compat.results.runs import Counted, History, Ran
from compat.run.evidence import Isolation
from compat.run.outcome import Failed, Outcome, begins_with, is_before_import, is_of_machine
from compat.value import StrictValue, Value, derive

if TYPE_CHECKING:
    from compat.results.snapshot import Snapshot


# The published requirements that the lock of a relaxed cell violates, and why.


class Lifted(Value, frozen=True):
    """Packages whose published requirement is violated, the replacement, and why.

    `rule` is empty where no rule requires it and the resolver found no other way. `published` is
    empty where another package than the subject requires it; `instead` where the package is left
    out. `sentence` says it without the reason: `one and two 0.4.20 instead of 0.4.14`.
    """

    packages: tuple[str, ...]
    published: str
    instead: str
    rule: str
    because: str
    sentence: str = ""

    def __post_init__(self) -> None:
        words = f"{self.instead} instead of {self.published}"
        if not self.published:
            words = f"{self.instead}, whatever other packages ask of it"
        names = listed(self.packages, len(self.packages))
        derive(self, sentence=f"{names} {words if self.instead else 'left out'}")


def lifted(facts: Feasibility, cell: Cell, lock: Lock) -> tuple[Lifted, ...]:
    singles = sorted(
        [*_python(facts, cell, lock), *_packages(facts, cell, lock)],
        key=lambda one: (one.packages[0] != "Python", one.rule, one.instead, one.packages),
    )
    groups = groupby(singles, key=lambda one: replace(one, packages=()))
    return tuple(
        replace(kind, packages=tuple(n for s in alike for n in s.packages))
        for kind, alike in groups
    )


def _python(facts: Feasibility, cell: Cell, lock: Lock) -> Iterator[Lifted]:
    injected = lock.inputs.injected_pin
    published = None if injected is None else facts.published(injected.version)
    asked = None if published is None else published.requires_python
    if lock.inputs.install_as_python is None or asked is None:
        return
    for rule in facts.rules.relaxing(cell):
        if any(relaxation.ignore_requires_python for relaxation in rule.relaxations):
            series = minor_series(lock.inputs.python)
            yield Lifted(("Python",), _shown([asked]), series, rule.name, rule.because)
            return


def _packages(facts: Feasibility, cell: Cell, lock: Lock) -> Iterator[Lifted]:
    pins = lock.versions
    if lock.inputs.injected_pin is None:
        return
    python = cell.on(facts.matrix.interpreters.name).version
    asked = facts.requirements(lock.inputs.injected_pin.version, python)
    reasons: dict[str, Rule] = {
        canonicalize_name(relaxation.package): rule
        for rule in facts.rules.relaxing(cell)
        for relaxation in rule.relaxations
        if not relaxation.ignore_requires_python
    }
    relaxations = facts.relaxations(cell)
    # A rule that replaced a package throughout the tree may have been removed since.
    replaced: dict[str, SpecifierSet] = {
        canonicalize_name(Requirement(text).name): Requirement(text).specifier
        for text in lock.inputs.overrides
    }
    for package in sorted({*relaxations, *replaced}):
        requirements, locked = named(asked, package), pins.get(package)
        rule = reasons.get(package)
        name, because = (rule.name, rule.because) if rule else ("", _GIVEN_UP)
        published = _shown(requirement.specifier for requirement in requirements)
        if package in relaxations and relaxations[package].to == NOTHING:
            if requirements and locked is None:
                yield Lifted((package,), published, "", name, because)
        elif locked is not None and any(
            not requirement.specifier.contains(locked, prereleases=True)
            for requirement in requirements
        ):
            yield Lifted((package,), published, str(locked), name, because)
        elif locked is not None and not requirements and replaced.get(package):
            yield Lifted((package,), "", str(locked), name, because)


_GIVEN_UP = "the resolver finds no packages with the published requirement"


def _shown(specifiers: Iterable[SpecifierSet]) -> str:
    texts = sorted({str(clause) for specifier in specifiers for clause in specifier})
    if len(texts) == 1 and texts[0].startswith("==") and not texts[0].endswith("*"):
        return texts[0].removeprefix("==")
    return ",".join(texts)


Kind = Literal["works", "partial", "broken", "flaky", "infeasible", "unknown"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# The evidence of an answer: a run of the whole suite, or of its core alone; a resolution failure,
# or an inference from other cells; the plan; nothing.
EvidenceKind = Literal["tested", "smoke", "asked", "inferred", "declared", "none"]
# Who is at fault for a failing capability. `unexplained` counts for the combination until another
# cell or a declaration shows more.
Blame = Literal["combination", "unexplained", "release", "index"]
# These do not count against the verdict of a combination.
EXCUSED: tuple[Blame, ...] = ("release", "index")


class CapabilityFault(StrictValue, frozen=True, kw_only=True):
    """A failing capability, and who is at fault where its failure begins with this `outcome`."""

    id: str
    fault: Blame
    outcome: str = ""


def blame_of(capability: Capability, faults: Iterable[CapabilityFault]) -> Blame:
    """A failure that the machine may have caused is no known fault of a release."""
    failed = capability.failed
    about = (f for f in faults if f.id == capability.id)
    matching = (f.fault for f in about if not f.outcome or begins_with(failed, f.outcome))
    blame: Blame = next(matching, "unexplained")
    is_excuse = blame in EXCUSED and failed is not None and is_of_machine(failed)
    return "unexplained" if is_excuse else blame


class Score(StrictValue, frozen=True, kw_only=True):
    """How many capabilities of a cell pass, and the failing ones by who is at fault.

    `combination` includes unexplained failures, `gone` counts those that need packages no longer on
    the index, and `absent` what the release does not offer. `finished` is false where the tests did
    not run to their end, or none was reached. `words` prints it; empty where none was tried.
    """

    passing: int = 0
    combination: int = 0
    release: int = 0
    gone: int = 0
    absent: int = 0
    finished: bool = False
    words: str = ""

    def __post_init__(self) -> None:
        parts = (
            (self.combination, "fails", "fail", "in this combination"),
            (self.release, "fails", "fail", "in every combination of this release"),
            (self.gone, "is", "are", "not available today"),
        )
        counted = (f"{n} {verb if n == 1 else verbs} {end}" for n, verb, verbs, end in parts if n)
        stopped = () if self.finished else ("the tests did not run to their end",)
        derive(self, words="; ".join((self.head, *counted, *stopped)) if self.asked else "")

    @classmethod
    def of(
        cls,
        capabilities: Iterable[Capability],
        faults: Iterable[CapabilityFault],
        *,
        finished: bool,
    ) -> Score:
        statuses = [capability.status for capability in capabilities]
        blames = [fault.fault for fault in faults]
        release, gone = blames.count("release"), blames.count("index")
        return cls(
            passing=statuses.count("yes"),
            combination=statuses.count("no") - release - gone,
            release=release,
            gone=gone,
            absent=statuses.count("absent"),
            finished=finished and bool(statuses),
        )

    @property
    def asked(self) -> int:
        return self.passing + self.combination + self.release + self.gone

    @property
    def head(self) -> str:
        if not self.asked:
            return ""
        if self.passing == self.asked:
            return "the 1 asked works" if self.asked == 1 else f"all {self.asked} work"
        return f"{self.passing} of {self.asked} {'works' if self.passing == 1 else 'work'}"


class KnownFailure(StrictValue, frozen=True, kw_only=True):
    """Why a cell without a run cannot be installed or imported, and the evidence.

    `ground` is `asked` after a resolution failure of this cell. It is `clause` after one of
    another, the `witness`, by `facts` that hold in this cell, too. It is `file` where the witness
    failed in a file that this cell has, too: its path is the only one of `facts`.
    """

    outcome: Failed
    because: str
    on: datetime.date
    ground: Literal["asked", "clause", "file"]
    witness: str
    facts: tuple[str, ...] = ()

    @property
    def involved(self) -> tuple[str, ...]:
        """The packages that the resolver names; none where a file of the subject fails."""
        if self.ground == "file":
            return ()
        return involved_in_failure(self.outcome.subject, self.because)

    @property
    def sentence(self) -> str:
        if self.ground == "asked":
            return f"a resolver refused it on {self.on}: {self.because}"
        if self.ground == "file":
            return (
                f"inferred: its wheel holds the same {self.facts[0]} that fails in {self.witness}"
                f" at import, on this Python or a newer one, run on {self.on}: {self.outcome}"
            )
        together = "" if len(self.facts) == 1 else " together"
        return (
            f"inferred: it asks for {' and '.join(self.facts)}, for which{together} a resolver"
            f" refused {self.witness} on {self.on}: {self.because}"
        )


Reason = Literal[
    "never-run",
    "lock-changed",
    "suite-changed",
    "flaky",
    "spurious-last",
    "stale",
    "smoke-only",
    "asked",
]


class Answer(StrictValue, frozen=True, kw_only=True):
    """A cell, what is known of it, and the evidence.

    `expected` is the inference from tested neighbours about an `unknown` cell. `since` is the day
    since when the kind holds without interruption, `latest` that of the newest counting run.
    `outcome` is that of the newest counting run; of a flaky cell, the newest failure. `faults` says
    who is at fault for each failing capability; `changing` lists the flaky ones. `blocked_by` is
    the package, neither subject nor on an axis, that blocks a result. `reasons` are sentences.
    `helpers` are the results of the tests of the suite's own files: no part of the kind.

    `obstacle` is why the plan rules it out, `refusal` the resolution failure. `lock_digest` is None
    without a current lock. `planned` is false for a cell with records that the plan no longer has.

    `history` has the runs; these fields summarise them: `first` is the start of the oldest,
    `newest` the day of the newest. `due` is why the cell is worth a run, `outdated` why the
    counting runs are outdated. `asks_as_today` is whether the newest of these had today's suite.
    `tested` counts those on the current lock, of the whole suite where there are any, on how many
    `days`. `isolation` and `is_of_today` are of the newest of them.

    `locked` has the version of each axis in the lock, empty without one. `lifted` are the published
    requirements that a relaxed lock violates, None without such a lock. `outside` is how many of
    its versions of the axes, Python among them, the release itself excludes. `untried` lists what
    is in today's suite and not in the runs.
    """

    cell: Cell
    kind: Kind = "unknown"
    evidence: EvidenceKind = "none"
    outcome: Outcome | None = None
    since: datetime.date | None = None
    latest: datetime.date | None = None
    stale: bool = False
    capabilities: tuple[Capability, ...] = ()
    faults: tuple[CapabilityFault, ...] = ()
    changing: tuple[str, ...] = ()
    blocked_by: str = ""
    score: Score = Score()
    helpers: tuple[Capability, ...] = ()
    reasons: tuple[str, ...] = ()
    expected: Kind | None = None
    obstacle: Obstacle | None = None
    refusal: KnownFailure | None = None
    lock_digest: str | None = None
    planned: bool = True
    history: History = History()
    first: datetime.datetime | None = None
    newest: datetime.date | None = None
    due: Reason | None = None
    outdated: tuple[str, ...] = ()
    asks_as_today: bool = False
    tested: int = 0
    days: int = 0
    isolation: Isolation = "L0"
    is_of_today: bool = False
    locked: tuple[str, ...] = ()
    lifted: tuple[Lifted, ...] | None = None
    outside: int = 0
    untried: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.cell.id

    @property
    def likely(self) -> Kind:
        return self.expected or self.kind

    def failing(self, *faults: Blame) -> tuple[str, ...]:
        return tuple(sorted(fault.id for fault in self.faults if fault.fault in faults))

    @property
    def failing_here(self) -> tuple[str, ...]:
        return self.failing("combination", "unexplained")

    @property
    def statuses(self) -> dict[str, Status]:
        return {capability.id: capability.status for capability in self.capabilities}

    @property
    def fails(self) -> tuple[str, ...]:
        return tuple(sorted(c.id for c in self.capabilities if c.status == "no"))

    @property
    def is_unchanged(self) -> bool:
        """Whether the lock of a relaxed cell satisfies every published requirement."""
        return self.planned and self.lifted == ()

    @property
    def recipe(self) -> Recipe:
        """How its packages were chosen: a relaxed cell in which nothing gave way is a dated one."""
        return "dated" if self.is_unchanged else self.cell.recipe

    @property
    def runs(self) -> Sequence[Ran]:
        return self.history.runs

    @property
    def counted(self) -> tuple[Counted, ...]:
        return self.history.counted

    @property
    def is_known(self) -> bool:
        return bool(self.runs) or self.lock_digest is not None

    @property
    def is_tested(self) -> bool:
        return self.evidence in ("tested", "smoke")

    @property
    def is_proof(self) -> bool:
        return self.tested > 0 and self.kind in ("works", "partial")

    def pinned(self, axis: str) -> Version | None:
        pins = zip(self.cell.coordinates, self.locked, strict=False)
        text = next((text for coordinate, text in pins if coordinate.axis == axis), "")
        return locked_version(text) if text else None

    def version(self, axis: str) -> Version:
        """Return the locked version on an axis; of an interpreter, the series."""
        return self.pinned(axis) or self.cell.on(axis).version

    @property
    def doubts(self) -> int:
        """Failing or unknown capabilities of the combination; unfinished tests count as one."""
        stopped = self.kind == "partial" and not self.score.finished
        return self.score.combination + len(self.untried) + int(stopped)

    @property
    def tier(self) -> int:
        """The rank of a recommendation.

        0 where the release is published for these versions and mostly works, 1 where everything in
        today's suite about the combination works.
        """
        asked = self.score.asked + len(self.untried)
        if not self.outside and mostly_works(self.doubts, asked):
            return 0
        return min(self.doubts, 1) + 1

    @property
    def changed(self) -> int:
        return sum(len(requirement.packages) for requirement in self.lifted or ())


def mostly_works(failing: int, asked: int) -> bool:
    """Whether at most one in ten tested capabilities fails: then other criteria rank higher. The
    limit is a choice.
    """
    return 10 * failing <= asked


# Names that are more exact than the verdict. A plain install of today is not known to work beside
# packages of the release's time; nothing could be installed; an untested package blocks the answer;
# the release's own metadata admits untested versions; tested neighbours on both sides agree.
_WORDS = {
    "works": "works",
    "dated": "works with packages of its time",
    "decayed": "works only with packages of its time",
    "relaxed": "works with changed dependency pins",
    "partial": "partly works",
    "flaky": "flaky",
    "broken": "broken",
    "refused": "does not install",
    "blocked": "no answer yet",
    "expected": "expected to work (inferred)",
    "expected-partial": "expected to work in part (inferred)",
    "expected-broken": "expected to fail (inferred)",
    "declared": "declared",
    "unknown": "not tested",
    "infeasible": "ruled out",
}
# Short forms of texts that are too long for a badge.
_BRIEF = {
    "dated": "works as of its time",
    "expected": "expected to work",
    "expected-partial": "expected to work in part",
    "expected-broken": "expected to fail",
    "decayed": "works, old packages",
    "relaxed": "works, pins changed",
}
# States that a core run alone can show; their texts say so everywhere.
SMOKE_STATES = ("works", "dated", "decayed", "relaxed", "partial", "flaky", "broken", "refused")
STATE_WORDS = _WORDS | {f"{name}-smoke": f"{_WORDS[name]} (smoke)" for name in SMOKE_STATES}
BRIEF_WORDS = _BRIEF | {
    f"{name}-smoke": f"{_BRIEF[name]} (smoke)" for name in _BRIEF if name in SMOKE_STATES
}

# Those that need a verb after the name of a cell.
_ADJECTIVES = frozenset(("expected", "flaky", "broken", "declared", "unknown", "infeasible"))


def verdict_clause(verdict: Answer) -> str:
    name = "refused" if is_refused(verdict) else verdict.kind
    words = STATE_WORDS[by_evidence(name, verdict)]
    return f"{'is ' if name in _ADJECTIVES else ''}{words}"


def by_evidence(name: str, verdict: Answer) -> str:
    is_smoke = verdict.evidence == "smoke" and name in SMOKE_STATES
    return f"{name}-smoke" if is_smoke else name


def is_refused(verdict: Answer) -> bool:
    return verdict.kind == "broken" and is_before_import(verdict.outcome)


_KIND_RANK: dict[Kind, int] = {
    "works": 0,
    "partial": 1,
    "flaky": 2,
    "broken": 3,
    "unknown": 4,
    "infeasible": 5,
}
_RUN_RANK: dict[EvidenceKind, int] = {"tested": 4, "smoke": 3, "asked": 2, "inferred": 1}
_RECIPE_RANK: dict[Recipe, int] = {"fresh": 0, "dated": 1, "relaxed": 2}


def representative(entries: Iterable[Answer]) -> Answer:
    places: dict[str, list[Answer]] = {}
    for entry in entries:
        places.setdefault(entry.cell.place, []).append(entry)
    best = []
    for own in places.values():
        flaky = (e for e in own if e.cell.recipe == "fresh" and e.kind == "flaky")
        best.append(next(flaky, None) or _preferred(own))
    return _preferred(best)


def representative_of_release(entries: Iterable[Answer]) -> Answer:
    every = tuple(entries)
    is_whole = any(
        entry.evidence == "tested" and entry.kind in ("works", "partial") for entry in every
    )
    return representative(e for e in every if not (is_whole and e.evidence == "smoke"))


def newest_versions(entry: Answer) -> tuple[Version, ...]:
    return entry.cell.versions[::-1]


def _preferred(entries: list[Answer]) -> Answer:
    best = min(_KIND_RANK[entry.kind] for entry in entries)
    candidates = [entry for entry in entries if _KIND_RANK[entry.kind] == best]

    def preference(entry: Answer) -> tuple[int, int, int, int, tuple[Version, ...]]:
        evidence, working = _RUN_RANK.get(entry.evidence, 0), entry.score.passing
        recipe, first = -_RECIPE_RANK[entry.recipe], 0 if entry.kind == "works" else working
        return evidence, first, recipe, working, newest_versions(entry)

    return candidates[0] if len(candidates) == 1 else max(candidates, key=preference)


def beside(known: Snapshot, entry: Answer) -> list[Answer]:
    cells = (msgspec.structs.replace(entry.cell, recipe=recipe) for recipe in RECIPES)
    entries = (known.by_id.get(cell.id) for cell in cells)
    return [entry for entry in entries if entry is not None]
