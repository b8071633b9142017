"""Simulated clients: their data, who takes part in a round, and data that never passes the boundary."""

import collections

import models
import numpy as np
import pytest
from api import dtype, look_up, tf_computation
from models import BATCH, CLIENTS, SIZES

CLIENT_DATA = ("tff.simulation.datasets.TestClientData", "tff.simulation.FromTensorSlicesClientData")


def simulated_clients(make):
    """Return the two clients' data as the library holds the data of simulated clients."""
    return make(
        collections.OrderedDict(
            (name, collections.OrderedDict(x=client[0], y=client[1])) for name, client in zip("ab", CLIENTS)
        )
    )


def examples_of(data):
    """Return the examples of a dataset as two arrays."""
    examples = list(data)
    return tuple(np.array([example[part].numpy() for example in examples]) for part in "xy")


@pytest.mark.quick
@pytest.mark.capability(
    "simulation.client-data",
    title="Simulated clients",
    says="Arrays by client become a dataset for each client, and one of all together.",
    looks_for=[("tff.simulation.datasets.TestClientData", "tff.simulation.FromTensorSlicesClientData")],
)
def test_the_data_of_simulated_clients(find):
    data = simulated_clients(find("tff.simulation.datasets.TestClientData"))
    assert sorted(data.client_ids) == ["a", "b"]
    for name, client in zip("ab", CLIENTS):
        for found, expected in zip(examples_of(data.create_tf_dataset_for_client(name)), client):
            assert np.array_equal(found, expected)
    x, y = examples_of(data.create_tf_dataset_from_all_clients())
    assert sorted(map(tuple, np.hstack([x, y]))) == sorted(map(tuple, np.hstack(models.all_examples())))
    halved = data.preprocess(lambda one: one.take(1))
    assert [len(list(halved.create_tf_dataset_for_client(name))) for name in "ab"] == [1, 1]


@pytest.mark.capability(
    "simulation.client-sampling",
    title="Sampling of clients",
    says="Clients are drawn uniformly and without repetition for each round; a seed makes the draws reproducible.",
    looks_for=[("tff.simulation.build_uniform_sampling_fn", "tff.simulation.build_uniform_client_sampling_fn")],
)
def test_clients_are_drawn_reproducibly(find):
    build = find("tff.simulation.build_uniform_sampling_fn")
    names = [f"client_{number:02d}" for number in range(20)]

    def draws(seed):
        if build.__name__ == "build_uniform_sampling_fn":
            draw = build(names, random_seed=seed)
            return [list(draw(number, 5)) for number in range(40)]
        data = look_up(*CLIENT_DATA)[1](collections.OrderedDict((name, [1.0]) for name in names))
        draw = build(data, 5, random_seed=seed)
        return [list(draw(number)) for number in range(40)]

    first, again, other = draws(7), draws(7), draws(8)
    assert first == again
    assert first != other
    assert all(len(set(draw)) == 5 and set(draw) <= set(names) for draw in first)
    assert len({tuple(draw) for draw in first}) > 1
    assert {name for draw in first for name in draw} == set(names)


def dataset_by_number():
    """Return the computation that makes the batches of a client from its number alone."""

    @tf_computation(dtype("int32"))
    def make(number):
        import tensorflow as tf

        x, y = models.all_examples()
        owners = np.repeat(np.arange(len(SIZES), dtype=np.int32), SIZES)
        rows = tf.where(tf.equal(owners, number))[:, 0]
        parts = collections.OrderedDict(x=tf.gather(x, rows), y=tf.gather(y, rows))
        return tf.data.Dataset.from_tensor_slices(parts).batch(BATCH)

    return make


def data_from_ids():
    """Return the computation that makes a client's batches from its id, and the ids."""
    make = look_up(*CLIENT_DATA)[1]
    if make.__name__ == "FromTensorSlicesClientData":
        return dataset_by_number(), [0, 1]  # Until 0.18 it has no computation that makes a client's data.
    data = simulated_clients(make).preprocess(lambda one: one.batch(BATCH))
    return data.dataset_computation, ["a", "b"]


@pytest.mark.capability(
    "simulation.compose",
    title="Training on client ids",
    says="A process is composed with the computation that makes a client's data, and then trains on ids of clients.",
    looks_for=[
        (
            "tff.simulation.compose_dataset_computation_with_learning_process",
            "tff.simulation.compose_dataset_computation_with_iterative_process",
        ),
        ("tff.simulation.datasets.TestClientData", "tff.simulation.FromTensorSlicesClientData"),
    ],
)
def test_a_process_is_composed_with_the_making_of_data(find):
    find("tff.simulation.datasets.TestClientData")
    compose = find("tff.simulation.compose_dataset_computation_with_learning_process")
    make_data, ids = data_from_ids()
    process = compose(make_data, models.fed_avg())
    state, _ = models.state_and_metrics(process.next(process.initialize(), ids))
    models.assert_close(models.weights_of(models.fed_avg(), state), models.fed_avg_round(models.ZEROS))
