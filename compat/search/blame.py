"""Finds the package, and its release, because of which one lock fails where another works.

The list of changes is bisected, one culprit after the other (Hemery et al., "Extracting MUCs from
constraint networks", ECAI 2006). Where a trial is unresolved, ddmin handles the rest, as it allows
such trials (Zeller and Hildebrandt, IEEE TSE 28(2), 2002).
"""

import datetime
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import accumulate, combinations, pairwise
from typing import Literal, Protocol

import msgspec
from packaging.version import Version

from compat.lock.lockfile import Lock, Pin
from compat.lock.mixed import (
    INTERPRETER,
    Asks,
    exchanged,
    exchanges_between,
    refused_by_metadata,
    repinned,
)
from compat.results.record import Record
from compat.run.outcome import PLACED, STAGES, Cause, Failed, Outcome, is_before_import, is_spurious
from compat.search.boundary import log_marginal
from compat.value import Value

# The result of an environment with some changes: the same failure, a pass, or unresolved.
# Unresolved means that it cannot be installed or fails in another way.
Trial = Literal["fails", "works", "unresolved"]
# The results of sets of changes; equal sets run once.
Tried = Callable[[Iterable[str]], Trial]

# This many unresolved positions in a list end its bisection, and ddmin takes over. Chosen on
# 2026-11-23: pairs that must move together leave one such position each.
MOST_OPEN = 4


class Culprits(Value, frozen=True, kw_only=True):
    """The changes that together cause the failure, in the given order; if none, `because` says why.

    `is_minimal` means that the failure was gone without any one of them; otherwise a trial without
    one was unresolved.
    """

    changes: tuple[str, ...] = ()
    is_minimal: bool = False
    because: str = ""


def culprits(
    changes: Sequence[str],
    run: Callable[[frozenset[str]], Trial],
    first: Sequence[Sequence[str]] = (),
) -> Culprits:
    """`run` applies a set of changes to the good side; equal sets run once. Suspected sets in
    `first` are tried before all others. An insufficient one is tried together with others before
    those are tried without it.
    """
    known = cache(run)

    def tried(names: Iterable[str]) -> Trial:
        return known(frozenset(names))

    if tried(changes) != "fails":
        return Culprits(because="with every change applied it does not fail in the same way")
    if tried(()) != "works":
        return Culprits(because="without any change it does not work")
    smallest = next((list(suspected) for suspected in first if tried(suspected) == "fails"), [])
    if not smallest:
        # All of both together fail; bisection finds the needed ones, or a group that it cannot
        # separate.
        smallest = list(dict.fromkeys(change for suspected in first for change in suspected))
        rest = [change for change in changes if change not in smallest]

        def longer(end: int) -> Trial:
            return tried([*smallest, *rest[:end]])

        while tried(smallest) != "fails":
            works, fails = bisected(len(rest), longer, MOST_OPEN)
            if fails - works > 1:
                smallest = [*smallest, *rest[:fails]]
                break
            smallest, rest = [rest[works], *smallest], rest[:works]
    members = sorted(_without_pairs(_minimised(smallest, tried), tried), key=changes.index)
    removals = [tried(other for other in members if other != name) for name in members]
    is_minimal = all(trial == "works" for trial in removals)
    return Culprits(changes=tuple(members), is_minimal=is_minimal)


def bisected(
    last: int,
    trial: Callable[[int], Trial],
    most_open: int,
    weights: Sequence[float] = (),
    is_near: Callable[[int, int], bool] = lambda works, fails: False,
) -> tuple[int, int]:
    """Return the last position that works and the first that fails, of which 0 and `last` do.

    Unresolved positions are passed over; this many between the two end the search, and so does
    `is_near`. A position's weight is how likely the failure begins there, by default the same.
    """
    works, fails, skipped = 0, last, set[int]()
    before = list(accumulate(weights or (1.0,) * (last + 1)))
    while not is_near(works, fails):
        marks = [works, *sorted(n for n in skipped if works < n < fails), fails]
        gaps = [gap for gap in pairwise(marks) if gap[1] - gap[0] > 1]
        if not gaps or len(marks) - 2 >= most_open:
            break
        low, high = max(gaps, key=lambda gap: before[gap[1]] - before[gap[0]])
        half = (before[low] + before[high]) / 2
        middle = min(range(low + 1, high), key=lambda n: abs(before[n] - half))
        match trial(middle):
            case "works":
                works = middle
            case "fails":
                fails = middle
            case _:
                skipped.add(middle)
    return works, fails


