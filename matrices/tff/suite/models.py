"""A linear model with a squared loss, the data of two clients, and the same training in NumPy."""

import collections
import functools
import time

import numpy as np
from api import Absent, found_in, look_up, state_and_metrics

RATE = 0.1
BATCH = 2
LATER_ROUNDS = 3
# Two clients of different size, so that a mean without weights would be wrong. y = 2 * x1 - x2 + 0.5, roughly.
CLIENTS = [
    (
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], np.float32),
        np.array([[2.4], [-0.4], [1.6], [3.5]], np.float32),
    ),
    (np.array([[0.5, 2.0], [1.5, 0.5]], np.float32), np.array([[-0.6], [3.1]], np.float32)),
]
SIZES = [len(features) for features, _ in CLIENTS]
ZEROS = (np.zeros([2, 1], np.float32), np.zeros([1], np.float32))
SOME_WEIGHTS = (np.array([[0.5], [-1.5]], np.float32), np.array([0.25], np.float32))

FED_AVG = ("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")
UNWEIGHTED_FED_AVG = (
    "tff.learning.algorithms.build_unweighted_fed_avg",
    "tff.learning.build_federated_averaging_process",
)
FROM_KERAS = ("tff.learning.models.from_keras_model", "tff.learning.from_keras_model")
MODEL_WEIGHTS = ("tff.learning.models.ModelWeights", "tff.learning.ModelWeights")

Round = collections.namedtuple("Round", "weights metrics seconds state")


def dataset(client, batch=BATCH):
    """Return a client's examples in batches."""
    import tensorflow as tf

    features, labels = client
    return tf.data.Dataset.from_tensor_slices(collections.OrderedDict(x=features, y=labels)).batch(batch)


def datasets(clients=None):
    """Return the batches of each client."""
    return [dataset(client) for client in (CLIENTS if clients is None else clients)]


def keras_model():
    """Return a linear Keras model whose weights are zero."""
    import tensorflow as tf

    return tf.keras.Sequential(
        [tf.keras.layers.Dense(1, kernel_initializer="zeros", bias_initializer="zeros", input_shape=(2,))]
    )


def model_fn(metrics=None):
    """Return the Keras model as the library takes it, with a squared loss."""
    import tensorflow as tf

    return look_up(*FROM_KERAS)[1](
        keras_model(),
        loss=tf.keras.losses.MeanSquaredError(),
        input_spec=dataset(CLIENTS[0]).element_spec,
        metrics=metrics,
    )


def measured_model_fn():
    """Return the model, which reports its mean absolute error too."""
    import tensorflow as tf

    return model_fn([tf.keras.metrics.MeanAbsoluteError()])


def keras_sgd(rate=RATE):
    """Return what makes the plain optimizer of Keras."""
    import tensorflow as tf

    return lambda: tf.keras.optimizers.SGD(rate)


def sgd(rate=RATE):
    """Return plain gradient descent: the library's own where it has one, and Keras's where not."""
    try:
        return look_up("tff.learning.optimizers.build_sgdm")[1](rate)
    except Absent:
        return keras_sgd(rate)


def fed_avg():
    """Return the weighted federated averaging of the linear model; one for the whole run, as building it takes long."""
    return trained_fed_avg()[0]


@functools.lru_cache(maxsize=None)
def trained_fed_avg():
    """Return weighted federated averaging, and its first rounds, of which tests look at different sides."""
    process = look_up(*FED_AVG)[1](model_fn, sgd(), sgd(1.0))
    warm_up()
    return process, run(process, 1 + LATER_ROUNDS)


def warm_up():
    """Start the runtime, so that the time of a first round does not count that."""
    import tensorflow_federated as tff

    @tff.federated_computation()
    def nothing():
        return tff.federated_value(1, tff.SERVER)

    assert int(nothing()) == 1


def weights_of(process, state):
    """Return the trainable weights of the server's model."""
    model = process.get_model_weights(state) if hasattr(process, "get_model_weights") else state.model
    return [np.array(part) for part in model.trainable]


def model_weights(weights):
    """Return weights as the library passes them."""
    return look_up(*MODEL_WEIGHTS)[1](trainable=list(weights), non_trainable=[])


