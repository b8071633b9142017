"""Which few of many changes are to blame: delta debugging.

A change is looked for by bisection of the list, one culprit after the other (Hemery et al.,
"Extracting MUCs from constraint networks", ECAI 2006): log2(n) trials each. Where a trial says
nothing, the minimising algorithm ddmin of Zeller and Hildebrandt ("Simplifying and Isolating
Failure-Inducing Input", IEEE TSE 28(2), 2002) goes on with what is left; it can live with that.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal

from compat.value import Value

# What an environment with some of the changes came to: it fails in the same way, it works, or it
# says nothing, because it cannot be installed or fails in another way.
Trial = Literal["fails", "works", "unresolved"]
# Where the middle of a list says nothing, so many of its neighbours are tried before ddmin takes
# over. Chosen on 2026-11-23: pairs that have to move together leave one such place each.
NEIGHBOURS = 3


class Culprits(Value, frozen=True, kw_only=True):
    """The changes that are to blame together, in the order in which they were given.

    `is_minimal` says that without any one of them the failure was seen to be gone; otherwise a
    trial without one was unresolved. `is_verified` says that all other changes together work.
    `trials` counts the distinct environments that were tried.
    """

    changes: tuple[str, ...]
    is_minimal: bool
    is_verified: bool
    trials: int


class Unblamed(Value, frozen=True, kw_only=True):
    """No set of changes can be blamed, with the reason in one sentence."""

    because: str
    trials: int


def culprits(
    changes: Sequence[str],
    run: Callable[[frozenset[str]], Trial],
    first: Sequence[Sequence[str]] = (),
) -> Culprits | Unblamed:
    """Return a smallest set of changes that brings the failure about.

    `run` applies a set of changes to the good side; equal sets are run once. Sets in `first` are
    under suspicion: they are tried before all others, and one that is not enough alone is tried
    together with others before those are tried without it.
    """
    trials = _Trials(run)
    if trials.of(changes) != "fails":
        because = "with every change applied it does not fail in the same way"
        return Unblamed(because=because, trials=trials.count)
    if trials.of([]) != "works":
        because = "without any change it does not work"
        return Unblamed(because=because, trials=trials.count)
    smallest = next(
        (list(suspected) for suspected in first if trials.of(suspected) == "fails"), None
    )
    if smallest is None:
        suspects = list(dict.fromkeys(change for suspected in first for change in suspected))
        smallest = _bisected(suspects, [c for c in changes if c not in suspects], trials)
    members = sorted(_without_pairs(_minimised(smallest, trials), trials), key=changes.index)
    removals = [trials.of([other for other in members if other != name]) for name in members]
    others = [change for change in changes if change not in members]
    return Culprits(
        changes=tuple(members),
        is_minimal=all(trial == "works" for trial in removals),
        is_verified=trials.of(others) == "works",
        trials=trials.count,
    )


class _Trials:
    """What sets of changes came to; each is run once."""

    def __init__(self, run: Callable[[frozenset[str]], Trial]) -> None:
        self._run = run
        self._results: dict[frozenset[str], Trial] = {}

    @property
    def count(self) -> int:
        return len(self._results)

    def of(self, changes: Sequence[str]) -> Trial:
        key = frozenset(changes)
        if key not in self._results:
            self._results[key] = self._run(key)
        return self._results[key]


def _bisected(chosen: list[str], rest: list[str], trials: _Trials) -> list[str]:
    """Changes that fail together and are few: `chosen`, which are under suspicion, and those of
    `rest` that bisection finds to be needed besides, or that it cannot tell apart.

    All of both together fail.
    """
    while trials.of(chosen) != "fails":
        end, is_needed = _shortest_failing(chosen, rest, trials)
        if not is_needed:
            return [*chosen, *rest[:end]]
        chosen, rest = [rest[end - 1], *chosen], rest[: end - 1]
    return chosen


def _shortest_failing(chosen: list[str], rest: list[str], trials: _Trials) -> tuple[int, bool]:
    """The length of the shortest beginning of `rest` that is seen to fail together with `chosen`,
    and whether without its last change it was seen to work; too many may say nothing.
    """
    works, fails = 0, len(rest)
    while fails - works > 1:
        middle = (works + fails) // 2
        near = sorted(range(works + 1, fails), key=lambda end: abs(end - middle))
        for end in near[: 1 + NEIGHBOURS]:
            trial = trials.of([*chosen, *rest[:end]])
            if trial != "unresolved":
                works, fails = (works, end) if trial == "fails" else (end, fails)
                break
        else:
            return fails, False
    return fails, True


def _minimised(changes: list[str], trials: _Trials) -> list[str]:
    parts = 2
    while len(changes) >= 2:
        chunks = _split(changes, parts)
        smaller = next((chunk for chunk in chunks if trials.of(chunk) == "fails"), None)
        if smaller is not None:
            changes, parts = smaller, 2
            continue
        complements = (
            [change for other in chunks if other is not chunk for change in other]
            for chunk in chunks
        )
        smaller = next((rest for rest in complements if trials.of(rest) == "fails"), None)
        if smaller is not None:
            changes, parts = smaller, max(parts - 1, 2)
        elif parts < len(changes):
            parts = min(2 * parts, len(changes))
        else:
            break
    return changes


def _without_pairs(changes: list[str], trials: _Trials) -> list[str]:
    """The changes that are left when no two can be taken away at once, either: two that have to
    move together hold each other, and ddmin takes them away only where they are neighbours.
    """
    held = [c for c in changes if trials.of([o for o in changes if o != c]) == "unresolved"]
    for pair in combinations(held, 2):
        rest = [change for change in changes if change not in pair]
        if rest and trials.of(rest) == "fails":
            return _without_pairs(_minimised(rest, trials), trials)
    return changes


def _split(changes: list[str], parts: int) -> list[list[str]]:
    size, longer = divmod(len(changes), parts)
    chunks, start = [], 0
    for part in range(parts):
        end = start + size + (part < longer)
        chunks.append(changes[start:end])
        start = end
    return chunks
