"""The `site` room's database: all verdicts, runs, capabilities and metrics of a matrix as one
SQLite file.
"""

import datetime
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from compat.results.entry import Entry
from compat.results.ran import Ran
from compat.results.record import Capability
from compat.results.verdict import in_order
from compat.run.evidence import Metric
from compat.site.api.cell_documents import cell_summary
from compat.site.edition import Edition, Made, MatrixReport, SiteFile
from compat.site.encode import fit
from compat.site.paths import download_path, segment

Row = dict[str, Any]
TABLES = """
CREATE TABLE cells (
    id TEXT PRIMARY KEY, recipe TEXT NOT NULL, verdict TEXT NOT NULL, state TEXT NOT NULL,
    evidence TEXT NOT NULL,
    outcome TEXT, since TEXT, latest TEXT, stale INTEGER NOT NULL, tested INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    isolation TEXT, planned INTEGER NOT NULL, obstacle TEXT, because TEXT,
    -- How many capabilities pass, fail by the combination, fail in every combination of the
    -- release, need what the index no longer has, are not offered by the release; and in words.
    passing INTEGER NOT NULL, combination INTEGER NOT NULL, release INTEGER NOT NULL,
    gone INTEGER NOT NULL, absent INTEGER NOT NULL, score TEXT NOT NULL
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
    tier TEXT NOT NULL, lock_digest TEXT NOT NULL,
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


def _tables(report: MatrixReport) -> Iterator[tuple[str, Iterator[Row]]]:
    """The rows of each table, by the names of its columns."""
    runs = [
        (number, entry, run)
        for number, (entry, run) in enumerate(
            ((entry, run) for entry in report.snapshot.known for run in in_order(entry.runs)), 1
        )
    ]
    answers: dict[tuple[Capability, ...], int] = {}
    for _, _, run in runs:
        answers.setdefault(run.capabilities, len(answers) + 1)
    yield "cells", (_cell(report, entry) for entry in report.snapshot.known)
    yield "coordinates", _coordinates(report)
    yield (
        "runs",
        (
            _run(number, entry, run) | {"answers": answers[run.capabilities]}
            for number, entry, run in runs
        ),
    )
    yield (
        "answers",
        (
            {"id": number, **_answer(capability)}
            for capabilities, number in answers.items()
            for capability in capabilities
        ),
    )
    yield "metrics", (_metric(number, metric) for number, _, run in runs for metric in run.metrics)
    yield "suite", (_test(report, name) for name in (*report.asked, *report.helpers))


def _insert(connection: sqlite3.Connection, table: str, rows: Iterator[Row]) -> None:
    for columns, alike in groupby(rows, key=tuple):
        names = ", ".join(f":{column}" for column in columns)
        connection.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({names})", map(_fit, alike)
        )


def _cell(report: MatrixReport, entry: Entry) -> Row:
    summary, obstacle = cell_summary(report, entry), entry.obstacle
    return {
        "id": summary.id,
        "recipe": summary.recipe,
        "verdict": summary.verdict,
        "state": summary.state,
        "evidence": summary.evidence,
        "outcome": summary.outcome,
        "since": _iso(summary.since),
        "latest": _iso(summary.latest),
        "stale": summary.stale,
        "tested": summary.tested,
        "passed": summary.passed,
        "isolation": summary.isolation,
        "planned": summary.planned,
        "obstacle": None if obstacle is None else obstacle.kind,
        "because": None if obstacle is None else obstacle.because,
        "passing": summary.score.passing,
        "combination": summary.score.combination,
        "release": summary.score.release,
        "gone": summary.score.gone,
        "absent": summary.score.absent,
        "score": summary.score.words,
    }


def _coordinates(report: MatrixReport) -> Iterator[Row]:
    positions = report.advisor.ranks.positions
    for entry in report.snapshot.known:
        for coordinate in entry.cell.coordinates:
            yield {
                "cell": entry.verdict.cell,
                "axis": coordinate.axis,
                "version": str(coordinate.version),
                "place": positions[coordinate.axis][coordinate.version],
            }


def _run(number: int, entry: Entry, run: Ran) -> Row:
    return {
        "id": number,
        "cell": entry.verdict.cell,
        "started": run.started.isoformat(),
        "outcome": " ".join(map(str, run.outcomes)),
        "counts": any(counted.run is run for counted in entry.counted),
        "seconds": run.seconds,
        "isolation": run.isolation,
        "tier": run.tier,
        "lock_digest": run.lock_digest,
        "suite_digest": run.suite_digest,
    }


def _answer(capability: Capability) -> Row:
    return {
        "capability": capability.id,
        "status": capability.status,
        "cause": capability.cause or None,
        "subject": capability.subject or None,
        "spelling": capability.spelling or None,
    }


def _metric(number: int, metric: Metric) -> Row:
    return {
        "run": number,
        "name": metric.name,
        "value": metric.value,
        "unit": metric.unit,
        "better": metric.better,
    }


def _test(report: MatrixReport, name: str) -> Row:
    test = report.titles.get(name)
    return {
        "capability": name,
        "title": None if test is None else test.title,
        "says": None if test is None else test.says,
        "of_helper": name in report.helpers,
    }


def _iso(day: datetime.date | None) -> str | None:
    return None if day is None else day.isoformat()


def _fit(row: Row) -> Row:
    return {name: fit(value) if isinstance(value, str) else value for name, value in row.items()}