def _minimised(changes: list[str], tried: Tried) -> list[str]:
    """What is left once no half, no quarter and so on can be left out, down to single changes."""
    size = len(changes) // 2
    while size:
        starts = range(0, len(changes), size)
        rests = ([*changes[:start], *changes[start + size :]] for start in starts)
        smaller = next((rest for rest in rests if rest and tried(rest) == "fails"), None)
        changes, size = (changes, size // 2) if smaller is None else (smaller, size)
        size = min(size, len(changes) // 2)
    return changes


def _without_pairs(changes: list[str], tried: Tried) -> list[str]:
    """Two changes that must move together block each other, and ddmin passes over them."""
    held = [c for c in changes if tried([o for o in changes if o != c]) == "unresolved"]
    for pair in combinations(held, 2):
        rest = [change for change in changes if change not in pair]
        if rest and tried(rest) == "fails":
            return _without_pairs(_minimised(rest, tried), tried)
    return changes


# ---- between which two days a working environment broke
#
# Each lock is the one that a resolver would have made on that day, by the upload dates of the
# index. A wrong date changes or prevents a day's lock; it cannot make a working environment fail.

DAY = datetime.timedelta(days=1)
# This many unlockable or unresolved days end the search: its range is narrow enough. Chosen on
# 2026-11-23; a lock takes a second.
MOST_SKIPPED = 7


# What the resolver made of the index as of a moment.
DatedLock = tuple[datetime.datetime, Lock]


def narrowed(
    good: DatedLock,
    bad: DatedLock,
    lock_at: Callable[[datetime.datetime], Lock | None],
    run: Callable[[DatedLock], Trial],
    is_near: Callable[[Lock, Lock], bool],
) -> tuple[DatedLock, DatedLock]:
    """`lock_at` returns None for a day that cannot be locked. Equal locks run once."""
    morning = good[0].replace(hour=0, minute=0, second=0, microsecond=0) + DAY
    mornings = (morning + n * DAY for n in range(math.ceil((bad[0] - morning) / DAY)))
    moments = [good[0], *mornings, bad[0]]
    last = len(moments) - 1
    locks = {0: good[1], last: bad[1]}
    trials: dict[str, Trial] = {good[1].digest: "works", bad[1].digest: "fails"}

    def trial(number: int) -> Trial:
        if (lock := lock_at(moments[number])) is None:
            return "unresolved"
        locks[number] = lock
        if lock.digest not in trials:
            trials[lock.digest] = run((moments[number], lock))
        return trials[lock.digest]

    works, fails = bisected(
        last, trial, MOST_SKIPPED, is_near=lambda w, f: is_near(locks[w], locks[f])
    )
    return (moments[works], locks[works]), (moments[fails], locks[fails])


# These depend on the installed files and recur, so one run is enough. An assertion, a crash or a
# limit may be random.
STEADY: frozenset[Cause] = frozenset(
    (
        *("missing-module", "missing-attribute", "syntax", "type-error", "version-guard"),
        *("binary-incompatible", "requires-python", "no-artifact", "hash-mismatch"),
    )
)
# Runs of each end: where the failure may be random; where it was seen to be; and of a bad end whose
# first run passes.
# Simulated on 2026-11-23, see tests/search/test_blame.py.
FIRST_RUNS = 3
MORE_RUNS = 16
PATIENCE = 6
ODDS = 100.0
# For an environment with both results, neither rate is known to be extreme (the prior of Jeffreys).
UNINFORMED = 0.5
# Where the ends' failure rates overlap more than this, no feasible number of runs separates them.
LEAST_DIFFERENCE = 0.15


def may_be_chance(failure: Failed) -> bool:
    return failure.cause not in STEADY


_RAISED = re.compile(r"[\w.]+: ")
_LINE = re.compile(r":\d+$")


def symptoms(record: Record) -> tuple[Failed, ...]:
    """Places are omitted, because line numbers change between releases."""
    if not isinstance(record.outcome, Failed) or is_of_runner(record.outcome):
        return ()
    capabilities = (c.failed for c in record.capabilities)
    failed = (record.outcome, *(failure for failure in capabilities if failure is not None))
    return tuple(dict.fromkeys(map(_placeless, failed)))


def is_of_runner(outcome: Outcome) -> bool:
    """Return whether pytest itself did not start: that says nothing about what it would test."""
    return isinstance(outcome, Failed) and outcome.cause == "test-runner"


def message_of(record: Record, target: Failed) -> str:
    for capability in record.capabilities:
        if capability.failed is not None and _placeless(capability.failed) == target:
            return capability.subject
    first = next(iter(record.log.splitlines()), "")
    return first if _RAISED.match(first) else ""


def trial_of(record: Record, target: Failed, usual: Iterable[Failed]) -> Trial:
    """Failures that the good end has, too, are `usual`; past its stage or part it is gone."""
    outcome = record.outcome
    if is_spurious(outcome) or is_of_runner(outcome):
        return "unresolved"
    shown = symptoms(record)
    if target in shown:
        return "fails"
    if not set(shown) - set(usual):
        return "works"
    assert isinstance(outcome, Failed)
    if target.stage == "test":
        done = {capability.id for capability in record.capabilities if capability.status == "yes"}
        return "works" if target.subject in done else "unresolved"
    is_past = STAGES.index(outcome.stage) > STAGES.index(target.stage)
    return "works" if is_past else "unresolved"


def _placeless(failed: Failed) -> Failed:
    subject = failed.subject
    if failed.stage in ("import", "collect") and failed.cause in PLACED:
        subject = _LINE.sub("", subject)
    return msgspec.structs.replace(failed, subject=subject, at="")


# An environment with this many runs and still both results is unresolved.
MOST_RUNS = 40
# This many uninstallable mixes in a row end the search: their locks are complete, so something else
# blocks them.
MOST_UNINSTALLED = 12


class SearchStopped(Exception):
    """The search ended early; its runs are stored, so that the same one resumes from there."""


class Laboratory(Protocol):
    """The operations and cached results that a search needs."""

    @property
    def asks(self) -> Asks: ...

    @property
    def runner(self) -> frozenset[str]:
        """The packages of both ends that only the suite's requirements need."""

    @property
    def dates(self) -> tuple[datetime.datetime, datetime.datetime] | None:
        """The dates of both ends, if they differ by the date alone; else None."""

    def results(self, lock: Lock) -> Sequence[Record]:
        """Return the earlier runs of a lock with the current suite; lost runs are omitted."""

    def run(self, lock: Lock, what: str) -> Record:
        """Run a lock once; `what` describes it. Raises SearchStopped."""

    def lock_at(self, moment: datetime.datetime) -> Lock | None:
        """Return the lock of the ends' inputs as of a moment; None where there is none."""

    def releases(self, package: str) -> Sequence[Pin]:
        """Return the installable final releases, oldest first, without yanked ones."""

    def yanked(self, package: str) -> Sequence[Version]: ...


class Trials:
    """The two ends, the failure sought (None: there is none), and why no search is possible."""

    def __init__(
        self, good: Lock, bad: Lock, laboratory: Laboratory, bad_name: str, is_doubted: bool
    ) -> None:
        """`is_doubted` means that the failure was seen to come and go."""
        self._uninstalled = 0
        self._laboratory = laboratory
        self._ends = ((good, "GOOD"), (bad, bad_name))
        self.target: Failed | None = None
        self.because = ""
        goods, bads = self._run_ends(1)
        for least in range(2, PATIENCE + 1) if bad_name == "BAD" else ():
            # It may have passed by chance: the user has seen it fail. Two failures of GOOD end it.
            if not _own(goods, bads) and not (least > 2 and _fails(goods)):
                goods, bads = self._run_ends(least)
        if own := _own(goods, bads):
            self.target = own[0]
            for least in (FIRST_RUNS if may_be_chance(own[0]) else 1, MORE_RUNS):
                goods, bads = self._run_ends(least)
                good_fails, bad_fails = _count(goods, own[0]), _count(bads, own[0])
                self._is_steady = not (is_doubted or good_fails) and bad_fails == len(bads)
                if self._is_steady:
                    break
            # Each end's failure rate is known from a few runs only, so each has a distribution.
            counts = ((good_fails, len(goods)), (bad_fails, len(bads)))
            self._rates = [(UNINFORMED + n, UNINFORMED + of - n) for n, of in counts]
            good_rate, bad_rate = (fails / (fails + works) for fails, works in self._rates)
            if not self._is_steady and bad_rate - good_rate < LEAST_DIFFERENCE:
                self.because = (
                    f"the failure comes and goes: in {good_fails} of {len(goods)} runs of GOOD, in"
                    f" {bad_fails} of {len(bads)} runs of BAD"
                )
        elif _fails(goods):
            self.because = f"GOOD fails: {goods[-1].outcome}"
        self._usual = frozenset(s for run in goods for s in symptoms(run)) - {self.target}

    def of(self, lock: Lock, what: str) -> Trial:
        assert self.target is not None
        runs = [trial_of(run, self.target, self._usual) for run in self._laboratory.results(lock)]
        while len(runs) < MOST_RUNS:
            if runs.count("unresolved") > (0 if self._is_steady else 1):
                return "unresolved"
            counts = runs.count("fails"), runs.count("works")
            if self._is_steady and 0 in counts and any(counts):
                return "fails" if counts[0] else "works"
            good, bad = (log_marginal(rate, *counts) for rate in self._rates)
            if not self._is_steady and abs(bad - good) >= math.log(ODDS):
                return "fails" if bad > good else "works"
            record = self._laboratory.run(lock, what)
            runs.append(trial_of(record, self.target, self._usual))
            # An unwritable cache, for example, ends each of thousands of mixes in the same way.
            is_lost = runs[-1] == "unresolved" and is_before_import(record.outcome)
            self._uninstalled = self._uninstalled + 1 if is_lost else 0
            if self._uninstalled == MOST_UNINSTALLED:
                raise SearchStopped(
                    f"{MOST_UNINSTALLED} mixes in a row could not be installed, the last with"
                    f" {record.outcome}"
                )
        return "unresolved"

    def is_chance(self, fails: tuple[Lock, str], works: tuple[Lock, str]) -> bool:
        """Whether a few more runs, with and without the cause, show the failure to be random."""
        if self.target is None or not (may_be_chance(self.target) and self._is_steady):
            return False
        with_cause, without = (
            {self.target in symptoms(run) for run in self._runs(*end, FIRST_RUNS)}
            for end in (fails, works)
        )
        return False in with_cause or len(without) > 1

    def _run_ends(self, least: int) -> tuple[list[Record], list[Record]]:
        goods, bads = (self._runs(lock, what, least) for lock, what in self._ends)
        for runs, (_, what) in zip((goods, bads), self._ends, strict=True):
            if all(is_of_runner(run.outcome) for run in runs):
                raise SearchStopped(f"{what} has no answer: {runs[-1].outcome}")
        return goods, bads

    def _runs(self, lock: Lock, what: str, least: int) -> list[Record]:
        records = list(self._laboratory.results(lock))
        while len(records) < least:
            records.append(self._laboratory.run(lock, what))
        return records


def _fails(runs: Sequence[Record]) -> bool:
    return all(isinstance(run.outcome, Failed) for run in runs)


def _own(goods: Sequence[Record], bads: Sequence[Record]) -> list[Failed]:
    every = dict.fromkeys(symptom for run in bads for symptom in symptoms(run))
    shares = ((s, _count(goods, s) / len(goods), _count(bads, s) / len(bads)) for s in every)
    return [symptom for symptom, good, bad in shares if good < min(bad, 1 / 2)]


def _count(runs: Sequence[Record], symptom: Failed) -> int:
    return sum(symptom in symptoms(run) for run in runs)


# How much likelier a break is in another major or minor release than in a patch. These are not
# measured; they change the order of the trials, not the answer.
MAJOR, MINOR = 9.0, 3.0


class BlamedPackage(Value, frozen=True, kw_only=True):
    """A culprit package: its versions at both ends, and the releases between which it broke.

    `last_good` and `first_bad` were run; None where the package is new, gone, or an interpreter.
    `untested` and `yanked` releases lie between these two.
    """

    package: str
    good: Version | None
    bad: Version | None
    last_good: Version | None = None
    first_bad: Version | None = None
    untested: int = 0
    yanked: tuple[Version, ...] = ()
    brings: tuple[str, ...] = ()


class LockPair:
    """Two locks and the failure of the second; the laboratory runs what is between."""

    def __init__(
        self,
        good: Lock,
        bad: Lock,
        laboratory: Laboratory,
        trials: Trials,
        names: tuple[str, str] = ("GOOD", "BAD"),
    ) -> None:
        self.good, self.bad, self.trials = good, bad, trials
        self._good_name, self._bad_name = names
        self.laboratory = laboratory
        exchanges = exchanges_between(good, bad, laboratory.asks, laboratory.runner)
        self.exchanges = {exchange.package: exchange for exchange in exchanges}
        self._refused: set[frozenset[str]] = set()

    def run(self, changes: frozenset[str]) -> Trial:
        """Mixes that the packages' own metadata forbids are not run: most would fail for that."""
        lock = self._mixed(changes)
        ends = self.good, self.bad
        is_known = bool(self.laboratory.results(lock))
        if changes and not is_known and refused_by_metadata(lock, ends, self.laboratory.asks):
            self._refused.add(changes)
            return "unresolved"
        return self.run_anyway(changes)

    def run_anyway(self, changes: frozenset[str]) -> Trial:
        return self.trials.of(self._mixed(changes), self._described(changes))

    def culprits(self, first: Sequence[Sequence[str]]) -> Culprits:
        answer = culprits(tuple(self.exchanges), self.run, first)
        if answer.because or answer.is_minimal or not self._refused:
            return answer
        # Few are left, so a run decides where the metadata forbids the mix.
        return culprits(answer.changes, self.run_anyway)

    def broken_in(self, changes: Sequence[str], name: str) -> BlamedPackage:
        exchange = self.exchanges[name]
        good, bad, brings = exchange.good, exchange.bad, exchange.brings
        ends = BlamedPackage(package=name, good=good, bad=bad, brings=brings)
        if name == INTERPRETER or good is None or bad is None:
            return ends
        low, high = sorted((good, bad))
        releases = {pin.version for pin in self.laboratory.releases(name)}
        inner = sorted((v for v in releases if low < v < high), reverse=good > bad)
        versions = [good, *inner, bad]
        others = [other for other in changes if other != name]

        def trial(number: int) -> Trial:
            release = {name: self._pin(name, versions[number])}
            text = f"{name} {versions[number]}"
            mixed = repinned(self._mixed(frozenset(changes)), release)
            result = self.trials.of(mixed, f"{self._good_name} with {', '.join([text, *others])}")
            if result != "unresolved":
                return result
            # Where the good end conflicts with a release, the bad one may not.
            return self.trials.of(repinned(self.bad, release), f"{self._bad_name} with {text}")

        steps = (
            MAJOR if new.major != old.major else MINOR if new.minor != old.minor else 1.0
            for old, new in pairwise(versions)
        )
        last = len(versions) - 1
        works, fails = bisected(last, trial, len(versions), (0.0, *steps))
        low, high = sorted((versions[works], versions[fails]))
        return msgspec.structs.replace(
            ends,
            last_good=versions[works],
            first_bad=versions[fails],
            untested=fails - works - 1,
            yanked=tuple(v for v in self.laboratory.yanked(name) if low <= v <= high),
        )

    def moved(self, packages: Sequence[BlamedPackage], side: Literal["good", "bad"]) -> Lock:
        base, other = (self.bad, self.good) if side == "good" else (self.good, self.bad)
        names = [name for package in packages for name in (package.package, *package.brings)]
        pins: dict[str, Pin | None] = {}
        for package in packages:
            version = package.last_good if side == "good" else package.first_bad
            pin = None if version is None else self._pin(package.package, version)
            if pin is not None:
                pins[package.package] = pin
        return repinned(exchanged(base, other, names), pins)

    def is_forward(self, packages: Sequence[BlamedPackage]) -> bool:
        """Whether the good end fails with these alone as they first failed; else as in the bad."""
        names = ", ".join(_first_bad(packages))
        if self.trials.of(self.moved(packages, "bad"), f"GOOD with {names}") == "fails":
            return True
        changes = frozenset(package.package for package in packages)
        return changes <= self.exchanges.keys() and self.run(changes) == "fails"

    def _pin(self, name: str, version: Version) -> Pin | None:
        pins = [*self.good.pins, *self.bad.pins, *self.laboratory.releases(name)]
        return next((pin for pin in pins if (pin.name, pin.version) == (name, version)), None)

    def _mixed(self, changes: frozenset[str]) -> Lock:
        packages = [name for change in changes for name in self.exchanges[change].packages]
        return exchanged(self.good, self.bad, packages)

    def _described(self, changes: frozenset[str]) -> str:
        left = [name for name in self.exchanges if name not in changes]
        end, side, names = self._good_name, "bad", sorted(changes)
        if not left:
            return self._bad_name
        if len(changes) > 1 and len(left) <= 3:
            end, side, names = self._bad_name, "good", left
        versions = {name: getattr(self.exchanges[name], side) for name in names}
        each = ", ".join(f"{name} {v}" if v else f"no {name}" for name, v in versions.items())
        return f"{end} with {each if len(names) <= 3 else f'{len(names)} packages exchanged'}"


# This many packages that the failure's text names are tried alone before anything else.
MOST_SUSPECTS = 2
# Dates are bisected until at most this many packages differ: each tried day halves them like a mix,
# and its environment really existed.
FEW = 4
# With more hidden causes than this, the two environments are not comparable.
MOST_CAUSES = 4


class BlamedCause(Value, frozen=True, kw_only=True):
    """Packages that together cause a failure: mostly one. `message` is the exception.

    `is_minimal`: the failure was gone without any of them. `is_forward`: the good end with these
    alone exchanged fails in the same way. `is_near`: this was seen only between the two `days`, the
    last that passed and the first that failed, as the good end itself conflicts with them.
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
    """The result of a search: causes, each of which still fails with those before it moved back.

    `is_backward`: the bad end with all of them moved back works. `because` says why there is no
    answer, or no further one. `is_finished` is false where the search was stopped.
    """

    causes: tuple[BlamedCause, ...]
    is_backward: bool
    because: str
    is_finished: bool

    @property
    def is_verified(self) -> bool:
        return self.is_backward and all(cause.is_forward for cause in self.causes)


def blame(good: Lock, bad: Lock, laboratory: Laboratory) -> Blame:
    """Stored runs are reused. Raises IndexUnreachable and ToolFailed as the index does."""
    causes: list[BlamedCause] = []
    whole = bad
    is_finished = is_backward = is_doubted = False
    because = f"after {MOST_CAUSES} causes BAD still fails"
    try:
        while len(causes) < MOST_CAUSES:
            name = "BAD with the cause moved back" if causes else "BAD"
            trials = Trials(good, bad, laboratory, name, is_doubted)
            if trials.target is None or trials.because:
                # Without its causes BAD fails as rarely as GOOD does.
                is_backward = bool(causes)
                because = "" if causes else trials.because or "BAD works as GOOD does"
                break
            pair = LockPair(good, bad, laboratory, trials)
            cause = _cause(pair, trials.target, is_first=not causes)
            if isinstance(cause, str):
                because = cause
                break
            # A package that was moved back is blamed again only if it was moved to a wrong release.
            is_repeated = any({*cause.names} & {*earlier.names} for earlier in causes)
            without = pair.moved(cause.packages, "good"), "BAD with the cause moved back"
            is_chance = is_repeated and may_be_chance(cause.failure)
            if not is_doubted and not is_repeated:
                # A few more runs contradict a random one.
                forward = pair.moved(cause.packages, "bad")
                names = ", ".join(_first_bad(cause.packages))
                is_chance = trials.is_chance((forward, f"GOOD with {names}"), without)
            if not is_doubted and is_chance:
                causes, bad, is_doubted = [], whole, True
                continue
            if is_repeated:
                because = "BAD fails in the same way when it is moved back"
                break
            causes.append(cause)
            bad, _ = without
        is_finished = True
    except SearchStopped as stopped:
        because = str(stopped)
    return Blame(
        causes=tuple(causes), is_backward=is_backward, because=because, is_finished=is_finished
    )


def _cause(whole: LockPair, failure: Failed, is_first: bool) -> BlamedCause | str:
    pair, laboratory = whole, whole.laboratory
    carrier = {name: e.package for e in whole.exchanges.values() for name in e.packages}
    named = (name for record in laboratory.results(whole.bad) for name in record.involved)
    suspects = list(dict.fromkeys(carrier[n] for n in named if n in carrier))[:MOST_SUSPECTS]
    first, days = [[name] for name in suspects], None
    dates = laboratory.dates if is_first and len(whole.exchanges) > FEW else None
    if dates and "fails" not in map(whole.run_anyway, map(frozenset, first)):
        (works_on, works), (fails_on, fails) = narrowed(
            (dates[0], whole.good),
            (dates[1], whole.bad),
            laboratory.lock_at,
            lambda day: whole.trials.of(day[1], f"as of {day[0]:%Y-%m-%d}"),
            lambda good, bad: (
                len(exchanges_between(good, bad, laboratory.asks, laboratory.runner)) <= FEW
            ),
        )
        names = f"what resolved on {works_on:%Y-%m-%d}", f"what resolved on {fails_on:%Y-%m-%d}"
        near = LockPair(works, fails, laboratory, whole.trials, names)
        answer = near.culprits([])
        if answer.changes:
            days = (works_on.date(), fails_on.date())
            first = [[name for name in answer.changes if name in whole.exchanges]]
            # Where the old environment conflicts with it, that of those days may not.
            if whole.run(frozenset(first[0])) == "unresolved":
                pair = near
    answer = pair.culprits(first if pair is whole else [])
    if answer.because:
        return answer.because
    packages = tuple(pair.broken_in(answer.changes, name) for name in answer.changes)
    is_whole = whole.is_forward(packages)
    texts = (message_of(record, failure) for record in laboratory.results(whole.bad))
    return BlamedCause(
        failure=failure,
        message=next(filter(None, texts), ""),
        packages=packages,
        is_minimal=answer.is_minimal or len(packages) == 1,
        is_forward=is_whole or pair.is_forward(packages),
        is_near=not is_whole,
        days=days,
    )


def _first_bad(packages: Sequence[BlamedPackage]) -> list[str]:
    return [f"{package.package} {package.first_bad or package.bad}" for package in packages]
