"""The forms that carry a computation to other systems: its pieces, run by hand, give what the computation gives."""

import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, at_server, dtype, look_up, tf_computation
from models import assert_close
from test_secure import secure_context

NUMBERS = [1.0, 2.0, 6.0]


def scaling_process():
    """Return a process: clients scale their numbers by the state, the sum comes out, the state grows by it."""
    number = dtype("float32")

    @tf_computation()
    def start():
        return np.float32(2.0)

    @tf_computation(number, number)
    def times(a, b):
        return a * b

    @tf_computation(number, number)
    def plus(a, b):
        return a + b

    @tff.federated_computation()
    def initialize():
        return tff.federated_eval(start, tff.SERVER)

    @tff.federated_computation(at_server(number), at_clients(number))
    def next_round(state, values):
        scaled = tff.federated_map(times, tff.federated_zip((tff.federated_broadcast(state), values)))
        total = tff.federated_sum(scaled)
        return tff.federated_map(plus, tff.federated_zip((state, total))), total

    return tff.templates.IterativeProcess(initialize, next_round)


def in_plain_python(state, values=NUMBERS):
    """Return the state and the sum after a round."""
    total = sum(state * value for value in values)
    return state + total, total


def map_reduce_form(convert, process):
    """Return the form of a process; since 0.34 it is that of its round alone."""
    return convert(process.next if convert.__name__ == "get_map_reduce_form_for_computation" else process)


def round_by_hand(form, state, groups):
    """Return what the pieces of the form give, each group of clients with an accumulator of its own."""
    to_clients = form.prepare(state)
    accumulators = []
    for values in groups:
        accumulator = form.zero()
        for value in values:
            accumulator = form.accumulate(accumulator, form.work(np.float32(value), to_clients)[0])
        accumulators.append(accumulator)
    merged = accumulators[0]
    for accumulator in accumulators[1:]:
        merged = form.merge(merged, accumulator)
    of_secure_sums = [()] * (len(form.update.type_signature.parameter[1]) - 1)
    return form.update(state, (form.report(merged), *of_secure_sums))


@pytest.mark.capability(
    "mapreduce.map-reduce-form",
    title="MapReduce form",
    says="A round is taken apart into the pieces of a MapReduce; run by hand they give what the round gives.",
    looks_for=[
        (
            "tff.backends.mapreduce.get_map_reduce_form_for_computation",
            "tff.backends.mapreduce.get_map_reduce_form_for_iterative_process",
            "tff.backends.mapreduce.get_canonical_form_for_iterative_process",
        ),
    ],
)
def test_the_pieces_of_a_map_reduce(find):
    process = scaling_process()
    form = map_reduce_form(find("tff.backends.mapreduce.get_map_reduce_form_for_computation"), process)
    state = process.initialize()
    for _ in range(2):
        expected = in_plain_python(float(state))
        by_hand = round_by_hand(form, state, [NUMBERS[:2], NUMBERS[2:]])
        assert_close([float(part) for part in by_hand], expected)
        state, total = process.next(state, NUMBERS)
        assert_close([float(state), float(total)], expected)


@pytest.mark.capability(
    "mapreduce.back-again",
    title="From the form back to a computation",
    says="The pieces of a MapReduce are put together to a computation that gives what the first one gave.",
    looks_for=[
        (
            "tff.backends.mapreduce.get_computation_for_map_reduce_form",
            "tff.backends.mapreduce.get_iterative_process_for_map_reduce_form",
            "tff.backends.mapreduce.get_iterative_process_for_canonical_form",
        ),
        (
            "tff.backends.mapreduce.get_map_reduce_form_for_computation",
            "tff.backends.mapreduce.get_map_reduce_form_for_iterative_process",
            "tff.backends.mapreduce.get_canonical_form_for_iterative_process",
        ),
        (
            "tff.backends.test.create_sync_test_cpp_execution_context",
            "tff.backends.test.create_test_python_execution_context",
            "tff.backends.test.create_test_execution_context",
        ),
    ],
)
def test_the_pieces_become_a_computation_again(find):
    process = scaling_process()
    form = map_reduce_form(find("tff.backends.mapreduce.get_map_reduce_form_for_computation"), process)
    whole = find("tff.backends.mapreduce.get_computation_for_map_reduce_form")(form)
    next_round = whole.next if hasattr(whole, "next") else whole
    assert next_round.type_signature.is_equivalent_to(process.next.type_signature)
    find("tff.backends.test.create_sync_test_cpp_execution_context")
    with secure_context():  # It has secure sums too, of nothing, which the ordinary context refuses.
        found = next_round(np.float32(3.0), NUMBERS)
    assert_close([float(part) for part in found], in_plain_python(3.0))


@pytest.mark.capability(
    "mapreduce.broadcast-form",
    title="Broadcast form",
    says="A computation that only sends to clients is taken apart into what the server and what the clients compute.",
    looks_for=[("tff.backends.mapreduce.get_broadcast_form_for_computation",)],
)
def test_the_pieces_of_a_broadcast(find):
    number = dtype("float32")

    @tf_computation(number)
    def double(value):
        return value * 2

    @tf_computation(number, number)
    def minus(a, b):
        return a - b

    @tff.federated_computation(at_server(number), at_clients(number))
    def shifted(context, values):
        sent = tff.federated_broadcast(tff.federated_map(double, context))
        return tff.federated_map(minus, tff.federated_zip((values, sent)))

    form = find("tff.backends.mapreduce.get_broadcast_form_for_computation")(shifted)
    context = form.compute_server_context(np.float32(1.5))
    by_hand = [float(form.client_processing(context, np.float32(value))) for value in NUMBERS]
    assert_close(by_hand, [value - 3.0 for value in NUMBERS])
    assert_close([float(value) for value in shifted(np.float32(1.5), NUMBERS)], by_hand)


@pytest.mark.capability(
    "mapreduce.distribute-aggregate-form",
    title="Distribute-aggregate form",
    says="A round is taken apart into steps of server, clients and aggregation; run in turn they give the round.",
    looks_for=[("tff.backends.mapreduce.get_distribute_aggregate_form_for_computation",)],
)
def test_the_pieces_of_distribution_and_aggregation(find):
    process = scaling_process()
    form = find("tff.backends.mapreduce.get_distribute_aggregate_form_for_computation")(process.next)
    (to_send,), kept = form.server_prepare(np.float32(3.0)).values()
    # A broadcast alone would not know how many clients there are.
    sent = to_send if form.client_work.type_signature.parameter[1][0].all_equal else [to_send] * len(NUMBERS)
    worked = form.client_work(NUMBERS, (sent,))
    total = form.client_to_server_aggregation(kept, worked)
    by_hand = form.server_result(kept, total)
    assert_close([float(part) for part in by_hand], in_plain_python(3.0))
    whole = look_up("tff.backends.mapreduce.get_computation_for_distribute_aggregate_form")[1](form)
    assert_close([float(part) for part in whole(np.float32(3.0), NUMBERS)], in_plain_python(3.0))
