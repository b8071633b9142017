"""The `site` room's downloads: all verdicts, runs, capabilities and metrics of a matrix as one
SQLite file, and its known cells as CSV (RFC 4180).
"""

import csv
import datetime
import io
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import json
from msgspec.structs import astuple

from compat.results.answer import Answer
from compat.results.record import Capability
from compat.results.runs import in_order
from compat.run.outcome import Outcome
from compat.site.api.documents import cell_summary
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import fit, rendered
from compat.site.paths import cell_page, export_path

Row = tuple[Any, ...]


def downloads(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        yield SiteFile(path=export_path("sqlite", report.name), content=database(report))
        text = rendered("queries.sql", report=report, subject=report.snapshot.matrix.subject)
        yield SiteFile(path=export_path("sql", report.name), content=text)


def database(report: MatrixReport) -> bytes:
    """Return the database; what is the same gives the same bytes, as long as SQLite itself is
    the same.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "compat.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            tables = rendered("tables.sql").decode()
            connection.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; {tables}"
            )
            for table, rows in _tables(report):
                columns = connection.execute(f"SELECT count(*) FROM pragma_table_info('{table}')")
                places = ", ".join("?" * columns.fetchone()[0])
                connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
            connection.execute("COMMIT")
        return path.read_bytes()


def _tables(report: MatrixReport) -> Iterator[tuple[str, Iterable[Row]]]:
    known = report.snapshot.known
    sets, measures = dict[Any, int](), dict[Any, int]()
    results, kinds, recipes = dict[Any, int](), dict[Any, int](), dict[Any, int]()

    def kind(entry: Answer) -> int:
        obstacle = None if entry.obstacle is None else entry.obstacle.kind
        return _number(kinds, (entry.kind, entry.evidence, entry.expected, obstacle))

    yield "cells", (_cell(report, entry) for entry in known)
    yield (
        "plan_places",
        (
            (place, _number(recipes, tuple((e.cell.recipe, kind(e)) for e in planned)))
            for place, entries in report.places.items()
            if (planned := [entry for entry in entries if entry.planned])
        ),
    )
    yield (
        "plan_recipes",
        ((n, json.encode(dict(each)).decode()) for each, n in recipes.items()),
    )
    yield "plan_kinds", ((number, *kind) for kind, number in kinds.items())
    yield "coordinates", _coordinates(report)
    yield "runs", _runs(known, sets, measures)
    yield (
        "result_sets",
        (
            (number, _number(results, _result(capability)))
            for capabilities, number in sets.items()
            for capability in capabilities
        ),
    )
    yield "results", ((number, *result) for result, number in results.items())
    yield (
        "measures",
        (
            (number, place, *map(fit, measure))
            for measured, number in measures.items()
            for place, measure in enumerate(measured)
        ),
    )
    yield "suite", (_test(report, name) for name in (*report.asked, *report.helpers))


def _number(numbers: dict[Any, int], value: Any) -> int:
    """Return the number of a value, in the order in which values came; equal ones have the same."""
    return numbers.setdefault(value, len(numbers) + 1)


def _cell(report: MatrixReport, entry: Answer) -> Row:
    *known, blocked_by, score = astuple(cell_summary(report, entry))
    obstacle = entry.obstacle
    reason = (None, None) if obstacle is None else (obstacle.kind, obstacle.because)
    return (*map(_value, (*known, *reason, blocked_by, *astuple(score)[:5], score.words)),)


def _value(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return fit(value) if isinstance(value, str) else value


def _coordinates(report: MatrixReport) -> Iterator[Row]:
    positions = report.advisor.ranks.positions
    for entry in report.snapshot.known:
        for coordinate in entry.cell.coordinates:
            axis, place = coordinate.axis, positions[coordinate.axis][coordinate.version]
            yield entry.cell.id, axis, coordinate.number, place


def _runs(known: Iterable[Answer], sets: dict[Any, int], measures: dict[Any, int]) -> Iterator[Row]:
    outcomes: dict[tuple[Outcome, ...], str] = {}
    number = 0
    for entry in known:
        counting = {id(counted.run) for counted in entry.counted}
        for run in in_order(entry.runs):
            number += 1
            if run.outcomes not in outcomes:
                outcomes[run.outcomes] = fit(" ".join(map(str, run.outcomes)))
            names = tuple((m.name, m.unit, m.better) for m in run.metrics)
            yield (
                number,
                entry.cell.id,
                run.started.isoformat(),
                outcomes[run.outcomes],
                id(run) in counting,
                run.seconds,
                run.isolation,
                run.tier,
                run.lock_digest,
                run.suite_digest,
                _number(sets, run.capabilities),
                json.encode([m.value for m in run.metrics]).decode(),
                _number(measures, names),
            )


def _result(capability: Capability) -> Row:
    further = (capability.cause, capability.subject, capability.spelling)
    texts = (fit(text) if text else None for text in further)
    return (fit(capability.id), capability.status, *texts)


def _test(report: MatrixReport, name: str) -> Row:
    test = report.titles.get(name)
    words = (None, None) if test is None else (fit(test.title), fit(test.says))
    return (fit(name), *words, name in report.helpers)


# A spreadsheet takes a text that begins so for a formula:
# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def spreadsheets(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        axes, text = [axis.name for axis in report.snapshot.matrix.axes], io.StringIO()
        table = csv.writer(text)
        names = ("recipe", "words", "state", "outcome", "latest", "runs", "stale", "page")
        table.writerow(("cell", *axes, *names))
        for entry in report.snapshot.known:
            summary = cell_summary(report, entry)
            cells = (
                summary.id,
                *(entry.cell.on(axis).number for axis in axes),
                summary.recipe,
                report.style(entry).word,
                summary.state,
                summary.outcome or "",
                summary.latest or "",
                summary.tested,
                "yes" if summary.stale else "no",
                edition.url(cell_page(entry.cell)),
            )
            table.writerow([harmless(fit(str(cell))) for cell in cells])
        content = text.getvalue().encode()
        yield SiteFile(path=export_path("csv", report.name), content=content)


def harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
