"""Which few requirements must give way so that a cell can be locked: minimal correction sets.

The resolver is the oracle. Reiter, "A theory of diagnosis from first principles" (Artificial
Intelligence 32, 1987): every correction hits every conflict, so conflicts that were seen say which
corrections are left to try.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from compat.value import Value

# Packages that move: a larger change is no repair that anybody would type. Chosen on 2026-11-23.
LARGEST = 3


class Resolution(Value, frozen=True, kw_only=True):
    """What the resolver says when a set of requirements has given way.

    `named` are the requirements that a refusal speaks of, as far as it does.
    """

    is_possible: bool
    named: frozenset[str] = frozenset()


class Corrections(Value, frozen=True, kw_only=True):
    """Every smallest set of requirements that must give way, the smallest first; and the conflicts.

    Each of `conflicts` is a set of requirements that cannot hold together, whatever else gives way;
    none of them can be made smaller. `is_complete` says that no other set of at most `LARGEST`
    requirements does it; otherwise the trials ran out. With an empty conflict nothing does it.
    """

    sets: tuple[tuple[str, ...], ...]
    conflicts: tuple[tuple[str, ...], ...]
    is_complete: bool
    trials: int


def corrections(
    requirements: Sequence[str],
    resolve: Callable[[frozenset[str]], Resolution],
    *,
    enough: int = 100,
) -> Corrections:
    """Return the smallest sets of requirements without which the resolver finds a way.

    `requirements` stand in the order in which they should rather give way; `resolve` is asked what
    comes of it when a set of them has given way, once for each set; it raises `Spent` to end the
    search. So many sets are `enough`.
    """
    oracle = _Oracle(resolve)
    conflicts: list[frozenset[str]] = []
    mended: list[frozenset[str]] = []
    is_complete = True
    try:
        while (candidate := _untried(requirements, conflicts, mended)) is not None:
            if len(mended) >= enough:
                is_complete = False
                break
            if oracle.of(candidate).is_possible:
                mended.append(candidate)
                continue
            conflict = _conflict(requirements, candidate, oracle)
            conflicts.append(conflict)
            if not conflict:
                break
    except Spent:
        is_complete = False
    rank = {requirement: place for place, requirement in enumerate(requirements)}
    return Corrections(
        sets=tuple(tuple(sorted(correction, key=rank.__getitem__)) for correction in mended),
        conflicts=tuple(tuple(sorted(conflict, key=rank.__getitem__)) for conflict in conflicts),
        is_complete=is_complete,
        trials=oracle.trials,
    )


class Spent(Exception):
    """No more trials are allowed."""


class _Oracle:
    """The resolver, asked once for each set."""

    def __init__(self, resolve: Callable[[frozenset[str]], Resolution]) -> None:
        self._resolve = resolve
        self._answers: dict[frozenset[str], Resolution] = {}

    @property
    def trials(self) -> int:
        return len(self._answers)

    def of(self, relaxed: frozenset[str]) -> Resolution:
        if relaxed not in self._answers:
            self._answers[relaxed] = self._resolve(relaxed)
        return self._answers[relaxed]


def _untried(
    requirements: Sequence[str],
    conflicts: Sequence[frozenset[str]],
    mended: Sequence[frozenset[str]],
) -> frozenset[str] | None:
    """The smallest set that hits every conflict and holds no correction that is known."""
    involved = [name for name in requirements if any(name in conflict for conflict in conflicts)]
    for size in range(min(LARGEST, len(involved)) + 1):
        for names in combinations(involved, size):
            candidate = frozenset(names)
            if any(correction <= candidate for correction in mended):
                continue
            if all(candidate & conflict for conflict in conflicts):
                return candidate
    return None


def _conflict(
    requirements: Sequence[str], relaxed: frozenset[str], oracle: _Oracle
) -> frozenset[str]:
    """A smallest set of requirements that cannot hold together when all others have given way."""
    held = [name for name in requirements if name not in relaxed]
    refused = oracle.of(relaxed).named
    for group in _droppable(held, refused):
        trial = [name for name in held if name not in group]
        if len(trial) == len(held):
            continue
        if not oracle.of(frozenset(requirements) - frozenset(trial)).is_possible:
            held = trial
    return frozenset(held)


def _droppable(held: Sequence[str], named: frozenset[str]) -> Iterator[frozenset[str]]:
    """What may be no part of the conflict: first, all at once, what the refusal does not name;
    then, in halves, the others; then each.
    """
    unnamed = frozenset(name for name in held if name not in named)
    if named and unnamed:
        yield unnamed
    elif len(held) > 4:
        middle = len(held) // 2
        yield frozenset(held[:middle])
        yield frozenset(held[middle:])
    yield from (frozenset((name,)) for name in held)
