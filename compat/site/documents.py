"""The `site` room's API: every document with its type and its schema, and one OpenAPI file.

Documents are values of the other rooms encoded by `compat.value.encode`; a type stands here only
where the public form differs on purpose. Every key is always there; what may be null says so.
"""

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
from msgspec.structs import asdict, replace
from packaging.version import Version

from compat.advise.answer import (
    AdviceAxis,
    AdviceTable,
    AsPublished,
    ProofWords,
    ShellLines,
    advise_rows,
    as_published,
    axes_of,
)
from compat.advise.commands import Commands, shell_lines
from compat.advise.request import label
from compat.declare.capabilities import Described
from compat.declare.matrix import PLATFORMS, Axis, Floor, PlatformName, Tier, target_of
from compat.plan.cell import RECIPES, Recipe
from compat.plan.feasible import Obstacle
from compat.policy.calendar import Bar, MinimumVersions, Outlook, ScheduledMove
from compat.policy.evaluation import Proposal
from compat.results.answer import (
    Answer,
    Blame,
    EvidenceKind,
    Kind,
    Lifted,
    Score,
    lifted,
    representative,
)
from compat.results.compare import Change, VariantAlert, VariantCell
from compat.results.installs import (
    Install,
    InstallEvidence,
    InstallState,
    PlainEvidence,
    install_causes,
    plain_installs,
)
from compat.results.judge import around_first_error
from compat.results.record import Capability, Record, Status, StepSeconds
from compat.results.snapshot import cell_count
from compat.run.evidence import Isolation, Metric
from compat.run.outcome import Failed, Passed
from compat.search.why import (
    CellBelow,
    PackageFloor,
    PythonFloor,
    package_floor,
    subject_coordinates,
)
from compat.site.edition import (
    Beside,
    Edition,
    MatrixReport,
    SiteFile,
    json_bytes,
    lock_commands,
    once,
    rendered,
    whereabouts,
)
from compat.site.paths import (
    API_ROOT,
    address,
    api_path,
    cell_page,
    lock_file,
    schema_path,
)
from compat.site.status import (
    STATES,
    State,
    cell_state,
    install_reason,
    plain_command,
    works_instead,
)
from compat.site.why_words import (
    BLIND_SPOTS,
    api_gone,
    below_sentence,
    keeper_sentence,
    package_sentence,
)
from compat.site.wording import cause_sentence, failing_words
from compat.value import StrictValue, Value, grouped, schema_hook

SCHEMA_VERSION = 1
Sha256 = Annotated[
    str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$", description="a sha256 in lower-case hex")
]
SitePath = Annotated[
    str, msgspec.Meta(description="a path below the root of the site, without a leading slash")
]


class Document(Value, frozen=True, kw_only=True):
    """Base of all documents: the version of the schemas, and the name of the matrix."""

    schema_version: int
    matrix: str


class Dated(Document, frozen=True, kw_only=True):
    """Base of the documents whose content depends on the day of the edition."""

    day: datetime.date


def head(report: MatrixReport) -> dict[str, Any]:
    return {"schema_version": SCHEMA_VERSION, "matrix": report.name}


def dated(report: MatrixReport) -> dict[str, Any]:
    return {**head(report), "day": report.snapshot.day}


T = TypeVar("T", bound=Value)


def made(kind: type[T], source: object, **more: Any) -> T:
    """Return a document with those of its fields that the source has, and with further ones."""
    own = {name: getattr(source, name) for name in kind.__struct_fields__ if hasattr(source, name)}
    return kind(**(own | more))


def _axes(report: MatrixReport) -> tuple[AdviceAxis, ...]:
    matrix, catalogue = report.snapshot.matrix, report.snapshot.catalogue
    return axes_of(matrix, {axis.name: catalogue.coordinates(axis) for axis in matrix.axes})


class Counts(Value, frozen=True, kw_only=True):
    """Numbers of cells: planned; of these each once as tested, undecided by its runs, known to
    fail, inferred without a run, untried, or ruled out; with a run or a lock; stale; and by
    verdict.
    """

    planned: int
    tested: int
    undecided: int
    refused: int
    expected: int
    untried: int
    ruled_out: int
    known: int
    stale: int
    verdicts: dict[str, int]


class NotOnIndex(Value, frozen=True, kw_only=True):
    """A state of the subject without files on the index; `when` has the versions that it is for."""

    state: str
    because: str
    when: dict[str, str]


