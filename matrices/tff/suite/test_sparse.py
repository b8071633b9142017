"""Sums of sparse values, sent as their dense parts (see sparse_sums.py) or as sparse tensors."""

import collections
import inspect
import statistics
import time

import models
import numpy as np
import pytest
import sparse_sums
import tensorflow_federated as tff
from api import at_clients, dtype, found_in, look_up, offered, tf_computation
from processes import with_memory

SHAPE = (2, 3)
# Indices and values of each client: unequal numbers, one index twice, one client with nothing, and 3 - 3 at [0, 2].
CLIENTS = [
    ([[0, 0], [1, 2], [0, 2]], [1.0, 2.0, 3.0]),
    ([], []),
    ([[1, 2], [0, 2], [0, 1], [0, 1]], [4.0, -3.0, 8.0, 0.5]),
]
EACH_ONCE = {(0, 0): 1.0, (0, 1): 8.5, (0, 2): 0.0, (1, 2): 6.0}
DENSE = np.array([[1.0, 8.5, 0.0], [0.0, 0.0, 6.0]])


def parts_of(clients, shape=SHAPE, number=np.float32):
    """Return what each client sends."""
    return [sparse_sums.parts_of(indices, values, shape, number) for indices, values in clients]


def entries_of(parts):
    """Return the entries of a sparse value as a list of pairs, each an index as a tuple and a value."""
    return list(zip(map(tuple, np.asarray(parts["indices"]).tolist()), np.asarray(parts["values"]).tolist()))


def added_up(entries):
    """Return a dictionary of entries with each index once."""
    total = collections.defaultdict(float)
    for index, value in entries:
        total[index] += value
    return dict(total)


def dense(entries, shape=SHAPE):
    """Return the array that entries stand for."""
    array = np.zeros(shape)
    for index, value in entries:
        array[index] += value
    return array


@pytest.mark.capability(
    "sparse.naive-is-wrong",
    title="Sparse parts cannot be summed one by one",
    says="Summing indices, values and shape separately is a trap: refused, or run without an error to a wrong answer.",
)
def test_a_sum_of_each_part_is_not_the_sparse_sum():
    clients = [([[0, 0], [1, 2]], [1.0, 2.0]), ([[0, 0], [0, 1]], [4.0, 8.0])]
    parts = tff.StructType(
        [
            ("indices", tff.TensorType(dtype("int64"), [2, 2])),
            ("values", tff.TensorType(dtype("float32"), [2])),
            ("shape", tff.TensorType(dtype("int64"), [2])),
        ]
    )
    result = sum_of_each_part(parts)(parts_of(clients))
    assert tuple(result["shape"]) == (4, 6)
    assert np.array_equal(result["values"], [5.0, 10.0])
    assert np.array_equal(result["indices"], [[0, 0], [1, 3]])  # 3 is no column of a 2 x 3 array
    right = sparse_sums.build_dense_sum(SHAPE)(parts_of(clients))
    assert np.array_equal(right, [[5.0, 8.0, 0.0], [0.0, 0.0, 2.0]])

    with pytest.raises(Exception, match=r"not fully defined|sum-compatible|[Ii]ncompatible shapes"):
        sum_of_each_part(sparse_sums.parts_type(2))(parts_of(CLIENTS))


def sum_of_each_part(parts):
    """Return a computation that sums indices, values and shape as if they had nothing to do with each other."""

    @tff.federated_computation(at_clients(parts))
    def total(values):
        return tff.federated_sum(values)

    return total


@pytest.mark.quick
@pytest.mark.capability(
    "sparse.sum-dense",
    title="Sparse sum to a dense array",
    says="Sparse values that each client scatters into zeros are summed correctly, whatever their number of entries.",
    helper="sparse_sums.py",
)
def test_sparse_values_are_summed_to_a_dense_array():
    total = sparse_sums.build_dense_sum(SHAPE)
    parts = "{<indices=int64[?,2],values=float32[?],shape=int64[2]>}@CLIENTS"
    assert str(total.type_signature) == f"({parts} -> float32[2,3]@SERVER)"
    result = total(parts_of(CLIENTS))
    assert np.array_equal(result, DENSE)
    assert np.asarray(result).dtype == np.float32


