"""Datasets as arguments, of sparse values too, and the ways round where those cannot pass."""

import numpy as np
import pytest
import sparse_sums
import tensorflow_federated as tff
from api import at_clients, dtype, offered, ordered, tf_computation

SHAPE = (2, 3)
# Two sparse elements of one dataset; the number of entries differs.
ELEMENTS = [([[0, 1]], [2.0]), ([[0, 1], [1, 2]], [3.0, 4.0])]
TOTAL = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 4.0]])


@pytest.mark.quick
@pytest.mark.capability(
    "dataset.reduce",
    title="Datasets as arguments",
    says="A computation takes a dataset and reduces it; lists and tf.data datasets are both accepted.",
)
def test_a_dataset_is_reduced_inside_a_computation():
    import tensorflow as tf

    @tf_computation(tff.SequenceType(dtype("int32")))
    def total(dataset):
        return dataset.reduce(np.int32(0), lambda sum_so_far, value: sum_so_far + value)

    assert str(total.type_signature) == "(int32* -> int32)"
    assert total([1, 2, 3, 4]) == 10
    assert total(tf.data.Dataset.range(5).map(lambda value: tf.cast(value, tf.int32))) == 10
    assert total([]) == 0


@pytest.mark.capability(
    "dataset.batches",
    title="Batches of examples as arguments",
    says="Each client gives a dataset of batches with named parts; a smaller last batch, and no batch, are fine.",
)
def test_clients_give_batches_with_named_parts():
    import tensorflow as tf

    batch = tff.StructType(
        [("x", tff.TensorType(dtype("float32"), [None, 2])), ("y", tff.TensorType(dtype("int32"), [None]))]
    )

    @tf_computation(tff.SequenceType(batch))
    def weighted_total(dataset):
        def add(so_far, one):
            return so_far + tf.reduce_sum(one["x"] * tf.cast(tf.expand_dims(one["y"], 1), tf.float32), axis=0)

        return dataset.reduce(tf.zeros([2]), add)

    @tff.federated_computation(at_clients(tff.SequenceType(batch)))
    def total(datasets):
        return tff.federated_sum(tff.federated_map(weighted_total, datasets))

    x, y = np.arange(10, dtype=np.float32).reshape([5, 2]), np.array([1, -1, 2, 0, 3], np.int32)
    examples = tf.data.Dataset.from_tensor_slices(ordered(x=x, y=y))
    result = total([examples.batch(2), examples.take(1).batch(4), examples.take(0).batch(2)])
    assert np.array_equal(result, y @ x + x[0])


@pytest.mark.capability(
    "dataset.sparse-native",
    title="Datasets of sparse tensors as arguments",
    says="A computation takes a dataset whose elements are sparse tensors, and reduces it.",
    looks_for=[("tff.types.tensorflow_to_type", "tff.to_type")],
)
def test_a_dataset_of_sparse_tensors_is_reduced(find):
    import tensorflow as tf

    type_of = find("tff.types.tensorflow_to_type")
    # RELEASE.md of 0.19.0 brings it, and of 0.74.0 removes it
    sparse = offered("to_type(tf.SparseTensorSpec)", lambda: type_of(tf.SparseTensorSpec(list(SHAPE), tf.float32)))

    @tf_computation(tff.SequenceType(sparse))
    def total(dataset):
        return dataset.reduce(tf.zeros(SHAPE), lambda so_far, value: so_far + tf.sparse.to_dense(value))

    rows = tf.sparse.from_dense([[[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 3.0, 0.0], [0.0, 0.0, 4.0]]])
    assert np.array_equal(total(tf.data.Dataset.from_tensor_slices(rows)), TOTAL)


@pytest.mark.capability(
    "dataset.sparse-parts",
    title="Datasets of sparse values in parts as arguments",
    says="A computation takes a dataset of sparse values, each as indices, values and shape, and puts them together.",
    helper="sparse_sums.py",
)
def test_a_dataset_of_sparse_parts_is_reduced():
    import tensorflow as tf

    parts = sparse_sums.parts_type(2)
    elements = [sparse_sums.parts_of(indices, values, SHAPE) for indices, values in ELEMENTS]

    @tf_computation(tff.SequenceType(parts))
    def total(dataset):
        def add(so_far, one):
            return so_far + tf.sparse.to_dense(tf.SparseTensor(one["indices"], one["values"], one["shape"]))

        return dataset.reduce(tf.zeros(SHAPE), add)

    @tff.federated_computation(at_clients(tff.SequenceType(parts)))
    def total_of_all(datasets):
        return tff.federated_sum(tff.federated_map(total, datasets))

    def element(number):
        count = number + 1  # as many entries as ELEMENTS has there
        return ordered(
            indices=tf.constant([[0, 1], [1, 2]], tf.int64)[:count],
            values=tf.constant([[2.0, 0.0], [3.0, 4.0]])[number, :count],
            shape=tf.constant(SHAPE, tf.int64),
        )

    assert np.array_equal(total(elements), TOTAL)
    assert np.array_equal(total_of_all([elements, tf.data.Dataset.range(2).map(element), []]), 2 * TOTAL)


@pytest.mark.capability(
    "dataset.hidden",
    title="Datasets made inside a computation",
    says="A client's number goes in, and the computation itself makes its dataset of sparse tensors: none passes.",
)
def test_a_dataset_of_sparse_tensors_is_made_inside():
    import tensorflow as tf

    @tf_computation(dtype("int64"))
    def total(client):
        def sparse(step):
            return tf.SparseTensor([[0, 1], [1, 2]], tf.cast(tf.stack([client, step]), tf.float32), SHAPE)

        dataset = tf.data.Dataset.range(3).map(sparse)
        return dataset.reduce(tf.zeros(SHAPE), lambda so_far, value: so_far + tf.sparse.to_dense(value))

    @tff.federated_computation(at_clients(dtype("int64")))
    def total_of_all(clients):
        return tff.federated_sum(tff.federated_map(total, clients))

    assert np.array_equal(total_of_all([5, 7]), [[0.0, 3 * (5 + 7), 0.0], [0.0, 0.0, 2 * (0 + 1 + 2)]])
