"""Runs the locks of a search like every other cell, and reads what wheels require."""

import datetime
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version as installed_version
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from uv import find_uv_bin

from compat.declare.parsing import minor_series
from compat.errors import CompatError, NothingToDo, UsageError
from compat.files import read, write
from compat.fleet.batch import Batch, BatchResult, Machine, RunOptions
from compat.index.metadata import MetadataReader, ResponseLimits, wheel_to_read
from compat.index.release import releases_of
from compat.lock.lockfile import Lock, Pin, decode_lock, encode_pin
from compat.lock.mixed import Asks, published_requirements, tree_of, usable_wheel
from compat.lock.uv import index_arguments, run_tool
from compat.plan.platform import without_build
from compat.results.record import Record
from compat.results.record_files import RecordFiles
from compat.run.outcome import is_spurious
from compat.search.api_change import ApiChange, api_change
from compat.search.blame import BlamedPackage, SearchStopped
from compat.search.why import (
    NEEDS,
    Needs,
    ReleaseNeeds,
    encode_needs,
    release_needs,
    stored_needs,
    subject_coordinates,
    subject_release,
)
from compat.workspace import Workspace

# Reads what releases require from their wheels: what `compat find reason` stores.


def with_wheels(
    workspace: Workspace, needs: Needs, asked: Version | None, tell: Callable[[str], None]
) -> tuple[Needs, int]:
    """Return what is stored then, and how many wheels were read."""
    sources = MetadataReader(workspace.index, ResponseLimits())
    read = list[ReleaseNeeds]()
    subject, snapshot = workspace.matrix.subject_axis.package, workspace.known
    wanted = subject_coordinates(snapshot) if asked is None else (asked,)
    known = filter(None, (subject_release(snapshot, version) for version in wanted))
    for version in [r.version for r in known if asked or needs.of(r.version) is None]:
        try:
            # As the index lists it: the cached catalogue has no addresses of files.
            releases = workspace.source.package(subject).releases
            release = next((r for r in releases if r.version == version), None)
            wheel = None if release is None else wheel_to_read(release)
            if wheel is None:
                raise NothingToDo.of(f"the index has no wheel of {version}")
            modules = sources.sources(wheel)
        except CompatError as trouble:
            tell(f"{version} was not read: {trouble}")
            continue
        read.append(release_needs(version, wheel.filename, modules))
        tell(f"{version}: {read[-1].modules} modules")
    if read:
        # The Python of the reader bounds the syntax that it can read.
        series = ".".join(platform.python_version_tuple()[:2])
        name = f"vermin {installed_version('vermin')} on Python {series}"
        needs = stored_needs(workspace.folder).with_releases(read, name)
        write(workspace.folder / NEEDS, encode_needs(needs))
    return needs, len(read)


# Seconds. The wheel was installed by an earlier run, so it mostly comes from uv's cache.
_SECONDS = 600


# How often a lock is run again after a failure of the network or the machine.
RETRIES = 2