@pytest.mark.capability(
    "sparse.sum-concatenated",
    title="Sparse sum as all coordinates",
    says="The entries of all clients come together at the server: none is lost, changed or merged.",
    helper="sparse_sums.py",
)
def test_entries_of_all_clients_come_together():
    result = sparse_sums.build_concatenated_sum(SHAPE)(parts_of(CLIENTS))
    sent = [(tuple(index), value) for indices, values in CLIENTS for index, value in zip(indices, values)]
    assert sorted(entries_of(result)) == sorted(sent)
    assert np.shape(result["indices"]) == (7, 2)
    assert tuple(result["shape"]) == SHAPE


@pytest.mark.capability(
    "sparse.sum-deduplicated",
    title="Sparse sum with each coordinate once",
    says="Entries of one index are added up, however large the shape; indices come in order, and one whose values "
    "cancel out stays as a 0.",
    helper="sparse_sums.py",
)
def test_entries_of_one_index_are_added_up():
    result = sparse_sums.build_deduplicated_sum(SHAPE)(parts_of(CLIENTS))
    assert entries_of(result) == sorted(EACH_ONCE.items())
    assert tuple(result["shape"]) == SHAPE
    # More places than an int64 can number; the second index is 2**64 places after the first.
    last = 2**40 - 1
    clients = [([[2, 5], [2 + 2**24, 5], [last, last]], [1.0, 2.0, 4.0]), ([[last, last], [0, last]], [8.0, 16.0])]
    result = sparse_sums.build_deduplicated_sum((2**40, 2**40))(parts_of(clients, (2**40, 2**40)))
    assert entries_of(result) == [((0, last), 16.0), ((2, 5), 1.0), ((2 + 2**24, 5), 2.0), ((last, last), 12.0)]


@pytest.mark.capability(
    "sparse.sums-agree",
    title="Sparse sums agree",
    says="The three sparse sums are the same array, for one to three dimensions, floats and integers, random entries.",
    helper="sparse_sums.py",
)
def test_the_sparse_sums_agree_on_random_values():
    check_that_sums_agree((7,), np.float32, (1, 2))
    check_that_sums_agree((4, 1, 3), np.int32, (4, 5))
    check_that_sums_agree((2, 5), np.float64, (7, 8))


def check_that_sums_agree(shape, number, seeds):
    """Compare the three sums with each other, with a dictionary and with NumPy, on random clients of each seed."""
    sums = sparse_sums.build_dense_sum, sparse_sums.build_concatenated_sum, sparse_sums.build_deduplicated_sum
    to_dense, concatenated, each_once = (build(shape, number) for build in sums)
    for seed in seeds:
        clients = random_clients(np.random.RandomState(seed), shape)
        entries = [(tuple(index), value) for indices, values in clients for index, value in zip(indices, values)]
        sent = parts_of(clients, shape, number)
        assert np.array_equal(to_dense(sent), dense(entries, shape))
        all_entries, merged = entries_of(concatenated(sent)), entries_of(each_once(sent))
        assert sorted(all_entries) == sorted(entries)
        assert merged == sorted(added_up(entries).items())
        assert np.array_equal(dense(all_entries, shape), dense(entries, shape))
        assert np.array_equal(dense(merged, shape), dense(entries, shape))


def random_clients(random, shape):
    """Return indices and whole-numbered values of up to four clients; whole numbers add up exactly in any order."""
    clients = []
    for _ in range(random.randint(1, 5)):
        count = random.randint(0, 9)
        indices = np.stack([random.randint(0, size, count) for size in shape], axis=1)
        clients.append((indices.tolist(), random.randint(-3, 4, count).tolist()))
    return clients


