"""The `site` room's API along the axes: each coordinate, each capability, and what changed."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import get_args

from packaging.version import Version

from compat.advise.request import label
from compat.declare.matrix import Axis, InterpreterAxis
from compat.index.release import Release
from compat.results.record import Capability, Status
from compat.results.snapshot import Entry
from compat.site.api.axis_shapes import (
    CapabilityCell,
    CapabilityDocument,
    ChangesDocument,
    ChangeShape,
    Range,
    Reason,
    ReleaseFile,
    ReleaseShape,
)
from compat.site.api.cell_documents import head
from compat.site.edition import MatrixReport, place_of
from compat.site.status import STATES, State, cell_state, representative

MOST_CHANGES = 500
STATUSES: tuple[Status, ...] = get_args(Status)
Place = tuple[str, Version]


def coordinate_entries(volume: MatrixReport) -> Iterator[tuple[Axis, Version, Sequence[Entry]]]:
    """Yield each coordinate of each axis with the cells that have it, in the order of the axes,
    oldest first.
    """
    at: defaultdict[Place, list[Entry]] = defaultdict(list)
    for entry in volume.picture.entries:
        for one in entry.cell.coordinates:
            at[one.axis, one.version].append(entry)
    for axis in volume.picture.matrix.axes:
        for version in sorted(version for name, version in at if name == axis.name):
            yield axis, version, at[axis.name, version]


def release(
    volume: MatrixReport, axis: Axis, version: Version, entries: Sequence[Entry]
) -> ReleaseShape:
    """Return what is known about a coordinate."""
    found = _releases(volume, axis, version)
    published = next((one.published for one in reversed(found) if one.published is not None), None)
    asked = None if published is None else published.requires_python
    return ReleaseShape(
        **head(volume),
        axis=axis.name,
        version=str(version),
        label=label(axis),
        requires_python=None if asked is None else str(asked),
        releases=tuple(
            ReleaseFile(version=str(r.version), uploaded=r.uploaded, yanked=r.yanked) for r in found
        ),
        verdicts=dict(sorted(Counter(entry.verdict.kind for entry in entries).items())),
        ranges=tuple(_ranges(volume, axis, entries)),
        cells=tuple(
            entry.verdict.cell for entry in entries if entry.runs or entry.lock_digest is not None
        ),
        ruled_out=tuple(_reasons(entries)),
    )


def _releases(volume: MatrixReport, axis: Axis, version: Version) -> tuple[Release, ...]:
    return (
        () if isinstance(axis, InterpreterAxis) else volume.picture.catalogue.members(axis, version)
    )


def _ranges(volume: MatrixReport, axis: Axis, entries: Sequence[Entry]) -> Iterator[Range]:
    for other in volume.picture.matrix.axes:
        if other.name == axis.name:
            continue
        beside: defaultdict[Version, list[Entry]] = defaultdict(list)
        for entry in entries:
            beside[entry.cell.on(other.name).version].append(entry)
        states: defaultdict[State, list[str]] = defaultdict(list)
        for version in sorted(beside):
            best = representative(beside[version])
            states[cell_state(best, volume.places[place_of(best.cell)])].append(str(version))
        for state in STATES:
            if state in states:
                yield Range(axis=other.name, state=state, coordinates=tuple(states[state]))


def _reasons(entries: Sequence[Entry]) -> Iterator[Reason]:
    ruled_out: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.obstacle is not None:
            ruled_out[entry.obstacle.kind].append(entry)
    for kind, alike in sorted(ruled_out.items()):
        because = "" if alike[-1].obstacle is None else alike[-1].obstacle.because
        yield Reason(kind=kind, count=len(alike), example=alike[-1].verdict.cell, because=because)


def capabilities(volume: MatrixReport) -> Iterator[CapabilityDocument]:
    """Yield what is known about each capability, and each test of the suite's helpers, sorted by
    id.
    """
    asked: defaultdict[str, list[CapabilityCell]] = defaultdict(list)
    for entry in volume.picture.known:
        for one in (*entry.verdict.capabilities, *entry.verdict.helpers):
            asked[one.id].append(_cell(entry, one))
    for name in sorted((*volume.asked, *volume.helpers)):
        yield _capability(volume, name, asked[name])


def _capability(
    volume: MatrixReport, name: str, cells: Sequence[CapabilityCell]
) -> CapabilityDocument:
    told, statuses = volume.titles.get(name), Counter(one.status for one in cells)
    return CapabilityDocument(
        **head(volume),
        id=name,
        title=name if told is None else told.title,
        says="" if told is None else told.says,
        group=name.partition(".")[0],
        quick=told is not None and told.quick,
        of_helper=name in volume.helpers,
        looks_for=() if told is None else told.looks_for,
        file=None if told is None else told.file,
        line=None if told is None else told.line,
        code=None if told is None else told.code,
        counts={status: statuses[status] for status in STATUSES},
        cells=tuple(cells),
    )


def _cell(entry: Entry, found: Capability) -> CapabilityCell:
    return CapabilityCell(
        cell=entry.verdict.cell,
        status=found.status,
        cause=found.cause or None,
        subject=found.subject or None,
        spelling=found.spelling or None,
        missing=found.missing,
        latest=entry.verdict.latest,
        stale=entry.verdict.stale,
    )


def changes_document(volume: MatrixReport) -> ChangesDocument:
    """Return the changes of verdicts, newest first."""
    found = volume.events
    shown = tuple(
        ChangeShape(
            moment=event.moment,
            cell=event.entry.verdict.cell,
            kind=event.change.kind,
            before=event.change.before,
            after=event.change.after,
            outcome=None if event.verdict.outcome is None else str(event.verdict.outcome),
            lost=event.change.lost,
            gained=event.change.gained,
            beside=event.beside,
        )
        for event in found[:MOST_CHANGES]
    )
    return ChangesDocument(**head(volume), changes=shown, left_out=len(found) - len(shown))
