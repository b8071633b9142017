"""A matrix of 10,200 cells, published: all of it, and again after one more run. Prints figures.

Usage: synthetic_site.py FOLDER CELLS; so many of the cells are locked and run, evenly spread.
"""

import datetime
import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.tags import parse_tag
from packaging.version import Version

from compat.declare.capabilities import Described
from compat.declare.load import Declared, decode_matrix
from compat.index.release import Artifact, Catalogue, Package, Published, Release
from compat.lock.lockfile import Inputs, Lock, Pin, encode_lock
from compat.plan.plan import plan
from compat.results.judge import EvaluationContext
from compat.results.record import Capability, Record, decode_record, encode_record
from compat.results.snapshot import snapshot
from compat.run.evidence import Installed, Metric
from compat.run.outcome import parse_outcome
from compat.site.edition import Edition, MatrixReport
from compat.site.publication import edition_files, write_edition
from compat.site.render import Printer, assets

ROOT = Path(__file__).parent.parent.parent
DAY, SUITE = datetime.date(2026, 11, 20), "a" * 64
WHEN = datetime.datetime(2024, 5, 1, tzinfo=datetime.timezone.utc)
OUTCOMES = (
    "pass",
    "pass",
    "pass",
    "test-fail:assertion(test_c7)",
    "import-fail:missing-module(dep)",
)
MATRIX = decode_matrix(
    b"""
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
suite = { path = "suite" }
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = [
    "3.8.18", "3.9.18", "3.10.13", "3.11.7", "3.12.1"
  ] },
  { kind = "package", name = "dep", short = "dep", package = "dep", select = { keep = "minor" } },
  { kind = "package", name = "demo", short = "demo", package = "demo" },
]
""",
    "demo",
)
NAMES = [f"group{n % 4}.c{n}" for n in range(20)]
PACKAGES = [f"package-{n}" for n in range(30)]


def releases(name: str, count: int) -> Package:
    tags = parse_tag("py3-none-any")
    found = [
        Release(
            version=Version(f"1.{n}.0"),
            artifacts=(
                Artifact(
                    filename=f"{name}-1.{n}.0-py3-none-any.whl",
                    url="x",
                    tags=tags,
                    uploaded=WHEN + datetime.timedelta(days=20 * n),
                ),
            ),
            published=Published(
                requires_python=None, requires_dist=("dep>=1.0",) if name == "demo" else ()
            ),
        )
        for n in range(count)
    ]
    return Package(name=name, releases=tuple(found))


class Shelf:
    """Records and locks as texts, read when they are asked for, as files are."""

    def __init__(self, ids: list[str]) -> None:
        self.read = 0
        self.texts: dict[str, list[str]] = {}
        self.locks = {cell: encode_lock(self.lock(cell)) for cell in ids}
        self.rows: dict[str, list[Record]] = {}
        for number, cell in enumerate(ids):
            self.add(cell, OUTCOMES[number * 7 % len(OUTCOMES)])

    @staticmethod
    def lock(cell: str) -> Lock:
        pins = [("demo", cell.rpartition("demo")[2].partition("+")[0]), ("dep", "1.1.0")]
        pins += [(name, f"1.{sum(map(ord, cell)) % 9}") for name in PACKAGES]
        return Lock(
            inputs=Inputs(
                cell=cell,
                python=Version("3.9.18"),
                platform="x86_64-manylinux_2_28",
                requirements=("demo",),
            ),
            pins=tuple(
                Pin(
                    name=name,
                    version=Version(v),
                    hashes=(hashlib.sha256(f"{name}{v}".encode()).hexdigest(),),
                )
                for name, v in sorted(pins)
            ),
            tool="uv 0.13.9",
        )

    def add(self, cell: str, told: str) -> None:
        number = len(self.texts.get(cell, ()))
        outcome = parse_outcome(told)
        status = {"test_c7": "no"} if "assertion" in told else {}
        ran = told == "pass" or "assertion" in told
        digest = self.locks[cell].partition("# digest: ")[2][:64]
        record = Record(
            cell=cell,
            matrix="demo",
            outcome=outcome,
            lock_digest=digest,
            suite_digest=SUITE,
            started=datetime.datetime(2026, 11, 19, 12, number, tzinfo=datetime.timezone.utc),
            seconds=30.5,
            host="linux-x86_64-2cpu-24gb",
            isolation="L3",
            capabilities=tuple(
                Capability(
                    id=name,
                    status="no" if status and name.endswith("c7") else "yes",
                    spelling=f"demo.{name}",
                )
                for name in NAMES
            )
            if ran
            else (),
            installed=tuple(Installed(name=name, version="1.1") for name in PACKAGES),
            metrics=(Metric(name="import_seconds", value=1.5, unit="s", better="lower"),)
            if ran
            else (),
            log="" if ran else "ModuleNotFoundError: No module named 'dep'\n" * 30,
        )
        self.texts.setdefault(cell, []).append(encode_record(record))
        self.rows.setdefault(cell, []).append(record)

    def records(self, cell: str) -> tuple[Record, ...]:
        self.read += 1
        return tuple(decode_record(text, cell) for text in self.texts.get(cell, ()))

    checkout = ""

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        ours = reversed(self.records(cell))
        return (one for one in ours if lock_digest in (None, one.lock_digest))

    def lock_text(self, cell: str) -> str | None:
        return self.locks.get(cell)

    def declaration(self) -> str:
        return ""


class Figure(NamedTuple):
    """How many files were written, and in how many seconds: of the clock, and of the processor."""

    written: int
    seconds: float
    cpu: float


def publish(shelf: Shelf, out: Path) -> Figure:
    """Everything from the rows to the files."""
    begin, busy = time.perf_counter(), time.process_time()
    digests = {cell: text.partition("# digest: ")[2][:64] for cell, text in shelf.locks.items()}
    present = EvaluationContext(suite_digest=SUITE, day=DAY)
    seen = snapshot(Declared(matrix=MATRIX), CATALOGUE, FATES, digests, shelf.rows, present)
    told = [
        Described(id=n, title=n, says="", file="test_a.py", line=1, code="def test(): ...\n")
        for n in NAMES
    ]
    edition = Edition([MatrixReport(seen, shelf, {}, told)], "https://compat.example/", DAY)
    printer = Printer(edition, assets())
    written = write_edition(out, edition_files(edition, printer), (), printer.moved)
    return Figure(
        len(written.changed),
        round(time.perf_counter() - begin, 2),
        round(time.process_time() - busy, 2),
    )


CATALOGUE = Catalogue(packages=(releases("dep", 20), releases("demo", 34)))
FATES = plan(MATRIX, CATALOGUE).fates

if __name__ == "__main__":
    out, known = Path(sys.argv[1]), int(sys.argv[2])
    ids = [fate.cell.id for fate in FATES][:: len(FATES) // known]
    shelf = Shelf(ids)
    prepared = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    whole = publish(shelf, out)
    read = shelf.read
    idle = publish(shelf, out)
    shelf.add(ids[500], "import-fail:missing-attribute(demo)")
    shelf.read = 0
    again = publish(shelf, out)
    figures = {
        "cells": len(FATES),
        "known": len(ids),
        "whole": whole._asdict(),
        "idle": idle._asdict(),
        "again": again._asdict(),
        "read": read,
        "read_again": shelf.read,
        "prepared_mb": prepared,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "mb_on_disk": sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        // 1024**2,
    }
    print(json.dumps(figures))
