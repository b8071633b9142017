"""Which package, and which release of it, is the cause that one lock fails where another works."""

import datetime
from collections.abc import Sequence

from compat.lock.lockfile import Lock, Pin
from compat.lock.mixed import exchanged, exchanges_between, repinned
from compat.run.outcome import Failed
from compat.search.dates import DatedLock, narrowed
from compat.search.lock_pair import BlamedPackage, LockPair
from compat.search.shrink import Culprits, Unblamed
from compat.search.trials import Laboratory, SearchStopped, Trials, may_be_chance
from compat.value import Value

# So many packages that the failure's text names are tried alone before anything else.
MOST_SUSPECTS = 2
# Dates are bisected until no more packages than this differ: each day that is tried halves them as
# a mix would, and is a world that existed.
FEW = 4
# A world with more causes than this, each hiding the next, is another world.
MOST_CAUSES = 4


class BlamedCause(Value, frozen=True, kw_only=True):
    """Packages that bring a failure about together: mostly one. `message` is what was raised.

    `is_minimal` says that without any of them the failure was seen to be gone. `is_forward` says
    that the good end with these alone exchanged fails in the same way; `is_near` that this was
    seen between the two `days` alone, as the good end itself cannot live with them. `days` are the
    last working and the first failing day where dates were bisected.
    """

    failure: Failed
    message: str
    packages: tuple[BlamedPackage, ...]
    is_minimal: bool
    is_forward: bool
    is_near: bool = False
    days: tuple[datetime.date, datetime.date] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(package.package for package in self.packages)


class Blame(Value, frozen=True, kw_only=True):
    """What a search came to: the causes, each of which still fails when those before it are moved
    back; in the same way where it breaks it independently, else in one that they hid.

    `is_backward` says that the bad end with all of them moved back works. `because` says why there
    is no answer, or no further one; `is_finished` is false where the search was stopped.
    """

    causes: tuple[BlamedCause, ...]
    is_backward: bool
    because: str
    is_finished: bool

    @property
    def is_verified(self) -> bool:
        """Whether it was seen both ways: the causes alone break, and all but them works."""
        return self.is_backward and all(cause.is_forward for cause in self.causes)


def blame(good: Lock, bad: Lock, laboratory: Laboratory) -> Blame:
    """Return the causes that the bad lock fails where the good one works.

    Nothing is run that was run before. Raises IndexUnreachable and ToolFailed as the index does.
    """
    causes: list[BlamedCause] = []
    whole = bad
    is_finished = is_backward = is_doubted = False
    because = f"after {MOST_CAUSES} causes BAD still fails"
    try:
        while len(causes) < MOST_CAUSES:
            name = "BAD with the cause moved back" if causes else "BAD"
            search = _CauseSearch(good, bad, laboratory, name, is_doubted)
            if search.trials.target is None or search.trials.because:
                # Without its causes BAD fails as rarely as GOOD does.
                is_backward = bool(causes)
                because = "" if causes else search.trials.because or "BAD works as GOOD does"
                break
            cause = search.cause(search.trials.target)
            if isinstance(cause, str):
                because = cause
                break
            # Moved back, a package is to blame again only if it was moved to a wrong release.
            is_repeated = any({*cause.names} & {*earlier.names} for earlier in causes)
            if not is_doubted and search.is_chance(cause, is_repeated):
                causes, bad, is_doubted = [], whole, True
                continue
            if is_repeated:
                because = "BAD fails in the same way when it is moved back"
                break
            causes.append(cause)
            bad = search.without(cause)
        is_finished = True
    except SearchStopped as stopped:
        because = str(stopped)
    return Blame(
        causes=tuple(causes), is_backward=is_backward, because=because, is_finished=is_finished
    )


