"""How the clients' values become one: sums, means, clipping, zeroing, and aggregators of one's own."""

import inspect

import models
import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, at_server, dtype, found_in, look_up, tf_computation
from models import CLIENTS, SIZES, ZEROS, assert_close, model_fn, sgd

VALUES = [np.array(numbers, np.float32) for numbers in ([3.0, 4.0], [0.3, 0.4], [-6.0, 8.0])]
WEIGHTS = [1.0, 2.0, 5.0]


def vector():
    """Return the type of the values."""
    return tff.TensorType(dtype("float32"), [2])


def aggregate(factory, values=VALUES, weights=None, rounds=1):
    """Return what the rounds of an aggregator come to, each a result with measurements."""
    if weights is None:
        process = factory.create(vector())
    elif "weight_type" in inspect.signature(factory.create).parameters:
        process = factory.create(vector(), look_up("tff.TensorType")[1](dtype("float32")))
    else:
        process = factory.create(vector())
    state, outputs = process.initialize(), []
    for _ in range(rounds):
        output = process.next(state, values) if weights is None else process.next(state, values, weights)
        state = output.state
        outputs.append(output)
    return outputs


def clipped(value, norm):
    """Return a vector, shortened to the given length if it is longer."""
    length = np.sqrt(sum(np.sum(np.square(part)) for part in value))
    return [part * min(1.0, norm / length) for part in value]


@pytest.mark.quick
@pytest.mark.capability(
    "aggregators.sum",
    title="Sum as an aggregator",
    says="The ready-made sum adds the clients' values up.",
    looks_for=[("tff.aggregators.SumFactory",)],
)
def test_the_sum_of_values(find):
    (output,) = aggregate(find("tff.aggregators.SumFactory")())
    assert_close(np.array(output.result), np.sum(VALUES, axis=0))


@pytest.mark.capability(
    "aggregators.mean",
    title="Weighted mean as an aggregator",
    says="The ready-made mean takes each client's value by its weight.",
    looks_for=[("tff.aggregators.MeanFactory",)],
)
def test_the_weighted_mean_of_values(find):
    (output,) = aggregate(find("tff.aggregators.MeanFactory")(), weights=WEIGHTS)
    assert_close(np.array(output.result), np.average(VALUES, axis=0, weights=WEIGHTS))


@pytest.mark.capability(
    "aggregators.unweighted-mean",
    title="Unweighted mean as an aggregator",
    says="The ready-made unweighted mean counts all clients' values alike.",
    looks_for=[("tff.aggregators.UnweightedMeanFactory",)],
)
def test_the_unweighted_mean_of_values(find):
    (output,) = aggregate(find("tff.aggregators.UnweightedMeanFactory")())
    assert_close(np.array(output.result), np.mean(VALUES, axis=0))


@pytest.mark.capability(
    "aggregators.clipping",
    title="Clipping",
    says="Values longer than a norm are shortened to it before their mean is taken.",
    # The class first: in 0.17, which has it, `tff.aggregators.clipping_factory` is a module.
    looks_for=[("tff.aggregators.ClippingFactory", "tff.aggregators.clipping_factory")],
)
def test_long_values_are_clipped(find):
    clipping = find("tff.aggregators.ClippingFactory")
    (output,) = aggregate(clipping(2.0, look_up("tff.aggregators.MeanFactory")[1]()), weights=WEIGHTS)
    expected = np.average([clipped([value], 2.0)[0] for value in VALUES], axis=0, weights=WEIGHTS)
    assert_close(np.array(output.result), expected)


@pytest.mark.capability(
    "aggregators.zeroing",
    title="Zeroing",
    says="Values beyond a norm count as zero.",
    looks_for=[("tff.aggregators.zeroing_factory", "tff.aggregators.ZeroingFactory")],
)
def test_values_beyond_a_norm_count_as_zero(find):
    zeroing = find("tff.aggregators.zeroing_factory")
    (output,) = aggregate(zeroing(5.0, look_up("tff.aggregators.MeanFactory")[1]()), weights=WEIGHTS)
    kept = [VALUES[0], VALUES[1], np.zeros([2])]
    assert_close(np.array(output.result), np.average(kept, axis=0, weights=WEIGHTS))


