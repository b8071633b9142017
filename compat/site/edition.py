"""The `site` room's input and output: the sources of one edition, and the files that it becomes.

A producer is `files(edition) -> Iterator[SiteFile]`; the paths of files are those
of `paths.py`.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, wraps
from itertools import chain, combinations
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from packaging.version import Version

from compat.advise.answer import Advisor, Recommended, Unproven
from compat.advise.request import Goal, Request
from compat.declare.capabilities import Described
from compat.declare.matrix import KnownIssue
from compat.lock.lock_text import decode_lock
from compat.lock.lockfile import Lock
from compat.plan.feasible import Feasibility
from compat.policy.calendar import Outlook, Schedule, outlooks, schedule
from compat.policy.proposal import Proposal
from compat.policy.propose import proposals, proposed_extensions
from compat.results.answer import Answer
from compat.results.compare import LaneReport, lane_report
from compat.results.learnt import Audit
from compat.results.record import Capability, Record
from compat.results.snapshot import Snapshot
from compat.results.table import ReleaseColumn, columns
from compat.search.needs import Needs
from compat.search.why import PythonFloor, python_floor, subject_coordinates
from compat.site.history import Event, events
from compat.site.lock_facts import LockFacts, lock_facts
from compat.site.paths import address
from compat.site.status import StatusStyle, style_of
from compat.site.wording import day
from compat.value import LazyMapping, Value, grouped

Versions = tuple[Version, ...]
# The places of a grid, each with its entries: by the subject's version, then by the versions of the
# other package axes in their order.
Board = Mapping[Version, Mapping[Versions, tuple[Answer, ...]]]


P = ParamSpec("P")
T = TypeVar("T")


def once(
    make: Callable[Concatenate["MatrixReport", P], T],
) -> Callable[Concatenate["MatrixReport", P], T]:
    """Make what a function returns of a report once for each of its further arguments."""

    @wraps(make)
    def known(report: "MatrixReport", /, *asked: P.args, **named: P.kwargs) -> T:
        return report.snapshot.once((make, *asked), lambda: make(report, *asked, **named))

    return known


class SiteFile(Value, frozen=True, kw_only=True):
    """A file of the site with its content."""

    path: str
    content: bytes


class Listed(Value, frozen=True, kw_only=True):
    """A file as a listing names it: its path below the site's root, its sha256 in lower-case hex,
    and its size in bytes.
    """

    path: str
    sha256: str
    bytes: int


class PartSource(Protocol):
    """Where the parts of a matrix that are too many to hold are read from, when a page needs
    them. `checkout` names the checkout that ran last; empty without one.
    """

    @property
    def checkout(self) -> str: ...

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first."""

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        """Yield the records of a cell on a lock, or on any, newest first."""

    def lock_text(self, cell: str) -> str | None:
        """Return the text of a cell's lock; None when it has none."""

    def declaration(self) -> str:
        """Return the text of the matrix's declaration, whose floors proposals change."""


