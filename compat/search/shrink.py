"""Which few of many changes are to blame: delta debugging.

The minimising algorithm ddmin of Zeller and Hildebrandt, "Simplifying and Isolating
Failure-Inducing Input" (IEEE TSE 28(2), 2002), over groups of changes first and over single ones
after that.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from compat.value import Value

# What an environment with some of the changes came to: it fails in the same way, it works, or it
# says nothing, because it cannot be installed or fails in another way.
Trial = Literal["fails", "works", "unresolved"]


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
    groups: Sequence[Sequence[str]], run: Callable[[frozenset[str]], Trial]
) -> Culprits | Unblamed:
    """Return the smallest set of changes that brings the failure about.

    `groups` has each change once; changes of a group go together, such as a package with what it
    alone needs. `run` applies a set of changes to the good side. Equal sets are run once.
    """
    order = [change for group in groups for change in group]
    trials = _Trials(run)
    if trials.of(order) != "fails":
        because = "with every change applied it does not fail in the same way"
        return Unblamed(because=because, trials=trials.count)
    if trials.of([]) != "works":
        because = "without any change it does not work"
        return Unblamed(because=because, trials=trials.count)
    chosen = _minimised([list(group) for group in groups if group], trials)
    changes = [change for group in chosen for change in group]
    changes = [change for [change] in _minimised([[change] for change in changes], trials)]
    removals = [trials.of([other for other in changes if other != change]) for change in changes]
    rest = [change for change in order if change not in changes]
    return Culprits(
        changes=tuple(sorted(changes, key=order.index)),
        is_minimal=all(trial == "works" for trial in removals),
        is_verified=trials.of(rest) == "works",
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


def _minimised(units: list[list[str]], trials: _Trials) -> list[list[str]]:
    """The units that are left when no half, quarter and so on can be taken away any more."""
    parts = 2
    while len(units) >= 2:
        chunks = _split(units, parts)
        smaller = next((chunk for chunk in chunks if _fails(chunk, trials)), None)
        if smaller is not None:
            units, parts = smaller, 2
            continue
        complements = (
            [unit for other in chunks if other is not chunk for unit in other] for chunk in chunks
        )
        smaller = next((rest for rest in complements if _fails(rest, trials)), None)
        if smaller is not None:
            units, parts = smaller, max(parts - 1, 2)
        elif parts < len(units):
            parts = min(2 * parts, len(units))
        else:
            break
    return units


def _fails(units: list[list[str]], trials: _Trials) -> bool:
    return trials.of([change for unit in units for change in unit]) == "fails"


def _split(units: list[list[str]], parts: int) -> list[list[list[str]]]:
    """The units in so many chunks of nearly equal length."""
    size, longer = divmod(len(units), parts)
    chunks, start = [], 0
    for part in range(parts):
        end = start + size + (part < longer)
        chunks.append(units[start:end])
        start = end
    return chunks
