"""The `site` room's API along the axes and in time: each version, each capability, what changed,
and what policy makes of minimum versions.
"""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, islice
from operator import itemgetter
from typing import Any, get_args

from msgspec.structs import asdict
from packaging.version import Version

from compat.advise.request import label
from compat.declare.capabilities import Described
from compat.declare.matrix import Axis, Floor, InterpreterAxis
from compat.index.release import Release
from compat.policy.calendar import Bar, Outlook, Quarter, ScheduledMove, quarters
from compat.policy.proposal import Proposal
from compat.results.answer import Answer, representative
from compat.results.compare import Change
from compat.results.record import Capability, Status
from compat.site.api.envelope import Dated, Document, SitePath, dated, head
from compat.site.edition import MatrixReport, place_of
from compat.site.history import Beside
from compat.site.paths import page
from compat.site.status import STATES, State, cell_state
from compat.value import Value

MOST_CHANGES = 500
# Ten times as many as the largest matrix here has. A document of a hundred thousand takes 15 MB,
# and each night makes every one anew.
MOST_CELLS = 4_000
STATUSES: tuple[Status, ...] = get_args(Status)
AxisVersion = tuple[str, Version]
# What a capability came to, and the cells in which it did, with their places in the plan.
_Answer = tuple[Capability, Sequence[tuple[int, Answer]]]


