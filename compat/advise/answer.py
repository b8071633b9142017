"""The `advise` room's answer: the best proven combination for a request, or the nearest one and
what is in the way.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property

from compat.advise.compared import alternatives, trade_off
from compat.advise.lifted import Lifted
from compat.advise.matching import ProofsByVersion
from compat.advise.obstruction import obstructions
from compat.advise.proof import TestedCombination, VersionsOf, is_goal_met, proofs
from compat.advise.published import AsPublished, as_published
from compat.advise.ranks import Ranks
from compat.advise.request import Request, Want, label, wanted_coordinates
from compat.declare.matrix import Matrix
from compat.lock.lockfile import Lock
from compat.results.snapshot import Snapshot
from compat.value import Value


class Card(Value, frozen=True):
    """A proven combination as it is recommended: the proof, its lock, what a plain install does,
    and what is declared about other machines.
    """

    proof: TestedCombination
    lock: Lock
    published: AsPublished
    cautions: tuple[str, ...]

    @property
    def lifted(self) -> tuple[Lifted, ...]:
        """The published requirements that the lock does not keep."""
        return self.proof.lifted


class Alternative(Value, frozen=True):
    """Another proven combination, and in one sentence what it gains and loses against the
    recommended one.
    """

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
        self,
        snapshot: Snapshot,
        locks: Mapping[str, Lock],
        versions: VersionsOf | None = None,
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
        """Every proof, in the order of the plan."""
        return proofs(self.snapshot, self._locks, self._versions)

    @cached_property
    def _by_version(self) -> ProofsByVersion:
        return ProofsByVersion(self.proofs)

    @cached_property
    def _by_id(self) -> dict[str, TestedCombination]:
        return {proof.id: proof for proof in self.proofs}

    @cached_property
    def ranks(self) -> Ranks:
        """The order of the proofs."""
        return Ranks(self.snapshot, self.proofs)

    def answer(self, request: Request) -> Recommended | Unproven:
        """Return the best proven combination that meets the request, or what is in the way of
        one. Neither it nor an alternative is dominated by another that meets the request.
        """
        matching, matrix = self._by_version.matching(request), self.snapshot.matrix
        if not matching:
            return self._unproven(request)
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

    def fitting(self, request: Request) -> list[TestedCombination]:
        """Return the proofs that meet the request, the best first."""
        return self._sorted(self._by_version.matching(request), request)

    def first(self, request: Request) -> TestedCombination | None:
        """Return the best proof that meets the request; None when none does."""
        matching = self._by_version.matching(request)
        return min(matching, key=lambda proof: self.ranks.order(proof, request), default=None)

    def _sorted(self, proofs: list[TestedCombination], request: Request) -> list[TestedCombination]:
        return sorted(proofs, key=lambda proof: self.ranks.order(proof, request))

    def card(self, proof: TestedCombination) -> Card:
        """Return a proof with all that is recommended with it."""
        return Card(
            proof=proof,
            lock=self._locks[proof.id],
            published=as_published(self.snapshot, proof.cell),
            cautions=self.snapshot.cautions(self.snapshot.by_id[proof.id]),
        )

    def _unproven(self, request: Request) -> Unproven:
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

    def _changes(self, proof: TestedCombination, request: Request) -> Iterator[str]:
        if not is_goal_met(proof, request):
            yield "with changed dependency pins"
        for want in proof.unmet(request):
            version = proof.version(want.axis.name)
            yield f"use {label(want.axis)} {version} ({self.refusal(want)})"
        for need in proof.lacking(request):
            yield f"without {need}"

    def refusal(self, want: Want) -> str:
        """Return why something else is offered than is wanted of one axis: `3.12 is not
        supported`.
        """
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
    """Return in one sentence what the best proof has before all others that meet a request."""
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