class MatrixIndex(Dated, frozen=True, kw_only=True):
    """What the API has about a matrix.

    `latest` is the day of the newest run that counts; verdicts are stale after `fresh_days`.
    `unpublished` are states of the subject that are not on the index.
    """

    title: str
    subject: str
    platform: str
    suite_digest: str
    fresh_days: int
    latest: datetime.date | None
    axes: tuple[AdviceAxis, ...]
    recipes: tuple[Recipe, ...]
    capabilities: tuple[str, ...]
    counts: Counts
    unpublished: tuple[NotOnIndex, ...]


class Advise(Dated, frozen=True, kw_only=True):
    """What the advisor answers from."""

    advice: AdviceTable


class MatrixLink(Value, frozen=True, kw_only=True):
    """A matrix of the site."""

    name: str
    title: str
    index: SitePath


class Root(Value, frozen=True, kw_only=True):
    """Where the API begins: its matrices; `files` is the list of all files with their digests."""

    schema_version: int
    day: datetime.date
    matrices: tuple[MatrixLink, ...]
    files: SitePath


def index_document(report: MatrixReport) -> MatrixIndex:
    snapshot = report.snapshot
    verdicts = Counter(entry.kind for entry in snapshot.entries if entry.planned)
    tested = [entry for entry in snapshot.known if entry.is_tested]
    days = (entry.latest for entry in tested if entry.latest is not None)
    return MatrixIndex(
        **dated(report),
        title=snapshot.matrix.title,
        subject=snapshot.matrix.subject,
        platform=snapshot.matrix.platform,
        suite_digest=snapshot.present.suite_digest,
        fresh_days=snapshot.present.fresh_days,
        latest=max(days, default=None),
        axes=_axes(report),
        recipes=RECIPES,
        capabilities=report.asked,
        unpublished=tuple(
            NotOnIndex(state=each.state, because=each.because, when=each.when.as_table())
            for each in snapshot.matrix.unpublished
        ),
        counts=Counts(
            planned=cell_count(snapshot).planned,
            **asdict(cell_count(snapshot)),
            known=len(snapshot.known),
            stale=sum(entry.stale for entry in tested),
            verdicts={kind: verdicts[kind] for kind in verdicts},
        ),
    )


ROWS = 400
_LETTERS = {"yes": "y", "no": "n", "absent": "a"}
_CODES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class CellSummary(Value, frozen=True, kw_only=True):
    """What the API and the database say of every known cell: its verdict, and the runs that count.

    `blocked_by` is the package that blocks an answer about the cell, or null. `tested` is how many
    runs count, `passed` in how many of them every attempt passed; `isolation` is that of the
    newest. `planned` is false for a cell that left the plan. `score` says how much works, and whose
    fault the rest is.
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
    `checkout` has the cells of the checkout that was tested last, the row HEAD of the grid.
    """

    axes: tuple[AdviceAxis, ...]
    recipes: tuple[Recipe, ...]
    codes: dict[str, Code]
    verdicts: str
    capabilities: tuple[str, ...]
    checkout: tuple[CellRow, ...]
    cells: tuple[CellRow, ...]
    next: SitePath | None


class MoreCells(Document, frozen=True, kw_only=True):
    """Further rows of cells."""

    cells: tuple[CellRow, ...]
    next: SitePath | None


class ExplainedCapability(Capability, frozen=True, kw_only=True):
    """A capability that fails in a cell.

    `cause` and `subject` say why; `spelling` the name under which this version has it; `explained`
    why, where the matrix declares it. `fault` says whose fault it is: of the `combination`
    (`unexplained` counts as one), of the `release` in every combination, or of the `index`, which
    no longer has what it needs; else null.
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


class Links(Value, frozen=True, kw_only=True):
    """The addresses of more about a cell; `lock` is null when it has none."""

    page: SitePath
    lock: SitePath | None


class CellDocument(CellSummary, frozen=True, kw_only=True):
    """Everything known about one cell.

    `sentence` says what the outcome means, `explained` why, where the matrix declares it.
    `cautions` are its declarations about other outcomes on other machines.

    `helpers` has the result of each test of the suite's own helpers.
    `works` has each capability that works, `absent` each that this release does not have, with
    what was looked for, `capabilities` all that was said of each that fails.

    `commands` of a cell that does not work have no `pyproject`, `project` and `colab`.
    `log` is the excerpt around the first error of the newest run with this outcome, else of the
    newest; empty when it left none. The lock's file has its packages.
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
    works: tuple[str, ...]
    absent: dict[str, tuple[str, ...]]
    capabilities: tuple[ExplainedCapability, ...]
    helpers: dict[str, Status]
    metrics: tuple[Metric, ...]
    runs: tuple[RunSummary, ...]
    log: str
    lock_digest: Sha256 | None
    lifted: tuple[Lifted, ...]
    published: AsPublished
    commands: Commands | None
    links: Links


