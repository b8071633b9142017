"""The search for a boundary on a thousand axes of each kind.

With `pytest -s -m benchmark` it prints, as each kind ends, a row of the table in
docs/figures.md: axis, versions, share right, runs, and those of Bayesian bisection.
"""

from statistics import mean

import pytest
from support.versions import KINDS, Kind, searches

pytestmark = pytest.mark.benchmark
AXES = 1000
SEED = 20261123


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_thousand_axes(kind: Kind) -> None:
    answers = list(searches(kind, AXES, SEED))
    right = sum(axis.is_right(boundary) for axis, boundary in answers) / AXES
    runs = mean(boundary.runs for _, boundary in answers)
    beside = "" if kind.runs is None else f"{kind.runs}"
    print(f"\n| {kind.name} | {kind.versions} | {right:.1%} | {runs:.1f} | {beside} |")
    assert right >= (0.97 if kind.is_flaky else 1.0)
    if kind.runs is not None:
        assert runs <= kind.runs * 1.2
