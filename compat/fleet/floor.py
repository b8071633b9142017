"""Finds the lowest version that works: of an axis of a matrix, or of each direct dependency of a
project that has no matrix.

In a matrix known results are not run again; new ones are recorded like every other cell.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.capabilities import requested_names
from compat.declare.matrix import Axis
from compat.declare.parsing import choice, minor_series, parsed
from compat.errors import CompatError, NoPage, NothingToDo, ToolFailed, UsageError
from compat.fleet.batch import BatchResult, Machine, RunOptions
from compat.fleet.checkout_run import CheckoutCells
from compat.index.discover import lowest_of
from compat.index.release import Release
from compat.lock.lockfile import Lock, Refusal
from compat.lock.mixed import CheckoutLocker, usable_wheel
from compat.lock.recipe import declared, has_floor, inputs_of
from compat.lock.resolvers import requested_builds
from compat.plan.cell import Cell, Coordinate, Recipe, axis_coordinates
from compat.plan.plan import Infeasible, cell_status, checkout_cells
from compat.plan.platform import Asked, active, marker_values
from compat.results.answer import Answer
from compat.results.record import Capability, Record, owner_of
from compat.run.classify import lost_modules, missing_in
from compat.run.outcome import Failed, Passed, is_spurious, parse_outcome
from compat.search.blame import SearchStopped, may_be_chance
from compat.search.boundary import Boundary, BoundarySearch, Probe
from compat.site.wording import cause_sentence, count
from compat.value import Value
from compat.workspace import Workspace


class FloorQuestion(Value, frozen=True, kw_only=True):
    """On which axis, with which versions on the others, by which recipe, at which end.

    With `needs` (capabilities), a cell works when all of them pass; else when everything passes
    that the release supports.
    """

    axis: str
    others: Mapping[str, Version]
    recipe: Recipe = "relaxed"
    end: Literal["lowest", "highest"] = "lowest"
    needs: tuple[str, ...] = ()


class FloorAnswer(Value, frozen=True, kw_only=True):
    """The cells in the order of the search, with the position and reason of each tested one.

    Positions of `boundary` index `cells`; the first is the version least likely to work, which is
    the oldest in a search for the lowest. `because` has a cell's result.
    """

    cells: tuple[Cell, ...]
    boundary: Boundary
    because: Mapping[str, str]
    cells_run: int


def floor_cells(workspace: Workspace, question: FloorQuestion) -> tuple[Cell, ...]:
    """The least likely to work comes first."""
    matrix, catalogue = workspace.matrix, workspace.stored_or_fetched
    axes = {axis.name: axis for axis in matrix.axes}
    for name in (question.axis, *question.others):
        if name not in axes:
            raise UsageError.of(
                f"matrix {matrix.name!r} has no axis {name!r}", hint=choice(name, [*axes])
            )
    if question.axis in question.others:
        raise UsageError.of(f"axis {question.axis!r} is searched, so --at cannot fix it")
    if missing := [name for name in axes if name not in (question.axis, *question.others)]:
        ask = " ".join(f"--at {name}=VERSION" for name in missing)
        raise UsageError.of(f"no version of {' and '.join(missing)}", hint=ask)
    coordinates = {name: axis_coordinates(axis, catalogue) for name, axis in axes.items()}
    fixed = {
        name: _coordinate(axes[name], version, coordinates[name])
        for name, version in question.others.items()
    }
    searched = coordinates[question.axis]
    ordered = searched if question.end == "lowest" else tuple(reversed(searched))
    return tuple(
        Cell(
            matrix=matrix.name,
            coordinates=tuple(
                coordinate if axis.name == question.axis else fixed[axis.name]
                for axis in matrix.axes
            ),
            recipe=question.recipe,
        )
        for coordinate in ordered
    )


def boundary_of(
    workspace: Workspace,
    question: FloorQuestion,
    run_cell: Callable[[str], Mapping[str, str]],
    tell: Callable[[str], None],
    is_stopped: Callable[[], bool],
) -> FloorAnswer:
    """`run_cell` returns outcomes by cell id, empty without a result; `tell` gets the budget."""
    cells = floor_cells(workspace, question)
    search = BoundarySearch(len(cells))
    because: dict[str, str] = {}
    for number, cell in enumerate(cells):
        known = _known(workspace, cell, question)
        if known is not None:
            probe, because[cell.id] = known
            search.observe(number, probe)
    budget, runs = search.budget, 0
    position = search.next()
    if position is not None:
        tell(f"{count(len(cells), 'cell')}; at most {count(budget, 'run')}")
    while position is not None and not is_stopped():
        outcomes = run_cell(cells[position].id)
        workspace.refresh()
        probe, why = _tried(workspace, cells[position], question, outcomes)
        because[cells[position].id] = why
        runs += probe in ("works", "fails", "refuses")
        search.observe(position, probe)
        if search.budget > budget:
            budget = search.budget
            boundary = search.result
            of = boundary.flaky or boundary.exceptions
            by_turns = "is flaky" if boundary.flaky else "differs from its neighbours"
            tell(f"{cells[of[-1]].id} {by_turns}: up to {count(budget, 'run')} now")
        position = search.next()
    return FloorAnswer(cells=cells, boundary=search.result, because=because, cells_run=runs)


def _coordinate(axis: Axis, version: Version, coordinates: tuple[Coordinate, ...]) -> Coordinate:
    for coordinate in coordinates:
        if coordinate.version == version:
            return coordinate
    ends = f"it has {coordinates[0].version} to {coordinates[-1].version}" if coordinates else ""
    raise UsageError.of(f"axis {axis.name!r} has no version {version}", hint=ends)


def _known(workspace: Workspace, cell: Cell, question: FloorQuestion) -> tuple[Probe, str] | None:
    fate = cell_status(workspace.feasibility, cell)
    if isinstance(fate, Infeasible):
        return "untestable", fate.obstacle.because
    verdict = workspace.verdict(cell.id)
    if verdict.evidence != "tested" or verdict.stale:
        return None
    if verdict.kind == "flaky":
        # A series of runs starts again, because the record does not say which of them passed.
        return None
    return _judged(verdict, question)


def _judged(verdict: Answer, question: FloorQuestion) -> tuple[Probe, str]:
    because = "; ".join(verdict.reasons)
    outcome = verdict.outcome
    if isinstance(outcome, Failed) and outcome.stage in ("plan", "lock", "install"):
        return "untestable", because
    if verdict.kind == "unknown":
        return "untestable", because
    if question.needs:
        works = {c.id for c in verdict.capabilities if c.status == "yes"}
        return ("works" if works.issuperset(question.needs) else "fails"), because
    if verdict.kind == "works":
        return "works", because
    is_steady = isinstance(outcome, Failed) and not may_be_chance(outcome)
    return ("refuses" if is_steady else "fails"), because


def _tried(
    workspace: Workspace, cell: Cell, question: FloorQuestion, outcomes: Mapping[str, str]
) -> tuple[Probe, str]:
    if cell.id not in outcomes:
        return "unanswered", "it could not run"
    newest = parse_outcome(outcomes[cell.id])
    if is_spurious(newest):
        return "unanswered", str(newest)
    verdict = workspace.verdict(cell.id)
    if verdict.kind == "flaky":
        return ("fails" if isinstance(newest, Failed) else "works"), str(newest)
    return _judged(verdict, question)


def refuse_nothing(answer: FloorAnswer) -> None:
    if answer.boundary.works is None and answer.boundary.fails is None:
        reason = next(iter(answer.because.values()), "the axis has no version")
        raise NothingToDo.of(f"no cell could be tested: {reason}", hint="")


# `works`: the tests pass with the declared minimum. `false`: they fail. `untested`: it cannot be
# installed or tested here. `open`: the search was stopped. `unbounded`: none is declared.
# `elsewhere`: the dependency is not required here.
MinimumState = Literal["works", "false", "untested", "open", "unbounded", "elsewhere"]


class Minimum(Value, frozen=True, kw_only=True):
    """The result for the minimum that a project declares of a direct dependency.

    `works` is the lowest version with which its tests passed, `fails` the nearest failing one below
    it. `because` says how, or why the declared one was not tested. `known` are the versions of the
    search. `extra` names the extra that requires it.
    """

    package: str
    declared: str
    extra: str = ""
    state: MinimumState
    lowest: Version | None = None
    works: Version | None = None
    fails: Version | None = None
    because: str = ""
    known: tuple[Version, ...] = ()


class Minimums(Value, frozen=True, kw_only=True):
    """The minimum of each direct dependency, and the lock that combines those that work.

    `passing` counts the tests that pass with the newest versions; those of `failing` fail, so they
    say nothing about minimums. `chosen` counts those that the search used, if the budget did not
    suffice for all.
    """

    minimums: tuple[Minimum, ...]
    lock: Lock | None
    passing: int
    chosen: int | None
    failing: tuple[str, ...]
    runs: int
    stopped: str = ""


class Untestable(Value, frozen=True, kw_only=True):
    """Why the tests of a project cannot run on a Python.

    `modules` are missing in `files`; pytest rejects `plugins`; without `builds` there is no lock.
    `is_refused` means that the tests' requirements cannot be resolved.
    """

    because: str
    is_refused: bool = False
    modules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()


class _Attempted(Value, frozen=True, kw_only=True):
    """The result of a lock; `files` are those of the tests that it breaks."""

    probe: Probe
    because: str = ""
    lock: Lock | None = None
    files: frozenset[str] = frozenset()


# A search needs about this many runs of all tests; the fastest are chosen if the budget has less.
_RUNS = 4
# pytest compares the name of each test with each that -k leaves out.
_MOST_LEFT_OUT = 1000


def slowest(seconds: Mapping[str, float], files: Collection[str], most: float) -> frozenset[str]:
    """Return the tests without which these files take at most so long; each file keeps one."""
    slow, whole, spent = set[str](), set[str](), 0.0
    for name, taken in sorted(seconds.items(), key=lambda each: each[1]):
        file = name.partition("::")[0]
        if file not in files or (file in whole and spent + taken > most):
            slow.add(name)
        else:
            whole.add(file)
            spent += taken
    return frozenset(slow)


class MinimumSearch:
    """The search for the lowest versions with which the tests of a checkout pass.

    All dependencies start at their declared minimum. If tests fail, their files decide the search:
    one half is raised, then the other, and for a minimum that fails alone the lowest working
    version is searched. All tests then verify the result, and the files of those that fail join the
    next round. So the found minimums work together, and true ones cost two runs.
    """

    def __init__(
        self,
        cells: CheckoutCells,
        machine: Machine,
        is_stopped: Callable[[], str],
        narrowed: Callable[[Iterable[str], Iterable[str]], CheckoutCells],
        seconds_left: Callable[[], float | None],
        extras: Sequence[str] = (),
    ) -> None:
        self._cells, self._machine, self._is_stopped = cells, machine, is_stopped
        self._narrowed, self._seconds_left = narrowed, seconds_left
        self._seconds: Mapping[str, float] = {}
        self._slow: frozenset[str] = frozenset()
        facts = cells.facts
        cell = next(c for c in checkout_cells(facts) if c.recipe == "fresh")
        self._inputs = inputs_of(facts, cell)
        self._locker = CheckoutLocker(machine.locker(), cells.pin_of(cell))
        release = facts.subject_release(cell)
        assert release is not None, "the checkout is the release"
        python = cell.on(facts.matrix.interpreters.name).version
        self._asked: dict[str, Asked] = {}
        self._extra: dict[str, str] = {}
        direct = facts.requirements(release.version, python)
        markers = marker_values(facts.patch(cell), facts.matrix.platform)
        own = facts.matrix.subject_axis.normalised_name
        every = [(a, "") for a in direct]
        every += [(a, e) for e in extras for a in active(release.published, markers, (e,))]
        for asked, extra in every:
            known = self._asked.get(asked.name, asked)
            if asked.name == own or (extra and not self._extra.get(asked.name, extra)):
                continue
            # Two lines about a package constrain it together.
            both = asked.specifier & known.specifier
            self._asked[asked.name] = msgspec.structs.replace(asked, specifier=both)
            self._extra.setdefault(asked.name, extra)
        self._files = cells.workspace.suite_texts.keys()
        self._tools = requested_names(facts.matrix) - self._asked.keys() - {own}
        # The dependencies that declare a minimum.
        self._bounded = sorted(name for name, asked in self._asked.items() if has_floor(asked))
        self._published = () if release.published is None else release.published.requires_dist
        self._locked: dict[tuple[str, ...], Lock | Refusal] = {}
        self._tried: dict[str, _Attempted] = {}
        self._green: Lock | None = None
        self._newest: Lock | None = None
        self._base: Record | None = None
        self._held: dict[str, str] = {}
        self._found: dict[str, Minimum] = {}
        self._confirmed: set[str] = set()
        self._is_part = False
        self.runs = 0
        # Modules missing from tests that fail with the newest versions, too.
        self.missing: tuple[str, ...] = ()

    def baseline(self) -> Untestable | None:
        """Run the tests with the newest versions; return why they cannot run, else None."""
        python, platform = self._inputs.python, self._inputs.platform
        lowest_known = {name: r for name in self._bounded for r in self._releases(name)[:1]}
        texts = (
            f"{name}=={release.version}"
            for name, release in lowest_known.items()
            if usable_wheel(release, python, platform) is None
        )
        missing = [text for text in texts if text not in self._cells.workspace.matrix.builds]
        if missing:
            return Untestable(because="no wheel of the minimum", builds=tuple(missing))
        try:
            newest = self._lock({})
            lowest = self._lock({name: self._floor(name) for name in self._bounded})
        except ToolFailed as error:
            return Untestable(because=error.faults[0].message, is_refused=True)
        for refusal in (newest, lowest):
            if isinstance(refusal, Refusal) and refusal.cause == "source-only":
                return Untestable(because=refusal.because, builds=(refusal.subject,))
        if isinstance(newest, Refusal):
            why = f"{newest.subject}: {newest.because}"
            # The tests' requirement has no wheel either, and a plain install builds it.
            builds = requested_builds(why)
            return Untestable(because=why, is_refused=not builds, builds=builds)
        result, record = self._ran("newest", newest)
        faults = result.suite_faults
        if faults:
            modules = tuple(module for fault in faults for module in lost_modules(fault))
            files = [path for f in faults for path in re.findall(r"at (\S+\.py):\d", str(f))]
            return Untestable(because=str(faults[0]), modules=modules, files=tuple(files))
        if record is None:
            return Untestable(because="; ".join(result.untried.values()) or "no result")
        if not any(c.status == "yes" for c in record.capabilities):
            lines = map(str.strip, record.log.splitlines())
            errors = [line for line in lines if re.search(r"(?:Error|Exception|Warning)\b", line)]
            words = (cause_sentence(record.outcome), *errors[-1:])
            because = " ".join(words).replace("INTERNALERROR> ", "")
            plugins = re.findall(r"PluginValidationError: Plugin '([\w.-]+)'", record.log)
            return Untestable(because=because[:300], plugins=tuple(plugins))
        self._base, self._green, self._newest = record, newest, newest
        self._seconds = self._cells.seconds[record.cell]
        lost = (c.subject for c in record.capabilities if c.cause == "missing-module")
        self.missing = tuple(dict.fromkeys(m for text in lost for m in missing_in(text)))
        self._tried[newest.digest] = _Attempted(probe="works", lock=newest)
        return None

    def minimums(self) -> Minimums:
        assert self._base is not None, "the newest versions have run"
        stopped = ""
        try:
            self._choose()
            self._settle()
        except SearchStopped as stop:
            stopped = str(stop)
        except CompatError as error:
            stopped = "; ".join(fault.line() for fault in error.faults)
        if stopped and self._is_part:
            # What passes a part of the tests may fail the others; a failure stays one.
            self._green = self._newest
            for name, minimum in self._found.items():
                state = "open" if minimum.state == "works" else minimum.state
                self._found[name] = msgspec.structs.replace(minimum, state=state, works=None)
        status = [(c.id, c.status) for c in self._base.capabilities]
        return Minimums(
            minimums=tuple(self._every()),
            lock=self._green,
            passing=sum(each == "yes" for _, each in status),
            chosen=len(self._seconds.keys() - self._slow) if self._slow else None,
            failing=tuple(name for name, each in status if each == "no"),
            runs=self.runs,
            stopped=stopped,
        )

    def _every(self) -> Iterator[Minimum]:
        pins = {} if self._green is None else self._green.versions
        for name, asked in self._asked.items():
            state: MinimumState = "unbounded"
            why = "it declares no minimum"
            if asked.url:
                state, why = "elsewhere", "it is not from an index"
            elif any(part.operator in ("==", "===") for part in asked.specifier):
                state, why = "works", "it is pinned to one version"
            if name in self._bounded and name not in self._found:
                yield self._minimum(name, "open")
            else:
                otherwise = self._minimum(name, state, why, works=pins.get(name))
                yield self._found.get(name, otherwise)
        for text in self._published:
            requirement = parsed(text)
            if requirement is None or "extra" in str(requirement.marker or ""):
                continue
            package = canonicalize_name(requirement.name)
            if package not in self._asked:
                why = f"it is required only if {requirement.marker}"
                yield Minimum(package=package, declared=text, state="elsewhere", because=why)

    def _floor(self, name: str, bound: str = "") -> str:
        asked = self._asked[name]
        specifier = SpecifierSet(",".join(filter(None, (str(asked.specifier), bound))))
        return declared(msgspec.structs.replace(asked, specifier=specifier))

    def _minimum(self, name: str, state: MinimumState, because: str = "", **known: Any) -> Minimum:
        asked = self._asked[name]
        return Minimum(
            package=name,
            declared=declared(asked),
            extra=self._extra[name],
            state=state,
            lowest=lowest_of(asked.specifier),
            because=because,
            **known,
        )

    def _choose(self) -> None:
        """Tests that did not end are left out with their file."""
        assert self._base is not None
        left = self._seconds_left()
        outcome, order = self._base.outcome, [name.partition("::")[0] for name in self._seconds]
        is_cut = isinstance(outcome, Failed) and outcome.cause in ("wall-time", "silence")
        if not is_cut and (left is None or sum(self._seconds.values()) * _RUNS <= left):
            return
        files = {*order} - ({order[-1]} if is_cut else set())
        most = self._base.seconds if left is None else left / _RUNS / 2
        self._slow = slowest(self._seconds, files, most)
        if len(self._slow) > _MOST_LEFT_OUT:
            why = f"too short for all tests, and {len(self._slow):,} are too many to leave out"
            raise SearchStopped(f"{why}: choose with -k, or give a longer --budget")
        if not self._narrow(files if is_cut else ()):
            raise SearchStopped("the fastest tests alone fail with the newest versions, too")

    def _narrow(self, files: Collection[str]) -> bool:
        """Go on with these test files; return whether they pass alone with the newest versions."""
        self._cells = self._narrowed(files, self._slow)
        self._tried = {}
        is_whole = not self._slow and {name.partition("::")[0] for name in self._seconds} <= {
            *files
        }
        return is_whole or self._try({}, "newest").probe == "works"

    def _settle(self) -> None:
        whole = self._cells, self._tried
        files: frozenset[str] = frozenset()
        starts = {name: self._floor(name) for name in self._bounded}
        while starts:
            tried = self._try(starts, once=True)
            if tried.probe == "works" and tried.lock is not None:
                self._pass(starts, tried.lock)
                self._is_part = False
                return
            new = tried.files - files
            self._held, self._green = {}, self._newest
            if not new and files:
                # They fail only beside all others.
                self._is_part = False
                self._lower(starts)
                self._reprieve()
                return
            files |= self._quick(new)
            self._is_part = True
            try:
                if not self._narrow(files):
                    # They need the others: the next round is about all tests.
                    files |= tried.files
                    continue
                self._lower(starts)
                self._reprieve()
            finally:
                self._cells, self._tried = whole
            starts = dict(self._held)
            self._held = {}

    def _quick(self, files: Collection[str]) -> frozenset[str]:
        """The fastest of these test files: together a quarter of the time, at least one; or one."""
        by_file: dict[str, float] = {}
        for name, seconds in self._seconds.items():
            if name not in self._slow:
                file = name.partition("::")[0]
                by_file[file] = by_file.get(file, 0) + seconds
        by_time = sorted(files or by_file, key=lambda file: by_file.get(file, 0))
        spent = accumulate(by_file.get(file, 0) for file in by_time)
        most = sum(by_file.values()) / 4 if files else 0
        chosen = {f for f, seconds in zip(by_time, spent, strict=True) if seconds <= most}
        return frozenset(chosen or by_time[:1])

    def _lower(self, starts: Mapping[str, str]) -> None:
        if not starts:
            return
        names = list(starts)
        tried = self._try(starts)
        if tried.probe == "works" and tried.lock is not None:
            self._pass(starts, tried.lock)
        elif len(names) > 1:
            middle = len(names) // 2
            self._lower({name: starts[name] for name in names[:middle]})
            self._lower({name: starts[name] for name in names[middle:]})
        else:
            self._search(names[0], starts[names[0]], tried)

    def _pass(self, lowered: Mapping[str, str], lock: Lock) -> None:
        self._green = lock
        for name, floor in lowered.items():
            self._held[name] = floor
            installed = lock.versions[name]
            if floor != self._floor(name):
                self._found[name] = msgspec.structs.replace(self._found[name], works=installed)
                continue
            lowest, known = lowest_of(self._asked[name].specifier), self._versions(name)
            state: MinimumState = "works"
            because = ""
            if known and installed > known[0]:
                because = f"{installed} is the lowest that the other minimums allow"
                exact = self._lock({name: self._floor(name, f"=={known[0]}")})
                # The tests' own requirements exclude the declared minimum.
                if isinstance(exact, Refusal) and exact.cause == "suite-fault":
                    state, because = "untested", _refused(exact)
            elif lowest is not None and installed > lowest:
                because = f"{installed} is the lowest release that can be installed here"
            self._found[name] = self._minimum(name, state, because, works=installed, known=known)

    def _search(self, name: str, start: str, first: _Attempted) -> None:
        known, bound = self._versions(name), Requirement(start).specifier
        versions = [version for version in known if bound.contains(version)]
        reasons = {0: first.because}
        pins = {} if self._green is None else self._green.versions
        search = BoundarySearch(len(versions))
        if versions:
            search.observe(0, first.probe)
        if pins.get(name) in versions[1:]:
            search.observe(versions.index(pins[name]), "works")
        locks: dict[int, Lock] = {}
        stopped: SearchStopped | None = None
        try:
            while (position := search.next()) is not None:
                version = versions[position]
                lowered = {name: self._floor(name, f"=={version}")}
                tried = self._try(lowered, f"{name}-{version}")
                reasons[position] = tried.because or reasons.get(position, "")
                search.observe(position, tried.probe)
                if tried.probe == "works" and tried.lock is not None:
                    locks[position] = tried.lock
        except SearchStopped as stop:
            stopped = stop
        boundary = search.result
        works = None if boundary.works is None else versions[boundary.works]
        if works is not None and boundary.works is not None:
            self._held[name] = self._floor(name, f">={works}")
            self._green = locks.get(boundary.works, self._green)
        state: MinimumState = "open" if works is None else "false"
        if first.probe == "untestable" and boundary.fails is None:
            state = "untested"
        before = self._found.get(name)
        fails = None if boundary.fails is None else versions[boundary.fails]
        self._found[name] = self._minimum(
            name,
            state,
            reasons.get(boundary.fails or 0, first.because),
            works=works,
            fails=before.fails if fails is None and before is not None else fails,
            known=known,
        )
        if stopped is not None:
            raise stopped

    def _reprieve(self) -> None:
        """A minimum that fails beside newer versions may work with the minimums of all others."""
        for name in [n for n, known in self._found.items() if known.state == "false"]:
            lowered = {name: self._floor(name)}
            tried = self._try(lowered)
            if tried.probe == "works" and tried.lock is not None:
                self._pass(lowered, tried.lock)

    def _try(self, lowered: Mapping[str, str], label: str = "", once: bool = False) -> _Attempted:
        if why := self._is_stopped():
            raise SearchStopped(why)
        label = label or (next(iter(lowered)) if len(lowered) == 1 else "lowest")
        lock = self._lock({**self._held, **lowered})
        if isinstance(lock, Refusal):
            return _Attempted(probe="untestable", because=_refused(lock))
        if lock.digest not in self._tried:
            tried = self._judged(label, lock, once)
            if once and tried.probe != "works":
                return tried
            self._tried[lock.digest] = tried
        return self._tried[lock.digest]

    def _judged(self, label: str, lock: Lock, once: bool) -> _Attempted:
        """Run a lock. Unless `once`, a possibly random failure is run again: two confirm it."""
        probes: list[tuple[Probe, str]] = []
        known: list[Probe] = []
        files: set[str] = set()
        # Two of three decide; one is enough where it cannot be random, or was seen twice before.
        while len(known) < 4 and known.count("works") < 2 and known.count("fails") < 2:
            result, record = self._ran(label, lock)
            if result.suite_faults or record is None:
                because = "; ".join(map(str, result.suite_faults)) or "it has no result"
                return _Attempted(probe="untestable", because=because, lock=lock)
            probes.append(self._probe(record))
            files |= {c.id.partition("::")[0] for c in self._lost(record)}
            known.append(probes[-1][0])
            if once or "fails" not in known or probes[-1][1].partition(": ")[0] in self._confirmed:
                break
        probe, because = max(probes, key=lambda each: known.count(each[0]))
        if probe == "fails" and not once:
            self._confirmed.add(because.partition(": ")[0])
            # This search does not test again after two failures.
            probe = "refuses"
        return _Attempted(probe=probe, because=because, lock=lock, files=frozenset(files))

    def _probe(self, record: Record) -> tuple[Probe, str]:
        assert self._base is not None
        outcome = record.outcome
        if isinstance(outcome, Passed):
            return "works", ""
        if is_spurious(outcome):
            return "untestable", cause_sentence(outcome)
        if lost := self._lost(record):
            own = [capability for capability in lost if not self._tool_of(record, capability)]
            if not own:
                tool = self._tool_of(record, lost[0])
                return "untestable", f"the test tool {tool} fails with it: {lost[0].subject}"
            # One exception breaks many tests: the first is named.
            more = f" (and {count(len(lost) - 1, 'other test')})" if lost[1:] else ""
            why = own[0].subject or own[0].cause or ", ".join(own[0].missing)
            return "fails", f"{own[0].id} fails{more}: {why}"
        if outcome.stage == "test" and isinstance(self._base.outcome, Failed):
            return "works", ""
        if outcome == self._base.outcome:
            return "works", ""
        return ("fails" if may_be_chance(outcome) else "refuses"), cause_sentence(outcome)

    def _lost(self, record: Record) -> list[Capability]:
        assert self._base is not None
        passed = {c.id for c in self._base.capabilities if c.status == "yes"}
        return [c for c in record.capabilities if c.status != "yes" and c.id in passed]

    def _tool_of(self, record: Record, lost: Capability) -> str:
        """The package whose code raised, if only the tests require it and it is no assertion."""
        failed, file = lost.failed, lost.failed.at.partition(":")[0] if lost.failed else ""
        if failed is None or failed.cause == "assertion" or file in self._files:
            return ""
        name = owner_of(failed.at, self._cells.owners[record.cell])
        return name if name in self._tools else ""

    def _ran(self, label: str, lock: Lock) -> tuple[BatchResult, Record | None]:
        if why := self._is_stopped():
            raise SearchStopped(why)
        self.runs += 1
        cell = f"py{minor_series(lock.inputs.python)}-{label}-{lock.digest[:8]}"
        result = self._cells.run({}, self._machine, RunOptions(), {cell: lock})
        if why := self._is_stopped():
            raise SearchStopped(why)
        return result, next(reversed(self._cells.records.get(cell, ())), None)

    def _lock(self, lowered: Mapping[str, str]) -> Lock | Refusal:
        floors = tuple(sorted(lowered.values()))
        if floors not in self._locked:
            inputs = msgspec.structs.replace(self._inputs, floors=floors)
            self._locked[floors] = self._locker.lock(inputs)
        return self._locked[floors]

    def _versions(self, name: str) -> tuple[Version, ...]:
        """The releases that a minimum may be: declared, final, and installable here."""
        builds = self._cells.workspace.matrix.builds
        python, platform = self._inputs.python, self._inputs.platform
        return tuple(
            release.version
            for release in self._releases(name)
            if f"{name}=={release.version}" in builds
            or usable_wheel(release, python, platform) is not None
        )

    def _releases(self, name: str) -> list[Release]:
        try:
            releases = self._cells.workspace.source.package(name).releases
        except NoPage:
            return []
        specifier = self._asked[name].specifier
        return [
            release
            for release in releases
            if release.has_usable_file
            and not release.yanked
            # A pre-release as a minimum would make installers choose pre-releases.
            and specifier.contains(release.version, prereleases=bool(specifier.prereleases))
        ]


def _refused(refusal: Refusal) -> str:
    # In a fault of the suite, the subject is what the tests require, and through what.
    return refusal.subject if refusal.cause == "suite-fault" else refusal.because
