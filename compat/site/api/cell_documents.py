"""The `site` room's API about cells: all of them in a few bytes each, and everything about each
known one.
"""

import datetime
from collections.abc import Sequence

from msgspec.structs import asdict

from compat.advise.commands import Commands, commands
from compat.advise.lifted import Lifted, lifted
from compat.advise.proof import AsPublished, as_published
from compat.declare.suite_table import Tier
from compat.plan.cell import RECIPES, Recipe
from compat.plan.feasible import Obstacle
from compat.results.answer import Answer, Blame, EvidenceKind, Kind, Score
from compat.results.record import Capability, Record, StepSeconds
from compat.run.evidence import Isolation, Metric
from compat.run.outcome import Failed, Passed
from compat.site.api.envelope import (
    AxisCoordinates,
    Dated,
    Document,
    Sha256,
    SitePath,
    axes_of,
    dated,
    head,
)
from compat.site.edition import Edition, MatrixReport, place_of, shared_capabilities
from compat.site.exports.lock_files import whereabouts
from compat.site.paths import address, cell_page, lock_file
from compat.site.status import State, cell_state
from compat.site.wording import cause_sentence
from compat.value import Value

ROWS = 400
_LETTERS = {"yes": "y", "no": "n", "absent": "a"}
_CODES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class CellSummary(Value, frozen=True, kw_only=True):
    """What the API and the database say of every known cell: its verdict, and the runs that count.

    `blocked_by` is the package that keeps the cell from an answer, null where none does. `tested`
    is how many runs count, `passed` in how many of them every attempt passed; `isolation`
    is that of the newest. `planned` is false for a cell that left the plan. `score` says how much
    works, and whose fault the rest is.
    """

    id: str
    recipe: Recipe
    verdict: Kind
    state: State
    evidence: EvidenceKind
    outcome: str | None
    since: datetime.date | None
    latest: datetime.date | None
    stale: bool
    tested: int
    passed: int
    isolation: Isolation | None
    planned: bool
    blocked_by: str | None
    score: Score


class CellRow(CellSummary, frozen=True, kw_only=True):
    """What is known of a cell that has a lock or a run.

    `capabilities` has a letter for each of the index: y yes, n no, a absent (not in this version),
    - unknown.
    """

    capabilities: str


class Code(Value, frozen=True, kw_only=True):
    """What a letter of `verdicts` stands for; `obstacle` is its kind where the plan rules the cell
    out, and `expected` what tested neighbours let expect of a cell that is `unknown`.
    """

    verdict: Kind
    obstacle: str | None
    evidence: EvidenceKind
    expected: Kind | None


class Cells(Dated, frozen=True, kw_only=True):
    """The verdict of every planned cell as one letter, and a row for each that is known.

    `verdicts` goes through the product of `axes` in their order, the last one fastest, and at each
    place through `recipes`. `next` is the file with further rows; null when there is none.
    """

    axes: tuple[AxisCoordinates, ...]
    recipes: tuple[Recipe, ...]
    codes: dict[str, Code]
    verdicts: str
    capabilities: tuple[str, ...]
    cells: tuple[CellRow, ...]
    next: SitePath | None


class MoreCells(Document, frozen=True, kw_only=True):
    """Further rows of cells."""

    cells: tuple[CellRow, ...]
    next: SitePath | None


class ExplainedCapability(Capability, frozen=True, kw_only=True):
    """A capability in a cell.

    `cause` and `subject` say why not; `missing` what an absent one looked for; `spelling` the name
    under which this version has it; `explained` why, where the matrix declares it. `fault` says
    whose fault a failure is: of the `combination` (`unexplained` counts as one), of the `release`
    in every combination, or of the `index`, which no longer has what it needs; else null.
    """

    explained: str | None
    fault: Blame | None