class MatrixReport:
    """The content of an edition about one matrix.

    `capabilities` are those that the suite describes; `suite` has the texts of its files, helpers
    to copy among them.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        parts: PartSource,
        suite: Mapping[str, str],
        capabilities: Iterable[Described],
        needs: Needs | None = None,
        audit: Audit | None = None,
        wheels: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.parts = parts
        self.suite = dict(suite)
        self.capabilities = tuple(capabilities)
        self.needs = needs or Needs()
        self.wheels = wheels or {}
        # An edition of an earlier day knows nothing of a later audit.
        is_known = audit is not None and audit.on <= snapshot.day
        self.audit = audit if is_known else None
        self._best: dict[Goal, dict[frozenset[tuple[str, Version]], Answer]] = {}
        self._last: tuple[str, tuple[Record, ...]] = ("", ())
        self.last_document: Any = None

    @property
    def name(self) -> str:
        return self.snapshot.matrix.name

    @once
    def released(self, axis: str, version: Version) -> datetime.date | None:
        (package,) = (each for each in self.snapshot.matrix.packages if each.name == axis)
        came_out = self.snapshot.catalogue.came_out(package, version)
        return None if came_out is None else came_out.date()

    @property
    def audit_sentence(self) -> str:
        return "" if self.audit is None else f"Audited: {self.audit.words(day(self.audit.on))}"

    @cached_property
    def python_floors(self) -> dict[Version, PythonFloor]:
        versions = subject_coordinates(self.snapshot)
        return {v: python_floor(self.snapshot, self.needs, v) for v in versions}

    @cached_property
    def titles(self) -> dict[str, Described]:
        return {test.id: test for test in self.capabilities}

    @cached_property
    def metrics(self) -> dict[str, str]:
        return {metric.name: metric.title for metric in self.snapshot.matrix.suite.metrics}

    def metric(self, name: str) -> str:
        return self.metrics.get(name) or name.replace("_", " ").capitalize()

    def title(self, capability: str) -> str:
        described = self.titles.get(capability)
        return capability if described is None else described.title

    def issue(self, because: str) -> KnownIssue | None:
        issues = self.snapshot.matrix.known
        return next((issue for issue in issues if issue.because == because), None)

    @cached_property
    def asked(self) -> tuple[str, ...]:
        return tuple(sorted({*self.titles, *self.results} - self.snapshot.present.helpers))

    @property
    def helpers(self) -> tuple[str, ...]:
        return tuple(sorted(self.snapshot.present.helpers))

    @cached_property
    def columns(self) -> tuple[ReleaseColumn, ...]:
        return columns(self.snapshot)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        return events(self.snapshot)

    @cached_property
    def schedule(self) -> Schedule:
        return schedule(self.snapshot, self.snapshot.day)

    @cached_property
    def proposals(self) -> tuple[Proposal, ...]:
        snapshot = self.snapshot
        return (*proposals(snapshot, snapshot.day), *proposed_extensions(snapshot, snapshot.day))

    @cached_property
    def outlooks(self) -> tuple[Outlook, ...]:
        return outlooks(self.snapshot, self.snapshot.day)

    @cached_property
    def results(self) -> dict[str, list[tuple[Answer, Capability]]]:
        return grouped(
            (capability.id, (entry, capability))
            for entry in self.snapshot.known
            for capability in (*entry.capabilities, *entry.helpers)
        )

    @cached_property
    def locks(self) -> LazyMapping[Lock]:
        known = self.snapshot.known
        cells = [entry.cell.id for entry in known if entry.lock_digest is not None]
        return LazyMapping(lambda: cells, self.lock)

    def lock(self, cell: str) -> Lock:
        text = self.parts.lock_text(cell)
        if text is None:
            raise KeyError(cell)
        return decode_lock(text, f"matrices/{self.name}/locks/{cell}.txt")

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first; those of the cell that was asked for last are
        remembered, as its page and its document need them several times.
        """
        if self._last[0] != cell:
            self._last = cell, self.parts.records(cell)
        return self._last[1]

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        if self._last[0] != cell:
            return self.parts.newest_records(cell, lock_digest)
        return (r for r in reversed(self._last[1]) if lock_digest in (None, r.lock_digest))

    @cached_property
    def lanes(self) -> LaneReport:
        return lane_report(self.snapshot, self.lock)

    @cached_property
    def advisor(self) -> Advisor:
        return Advisor(self.snapshot, self.locks)

    def lock_facts(self, lock: Lock) -> LockFacts:
        cell = lock.inputs.cell
        runs = self.snapshot.by_id[cell].runs
        return self.snapshot.once(
            ("lock-facts", cell),
            lambda: lock_facts(lock, runs, self.newest_records(cell, lock.digest)),
        )

    @once
    def answer(self, request: Request) -> Recommended | Unproven:
        return self.advisor.answer(request)

    def best(self, goal: Goal, coordinates: Mapping[str, Version]) -> Answer | None:
        """Return the best tested combination for the goal with these coordinates by axis, at most
        two; None when there is none.
        """
        if not coordinates:
            return self.advisor.first(Request(goal=goal))
        if goal not in self._best:
            best = self._best[goal] = {}
            for proof in self.advisor.fitting(Request(goal=goal)):
                own = [(c.axis, c.version) for c in proof.cell.coordinates]
                for few in chain(combinations(own, 1), combinations(own, 2)):
                    best.setdefault(frozenset(few), proof)
        return self._best[goal].get(frozenset(coordinates.items()))

    @cached_property
    def run_days(self) -> list[datetime.date]:
        """The day of the newest run that counts of each known cell that has one, in their order."""
        return sorted(each.latest for each in self.snapshot.known if each.latest is not None)

    @cached_property
    def facts(self) -> Feasibility:
        return self.snapshot.feasibility

    @cached_property
    def places(self) -> dict[str, tuple[Answer, ...]]:
        """The entries of each place, fresh before dated before relaxed, by the place's id (that of
        its fresh cell).
        """
        places = grouped((entry.cell.place, entry) for entry in self.snapshot.entries)
        return {place: tuple(entries) for place, entries in places.items()}

    def siblings(self, entry: Answer) -> tuple[Answer, ...]:
        return self.places.get(entry.cell.place, ())

    def style(self, entry: Answer) -> StatusStyle:
        return style_of(entry, self.siblings(entry))

    @cached_property
    def by_coordinate(self) -> dict[tuple[str, Version], list[Answer]]:
        entries = self.snapshot.entries
        return grouped(((c.axis, c.version), e) for e in entries for c in e.cell.coordinates)

    def entries_at(self, coordinates: Mapping[str, Version]) -> tuple[Answer, ...]:
        fewest = min(
            (self.by_coordinate.get(coordinate, []) for coordinate in coordinates.items()), key=len
        )
        return tuple(
            entry
            for entry in fewest
            if all(entry.cell.on(axis).version == coordinates[axis] for axis in coordinates)
        )

    @cached_property
    def board(self) -> dict[Version | None, Board]:
        """The places on each Python, oldest first, and last, as None, on all of them together."""
        matrix = self.snapshot.matrix
        python, subject = matrix.interpreters.name, matrix.subject
        others = [axis.name for axis in matrix.packages if axis is not matrix.subject_axis]
        boards: dict[Version | None, dict[Version, dict[Versions, tuple[Answer, ...]]]] = {}
        whole: dict[Version, dict[Versions, tuple[Answer, ...]]] = {}
        for entries in sorted(self.places.values(), key=lambda e: e[0].cell.on(python).version):
            on = {coordinate.axis: coordinate.version for coordinate in entries[0].cell.coordinates}
            beside = tuple(on[name] for name in others)
            for board in (boards.setdefault(on[python], {}), whole):
                place = board.setdefault(on[subject], {})
                place[beside] = (*place.get(beside, ()), *entries)
        return {**boards, None: whole}


class Edition:
    """The sources of one edition of the site; `day` is the date that it is published as.

    The first report is the one that the home page opens with. `repository` is the `owner/name` on
    GitHub whose issues take reports; empty where there is none.
    """

    def __init__(
        self,
        reports: Iterable[MatrixReport],
        base_url: str,
        day: datetime.date,
        repository: str = "",
    ) -> None:
        self.reports = tuple(reports)
        self.base_url = base_url.rstrip("/") + "/"
        self.day = day
        self.repository = repository
        self._by_name = {report.name: report for report in self.reports}

    def report(self, matrix: str) -> MatrixReport:
        return self._by_name[matrix]

    def url(self, path: str) -> str:
        return self.base_url + address(path)
