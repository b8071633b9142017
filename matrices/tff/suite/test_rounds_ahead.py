"""Data prepared K rounds ahead of training: the helper in `rounds_ahead.py`, and the library's own prefetching."""

import asyncio
import inspect
import statistics
import threading
import time

import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, dtype, installed, look_up, run_async, tf_computation
from one_round import datasets, trained
from rounds_ahead import AsyncRoundsAhead, RoundsAhead

ASYNC = "tff.backends.native.create_async_local_cpp_execution_context"
SECONDS = 30  # no wait of a test may be longer


def numbers_of(number):
    """Return the numbers of the two clients that take part in a round."""
    return [[number, number + 1], [10 * number]]


def read(number):
    """Return the datasets of the clients of a round."""
    return datasets(numbers_of(number))


def state_after(rounds):
    """Return the server's number after so many rounds, by plain arithmetic."""
    state = 1
    for number in range(rounds):
        state = state * 3 + sum(map(sum, numbers_of(number)))
    return state


def awaited(event):
    """Wait for an event; fail when it does not come."""
    assert event.wait(SECONDS)


class Log:
    """What a test's `prepare` notes: which rounds were started, and whether as many as wanted."""

    def __init__(self, wanted):
        """Start with nothing; `enough` is set once `wanted` rounds were started."""
        self.started = []
        self.wanted = wanted
        self.enough = threading.Event()

    def prepare(self, number):
        """Note a round and return its number."""
        self.started.append(number)
        self.check()
        return number

    def want(self, rounds):
        """Wait from now on for so many rounds."""
        self.enough.clear()
        self.wanted = rounds
        self.check()

    def check(self):
        """Set the event when enough rounds were started."""
        if len(self.started) >= self.wanted:
            self.enough.set()


@pytest.mark.quick
@pytest.mark.capability(
    "rounds-ahead.equals-serial",
    title="Rounds ahead change nothing",
    says="Training with data that is prepared K rounds ahead ends in the same state as one round after another.",
    helper="rounds_ahead.py",
)
def test_training_ends_in_the_same_state():
    train = trained()
    for ahead in (0, 1, 3, 9):
        state = 1
        with RoundsAhead(read, range(6), ahead) as rounds:
            for clients in rounds:
                state = train(state, clients)
        assert state == state_after(6)


@pytest.mark.capability(
    "rounds-ahead.bounded",
    title="At most K rounds ahead",
    says="K rounds are prepared beyond the one in training, never more, and none before it is asked for when K is 0.",
    helper="rounds_ahead.py",
    of="helper",
)
def test_exactly_k_rounds_are_prepared_ahead():
    for threads in (1, 5):
        log = Log(3)
        with RoundsAhead(log.prepare, range(100), 3, threads) as rounds:
            awaited(log.enough)
            for taken in range(1, 5):
                assert next(rounds) == taken - 1
                log.want(taken + 3)
                awaited(log.enough)
        assert sorted(log.started) == list(range(7))
    log = Log(1)
    with RoundsAhead(log.prepare, range(100), 0) as rounds:
        assert log.started == []
        assert next(rounds) == 0
    assert log.started == [0]


@pytest.mark.capability(
    "rounds-ahead.overlap",
    title="Preparation beside training",
    says="The next round is prepared while the present one still trains.",
    helper="rounds_ahead.py",
    of="helper",
)
def test_the_next_round_is_prepared_during_training(metric, tmp_path):
    begun = threading.Event()

    def prepare(number):
        if number == 1:
            begun.set()
        return number

    with RoundsAhead(prepare, range(2), 1) as rounds:
        assert next(rounds) == 0
        awaited(begun)
        assert next(rounds) == 1
    train = trained()
    train(1, read(0))
    write_rounds(tmp_path)
    metric("read_round_seconds_k0", seconds_of_a_round(train, tmp_path, 0))
    metric("read_round_seconds_k3", seconds_of_a_round(train, tmp_path, 3))


def write_rounds(folder):
    """Write a file for each of 12 rounds: the numbers of its clients, 200,000 times each, shuffled and compressed."""
    random = np.random.RandomState(0)
    for number in range(12):
        logs = [np.repeat(np.array(numbers, np.int64), 200000) for numbers in numbers_of(number)]
        for log in logs:
            random.shuffle(log)
        np.savez_compressed(str(folder / f"{number}.npz"), *logs)


