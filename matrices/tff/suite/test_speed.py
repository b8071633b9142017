"""How long rounds of federated averaging take, beside the same training by Keras alone."""

import statistics
import time

import models
import numpy as np
import pytest
from models import CLIENTS, LATER_ROUNDS, RATE, SIZES, ZEROS, close


def keras_rounds(rounds):
    """Return the weights after each round of the same training by Keras, and the seconds of each."""
    import tensorflow as tf

    model = models.keras_model()
    model.compile(optimizer=tf.keras.optimizers.SGD(RATE), loss="mse")
    weights, history = list(ZEROS), []
    for _ in range(rounds):
        data = models.datasets()
        start = time.perf_counter()
        results = []
        for each in data:
            model.set_weights(weights)
            model.fit(each.map(lambda batch: (batch["x"], batch["y"])), epochs=1, verbose=0)
            results.append(model.get_weights())
        weights = models.mean_of(results, SIZES)
        history.append((weights, time.perf_counter() - start))
    return history


@pytest.mark.capability(
    "speed.fed-avg-round",
    title="Time of a round",
    says="A round of federated averaging is timed beside the same training by Keras, which gives the same weights.",
    looks_for=[("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")],
)
def test_the_time_of_a_round(find, metric):
    find("tff.learning.algorithms.build_weighted_fed_avg")
    _, rounds = models.trained_fed_avg()
    of_keras = keras_rounds(1 + LATER_ROUNDS)
    for this, (weights, _) in zip(rounds, of_keras):
        assert close(this.weights, weights)
    models.assert_as_fed_avg(rounds)
    later = statistics.median(this.seconds for this in rounds[1:])
    keras = statistics.median(seconds for _, seconds in of_keras[1:])
    metric("fed_avg_first_round_seconds", rounds[0].seconds)
    metric("fed_avg_later_round_seconds", later)
    metric("keras_step_seconds", keras)
    metric("round_over_keras", later / keras, unit="x")


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
