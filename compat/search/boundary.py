"""Finds where along an axis support begins, by Bayesian bisection that tolerates flaky runs.

Each boundary has a probability, each result updates it, and the most informative version is tried
next: noisy binary search (Burnashev and Zigangirov, 1974; Waeber, Frazier and Henderson, 2013). The
rates of misleading results are learnt during the search, each side with a Beta prior.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Literal

from compat.value import Value

# `refuses` is a failure that recurs, such as an import error; one that just `fails` may be random.
Probe = Literal["works", "fails", "refuses", "untestable", "unanswered"]

# Beta priors over the probability that a run fails, below the boundary and from it on. Nearly every
# result is true, and random failures are likelier than random passes.
FAILS_BELOW = (1.9, 0.1)
FAILS_FROM = (0.05, 1.95)
CONFIDENCE = 0.99
# Simulated on 2026-11-23, see tests/benchmarks: with 0.99 too many flaky searches end wrong.
FLAKY_CONFIDENCE = 0.995
# A version with this many equal results against the boundary is an exception: support need not be
# monotone. At a failure rate of 10 % chance causes this once in 1,000; for a version with both
# results the rate may be one half.
INSISTENCE = 3
FLAKY_INSISTENCE = 6
# This many versions from the first working one on must have passed, and as many below it failed.
# Where a failure may be random, so may a pass: then the first must have passed this often.
# Simulated on 2026-11-23, see tests/benchmarks: with less, more than 3 in 100 are wrong.
END_RUNS = 5
ABOVE, BELOW = 3, 2
# Versions whose expected information differs by less than this share rank equally. The one with the
# fewest results is tried, which also shows whether a neighbour is an exception.
ALIKE = 0.05
# How often a version is tried again after a failure of the network or the machine.
RETRIES = 2
# Once a version both passed and failed, the budget grows by this factor. Simulated on 2026-11-23:
# failing versions that pass half the time need 45 runs on 71 versions.
FLAKY_FACTOR = 10


class Boundary(Value, frozen=True, kw_only=True):
    """The result of a search. Numbers are positions on the searched axis, oldest first.

    All tried versions from `works` on work. `fails` is the nearest tried one below that fails; each
    is None without one. `exceptions` are tried versions with the opposite result of their side.
    `untestable` ones cannot be installed, and `unanswered` were lost to the network or the machine.
    `confidence` is the probability of this boundary among all; `runs` counts the results.
    """

    works: int | None
    fails: int | None
    exceptions: tuple[int, ...]
    untestable: tuple[int, ...]
    unanswered: tuple[int, ...]
    flaky: tuple[int, ...]
    confidence: float
    runs: int
    is_decided: bool


class BoundarySearch:
    """The state of one search: `next` gives a position, `observe` takes its result, until None."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._results: list[list[bool]] = [[] for _ in range(count)]
        self._faults = [0] * count
        self._untestable: set[int] = set()
        # Whether a possibly random failure was seen, and a recurring one.
        self._may_mislead = self._is_sure = False

    @property
    def runs(self) -> int:
        return sum(map(len, self._results))

    @property
    def flaky(self) -> tuple[int, ...]:
        return tuple(i for i, results in enumerate(self._results) if len(set(results)) > 1)

    @property
    def budget(self) -> int:
        steady = math.ceil(math.log2(self.count + 1)) + 10
        return steady * (FLAKY_FACTOR if self.flaky or self._view.exceptions else 1)

    def observe(self, position: int, probe: Probe) -> None:
        if probe == "untestable":
            self._untestable.add(position)
        elif probe == "unanswered":
            self._faults[position] += 1
        else:
            self._results[position].append(probe == "works")
            self._may_mislead = bool(self._may_mislead or probe == "fails" or self.flaky)
            self._is_sure = self._is_sure or probe == "refuses"
        self.__dict__.pop("_view", None)

    def next(self) -> int | None:
        to_try = [i for i in self._open if self._faults[i] <= RETRIES]
        if self.runs >= self.budget or not to_try:
            return None
        # A contradicting end or neighbour is tried again before the search concludes.
        if self._is_settled:
            return next((i for i in self._unverified() if i in to_try), None)
        for i in to_try:
            results, is_above = self._results[i], i >= self._view.first
            is_doubted = i not in self._view.exceptions and set(results) == {not is_above}
            if is_doubted and len(results) < self._insistence:
                return i
        if self._is_steady:
            to_try = [i for i in to_try if not self._results[i]] or to_try
        entropies = self._view.expected_entropies()
        best = min(entropies[i] for i in to_try)
        most = best + ALIKE * (self._view.entropy - best)
        alike = [i for i in to_try if entropies[i] <= most]
        return min(alike, key=lambda i: (len(self._results[i]), entropies[i]))

    @property
    def result(self) -> Boundary:
        view = self._view
        tried = [i for i in self._open if self._results[i]]
        above = [i for i in tried if i >= view.first and i not in view.exceptions]
        below = [i for i in tried if i < view.first and i not in view.exceptions]
        return Boundary(
            works=above[0] if above else None,
            fails=below[-1] if below else None,
            exceptions=tuple(sorted(view.exceptions)),
            untestable=tuple(sorted(self._untestable)),
            unanswered=tuple(i for i in range(self.count) if self._is_lost(i)),
            flaky=self.flaky,
            confidence=view.confidence,
            runs=self.runs,
            is_decided=self._is_settled and not list(self._unverified()),
        )

    @property
    def _open(self) -> list[int]:
        return [i for i in range(self.count) if i not in self._untestable and not self._is_lost(i)]

    @property
    def _is_settled(self) -> bool:
        """Whether the boundary is likely enough, contradicted by no version, or clear at an end."""
        view = self._view
        needed = FLAKY_CONFIDENCE if self.flaky else CONFIDENCE
        if view.confidence >= needed or not self._open:
            return True
        if all(set(self._results[i]) == {i >= view.first} for i in self._open):
            return True  # every version was tried, and none contradicts it
        if self._is_steady:
            # Both neighbours of the likeliest boundary have a result; exceptions are none.
            regular = [i for i in self._open if i not in view.exceptions]
            below = [i for i in regular if i < view.first][-1:]
            above = [i for i in regular if i >= view.first][:1]
            if all(self._results[i] for i in (*below, *above)):
                return True
        oldest, newest = self._open[0], self._open[-1]
        outermost = oldest if view.first <= oldest else newest if view.first > newest else None
        if outermost is None:
            return False
        results = self._results[outermost]
        return len(results) >= self._insistence and set(results) == {outermost == oldest}

    @property
    def _is_steady(self) -> bool:
        return self._is_sure and not self._may_mislead

    @property
    def _insistence(self) -> int:
        if self._is_steady:
            return 1
        return FLAKY_INSISTENCE if self.flaky else INSISTENCE

    def _is_lost(self, position: int) -> bool:
        return not self._results[position] and self._faults[position] > RETRIES

    def _unverified(self) -> Iterator[int]:
        view = self._view
        regular = [i for i in self._open if i not in view.exceptions]
        above = [i for i in regular if i >= view.first]
        below = [i for i in regular if i < view.first]
        for position in (*above[:ABOVE], *below[::-1][:BELOW]):
            needed = END_RUNS if self._may_mislead and position in above[:1] else 1
            if self._results[position].count(position >= view.first) < needed:
                yield position

    @cached_property
    def _view(self) -> "_Posterior":
        exceptions: frozenset[int] = frozenset()
        while True:
            view = _Posterior(self._results, self._untestable, exceptions)
            insistent = frozenset(
                i
                for i, results in enumerate(self._results)
                if len(results) >= self._insistence
                and len(set(results)) == 1
                and results[0] is not (i >= view.first)
            )
            if insistent <= exceptions:
                return view
            # One at a time, the farthest from the boundary first: the others may then agree.
            farthest = max(insistent - exceptions, key=lambda i: (abs(i - view.first), i))
            exceptions |= {farthest}


