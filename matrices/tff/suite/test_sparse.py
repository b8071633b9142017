"""Sums of sparse values, sent as their dense parts: indices, values and shape."""

import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, dtype, ordered, tf_computation

SHAPE = (2, 3)
CLIENTS = [
    (np.array([[0, 0], [1, 2]], np.int64), np.array([1.0, 2.0], np.float32)),
    (np.array([[0, 0], [0, 1]], np.int64), np.array([4.0, 8.0], np.float32)),
]


def dense(indices, values):
    """Return the array that the parts stand for."""
    array = np.zeros(SHAPE, np.float32)
    np.add.at(array, tuple(indices.T), values)
    return array


EXPECTED = dense(*CLIENTS[0]) + dense(*CLIENTS[1])


@pytest.mark.capability(
    "sparse.naive-is-wrong",
    title="Sparse parts cannot be summed one by one",
    says="Summing indices, values and shape separately runs without an error and gives a wrong answer: a trap.",
)
def test_a_sum_of_each_part_is_not_the_sparse_sum():
    parts = tff.StructType(
        [
            ("indices", tff.TensorType(dtype("int64"), [2, 2])),
            ("values", tff.TensorType(dtype("float32"), [2])),
            ("shape", tff.TensorType(dtype("int64"), [2])),
        ]
    )

    @tff.federated_computation(at_clients(parts))
    def total(values):
        return tff.federated_sum(values)

    shape = np.array(SHAPE, np.int64)
    result = total([ordered(indices=indices, values=values, shape=shape) for indices, values in CLIENTS])
    assert tuple(result["shape"]) == (4, 6)
    assert np.array_equal(result["values"], [5.0, 10.0])
    assert np.array_equal(result["indices"], [[0, 0], [1, 3]])  # 3 is no column of a 2 x 3 array


@pytest.mark.capability(
    "sparse.sum-dense",
    title="Sparse sum through dense arrays",
    says="Sparse values that each client scatters into zeros are summed correctly, whatever their number of entries.",
)
def test_a_sum_through_dense_arrays_is_right():
    import tensorflow as tf

    parts = tff.StructType(
        [
            ("indices", tff.TensorType(dtype("int64"), [None, 2])),
            ("values", tff.TensorType(dtype("float32"), [None])),
        ]
    )

    @tf_computation(parts)
    def scattered(value):
        return tf.scatter_nd(value["indices"], value["values"], tf.constant(SHAPE, tf.int64))

    @tff.federated_computation(at_clients(parts))
    def total(values):
        return tff.federated_sum(tff.federated_map(scattered, values))

    empty = (np.zeros([0, 2], np.int64), np.zeros([0], np.float32))
    result = total([ordered(indices=indices, values=values) for indices, values in [*CLIENTS, empty]])
    assert np.allclose(result, EXPECTED)