def run(process, rounds, clients=None, state=None):
    """Return what each of some rounds came to."""
    state = process.initialize() if state is None else state
    history = []
    for _ in range(rounds):
        start = time.perf_counter()
        state, metrics = state_and_metrics(process.next(state, datasets(clients)))
        seconds = time.perf_counter() - start
        history.append(Round(weights_of(process, state), metrics, seconds, state))
    return history


def batches(client):
    """Yield the batches of a client as `dataset` makes them."""
    features, labels = client
    for start in range(0, len(features), BATCH):
        yield features[start : start + BATCH], labels[start : start + BATCH]


def gradient(weights, x, y):
    """Return the gradient of the mean squared error."""
    error = x @ weights[0] + weights[1] - y
    return [2 * x.T @ error / len(x), 2 * error.mean(axis=0)]


def loss(weights, x, y):
    """Return the mean squared error."""
    return float(np.mean((x @ weights[0] + weights[1] - y) ** 2))


def absolute_error(weights, x, y):
    """Return the mean absolute error."""
    return float(np.mean(np.abs(x @ weights[0] + weights[1] - y)))


def all_examples(clients=None):
    """Return the examples of all clients together."""
    return tuple(np.concatenate(part) for part in zip(*(CLIENTS if clients is None else clients)))


def trained(weights, client, rate=RATE, pull=0.0):
    """Return the weights after one epoch of gradient descent at a client, pulled back to where it began."""
    now = list(weights)
    for x, y in batches(client):
        now = [
            part - rate * (slope + pull * (part - origin))
            for part, slope, origin in zip(now, gradient(now, x, y), weights)
        ]
    return now


def updates(weights, clients=None, **how):
    """Return how far each client's training moves the weights."""
    return [
        [after - before for after, before in zip(trained(weights, client, **how), weights)]
        for client in (CLIENTS if clients is None else clients)
    ]


def mean_of(structures, shares=None):
    """Return the mean of lists of arrays, part by part."""
    return [np.average(parts, axis=0, weights=shares) for parts in zip(*structures)]


def moved(weights, update):
    """Return the weights after an update."""
    return [part + by for part, by in zip(weights, update)]


def fed_avg_round(weights, clients=None, shares=None, **how):
    """Return the weights after one round of federated averaging, weighted by the sizes of the clients."""
    clients = CLIENTS if clients is None else clients
    shares = [len(features) for features, _ in clients] if shares is None else shares
    return moved(weights, mean_of(updates(weights, clients, **how), shares))


def training_average(measure, weights, clients=None, rate=RATE):
    """Return the mean of a measure over all examples, each batch measured just before its step."""
    total = 0.0
    clients = CLIENTS if clients is None else clients
    for client in clients:
        now = list(weights)
        for x, y in batches(client):
            total += measure(now, x, y) * len(x)
            now = [part - rate * slope for part, slope in zip(now, gradient(now, x, y))]
    return total / sum(len(features) for features, _ in clients)


def close(found, expected, rtol=1e-4, atol=1e-5):
    """Return whether two lists of arrays, or two numbers, agree to the precision of float32."""
    found = found if isinstance(found, (list, tuple)) else [found]
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    return len(found) == len(expected) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=rtol, atol=atol) for a, b in zip(found, expected)
    )


def assert_close(found, expected, rtol=1e-4, atol=1e-5):
    """Check that two lists of arrays, or two numbers, agree, and say what they are if not."""
    assert close(found, expected, rtol, atol), "{} is not {}".format(*map(in_a_line, (found, expected)))


def in_a_line(value):
    """Return arrays or a number in few characters."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    return " ".join(str(np.round(np.asarray(part, float), 5).tolist()) for part in parts)


def assert_as_fed_avg(history, weights=ZEROS, clients=None, shares=None, **how):
    """Check the weights of each round against the same round in NumPy, and that the loss falls."""
    examples = all_examples(clients)
    losses = [loss(weights, *examples)]
    for this in history:
        weights = fed_avg_round(weights, clients, shares, **how)
        assert_close(this.weights, weights)
        losses.append(loss(this.weights, *examples))
    assert losses == sorted(losses, reverse=True)
    assert len(set(losses)) == len(losses)


def reported(metrics, name):
    """Return a number that a round reported, wherever this release puts it."""
    value = found_in(metrics, name)
    assert value is not None, f"{name} is nowhere in {metrics}"
    return float(value)
