"""A round of training that is small enough to be followed by hand, for tests of what goes on around rounds."""

import numpy as np
import tensorflow_federated as tff
from api import at_clients, at_server, dtype, tf_computation


def trained():
    """Return one round: the server's number times three, plus the sum of all numbers in the clients' datasets."""

    @tf_computation(tff.SequenceType(dtype("int32")))
    def of_client(numbers):
        return numbers.reduce(np.int32(0), lambda so_far, number: so_far + number)

    @tf_computation(dtype("int32"), dtype("int32"))
    def moved(state, total):
        return state * 3 + total

    @tff.federated_computation(at_server(dtype("int32")), at_clients(tff.SequenceType(dtype("int32"))))
    def trained(state, clients):
        total = tff.federated_sum(tff.federated_map(of_client, clients))
        return tff.federated_map(moved, tff.federated_zip((state, total)))

    return trained


def datasets(contents):
    """Return a dataset of numbers for each list."""
    import tensorflow as tf

    return [tf.data.Dataset.from_tensor_slices(np.array(numbers, np.int32)) for numbers in contents]