class ReleaseFile(Value, frozen=True, kw_only=True):
    """A release that a coordinate stands for, and when it was released, as far as the index
    tells.
    """

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

    The interpreter has none.
    """

    axis: str
    version: str
    label: str
    requires_python: str | None
    releases: tuple[ReleaseFile, ...]
    verdicts: dict[str, int]
    ranges: tuple[Range, ...]
    cells: tuple[str, ...]
    ruled_out: tuple[ObstacleCount, ...]


class CapabilityInCell(Capability, frozen=True, kw_only=True):
    """A capability in one cell."""

    cell: str
    latest: datetime.date | None
    stale: bool


class CapabilityDocument(Document, frozen=True, kw_only=True):
    """One capability: its test in the suite, and the cells that were asked.

    Of more cells than a document has room for, those come first in which it does not work;
    `left_out` is how many more there are, whose rows in the document of all cells say it too.
    `test` is null, and `title` the id, where the suite no longer has it. `of_helper` is true where
    the test looks at a file of the suite alone, and says nothing about the subject.
    """

    id: str
    title: str
    group: str
    of_helper: bool
    test: Described | None
    counts: dict[str, int]
    cells: tuple[CapabilityInCell, ...]
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


def coordinate_entries(report: MatrixReport) -> Iterator[tuple[Axis, Version, Sequence[Answer]]]:
    """Yield each coordinate of each axis with the cells that have it, in the order of the axes,
    oldest first.
    """
    entries: defaultdict[AxisVersion, list[Answer]] = defaultdict(list)
    for entry in report.snapshot.entries:
        for coordinate in entry.cell.coordinates:
            entries[coordinate.axis, coordinate.version].append(entry)
    for axis in report.snapshot.matrix.axes:
        for version in sorted(version for name, version in entries if name == axis.name):
            yield axis, version, entries[axis.name, version]


def release_document(
    report: MatrixReport, axis: Axis, version: Version, entries: Sequence[Answer]
) -> ReleaseDocument:
    releases = _releases(report, axis, version)
    published = next((r.published for r in reversed(releases) if r.published is not None), None)
    required = None if published is None else published.requires_python
    return ReleaseDocument(
        **head(report),
        axis=axis.name,
        version=str(version),
        label=label(axis),
        requires_python=None if required is None else str(required),
        releases=tuple(
            ReleaseFile(version=str(r.version), uploaded=r.uploaded, yanked=r.yanked)
            for r in releases
        ),
        verdicts=dict(sorted(Counter(entry.kind for entry in entries).items())),
        ranges=tuple(_ranges(report, axis, entries)),
        cells=tuple(
            entry.cell.id for entry in entries if entry.runs or entry.lock_digest is not None
        ),
        ruled_out=tuple(_reasons(entries)),
    )


def _releases(report: MatrixReport, axis: Axis, version: Version) -> tuple[Release, ...]:
    return (
        ()
        if isinstance(axis, InterpreterAxis)
        else report.snapshot.catalogue.members(axis, version)
    )


def _ranges(report: MatrixReport, axis: Axis, entries: Sequence[Answer]) -> Iterator[Range]:
    for other in report.snapshot.matrix.axes:
        if other.name == axis.name:
            continue
        beside: defaultdict[Version, list[Answer]] = defaultdict(list)
        for entry in entries:
            beside[entry.cell.on(other.name).version].append(entry)
        states: defaultdict[State, list[str]] = defaultdict(list)
        for version in sorted(beside):
            best = representative(beside[version])
            states[cell_state(best, report.places[place_of(best.cell)])].append(str(version))
        for state in STATES:
            if state in states:
                yield Range(axis=other.name, state=state, coordinates=tuple(states[state]))


def _reasons(entries: Sequence[Answer]) -> Iterator[ObstacleCount]:
    ruled_out: defaultdict[str, list[Answer]] = defaultdict(list)
    for entry in entries:
        if entry.obstacle is not None:
            ruled_out[entry.obstacle.kind].append(entry)
    for kind, alike in sorted(ruled_out.items()):
        because = "" if alike[-1].obstacle is None else alike[-1].obstacle.because
        yield ObstacleCount(kind=kind, count=len(alike), example=alike[-1].cell.id, because=because)


def capability_documents(report: MatrixReport) -> Iterator[CapabilityDocument]:
    """Yield what is known about each capability, and each test of the suite's helpers, sorted by
    id.
    """
    # Few cells differ in what they came to, so each answer is looked at once for all that share it.
    alike: defaultdict[tuple[int, int], list[tuple[int, Answer]]] = defaultdict(list)
    for place, entry in enumerate(report.snapshot.known):
        shared = id(entry.capabilities), id(entry.helpers)
        alike[shared].append((place, entry))
    answers: defaultdict[str, list[_Answer]] = defaultdict(list)
    for cells in alike.values():
        verdict = cells[0][1]
        for capability in (*verdict.capabilities, *verdict.helpers):
            answers[capability.id].append((capability, cells))
    for name in sorted((*report.asked, *report.helpers)):
        yield _capability(report, name, answers[name])


def _capability(report: MatrixReport, name: str, answers: Sequence[_Answer]) -> CapabilityDocument:
    test, statuses = report.titles.get(name), Counter[Status]()
    for capability, cells in answers:
        statuses[capability.status] += len(cells)
    works = [answer for answer in answers if answer[0].status == "yes"]
    others = [answer for answer in answers if answer[0].status != "yes"]
    shown = islice(chain(_in_order(others), _in_order(works)), MOST_CELLS)
    ordered = sorted(shown, key=itemgetter(0))
    return CapabilityDocument(
        **head(report),
        id=name,
        title=name if test is None else test.title,
        group=name.partition(".")[0],
        of_helper=name in report.helpers,
        test=test,
        counts={status: statuses[status] for status in STATUSES},
        cells=tuple(_in_cells(ordered)),
        left_out=statuses.total() - len(ordered),
    )


def _in_order(answers: Iterable[_Answer]) -> Iterator[tuple[int, Answer, Capability]]:
    def rows(answer: _Answer) -> Iterator[tuple[int, Answer, Capability]]:
        capability, cells = answer
        return ((place, entry, capability) for place, entry in cells)

    return merge(*map(rows, answers), key=itemgetter(0))


def _in_cells(rows: Iterable[tuple[int, Answer, Capability]]) -> Iterator[CapabilityInCell]:
    """What a capability came to in cells; many of these share an answer, taken apart once."""
    fields: dict[int, dict[str, Any]] = {}
    for _, entry, capability in rows:
        if id(capability) not in fields:
            fields[id(capability)] = asdict(capability)
        yield CapabilityInCell(
            **fields[id(capability)], cell=entry.id, latest=entry.latest, stale=entry.stale
        )


def changes_document(report: MatrixReport) -> ChangesDocument:
    shown = tuple(
        ChangeDocument(
            **asdict(event.change),
            moment=event.moment,
            outcome=None if event.verdict.outcome is None else str(event.verdict.outcome),
            beside=event.beside,
        )
        for event in report.events[:MOST_CHANGES]
    )
    left_out = len(report.events) - len(shown)
    return ChangesDocument(**head(report), changes=shown, left_out=left_out)


class LabelledFloor(Floor, frozen=True, kw_only=True):
    """The oldest coordinate of an axis that is supported, and why; `label` is what people call the
    axis.
    """

    label: str


class DatedMinimum(Value, frozen=True, kw_only=True):
    """The minimum versions from a day on, by axis: by the rules, and with those moves only that are
    proven now.
    """

    on: datetime.date
    floors: dict[str, str]
    proven: dict[str, str]


class MinimumDocument(Dated, frozen=True, kw_only=True):
    """The minimum versions now, and those that the schedule brings."""

    floors: tuple[LabelledFloor, ...]
    dated: tuple[DatedMinimum, ...]


class QuarterDocument(Value, frozen=True, kw_only=True):
    """Three months: the minimum versions on a day of it (`on`), and the ids of the moves that fall
    into it.
    """

    id: str
    page: SitePath
    begin: datetime.date
    end: datetime.date
    on: datetime.date
    floors: dict[str, str]
    proven: dict[str, str]
    moves: tuple[str, ...]


class ScheduleDocument(Dated, frozen=True, kw_only=True):
    """The coming moves up to a day, also by quarter, and every version's window."""

    until: datetime.date
    moves: tuple[ScheduledMove, ...]
    quarters: tuple[QuarterDocument, ...]
    bars: tuple[Bar, ...]


