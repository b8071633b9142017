"""The federated operators: values that clients hold, and what the server makes of them."""

import numpy as np
import pytest
import tensorflow_federated as tff
from api import Absent, at_clients, at_server, dtype, ordered, release, tf_computation


def close(found, expected):
    """Return whether two numbers or arrays agree to the precision of float32."""
    return np.allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.quick
@pytest.mark.capability(
    "federated.sum",
    title="Federated sum",
    says="Numbers and arrays of the clients are added up at the server.",
)
def test_a_sum_over_clients():
    @tff.federated_computation(at_clients(dtype("int32")))
    def total(values):
        return tff.federated_sum(values)

    @tff.federated_computation(at_clients(tff.TensorType(dtype("float32"), [3])))
    def total_of_arrays(values):
        return tff.federated_sum(values)

    assert str(total.type_signature) == "({int32}@CLIENTS -> int32@SERVER)"
    assert total([1, 2, 3, 36]) == 42
    arrays = [np.array([1.5, -2.0, number], np.float32) for number in range(4)]
    assert close(total_of_arrays(arrays), np.sum(arrays, axis=0))


@pytest.mark.quick
@pytest.mark.capability(
    "federated.mean",
    title="Federated mean",
    says="The server receives the mean of the clients' values.",
)
def test_a_mean_over_clients():
    @tff.federated_computation(at_clients(dtype("float32")))
    def mean(values):
        return tff.federated_mean(values)

    assert close(mean([1.0, 2.0, 6.0]), 3.0)


@pytest.mark.capability(
    "federated.weighted-mean",
    title="Weighted federated mean",
    says="The server receives the mean of the clients' values, each with its own weight.",
)
def test_a_weighted_mean_over_clients():
    @tff.federated_computation(at_clients(tff.TensorType(dtype("float32"), [2])), at_clients(dtype("float32")))
    def mean(values, weights):
        return tff.federated_mean(values, weights)

    values = [np.array(pair, np.float32) for pair in ([1, 10], [2, 20], [6, 0])]
    weights = [1.0, 3.0, 4.0]
    assert close(mean(values, weights), np.average(values, axis=0, weights=weights))


@pytest.mark.quick
@pytest.mark.capability(
    "federated.broadcast",
    title="Broadcast, map, sum",
    says="A value of the server reaches each client, which computes with it; the results are added up.",
)
def test_a_value_is_broadcast_mapped_and_summed():
    @tf_computation(dtype("int32"), dtype("int32"))
    def times(a, b):
        return a * b

    @tff.federated_computation(at_server(dtype("int32")), at_clients(dtype("int32")))
    def scaled_total(factor, values):
        pairs = tff.federated_zip((tff.federated_broadcast(factor), values))
        return tff.federated_sum(tff.federated_map(times, pairs))

    assert scaled_total(6, [1, 2, 3]) == 36


@pytest.mark.capability(
    "federated.aggregate",
    title="Aggregation of one's own",
    says="An aggregation made of the user's own accumulate, merge and report steps gives the right result.",
)
def test_an_aggregation_of_ones_own():
    number = dtype("float32")
    counted = tff.StructType([("sum", number), ("count", number)])

    @tf_computation()
    def zero():
        return ordered(sum=np.float32(0), count=np.float32(0))

    @tf_computation(counted, number)
    def accumulate(so_far, value):
        return ordered(sum=so_far["sum"] + value, count=so_far["count"] + 1)

    @tf_computation(counted, counted)
    def merge(a, b):
        return ordered(sum=a["sum"] + b["sum"], count=a["count"] + b["count"])

    @tf_computation(counted)
    def report(so_far):
        return so_far["sum"] / so_far["count"]

    @tff.federated_computation(at_clients(number))
    def mean(values):
        return tff.federated_aggregate(values, zero(), accumulate, merge, report)

    assert close(mean([1.0, 2.0, 6.0]), 3.0)


@pytest.mark.capability(
    "federated.min",
    title="Federated minimum",
    says="The server receives the smallest of the clients' values.",
)
def test_a_minimum_over_clients(find):
    minimum = find("tff.federated_min", "tff.aggregators.federated_min", "tff.utils.federated_min")

    @tff.federated_computation(at_clients(dtype("float32")))
    def smallest(values):
        return minimum(values)

    assert close(smallest([3.0, -1.5, 2.0]), -1.5)


@pytest.mark.capability(
    "federated.select",
    title="Federated select",
    says="Each client receives only those parts of a server's value that it asked for by key.",
)
def test_each_client_selects_what_it_asked_for(find):
    select = find("tff.federated_select")
    keys = tff.TensorType(dtype("int32"), [2])
    table = tff.TensorType(dtype("float32"), [4])

    @tf_computation(table, dtype("int32"))
    def part(values, key):
        import tensorflow as tf

        return tf.gather(values, key)

    @tf_computation(tff.SequenceType(dtype("float32")))
    def total(parts):
        return parts.reduce(np.float32(0), lambda sum_so_far, value: sum_so_far + value)

    @tf_computation()
    def max_key():
        return np.int32(4)

    @tff.federated_computation(at_clients(keys), at_server(table))
    def selected(client_keys, values):
        parts = select(client_keys, tff.federated_eval(max_key, tff.SERVER), values, part)
        return tff.federated_sum(tff.federated_map(total, parts))

    values = np.array([1, 10, 100, 1000], np.float32)
    client_keys = [np.array(pair, np.int32) for pair in ([0, 3], [1, 3])]
    assert close(selected(client_keys, values), 2011)


@pytest.mark.capability(
    "federated.zero-clients",
    title="A round without clients",
    says="A sum over no clients at all is zero, not an error.",
)
def test_a_sum_over_no_clients_is_zero():
    if release() < (0, 20):
        raise Absent(["sums over no clients"])  # RELEASE.md of 0.20.0: they are zero from then on

    @tff.federated_computation(at_clients(dtype("int32")))
    def total(values):
        return tff.federated_sum(values)

    assert total([]) == 0
