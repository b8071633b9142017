"""What the releases of a matrix need of Python, as a text that is kept beside the matrix, and what
came of runs with postponed annotations; both answer `compat find reason` without a download or a
run.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from packaging.version import InvalidVersion, Version

from compat.errors import DeclarationError
from compat.files import read_if_there
from compat.results.record import Capability, Record
from compat.run.outcome import parse_outcome
from compat.search.source_needs import Need, NeedKind, Series, Unreadable, needs_of
from compat.value import StrictValue

NEEDS = "needs.json"
FORMAT = 1
MOST_PLACES = 8  # of each kind and series; the rest is counted
_MOST_BYTES = 8_000_000
_OLDEST: Series = (3, 7)  # what is older than any interpreter that compat runs says nothing

_Words = Annotated[str, msgspec.Meta(max_length=500)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_SeriesText = Annotated[str, msgspec.Meta(pattern=r"^3\.[0-9]{1,2}$(?!\n)")]
_VersionText = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class NeedPlace(StrictValue, frozen=True, kw_only=True):
    """A line of a release's wheel that needs a Python, by what feature."""

    file: _Words
    line: _Count
    feature: _Words


class SeriesNeeds(StrictValue, frozen=True, kw_only=True):
    """What of one kind needs one series of Python: how many places, in how many files, and the
    first of them.
    """

    kind: NeedKind
    series: _SeriesText
    places: _Count
    files: _Count
    first: Annotated[tuple[NeedPlace, ...], msgspec.Meta(max_length=MOST_PLACES)]


class ReleaseNeeds(StrictValue, frozen=True, kw_only=True):
    """What the modules of a release's wheel need of Python, by kind and series, oldest first.

    `modules` were read, `unread` could not be.
    """

    release: _VersionText
    wheel: _Words
    modules: _Count
    unread: _Count
    needs: Annotated[tuple[SeriesNeeds, ...], msgspec.Meta(max_length=100)]

    def lowest(self, kind: NeedKind, tested: Version | None) -> Version | None:
        """Return the lowest series that has all that a kind needs; None where it needs nothing
        that is kept. What needs more than a Python on which the release was `tested` is left out.
        """
        series = (Version(n.series) for n in self.needs if n.kind == kind)
        return max((s for s in series if tested is None or s <= tested), default=None)

    def above(self, series: Version) -> tuple[SeriesNeeds, ...]:
        return tuple(n for n in self.needs if n.kind != "guarded" and Version(n.series) > series)


class ChangedRun(StrictValue, frozen=True, kw_only=True):
    """What came of a cell with the annotations of some files of the release postponed.

    It is evidence about a changed copy, never a verdict about the release. `files` counts what was
    changed: those that were found to need it, or all with annotations. `works` counts the
    capabilities that worked, `failing` has those that did not.
    """

    release: _VersionText
    cell: _Words
    on: datetime.date
    host: _Words
    scope: Literal["needed", "all"]
    files: _Count
    outcome: _Words
    log: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    works: _Count = 0
    failing: Annotated[tuple[Capability, ...], msgspec.Meta(max_length=2000)] = ()

    @property
    def imports(self) -> bool:
        return bool(self.works or self.failing)


class Needs(StrictValue, frozen=True, kw_only=True):
    """All that is kept of what a matrix's releases need; `read_by` names the reader's version."""

    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)] = FORMAT
    read_by: _Words = ""
    releases: Annotated[tuple[ReleaseNeeds, ...], msgspec.Meta(max_length=5000)] = ()
    changed: Annotated[tuple[ChangedRun, ...], msgspec.Meta(max_length=5000)] = ()

    def of(self, release: Version) -> ReleaseNeeds | None:
        """Return what a release needs; None where it was not read."""
        return next((r for r in self.releases if Version(r.release) == release), None)

    def changed_runs(self, release: Version) -> tuple[ChangedRun, ...]:
        return tuple(run for run in self.changed if Version(run.release) == release)

    def with_releases(self, read: Iterable[ReleaseNeeds], read_by: str) -> "Needs":
        merged = {n.release: n for n in (*self.releases, *read)}
        ordered = sorted(merged.values(), key=lambda n: Version(n.release))
        return msgspec.structs.replace(self, releases=tuple(ordered), read_by=read_by)

    def with_changed(self, run: ChangedRun) -> "Needs":
        merged = {run.cell: run for run in (*self.changed, run)}
        ordered = sorted(merged.values(), key=lambda r: (Version(r.release), r.cell))
        return msgspec.structs.replace(self, changed=tuple(ordered))


