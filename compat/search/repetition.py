"""How often an environment must be run to know whether it has a failure that comes and goes.

Wald, "Sequential Tests of Statistical Hypotheses" (1945): run until the results are so many times
likelier on the one side than on the other.
"""

import math
from collections.abc import Sequence

from compat.run.outcome import Cause, Failed
from compat.search.boundary import FAILS_BELOW, FAILS_FROM, log_marginal
from compat.value import Value

# These come from what is installed, and come again: one run says it. An assertion, a crash or a
# limit may be chance.
STEADY: frozenset[Cause] = frozenset(
    (
        *("missing-module", "missing-attribute", "syntax", "type-error", "version-guard"),
        *("binary-incompatible", "requires-python", "no-artifact", "hash-mismatch"),
    )
)
# So many runs of each end, where the failure may be chance; and where it was seen to be. So often
# is a bad end run that works at first.
# Simulated on 2026-11-23, see tests/search/test_blame.py.
FIRST_RUNS = 3
MORE_RUNS = 16
PATIENCE = 6
ODDS = 100.0
# Of an environment that was seen to do both, nothing says that one side is nearly always right
# (the prior of Jeffreys).
UNINFORMED = (0.5, 0.5)
# Where the ends fail more alike than this, no number of runs that anybody waits for tells them
# apart.
LEAST_DIFFERENCE = 0.15


class FailureRates(Value, frozen=True, kw_only=True):
    """How often each end was seen to fail in the way that is looked into.

    `is_doubted` says that some environment was seen to do both, so that one run says nothing.
    """

    good_fails: int
    good_runs: int
    bad_fails: int
    bad_runs: int
    is_doubted: bool = False

    @property
    def is_steady(self) -> bool:
        """Whether the bad end always failed and the good end never did, so that one run tells."""
        return not self.is_doubted and self.good_fails == 0 and self.bad_fails == self.bad_runs

    @property
    def is_told_apart(self) -> bool:
        """Whether the bad end fails so much more often that other environments can be judged."""
        good, bad = (fails / sum(pair) for pair in (self._good, self._bad) for fails in pair[:1])
        return bad - good >= LEAST_DIFFERENCE

    def decision(self, fails: Sequence[bool]) -> bool | None:
        """Return whether an environment with these results has the failure; None while it is open.

        Each of `fails` says of one run whether it failed in that way.
        """
        if self.is_steady:
            return fails[0] if fails and len(set(fails)) == 1 else None
        counts = fails.count(True), fails.count(False)
        weight = log_marginal(self._bad, *counts) - log_marginal(self._good, *counts)
        return weight > 0 if abs(weight) >= math.log(ODDS) else None

    # How often each end fails is itself known from a few runs only: so each has a distribution, as
    # in the search for a boundary.

    @property
    def _good(self) -> tuple[float, float]:
        fails, works = UNINFORMED if self.is_doubted else FAILS_FROM
        return fails + self.good_fails, works + self.good_runs - self.good_fails

    @property
    def _bad(self) -> tuple[float, float]:
        fails, works = UNINFORMED if self.is_doubted else FAILS_BELOW
        return fails + self.bad_fails, works + self.bad_runs - self.bad_fails


def may_be_chance(failure: Failed) -> bool:
    return failure.cause not in STEADY
