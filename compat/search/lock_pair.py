"""A working and a failing lock, and what lies between them: packages first, then their releases."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from packaging.version import Version

from compat.lock.lockfile import Lock, Pin
from compat.lock.mixed import (
    INTERPRETER,
    Exchange,
    exchanged,
    exchanges_between,
    refused_by_metadata,
    repinned,
)
from compat.search.boundary import BoundarySearch, Probe
from compat.search.shrink import Culprits, Trial, Unblamed, culprits
from compat.search.trials import Laboratory, Trials
from compat.value import Value

# How much likelier a break is in a release of another major or minor number than in a patch. No
# measured figure stands behind these; they move the order of the trials, not the answer.
MAJOR, MINOR = 9.0, 3.0


class BlamedPackage(Value, frozen=True, kw_only=True):
    """A package that is to blame: its versions at both ends, and between which releases it broke.

    `last_good` and `first_bad` were run; None where the package is new, gone, or an interpreter.
    `untested` counts the releases between these two that say nothing.
    """

    package: str
    good: Version | None
    bad: Version | None
    last_good: Version | None = None
    first_bad: Version | None = None
    untested: int = 0
    brings: tuple[str, ...] = ()


class LockPair:
    """Two locks and the failure that the second has; asks the laboratory for what is between."""

    def __init__(
        self,
        good: Lock,
        bad: Lock,
        laboratory: Laboratory,
        trials: Trials,
        names: tuple[str, str] = ("GOOD", "BAD"),
    ) -> None:
        self.good, self.bad = good, bad
        self._good_name, self._bad_name = names
        self._laboratory, self._trials = laboratory, trials
        exchanges = exchanges_between(good, bad, laboratory.asks)
        self.exchanges = {exchange.package: exchange for exchange in exchanges}
        self._refused: set[frozenset[str]] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """The packages that differ, without those that come or go with them."""
        return tuple(self.exchanges)

    def run(self, changes: frozenset[str]) -> Trial:
        """Return what the good lock says with these packages as the bad one has them.

        What the packages' own metadata forbids is not run: it would mostly fail of that.
        """
        lock = self._mixed(changes)
        ends = self.good, self.bad
        is_known = bool(self._laboratory.results(lock))
        if changes and not is_known and refused_by_metadata(lock, ends, self._laboratory.asks):
            self._refused.add(changes)
            return "unresolved"
        return self.run_anyway(changes)

    def run_anyway(self, changes: frozenset[str]) -> Trial:
        """Return the same, whatever the metadata says: it may forbid what would run."""
        return self._trials.of(self._mixed(changes), self._described(changes))

    def culprits(self, first: Sequence[Sequence[str]]) -> Culprits | Unblamed:
        """Return the packages that are to blame; those in `first` are under suspicion."""
        answer = culprits(self.names, self.run, first)
        if isinstance(answer, Unblamed) or answer.is_minimal or not self._refused:
            return answer

        # Few are left, so the code is asked where the metadata said no.
        return culprits(answer.changes, self.run_anyway)

    def broken_in(self, changes: Sequence[str], name: str) -> BlamedPackage:
        """Return between which releases a package broke, while the others of `changes` are as the
        bad lock has them.
        """
        exchange = self.exchanges[name]
        if name == INTERPRETER or exchange.good is None or exchange.bad is None:
            return BlamedPackage(
                package=name, good=exchange.good, bad=exchange.bad, brings=exchange.brings
            )
        versions = [exchange.bad, *self._between(exchange), exchange.good]
        search = BoundarySearch(len(versions), _weights(versions))
        search.observe(0, "fails")
        search.observe(len(versions) - 1, "works")
        while not _is_adjacent(search) and (position := search.next()) is not None:
            search.observe(position, self._release_trial(changes, name, versions[position]))
        boundary = search.result
        works = boundary.works if boundary.works is not None else len(versions) - 1
        fails = boundary.fails if boundary.fails is not None else 0
        return BlamedPackage(
            package=name,
            good=exchange.good,
            bad=exchange.bad,
            brings=exchange.brings,
            last_good=versions[works],
            first_bad=versions[fails],
            untested=works - fails - 1,
        )

    def pin(self, name: str, version: Version) -> Pin | None:
        pins = [*self.good.pins, *self.bad.pins, *self._laboratory.releases(name)]
        return next((pin for pin in pins if (pin.name, pin.version) == (name, version)), None)

    def _release_trial(self, changes: Sequence[str], name: str, version: Version) -> Probe:
        pins = {name: self.pin(name, version)}
        for base, end in (
            (self._mixed(frozenset(changes)), self._good_name),
            # Where the good world cannot live with a release, the bad one may.
            (self.bad, self._bad_name),
        ):
            others = [other for other in changes if other != name and base is not self.bad]
            what = f"{end} with {', '.join([f'{name} {version}', *others])}"
            trial = self._trials.of(repinned(base, pins, "blame"), what)
            if trial != "unresolved":
                return trial
        return "untestable"

    def _between(self, exchange: Exchange) -> list[Version]:
        """The releases between the bad version and the good one, the nearest to the bad first."""
        assert exchange.good is not None
        assert exchange.bad is not None
        low, high = sorted((exchange.good, exchange.bad))
        releases = self._laboratory.releases(exchange.package)
        inner = sorted({pin.version for pin in releases if low < pin.version < high})
        return inner if exchange.bad < exchange.good else inner[::-1]

    def _mixed(self, changes: frozenset[str]) -> Lock:
        packages = [name for change in changes for name in self.exchanges[change].packages]
        return exchanged(self.good, self.bad, packages, "blame")

    def _described(self, changes: frozenset[str]) -> str:
        if len(changes) == len(self.exchanges):
            return self._bad_name
        left = len(self.exchanges) - len(changes)
        if len(changes) > 1 and left <= 3:
            moved_back = [name for name in self.exchanges if name not in changes]
            return f"{self._bad_name} with {_versions(moved_back, self.exchanges, 'good')}"
        return f"{self._good_name} with {_versions(sorted(changes), self.exchanges, 'bad')}"


def _versions(names: Sequence[str], exchanges: Mapping[str, Exchange], side: str) -> str:
    """The packages with their versions at one end; more than a few are counted."""
    if len(names) > 3:
        return f"{len(names)} packages exchanged"
    versions = {name: getattr(exchanges[name], side) for name in names}
    return ", ".join(f"{name} {v}" if v else f"no {name}" for name, v in versions.items())


def _is_adjacent(search: BoundarySearch) -> bool:
    """Whether nothing that can be tried is left between a release that works and its successor
    that fails.
    """
    boundary = search.result
    if boundary.works is None or boundary.fails is None:
        return False
    between = set(range(boundary.fails + 1, boundary.works))
    return between <= {*boundary.untestable, *boundary.unanswered}


def _weights(versions: Sequence[Version]) -> list[float]:
    """How likely each position is the first that works, the newest version standing first: as
    likely as its successor is one that breaks.
    """
    weights = [0.0]
    for newer, older in pairwise(versions):
        is_major, is_minor = newer.major != older.major, newer.minor != older.minor
        weights.append(MAJOR if is_major else MINOR if is_minor else 1.0)
    return [*weights, 0.0]
