"""Sums and weighted means of sparse values over clients, each sent as its dense parts: indices, values and shape."""

import collections

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

# Each name stands for what several releases call it: tff.tf_computation was its name until 0.86.
_tf_computation = tff.tensorflow.computation if hasattr(tff, "tensorflow") else tff.tf_computation


def parts_type(rank, dtype=np.float32):
    """Return the type of one sparse value in parts: any number of entries, each with one index per dimension."""
    number, index = _number_type(dtype), _number_type(np.int64)
    return tff.StructType(
        [
            ("indices", tff.TensorType(index, [None, rank])),
            ("values", tff.TensorType(number, [None])),
            ("shape", tff.TensorType(index, [rank])),
        ]
    )


def parts_of(indices, values, shape, dtype=np.float32):
    """Return one sparse value as a computation takes it; no entries at all are fine."""
    return collections.OrderedDict(
        indices=np.asarray(indices, np.int64).reshape([-1, len(shape)]),
        values=np.asarray(values, dtype).reshape([-1]),
        shape=np.asarray(shape, np.int64),
    )


def build_dense_sum(shape, dtype=np.float32):
    """Return a computation that adds up the clients' sparse values to a dense array at the server.

    Right for small shapes and for many entries: each client sends an array of the whole shape.
    """

    @_tf_computation(parts_type(len(shape), dtype))
    def scattered(parts):
        indices, values = _checked(parts, shape)
        return tf.scatter_nd(indices, values, tf.constant(shape, tf.int64))

    @tff.federated_computation(_at_clients(parts_type(len(shape), dtype)))
    def dense_sum(clients):
        return tff.federated_sum(tff.federated_map(scattered, clients))

    return dense_sum


def build_concatenated_sum(shape, dtype=np.float32):
    """Return a computation that brings the entries of all clients together at the server, in parts.

    An index occurs as often as clients (or entries of one client) have it: who reads the parts must add those up.
    Right where the reader does so anyway, and where it must be seen what each entry was, though not whose.
    """
    return _of_clients(shape, dtype, _summing(shape, dtype, lambda indices, values: (indices, values)))


def build_deduplicated_sum(shape, dtype=np.float32):
    """Return a computation that adds up the clients' sparse values, in parts with each index once, in order.

    An index whose values cancel out stays, with an explicit 0: that somebody had it is part of the answer.
    """
    return _of_clients(shape, dtype, _summing_once(shape, dtype))


def build_weighted_mean(shape, dtype=np.float32):
    """Return a computation of the mean of the clients' sparse values, each with a weight, in parts like a sum.

    An index that a client does not have counts as 0 there. A total weight of 0 gives NaN, as in tff.federated_mean.
    """
    parts, number = parts_type(len(shape), dtype), _number_type(dtype)
    add_up = _summing_once(shape, dtype)

    @_tf_computation(parts, number)
    def weighted(one, weight):
        return _ordered(indices=one["indices"], values=one["values"] * weight, shape=one["shape"])

    @_tf_computation(parts, number)
    def divided(total, weight):
        return _ordered(indices=total["indices"], values=total["values"] / weight, shape=total["shape"])

    @tff.federated_computation(_at_clients(parts), _at_clients(number))
    def weighted_mean(clients, weights):
        total = add_up(tff.federated_map(weighted, tff.federated_zip((clients, weights))))
        return tff.federated_map(divided, tff.federated_zip((total, tff.federated_sum(weights))))

    return weighted_mean


def build_sum_factory():
    """Return an aggregation factory (0.18 and newer) whose clients send only what is not 0, as one sparse value.

    As `tff.aggregators.MeanFactory(build_sum_factory())` it averages the updates of federated averaging.
    All parts of a value must have one dtype. Its measurements say how many entries were sent.
    """

    class SparseSumFactory(tff.aggregators.UnweightedAggregationFactory):
        def create(self, value_type):
            return _aggregation_process(value_type)

    return SparseSumFactory()


