"""The cluster as a fleet, with a scheduler that exists in memory only: what is lost, what comes
twice, and what is held back.
"""

import threading
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from packaging.version import Version
from test_local import Told, broken, evidence, job

from compat.errors import CompatError
from compat.fleet import cluster
from compat.fleet.batch import BREAKER
from compat.fleet.cluster import (
    MOST_STARTS,
    CellOrder,
    ClusterHostile,
    Remote,
    WorkerMessage,
    lacking,
    packed,
    resource_words,
    resources_for,
    unpacked,
)
from compat.results.judge import JudgedRun
from compat.run.evidence import Evidence
from compat.run.job import Job

WHOLE = resources_for(job("any"))


class Scheduler:
    """A scheduler whose workers answer by a script: `answer` is called with each order."""

    def __init__(self, workers: Sequence[str] = ("w0",)) -> None:
        self.workers = dict.fromkeys(workers, WHOLE)
        self.answer: Callable[[CellOrder, str], None] = self.pass_all
        self.messages: list[WorkerMessage] = []
        self.keys: list[str] = []
        self.states: dict[str, str] = {}
        self.dropped: list[str] = []
        self.connections = 0
        self.taker = ""
        self.is_down = self.is_hostile = False
        self.most_at_once = 0

    def connect(self) -> "Scheduler":
        self.connections += 1
        if self.is_down:
            raise CompatError.of("the scheduler does not answer")
        return self

    def message(self, seconds: float) -> WorkerMessage | None:
        if self.is_hostile:
            raise ClusterHostile.of("refused an object of posix.system")
        if self.messages:
            return self.messages.pop(0)
        time.sleep(0.001)
        return None

    def offers(self) -> dict[str, dict[str, float]]:
        if self.is_down:
            raise CompatError.of("the scheduler does not answer")
        return dict(self.workers)

    def submit(self, order: CellOrder, key: str, worker: str) -> Any:
        self.keys.append(key)
        self.taker = worker
        self.most_at_once = max(self.most_at_once, len(set(self.keys) - set(self.dropped)))
        self.answer(order, key)
        return key

    def state(self, future: Any) -> str:
        return self.states.get(future, "pending")

    def drop(self, future: Any) -> None:
        self.dropped.append(future)

    def close(self) -> None:
        return

    def say(self, kind: Any, cell: str, worker: str = "", **more: Any) -> None:
        said = WorkerMessage(kind=kind, worker=worker or self.taker, cell=cell, **more)
        self.messages.append(said)

    def end(self, order: CellOrder, answer: Evidence | None = None, worker: str = "") -> None:
        cell = order.job.cell
        came = evidence(cell) if answer is None else answer
        self.say("ended", cell, worker, attempts=(fitting(came, order.job),), places=("/w",))

    def pass_all(self, order: CellOrder, key: str) -> None:
        self.say("began", order.job.cell)
        self.end(order)


def fitting(came: Evidence, asked: Job) -> Evidence:
    return msgspec.structs.replace(came, lock_digest=asked.lock.digest)


def plain(cell: str) -> Job:
    return msgspec.structs.replace(job(cell), suite_folder="")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.005)
    monkeypatch.setattr(cluster, "_LATE_SECONDS", 0.02)


