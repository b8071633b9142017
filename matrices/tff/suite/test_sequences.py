"""Sequences, as the library's own sequence operators work on them."""

import inspect

import pytest
import tensorflow_federated as tff
from api import Absent, at_clients, dtype, installed, tf_computation

SEQUENCES = [[1, 2, 3], [4], []]
SUM_OF_SQUARES = sum(value * value for values in SEQUENCES for value in values)


def sum_of_squares():
    """Return a computation that squares and adds up the numbers of a sequence, by sequence operators."""
    square = tf_computation(dtype("int32"))(lambda value: value * value)
    add = tf_computation(dtype("int32"), dtype("int32"))(lambda a, b: a + b)

    @tff.federated_computation(tff.SequenceType(dtype("int32")))
    def total(values):
        return tff.sequence_reduce(tff.sequence_map(square, values), 0, add)

    return total


def at_each_client(computation):
    """Return a computation that applies another one to each client's sequence, and adds up the results."""

    @tff.federated_computation(at_clients(tff.SequenceType(dtype("int32"))))
    def total(sequences):
        return tff.federated_sum(tff.federated_map(computation, sequences))

    return total


@pytest.mark.capability(
    "sequence.map-reduce",
    title="Sequence operators",
    says="`sequence_map` and `sequence_reduce` work on each client's sequence in the default execution context.",
    looks_for=[("tff.sequence_map",), ("tff.sequence_reduce",)],
)
def test_each_clients_sequence_is_mapped_and_reduced(find):
    find("tff.sequence_map")
    find("tff.sequence_reduce")
    total = at_each_client(sum_of_squares())
    assert str(total.type_signature) == "({int32*}@CLIENTS -> int32@SERVER)"
    assert total(SEQUENCES) == SUM_OF_SQUARES


@pytest.mark.capability(
    "sequence.own-stack",
    title="Sequence operators in a stack of one's own",
    says="Where the default context refuses sequence operators, an executor stack made with their support runs them.",
    looks_for=[
        ("tff.framework.local_executor_factory",),
        ("tff.framework.SyncExecutionContext", "tff.framework.ExecutionContext"),
    ],
)
def test_a_stack_with_sequence_operators_runs_them(find):
    factory = find("tff.framework.local_executor_factory")
    context = find("tff.framework.SyncExecutionContext")
    if "support_sequence_ops" not in inspect.signature(factory).parameters:
        raise Absent(["tff.framework.local_executor_factory(support_sequence_ops=True)"])
    total = at_each_client(sum_of_squares())
    with installed(context(factory(support_sequence_ops=True))):
        assert total(SEQUENCES) == SUM_OF_SQUARES


@pytest.mark.capability(
    "sequence.sum",
    title="Sequence sum",
    says="`sequence_sum` adds up each client's sequence in the default execution context.",
    looks_for=[("tff.sequence_sum",)],
)
def test_each_clients_sequence_is_added_up(find):
    add_up = find("tff.sequence_sum")

    @tff.federated_computation(tff.SequenceType(dtype("int32")))
    def total(values):
        return add_up(values)

    assert str(total.type_signature) == "(int32* -> int32)"
    assert at_each_client(total)(SEQUENCES) == sum(map(sum, SEQUENCES))