@pytest.mark.capability(
    "sparse.cost",
    title="Cost of a sparse sum",
    says="The update of a large embedding, of which each client has one row in 500, is summed sparse and dense to the "
    "same result; the time and memory of both are reported.",
    helper="sparse_sums.py",
)
def test_the_cost_of_a_sparse_sum(metric):
    shape, rows = (100000, 16), 200
    random = np.random.RandomState(0)
    touched = [random.choice(shape[0], rows, replace=False) for _ in range(5)]
    updates = [random.randint(-3, 4, (rows, shape[1])).astype(np.float32) for _ in touched]  # add up exactly
    columns = np.tile(np.arange(shape[1]), rows)

    def sparse_values():
        indices = [np.stack([np.repeat(one, shape[1]), columns], axis=1) for one in touched]
        return [sparse_sums.parts_of(index, update, shape) for index, update in zip(indices, updates)]

    def dense_values():
        arrays = [np.zeros(shape, np.float32) for _ in touched]
        for array, one, update in zip(arrays, touched, updates):
            array[one] = update
        return arrays

    @tff.federated_computation(at_clients(tff.TensorType(dtype("float32"), list(shape))))
    def dense_sum(arrays):
        return tff.federated_sum(arrays)

    sparse, sparse_cost = with_cost(sparse_sums.build_deduplicated_sum(shape), sparse_values)
    dense, dense_cost = with_cost(dense_sum, dense_values)
    assert np.array_equal(np.unique(np.asarray(sparse["indices"])[:, 0]), np.unique(np.concatenate(touched)))
    there = tuple(np.asarray(sparse["indices"]).T)
    assert np.array_equal(np.asarray(dense)[there], sparse["values"])
    assert np.count_nonzero(dense) == np.count_nonzero(sparse["values"])
    for kind, (seconds, megabytes) in (("sparse", sparse_cost), ("dense", dense_cost)):
        metric(kind + "_embedding_sum_seconds", seconds)
        if megabytes is not None:
            metric(kind + "_embedding_sum_memory", megabytes, unit="MB")


def with_cost(computation, values):
    """Return the result of a computation on what `values` returns, and its median seconds and megabytes at most."""
    seconds = []

    def four_times():
        result = None
        for _ in range(4):
            begin = time.perf_counter()
            result = computation(values())
            seconds.append(time.perf_counter() - begin)
        return result

    result, megabytes = with_memory(four_times)
    return result, (statistics.median(seconds[1:]), megabytes)


@pytest.mark.capability(
    "sparse.empty",
    title="Sparse sums of nothing",
    says="When no client has any entry, the sparse sums are zeros, or no entries, of the right shape.",
    helper="sparse_sums.py",
)
def test_sparse_sums_of_nothing_are_empty():
    nothing = parts_of([([], []), ([], [])])
    assert np.array_equal(sparse_sums.build_dense_sum(SHAPE)(nothing), np.zeros(SHAPE))
    for build in (sparse_sums.build_concatenated_sum, sparse_sums.build_deduplicated_sum):
        result = build(SHAPE)(nothing)
        assert np.shape(result["indices"]) == (0, 2)
        assert np.shape(result["values"]) == (0,)
        assert tuple(result["shape"]) == SHAPE


@pytest.mark.capability(
    "sparse.weighted-mean",
    title="Weighted mean of sparse values",
    says="Sparse values are averaged with a weight for each client; an index that a client lacks counts as 0 there.",
    helper="sparse_sums.py",
)
def test_a_weighted_mean_of_sparse_values():
    mean = sparse_sums.build_weighted_mean(SHAPE)
    weights = [1.0, 4.0, 3.0]
    result = mean(parts_of(CLIENTS), weights)
    arrays = [dense([(tuple(index), value) for index, value in zip(*client)]) for client in CLIENTS]
    assert [index for index, _ in entries_of(result)] == sorted(EACH_ONCE)
    assert np.array_equal(dense(entries_of(result)), np.average(arrays, axis=0, weights=weights))
    assert tuple(result["shape"]) == SHAPE


