"""Federated averaging, checked round by round against the same arithmetic in NumPy."""

import collections
import time

import numpy as np
import pytest
import tensorflow_federated as tff
from api import Absent, found_in, look_up, release, state_and_metrics

RATE = 0.1
# Two clients of different size, so that a mean without weights would be wrong. y = 2 * x1 - x2 + 0.5, roughly.
CLIENTS = [
    (
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], np.float32),
        np.array([[2.4], [-0.4], [1.6], [3.5]], np.float32),
    ),
    (np.array([[0.5, 2.0], [1.5, 0.5]], np.float32), np.array([[-0.6], [3.1]], np.float32)),
]
BATCH = 2


def dataset(features, labels):
    """Return a client's examples as batches of two."""
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(collections.OrderedDict(x=features, y=labels)).batch(BATCH)


def model_fn():
    """Return a linear model of zeros with a squared loss."""
    import tensorflow as tf

    from_keras_model = look_up("tff.learning.models.from_keras_model", "tff.learning.from_keras_model")[1]
    keras_model = tf.keras.Sequential(
        [tf.keras.layers.Dense(1, kernel_initializer="zeros", bias_initializer="zeros", input_shape=(2,))]
    )
    spec = dataset(*CLIENTS[0]).element_spec
    return from_keras_model(keras_model, loss=tf.keras.losses.MeanSquaredError(), input_spec=spec)


def round_in_numpy(weights, bias):
    """Return the weights and the bias after one round: one epoch of SGD at each client, then the weighted mean."""
    results = []
    for features, labels in CLIENTS:
        w, b = weights.copy(), bias.copy()
        for start in range(0, len(features), BATCH):
            x, y = features[start : start + BATCH], labels[start : start + BATCH]
            error = x @ w + b - y
            w = w - RATE * 2 * x.T @ error / len(x)
            b = b - RATE * 2 * error.mean(axis=0)
        results.append((w, b))
    sizes = [len(features) for features, _ in CLIENTS]
    return tuple(np.average([result[part] for result in results], axis=0, weights=sizes) for part in (0, 1))


def loss_of(weights, bias):
    """Return the mean squared error over all examples."""
    x, y = (np.concatenate([client[part] for client in CLIENTS]) for part in (0, 1))
    return float(np.mean((x @ weights + bias - y) ** 2))


def trainable(process, state):
    """Return the trainable weights of the server's model."""
    if hasattr(process, "get_model_weights"):
        return process.get_model_weights(state).trainable
    return state.model.trainable


def run_rounds(process, rounds):
    """Return the weights after each round, the metrics of each, and its seconds."""
    state = process.initialize()
    history = []
    for _ in range(rounds):
        start = time.perf_counter()
        state, metrics = state_and_metrics(process.next(state, [dataset(*client) for client in CLIENTS]))
        seconds = time.perf_counter() - start
        history.append(([np.array(part) for part in trainable(process, state)], metrics, seconds))
    return history


def assert_as_in_numpy(history):
    """Check the weights of each round against the same round in NumPy, and that the loss falls."""
    expected = np.zeros([2, 1]), np.zeros([1])
    losses = [loss_of(*expected)]
    for (weights, bias), _, _ in history:
        expected = round_in_numpy(*expected)
        assert np.allclose(weights, expected[0], rtol=1e-4, atol=1e-5)
        assert np.allclose(bias, expected[1], rtol=1e-4, atol=1e-5)
        losses.append(loss_of(weights, bias))
    assert losses == sorted(losses, reverse=True)


@pytest.mark.capability(
    "learning.fed-avg",
    title="Federated averaging",
    says="A Keras model is trained by weighted federated averaging; each round gives the weights that it should.",
)
def test_federated_averaging_matches_numpy(find, metric):
    import tensorflow as tf

    find("tff.learning.models.from_keras_model", "tff.learning.from_keras_model")
    build = find("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")
    if hasattr(tff.learning, "optimizers"):
        client, server = (tff.learning.optimizers.build_sgdm(rate) for rate in (RATE, 1.0))
    else:

        def client():
            return tf.keras.optimizers.SGD(RATE)

        def server():
            return tf.keras.optimizers.SGD(1.0)

    history = run_rounds(build(model_fn, client, server), 3)
    assert_as_in_numpy(history)
    reported = [float(found_in(metrics, "loss")) for _, metrics, _ in history]
    assert reported == sorted(reported, reverse=True)
    metric("fed_avg_first_round_seconds", history[0][2])
    metric("fed_avg_later_round_seconds", min(seconds for _, _, seconds in history[1:]))


@pytest.mark.capability(
    "learning.optimizer-tff",
    title="TFF's own optimizers",
    says="Federated averaging takes the optimizers of the library itself, momentum included.",
)
def test_an_optimizer_of_the_library_trains(find):
    sgd = find("tff.learning.optimizers.build_sgdm")
    build = look_up("tff.learning.algorithms.build_weighted_fed_avg")[1]
    plain = run_rounds(build(model_fn, sgd(RATE), sgd(1.0)), 2)
    assert_as_in_numpy(plain)
    with_momentum = run_rounds(build(model_fn, sgd(RATE), sgd(1.0, momentum=0.5)), 2)
    for part in (0, 1):
        first, second = (weights[part] for weights, _, _ in plain)
        assert np.allclose(with_momentum[0][0][part], first, rtol=1e-4, atol=1e-5)
        # The first step started from zero, so it is the first weights; half of it comes again in the second.
        assert np.allclose(with_momentum[1][0][part], second + 0.5 * first, rtol=1e-4, atol=1e-5)


@pytest.mark.capability(
    "learning.optimizer-keras",
    title="Keras optimizers",
    says="Federated averaging takes the optimizers of Keras.",
)
def test_an_optimizer_of_keras_trains(find):
    import tensorflow as tf

    if release() >= (0, 87):
        raise Absent(["Keras optimizers"])  # RELEASE.md of 0.87.0: only tff.learning.optimizers are taken
    build = find("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")

    def client():
        return tf.keras.optimizers.SGD(RATE)

    def server():
        return tf.keras.optimizers.SGD(1.0)

    assert_as_in_numpy(run_rounds(build(model_fn, client, server), 2))
