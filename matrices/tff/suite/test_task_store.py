"""Work pulled from a task store by stateless processes: the helper in `task_store.py`."""

import contextlib
import statistics
import sys
import threading
import time

import models
import numpy as np
import pytest
import task_store
import tensorflow_federated as tff
from api import at_clients, dtype, ordered, state_and_metrics, tf_computation
from models import CLIENTS
from processes import end, running, wait_until
from task_store import LOCAL, ServedStore, TaskFailed, TaskStore, pack, run_all, serialized, served, unpack, work_once

SECONDS = 50  # for the first task, which waits for the workers to import the library
# What a worker knows of the clients, as `models.dataset` makes it.
DATA = """
import collections
import numpy as np
import tensorflow as tf

def data(client):
    x, y = (np.array(part, np.float32) for part in {}[client])
    return tf.data.Dataset.from_tensor_slices(collections.OrderedDict(x=x, y=y)).batch(2)
"""


@pytest.fixture
def store(tmp_path):
    """Return a store that nobody works for yet."""
    # The first computation in 0.41 to 0.58 unpacks a program beside the library, which two processes at once would do
    # to the same file.
    tf_computation()(lambda: np.int32(0))()
    return TaskStore(tmp_path / "tasks.sqlite")


@contextlib.contextmanager
def worked_for(store, another_process, *options):
    """Serve a store, and have a worker in another process dial it, until the block ends."""
    with contextlib.ExitStack() as service:
        url = service.enter_context(served(store))
        with another_process.running(task_store.__file__, url, "--seconds", 240, "--patience", 1, *options):
            yield
            service.close()  # which ends the worker


def total_of_client():
    """Return a computation of one client: ten times the sum of its numbers, and how many they are."""

    @tf_computation(tff.SequenceType(dtype("int32")), dtype("int32"))
    def total_of_client(numbers, factor):
        return numbers.reduce(
            (np.int32(0), np.int32(0)), lambda so_far, number: (so_far[0] + factor * number, so_far[1] + 1)
        )

    return total_of_client


@pytest.mark.quick
@pytest.mark.capability(
    "task-store.values",
    title="Values as bytes",
    says="What computations take and return, datasets too, is turned into bytes and back without running any code.",
    helper="task_store.py",
    of="helper",
)
def test_values_survive_being_bytes():
    import tensorflow as tf

    batches = tf.data.Dataset.from_tensor_slices(ordered(x=np.arange(3, dtype=np.float32))).batch(2)
    value = ordered(
        scalar=np.float32(1.5),
        flag=np.bool_(True),
        plain=[None, True, 3, 2.5, "text"],
        deep=(ordered(a=np.arange(6, dtype=np.int64).reshape([2, 3])), []),
        empty=np.zeros([0, 2], np.float64),
        weights=models.model_weights(models.SOME_WEIGHTS),
        data=batches,
        texts=[tf.constant([b"a\0", b""]), tf.constant(b"b\0"), b"c\0", "d\0"],
        halves=tf.constant([[1.5], [-2.0]], tf.bfloat16).numpy(),
        half=tf.constant(0.5, tf.bfloat16).numpy(),
    )
    again = unpack(pack(value))
    assert list(again) == list(value)
    assert again["scalar"] == 1.5
    assert again["scalar"].dtype == np.float32
    assert again["flag"].dtype == np.bool_
    assert again["plain"] == [None, True, 3, 2.5, "text"]
    assert np.array_equal(again["deep"][0]["a"], [[0, 1, 2], [3, 4, 5]])
    assert again["deep"][0]["a"].dtype == np.int64
    assert again["deep"][1] == []
    assert again["empty"].shape == (0, 2)
    assert models.close(again["weights"]["trainable"], list(models.SOME_WEIGHTS))
    assert [batch["x"].tolist() for batch in again["data"]] == [[0.0, 1.0], [2.0]]
    assert again["texts"][0].tolist() == [b"a\0", b""]
    assert again["texts"][1:] == [b"b\0", b"c\0", "d\0"]
    assert again["halves"].dtype == np.asarray(again["half"]).dtype == value["halves"].dtype
    assert again["halves"].astype(np.float32).tolist() == [[1.5], [-2.0]]
    assert float(again["half"]) == 0.5
    with pytest.raises(TypeError):
        pack([object()])