class _Posterior:
    def __init__(
        self,
        results: Sequence[Sequence[bool]],
        untestable: set[int],
        exceptions: frozenset[int],
    ) -> None:
        self.exceptions = exceptions
        counted = [() if i in exceptions else position for i, position in enumerate(results)]
        fails = [position.count(False) for position in counted]
        works = [position.count(True) for position in counted]
        # Counts of failures and passes below and from each boundary on.
        fails_below = [0, *accumulate(fails)]
        works_below = [0, *accumulate(works)]
        self._below = list(zip(fails_below, works_below, strict=True))
        self._from = [(fails_below[-1] - f, works_below[-1] - w) for f, w in self._below]
        # Boundaries with only untestable positions between them are one: no run can separate them.
        # The first testable one gets the weight.
        merged = [1.0] * (len(results) + 1)
        for position in sorted(untestable):
            merged[position + 1] += merged[position]
            merged[position] = 0.0
        logs = [
            math.log(weight) + log_marginal(FAILS_BELOW, *below) + log_marginal(FAILS_FROM, *above)
            if weight > 0
            else -math.inf
            for weight, below, above in zip(merged, self._below, self._from, strict=True)
        ]
        highest = max(logs)
        masses = [math.exp(log - highest) for log in logs]
        total = sum(masses)
        self.masses = [mass / total for mass in masses]
        self.first = max(range(len(masses)), key=self.masses.__getitem__)
        self.confidence = self.masses[self.first]
        self.entropy = -sum(m * math.log(m) for m in self.masses if m > 0)

    def expected_entropies(self) -> list[float]:
        """A try fails with one probability at or above a boundary, with another below it."""
        entropies = [0.0] * (len(self.masses) - 1)
        sides = [
            [(prior[0] + f) / (sum(prior) + f + w) for f, w in counts]
            for prior, counts in ((FAILS_FROM, self._from), (FAILS_BELOW, self._below))
        ]
        for each in (sides, [[1 - fails for fails in side] for side in sides]):
            up_to, above = (
                [(w := m * c, w * math.log(w) if w > 0 else 0.0)
                 for m, c in zip(self.masses, chances, strict=True)]
                for chances in each
            )  # fmt: skip
            for i in range(len(entropies)):
                total, logs = map(sum, zip(*up_to[: i + 1], *above[i + 1 :], strict=True))
                entropies[i] += total * math.log(total) - logs if total > 0 else 0.0
        return entropies


@lru_cache(maxsize=20_000)
def log_marginal(prior: tuple[float, float], fails: int, works: int) -> float:
    return _log_beta(prior[0] + fails, prior[1] + works) - _log_beta(*prior)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