class Proposals(Dated, frozen=True, kw_only=True):
    """The proposals of the day, and where each floor can go next."""

    proposals: tuple[Proposal, ...]
    outlooks: tuple[Outlook, ...]


def minimum_document(report: MatrixReport) -> MinimumDocument:
    matrix = report.snapshot.matrix
    labels = {axis.name: label(axis) for axis in matrix.axes}
    return MinimumDocument(
        **dated(report),
        floors=tuple(
            LabelledFloor(**asdict(floor), label=labels[floor.axis]) for floor in matrix.floors
        ),
        dated=tuple(
            DatedMinimum(
                on=minimum.on, floors=_by_axis(minimum.floors), proven=_by_axis(minimum.proven)
            )
            for minimum in report.schedule.minimums
        ),
    )


def schedule_document(report: MatrixReport) -> ScheduleDocument:
    schedule = report.schedule
    return ScheduleDocument(
        **dated(report),
        until=schedule.until,
        moves=schedule.moves,
        quarters=tuple(_quarter(report, quarter) for quarter in quarters(schedule)),
        bars=schedule.bars,
    )


def proposals_document(report: MatrixReport) -> Proposals:
    return Proposals(**dated(report), proposals=report.proposals, outlooks=report.outlooks)


def _quarter(report: MatrixReport, quarter: Quarter) -> QuarterDocument:
    return QuarterDocument(
        id=quarter.id,
        page=page(report.name, "roadmap"),
        begin=quarter.begin,
        end=quarter.end,
        on=quarter.on,
        floors=_by_axis(quarter.floors),
        proven=_by_axis(quarter.proven),
        moves=tuple(move.id for move in quarter.moves),
    )


def _by_axis(floors: Iterable[tuple[str, Version]]) -> dict[str, str]:
    return {axis: str(version) for axis, version in floors}