class _CauseSearch:
    """The search for one cause between two locks."""

    def __init__(
        self, good: Lock, bad: Lock, laboratory: Laboratory, bad_name: str, is_doubted: bool
    ) -> None:
        self._good, self._bad = good, bad
        self._laboratory = laboratory
        self._is_first = bad_name == "BAD"
        self.trials = Trials(good, bad, laboratory, bad_name, is_doubted)

    def cause(self, failure: Failed) -> BlamedCause | str:
        pair = whole = LockPair(self._good, self._bad, self._laboratory, self.trials)
        first, days = [[name] for name in self._suspects(whole)], None
        if self._is_dated(whole) and "fails" not in map(whole.run_anyway, map(frozenset, first)):
            good, bad = self._near_days()
            names = f"what resolved on {good.on:%Y-%m-%d}", f"what resolved on {bad.on:%Y-%m-%d}"
            near = LockPair(good.lock, bad.lock, self._laboratory, self.trials, names)
            answer = near.culprits([])
            if isinstance(answer, Culprits):
                days = (good.on.date(), bad.on.date())
                first = [[name for name in answer.changes if name in whole.exchanges]]
                # Where the old world cannot be mixed with it, that of those days can.
                if whole.run(frozenset(first[0])) == "unresolved":
                    pair = near
        answer = pair.culprits(first if pair is whole else [])
        if isinstance(answer, Unblamed):
            return answer.because
        packages = tuple(pair.broken_in(answer.changes, name) for name in answer.changes)
        is_whole = self._is_forward(whole, packages)
        return BlamedCause(
            failure=failure,
            message=self.trials.message,
            packages=packages,
            is_minimal=answer.is_minimal or len(packages) == 1,
            is_forward=is_whole or self._is_forward(pair, packages),
            is_near=not is_whole,
            days=days,
        )

    def without(self, cause: BlamedCause) -> Lock:
        pair = LockPair(self._good, self._bad, self._laboratory, self.trials)
        return _moved(self._bad, self._good, cause.packages, pair, "last_good")

    def is_chance(self, cause: BlamedCause, is_repeated: bool) -> bool:
        """Return whether what speaks for a cause was chance: it was found before, or a few runs
        more contradict it.
        """
        if is_repeated:
            return may_be_chance(cause.failure)
        pair = LockPair(self._good, self._bad, self._laboratory, self.trials)
        names = ", ".join(_first_bad(cause.packages))
        forward = _moved(self._good, self._bad, cause.packages, pair, "first_bad")
        backward = self.without(cause), "BAD with the cause moved back"
        return self.trials.is_chance((forward, f"GOOD with {names}"), backward)

    def _is_forward(self, pair: LockPair, packages: Sequence[BlamedPackage]) -> bool:
        """Whether the good end fails in the same way with these alone as they first failed; else
        as the bad end has them.
        """
        lock = _moved(pair.good, pair.bad, packages, pair, "first_bad")
        names = ", ".join(_first_bad(packages))
        if self.trials.of(lock, f"GOOD with {names}") == "fails":
            return True
        changes = frozenset(package.package for package in packages)
        return changes <= pair.exchanges.keys() and pair.run(changes) == "fails"

    def _suspects(self, pair: LockPair) -> list[str]:
        carrier = {name: e.package for e in pair.exchanges.values() for name in e.packages}
        records = self._laboratory.results(self._bad)
        names = [name for record in records for name in record.involved]
        return list(dict.fromkeys(carrier[n] for n in names if n in carrier))[:MOST_SUSPECTS]

    def _is_dated(self, pair: LockPair) -> bool:
        return self._is_first and self._laboratory.dates is not None and len(pair.exchanges) > FEW

    def _near_days(self) -> tuple[DatedLock, DatedLock]:
        laboratory = self._laboratory
        assert laboratory.dates is not None
        good_on, bad_on = laboratory.dates
        moments: dict[str, datetime.datetime] = {}

        def lock_at(moment: datetime.datetime) -> Lock | None:
            lock = laboratory.lock_at(moment)
            if lock is not None:
                moments.setdefault(lock.digest, moment)
            return lock

        return narrowed(
            DatedLock(on=good_on, lock=self._good),
            DatedLock(on=bad_on, lock=self._bad),
            lock_at,
            lambda lock: self.trials.of(lock, f"as of {moments[lock.digest]:%Y-%m-%d}"),
            lambda good, bad: (
                len(exchanges_between(good, bad, laboratory.asks, laboratory.runner)) <= FEW
            ),
        )


def _first_bad(packages: Sequence[BlamedPackage]) -> list[str]:
    return [f"{package.package} {package.first_bad or package.bad}" for package in packages]


def _moved(
    base: Lock, other: Lock, packages: Sequence[BlamedPackage], pair: LockPair, side: str
) -> Lock:
    names = [name for package in packages for name in (package.package, *package.brings)]
    pins: dict[str, Pin | None] = {}
    for package in packages:
        version = getattr(package, side)
        pin = None if version is None else pair.pin(package.package, version)
        if pin is not None:
            pins[package.package] = pin
    return repinned(exchanged(base, other, names, "blame"), pins, "blame")
