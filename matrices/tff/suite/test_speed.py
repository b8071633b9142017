"""How long rounds of federated averaging take, beside the same training by Keras alone."""

import statistics
import time

import models
import numpy as np
import pytest
from models import CLIENTS, LATER_ROUNDS, RATE, SIZES, ZEROS, close


def compiled_model():
    """Return the linear Keras model, ready for training."""
    import tensorflow as tf

    model = models.keras_model()
    model.compile(optimizer=tf.keras.optimizers.SGD(RATE), loss="mse")
    return model


def keras_rounds(rounds):
    """Return the weights after each round of the same training by Keras."""
    model = compiled_model()
    weights, history = list(ZEROS), []
    for _ in range(rounds):
        results = []
        for each in models.datasets():
            model.set_weights(weights)
            model.fit(each.map(lambda batch: (batch["x"], batch["y"])), epochs=1, verbose=0)
            results.append(model.get_weights())
        weights = models.mean_of(results, SIZES)
        history.append(weights)
    return history


def keras_step_seconds():
    """Return the median seconds of a step of Keras on one batch, after those that trace it."""
    model, seconds = compiled_model(), []
    (x, y), *_ = models.batches(CLIENTS[0])
    for _ in range(40):
        start = time.perf_counter()
        model.train_on_batch(x, y)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[10:])


@pytest.mark.capability(
    "speed.fed-avg-round",
    title="Time of a round",
    says="A round of federated averaging gives the weights of the same training by Keras; it is timed, and so is one "
    "step of Keras.",
    looks_for=[("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")],
)
def test_the_time_of_a_round(find, metric):
    find("tff.learning.algorithms.build_weighted_fed_avg")
    _, rounds = models.trained_fed_avg()
    of_keras = keras_rounds(1 + LATER_ROUNDS)
    for this, weights in zip(rounds, of_keras):
        assert close(this.weights, weights)
    models.assert_as_fed_avg(rounds)
    later, step = statistics.median(this.seconds for this in rounds[1:]), keras_step_seconds()
    metric("fed_avg_first_round_seconds", rounds[0].seconds)
    metric("fed_avg_later_round_seconds", later)
    metric("keras_train_step_seconds", step)
    metric("round_in_keras_steps", later / step, unit="x")


@pytest.mark.capability(
    "speed.ten-clients",
    title="Rounds with ten clients",
    says="Rounds of federated averaging with ten clients are timed; their weights are those that they should be.",
    looks_for=[("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")],
)
def test_the_time_of_rounds_with_ten_clients(find, metric):
    find("tff.learning.algorithms.build_weighted_fed_avg")
    clients = [(x * (1 - number / 20), y) for number in range(5) for x, y in CLIENTS]
    rounds = models.run(models.fed_avg(), 1 + LATER_ROUNDS, clients=clients)
    models.assert_as_fed_avg(rounds, clients=clients)
    metric(
        "rounds_per_second_10_clients",
        1 / statistics.median(this.seconds for this in rounds[1:]),
        unit="1/s",
        better="higher",
    )
    assert np.isfinite([this.seconds for this in rounds]).all()