class RunSummary(Value, frozen=True, kw_only=True):
    """A run. `outcomes` are those of its attempts; `steps` the seconds that each took, null when it
    was not reached; `tier` is how much of the suite was asked for.
    """

    started: datetime.datetime
    outcome: str
    outcomes: tuple[str, ...]
    seconds: float
    steps: StepSeconds
    isolation: Isolation
    tier: Tier
    host: str
    lock_digest: str
    suite_digest: str
    run_url: str | None


class PackageVersion(Value, frozen=True, kw_only=True):
    """A pin of the lock; the lock's file has its hashes."""

    name: str
    version: str


class LiftedRequirement(Lifted, frozen=True, kw_only=True):
    """Published requirements that a relaxed cell does not keep: what stands in their place, by
    which rule and why; `sentence` says the first two in words.
    """

    sentence: str


class Links(Value, frozen=True, kw_only=True):
    """Where more is said of a cell; `lock` is null when it has none."""

    page: SitePath
    lock: SitePath | None


class CellDocument(CellSummary, frozen=True, kw_only=True):
    """All that is known of one cell.

    `sentence` says what the outcome means, `explained` why, where the matrix declares it.
    `cautions` are what it declares of outcomes that the cell may come to on another machine.

    `log` is the excerpt of the newest run; empty when it left none.
    """

    schema_version: int
    matrix: str
    coordinates: dict[str, str]
    stage: str | None
    cause: str | None
    subject: str | None
    sentence: str | None
    explained: str | None
    cautions: tuple[str, ...]
    reasons: tuple[str, ...]
    obstacle: Obstacle | None
    capabilities: tuple[ExplainedCapability, ...]
    helpers: tuple[ExplainedCapability, ...]
    metrics: tuple[Metric, ...]
    runs: tuple[RunSummary, ...]
    log: str
    lock_digest: Sha256 | None
    packages: tuple[PackageVersion, ...]
    lifted: tuple[LiftedRequirement, ...]
    published: AsPublished
    commands: Commands | None
    links: Links


def cell_summary(report: MatrixReport, entry: Answer) -> CellSummary:
    counted = entry.counted
    return CellSummary(
        id=entry.id,
        recipe=entry.cell.recipe,
        verdict=entry.kind,
        state=cell_state(entry, report.places[place_of(entry.cell)]),
        evidence=entry.evidence,
        outcome=None if entry.outcome is None else str(entry.outcome),
        since=entry.since,
        latest=entry.latest,
        stale=entry.stale,
        tested=len(counted),
        passed=sum(all(isinstance(outcome, Passed) for outcome in run.outcomes) for run in counted),
        isolation=counted[-1].run.isolation if counted else None,
        planned=entry.planned,
        blocked_by=entry.blocked_by or None,
        score=entry.score,
    )


def chunks(report: MatrixReport) -> list[tuple[Answer, ...]]:
    known = report.snapshot.known
    return [known[start : start + ROWS] for start in range(0, len(known), ROWS)] or [()]


def cells_document(report: MatrixReport, chunk: Sequence[Answer], after: str | None) -> Cells:
    """Return the document about all cells, with its first rows; `after` is the path of the next
    document.
    """
    codes, letters = _coded(report)
    return Cells(
        **dated(report),
        axes=axes_of(report),
        recipes=RECIPES,
        codes=codes,
        verdicts=letters,
        capabilities=report.asked,
        cells=tuple(_row(report, entry) for entry in chunk),
        next=after,
    )


def more_cells(report: MatrixReport, chunk: Sequence[Answer], after: str | None) -> MoreCells:
    return MoreCells(
        **head(report), cells=tuple(_row(report, entry) for entry in chunk), next=after
    )


def last_cell_document(edition: Edition, report: MatrixReport, entry: Answer) -> CellDocument:
    """Return the document of a cell; the last one is remembered, as the page renders the same."""
    document: CellDocument | None = report.last_document
    if document is None or document.id != entry.cell.id:
        document = report.last_document = cell_document(edition, report, entry)
    return document


