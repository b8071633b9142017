"""Workers: the canary that goes first, the breaker that opens, retries that decide, and nothing
that gets lost.
"""

import datetime
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.version import Version
from support.evidence import FINE, evidence

from compat.declare.matrix import Suite
from compat.fleet import batch
from compat.fleet.batch import BREAKER, Local
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Lock
from compat.results.judge import JudgedRun
from compat.run.evidence import Evidence, Step
from compat.run.installation import Activity, Enter
from compat.run.job import Bench, Job

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
BENCH = Bench(
    worker="0",
    evidence="e",
    bytecode="b",
    sandbox="s",
    python="p",
    tag="t",
    magic=b"m",
    level="L0",
    index=IndexSettings(index_url="http://x"),
    variables=(),
    host="linux-x86_64-1cpu-1gb",
)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batch, "_run_cell", None)


class Crewed(Local):
    """A fleet whose cells are answered by a script."""

    def __init__(self, *parts: Any, runs: "Runs", **more: Any) -> None:
        super().__init__(*parts, **more)
        batch._run_cell = runs


def bench(number: int, job: Job) -> Bench:
    return msgspec.structs.replace(BENCH, worker=str(number))


def job(cell: str) -> Job:
    inputs = Inputs(cell=cell, python=Version("3.11.7"), platform="", requirements=())
    return Job(
        matrix="demo",
        cell=cell,
        subject="demo",
        module="demo",
        suite=Suite(path="suite"),
        suite_folder="suite",
        lock=Lock(inputs=inputs, pins=(), tool="memory"),
    )


GOOD: Callable[[str], Evidence] = evidence


def not_installed(cell: str, log: str) -> Evidence:
    ended = msgspec.structs.replace(FINE, exit_code=2)
    return evidence(cell, steps=(Step(name="install", ended=ended, log=log),))


def broken(cell: str) -> Evidence:
    return not_installed(cell, "what?")


def offline(cell: str) -> Evidence:
    return not_installed(cell, "Failed to fetch")


