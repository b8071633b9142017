"""The helpers of the TFF suite that need no TensorFlow: a task store, and rounds prepared ahead."""

import asyncio
import importlib.util
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SUITE = Path(__file__).parent.parent / "matrices" / "tff" / "suite"
SECONDS = 30  # no wait of a test may be longer


def helper(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tff_suite_{name}", SUITE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


rounds_ahead = helper("rounds_ahead")
np = pytest.importorskip("numpy", reason="task_store.py packs values as NumPy does")
task_store = helper("task_store")


# Rounds ahead: what goes wrong with a later round takes no earlier one along.


def three_rounds_and_an_error() -> Iterator[int]:
    yield from (0, 1, 2)
    raise OSError("no more rounds are known")


@pytest.mark.parametrize("ahead", [0, 1, 2, 5])
def test_rounds_come_before_the_error_of_a_number_that_is_asked_for_ahead(ahead: int) -> None:
    before = set(threading.enumerate())
    seen: list[int] = []
    rounds = rounds_ahead.RoundsAhead(lambda number: number, three_rounds_and_an_error(), ahead)
    with rounds, pytest.raises(OSError, match="no more rounds"):
        seen.extend(rounds)
    assert seen == [0, 1, 2]
    assert set(threading.enumerate()) <= before


async def same(number: int) -> int:
    return number


def fails_before_it_awaits(number: int) -> Any:
    if number == 3:
        raise OSError("no more rounds are known")
    return same(number)


@pytest.mark.parametrize("ahead", [0, 1, 2, 5])
@pytest.mark.parametrize(
    ("prepare", "numbers"),
    [(same, three_rounds_and_an_error), (fails_before_it_awaits, lambda: range(9))],
)
def test_asynchronous_rounds_come_before_the_error_of_a_later_one(
    ahead: int, prepare: Callable[[int], Any], numbers: Callable[[], Any]
) -> None:
    seen = []

    async def train_on(rounds: Any) -> None:
        async for number in rounds:
            seen.append(number)

    async def train() -> None:
        async with rounds_ahead.AsyncRoundsAhead(prepare, numbers(), ahead) as rounds:
            with pytest.raises(OSError, match="no more rounds"):
                await train_on(rounds)
            assert [number async for number in rounds] == []

    asyncio.run(train())
    assert seen == [0, 1, 2]


# The task store.

DOUBLE = b"stands for a serialised computation"
KNOWN = {DOUBLE: lambda value: 2 * value}


class Clock:
    """Stands for the module `time`: sleeping is all that passes time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(task_store, "time", clock)
    return clock


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Any:
    return task_store.TaskStore(
        tmp_path / "tasks.sqlite", lease_seconds=10, most_leases=3, clock=clock.monotonic
    )


@pytest.fixture(params=["file", "service"])
def reached(request: pytest.FixtureRequest, store: Any) -> Iterator[Any]:
    """The store as a worker sees it."""
    if request.param == "file":
        yield store
        return
    with task_store.served(store) as url:
        yield task_store.ServedStore(url)


@pytest.mark.parametrize(
    "value",
    [b"a\0", b"", b"\0\xff", "a\0", "\ud800", np.bytes_(b"a\0"), [b"a\0", {"b": b"c\0"}]],
    ids=repr,
)
def test_bytes_and_texts_survive_to_the_last_byte(value: Any) -> None:
    assert task_store.unpack(task_store.pack(value)) == value


def test_arrays_of_texts_survive() -> None:
    array = np.array([[b"a\0", "\u00e4\0"], [b"", "b"]], object)
    again = task_store.unpack(task_store.pack([array, array[:0]]))
    assert again[0].tolist() == array.tolist()
    assert again[0].dtype == object
    assert again[1].shape == (0, 2)
    with pytest.raises(TypeError, match="cannot pack a object"):
        task_store.pack(np.array([object()]))


def test_a_task_waits_for_its_client_and_finds_the_data_there(store: Any, reached: Any) -> None:
    task = store.put(DOUBLE, (task_store.LOCAL,), client="ann")
    everybodys = store.put(DOUBLE, (5,))
    assert reached.take(clients=("bob",)).id == everybodys
    assert reached.take() is None
    assert reached.take(clients=("bob",)) is None
    data = {"ann": 21, "cid": 0}.__getitem__
    assert task_store.work_once(reached, KNOWN, clients=("cid", "ann"), data=data)
    assert store.result(task) == (True, 42)


def test_tasks_of_clients_come_back_in_their_order(store: Any, reached: Any) -> None:
    data = {"ann": 1, "bob": 2, "cid": 3}
    worker = threading.Thread(
        target=lambda: [
            task_store.work_once(reached, KNOWN, clients=(name,), data=data.__getitem__)
            for name in ("cid", "bob", "ann")
        ]
    )
    arguments = [(task_store.LOCAL,)] * 3
    tasks = [store.put(DOUBLE, one, client=name) for one, name in zip(arguments, data, strict=True)]
    worker.start()
    worker.join(SECONDS)
    assert [store.result(task)[1] for task in tasks] == [2, 4, 6]
    assert task_store.run_all(store, DOUBLE, [], SECONDS, clients=[]) == []
    with pytest.raises(ValueError, match="2 clients for 1"):
        task_store.run_all(store, DOUBLE, [(1,)], SECONDS, clients=["ann", "bob"])


def test_a_worker_without_the_data_says_so(store: Any, reached: Any) -> None:
    task = store.put(DOUBLE, (task_store.LOCAL,), client="ann")
    assert task_store.work_once(reached, KNOWN, clients=("ann",))
    with pytest.raises(task_store.TaskFailed, match="has no data for the client 'ann'"):
        store.result(task)


def test_a_lease_is_renewed_by_its_holder_alone(store: Any, reached: Any, clock: Clock) -> None:
    task = store.put(DOUBLE, (1,))
    first = reached.take()
    clock.now = 9.0
    assert reached.renew(task, first.lease)
    clock.now = 18.0
    assert reached.take() is None
    clock.now = 19.0
    second = reached.take()
    assert second.id == task
    assert not reached.renew(task, first.lease)
    assert reached.renew(task, second.lease)
    assert reached.give(task, task_store.pack(2))
    assert not reached.renew(task, second.lease)


def test_a_worker_renews_the_lease_while_it_computes(tmp_path: Path) -> None:
    renewed = threading.Semaphore(0)

    class Watched(task_store.TaskStore):  # type: ignore[misc, name-defined]
        def renew(self, task: str, lease: int) -> Any:
            renewed.release()
            return super().renew(task, lease)

    store = Watched(tmp_path / "tasks.sqlite", lease_seconds=0.1, clock=lambda: 0.0)
    task = store.put(DOUBLE, (1,))
    known = {DOUBLE: lambda value: [renewed.acquire(timeout=SECONDS) for _ in range(3)]}
    before = set(threading.enumerate())
    assert task_store.work_once(store, known)
    assert store.result(task) == (True, [True] * 3)
    assert set(threading.enumerate()) <= before


def test_a_task_whose_workers_keep_dying_is_given_up(
    store: Any, reached: Any, clock: Clock
) -> None:
    task = store.put(DOUBLE, (1,), client="ann")
    for death in range(3):
        clock.now = 10.0 * death
        assert reached.take(clients=("ann",)).id == task
        assert store.result(task) == (False, None)
    clock.now = 30.0
    assert reached.take(clients=("ann",)) is None
    with pytest.raises(task_store.TaskLost, match=rf"{task}.*client 'ann'.*3 workers"):
        store.result(task)
    assert reached.give(task, task_store.pack(2))  # one of them was only slow
    assert store.result(task) == (True, 2)


def test_a_worker_asks_less_often_while_there_is_nothing(clock: Clock) -> None:
    asked = []

    class Nothing:
        def take(self, clients: object) -> None:
            asked.append(clock.now)

    task_store.work(Nothing(), 600)
    assert 300 < len(asked) < 1400
    assert len([now for now in asked if now < 0.1]) > 3  # and at first soon


def test_a_caller_asks_less_often_while_there_is_no_result(store: Any, clock: Clock) -> None:
    with pytest.raises(TimeoutError, match="within 60 s"):
        task_store.run_all(store, DOUBLE, [(1,)], 60)
    assert len(clock.sleeps) < 700


class Away:
    """A store that cannot be reached for as many calls of each kind as are given."""

    def __init__(self, store: Any, **calls: float) -> None:
        self._store, self._left = store, calls

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            self._left[name] = self._left.get(name, 0) - 1
            if self._left[name] >= 0:
                raise ConnectionRefusedError("nobody listens")
            return getattr(self._store, name)(*arguments, **named)

        return call


def test_a_worker_waits_for_a_store_that_is_away(store: Any, clock: Clock) -> None:
    task = store.put(DOUBLE, (1,))
    lasting = task_store.Task(task, DOUBLE, task_store.pack([1]), None, 1, 1000.0)
    away = Away(store, take=4, give=5)
    store.take = lambda clients: lasting if not store.result(task)[0] else None
    task_store.work(away, 120, known=KNOWN)
    assert store.result(task) == (True, 2)
    assert 2 * 60 < clock.now < 2 * 60 + 2  # and worked on to the end


def test_a_worker_ends_when_the_store_stays_away(store: Any, clock: Clock) -> None:
    assert not task_store.work(Away(store, take=1e9), 600, patience=20)
    assert 20 <= clock.now < 25
    assert task_store.work(Away(store), 5)


def request_line(url_end: str) -> bytes:
    """What a worker sends first to a service of that kind and path."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(SECONDS)
        scheme, _, path = url_end.partition("://")
        url = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}{path}"
        first: list[bytes] = []

        def answer() -> None:
            with listening.accept()[0] as connection:
                connection.settimeout(SECONDS)
                first.append(connection.recv(40))

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(OSError):  # noqa: PT011 - of whatever kind, as the answer never comes
            task_store.ServedStore(url).take()
        thread.join(SECONDS)
    return first[0]


def test_a_store_behind_https_and_below_a_path_is_reached() -> None:
    assert request_line("http:///").startswith(b"POST /take ")
    assert request_line("http:///team/tasks/").startswith(b"POST /team/tasks/take")
    assert request_line("https:///")[0] == 0x16  # the first byte of TLS


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ftp"):
        task_store.ServedStore("ftp://127.0.0.1:1")
    missing = tmp_path / "missing.sqlite"
    with pytest.raises(SystemExit):
        task_store.main([str(missing)])
    assert not missing.exists()
    store = task_store.TaskStore(tmp_path / "tasks.sqlite")
    with task_store.served(store) as url, pytest.raises(RuntimeError, match="404"):
        task_store.ServedStore(url + "/elsewhere").take()