@pytest.mark.quick
@pytest.mark.capability(
    "task-store.once",
    title="Each task once",
    says="However many workers pull, a task is leased to one of them, and only the first result of it counts.",
    helper="task_store.py",
    of="helper",
)
def test_tasks_are_leased_and_counted_once(tmp_path):
    now = [0.0]
    store = TaskStore(tmp_path / "tasks.sqlite", lease_seconds=10, clock=lambda: now[0])
    tasks = [store.put(b"", (number,)) for number in range(12)]
    assert store.put(b"other", (99,), task=tasks[0]) == tasks[0]
    taken = []

    def pull():
        mine = ServedStore(url)
        task = mine.take()
        while task is not None:
            taken.append(task)
            task = mine.take()

    with served(store) as url:
        threads = [threading.Thread(target=pull) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(task.id for task in taken) == sorted(tasks)
    assert sorted(unpack(task.arguments)[0] for task in taken) == list(range(12))
    assert {task.computation for task in taken} == {b""}
    now[0] = 9.9
    assert store.take() is None
    now[0] = 10.0
    assert store.take().id == tasks[0]
    assert store.result(tasks[0]) == (False, None)
    assert store.give(tasks[0], pack(1))
    assert not store.give(tasks[0], pack(2))
    assert not store.give(tasks[0], error="late")
    assert store.result(tasks[0]) == (True, 1)
    assert store.take().id == tasks[1]
    assert not store.give("unknown", pack(1))
    with pytest.raises(KeyError):
        store.result("unknown")


@pytest.mark.capability(
    "task-store.lost-worker",
    title="A worker that is lost",
    says="When a worker dies, another gets its task after the lease, and what the first one still sends is ignored.",
    helper="task_store.py",
    of="helper",
)
def test_the_task_of_a_dead_worker_is_done_by_another(tmp_path):
    now = [0.0]
    store = TaskStore(tmp_path / "tasks.sqlite", lease_seconds=10, clock=lambda: now[0])
    task = store.put(serialized(total_of_client()), ([1, 2, 3], 10))
    program = "import sys, task_store, time; task_store.ServedStore(sys.argv[1]).take(); time.sleep(60)"
    with served(store) as url:
        with running(tmp_path / "lost.log", sys.executable, "-c", program, url) as lost:
            wait_until(lambda: store.leases(task) == 1, what="the lease")
            end(lost)
            assert lost.returncode < 0
        worker, known = ServedStore(url), {}
        assert not work_once(worker, known)
        now[0] = 10.0
        assert work_once(worker, known)
        assert not worker.give(task, pack([0, 0]))
    assert store.leases(task) == 2
    assert [int(part) for part in store.result(task)[1]] == [60, 3]


@pytest.mark.capability(
    "task-store.fed-avg",
    title="Federated averaging through a task store",
    says="A round whose client work is pulled as MapReduce pieces, by workers that alone have the clients' data, gives "
    "the weights of the ordinary round.",
    looks_for=[
        (
            "tff.backends.mapreduce.get_map_reduce_form_for_computation",
            "tff.backends.mapreduce.get_map_reduce_form_for_iterative_process",
            "tff.backends.mapreduce.get_canonical_form_for_iterative_process",
        ),
    ],
    helper="task_store.py",
)
def test_a_round_of_pulled_tasks_is_the_ordinary_round(find, store, another_process, tmp_path):
    convert = find("tff.backends.mapreduce.get_map_reduce_form_for_computation")
    process = models.fed_avg()
    form = convert(process.next if convert.__name__ == "get_map_reduce_form_for_computation" else process)
    state = process.initialize()
    model = form.prepare(state)
    names = ["ann", "bob"]
    (tmp_path / "data.py").write_text(DATA.format(dict(zip(names, ([part.tolist() for part in c] for c in CLIENTS)))))
    options = ["--client", "bob", "--client", "ann", "--data", tmp_path / "data.py"]
    with worked_for(store, another_process, *options):
        worked = run_all(store, serialized(form.work), [(LOCAL, model)] * len(names), SECONDS, clients=names)
    accumulator = form.zero()
    for update in worked:
        accumulator = form.accumulate(accumulator, update[0])
    of_secure_sums = [()] * (len(form.update.type_signature.parameter[1]) - 1)
    updated = form.update(state, (form.report(accumulator), *of_secure_sums))
    pulled = next(iter(updated.values())) if hasattr(updated, "values") else updated[0]
    ordinary, _ = state_and_metrics(process.next(state, models.datasets()))
    weights = models.weights_of(process, ordinary)
    assert models.close(weights, models.fed_avg_round(models.ZEROS))
    assert models.close(models.weights_of(process, pulled), weights)


@pytest.mark.capability(
    "task-store.sum",
    title="A federated sum through a task store",
    says="The clients' parts of a sum, computed by processes that pull them, add up to the ordinary federated sum.",
    helper="task_store.py",
)
def test_a_sum_of_pulled_tasks_is_the_federated_sum(store, another_process, metric):
    of_client = total_of_client()
    clients = [[1, 2, 3], [4], [], [5, 6], [-7, 8], [9]]
    factor = dtype("int32")

    @tf_computation(tff.SequenceType(dtype("int32")))
    def tenfold(numbers):
        return numbers.reduce(np.int32(0), lambda so_far, number: so_far + 10 * number)

    @tff.federated_computation(at_clients(tff.SequenceType(factor)))
    def total(datasets):
        return tff.federated_sum(tff.federated_map(tenfold, datasets))

    content = serialized(of_client)
    first = store.put(content, (clients[0], 10))
    assert work_once(store, {})  # this process pulls too, from the file
    with worked_for(store, another_process):
        results = run_all(store, content, [(numbers, 10) for numbers in clients[1:]], SECONDS)
        pulled = median_seconds(lambda: run_all(store, content, [([1, 2, 3], 10)], SECONDS))
    results.insert(0, store.result(first)[1])
    assert [int(count) for _, count in results] == [len(numbers) for numbers in clients]
    assert sum(int(part) for part, _ in results) == total(clients) == 10 * sum(map(sum, clients))
    assert [int(part) for part in of_client([1, 2, 3], 10)] == [60, 3]
    metric("task_store_seconds", pulled)
    metric("direct_seconds", median_seconds(lambda: of_client([1, 2, 3], 10)))


def median_seconds(call):
    """Return the median seconds of several calls."""
    seconds = []
    for _ in range(9):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


@pytest.mark.capability(
    "task-store.errors",
    title="Tasks that fail",
    says="What a computation raises at a worker reaches whoever asked for it, and the worker goes on.",
    helper="task_store.py",
)
def test_an_error_at_a_worker_reaches_the_caller(store, another_process):
    import tensorflow as tf

    @tf_computation(dtype("int32"))
    def positive(value):
        with tf.control_dependencies([tf.debugging.assert_positive(value, message="not a positive number")]):
            return tf.identity(value)

    content = serialized(positive)
    with worked_for(store, another_process):
        for _ in range(2):
            with pytest.raises(TaskFailed, match="not a positive number"):
                run_all(store, content, [(-1,)], SECONDS)
            assert [int(value) for value in run_all(store, content, [(1,), (2,)], SECONDS)] == [1, 2]