def cell_summary(report: MatrixReport, entry: Answer) -> CellSummary:
    counted = entry.counted
    return made(
        CellSummary,
        entry,
        recipe=entry.cell.recipe,
        verdict=entry.kind,
        state=cell_state(entry, report.siblings(entry)),
        outcome=None if entry.outcome is None else str(entry.outcome),
        tested=len(counted),
        passed=sum(all(isinstance(outcome, Passed) for outcome in run.outcomes) for run in counted),
        isolation=counted[-1].run.isolation if counted else None,
        blocked_by=entry.blocked_by or None,
    )


def _cell_rows(report: MatrixReport) -> Iterator[SiteFile]:
    every = tuple(_row(report, entry) for entry in report.snapshot.known)
    starts = range(0, max(1, len(every)), ROWS)
    paths = [api_path(report.name, f"cells-{n}" if n else "cells") for n in range(len(starts))]
    for start, path, after in zip(starts, paths, (*paths[1:], None), strict=True):
        rows: dict[str, Any] = {"cells": every[start : start + ROWS], "next": after}
        if start:
            yield SiteFile(path=path, content=json_bytes(MoreCells(**head(report), **rows)))
            continue
        codes, letters = _coded(report)
        cells = Cells(
            **dated(report),
            axes=_axes(report),
            recipes=RECIPES,
            codes=codes,
            verdicts=letters,
            capabilities=report.asked,
            checkout=tuple(_row(report, entry) for entry in report.snapshot.checkout),
            **rows,
        )
        yield SiteFile(path=path, content=json_bytes(cells))


def last_cell_document(edition: Edition, report: MatrixReport, entry: Answer) -> CellDocument:
    document: CellDocument | None = report.last_document
    if document is not None and document.id == entry.cell.id:
        return document
    outcome, lock = entry.outcome, report.locks.get(entry.cell.id)
    failed = outcome if isinstance(outcome, Failed) else None
    records, explained = report.records(entry.cell.id), report.snapshot.explained
    issue, faults = explained(entry), {fault.id: fault.fault for fault in entry.faults}
    changed: tuple[Lifted, ...] = ()
    ways = None
    if lock is not None:
        changed = lifted(report.facts, entry.cell, lock)
        ways = lock_commands(edition, report, lock, changed)
        # Nobody adds to a project what does not work; it can be reproduced.
        if entry.kind not in ("works", "partial", "flaky"):
            ways = replace(ways, pyproject=(), project=(), colab=())
    ran = [record for record in records if outcome in record.outcomes] or records
    document = report.last_document = CellDocument(
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
        works=tuple(c.id for c in entry.capabilities if c.status == "yes"),
        absent={c.id: c.missing for c in entry.capabilities if c.status == "absent"},
        capabilities=tuple(
            made(
                ExplainedCapability,
                failing,
                explained=known.because if (known := explained(entry, failing)) else None,
                fault=faults.get(failing.id),
            )
            for failing in entry.capabilities
            if failing.status == "no"
        ),
        helpers={helper.id: helper.status for helper in entry.helpers},
        metrics=records[-1].metrics if records else (),
        runs=tuple(map(_run, records)),
        log=around_first_error(ran[-1].log, before=18, after=6) if ran else "",
        lock_digest=entry.lock_digest or None,
        lifted=changed,
        published=as_published(report.snapshot, entry.cell),
        commands=ways,
        links=Links(
            page=address(cell_page(entry.cell)),
            lock=None if entry.lock_digest is None else lock_file(report.name, entry.cell.id),
        ),
    )
    return document


def _row(report: MatrixReport, entry: Answer) -> CellRow:
    letters = {capability.id: _LETTERS[capability.status] for capability in entry.capabilities}
    every = "".join(letters.get(name, "-") for name in report.asked)
    return CellRow(**asdict(cell_summary(report, entry)), capabilities=every)


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


