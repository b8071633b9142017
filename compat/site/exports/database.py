"""The `site` room's database: all verdicts, runs, capabilities and metrics of a matrix as one
SQLite file.
"""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from compat.results.record import Capability, Ran
from compat.results.snapshot import Entry
from compat.results.verdict import in_order
from compat.run.evidence import Metric
from compat.site.api.cell_documents import verdict_fields
from compat.site.edition import Edition, Made, MatrixReport, SiteFile
from compat.site.encode import fit
from compat.site.paths import download_path, segment

TABLES = """
CREATE TABLE cells (
    id TEXT PRIMARY KEY, recipe TEXT NOT NULL, verdict TEXT NOT NULL, state TEXT NOT NULL,
    evidence TEXT NOT NULL,
    outcome TEXT, since TEXT, latest TEXT, stale INTEGER NOT NULL, tested INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    isolation TEXT, planned INTEGER NOT NULL, obstacle TEXT, because TEXT
) WITHOUT ROWID;
CREATE TABLE coordinates (
    cell TEXT NOT NULL REFERENCES cells (id), axis TEXT NOT NULL, version TEXT NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (cell, axis)
) WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, cell TEXT NOT NULL REFERENCES cells (id), started TEXT NOT NULL,
    outcome TEXT NOT NULL,
    counts INTEGER NOT NULL, seconds REAL NOT NULL, isolation TEXT NOT NULL,
    lock_digest TEXT NOT NULL,
    suite_digest TEXT NOT NULL, answers INTEGER NOT NULL
);
-- What the capabilities came to, once for all runs in which they came to the same.
CREATE TABLE answers (
    id INTEGER NOT NULL, capability TEXT NOT NULL, status TEXT NOT NULL, cause TEXT, subject TEXT,
    spelling TEXT,
    PRIMARY KEY (id, capability)
) WITHOUT ROWID;
CREATE VIEW capabilities AS
SELECT runs.id AS run, answers.capability, answers.status, answers.cause, answers.subject,
    answers.spelling
FROM runs JOIN answers ON answers.id = runs.answers;
CREATE TABLE metrics (
    run INTEGER NOT NULL REFERENCES runs (id), name TEXT NOT NULL, value REAL NOT NULL,
    unit TEXT NOT NULL,
    better TEXT NOT NULL
);
-- A test of a helper looks at a file of the suite alone, and says nothing about the subject.
CREATE TABLE suite (capability TEXT PRIMARY KEY, title TEXT, says TEXT,
of_helper INTEGER NOT NULL) WITHOUT ROWID;
"""
QUERIES = """\
-- For the sqlite3 command line: sqlite3 {name}.sqlite < {name}.sql

-- What works, newest release of the subject first: the versions of each cell side by side.
.headers on
.mode column
SELECT cells.id, cells.state, cells.tested, cells.latest,
       group_concat(coordinates.axis || ' ' || coordinates.version, ', ') AS versions
FROM cells JOIN coordinates ON coordinates.cell = cells.id
WHERE cells.verdict = 'works'
GROUP BY cells.id
ORDER BY max(CASE WHEN coordinates.axis = '{subject}' THEN coordinates.place END) DESC;

-- Which capabilities ever failed, in how many cells, and with which outcome of the cell.
SELECT capabilities.capability, count(DISTINCT runs.cell) AS cells, group_concat(DISTINCT
    runs.outcome) AS outcomes
FROM capabilities JOIN runs ON runs.id = capabilities.run
WHERE capabilities.status = 'no'
GROUP BY capabilities.capability
ORDER BY cells DESC, capabilities.capability;
"""


def downloads(edition: Edition) -> Iterator[SiteFile | Made]:
    """Yield the database of each matrix, and a file with two queries to begin with."""
    for report in edition.reports:
        yield Made(
            path=download_path(report.name, "sqlite"),
            inputs=edition.tokens(report).all,
            make=partial(database, report),
        )
        text = QUERIES.format(name=segment(report.name), subject=report.snapshot.matrix.subject)
        yield SiteFile(path=download_path(report.name, "sql"), content=text.encode())


def database(report: MatrixReport) -> bytes:
    """Return the database; what is the same gives the same bytes, as long as SQLite itself is
    the same.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "compat.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; {TABLES}"
            )
            for table, rows in _tables(report):
                _insert(connection, table, rows)
            connection.execute("COMMIT")
        return path.read_bytes()


def _tables(report: MatrixReport) -> Iterator[tuple[str, Iterator[tuple[Any, ...]]]]:
    known, titles = report.snapshot.known, report.titles
    runs = [(entry, run) for entry in known for run in in_order(entry.runs)]
    answers: dict[tuple[Capability, ...], int] = {}
    yield "cells", (_cell(report, entry) for entry in known)
    yield "coordinates", _coordinates(report)
    yield "runs", (_run(n, entry, run, answers) for n, (entry, run) in enumerate(runs, 1))
    yield (
        "answers",
        ((number, *_capability(one)) for told, number in answers.items() for one in told),
    )
    yield (
        "metrics",
        ((n, *_metric(one)) for n, (_, run) in enumerate(runs, 1) for one in run.metrics),
    )
    words = {name: (capability.title, capability.says) for name, capability in titles.items()}
    helpers = set(report.helpers)
    names = (*report.asked, *report.helpers)
    yield "suite", (_fit(n, *words.get(n, (None, None)), n in helpers) for n in names)


def _insert(connection: sqlite3.Connection, table: str, rows: Iterator[tuple[Any, ...]]) -> None:
    columns = len(connection.execute(f"PRAGMA table_info({table})").fetchall())
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})", rows)


def _cell(report: MatrixReport, entry: Entry) -> tuple[Any, ...]:
    found, obstacle = msgspec.to_builtins(verdict_fields(report, entry)), entry.obstacle
    return _fit(
        *found.values(), *((None, None) if obstacle is None else (obstacle.kind, obstacle.because))
    )


def _coordinates(report: MatrixReport) -> Iterator[tuple[Any, ...]]:
    places = report.advisor.ranks.positions
    for entry in report.snapshot.known:
        for one in entry.cell.coordinates:
            yield entry.verdict.cell, one.axis, str(one.version), places[one.axis][one.version]


def _run(
    number: int, entry: Entry, run: Ran, answers: dict[tuple[Capability, ...], int]
) -> tuple[Any, ...]:
    counts = any(one.run is run for one in entry.counted)
    outcome = fit(" ".join(map(str, run.outcomes)))
    answer = answers.setdefault(run.capabilities, len(answers) + 1)
    began = (number, entry.verdict.cell, run.started.isoformat(), outcome, counts, run.seconds)
    return *began, run.isolation, run.lock_digest, run.suite_digest, answer


def _capability(one: Capability) -> tuple[Any, ...]:
    return _fit(one.id, one.status, one.cause or None, one.subject or None, one.spelling or None)


def _metric(one: Metric) -> tuple[Any, ...]:
    return _fit(one.name, one.value, one.unit, one.better)


def _fit(*row: Any) -> tuple[Any, ...]:
    return tuple(fit(one) if isinstance(one, str) else one for one in row)
