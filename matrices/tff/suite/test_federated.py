"""The federated operators: values that clients hold, and what the server makes of them."""

import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, at_server, dtype, offered, ordered, tf_computation


def close(found, expected):
    """Return whether two numbers or arrays agree to the precision of float32."""
    return np.allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.quick
@pytest.mark.capability(
    "federated.sum",
    title="Federated sum",
    says="Numbers, arrays and structures of the clients are added up at the server.",
)
def test_a_sum_over_clients():
    @tff.federated_computation(at_clients(dtype("int32")))
    def total(values):
        return tff.federated_sum(values)

    @tff.federated_computation(at_clients(tff.TensorType(dtype("float32"), [3])))
    def total_of_arrays(values):
        return tff.federated_sum(values)

    pair = tff.StructType([("a", dtype("int32")), ("b", dtype("float32"))])

    @tff.federated_computation(at_clients(pair))
    def total_of_pairs(values):
        return tff.federated_sum(values)

    assert str(total.type_signature) == "({int32}@CLIENTS -> int32@SERVER)"
    assert total([1, 2, 3, 36]) == 42
    pairs = total_of_pairs([ordered(a=1, b=0.5), ordered(a=2, b=-4.0)])
    assert (pairs["a"], pairs["b"]) == (3, -3.5)
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


def numbers_and_arrays(operator):
    """Return a computation that applies a federated operator to numbers and to arrays."""

    @tff.federated_computation(at_clients(dtype("float32")), at_clients(tff.TensorType(dtype("int32"), [3])))
    def both(numbers, arrays):
        return operator(numbers), operator(arrays)

    return both


ARRAYS = [np.array(array, np.int32) for array in ([5, -1, 0], [2, 7, 0], [3, -8, 0])]


@pytest.mark.capability(
    "federated.min",
    title="Federated minimum",
    says="The server receives the smallest of the clients' values, of arrays that of each place.",
    looks_for=[("tff.federated_min", "tff.aggregators.federated_min", "tff.utils.federated_min")],
)
def test_a_minimum_over_clients(find):
    smallest = numbers_and_arrays(find("tff.federated_min"))
    number, array = smallest([3.0, -1.5, 2.0], ARRAYS)
    assert close(number, -1.5)
    assert np.array_equal(array, np.min(ARRAYS, axis=0))


@pytest.mark.capability(
    "federated.max",
    title="Federated maximum",
    says="The server receives the largest of the clients' values, of arrays that of each place.",
    looks_for=[("tff.federated_max", "tff.aggregators.federated_max", "tff.utils.federated_max")],
)
def test_a_maximum_over_clients(find):
    largest = numbers_and_arrays(find("tff.federated_max"))
    number, array = largest([3.0, -1.5, 2.0], ARRAYS)
    assert close(number, 3.0)
    assert np.array_equal(array, np.max(ARRAYS, axis=0))


@pytest.mark.capability(
    "federated.value",
    title="Federated values",
    says="A constant is placed at the server or at all clients, the same for each.",
)
def test_a_constant_is_placed():
    times = tf_computation(dtype("int32"), dtype("int32"))(lambda a, b: a * b)

    @tff.federated_computation(at_clients(dtype("int32")))
    def scaled_total(values):
        at_server_six = tff.federated_value(6, tff.SERVER)
        sevens = tff.federated_value(7, tff.CLIENTS)
        return at_server_six, tff.federated_sum(tff.federated_map(times, tff.federated_zip((values, sevens))))

    assert str(scaled_total.type_signature.result) == "<int32@SERVER,int32@SERVER>"
    assert tuple(scaled_total([1, 2, 4])) == (6, 49)


@pytest.mark.capability(
    "federated.eval",
    title="Federated eval",
    says="A computation without argument runs at the server, or at each client by itself.",
)
def test_a_computation_runs_where_it_is_put():
    import tensorflow as tf

    @tf_computation()
    def seven():
        return np.int32(7)

    @tf_computation()
    def noise():
        return tf.random.uniform([4])

    @tff.federated_computation(at_clients(dtype("int32")))
    def evaluated(values):
        del values  # says only how many clients there are
        everywhere = tff.federated_eval(noise, tff.CLIENTS)
        return (
            tff.federated_eval(seven, tff.SERVER),
            tff.federated_sum(tff.federated_eval(seven, tff.CLIENTS)),
            everywhere,
        )

    server, total, drawn = evaluated([0, 0, 0])
    assert (server, total) == (7, 21)
    assert len({tuple(np.asarray(one).tolist()) for one in drawn}) == 3


@pytest.mark.capability(
    "federated.zip",
    title="Federated zip",
    says="Several values of the clients, or of the server, become one value of structures, and keep who has which.",
)
def test_values_are_zipped():
    @tff.federated_computation(at_clients(dtype("int32")), at_clients(dtype("float32")), at_server(dtype("int32")))
    def zipped(a, b, c):
        return tff.federated_zip(ordered(a=a, b=b)), tff.federated_zip((c, c))

    assert str(zipped.type_signature.result) == "<{<a=int32,b=float32>}@CLIENTS,<int32,int32>@SERVER>"
    clients, server = zipped([1, 2, 3], [0.5, 1.5, 2.5], 9)
    assert [(one["a"], one["b"]) for one in clients] == [(1, 0.5), (2, 1.5), (3, 2.5)]
    assert tuple(server) == (9, 9)


@pytest.mark.capability(
    "federated.automatic-zip",
    title="Arguments zipped by themselves",
    says="A structure of federated values may be given where a computation takes one federated value of structures.",
)
def test_arguments_are_zipped_by_themselves():
    pair = tff.StructType([("a", dtype("int32")), ("b", dtype("int32"))])
    times = tf_computation(pair)(lambda parts: parts["a"] * parts["b"])

    @tff.federated_computation(at_clients(pair))
    def total_of_products(pairs):
        return tff.federated_sum(tff.federated_map(times, pairs))

    apart = tff.StructType([("a", at_clients(dtype("int32"))), ("b", at_clients(dtype("int32")))])

    def passed_on(values):
        return total_of_products(values)

    # RELEASE.md of 0.20.0 adds it.
    outer = offered("automatic federated_zip", lambda: tff.federated_computation(apart)(passed_on))
    assert str(outer.type_signature.parameter) == "<a={int32}@CLIENTS,b={int32}@CLIENTS>"
    assert outer(ordered(a=[1, 2, 3], b=[4, 5, 6])) == 32


@pytest.mark.capability(
    "federated.select",
    title="Federated select",
    says="Each client receives only those parts of a server's value that it asked for by key.",
    looks_for=[("tff.federated_select",)],
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
    @tff.federated_computation(at_clients(dtype("int32")))
    def total(values):
        return tff.federated_sum(values)

    @tff.federated_computation(at_clients(tff.TensorType(dtype("float32"), [2])))
    def total_of_arrays(values):
        return tff.federated_sum(values)

    assert total([]) == 0
    assert np.array_equal(total_of_arrays([]), [0.0, 0.0])
