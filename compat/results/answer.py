"""What is known of a cell, and from what: the one derived truth, of which all is made that is
shown.
"""

import datetime
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from compat.plan.cell import Cell, Recipe
from compat.plan.feasible import Obstacle
from compat.results.involved import involved_in_refusal
from compat.results.record import Capability
from compat.results.runs import Counted, History, Ran
from compat.run.evidence import Isolation
from compat.run.outcome import Failed, Outcome, begins_with, is_of_machine
from compat.value import StrictValue, Value, derive

Kind = Literal["works", "partial", "broken", "flaky", "infeasible", "unknown"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# What an answer rests on: a run of the whole suite, or of its core alone; a resolver's refusal, or
# what follows from what is known of others; the plan; nothing.
EvidenceKind = Literal["tested", "smoke", "asked", "inferred", "declared", "none"]
# Whose fault a failing capability is. `unexplained` counts as one of the combination until another
# cell or a declaration shows more.
Blame = Literal["combination", "unexplained", "release", "index"]
# These take nothing from the verdict of a combination.
EXCUSED: tuple[Blame, ...] = ("release", "index")


class CapabilityFault(StrictValue, frozen=True, kw_only=True):
    """A capability that fails in a cell, and whose fault that is where its failure begins with this
    `outcome`.
    """

    id: str
    fault: Blame
    outcome: str = ""


def blame_of(capability: Capability, faults: Iterable[CapabilityFault]) -> Blame:
    """Return whose fault a failing capability is: the first that is about it and how it fails.

    What a machine can be at fault for is no known fault of a release.
    """
    failed = capability.failed
    about = (f for f in faults if f.id == capability.id)
    matching = (f.fault for f in about if not f.outcome or begins_with(failed, f.outcome))
    blame: Blame = next(matching, "unexplained")
    is_excuse = blame in EXCUSED and failed is not None and is_of_machine(failed)
    return "unexplained" if is_excuse else blame


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb


class Score(StrictValue, frozen=True, kw_only=True):
    """How many capabilities of a cell pass, and of how many that fail whose fault it is.

    `combination` counts what fails by the combination, with what nobody has explained yet;
    `release` what fails in every combination of the release; `gone` what needs packages that the
    index no longer has; `absent` what the release does not offer. `finished` is false where the
    tests did not run to their end, or nothing reached them.

    `words` says it: `123 of 125 work; 2 fail in every combination of this release`; empty where no
    capability was tried.
    """

    passing: int = 0
    combination: int = 0
    release: int = 0
    gone: int = 0
    absent: int = 0
    finished: bool = False
    words: str = ""

    def __post_init__(self) -> None:
        derive(self, words=self._words())

    @classmethod
    def of(
        cls,
        capabilities: Iterable[Capability],
        faults: Iterable[CapabilityFault],
        *,
        finished: bool,
    ) -> "Score":
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
        return f"{self.passing} of {self.asked} {_verb(self.passing, 'work')}"

    def _words(self) -> str:
        parts = (
            (self.combination, f"{_verb(self.combination, 'fail')} in this combination"),
            (self.release, f"{_verb(self.release, 'fail')} in every combination of this release"),
            (self.gone, f"{'is' if self.gone == 1 else 'are'} not to be had today"),
        )
        counted = (f"{number} {words}" for number, words in parts if number)
        stopped = () if self.finished else ("the tests did not run to their end",)
        return "; ".join((self.head, *counted, *stopped)) if self.asked else ""


class KnownRefusal(StrictValue, frozen=True, kw_only=True):
    """Why a cell cannot be installed or imported though nothing of it ran, and how that is known.

    `ground` is `asked` where a resolver refused this cell, `clause` where it refused another one,
    the `witness`, by `facts` that hold in this cell, too, and `file` where the witness failed by a
    file that this cell has, too: its path is the only one of `facts`.
    """

    outcome: Failed
    because: str
    on: datetime.date
    ground: Literal["asked", "clause", "file"]
    witness: str
    facts: tuple[str, ...] = ()

    @property
    def involved(self) -> tuple[str, ...]:
        """The packages that the resolver speaks of; none where a file of the subject fails."""
        if self.ground == "file":
            return ()
        return involved_in_refusal(self.outcome.subject, self.because)

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


class ProvingRuns(Value, frozen=True, array_like=True):
    """The runs that count on the lock that a cell has now, of its whole suite where there are such:
    how many, on how many days, the isolation of the newest, and whether it was of today's suite.
    """

    count: int
    days: int
    isolation: Isolation
    is_of_today: bool


class RunOverview(Value, frozen=True, array_like=True):
    """What the runs of a cell up to a day say beside its kind, so that a question about all cells
    need not read the runs of each.

    `first` is when the oldest started, `newest` the day of the newest. Of that one `is_of_lock`
    says whether it was on the lock that the cell has now, `is_of_suite` whether it has nothing to
    learn from today's suite, `counts` whether it is the newest that counts.

    Of those that count `outdated` says why they no longer answer, `is_whole` whether the whole
    suite could say no more, `asks_as_today` whether the newest was of today's suite, `has_failures`
    whether a capability failed in any. `proof` is None where the newest was on another lock.
    """

    first: datetime.datetime
    newest: datetime.date
    is_of_lock: bool
    is_of_suite: bool
    counts: bool
    outdated: tuple[str, ...]
    is_whole: bool
    asks_as_today: bool
    has_failures: bool
    proof: ProvingRuns | None


class Answer(StrictValue, frozen=True, kw_only=True):
    """A cell, what is known of it, and from what.

    `expected` is what tested neighbours let expect of a cell that is `unknown`. `since` is the day
    since when the kind holds without interruption, `latest` that of the newest run that counts.
    `outcome` is that of the newest run that counts; of a flaky cell, the newest failure. `faults`
    says of each capability that fails whose fault that is, `changing` which came and went.
    `blocked_by` is the package, neither subject nor on an axis, that keeps the cell from a result.
    `reasons` are sentences. `helpers` are the results of the tests of the suite's own files: no
    part of the kind.

    `obstacle` is why the plan rules it out, `refusal` why it fails though nothing ran.
    `lock_digest` is None when it has no lock now. `planned` is false for a cell that has records
    but no longer stands in the plan. `is_unchanged` says of a relaxed cell that its lock keeps
    every published requirement. `history` has the runs, `overview` what they say without reading
    them, None where there is none up to the day.
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
    refusal: KnownRefusal | None = None
    lock_digest: str | None = None
    planned: bool = True
    is_unchanged: bool = False
    history: History = History()
    overview: RunOverview | None = None

    @property
    def id(self) -> str:
        return self.cell.id

    @property
    def likely(self) -> Kind:
        """What it is, and where that is unknown what it is expected to be."""
        return self.expected or self.kind

    def failing(self, *faults: Blame) -> tuple[str, ...]:
        return tuple(sorted(fault.id for fault in self.faults if fault.fault in faults))

    @property
    def recipe(self) -> Recipe:
        """How its packages were chosen: a relaxed cell in which nothing had to give way is a dated
        one.
        """
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
