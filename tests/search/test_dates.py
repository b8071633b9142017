"""Bisection over days against worlds whose first broken day is known."""

import datetime
import random
from collections.abc import Sequence

import pytest
from packaging.version import Version

from compat.lock.lockfile import Inputs, Lock, Pin
from compat.search.blame import DAY, DatedLock, Trial, narrowed

BEGIN = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
DAYS = 1200


def lock_of(number: int) -> Lock:
    """The lock that holds release `number` of one package."""
    inputs = Inputs(cell="demo", python=Version("3.11.7"), platform="", requirements=())
    return Lock(inputs=inputs, pins=(Pin("demo", Version(str(number)), ("0" * 64,)),), tool="")


class Worlds:
    """An index whose package has a release on each of these days, broken from one of them on."""

    def __init__(self, releases: Sequence[int], broken: int, lost: Sequence[int] = ()) -> None:
        self.releases, self.broken, self.lost = releases, broken, lost
        self.locks = self.runs = 0

    def at(self, moment: datetime.datetime) -> Lock | None:
        self.locks += 1
        number = sum(day <= (moment - BEGIN).days for day in self.releases)
        return None if (moment - BEGIN).days in self.lost else lock_of(number)

    def run(self, day: DatedLock) -> Trial:
        self.runs += 1
        return "fails" if day[1].pins[0].version >= Version(str(self.broken)) else "works"

    def narrowed(self) -> tuple[int, int]:
        end = BEGIN + DAYS * DAY
        good, bad = narrowed(
            (BEGIN, lock_of(0)),
            (end, lock_of(len(self.releases))),
            self.at,
            self.run,
            lambda good, bad: False,
        )
        return int(str(good[1].pins[0].version)), int(str(bad[1].pins[0].version))


@pytest.mark.parametrize("seed", range(20))
def test_the_broken_release_is_found_and_equal_locks_run_once(seed: int) -> None:
    chance = random.Random(seed)
    releases = sorted(chance.sample(range(1, DAYS), 30))
    broken = chance.randint(1, 30)
    worlds = Worlds(releases, broken)
    assert worlds.narrowed() == (broken - 1, broken)
    assert worlds.locks <= 12
    assert worlds.runs <= 8


def test_days_that_cannot_be_locked_are_gone_around() -> None:
    worlds = Worlds([100, 300, 500, 700, 900], 3, lost=range(550, 650))
    assert worlds.narrowed() == (2, 3)


def test_where_nothing_can_be_locked_both_ends_stay() -> None:
    worlds = Worlds([100, 300], 2, lost=range(DAYS))
    assert worlds.narrowed() == (0, 2)
    assert worlds.locks < 10


def test_it_ends_where_the_locks_are_near_enough() -> None:
    end = (BEGIN + DAYS * DAY, lock_of(9))
    start = (BEGIN, lock_of(0))
    worlds = Worlds([100], 1)
    assert narrowed(start, end, worlds.at, worlds.run, lambda good, bad: True) == (start, end)
    assert worlds.locks == 0