class SilentReporter:
    """A Reporter that says nothing."""

    def began(self, worker: int, job: Job) -> None:
        """Say nothing."""

    def entered(self, worker: int, job: Job, activity: Activity, cell: Path) -> None:
        """Say nothing."""

    def ended(self, worker: int, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        """Say nothing."""

    def faulted(self, worker: int, job: Job, why: str) -> None:
        """Say nothing."""

    def stopped(self, worker: int, why: str) -> None:
        """Say nothing."""

    def locking(self, cell: str) -> None:
        """Say nothing."""

    def locked(self, cell: str) -> None:
        """Say nothing."""

    def counted(self, cell: str, why: str) -> None:
        """Say nothing."""

    def tell(self, line: str) -> None:
        """Say nothing."""


class Told(SilentReporter):
    """A Reporter that remembers."""

    def __init__(self) -> None:
        self.stops: list[str] = []
        self.entries: list[tuple[str, Activity, Path]] = []

    def entered(self, worker: int, job: Job, activity: Activity, cell: Path) -> None:
        self.entries.append((job.cell, activity, cell))

    def faulted(self, worker: int, job: Job, why: str) -> None:
        self.stops.append(f"{job.cell}: {why}")

    def stopped(self, worker: int, why: str) -> None:
        self.stops.append(why)


class Runs:
    """Answers for cells, in order; the last is repeated."""

    def __init__(self, answers: dict[str, Sequence[Callable[[str], Evidence]]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __call__(
        self,
        job: Job,
        bench: Bench,
        started: datetime.datetime,
        cancel: threading.Event,
        enter: Enter,
    ) -> Evidence:
        enter("install", Path("cells") / job.cell)
        enter("suite", Path("cells") / job.cell)
        told = self.answers.get(job.cell, (GOOD,))
        count = self.asked.count(job.cell)
        self.asked.append(job.cell)
        return told[min(count, len(told) - 1)](job.cell)


def run(
    runs: Runs, cells: Sequence[str], **more: int
) -> tuple[dict[str, list[str]], int, list[str]]:
    kept: dict[str, list[str]] = {}
    told = Told()

    def keep(job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        kept[job.cell] = [str(attempt.outcome) for attempt in attempts]

    fleet = Crewed(bench, lambda: NOW, threading.Event(), runs=runs, **more)
    left = fleet.run([job(cell) for cell in cells], keep, told)
    return kept, left, told.stops


def workers() -> list[str]:
    """The workers' threads that are still there."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("worker-")]


def test_the_canary_goes_first_and_once_for_each_worker() -> None:
    runs = Runs({})
    kept, left, stops = run(runs, ["a", "b"])
    assert runs.asked == ["canary-0", "a", "b"]
    assert (kept, left, stops) == ({"a": ["pass"], "b": ["pass"]}, 0, [])


def test_a_canary_goes_first_once_a_day_for_each_interpreter(tmp_path: Path) -> None:
    own = msgspec.structs.replace(BENCH, canaries=str(tmp_path))
    day, runs = datetime.timedelta(days=1), Runs({})

    def cells_run(now: datetime.datetime, python: str) -> list[str]:
        runs.asked.clear()
        other = msgspec.structs.replace(own, python=python)
        fleet = Crewed(
            lambda *_: other,
            lambda: now,
            threading.Event(),
            runs=runs,
        )
        fleet.run([job("a")], lambda *_: None, SilentReporter())
        return list(runs.asked)

    assert cells_run(NOW, "p") == ["canary-0", "a"]
    assert cells_run(NOW, "p") == ["a"]
    assert cells_run(NOW, "q") == ["canary-0", "a"]
    assert cells_run(NOW + day, "p") == ["canary-0", "a"]


def test_a_worker_that_stops_lets_the_canary_go_first_again(tmp_path: Path) -> None:
    own = msgspec.structs.replace(BENCH, canaries=str(tmp_path))
    cells = [f"c{number}" for number in range(BREAKER)]
    runs = Runs(dict.fromkeys(cells, (broken,)))
    for _ in range(2):
        fleet = Crewed(lambda *_: own, lambda: NOW, threading.Event(), runs=runs)
        fleet.run(map(job, cells), lambda *_: None, SilentReporter())
        assert fleet.stopped
    assert runs.asked.count("canary-0") == 2


def test_the_reporter_hears_what_each_cell_is_at_and_nothing_of_the_canary() -> None:
    fleet = Crewed(bench, lambda: NOW, threading.Event(), runs=Runs({}))
    reporter = Told()
    assert fleet.run([job("a")], lambda job, attempts: None, reporter) == 0
    assert reporter.entries == [
        ("a", "install", Path("cells/a")),
        ("a", "suite", Path("cells/a")),
    ]


def test_a_worker_whose_canary_dies_runs_nothing() -> None:
    runs = Runs({"canary-0": (broken,)})
    kept, left, stops = run(runs, ["a", "b"])
    assert (kept, left) == ({}, 2)
    [stop] = stops
    assert stop.endswith(": install-fail:error")


def test_a_canary_that_met_no_fault_of_its_own_is_asked_once_more() -> None:
    kept, left, stops = run(Runs({"canary-0": (offline, GOOD)}), ["a"])
    assert (list(kept), left, stops) == (["a"], 0, [])
    _, left, stops = run(Runs({"canary-0": (offline,)}), ["a"])
    [stop] = stops
    assert (left, stop.rpartition(": ")[2]) == (1, "install-fail:network")


def raising(cell: str) -> Evidence:
    raise OSError("the disk is gone")


def test_a_canary_that_breaks_compat_itself_stops_its_worker_and_loses_no_cell() -> None:
    kept, left, stops = run(Runs({"canary-0": (raising,)}), ["a", "b"])
    assert (kept, left) == ({}, 2)
    [stop] = stops
    assert stop.endswith(" OSError in compat itself: the disk is gone")


def test_a_worker_on_which_everything_fails_keeps_nothing_of_it() -> None:
    cells = [f"c{number}" for number in range(BREAKER + 3)]
    kept, left, stops = run(Runs(dict.fromkeys(cells, (broken,))), cells)
    assert (kept, left) == ({}, len(cells))
    assert stops == [f"{BREAKER} cells in a row failed: install-fail:error"]


def test_a_worker_that_stops_says_what_its_cells_failed_of() -> None:
    cells = [f"c{number}" for number in range(BREAKER)]
    answers = dict.fromkeys(cells, (offline,)) | {"c1": (broken,), "c2": (crash,)}
    assert run(Runs(answers), cells)[2] == [
        f"{BREAKER} cells in a row failed: install-fail:network ({BREAKER - 2}),"
        " install-fail:error (1), a fault of compat itself (1)"
    ]


def test_failures_that_a_good_cell_follows_are_kept() -> None:
    cells = [f"c{number}" for number in range(BREAKER)]
    answers = dict.fromkeys(cells[:-1], (broken,))
    kept, left, stops = run(Runs(dict(answers)), cells)
    assert [kept[cell] for cell in cells] == [["install-fail:error"]] * (BREAKER - 1) + [["pass"]]
    assert (left, stops) == (0, [])


def test_the_network_gets_a_second_chance_and_both_attempts_are_kept() -> None:
    kept, _, _ = run(Runs({"a": (offline, GOOD)}), ["a"])
    assert kept == {"a": ["install-fail:network", "pass"]}


def test_a_failure_of_the_cell_itself_is_not_tried_again() -> None:
    kept, _, _ = run(Runs({"a": (broken, GOOD)}), ["a"])
    assert kept == {"a": ["install-fail:error"]}


def test_as_many_attempts_as_asked_are_made_and_kept() -> None:
    kept, _, _ = run(Runs({"a": (GOOD, broken, GOOD)}), ["a"], attempts=3)
    assert kept == {"a": ["pass", "install-fail:error", "pass"]}


def crash(cell: str) -> Evidence:
    raise RuntimeError("a bug")


def test_a_fault_of_compat_in_one_cell_ends_that_cell_and_no_other() -> None:
    kept, left, messages = run(Runs({"b": (crash,)}), ["a", "b", "c"])
    assert (kept, left) == ({"a": ["pass"], "c": ["pass"]}, 1)
    [message] = messages
    assert message.startswith("b: RuntimeError in ")


def test_faults_of_compat_itself_open_the_breaker() -> None:
    cells = [f"c{number}" for number in range(BREAKER + 3)]
    kept, left, messages = run(Runs(dict.fromkeys(cells, (crash,))), cells)
    assert (kept, left) == ({}, len(cells))
    assert messages == [f"{BREAKER} cells in a row failed: a fault of compat itself"]


def test_a_fleet_says_which_workers_stopped_and_why() -> None:
    fleet = Crewed(
        bench,
        lambda: NOW,
        threading.Event(),
        runs=Runs({"canary-0": (broken,)}),
    )
    fleet.run(
        [job("a")],
        lambda *_: None,
        SilentReporter(),
    )
    [(worker, why)] = fleet.stopped.items()
    assert (worker, why.rpartition(": ")[2]) == (0, "install-fail:error")


def test_what_cannot_be_kept_counts_as_not_run() -> None:
    def keep(job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        raise OSError("disk full")

    fleet = Crewed(bench, lambda: NOW, threading.Event(), runs=Runs({}))
    assert fleet.run([job("a")], keep, SilentReporter()) == 1


def test_an_order_to_stop_leaves_the_rest() -> None:
    cancel = threading.Event()

    def stopping(cell: str) -> Evidence:
        cancel.set()
        return GOOD(cell)

    fleet = Crewed(bench, lambda: NOW, cancel, runs=Runs({"a": (stopping,)}))
    assert fleet.run([job("a"), job("b")], lambda job, attempts: None, SilentReporter()) == 1


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_every_cell_is_run_once_whatever_the_number_of_workers(workers: int) -> None:
    cells = [f"c{number}" for number in range(20)]
    runs = Runs({})
    kept, left, _ = run(runs, cells, workers=workers)
    assert sorted(kept) == sorted(cells)
    assert left == 0
    canaries = [cell for cell in runs.asked if cell.startswith("canary")]
    assert len(canaries) == len(set(canaries)) <= workers
    assert sorted(cell for cell in runs.asked if not cell.startswith("canary")) == sorted(cells)


def test_cells_run_while_the_next_jobs_are_still_being_made() -> None:
    """The second job is made only when the first has been kept: were all made first, none would be
    kept in time.
    """
    first_kept = threading.Event()
    waited: list[bool] = []

    def jobs() -> Iterator[Job]:
        yield job("a")
        waited.append(first_kept.wait(20))
        yield job("b")

    kept: list[str] = []

    def keep(job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        kept.append(job.cell)
        first_kept.set()

    fleet = Crewed(bench, lambda: NOW, threading.Event(), runs=Runs({}))
    assert fleet.run(jobs(), keep, SilentReporter()) == 0
    assert waited == [True]
    assert kept == ["a", "b"]


def test_an_order_to_stop_ends_a_worker_that_waits_for_a_job() -> None:
    cancel = threading.Event()

    def jobs() -> Iterator[Job]:
        yield job("a")
        cancel.set()
        while workers():
            time.sleep(0.01)
        yield job("b")

    fleet = Crewed(bench, lambda: NOW, cancel, runs=Runs({}))
    assert fleet.run(jobs(), lambda job, attempts: None, SilentReporter()) >= 1


def test_there_are_never_more_workers_than_jobs() -> None:
    runs = Runs({})
    run(runs, ["a", "b"], workers=8)
    assert {cell for cell in runs.asked if cell.startswith("canary")} <= {"canary-0", "canary-1"}


def test_a_fleet_whose_workers_have_all_stopped_says_so() -> None:
    spent: list[bool] = []

    def jobs() -> Iterator[Job]:
        yield job("a")
        while not fleet.is_spent:
            time.sleep(0.01)
        spent.append(fleet.is_spent)
        yield job("b")

    fleet = Crewed(
        bench,
        lambda: NOW,
        threading.Event(),
        runs=Runs({"canary-0": (broken,)}),
    )
    left = fleet.run(
        jobs(),
        lambda job, attempts: None,
        SilentReporter(),
    )
    assert left == 2
    assert spent == [True]


def test_a_fault_in_making_the_jobs_leaves_no_worker_behind() -> None:
    def jobs() -> Iterator[Job]:
        yield job("a")
        raise OSError("no more")

    kept: list[str] = []
    fleet = Crewed(bench, lambda: NOW, threading.Event(), runs=Runs({}))
    with pytest.raises(OSError, match="no more"):
        fleet.run(
            jobs(),
            lambda job, attempts: kept.append(job.cell),
            SilentReporter(),
        )
    assert kept == ["a"]
    assert not workers()