def seconds_of_a_round(train, folder, ahead):
    """Return the median seconds of a round whose data is decompressed and sorted, with so many rounds ahead."""

    def read_file(number):
        with np.load(str(folder / f"{number}.npz")) as logs:
            return datasets([np.unique(logs[name]) for name in logs.files])

    state, seconds = 1, []
    with RoundsAhead(read_file, range(12), ahead, threads=3) as rounds:
        for _ in range(12):
            begin = time.perf_counter()
            state = train(state, next(rounds))
            seconds.append(time.perf_counter() - begin)
    assert state == state_after(12)
    return statistics.median(seconds[ahead:])


@pytest.mark.capability(
    "rounds-ahead.ordered",
    title="Rounds in order",
    says="Rounds come in their order, also when a later one is ready before an earlier one.",
    helper="rounds_ahead.py",
    of="helper",
)
def test_rounds_come_in_order_whenever_they_are_ready():
    later = threading.Event()

    def prepare(number):
        if number == 0:
            awaited(later)
        if number == 2:
            later.set()
        return number

    with RoundsAhead(prepare, range(5), 3, threads=3) as rounds:
        assert list(rounds) == [0, 1, 2, 3, 4]


@pytest.mark.capability(
    "rounds-ahead.errors",
    title="Errors of a round",
    says="When a round cannot be prepared, the rounds before it still come, and its error comes at its turn.",
    helper="rounds_ahead.py",
    of="helper",
)
def test_an_error_comes_at_its_round():
    def prepare(number):
        if number == 3:
            raise OSError("round 3 is unreadable")
        return number

    for ahead in (0, 1, 2, 5):
        before = set(threading.enumerate())
        rounds = RoundsAhead(prepare, range(6), ahead)
        assert [next(rounds) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(OSError, match="round 3 is unreadable"):
            next(rounds)
        assert list(rounds) == []
        assert set(threading.enumerate()) <= before


@pytest.mark.capability(
    "rounds-ahead.closes",
    title="Nothing left behind",
    says="A loop that is left early, by a break or an error of its own, leaves no thread and starts no further round.",
    helper="rounds_ahead.py",
    of="helper",
)
def test_leaving_early_leaves_nothing_behind():
    before = set(threading.enumerate())
    log = Log(3)
    with RoundsAhead(log.prepare, range(100), 2) as rounds:
        for number in rounds:
            if number == 0:
                awaited(log.enough)
                break
    assert set(threading.enumerate()) <= before
    assert log.started == [0, 1, 2]
    assert list(rounds) == []
    busy, go_on = threading.Event(), threading.Event()
    timer, begun = threading.Timer(0.05, go_on.set), []

    def blocked(number):
        begun.append(number)
        busy.set()
        awaited(go_on)
        return number

    def fail_in_training():
        with RoundsAhead(blocked, range(100), 3):
            awaited(busy)
            timer.start()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_in_training()
    assert go_on.is_set()
    assert begun == [0]
    timer.join(SECONDS)
    assert set(threading.enumerate()) <= before


@pytest.mark.capability(
    "rounds-ahead.async",
    title="Rounds ahead in the runtime",
    says="An asynchronous context prepares K rounds by its own computations beside training; the result is the same.",
    looks_for=[
        (
            "tff.backends.native.create_async_local_cpp_execution_context",
            "tff.backends.native.create_local_async_python_execution_context",
        )
    ],
    helper="rounds_ahead.py",
)
def test_the_runtime_prepares_rounds_ahead(find, async_context):
    find(ASYNC)

    @tf_computation(dtype("int32"))
    def tenfold(number):
        return 10 * number

    async def prepare(number):
        started.append(number)
        second = int(await tenfold(number))
        return [[number, number + 1], [second]]

    async def train_ahead(ahead):
        state, before = 1, asyncio.all_tasks()
        async with AsyncRoundsAhead(prepare, range(6), ahead) as rounds:
            async for clients in rounds:
                assert len(started) <= len(taken) + 1 + ahead
                taken.append(clients)
                state = await train(state, clients)
        assert asyncio.all_tasks() == before
        return int(state)

    async def train_with_each():
        for ahead in (0, 1, 3):
            started.clear()
            taken.clear()
            assert await train_ahead(ahead) == state_after(6)
            assert taken == [numbers_of(number) for number in range(6)]

    train, started, taken = trained(), [], []
    with installed(async_context):
        run_async(train_with_each())


@pytest.mark.capability(
    "rounds-ahead.async-cancel",
    title="Cancelled rounds ahead",
    says="In an asynchronous context too, an error comes at its round, and a cancelled training leaves no task behind.",
    looks_for=[
        (
            "tff.backends.native.create_async_local_cpp_execution_context",
            "tff.backends.native.create_local_async_python_execution_context",
        )
    ],
    helper="rounds_ahead.py",
)
def test_errors_and_cancellation_leave_no_task(find, async_context):
    find(ASYNC)

    @tf_computation(dtype("int32"))
    def same(number):
        return number + 0

    async def prepare(number):
        if number == 3:
            raise OSError("round 3 is unreadable")
        return int(await same(number))

    async def until_the_error():
        async with rounds:
            async for number in rounds:
                seen.append(number)

    async def until_cancelled():
        async with AsyncRoundsAhead(lambda number: asyncio.sleep(3600), range(100), 3) as rounds:
            async for _ in rounds:
                pass

    async def both():
        before = asyncio.all_tasks()
        with pytest.raises(OSError, match="round 3 is unreadable"):
            await until_the_error()
        assert [number async for number in rounds] == []
        assert asyncio.all_tasks() == before
        training = asyncio.ensure_future(until_cancelled())
        while len(asyncio.all_tasks() - before) < 4:
            await asyncio.sleep(0)
        training.cancel()
        await asyncio.wait([training], timeout=10)
        assert training.cancelled()
        assert asyncio.all_tasks() == before

    seen = []
    rounds = AsyncRoundsAhead(prepare, range(100), 2)
    with installed(async_context):
        run_async(both(), 20)
    assert seen == [0, 1, 2]


def source_of_rounds(rounds, begun):
    """Return a data source of the library whose rounds are [0, 10], [1, 11], ... for two clients.

    It notes in `begun` each round that somebody begins to prepare.
    """
    source_base, iterator_base = (
        look_up(name)[1] for name in ("tff.program.FederatedDataSource", "tff.program.FederatedDataSourceIterator")
    )
    clients = at_clients(dtype("int32"))
    lock, left = threading.Lock(), list(range(rounds))

    class Common:
        federated_type = clients
        capabilities = ()

        def to_bytes(self):
            raise NotImplementedError

        @classmethod
        def from_bytes(cls, content):
            raise NotImplementedError

    class Rounds(Common, iterator_base):
        def select(self, *number_of_clients):
            with lock:
                number = left.pop(0)
            begun.prepare(number)
            return [number, number + 10]

    class Source(Common, source_base):
        def iterator(self):
            return Rounds()

    return Source()


def prefetched(prefetching, source, rounds, context):
    """Return the iterator of a prefetching data source: two rounds ahead, two clients in each."""
    names = inspect.signature(prefetching).parameters
    # RELEASE.md of 0.63.0: what was named after rounds and clients is named after iterations and k.
    if "k_to_prefetch" in names:
        arguments = {"total_iterations": rounds, "iterations_to_prefetch": 2, "k_to_prefetch": 2}
    else:
        arguments = {"total_rounds": rounds, "num_rounds_to_prefetch": 2, "num_clients_to_prefetch": 2}
    if "context" in names:
        arguments["context"] = context
    return prefetching(source, **arguments).iterator()


@pytest.mark.capability(
    "rounds-ahead.library",
    title="The library's own prefetching",
    says="The library's prefetching data source begins with a later round before the first one is trained, and hands "
    "out every round of the source once, in whatever order.",
    looks_for=[("tff.program.PrefetchingDataSource",)],
)
def test_the_library_prefetches(find, request):
    prefetching = find("tff.program.PrefetchingDataSource")
    async_context = request.getfixturevalue("async_context")

    @tff.federated_computation(at_clients(dtype("int32")))
    def total(numbers):
        return tff.federated_sum(numbers)

    async def totals():
        rounds = prefetched(prefetching, source_of_rounds(4, begun), 4, async_context)
        first = rounds.select(2)
        # The first round is not trained yet, and nobody has asked for another.
        await asyncio.get_event_loop().run_in_executor(None, begun.enough.wait, 10)
        before_training = len(begun.started)
        rest = [rounds.select(2) for _ in range(3)]
        return before_training, [int(await total(numbers)) for numbers in [first, *rest]]

    begun = Log(2)
    with installed(async_context):
        before_training, found = run_async(totals())
    assert before_training >= 2, "no round was prepared ahead"
    assert sorted(found) == [10, 12, 14, 16]