def _run(record: Record) -> RunSummary:
    outcomes, steps = tuple(map(str, record.outcomes)), record.step_seconds
    more = {"outcome": str(record.outcome), "outcomes": outcomes, "steps": steps}
    return made(RunSummary, record, **more, run_url=record.run_url or None)


MOST_CHANGES = 500
# The rows of all cells have every status in one letter, and the page of a cell has the rest.
MOST_CELLS = 40
# Days whose verdicts have an address of their own.
MOST_DAYS = 60
STATUSES: tuple[Status, ...] = get_args(Status)


class ReleaseFile(Value, frozen=True, kw_only=True):
    """A release that a coordinate stands for, and its release date, if the index has it."""

    version: str
    uploaded: datetime.datetime | None
    yanked: bool


class Range(Value, frozen=True, kw_only=True):
    """The coordinates of another axis with which the best cell is in a state."""

    axis: str
    state: State
    coordinates: tuple[str, ...]


class ObstacleCount(Value, frozen=True, kw_only=True):
    """How many cells the plan rules out by an obstacle of a kind, with the sentence of the
    newest.
    """

    kind: str
    count: int
    example: str
    because: str


class ReleaseDocument(Document, frozen=True, kw_only=True):
    """What is known about one coordinate of an axis; of a series, all its releases.

    The interpreter has none. `representative` is the cell that stands for a release of the subject,
    null where no suite ran; `requires_dist` is what its metadata requires.
    """

    axis: str
    version: str
    label: str
    requires_python: str | None
    requires_dist: tuple[str, ...]
    representative: str | None
    releases: tuple[ReleaseFile, ...]
    verdicts: dict[str, int]
    ranges: tuple[Range, ...]
    cells: tuple[str, ...]
    ruled_out: tuple[ObstacleCount, ...]


class CapabilityResult(Value, frozen=True, kw_only=True):
    """A result of a capability, and the cells that have it; the rows of all cells say of when."""

    status: Status
    cause: str
    subject: str
    missing: tuple[str, ...]
    spelling: str
    cells: tuple[str, ...]


class CapabilityDocument(Document, frozen=True, kw_only=True):
    """One capability: its test in the suite, and each result with the cells that were asked.

    Of more cells than a document has room for, those in which it does not work are named before
    others; `left_out` is how many more there are, whose rows in the document of all cells say it
    too.
    `test` is null, and `title` the id, where the suite no longer has it. `of_helper` is true where
    the test looks at a file of the suite alone, and says nothing about the subject.
    """

    id: str
    title: str
    group: str
    of_helper: bool
    test: Described | None
    counts: dict[str, int]
    results: tuple[CapabilityResult, ...]
    left_out: int


class ChangeDocument(Change, frozen=True, kw_only=True):
    """A change of a cell's verdict, by the run that started then.

    `before` is null for the first of a cell's runs.

    `beside` is what else had changed since the run before: the lock, the suite.
    """

    moment: datetime.datetime
    outcome: str | None
    beside: tuple[Beside, ...]


class ChangesDocument(Document, frozen=True, kw_only=True):
    """The changes, newest first; `left_out` is how many older ones are not listed."""

    changes: tuple[ChangeDocument, ...]
    left_out: int


class AsOfDocument(Dated, frozen=True, kw_only=True):
    """The verdict of each tested cell at the end of a day on which some verdict changed, derived
    from the runs up to that day; who is at fault for a failure is derived from all runs.
    """

    verdicts: dict[str, Kind]


@once
def as_of_documents(report: MatrixReport) -> list[AsOfDocument]:
    by_day: dict[datetime.date, dict[str, Kind]] = {}
    verdicts: dict[str, Kind] = {}
    for event in reversed(report.events):
        verdicts = verdicts | {event.entry.id: event.verdict.kind}
        by_day[event.moment.date()] = verdicts
    shown = [*by_day.items()][-MOST_DAYS:]
    return [AsOfDocument(**head(report), day=day, verdicts=kinds) for day, kinds in shown]


