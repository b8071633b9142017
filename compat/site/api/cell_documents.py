"""The `site` room's API about cells: all of them in a few bytes each, and everything about each
known one.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from compat.advise.commands import commands
from compat.advise.lifted import Lifted, lifted
from compat.advise.published import as_published
from compat.advise.request import label
from compat.declare.matrix import InterpreterAxis
from compat.lock.lockfile import Lock
from compat.plan.cell import RECIPES
from compat.plan.product import axis_coordinates
from compat.results.record import Capability, Record
from compat.results.snapshot import Entry
from compat.run.outcome import Failed, Passed
from compat.site.api.shapes import (
    SCHEMA_VERSION,
    AxisShape,
    CapabilityShape,
    CellRow,
    Cells,
    CellShape,
    Code,
    CommandsShape,
    LiftedShape,
    Links,
    MetricShape,
    MoreCells,
    ObstacleShape,
    PackageShape,
    PublishedShape,
    RunShape,
)
from compat.site.edition import Edition, MatrixReport, cell_page, lock_file
from compat.site.exports.lock_files import whereabouts
from compat.site.status import cell_state
from compat.site.wording import cause_sentence

ROWS = 400
_LETTERS = {"yes": "y", "no": "n", "absent": "a"}
_CODES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def axes_of(volume: MatrixReport) -> tuple[AxisShape, ...]:
    """Return the axes of a matrix with the coordinates of its plan."""
    picture = volume.picture
    return tuple(
        AxisShape(
            name=axis.name,
            short=axis.short,
            label=label(axis),
            package=None if isinstance(axis, InterpreterAxis) else axis.package,
            coordinates=tuple(
                str(one.version) for one in axis_coordinates(axis, picture.catalogue)
            ),
        )
        for axis in picture.matrix.axes
    )


def chunks(volume: MatrixReport) -> list[tuple[Entry, ...]]:
    """Return the known cells as documents have them."""
    known = volume.picture.known
    return [known[start : start + ROWS] for start in range(0, len(known), ROWS)] or [()]


def cells_document(volume: MatrixReport, chunk: Sequence[Entry], after: str | None) -> Cells:
    """Return the document about all cells, with its first rows; `after` is the path of the next
    document.
    """
    codes, letters = _coded(volume)
    return Cells(
        **dated(volume),
        axes=axes_of(volume),
        recipes=RECIPES,
        codes=codes,
        verdicts=letters,
        capabilities=volume.asked,
        cells=tuple(cell_row(volume, entry) for entry in chunk),
        next=after,
    )


def more_cells(volume: MatrixReport, chunk: Sequence[Entry], after: str | None) -> MoreCells:
    """Return a document with further rows."""
    return MoreCells(
        **head(volume), cells=tuple(cell_row(volume, entry) for entry in chunk), next=after
    )


def head(volume: MatrixReport) -> dict[str, Any]:
    """Return what every document of a matrix begins with."""
    return {"schema_version": SCHEMA_VERSION, "matrix": volume.name}


def dated(volume: MatrixReport) -> dict[str, Any]:
    """Return what a document that speaks for a day begins with."""
    return {**head(volume), "day": volume.picture.day}


def cell_row(volume: MatrixReport, entry: Entry) -> CellRow:
    """Return the row of a known cell."""
    statuses = {one.id: _LETTERS[one.status] for one in entry.verdict.capabilities}
    letters = "".join(statuses.get(name, "-") for name in volume.asked)
    return CellRow(**verdict_fields(volume, entry), capabilities=letters)


def cell(edition: Edition, volume: MatrixReport, entry: Entry) -> CellShape:
    """Return everything about a cell; its records and its lock are read."""
    outcome, lock = entry.verdict.outcome, volume.locks.get(entry.verdict.cell)
    failed = outcome if isinstance(outcome, Failed) else None
    records, issue = volume.kept.records(entry.verdict.cell), volume.picture.explained(entry)
    published = as_published(volume.picture, entry.cell)
    return CellShape(
        **head(volume),
        **verdict_fields(volume, entry),
        coordinates={one.axis: str(one.version) for one in entry.cell.coordinates},
        stage=None if failed is None else failed.stage,
        cause=None if failed is None else failed.cause,
        subject=None if failed is None else failed.subject or None,
        sentence=None if outcome is None else cause_sentence(outcome),
        explained=None if issue is None else issue.because,
        reasons=entry.verdict.reasons,
        obstacle=_obstacle(entry),
        capabilities=tuple(_capability(volume, entry, one) for one in entry.verdict.capabilities),
        helpers=tuple(_capability(volume, entry, one) for one in entry.verdict.helpers),
        metrics=_metrics(records),
        runs=tuple(_run(record) for record in records),
        log=records[-1].log if records else "",
        lock_digest=entry.lock_digest or None,
        packages=() if lock is None else tuple(_packages(lock)),
        lifted=() if lock is None else tuple(map(_lifted, lifted(volume.facts, entry.cell, lock))),
        published=PublishedShape(
            command=published.command, state=published.state, sentence=published.sentence
        ),
        commands=None if lock is None else _commands(edition, volume, lock),
        links=Links(
            page=cell_page(entry.cell).removesuffix("index.html"), lock=_lock(volume, entry)
        ),
    )


def verdict_fields(volume: MatrixReport, entry: Entry) -> dict[str, Any]:
    """Return what is told of a cell everywhere.

    Of the runs that count, one passed when each of its attempts did.
    """
    found, counted = entry.verdict, entry.counted
    return {
        "id": entry.verdict.cell,
        "recipe": entry.cell.recipe,
        "verdict": found.kind,
        "state": cell_state(entry, volume.places[entry.verdict.cell.partition("+")[0]]),
        "evidence": found.evidence,
        "outcome": None if found.outcome is None else str(found.outcome),
        "since": found.since,
        "latest": found.latest,
        "stale": found.stale,
        "tested": len(counted),
        "passed": sum(
            all(isinstance(outcome, Passed) for outcome in one.outcomes) for one in counted
        ),
        "isolation": counted[-1].run.isolation if counted else None,
        "planned": entry.planned,
    }


def _coded(volume: MatrixReport) -> tuple[dict[str, Code], str]:
    """The letters that stand for a verdict and an obstacle's kind, and the letter of each planned
    cell.
    """
    planned = [entry for entry in volume.picture.entries if entry.planned]
    kinds = [(e.verdict.kind, None if e.obstacle is None else e.obstacle.kind) for e in planned]
    letters = dict(zip(dict.fromkeys(kinds), _CODES, strict=False))
    codes = {
        letter: Code(verdict=kind, obstacle=obstacle)
        for (kind, obstacle), letter in letters.items()
    }
    return codes, "".join(letters[kind] for kind in kinds)


def _obstacle(entry: Entry) -> ObstacleShape | None:
    found = entry.obstacle
    return (
        None
        if found is None
        else ObstacleShape(kind=found.kind, between=found.between, because=found.because)
    )


def _capability(volume: MatrixReport, entry: Entry, found: Capability) -> CapabilityShape:
    issue = None if found.status == "yes" else volume.picture.explained(entry, found)
    return CapabilityShape(
        id=found.id,
        status=found.status,
        cause=found.cause or None,
        subject=found.subject or None,
        missing=found.missing,
        spelling=found.spelling or None,
        explained=None if issue is None else issue.because,
    )


def _metrics(records: Sequence[Record]) -> tuple[MetricShape, ...]:
    found = records[-1].metrics if records else ()
    return tuple(
        MetricShape(name=m.name, value=m.value, unit=m.unit, better=m.better) for m in found
    )


def _run(record: Record) -> RunShape:
    steps = record.step_seconds
    return RunShape(
        started=record.started,
        outcome=str(record.outcome),
        outcomes=tuple(map(str, record.outcomes)),
        seconds=record.seconds,
        steps={
            "install": steps.install,
            "import": steps.import_,
            "suite": steps.suite,
            "overhead": steps.overhead,
        },
        isolation=record.isolation,
        host=record.host,
        lock_digest=record.lock_digest,
        suite_digest=record.suite_digest,
        run_url=record.run_url or None,
    )


def _packages(lock: Lock) -> Iterator[PackageShape]:
    for pin in lock.pins:
        yield PackageShape(name=pin.name, version=str(pin.version))


def _lifted(one: Lifted) -> LiftedShape:
    return LiftedShape(
        packages=one.packages, sentence=one.sentence, rule=one.rule, because=one.because
    )


def _commands(edition: Edition, volume: MatrixReport, lock: Lock) -> CommandsShape:
    lines = commands(lock, whereabouts(edition, volume, lock))
    return CommandsShape(uv=lines.uv, pip=lines.pip)


def _lock(volume: MatrixReport, entry: Entry) -> str | None:
    return None if entry.lock_digest is None else lock_file(volume.name, entry.verdict.cell)
