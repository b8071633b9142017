"""The `site` room's input and output: the sources of one edition, and the files that it becomes.

A producer is `files(edition) -> Iterator[SiteFile]`; the paths of files are those
of `paths.py`.
"""

import datetime
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from itertools import chain, combinations
from json import dumps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar

import msgspec
from packaging.version import Version

from compat import files
from compat.advise.answer import Advisor, Recommended, Unproven
from compat.advise.commands import Commands, commands
from compat.advise.request import Goal, Request
from compat.declare.capabilities import Described
from compat.declare.matrix import KnownIssue
from compat.declare.parsing import minor_series
from compat.files import read_if_present, write
from compat.index.release import Artifact, ReleaseSource, releases_of
from compat.lock.lockfile import Inputs, Lock, decode_lock, encode_lock
from compat.plan.feasible import Feasibility
from compat.plan.platform import accepted_tags
from compat.policy.calendar import Outlook, Schedule, outlooks, schedule
from compat.policy.evaluation import Proposal
from compat.policy.propose import proposals, proposed_extensions
from compat.results.answer import Answer, Lifted
from compat.results.compare import Change, VariantReport, compare, variant_report
from compat.results.judge import judge
from compat.results.learnt import Audit
from compat.results.record import Capability, Record
from compat.results.runs import Ran, in_order
from compat.results.snapshot import Snapshot
from compat.results.table import ReleaseColumn, columns
from compat.run.outcome import Failed, is_doubtful
from compat.search.why import Needs, PythonFloor, python_floor, subject_coordinates
from compat.site import paths
from compat.site.paths import address, lock_file
from compat.site.status import StatusStyle, style_of
from compat.site.wording import LockFacts, day, lock_facts
from compat.value import LazyMapping, Value, encode, encode_hook, grouped

# The encoding: documents as JSON, other files by their templates; characters that a format cannot
# hold are replaced.

# What XML 1.0 cannot hold, nor UTF-8: control characters but tab and line breaks, lone surrogates,
# two non-characters.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def fit(text: str) -> str:
    return text if text.isprintable() else _UNFIT.sub("\ufffd", text)


def line(text: str, most: int) -> str:
    visible = (
        " " if unicodedata.category(char)[0] == "C" else char for char in fit(text[: 10 * most])
    )
    whole = " ".join("".join(visible).split())
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def json_bytes(document: Any) -> bytes:
    try:
        return encode(document) + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold
        whole = msgspec.to_builtins(document, enc_hook=encode_hook)
        text = dumps(whole, ensure_ascii=False, separators=(",", ":"))
        return re.sub("[\ud800-\udfff]", "\ufffd", text).encode() + b"\n"


def rendered(template: str, **shown: Any) -> bytes:
    shown = {"paths": paths, **shown}
    folder = "assets/templates"
    text = files.rendered(
        "compat.site", template, shown, folder=folder, finalize=lambda value: fit(str(value))
    )
    return text.encode()


def moment(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), datetime.timezone.utc)


# The history: how the verdict of each cell changed from run to run, for pages and feeds.

Beside = Literal["lock", "suite"]


class Event(Value, frozen=True, kw_only=True):
    """A change of a cell's verdict: the moment of the run that brought it, the verdict before, and
    the one from then on.

    `beside` is what else had changed since the run before: another suite may find more, in the same
    versions.
    """

    moment: datetime.datetime
    entry: Answer
    change: Change
    before: Answer
    verdict: Answer
    beside: tuple[Beside, ...] = ()


def events(snapshot: Snapshot) -> tuple[Event, ...]:
    """Return every change up to the snapshot's day, the newest first; a cell's first verdict is a
    change of kind `new`.

    Staleness is no change: nothing ran.
    """
    every = (event for entry in snapshot.known for event in of_cell(entry, snapshot))
    return tuple(sorted(every, key=lambda event: (-event.moment.timestamp(), event.entry.id)))


def of_cell(entry: Answer, snapshot: Snapshot) -> Iterator[Event]:
    """Yield the changes of one cell, the oldest first; the result of all its runs is known.

    Who is at fault for a failure is derived from all runs.
    """
    if not entry.is_tested:
        return
    present = snapshot.present
    runs = in_order(run for run in entry.runs if run.started.date() <= present.day)
    if runs[1:]:
        present = snapshot.attribution.context(entry.cell, present)

    def after_runs(number: int) -> Answer:
        if not number:
            return Answer(cell=entry.cell)
        if number == len(runs):
            return entry
        return judge(entry.cell, runs[:number], present)

    before: Answer | None = after_runs(0)
    for number, run in enumerate(runs, 1):
        if number > 1 and _is_repeated(runs[number - 2], run):
            before = None
            continue
        before = before or after_runs(number - 1)
        after = after_runs(number)
        change = compare(before, after)
        if change.kind != "same":
            last, digests = runs[max(0, number - 2)], list[tuple[Beside, str, str]]()
            digests.append(("lock", last.lock_digest, run.lock_digest))
            digests.append(("suite", last.suite_digest, run.suite_digest))
            beside = tuple(name for name, old, new in digests if old and new and old != new)
            yield Event(
                moment=run.started,
                entry=entry,
                change=change,
                before=before,
                verdict=after,
                beside=beside,
            )
        before = after