def release_document(
    report: MatrixReport, axis: Axis, version: Version, entries: Sequence[Answer]
) -> ReleaseDocument:
    releases = report.snapshot.catalogue.members(axis, version)
    published = next((r.published for r in reversed(releases) if r.published is not None), None)
    required = None if published is None else published.requires_python
    is_subject = axis.name == report.snapshot.matrix.subject
    column = next((each for each in report.columns if each.version == version), None)
    return ReleaseDocument(
        **head(report),
        axis=axis.name,
        version=str(version),
        label=label(axis),
        requires_python=None if required is None else str(required),
        requires_dist=() if published is None else tuple(map(str, published.requires_dist)),
        representative=column.entry.id if column is not None and is_subject else None,
        releases=tuple(made(ReleaseFile, r, version=str(r.version)) for r in releases),
        verdicts=dict(sorted(Counter(entry.kind for entry in entries).items())),
        ranges=tuple(_ranges(report, axis, entries)),
        cells=tuple(
            entry.cell.id for entry in entries if entry.runs or entry.lock_digest is not None
        ),
        ruled_out=tuple(_reasons(entries)),
    )


def _ranges(report: MatrixReport, axis: Axis, entries: Sequence[Answer]) -> Iterator[Range]:
    for other in report.snapshot.matrix.axes:
        if other.name == axis.name:
            continue
        beside = grouped((entry.cell.on(other.name).version, entry) for entry in entries)
        best = ((version, representative(beside[version])) for version in sorted(beside))
        states = grouped((cell_state(e, report.siblings(e)), str(version)) for version, e in best)
        for state in STATES:
            if state in states:
                yield Range(axis=other.name, state=state, coordinates=tuple(states[state]))


def _reasons(entries: Sequence[Answer]) -> Iterator[ObstacleCount]:
    ruled_out = grouped((e.obstacle.kind, (e, e.obstacle)) for e in entries if e.obstacle)
    for kind, alike in sorted(ruled_out.items()):
        newest, obstacle = alike[-1]
        yield ObstacleCount(
            kind=kind, count=len(alike), example=newest.cell.id, because=obstacle.because
        )


def _capability(report: MatrixReport, name: str) -> CapabilityDocument:
    test, results = report.titles.get(name), report.results.get(name, [])
    statuses = Counter(capability.status for _, capability in results)
    ordered = sorted(range(len(results)), key=lambda n: (results[n][1].status == "yes", n))
    shown = (results[number] for number in sorted(ordered[:MOST_CELLS]))
    alike = grouped((capability, entry.cell.id) for entry, capability in shown)
    return CapabilityDocument(
        **head(report),
        id=name,
        title=name if test is None else test.title,
        group=name.partition(".")[0],
        of_helper=name in report.helpers,
        test=test,
        counts={status: statuses[status] for status in STATUSES},
        results=tuple(made(CapabilityResult, c, cells=tuple(cells)) for c, cells in alike.items()),
        left_out=max(0, len(results) - MOST_CELLS),
    )


def changes_document(report: MatrixReport) -> ChangesDocument:
    shown = []
    for event in report.events[:MOST_CHANGES]:
        outcome = None if event.verdict.outcome is None else str(event.verdict.outcome)
        more = {"moment": event.moment, "outcome": outcome, "beside": event.beside}
        shown.append(made(ChangeDocument, event.change, **more))
    left_out = len(report.events) - len(shown)
    return ChangesDocument(**head(report), changes=tuple(shown), left_out=left_out)


class LabelledFloor(Floor, frozen=True, kw_only=True):
    """The oldest coordinate of an axis that is supported, and why; `label` is what people call the
    axis.
    """

    label: str


class MinimumDocument(Dated, frozen=True, kw_only=True):
    """The minimum versions now, and those that the schedule brings."""

    floors: tuple[LabelledFloor, ...]
    dated: tuple[MinimumVersions, ...]


class ScheduleDocument(Dated, frozen=True, kw_only=True):
    """The coming moves up to a day, and every version's window."""

    until: datetime.date
    moves: tuple[ScheduledMove, ...]
    bars: tuple[Bar, ...]


class Proposals(Dated, frozen=True, kw_only=True):
    """The proposals of the day, and where each floor can go next."""

    proposals: tuple[Proposal, ...]
    outlooks: tuple[Outlook, ...]


class WorksInstead(Value, frozen=True, kw_only=True):
    """The best tested combination with the same release on the same Python, and its lock file."""

    cell: str
    verdict: Kind
    lock: SitePath