def running_total_factory(base):
    """Return an aggregator that keeps, in its state, the sum of all rounds' values so far."""

    class RunningTotal(base):
        def create(self, value_type):
            @tf_computation()
            def zero():
                import tensorflow as tf

                return tf.zeros([2])

            @tf_computation(value_type, value_type)
            def add(a, b):
                return a + b

            @tff.federated_computation()
            def initialize():
                return tff.federated_eval(zero, tff.SERVER)

            @tff.federated_computation(at_server(value_type), at_clients(value_type))
            def next_round(state, values):
                total = tff.federated_map(add, (state, tff.federated_sum(values)))
                return tff.templates.MeasuredProcessOutput(total, total, tff.federated_value((), tff.SERVER))

            return tff.templates.AggregationProcess(initialize, next_round)

    return RunningTotal()


@pytest.mark.capability(
    "aggregators.custom",
    title="Aggregators of one's own",
    says="An aggregator of one's own keeps a state from round to round.",
    looks_for=[("tff.aggregators.UnweightedAggregationFactory", "tff.aggregators.AggregationProcessFactory")],
)
def test_an_aggregator_of_ones_own_keeps_a_state(find):
    factory = running_total_factory(find("tff.aggregators.UnweightedAggregationFactory"))
    outputs = aggregate(factory, rounds=3)
    for number, output in enumerate(outputs, 1):
        assert_close(np.array(output.result), number * np.sum(VALUES, axis=0))


def fed_avg_with(aggregator, names=models.FED_AVG):
    """Return federated averaging, of one of these names, with an aggregator of the clients' updates."""
    build = look_up(*names)[1]
    argument = "model_aggregator"
    if argument not in inspect.signature(build).parameters:
        argument = "model_update_aggregation_factory"
    return build(model_fn, sgd(), sgd(1.0), **{argument: aggregator})


@pytest.mark.capability(
    "aggregators.in-fed-avg",
    title="Clipped federated averaging",
    says="Federated averaging takes an aggregator; each client's update is clipped before the weighted mean.",
    # The class first: in 0.17, which has it, `tff.aggregators.clipping_factory` is a module.
    looks_for=[("tff.aggregators.ClippingFactory", "tff.aggregators.clipping_factory")],
)
def test_federated_averaging_with_clipped_updates(find):
    clipping = find("tff.aggregators.ClippingFactory")
    history = models.run(fed_avg_with(clipping(0.3, look_up("tff.aggregators.MeanFactory")[1]())), 2)
    weights = ZEROS
    for this in history:
        updates = models.updates(weights)
        assert max(np.sqrt(sum(np.sum(part**2) for part in update)) for update in updates) > 0.3
        weights = models.moved(weights, models.mean_of([clipped(update, 0.3) for update in updates], SIZES))
        assert_close(this.weights, weights)


@pytest.mark.capability(
    "aggregators.robust",
    title="Robust federated averaging",
    says="The ready-made robust aggregator drops a client whose update is absurdly large, and keeps the others'.",
    looks_for=[("tff.learning.robust_aggregator",)],
)
def test_an_absurd_update_is_dropped(find):
    robust = find("tff.learning.robust_aggregator")
    absurd = (CLIENTS[1][0], np.array([[9000.0], [-9000.0]], np.float32))
    (only,) = models.run(fed_avg_with(robust()), 1, clients=[*CLIENTS, absurd])
    good = [clipped(update, 1.0) for update in models.updates(ZEROS)]
    nothing = [np.zeros_like(part) for part in ZEROS]
    assert_close(only.weights, models.moved(ZEROS, models.mean_of([*good, nothing], [*SIZES, 2])))
    assert float(found_in(only.metrics, "zeroed_count")) == 1