def _aggregation_process(value_type):
    leaves = _leaf_types(value_type)
    if len({leaf.dtype for leaf in leaves}) != 1:
        raise TypeError(f"All parts of a value must have one dtype, found {value_type}.")
    sizes = [int(np.prod(_shape_of(leaf), dtype=np.int64)) for leaf in leaves]
    size, dtype = sum(sizes), leaves[0].dtype
    add_up = _concatenating(1, dtype)

    @_tf_computation(value_type)
    def sparse(value):
        vector = tf.concat([tf.reshape(leaf, [-1]) for leaf in _flat(value)], axis=0)
        indices = tf.where(tf.not_equal(vector, tf.zeros([], vector.dtype)))
        return _ordered(indices=indices, values=tf.gather_nd(vector, indices))

    @_tf_computation(sparse.type_signature.result)
    def count(entries):
        return tf.shape(entries["values"])[0]

    @_tf_computation(_entries_type(1, dtype))
    def dense(entries):
        vector = tf.scatter_nd(entries["indices"], entries["values"], tf.constant([size], tf.int64))
        pieces = zip(tf.split(vector, sizes), leaves)
        return _packed(value_type, iter([tf.reshape(piece, _shape_of(leaf)) for piece, leaf in pieces]))

    @tff.federated_computation()
    def initialize():
        return tff.federated_value((), tff.SERVER)

    @tff.federated_computation(initialize.type_signature.result, _at_clients(value_type))
    def next_fn(state, value):
        entries = tff.federated_map(sparse, value)
        result = tff.federated_map(dense, add_up(entries))
        sent = tff.federated_sum(tff.federated_map(count, entries))
        measurements = tff.federated_zip(_ordered(entries=sent))
        return tff.templates.MeasuredProcessOutput(state, result, measurements)

    return tff.templates.AggregationProcess(initialize, next_fn)


def _of_clients(shape, dtype, add_up):
    """Return the computation that applies a function of values at clients to sparse values in parts."""

    @tff.federated_computation(_at_clients(parts_type(len(shape), dtype)))
    def sparse_sum(clients):
        return add_up(clients)

    return sparse_sum


def _summing_once(shape, dtype):
    return _summing(shape, dtype, lambda indices, values: _each_index_once(indices, values, len(shape)))


def _summing(shape, dtype, finish):
    """Return a function that concatenates the clients' entries and lets `finish` make the result of them.

    A function for the inside of a computation, and no computation: 0.17 loses the names of aggregations in nested ones.
    """
    parts, entries = parts_type(len(shape), dtype), _entries_type(len(shape), dtype)
    add_up = _concatenating(len(shape), dtype)

    @_tf_computation(parts)
    def checked(one):
        indices, values = _checked(one, shape)
        return _ordered(indices=indices, values=values)

    @_tf_computation(entries)
    def finished(total):
        indices, values = finish(total["indices"], total["values"])
        return _ordered(indices=indices, values=values, shape=tf.constant(shape, tf.int64))

    def summed(clients):
        return tff.federated_map(finished, add_up(tff.federated_map(checked, clients)))

    return summed


def _concatenating(rank, dtype):
    """Return a function that makes one long list of the entries of all clients, in no particular order."""
    entries = _entries_type(rank, dtype)

    @_tf_computation()
    def nothing():
        return _ordered(indices=tf.zeros([0, rank], tf.int64), values=tf.zeros([0], tf.as_dtype(dtype)))

    @_tf_computation(entries, entries)
    def joined(a, b):
        return _ordered(
            indices=tf.concat([a["indices"], b["indices"]], axis=0),
            values=tf.concat([a["values"], b["values"]], axis=0),
        )

    @_tf_computation(entries)
    def unchanged(total):
        return total

    def concatenated(clients):
        return tff.federated_aggregate(clients, nothing(), joined, joined, unchanged)

    return concatenated