class NeedsReader:
    """Reads what modules need; a content that many releases share is read once."""

    def __init__(self) -> None:
        self._read: dict[bytes, tuple[Need, ...] | Unreadable] = {}

    def release_needs(
        self, release: Version, wheel: str, modules: Mapping[str, bytes]
    ) -> ReleaseNeeds:
        places: dict[tuple[NeedKind, Series], list[NeedPlace]] = defaultdict(list)
        unread = 0
        for path, source in sorted(modules.items()):
            needs = self._needs(source)
            if isinstance(needs, Unreadable):
                unread += 1
                continue
            for need in needs:
                if need.needs >= _OLDEST:
                    place = NeedPlace(file=path, line=need.line, feature=need.feature[:500])
                    places[need.kind, need.needs].append(place)
        return ReleaseNeeds(
            release=str(release),
            wheel=wheel,
            modules=len(modules) - unread,
            unread=unread,
            needs=tuple(
                SeriesNeeds(
                    kind=kind,
                    series=f"{series[0]}.{series[1]}",
                    places=len(lines),
                    files=len({place.file for place in lines}),
                    first=tuple(lines[:MOST_PLACES]),
                )
                for (kind, series), lines in sorted(places.items())
            ),
        )

    def files_to_postpone(self, modules: Mapping[str, bytes], python: Version) -> tuple[str, ...]:
        paths = []
        for path, source in sorted(modules.items()):
            needs = self._needs(source)
            if not isinstance(needs, Unreadable) and any(
                need.kind == "annotation" and need.needs > (python.major, python.minor)
                for need in needs
            ):
                paths.append(path)
        return tuple(paths)

    def _needs(self, source: bytes) -> tuple[Need, ...] | Unreadable:
        if source not in self._read:
            self._read[source] = needs_of(source)
        return self._read[source]


def changed_run(
    record: Record, release: Version, scope: Literal["needed", "all"], files: int
) -> ChangedRun:
    """Return what the record of a changed copy says of it; the record itself is not kept."""
    return ChangedRun(
        release=str(release),
        cell=record.cell,
        on=record.started.date(),
        host=record.host,
        scope=scope,
        files=files,
        outcome=str(record.outcome)[:500],
        log=next(iter(record.log.splitlines()), "")[:1000],
        works=sum(capability.status == "yes" for capability in record.capabilities),
        failing=tuple(c for c in record.capabilities if c.status == "no"),
    )


def encode_needs(needs: Needs) -> str:
    """Return the text of what is kept: one release, and one run, a line."""
    releases = ",\n".join(msgspec.json.encode(n).decode() for n in needs.releases)
    changed = ",\n".join(msgspec.json.encode(r).decode() for r in needs.changed)
    by = msgspec.json.encode(needs.read_by).decode()
    return (
        f'{{"format": {FORMAT}, "read_by": {by}, "releases": [\n{releases}\n],'
        f' "changed": [\n{changed}\n]}}\n'
    )


def decode_needs(text: str, source: str) -> Needs:
    """Return what the text holds; raise DeclarationError, naming `source`, when it is something
    else.
    """
    try:
        if len(text) > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES} bytes")
        needs = msgspec.json.decode(text, type=Needs)
        _refuse_unsound(needs)
    except (ValueError, RecursionError) as fault:
        hint = "compat find reason MATRIX python --all --write makes it anew once it is deleted"
        raise DeclarationError.of(f"has no needs: {fault}", path=source, hint=hint) from fault
    return needs


def kept_needs(folder: Path) -> Needs:
    """Return what is kept beside the matrix in that folder; nothing where there is no such file."""
    text = read_if_there(folder / NEEDS)
    source = f"matrices/{folder.name}/{NEEDS}"
    return Needs() if text is None else decode_needs(text.decode(errors="replace"), source)


def _refuse_unsound(needs: Needs) -> None:
    """Raise ValueError for what the types cannot say."""
    releases = [needs_of_release.release for needs_of_release in needs.releases]
    cells = [run.cell for run in needs.changed]
    if len(set(releases)) < len(releases) or len(set(cells)) < len(cells):
        raise ValueError("a release or a cell stands there twice")
    try:
        for text in (*releases, *(run.release for run in needs.changed)):
            Version(text)
    except InvalidVersion as fault:
        raise ValueError(str(fault)) from fault
    for run in needs.changed:
        parse_outcome(run.outcome)
