"""The `site` room's database: all verdicts, runs, capabilities and metrics of a matrix as one
SQLite file.
"""

import datetime
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import json

from compat.results.entry import Entry
from compat.results.record import Capability
from compat.results.verdict import in_order
from compat.run.outcome import Outcome
from compat.site.api.cell_documents import cell_summary
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import fit
from compat.site.paths import download_path, segment

Row = tuple[Any, ...]
# The metrics of a run: of each its name, its unit, and which of two values is better.
Measures = tuple[tuple[str, str, str], ...]
TABLES = """
CREATE TABLE cells (
    id TEXT PRIMARY KEY, recipe TEXT NOT NULL, verdict TEXT NOT NULL, state TEXT NOT NULL,
    evidence TEXT NOT NULL,
    outcome TEXT, since TEXT, latest TEXT, stale INTEGER NOT NULL, tested INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    isolation TEXT, planned INTEGER NOT NULL, obstacle TEXT, because TEXT,
    blocked_by TEXT,
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
    suite_digest TEXT NOT NULL, answers INTEGER NOT NULL,
    -- A JSON list of numbers, and the set of names that they are of.
    measured TEXT NOT NULL, measures INTEGER NOT NULL
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
-- What is measured: each set of names once for all runs that measured these, with the place of
-- each name's number in the list of a run.
CREATE TABLE measures (
    id INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL,
    better TEXT NOT NULL,
    PRIMARY KEY (id, place)
) WITHOUT ROWID;
CREATE VIEW metrics AS
SELECT runs.id AS run, measures.name, number.value, measures.unit, measures.better
FROM runs, json_each(runs.measured) AS number
JOIN measures ON measures.id = runs.measures AND measures.place = number.key;
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


def downloads(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        yield SiteFile(path=download_path(report.name, "sqlite"), content=database(report))
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


def _tables(report: MatrixReport) -> Iterator[tuple[str, Iterable[Row]]]:
    known = report.snapshot.known
    answers, measures = _Answers(), dict[Measures, int]()
    yield "cells", (_cell(report, entry) for entry in known)
    yield "coordinates", _coordinates(report)
    yield "runs", _runs(known, answers, measures)
    yield (
        "answers",
        (
            (number, *_answer(capability))
            for capabilities, number in answers.numbers.items()
            for capability in capabilities
        ),
    )
    yield (
        "measures",
        (
            (number, place, *map(fit, measure))
            for measured, number in measures.items()
            for place, measure in enumerate(measured)
        ),
    )
    yield "suite", (_test(report, name) for name in (*report.asked, *report.helpers))


class _Answers:
    """What runs came to, with numbers in the order in which they came; equal ones have the same."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Capability, ...], int] = {}
        # Most that are equal are one object, which is known without a look at what it holds.
        self._by_object: dict[int, tuple[tuple[Capability, ...], int]] = {}

    def of(self, capabilities: tuple[Capability, ...]) -> int:
        known = self._by_object.get(id(capabilities))
        if known is None:
            number = self.numbers.setdefault(capabilities, len(self.numbers) + 1)
            known = self._by_object[id(capabilities)] = capabilities, number
        return known[1]


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[Row]) -> None:
    columns = connection.execute(f"SELECT count(*) FROM pragma_table_info('{table}')").fetchone()
    places = ", ".join("?" * columns[0])
    connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def _cell(report: MatrixReport, entry: Entry) -> Row:
    summary, obstacle = cell_summary(report, entry), entry.obstacle
    return (
        summary.id,
        summary.recipe,
        summary.verdict,
        summary.state,
        summary.evidence,
        _fit(summary.outcome),
        _iso(summary.since),
        _iso(summary.latest),
        summary.stale,
        summary.tested,
        summary.passed,
        summary.isolation,
        summary.planned,
        None if obstacle is None else obstacle.kind,
        None if obstacle is None else fit(obstacle.because),
        summary.blocked_by,
        summary.score.passing,
        summary.score.combination,
        summary.score.release,
        summary.score.gone,
        summary.score.absent,
        fit(summary.score.words),
    )


def _coordinates(report: MatrixReport) -> Iterator[Row]:
    positions = report.advisor.ranks.positions
    for entry in report.snapshot.known:
        for coordinate in entry.cell.coordinates:
            yield (
                entry.verdict.cell,
                coordinate.axis,
                coordinate.number,
                positions[coordinate.axis][coordinate.version],
            )


def _runs(
    known: Iterable[Entry], answers: _Answers, measures: dict[Measures, int]
) -> Iterator[Row]:
    outcomes: dict[tuple[Outcome, ...], str] = {}
    number = 0
    for entry in known:
        counting = {id(counted.run) for counted in entry.counted}
        for run in in_order(entry.runs):
            number += 1
            if run.outcomes not in outcomes:
                outcomes[run.outcomes] = fit(" ".join(map(str, run.outcomes)))
            names, values = run.measured
            yield (
                number,
                entry.verdict.cell,
                run.started.isoformat(),
                outcomes[run.outcomes],
                id(run) in counting,
                run.seconds,
                run.isolation,
                run.tier,
                run.lock_digest,
                run.suite_digest,
                answers.of(run.capabilities),
                json.encode(tuple(values)).decode(),
                measures.setdefault(names, len(measures) + 1),
            )


def _answer(capability: Capability) -> Row:
    return (
        fit(capability.id),
        capability.status,
        _fit(capability.cause or None),
        _fit(capability.subject or None),
        _fit(capability.spelling or None),
    )


def _test(report: MatrixReport, name: str) -> Row:
    test = report.titles.get(name)
    return (
        fit(name),
        None if test is None else fit(test.title),
        None if test is None else fit(test.says),
        name in report.helpers,
    )


def _iso(day: datetime.date | None) -> str | None:
    return None if day is None else day.isoformat()


def _fit(text: str | None) -> str | None:
    return None if text is None else fit(text)