@pytest.mark.capability(
    "sparse.errors",
    title="Sparse values that do not fit",
    says="A client whose shape differs, or whose indices are outside of it, is an error that says so.",
    helper="sparse_sums.py",
)
def test_sparse_values_that_do_not_fit_are_refused():
    (good,) = parts_of([([[0, 1]], [1.0])])
    wrong = [
        (parts_of([([[0, 1]], [1.0])], shape=(3, 2))[0], r"shape of a sparse value is not \[2, 3\]"),
        (parts_of([([[0, 3]], [1.0])])[0], r"index outside of its shape, \[2, 3\]"),
        (parts_of([([[-1, 0]], [1.0])])[0], "negative index"),
        (parts_of([([[0, 1]], [1.0, 2.0])])[0], "not as many indices as values"),
    ]
    for build in (sparse_sums.build_dense_sum, sparse_sums.build_concatenated_sum, sparse_sums.build_deduplicated_sum):
        total = build(SHAPE)
        for parts, said in wrong:
            with pytest.raises(Exception, match=said):
                total([good, parts])


@pytest.mark.capability(
    "sparse.fed-avg",
    title="Federated averaging with sparse updates",
    says="In federated averaging, clients send only what is not 0 of their updates; the model is the same as ever.",
    looks_for=[("tff.aggregators.UnweightedAggregationFactory",)],
    helper="sparse_sums.py",
)
def test_federated_averaging_with_sparse_updates(find):
    find("tff.aggregators.UnweightedAggregationFactory")
    build = look_up(*models.FED_AVG)[1]
    names = [name for name in inspect.signature(build).parameters if name in AGGREGATOR_ARGUMENTS]
    mean = look_up("tff.aggregators.MeanFactory")[1](sparse_sums.build_sum_factory())
    process = build(models.model_fn, models.sgd(), models.sgd(1.0), **{names[0]: mean})
    weights = models.ZEROS
    for this in models.run(process, 2, clients=ONE_FEATURE_EACH):
        updates = models.updates(weights, ONE_FEATURE_EACH)
        weights = models.fed_avg_round(weights, ONE_FEATURE_EACH)
        assert models.close(this.weights, weights)
        sent = sum(np.count_nonzero(part) for update in updates for part in update)
        assert sent == 5  # of the three numbers of each update, one client lacks one
        assert int(found_in(this.metrics, "entries")) == sent


AGGREGATOR_ARGUMENTS = ("model_aggregator", "model_update_aggregation_factory")
# The first client never sees the second feature: that part of its update is exactly 0, and is not sent.
ONE_FEATURE_EACH = [
    (np.array([[1.0, 0.0], [2.0, 0.0]], np.float32), np.array([[2.5], [4.5]], np.float32)),
    (np.array([[0.5, 2.0], [1.5, 0.5]], np.float32), np.array([[-0.6], [3.1]], np.float32)),
]


@pytest.mark.capability(
    "sparse.native",
    title="Sparse tensors in and out",
    says="A computation takes a `tf.SparseTensor` and returns one.",
    looks_for=[("tff.types.tensorflow_to_type", "tff.to_type")],
)
def test_a_sparse_tensor_goes_in_and_comes_out(find):
    import tensorflow as tf

    type_of = find("tff.types.tensorflow_to_type")
    # RELEASE.md of 0.19.0 brings it, and of 0.74.0 removes it
    sparse = offered("to_type(tf.SparseTensorSpec)", lambda: type_of(tf.SparseTensorSpec([2, 3], tf.float32)))

    @tf_computation(sparse)
    def doubled(value):
        assert isinstance(value, tf.SparseTensor)
        return tf.SparseTensor(value.indices, 2 * value.values, value.dense_shape)

    result = doubled(tf.SparseTensor(CLIENTS[0][0], CLIENTS[0][1], SHAPE))
    assert isinstance(result, tf.SparseTensor)
    assert np.array_equal(tf.sparse.to_dense(tf.sparse.reorder(result)), [[2.0, 0.0, 6.0], [0.0, 0.0, 4.0]])