class InstallRow(Value, frozen=True, kw_only=True, array_like=True):
    """A plain install on one Python, of the matrix's own platform where `platform` is empty: its
    result, and what works instead, null if nothing was tested. A list, in the order of `columns`.

    `because` is the number of its sentence in `sentences`; the rest is as the command line has it.
    """

    platform: PlatformName | Literal[""]
    release: str
    python: str
    cell: str
    state: InstallState
    evidence: InstallEvidence
    ground: PlainEvidence
    outcome: str
    because: int
    on: datetime.date | None
    witness: str
    lacking: str
    newest: str
    newest_pythons: tuple[str, ...]
    instead: WorksInstead | None = None


class PlainCause(StrictValue, frozen=True, kw_only=True):
    """One answer, with all plain installs that have it: the releases by Python, oldest first.

    `on` are the first and the last day of these answers, null where metadata says it. `example` is
    the sentence of the newest release.
    """

    platform: PlatformName | Literal[""]
    state: InstallState
    outcome: str
    example: str
    on: tuple[datetime.date, datetime.date] | None
    count: int
    releases: dict[str, tuple[str, ...]]


class OtherPlatformFacts(Value, frozen=True, kw_only=True):
    """A platform that the matrix asks about: its name, what users call it, its name in locks, and
    the label of a runner of GitHub's, empty where none is known.
    """

    name: PlatformName
    title: str
    target: str
    runner: str


class Installs(Document, frozen=True, kw_only=True):
    """The result of a plain install of each release on each Python, oldest release first: on the
    matrix's own platform, with each cause once, or on others, where nothing was run.

    `resolves` means that a resolver finds packages, not that they work; `on` is the day of a row's
    run or answer. `command` asks it, with the release in the place of `RELEASE`. `sentences` has
    each sentence once, and `columns` the names of what a row lists.
    """

    package: str
    command: str
    sentences: tuple[str, ...]
    columns: tuple[str, ...]
    installs: tuple[InstallRow, ...]
    platforms: tuple[OtherPlatformFacts, ...] = ()
    causes: tuple[PlainCause, ...] = ()


class VariantsDocument(Document, frozen=True, kw_only=True):
    """The results of a matrix's variants, each cell compared with a regular one.

    Only a matrix that declares a lane has this document. The cells of lanes colour no place of the
    grid and stand in no other document.
    """

    cells: tuple[VariantCell, ...]
    alerts: tuple[VariantAlert, ...]


def _installs(
    report: MatrixReport, installs: Sequence[tuple[Install, str]], **more: Any
) -> Installs:
    package = report.snapshot.matrix.subject_axis.package

    def instead(install: Install) -> WorksInstead | None:
        asks = not install.platform and install.state != "works"
        proof = works_instead(report.advisor, install) if asks else None
        if proof is None:
            return None
        lock = lock_file(report.name, proof.id)
        return WorksInstead(cell=proof.id, verdict=proof.kind, lock=lock)

    numbers = {text: n for n, text in enumerate(dict.fromkeys(text for _, text in installs))}
    return Installs(
        **head(report),
        package=package,
        command=plain_command(package, "RELEASE"),
        sentences=tuple(numbers),
        columns=InstallRow.__struct_fields__,
        installs=tuple(
            InstallRow(
                **install.row | {"because": numbers[text]},
                instead=instead(install),
            )
            for install, text in installs
        ),
        **more,
    )


class BelowDocument(CellBelow, frozen=True, kw_only=True):
    """A cell below, with its result in one sentence, and the API that is missing where it fails."""

    sentence: str
    api_missing: tuple[str, ...]


class PythonFloorDocument(PythonFloor, frozen=True, kw_only=True):
    """What keeps a release from an older Python; `sentence` says it."""

    sentence: str
    below: tuple[BelowDocument, ...]


class PackageFloorDocument(PackageFloor, frozen=True, kw_only=True):
    """What keeps a release from an older version of a package; `sentence` says it."""

    sentence: str
    below: tuple[BelowDocument, ...]


class FloorsDocument(Document, frozen=True, kw_only=True):
    """What keeps each release from an older Python, and from older versions of other packages of
    the matrix, oldest release first.

    `read_by` is what read the sources, empty where nothing was read; `limits` says what it cannot
    see.
    """

    package: str
    read_by: str
    limits: str
    python: tuple[PythonFloorDocument, ...]
    packages: tuple[PackageFloorDocument, ...]


