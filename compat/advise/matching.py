"""The `advise` room's search: which proofs meet a request, without a look at each of them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from packaging.version import Version

from compat.advise.proof import TestedCombination, is_goal_met
from compat.advise.request import Request, Want


class ProofsByVersion:
    """Proofs by what stands on each axis: the coordinate, and what the lock installs there. Each
    such pair is held against a want once, and not that of each proof.
    """

    def __init__(self, proofs: Sequence[TestedCombination]) -> None:
        self._proofs = proofs
        self._by_axis: dict[str, dict[tuple[Version, Version], list[int]]] = {}
        self.meeting = cache(self._meeting)

    def matching(self, request: Request) -> list[TestedCombination]:
        """Return the proofs that meet a request, in their order."""
        numbers: Collection[int] = range(len(self._proofs))
        for meeting in sorted(map(self.meeting, request.wants), key=len):
            numbers = [number for number in numbers if number in meeting]
        every = [self._proofs[number] for number in sorted(numbers)]
        if request.goal == "published":
            every = [proof for proof in every if is_goal_met(proof, request)]
        return [proof for proof in every if not proof.lacking(request)] if request.needs else every

    def candidates(self, request: Request) -> Iterator[tuple[TestedCombination, tuple[Want, ...]]]:
        """Yield the proofs among which the nearest to a request is, each with the wants that it
        does not meet: where nothing but versions is asked for, those that meet the most.
        """
        numbers: Iterable[int] = range(len(self._proofs))
        if not request.needs and request.goal != "published":
            counts = Counter(number for want in request.wants for number in self.meeting(want))
            most = max(counts.values(), default=0)
            numbers = [number for number, count in counts.items() if count == most] or numbers
        by_want = [(want, self.meeting(want)) for want in request.wants]
        for number in numbers:
            unmet = tuple(want for want, meeting in by_want if number not in meeting)
            yield self._proofs[number], unmet

    def _meeting(self, want: Want) -> frozenset[int]:
        axis = want.axis.name
        if axis not in self._by_axis:
            pairs: defaultdict[tuple[Version, Version], list[int]] = defaultdict(list)
            for number, proof in enumerate(self._proofs):
                pairs[proof.on(axis)].append(number)
            self._by_axis[axis] = pairs
        by_pair = self._by_axis[axis].items()
        return frozenset(n for pair, numbers in by_pair if want.is_met_by(*pair) for n in numbers)
