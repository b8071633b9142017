"""The `site` room's database: all verdicts, runs, capabilities and metrics of a matrix as one SQLite file."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from compat.results.picture import Entry
from compat.results.record import Capability, Ran
from compat.results.verdict import counting, in_order
from compat.site.api_cells import capabilities_of, told
from compat.site.edition import Edition, File, Made, Volume, segment
from compat.site.text import fit

TABLES = """
CREATE TABLE cells (
    id TEXT PRIMARY KEY, recipe TEXT NOT NULL, verdict TEXT NOT NULL, state TEXT NOT NULL, evidence TEXT NOT NULL,
    outcome TEXT, since TEXT, latest TEXT, stale INTEGER NOT NULL, tested INTEGER NOT NULL, passed INTEGER NOT NULL,
    isolation TEXT, planned INTEGER NOT NULL, obstacle TEXT, because TEXT
) WITHOUT ROWID;
CREATE TABLE coordinates (
    cell TEXT NOT NULL REFERENCES cells (id), axis TEXT NOT NULL, version TEXT NOT NULL, place INTEGER NOT NULL,
    PRIMARY KEY (cell, axis)
) WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, cell TEXT NOT NULL REFERENCES cells (id), started TEXT NOT NULL, outcome TEXT NOT NULL,
    counts INTEGER NOT NULL, seconds REAL NOT NULL, isolation TEXT NOT NULL, lock_digest TEXT NOT NULL,
    suite_digest TEXT NOT NULL
);
CREATE TABLE capabilities (
    run INTEGER NOT NULL REFERENCES runs (id), capability TEXT NOT NULL, status TEXT NOT NULL, cause TEXT, subject TEXT,
    spelling TEXT, PRIMARY KEY (run, capability)
) WITHOUT ROWID;
CREATE TABLE metrics (
    run INTEGER NOT NULL REFERENCES runs (id), name TEXT NOT NULL, value REAL NOT NULL, unit TEXT NOT NULL,
    better TEXT NOT NULL
);
CREATE TABLE suite (capability TEXT PRIMARY KEY, title TEXT, says TEXT) WITHOUT ROWID;
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
SELECT capabilities.capability, count(DISTINCT runs.cell) AS cells, group_concat(DISTINCT runs.outcome) AS outcomes
FROM capabilities JOIN runs ON runs.id = capabilities.run
WHERE capabilities.status = 'no'
GROUP BY capabilities.capability
ORDER BY cells DESC, capabilities.capability;
"""


def downloads(edition: Edition) -> Iterator[File | Made]:
    """Yield the database of each matrix, and a file with two queries to begin with."""
    for volume in edition.volumes:
        stem = f"download/{segment(volume.name)}"
        yield Made(path=f"{stem}.sqlite", inputs=edition.tokens(volume).all, make=partial(database, volume))
        text = QUERIES.format(name=segment(volume.name), subject=volume.picture.matrix.subject)
        yield File(path=f"{stem}.sql", content=text.encode())


def database(volume: Volume) -> bytes:
    """Return the database; what is the same gives the same bytes, as long as SQLite itself is the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "compat.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; {TABLES}")
            for table, rows in _tables(volume):
                _insert(connection, table, rows)
            connection.execute("COMMIT")
        return path.read_bytes()


def _tables(volume: Volume) -> Iterator[tuple[str, Iterator[tuple[Any, ...]]]]:
    runs = [(entry, run) for entry in volume.picture.known for run in in_order(entry.runs)]
    yield "cells", (_cell(volume, entry) for entry in volume.picture.known)
    yield "coordinates", _coordinates(volume)
    yield "runs", _runs(volume, runs)
    numbered = list(enumerate((run for _, run in runs), 1))
    yield "capabilities", ((number, *_capability(one)) for number, run in numbered for one in run.capabilities)
    yield "metrics", ((n, m.name, m.value, m.unit, m.better) for n, run in numbered for m in run.metrics)
    titles = volume.titles
    yield (
        "suite",
        ((n, titles[n].title, titles[n].says) if n in titles else (n, None, None) for n in capabilities_of(volume)),
    )


def _insert(connection: sqlite3.Connection, table: str, rows: Iterator[tuple[Any, ...]]) -> None:
    columns = len(connection.execute(f"PRAGMA table_info({table})").fetchall())
    asked = f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"
    connection.executemany(asked, (tuple(fit(one) if isinstance(one, str) else one for one in row) for row in rows))


def _cell(volume: Volume, entry: Entry) -> tuple[Any, ...]:
    found = msgspec.to_builtins(told(volume, entry))
    obstacle = entry.obstacle
    return (
        *found.values(),
        None if obstacle is None else obstacle.kind,
        None if obstacle is None else obstacle.because,
    )


def _coordinates(volume: Volume) -> Iterator[tuple[Any, ...]]:
    places = volume.advisor.ranks.positions
    for entry in volume.picture.known:
        for one in entry.cell.coordinates:
            yield entry.verdict.cell, one.axis, str(one.version), places[one.axis][one.version]


def _runs(volume: Volume, runs: list[tuple[Entry, Ran]]) -> Iterator[tuple[Any, ...]]:
    for number, (entry, run) in enumerate(runs, 1):
        counts = any(one.run is run for one in counting(entry.runs, volume.picture.day))
        outcome = " ".join(map(str, run.outcomes))
        started = run.started.isoformat()
        yield (
            *(number, entry.verdict.cell, started, outcome, counts),
            *(run.seconds, run.isolation, run.lock_digest, run.suite_digest),
        )


def _capability(one: Capability) -> tuple[Any, ...]:
    return one.id, one.status, one.cause or None, one.subject or None, one.spelling or None
