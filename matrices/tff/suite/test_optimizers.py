"""The optimizers that federated training takes, against the same steps in NumPy."""

import models
import numpy as np
import pytest
from api import Absent, look_up, release
from models import RATE, ZEROS, assert_close, model_fn, sgd

START = np.array([1.0, -1.0], np.float32)
SLOPES = [np.array(pair, np.float32) for pair in ([0.5, 0.5], [-1.0, 2.0], [1.0, 1.0])]


def steps_at_the_server(server_optimizer, rounds=2):
    """Return the weights after each round when the server's optimizer is the given one."""
    build = look_up(*models.FED_AVG)[1]
    return [this.weights for this in models.run(build(model_fn, sgd(), server_optimizer), rounds)]


def momentum_in_numpy(rate, momentum, rounds=2):
    """Return the weights after each round when the server takes steps with momentum."""
    weights, velocity, history = ZEROS, [np.zeros_like(part) for part in ZEROS], []
    for _ in range(rounds):
        update = models.mean_of(models.updates(weights), models.SIZES)
        velocity = [momentum * v + part for v, part in zip(velocity, update)]
        weights = [part + rate * v for part, v in zip(weights, velocity)]
        history.append(weights)
    return history


def flat(history):
    """Return the arrays of all rounds in one list."""
    return [part for weights in history for part in weights]


def steps_by_hand(optimizer):
    """Return where an optimizer of the library takes two weights, step by step."""
    import tensorflow as tf

    weights, history = [tf.constant(START)], []
    state = optimizer.initialize([tf.TensorSpec([2], tf.float32)])
    for slope in SLOPES:
        state, weights = optimizer.next(state, weights, [tf.constant(slope)])
        history.append(np.array(weights[0]))
    return history


def steps_of_keras(optimizer):
    """Return where an optimizer of Keras takes two weights, step by step."""
    import tensorflow as tf

    variable, history = tf.Variable(START), []
    for slope in SLOPES:
        optimizer.apply_gradients([(tf.constant(slope), variable)])
        history.append(variable.numpy())
    return history


def fed_avg_with_keras(build, at_the_server):
    """Return federated averaging with optimizers of Keras; raise Absent where it does not take them."""
    try:
        return build(model_fn, models.keras_sgd(), at_the_server)
    except AttributeError as error:
        # RELEASE.md of 0.87.0: what makes an optimizer of Keras is no longer taken. It is used as if it were an
        # optimizer of the library itself, which has `initialize` and `next`.
        if not str(error).endswith("no attribute 'initialize'"):
            raise
        raise Absent(["federated averaging with tf.keras.optimizers.SGD"]) from None


@pytest.mark.capability(
    "learning.optimizer-tff",
    title="TFF's own optimizers",
    says="Federated averaging takes the optimizers of the library itself, momentum included.",
    looks_for=[("tff.learning.optimizers.build_sgdm",)],
)
def test_an_optimizer_of_the_library_trains(find):
    build_sgdm = find("tff.learning.optimizers.build_sgdm")
    found = steps_at_the_server(build_sgdm(0.5, momentum=0.8))
    assert_close(flat(found), flat(momentum_in_numpy(0.5, 0.8)))


@pytest.mark.capability(
    "learning.optimizer-keras",
    title="Keras optimizers",
    says="Federated averaging takes the optimizers of Keras, with the losses that the library's own would give.",
    looks_for=[("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")],
)
def test_an_optimizer_of_keras_trains(find):
    import tensorflow as tf

    build = find("tff.learning.algorithms.build_weighted_fed_avg")
    history = models.run(fed_avg_with_keras(build, lambda: tf.keras.optimizers.SGD(0.5, momentum=0.8)), 2)
    assert_close(flat(this.weights for this in history), flat(momentum_in_numpy(0.5, 0.8)))
    before = ZEROS
    for this in history:
        assert_close(models.reported(this.metrics, "loss"), models.training_average(models.loss, before))
        before = this.weights


@pytest.mark.capability(
    "learning.rate-schedule",
    title="Learning-rate schedules",
    says="The clients' learning rate follows a schedule from round to round.",
    looks_for=[("tff.learning.algorithms.build_weighted_fed_avg_with_optimizer_schedule",)],
)
def test_the_clients_rate_follows_a_schedule(find):
    import tensorflow as tf

    build = find("tff.learning.algorithms.build_weighted_fed_avg_with_optimizer_schedule")
    # Keras's until 0.86: until 0.48 at least, the library's own take no rate that is a tensor (optimizers/sgdm.py).
    optimizer = sgd if release() >= (0, 87) else tf.keras.optimizers.SGD
    process = build(model_fn, lambda number: RATE / (1.0 + tf.cast(number, tf.float32)), optimizer, sgd(1.0))
    weights = ZEROS
    for number, this in enumerate(models.run(process, 2)):
        weights = models.fed_avg_round(weights, rate=RATE / (1.0 + number))
        assert_close(this.weights, weights)


@pytest.mark.quick
@pytest.mark.capability(
    "learning.optimizer-steps",
    title="Steps of the library's optimizers",
    says="SGD, Adam, Adagrad and RMSprop of the library, used on their own, move weights as those of Keras do.",
    looks_for=[
        ("tff.learning.optimizers.build_sgdm",),
        ("tff.learning.optimizers.build_adam",),
        ("tff.learning.optimizers.build_adagrad",),
        ("tff.learning.optimizers.build_rmsprop",),
    ],
)
def test_steps_by_hand_agree_with_keras(find):
    import tensorflow as tf

    of_keras = tf.keras.optimizers
    pairs = [
        (find("tff.learning.optimizers.build_sgdm")(0.1, momentum=0.9), of_keras.SGD(0.1, momentum=0.9)),
        (find("tff.learning.optimizers.build_adam")(0.1), of_keras.Adam(0.1)),
        (find("tff.learning.optimizers.build_adagrad")(0.1), of_keras.Adagrad(0.1)),
        (find("tff.learning.optimizers.build_rmsprop")(0.1), of_keras.RMSprop(0.1)),
    ]
    for own, other in pairs:
        assert_close(steps_by_hand(own), steps_of_keras(other))