def run(
    scheduler: Scheduler, cells: Sequence[str], patience: float = 0.2
) -> tuple[dict[str, list[str]], int, Told, Remote]:
    kept: dict[str, list[str]] = {}
    reporter = Told()

    def keep(job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        assert job.cell not in kept, "a cell was kept twice"
        kept[job.cell] = [str(attempt.outcome) for attempt in attempts]

    fleet = Remote(scheduler.connect, "topic", threading.Event(), patience=patience)
    fleet.size()
    left = fleet.run([plain(cell) for cell in cells], keep, reporter)
    return kept, left, reporter, fleet


def test_each_cell_is_kept_once_and_the_workers_places_are_known() -> None:
    kept, left, _, fleet = run(Scheduler(), ["a", "b", "c"])
    assert (kept, left) == ({"a": ["pass"], "b": ["pass"], "c": ["pass"]}, 0)
    assert fleet.places == {"/w"}
    assert fleet.stopped == {}


def test_no_more_cells_are_handed_over_than_workers_can_begin() -> None:
    scheduler = Scheduler(("w0", "w1"))
    run(scheduler, [f"c{number}" for number in range(9)])
    assert scheduler.most_at_once == 2


def test_a_task_that_runs_twice_is_kept_once() -> None:
    scheduler = Scheduler(("w0", "w1"))

    def twice(order: CellOrder, key: str) -> None:
        for worker in ("w0", "w1"):
            scheduler.say("began", order.job.cell, worker)
            scheduler.end(order, worker=worker)

    scheduler.answer = twice
    kept, left, _, _ = run(scheduler, ["a", "b"])
    assert (sorted(kept), left) == (["a", "b"], 0)


def test_a_worker_that_is_lost_is_told_and_its_cell_runs_elsewhere() -> None:
    scheduler = Scheduler(("w0", "w1"))

    def lose_first(order: CellOrder, key: str) -> None:
        scheduler.say("began", order.job.cell)
        if scheduler.taker == "w0":
            del scheduler.workers["w0"]
        else:
            scheduler.end(order)

    scheduler.answer = lose_first
    kept, left, reporter, fleet = run(scheduler, ["a", "b"], patience=30)
    assert (sorted(kept), left, fleet.stopped) == (["a", "b"], 0, {})
    assert reporter.stops == ["the connection is lost; its cells run elsewhere"]


def test_no_python_is_missing_while_no_worker_is_there() -> None:
    """On a loaded machine a cell ended as `no-interpreter` between two workers."""
    python = job("a").lock.inputs.python
    nobody, somebody = (run(Scheduler(names), ["a"], 0.02)[3] for names in ((), ("w0",)))
    assert nobody.has_python(python)
    assert somebody.has_python(python)
    assert not somebody.has_python(Version("2.7"))


def test_a_cell_that_takes_every_worker_with_it_is_given_up() -> None:
    scheduler = Scheduler()

    def kill(order: CellOrder, key: str) -> None:
        scheduler.say("began", order.job.cell)
        del scheduler.workers[scheduler.taker]
        scheduler.workers[key] = WHOLE

    scheduler.answer = kill
    kept, left, reporter, _ = run(scheduler, ["a"], patience=30)
    lost = "the connection is lost; its cells run elsewhere"
    assert (kept, left, len(scheduler.keys)) == ({}, 1, MOST_STARTS)
    assert reporter.stops == [
        *[lost] * MOST_STARTS,
        f"a: it got lost {MOST_STARTS} times, the last time because {lost}",
    ]


def test_a_task_that_dask_forgets_is_handed_over_again_and_not_for_ever() -> None:
    scheduler = Scheduler()

    def forget(order: CellOrder, key: str) -> None:
        scheduler.states[key] = "KilledWorker"

    scheduler.answer = forget
    kept, left, reporter, _ = run(scheduler, ["a"])
    assert (kept, left, len(scheduler.keys)) == ({}, 1, MOST_STARTS)
    assert reporter.stops == [
        f"a: it got lost {MOST_STARTS} times, the last time because KilledWorker"
    ]


def test_a_task_that_ends_without_a_message_is_handed_over_again() -> None:
    scheduler = Scheduler()

    def quiet_once(order: CellOrder, key: str) -> None:
        if len(scheduler.keys) == 1:
            scheduler.states[key] = "finished"
        else:
            scheduler.pass_all(order, key)

    scheduler.answer = quiet_once
    kept, left, _, _ = run(scheduler, ["a"])
    assert (kept, left, len(scheduler.keys)) == ({"a": ["pass"]}, 0, 2)


def test_a_scheduler_that_comes_back_gets_what_has_no_result() -> None:
    scheduler = Scheduler()

    def down_once(order: CellOrder, key: str) -> None:
        if order.job.cell == "b" and scheduler.keys.count(key) == 1 and scheduler.connections == 1:
            scheduler.say("began", "b")
            scheduler.is_down = True
            threading.Timer(0.1, lambda: setattr(scheduler, "is_down", False)).start()
        else:
            scheduler.pass_all(order, key)

    scheduler.answer = down_once
    kept, left, _, fleet = run(scheduler, ["a", "b", "c"], patience=30)
    assert (sorted(kept), left, fleet.stopped) == (["a", "b", "c"], 0, {})
    assert scheduler.connections > 1


def test_a_scheduler_that_stays_away_leaves_the_rest_and_says_so() -> None:
    scheduler = Scheduler()

    def down(order: CellOrder, key: str) -> None:
        if order.job.cell == "b":
            scheduler.say("began", "b")
            scheduler.is_down = True
        else:
            scheduler.pass_all(order, key)

    scheduler.answer = down
    kept, left, _, fleet = run(scheduler, ["a", "b", "c"])
    assert (sorted(kept), left) == (["a"], 2)
    [why] = fleet.stopped.values()
    assert "does not answer" in why


def test_a_cluster_that_sends_objects_is_left_for_good() -> None:
    scheduler = Scheduler()

    def turn(order: CellOrder, key: str) -> None:
        scheduler.say("began", order.job.cell)
        if order.job.cell == "b":
            scheduler.messages.clear()
            scheduler.is_hostile = True
        else:
            scheduler.end(order)

    scheduler.answer = turn
    kept, left, reporter, fleet = run(scheduler, ["a", "b", "c"], patience=30)
    why = "refused an object of posix.system"
    assert (sorted(kept), left, fleet.stopped) == (["a"], 2, {0: why})
    assert (reporter.stops, scheduler.connections) == ([why], 1)


def test_a_broken_worker_keeps_nothing_and_its_cells_run_elsewhere() -> None:
    scheduler = Scheduler(("w0", "w1"))
    failed: list[str] = []
    waiting: list[tuple[str, CellOrder]] = []

    def one_is_broken(order: CellOrder, key: str) -> None:
        cell = order.job.cell
        scheduler.say("began", cell)
        if scheduler.taker == "w1":
            scheduler.messages.pop()
            waiting.append((cell, order))
        else:
            failed.append(cell)
            scheduler.end(order, broken(cell))
        if len(failed) == BREAKER:
            scheduler.say("stopped", cell, "w0", why="5 cells in a row failed")
            failed.append("")
        while waiting and len(failed) > BREAKER:
            scheduler.end(waiting.pop()[1], worker="w1")

    scheduler.answer = one_is_broken
    cells = [f"c{number}" for number in range(BREAKER + 2)]
    kept, left, reporter, fleet = run(scheduler, cells)
    assert kept == {cell: ["pass"] for cell in cells}
    assert (left, fleet.stopped) == (0, {0: "5 cells in a row failed"})
    assert reporter.stops == ["5 cells in a row failed"]


def test_suspicious_results_of_a_sound_worker_are_kept_at_the_end() -> None:
    scheduler = Scheduler()

    def fail(order: CellOrder, key: str) -> None:
        scheduler.say("began", order.job.cell)
        scheduler.end(order, broken(order.job.cell))

    scheduler.answer = fail
    kept, left, _, _ = run(scheduler, ["a", "b"])
    assert kept == {"a": ["install-fail:error"], "b": ["install-fail:error"]}
    assert left == 0


@pytest.mark.parametrize("field", ["cell", "matrix", "lock_digest", "suite_digest", "tier"])
def test_an_answer_about_something_else_is_no_result(field: str) -> None:
    scheduler = Scheduler()

    def lie(order: CellOrder, key: str) -> None:
        scheduler.say("began", order.job.cell)
        true = fitting(evidence(order.job.cell), order.job)
        false = msgspec.structs.replace(true, **{field: "smoke" if field == "tier" else "else"})
        scheduler.say("ended", order.job.cell, attempts=(false,))

    scheduler.answer = lie
    kept, left, reporter, _ = run(scheduler, ["a"])
    assert (kept, left) == ({}, 1)
    [stop] = reporter.stops
    assert stop.startswith("a: its worker answered")


def test_a_fault_without_a_word_is_counted() -> None:
    scheduler = Scheduler()

    def fault(order: CellOrder, key: str) -> None:
        scheduler.say("began", order.job.cell)
        scheduler.say("faulted", order.job.cell)

    scheduler.answer = fault
    kept, left, reporter, _ = run(scheduler, ["a"])
    assert (kept, left, reporter.stops) == ({}, 1, ["a: "])


def test_a_cell_that_no_worker_can_take_is_given_up_and_the_others_run() -> None:
    scheduler = Scheduler()
    older = plain("old")
    inputs = msgspec.structs.replace(
        older.lock.inputs, python=type(older.lock.inputs.python)("3.6")
    )
    older = msgspec.structs.replace(older, lock=msgspec.structs.replace(older.lock, inputs=inputs))
    kept: list[str] = []
    reporter = Told()
    fleet = Remote(scheduler.connect, "topic", threading.Event(), patience=0.1)
    fleet.size()
    assert fleet.obstacle(older) == ("python3.6",)
    left = fleet.run([older, plain("a")], lambda job, _: kept.append(job.cell), reporter)
    assert (kept, left) == (["a"], 1)
    [stop] = reporter.stops
    assert stop.startswith("old: no worker has")


def test_an_order_to_stop_leaves_the_rest() -> None:
    scheduler, cancel = Scheduler(), threading.Event()

    def stop(order: CellOrder, key: str) -> None:
        scheduler.say("began", order.job.cell)
        cancel.set()
        scheduler.end(order)

    scheduler.answer = stop
    fleet = Remote(scheduler.connect, "topic", cancel, patience=30)
    fleet.size()
    kept: list[str] = []
    left = fleet.run([plain("a"), plain("b")], lambda job, _: kept.append(job.cell), Told())
    assert (kept, left) == (["a"], 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nothing",
        "text",
        None,
        packed(WorkerMessage(kind="began", worker="w", cell="c"))[:-8],
        zlib.compress(b"[" * 100_000),
        zlib.compress(b'{"kind": "began", "worker": "w", "cell": "c", "more": 1}'),
        zlib.compress(b'{"kind": "gone", "worker": "w", "cell": "c"}'),
    ],
)
def test_what_is_not_a_message_is_none(data: object) -> None:
    assert unpacked(data, WorkerMessage) is None


def test_an_order_comes_back_as_it_went() -> None:
    order = CellOrder(topic="t", job=job("a"), attempts=2, suite={"a.py": b"\xff"}, merged=True)
    assert unpacked(packed(order), CellOrder) == order
    assert unpacked(packed(order), WorkerMessage) is None


def test_a_message_comes_back_as_it_went() -> None:
    message = WorkerMessage(
        kind="ended", worker="w", cell="c", attempts=(evidence("c"),), places=("/x",)
    )
    assert unpacked(packed(message), WorkerMessage) == message


def test_what_a_worker_lacks_is_named() -> None:
    needs = resources_for(job("a"))
    assert lacking(needs, needs) == ()
    offer = {**needs, "memory-mb": 1.0}
    del offer["python3.11"]
    assert lacking(needs, offer) == ("python3.11", "memory-mb")


def test_what_a_worker_lacks_has_words() -> None:
    words = [resource_words(name) for name in resources_for(job("a"))]
    assert words == [
        "a place for a cell",
        "Python 3.11",
        "as much memory as the cell may take",
        "as much disk as the cell may take",
        "this run's code of compat (start the workers from the same version)",
    ]