def floors_document(report: MatrixReport) -> FloorsDocument:
    snapshot = report.snapshot
    subject = snapshot.matrix.subject_axis
    others = [axis for axis in snapshot.matrix.packages if axis.name != subject.name]
    return FloorsDocument(
        **head(report),
        package=subject.package,
        read_by=report.needs.read_by,
        limits=BLIND_SPOTS,
        python=tuple(map(python_document, report.python_floors.values())),
        packages=tuple(
            package_document(package_floor(snapshot, axis, version))
            for axis in others
            for version in subject_coordinates(snapshot)
        ),
    )


def python_document(floor: PythonFloor) -> PythonFloorDocument:
    below = tuple(_below(cell, "Python") for cell in floor.below)
    return made(PythonFloorDocument, floor, sentence=keeper_sentence(floor), below=below)


def package_document(floor: PackageFloor) -> PackageFloorDocument:
    below = tuple(_below(cell, floor.package) for cell in floor.below)
    return made(PackageFloorDocument, floor, sentence=package_sentence(floor), below=below)


def _below(cell: CellBelow, axis: str) -> BelowDocument:
    sentence = below_sentence(cell, axis)
    return made(BelowDocument, cell, sentence=sentence, api_missing=api_gone(cell))


_READING = frozenset(
    ("default", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
)
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Each document: its type, and where its files are; `{...}` are parts that change.
DOCUMENTS: dict[str, tuple[type[Value], str]] = {
    "root": (Root, "index"),
    "index": (MatrixIndex, "{matrix}/index"),
    "cells": (Cells, "{matrix}/cells"),
    "more-cells": (MoreCells, "{matrix}/cells-{number}"),
    "cell": (CellDocument, "{matrix}/cells/{cell}"),
    "release": (ReleaseDocument, "{matrix}/releases/{axis}/{version}"),
    "capability": (CapabilityDocument, "{matrix}/capabilities/{capability}"),
    "minimum": (MinimumDocument, "{matrix}/minimum"),
    "schedule": (ScheduleDocument, "{matrix}/schedule"),
    "proposals": (Proposals, "{matrix}/proposals"),
    "advise": (Advise, "{matrix}/advise"),
    "changes": (ChangesDocument, "{matrix}/changes"),
    "as-of": (AsOfDocument, "{matrix}/as-of/{day}"),
    "plain-installs": (Installs, "{matrix}/plain-installs"),
    "platform-installs": (Installs, "{matrix}/platform-installs"),
    "floors": (FloorsDocument, "{matrix}/floors"),
    "lanes": (VariantsDocument, "{matrix}/lanes"),
}
PATHS = {f"/{API_ROOT}/{place}.json": name for name, (_, place) in DOCUMENTS.items()}


@cache
def document_schema(kind: type[Value]) -> dict[str, Any]:
    """Return the JSON schema of a document: every key is there, and readers pass over others.

    Defaults, refused keys and bounds of the types are of what is read in; they may widen in `v1`.
    """
    schema = msgspec.json.schema(kind, schema_hook=schema_hook)
    return {**schema, "$defs": {name: _written(part) for name, part in schema["$defs"].items()}}


def _written(schema: Any) -> Any:
    match schema:
        case {"properties": properties}:
            rest = {key: part for key, part in schema.items() if key != "additionalProperties"}
            parts = {name: _written(part) for name, part in properties.items()}
            return {**rest, "properties": parts, "required": list(parts)}
        case dict():
            return {key: _written(part) for key, part in schema.items() if key not in _READING}
        case list():
            return [_written(part) for part in schema]
    return schema


def openapi(base_url: str, changelog: str) -> bytes:
    paths = {}
    for path, name in PATHS.items():
        kind, parts = DOCUMENTS[name][0], [part.partition("}")[0] for part in path.split("{")[1:]]
        about = (kind.__doc__ or "").partition("\n\n")[0]
        reference = {"$ref": f"#/components/schemas/{kind.__name__}"}
        get = {
            "operationId": name,
            "summary": " ".join(about.split()),
            "parameters": [
                {"name": part, "in": "path", "required": True, "schema": {"type": "string"}}
                for part in parts
            ],
            "responses": {
                "200": {
                    "description": "The document.",
                    "content": {"application/json": {"schema": reference}},
                }
            },
        }
        paths[path] = {"get": get}
    schemas = {
        kind.__name__: {"$ref": f"{base_url}{schema_path(name)}"}
        for name, (kind, _) in DOCUMENTS.items()
    }
    info = {
        "title": "Which versions work together",
        "version": f"{SCHEMA_VERSION}.0",
        # Its first paragraph has what the API promises.
        "description": changelog.split("\n\n")[1],
    }
    return json_bytes(
        {
            "openapi": "3.1.0",
            "info": info,
            "servers": [{"url": base_url.rstrip("/")}],
            "paths": paths,
            "components": {"schemas": schemas},
        }
    )


def api(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        yield from _matrix(edition, report)
    for name, (kind, _) in DOCUMENTS.items():
        path = schema_path(name)
        schema = {"$schema": DIALECT, "$id": edition.url(path), **document_schema(kind)}
        yield SiteFile(path=path, content=json_bytes(schema))
    changelog = rendered("CHANGELOG_API.md")
    description = openapi(edition.base_url, changelog.decode())
    yield SiteFile(path=f"{API_ROOT}/openapi.json", content=description)
    yield SiteFile(path=f"{API_ROOT}/CHANGELOG_API.md", content=changelog)
    links = tuple(
        MatrixLink(name=each.name, title=each.snapshot.matrix.title, index=api_path(each.name))
        for each in edition.reports
    )
    root = Root(schema_version=SCHEMA_VERSION, day=edition.day, matrices=links, files="files.json")
    yield SiteFile(path=f"{API_ROOT}/index.json", content=json_bytes(root))


def cell_files(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        for entry in report.snapshot.known:
            document = last_cell_document(edition, report, entry)
            path = api_path(report.name, "cells", entry.cell.id)
            yield SiteFile(path=path, content=json_bytes(document))


def _matrix(edition: Edition, report: MatrixReport) -> Iterator[SiteFile]:
    name = report.name
    yield from _cell_rows(report)
    for axis in report.snapshot.matrix.axes:
        versions = (version for of, version in report.by_coordinate if of == axis.name)
        for version in sorted(versions):
            entries = report.by_coordinate[axis.name, version]
            path = api_path(name, "releases", axis.name, str(version))
            document: Document = release_document(report, axis, version, entries)
            yield SiteFile(path=path, content=json_bytes(document))
    for id in sorted((*report.asked, *report.helpers)):
        path = api_path(name, "capabilities", id)
        yield SiteFile(path=path, content=json_bytes(_capability(report, id)))
    for past in as_of_documents(report):
        yield SiteFile(path=api_path(name, "as-of", str(past.day)), content=json_bytes(past))

    def lines(proof: Answer) -> ShellLines:
        inputs = report.lock(proof.id).inputs
        return shell_lines(inputs, whereabouts(edition, report, inputs), report.snapshot.matrix)

    def words(proof: Answer) -> ProofWords:
        return report.style(proof).word, failing_words(proof, report.title)

    labels = {axis.name: label(axis) for axis in report.snapshot.matrix.axes}
    floors = tuple(
        made(LabelledFloor, floor, label=labels[floor.axis])
        for floor in report.snapshot.matrix.floors
    )
    plain = plain_installs(report.snapshot)
    causes = tuple(PlainCause(**cause.row) for cause in install_causes(plain))
    documents: dict[str, Document] = {
        "minimum": MinimumDocument(**dated(report), floors=floors, dated=report.schedule.minimums),
        "schedule": made(ScheduleDocument, report.schedule, **dated(report)),
        "proposals": made(Proposals, report, **dated(report)),
        "advise": Advise(**dated(report), advice=advise_rows(report.advisor, lines, words)),
        "changes": changes_document(report),
        "plain-installs": _installs(report, [(i, i.because) for i in plain], causes=causes),
        "floors": floors_document(report),
    }
    if report.snapshot.matrix.platforms:
        matrix, installs = report.snapshot.matrix, report.snapshot.platform_installs
        facts = tuple(
            made(OtherPlatformFacts, PLATFORMS[n], name=n, target=target_of(n, matrix.platform))
            for n in matrix.platforms
        )
        reasons = [(install, install_reason(install)) for install in installs]
        documents["platform-installs"] = _installs(report, reasons, platforms=facts)
    if report.snapshot.matrix.has_variants:
        documents["lanes"] = made(VariantsDocument, report.lanes, **head(report))
    for title, document in documents.items():
        yield SiteFile(path=api_path(name, title), content=json_bytes(document))
    yield SiteFile(path=api_path(name), content=json_bytes(index_document(report)))