def cell_document(edition: Edition, report: MatrixReport, entry: Answer) -> CellDocument:
    """Return everything about a cell; its records and its lock are read."""
    outcome, lock = entry.outcome, report.locks.get(entry.cell.id)
    failed = outcome if isinstance(outcome, Failed) else None
    records, issue = report.records(entry.cell.id), report.snapshot.explained(entry)
    return CellDocument(
        **asdict(cell_summary(report, entry)),
        **head(report),
        coordinates={coordinate.axis: coordinate.number for coordinate in entry.cell.coordinates},
        stage=None if failed is None else failed.stage,
        cause=None if failed is None else failed.cause,
        subject=None if failed is None else failed.subject or None,
        sentence=None if outcome is None else cause_sentence(outcome),
        explained=None if issue is None else issue.because,
        cautions=report.snapshot.cautions(entry),
        reasons=entry.reasons,
        obstacle=entry.obstacle,
        capabilities=tuple(
            _explained(report, entry, capability) for capability in entry.capabilities
        ),
        helpers=tuple(_explained(report, entry, helper) for helper in entry.helpers),
        metrics=records[-1].metrics if records else (),
        runs=tuple(map(_run, records)),
        log=records[-1].log if records else "",
        lock_digest=entry.lock_digest or None,
        packages=()
        if lock is None
        else tuple(PackageVersion(name=pin.name, version=str(pin.version)) for pin in lock.pins),
        lifted=()
        if lock is None
        else tuple(
            LiftedRequirement(**asdict(requirement), sentence=requirement.sentence)
            for requirement in lifted(report.facts, entry.cell, lock)
        ),
        published=as_published(report.snapshot, entry.cell),
        commands=None
        if lock is None
        else commands(lock, whereabouts(edition, report, lock.inputs), report.snapshot.matrix),
        links=_links(report, entry),
    )


def _row(report: MatrixReport, entry: Answer) -> CellRow:
    letters = _letters(report)[id(entry.capabilities)]
    return CellRow(**asdict(cell_summary(report, entry)), capabilities=letters)


def _letters(report: MatrixReport) -> dict[int, str]:
    """The letters of what known cells came to, by its identity: many share one object."""

    def of(capabilities: tuple[Capability, ...]) -> str:
        letters = {capability.id: _LETTERS[capability.status] for capability in capabilities}
        return "".join(letters.get(name, "-") for name in report.asked)

    def made() -> dict[int, str]:
        shared = shared_capabilities(report.snapshot.known)
        return {identity: of(capabilities) for identity, capabilities in shared.items()}

    return report.snapshot.once("letters", made)


def _coded(report: MatrixReport) -> tuple[dict[str, Code], str]:
    kinds = [
        Code(
            verdict=entry.kind,
            obstacle=None if entry.obstacle is None else entry.obstacle.kind,
            evidence=entry.evidence,
            expected=entry.expected,
        )
        for entry in report.snapshot.entries
        if entry.planned
    ]
    letters = dict(zip(dict.fromkeys(kinds), _CODES, strict=False))
    codes = {letter: code for code, letter in letters.items()}
    return codes, "".join(letters[kind] for kind in kinds)


def _explained(report: MatrixReport, entry: Answer, capability: Capability) -> ExplainedCapability:
    issue = None if capability.status == "yes" else report.snapshot.explained(entry, capability)
    faults = {fault.id: fault.fault for fault in entry.faults}
    return ExplainedCapability(
        **asdict(capability),
        explained=None if issue is None else issue.because,
        fault=faults.get(capability.id),
    )


def _run(record: Record) -> RunSummary:
    return RunSummary(
        started=record.started,
        outcome=str(record.outcome),
        outcomes=tuple(map(str, record.outcomes)),
        seconds=record.seconds,
        steps=record.step_seconds,
        isolation=record.isolation,
        tier=record.tier,
        host=record.host,
        lock_digest=record.lock_digest,
        suite_digest=record.suite_digest,
        run_url=record.run_url or None,
    )


def _links(report: MatrixReport, entry: Answer) -> Links:
    lock = None if entry.lock_digest is None else lock_file(report.name, entry.cell.id)
    return Links(page=address(cell_page(entry.cell)), lock=lock)
