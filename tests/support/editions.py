"""Editions made up for tests, and the files that producers make of them."""

import datetime
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from packaging.version import Version

from compat.declare.capabilities import Described
from compat.declare.matrix import Floor, Policy
from compat.results.snapshot import Snapshot
from compat.site.edition import Edition, Listed, MatrixReport, SiteFile
from compat.site.publication import PRODUCERS
from support.known import DAY, MATRIX, SUITE, Shelf

URL = "https://compat.example/"
Files = Callable[[Edition], Iterator[SiteFile]]
TOLD = (
    Described(
        id="sum",
        title="Sums",
        says="It adds.",
        file="test_sum.py",
        line=3,
        code="def test_sum(): ...\n",
    ),
    Described(
        id="mean",
        title="Means",
        says="It averages.",
        file="test_sum.py",
        line=9,
        code="def test_mean(): ...\n",
    ),
)

# Floors that move, and a day long before they do.
FLOORS = (
    Floor(axis="python", at=Version("3.8"), because="that is how it is"),
    Floor(axis="dep", at=Version("1"), because="that is how it is"),
)
MOVING = msgspec.structs.replace(MATRIX, floors=FLOORS)
POLICY = Policy(default_months=24, cadence="quarterly", notice_days=90, witnesses=1)
EARLY = datetime.date(2021, 1, 10)


def edition(
    shelf: Shelf,
    day: datetime.date = DAY,
    matrix: Any = MATRIX,
    told: Iterable[Described] = TOLD,
    base_url: str = URL,
) -> Edition:
    """Return an edition with the one matrix of the shelf."""
    return Edition([matrix_report(shelf, shelf.picture(day, matrix), told)], base_url, day)


def matrix_report(
    shelf: Shelf, snapshot: Snapshot, told: Iterable[Described] = TOLD
) -> MatrixReport:
    """Return the report of a shelf and the snapshot of it."""
    assert snapshot.present.suite_digest == SUITE
    return MatrixReport(snapshot, shelf, {"test_sum.py": "def test_sum(): ...\n"}, told)


def files(of: Edition, *producers: Files) -> dict[str, bytes]:
    """Return what the producers make, by path; all of them when none is named."""
    found: dict[str, bytes] = {}
    for producer in producers or PRODUCERS:
        for file in producer(of):
            assert file.path not in found, f"{file.path} is made twice"
            found[file.path] = file.content
    return found


def listed(path: str, content: bytes) -> Listed:
    """Return a file as a listing has it."""
    return Listed(path=path, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