class LockLaboratory:
    """A Laboratory over a workspace.

    Runs of a lock that is no cell's are stored in `folder` by digest, so that the same search
    reuses them.
    """

    def __init__(
        self, workspace: Workspace, folder: Path, machine: Machine, budget: float | None
    ) -> None:
        """No run begins after `budget` seconds."""
        self._workspace, self._machine = workspace, machine
        self._budget, self._began = budget, machine.clock()
        folder.mkdir(parents=True, exist_ok=True)
        self._store = RecordFiles(folder)
        self._cells: dict[str, str] = {}
        self._releases: dict[str, tuple[Pin, ...]] = {}
        # Both are set by `compare`, which is called first.
        self.asks: Asks
        self._ends: tuple[Lock, Lock]
        self.runner: frozenset[str] = frozenset()
        self.runs = 0

    def end(self, name: str) -> Lock:
        if name.endswith(".txt"):
            return decode_lock(read(Path(name)).decode(errors="replace"), name)
        lock = self._workspace.lock(name)
        if lock is None:
            result = self._ran(name, name)
            lock = self._workspace.lock(name)
            if lock is None:
                hint = f"compat find repair {self._workspace.name} {name} shows the smallest change"
                outcome = result.outcomes.get(name, "it could not be locked")
                raise UsageError.of(f"{name} has no lock: {outcome}", hint=hint)
        self._cells[_key(lock)] = name
        return lock

    def compare(self, good: Lock, bad: Lock) -> None:
        if good.digest == bad.digest and good.inputs.python == bad.inputs.python:
            raise UsageError.of("GOOD and BAD install the same files: nothing differs")
        if good.inputs.platform != bad.inputs.platform:
            raise UsageError.of("GOOD and BAD are of different platforms")
        self._ends = good, bad
        self.asks = published_requirements(self._workspace.source, bad.inputs.platform)
        matrix = self._workspace.matrix
        tools = {canonicalize_name(Requirement(r).name) for r in matrix.suite.requirements}
        subjects = [axis.normalised_name for axis in matrix.packages]
        self.runner = frozenset(
            name
            for lock in (good, bad)
            for name in tree_of(lock, tools.difference(subjects), self.asks)
        ).difference(*(tree_of(lock, subjects, self.asks) for lock in (good, bad)))

    @property
    def bad(self) -> Lock:
        return self._ends[1]

    @property
    def dates(self) -> tuple[datetime.datetime, datetime.datetime] | None:
        good, bad = (lock.inputs for lock in self._ends)
        tomorrow, utc = self._workspace.day + datetime.timedelta(days=1), datetime.timezone.utc
        today = datetime.datetime.combine(tomorrow, datetime.time(), utc)
        since, until = good.as_of, bad.as_of or today
        alike = msgspec.structs.replace(good, cell=bad.cell, as_of=bad.as_of)
        if since is None or since >= until or alike != bad or good.cutoffs:
            return None
        return since, until

    def results(self, lock: Lock) -> Sequence[Record]:
        name = self._cells.get(_key(lock))
        records = (
            self._store.records(_name(lock)) if name is None else self._workspace.records(name)
        )
        digest = self._workspace.context.suite_digest
        return [
            record
            for record in records
            if record.lock_digest == lock.digest
            and record.suite_digest == digest
            and record.tier == "full"
            and not is_spurious(record.outcome)
        ]

    def run(self, lock: Lock, what: str) -> Record:
        before = len(self.results(lock))
        cell = self._cells.get(_key(lock))
        for _ in range(1 + RETRIES):
            self._machine.tell(f"run {self.runs + 1}: {what}")
            self._ran(cell or _name(lock), what, None if cell else lock)
            records = self.results(lock)
            if len(records) > before:
                return records[-1]
        causes = "network, disk, sandbox or processor"
        raise SearchStopped(f"{what} got no answer: a fault of {causes}")

    def lock_at(self, moment: datetime.datetime) -> Lock | None:
        inputs = self._ends[1].inputs
        asked = msgspec.structs.replace(inputs, as_of=moment, cell=f"{inputs.cell}-{moment:%Y%m%d}")
        answer = self._machine.locker().lock(asked)
        return answer if isinstance(answer, Lock) else None

    def releases(self, package: str) -> Sequence[Pin]:
        if package not in self._releases:
            inputs = self._ends[1].inputs
            self._releases[package] = tuple(
                Pin(
                    package,
                    release.version,
                    tuple(sorted({a.sha256 for a in release.artifacts if a.sha256})),
                )
                for release in releases_of(self._workspace.source.package, package)
                if not (release.version.is_prerelease or release.yanked)
                and usable_wheel(release, inputs.python, inputs.platform) is not None
            )
        return self._releases[package]

    def yanked(self, package: str) -> Sequence[Version]:
        return [
            release.version
            for release in releases_of(self._workspace.source.package, package)
            if release.yanked
        ]

    def api_change(
        self, package: BlamedPackage, text: str, variables: Mapping[str, str]
    ) -> ApiChange | None:
        """None for a release whose wheel is no longer available. Raises ToolFailed."""
        pins = {pin.version: pin for pin in self.releases(package.package)}
        for lock in self._ends:
            pins |= {pin.version: pin for pin in lock.pins if pin.name == package.package}
        sides = [pins[v] for v in (package.last_good, package.first_bad) if v in pins]
        if len(sides) < 2:
            return None
        inputs = self._ends[1].inputs
        with tempfile.TemporaryDirectory(prefix="compat-release-") as name:
            good, bad = Path(name, "good"), Path(name, "bad")
            for target, pin in zip((good, bad), sides, strict=True):
                Path(name, "pin.txt").write_text(f"{encode_pin(pin)}\n", encoding="utf-8")
                command = [
                    *(find_uv_bin(), "pip", "install", "--no-config", "--no-progress"),
                    *("--color=never", "--no-deps", "--only-binary=:all:", "--require-hashes"),
                    *("-r", "pin.txt", f"--target={target}", f"--python={sys.executable}"),
                    f"--python-version={inputs.python}",
                    f"--python-platform={without_build(inputs.platform)}",
                    *index_arguments(self._workspace.index),
                ]
                if run_tool(command, Path(name), variables, _SECONDS).returncode != 0:
                    return None
            names = {
                path.name.partition(".")[0]
                for path in good.iterdir()
                if path.suffix in (".py", ".so") or (path.is_dir() and not path.suffix)
            }
            modules = tuple(sorted(name for name in names if name.isidentifier()))
            is_older = sides[1].version < sides[0].version
            return api_change(str(good), str(bad), modules, text, is_older=is_older)

    def _ran(self, name: str, what: str, lock: Lock | None = None) -> BatchResult:
        """Run a cell, or a lock that is no cell's."""
        spent = (self._machine.clock() - self._began).total_seconds()
        if self._budget is not None and spent >= self._budget:
            raise SearchStopped(f"the budget is spent before {what}")
        if lock is None:
            result = self._machine.run([name], RunOptions())
        else:
            add = self._store.add
            batch = Batch(self._workspace, self._machine, RunOptions(), lambda r, _: add(r))
            result = batch.run([], {name: lock})
        if self._machine.cancel.is_set():
            raise SearchStopped("it was interrupted")
        self.runs += 1
        if result.suite_faults:
            raise SearchStopped(f"{what} has no answer: the suite or its declaration is at fault")
        if result.untried or result.lost_workers:
            reasons = "; ".join((*result.lost_workers.values(), *result.untried.values()))
            raise SearchStopped(f"{what} has no answer: {reasons}")
        self._workspace.refresh()
        return result


def _key(lock: Lock) -> str:
    return f"{minor_series(lock.inputs.python)}-{lock.digest}"


def _name(lock: Lock) -> str:
    return f"blame-py{minor_series(lock.inputs.python)}-{lock.digest[:16]}"