def _checked(parts, shape):
    """Return indices and values of one client, which cannot be computed from parts that are not of the shape."""
    declared, indices, values = tf.constant(shape, tf.int64), parts["indices"], parts["values"]
    checks = [
        (tf.equal(parts["shape"], declared), f"The shape of a sparse value is not {list(shape)}, as all must be."),
        (tf.equal(tf.shape(indices)[0], tf.shape(values)[0]), "A sparse value has not as many indices as values."),
        (indices >= 0, "A sparse value has a negative index."),
        (indices < declared, f"A sparse value has an index outside of its shape, {list(shape)}."),
    ]
    return indices + tf.add_n([_zero_where(tf.reduce_all(holds), message) for holds, message in checks]), values


def _zero_where(holds, message):
    """Return 0, or fail with the message.

    A number and no assertion: 0.56 passes over assertions about int64 and floats without a word.
    """
    return tf.cast(tf.debugging.check_numerics(tf.where(holds, 0.0, np.nan), message), tf.int64)


def _each_index_once(indices, values, rank):
    """Return the indices without their repetitions, in row-major order, each with the sum of its values."""
    # By one axis after the other, last one first: a place's number in the whole array may pass 2**63.
    order = tf.range(tf.shape(indices)[0])
    for axis in reversed(range(rank)):
        order = tf.gather(order, tf.argsort(tf.gather(indices[:, axis], order), stable=True))
    indices, values = tf.gather(indices, order), tf.gather(values, order)
    differs = tf.reduce_any(tf.not_equal(indices[1:], indices[:-1]), axis=1)
    # Not tf.ones of a list with a tensor in it, which TensorFlow 2.5 cannot make beside NumPy 1.20 and newer.
    is_first = tf.concat([tf.fill(tf.shape(order[:1]), True), differs], axis=0)
    sums = tf.math.segment_sum(values, tf.cumsum(tf.cast(is_first, tf.int32)) - 1)
    return tf.boolean_mask(indices, is_first), sums


def _entries_type(rank, dtype):
    """Return the type of parts whose shape everybody knows."""
    index = _number_type(np.int64)
    return tff.StructType(
        [("indices", tff.TensorType(index, [None, rank])), ("values", tff.TensorType(_number_type(dtype), [None]))]
    )


def _number_type(dtype):
    """Return a number type as this release takes it: NumPy's, TensorFlow's in 0.17."""
    dtype = tf.as_dtype(dtype)
    try:
        tff.TensorType(dtype.as_numpy_dtype)
    except TypeError:
        return dtype
    return dtype.as_numpy_dtype


def _at_clients(type_spec):
    return tff.FederatedType(type_spec, tff.CLIENTS)


def _ordered(**parts):
    return collections.OrderedDict(parts)


def _leaf_types(type_spec):
    if isinstance(type_spec, tff.TensorType):
        return [type_spec]
    return [leaf for _, part in tff.structure.iter_elements(type_spec) for leaf in _leaf_types(part)]


def _shape_of(tensor_type):
    """Return the shape of a tensor type as a list: a TensorShape until 0.64, a tuple since."""
    return [int(size) for size in tensor_type.shape]


def _flat(value):
    """Return the tensors of a value in the order of its type."""
    if isinstance(value, tff.structure.Struct):
        return [leaf for part in value for leaf in _flat(part)]
    return tf.nest.flatten(value)


def _packed(type_spec, leaves):
    """Return tensors in the structure of a type, in the Python containers that it names."""
    if isinstance(type_spec, tff.TensorType):
        return next(leaves)
    parts = [(name, _packed(part, leaves)) for name, part in tff.structure.iter_elements(type_spec)]
    container = getattr(type_spec, "python_container", None) or tff.structure.Struct
    if issubclass(container, (dict, tff.structure.Struct)):
        return container(parts)
    if hasattr(container, "_fields") or hasattr(container, "__attrs_attrs__"):
        return container(**dict(parts))
    return container([part for _, part in parts])
