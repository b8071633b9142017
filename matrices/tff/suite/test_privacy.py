"""Differential privacy: clipping and noise of the strength that was asked for."""

import models
import numpy as np
import pytest
import tensorflow_federated as tff
from api import dtype
from models import CLIENTS, ZEROS, assert_close
from test_aggregators import clipped, fed_avg_with

# Releases before 0.20 refuse no noise at all; this much is lost in the precision of float32.
HARDLY_ANY = 1e-6


def private_means(factory, values, rounds=1):
    """Return the results of some rounds of a private mean."""
    process = factory.create(tff.TensorType(dtype("float32"), list(values[0].shape)))
    state, results = process.initialize(), []
    for _ in range(rounds):
        output = process.next(state, values)
        state = output.state
        results.append(np.array(output.result))
    return results


@pytest.mark.capability(
    "privacy.clipped-mean",
    title="Private mean: clipping",
    says="With next to no noise, the private mean is the mean of the clients' values, each clipped to the given norm.",
    looks_for=[("tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed",)],
)
def test_a_private_mean_clips_each_client(find):
    build = find("tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed")
    values = [np.array(numbers, np.float32) for numbers in ([3.0, 4.0], [0.3, 0.4], [-6.0, 8.0])]
    (mean,) = private_means(build(noise_multiplier=HARDLY_ANY, clients_per_round=3.0, clip=2.0), values)
    assert_close(mean, np.mean([clipped([value], 2.0)[0] for value in values], axis=0))


@pytest.mark.capability(
    "privacy.noise",
    title="Private mean: noise",
    says="The noise of a private mean is Gaussian of the asked-for strength, and new in each round.",
    looks_for=[("tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed",)],
)
def test_a_private_mean_is_noisy(find):
    build = find("tff.aggregators.DifferentiallyPrivateFactory.gaussian_fixed")
    size, clip, multiplier, clients = 4000, 4.0, 0.5, 2
    values = [np.full([size], 0.01, np.float32), np.full([size], 0.03, np.float32)]
    first, second = private_means(build(multiplier, float(clients), clip), values, rounds=2)
    deviation = multiplier * clip / clients
    for noise in (first - 0.02, second - 0.02, (first - second) / np.sqrt(2)):
        # Ten times what chance moves the deviation and the mean of so many numbers by: never seen.
        assert abs(noise.std() / deviation - 1) < 10 / np.sqrt(2 * size)
        assert abs(noise.mean()) < 10 * deviation / np.sqrt(size)
        within_one = np.mean(np.abs(noise) < deviation)
        assert abs(within_one - 0.6827) < 10 * np.sqrt(0.6827 * 0.3173 / size)


@pytest.mark.capability(
    "privacy.fed-avg",
    title="Private federated averaging",
    says="Federated averaging takes the ready-made private aggregator, which clips updates alike and adds the noise.",
    looks_for=[
        ("tff.learning.dp_aggregator",),
        ("tff.learning.algorithms.build_unweighted_fed_avg", "tff.learning.build_federated_averaging_process"),
    ],
)
def test_private_federated_averaging(find):
    find("tff.learning.algorithms.build_unweighted_fed_avg")
    aggregator = find("tff.learning.dp_aggregator")(0.001, float(len(CLIENTS)))
    (only,) = models.run(fed_avg_with(aggregator, models.UNWEIGHTED_FED_AVG), 1)
    # Its clipping adapts, from a norm of 0.1; the noise of one number then deviates by 0.1 * 0.001 / 2.
    expected = models.moved(ZEROS, models.mean_of([clipped(update, 0.1) for update in models.updates(ZEROS)]))
    assert_close(only.weights, expected, rtol=0, atol=0.001)
