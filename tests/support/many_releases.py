"""A matrix of a subject with as many releases as a test asks for, one tested cell each."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from compat.declare.load import Declared
from compat.plan.plan import plan
from compat.results.judge import EvaluationContext
from compat.results.snapshot import Snapshot, snapshot
from compat.site.edition import Edition, MatrixReport
from support.editions import URL
from support.known import DAY, DEMO, SUITE, Shelf, lock_of, ran, statuses
from support.world import catalogue_of, matrix_of

# What the capabilities of a release came to, by its number; empty where it was not tested.
Pattern = Callable[[int], Mapping[str, str]]
CORE = ("a.c0", "b.c1")


class LongShelf(Shelf):
    """Releases 0.1.0 to 0.COUNT.0, one tested cell each; those `smoked` ran the core alone."""

    def __init__(self, count: int, pattern: Pattern, smoked: Iterable[int] = ()) -> None:
        """Take how many releases there are, and what was found in each."""
        files = {"files": ["dep-1.0-py3-none-any.whl"], "version": "1.0"}
        releases = [
            {"version": f"0.{n}.0", "files": [f"demo-0.{n}.0-py3-none-any.whl"]}
            for n in range(1, count + 1)
        ]
        world = {
            "matrix": DEMO["matrix"],
            "packages": [
                {"name": "dep", "releases": [files]},
                {"name": "demo", "releases": releases},
            ],
        }
        self.matrix, self.catalogue = matrix_of(world), catalogue_of(world)
        core_alone = set(smoked)
        locks, records = [], []
        for number in range(1, count + 1):
            found = dict(pattern(number))
            if not found:
                continue
            if number in core_alone:
                found = {name: found[name] for name in CORE}
            lock = lock_of(f"py3.9-dep1-demo0.{number}.0")
            failing = [name for name, status in found.items() if status == "no"]
            outcome = f"test-fail:assertion({failing[0]})" if failing else "pass"
            tier = "smoke" if number in core_alone else "full"
            locks.append(lock)
            records.append(ran(lock, outcome, capabilities=statuses(**found), tier=tier))
        super().__init__(records, locks)

    def picture(self, day: datetime.date = DAY, matrix: Any = None) -> Snapshot:
        """Return what follows from it."""
        asked = matrix or self.matrix
        present = EvaluationContext(suite_digest=SUITE, day=day)
        fates = plan(asked, self.catalogue).fates
        digests = {cell: lock.digest for cell, lock in self.locks.items()}
        declared = Declared(matrix=asked, policy=None)
        return snapshot(declared, self.catalogue, fates, digests, self._records, present)


def long_edition(shelf: LongShelf) -> Edition:
    """Return an edition with the one matrix of the shelf, whose suite describes nothing."""
    return Edition([MatrixReport(shelf.picture(), shelf, {}, ())], URL, DAY)


def ever_changing(number: int) -> dict[str, str]:
    """Return what differs from the release before in every release: one API comes, another fails
    for a while.
    """
    found = {f"{'ab'[n % 2]}.c{n}": "yes" if n < 4 else "absent" for n in range(40)}
    for name in found:
        place = int(name.partition("c")[2])
        if 4 <= place <= number // 2 + 3:
            found[name] = "yes"
        if number % 7 == place % 7 and place > 30:
            found[name] = "no"
    return found