def _is_repeated(last: Ran, run: Ran) -> bool:
    # Whether a run says what the one before it said, word for word: no verdict changes by it. A
    # doubtful outcome counts once a second run confirms it. Equal capabilities are one object in
    # the index.
    return (
        run.capabilities is last.capabilities
        and run.outcomes == last.outcomes
        and (run.lock_digest, run.suite_digest) == (last.lock_digest, last.suite_digest)
        and (run.tier, run.involved) == (last.tier, last.involved)
        and not any(isinstance(o, Failed) and is_doubtful(o) for o in run.outcomes)
    )


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
        release_day = self.snapshot.catalogue.release_day(package, version)
        return None if release_day is None else release_day.date()

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
    def lanes(self) -> VariantReport:
        return variant_report(self.snapshot, self.lock)

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


# The locks: each as a file to install from.

WHEELS = "wheels.json"
# This much of a sha256 distinguishes the few files of one release.
_SHORT = 12


def whereabouts(edition: Edition, report: MatrixReport, inputs: Inputs) -> str:
    return edition.url(lock_file(report.name, inputs.cell))


def lock_commands(
    edition: Edition, report: MatrixReport, lock: Lock, changed: Sequence[Lifted]
) -> Commands:
    place = whereabouts(edition, report, lock.inputs)
    return commands(lock, place, report.snapshot.matrix, changed)


def lock_site_files(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        for cell in report.locks:
            lock = report.locks[cell]
            cut = fitted(lock, report.wheels)
            text = report.parts.lock_text(cell) or ""
            if cut.pins != lock.pins:
                complete = f"\n# complete-digest: {lock.digest}\n# digest: "
                text = encode_lock(cut).replace("\n# digest: ", complete, 1)
            yield SiteFile(path=lock_file(report.name, cell), content=text.encode())


# The Python and platform of locks, then a pin of theirs; the files of it that fit there, each by
# the beginning of its sha256.
Wheels = Mapping[str, Mapping[str, tuple[str, ...]]]


def fitted(lock: Lock, wheels: Wheels) -> Lock:
    """Return the lock with the files that its Python and platform can take, and no others; all of a
    pin that is built there, or of which nothing is known.
    """
    known = wheels.get(_place(lock.inputs), {})

    def hashes(pin: str, every: tuple[str, ...]) -> tuple[str, ...]:
        short = known.get(pin, ())
        return tuple(sha256 for sha256 in every if sha256[:_SHORT] in short) or every

    pins = tuple(
        pin
        if pin.name in lock.builds
        else msgspec.structs.replace(pin, hashes=hashes(f"{pin.name}=={pin.version}", pin.hashes))
        for pin in lock.pins
    )
    return msgspec.structs.replace(lock, pins=pins)


def stored_wheels(folder: Path) -> Wheels:
    text = read_if_present(folder / WHEELS)
    return msgspec.json.decode(text or b"{}", type=dict[str, dict[str, tuple[str, ...]]])


def store_wheels(folder: Path, locks: Iterable[Lock], source: ReleaseSource) -> None:
    """Note beside the matrix which files of each pin the locks' Pythons and platforms can take. The
    index is asked only about packages of which that is not known.
    """
    before, fits = stored_wheels(folder), dict[str, dict[str, tuple[str, ...]]]()
    files: dict[str, dict[str, tuple[Artifact, ...]]] = {}
    for lock in locks:
        place = _place(lock.inputs)
        tags = accepted_tags(lock.inputs.python, lock.inputs.platform)
        known, own = before.get(place, {}), fits.setdefault(place, {})
        for pin in lock.pins:
            name = f"{pin.name}=={pin.version}"
            if len(pin.hashes) == 1 or pin.name in lock.builds or name in own:
                continue
            if name not in known and pin.name not in files:
                releases = releases_of(source.package, pin.name)
                files[pin.name] = {str(each.version): each.artifacts for each in releases}
            fitting = known.get(name) or sorted(
                file.sha256[:_SHORT]
                for file in files[pin.name].get(str(pin.version), ())
                if file.sha256 in pin.hashes and not tags.isdisjoint(file.tags)
            )
            if fitting:
                own[name] = tuple(fitting)
    text = msgspec.json.encode(fits, order="sorted")
    write(folder / WHEELS, msgspec.json.format(text, indent=0) + b"\n")


def _place(inputs: Inputs) -> str:
    return f"{minor_series(inputs.python)} {inputs.platform}"
