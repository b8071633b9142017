"""Secure aggregation: in the context made for testing it, refused elsewhere, and found by looking at a computation."""

import contextlib
import functools
import inspect

import models
import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, dtype, look_up
from models import ZEROS, assert_close
from test_aggregators import fed_avg_with

CONTEXT = (
    "tff.backends.test.create_sync_test_cpp_execution_context",
    "tff.backends.test.create_test_python_execution_context",
    "tff.backends.test.create_test_execution_context",
)


@functools.lru_cache(maxsize=None)
def the_context():
    """Return the one context that executes secure aggregation, in the clear, for tests."""
    return look_up(*CONTEXT)[1]()


@contextlib.contextmanager
def secure_context():
    """Execute computations, for a while, in the context that knows secure aggregation."""
    with look_up("tff.framework.get_context_stack")[1]().install(the_context()):
        yield


def secure_sum_of(operator, limit, shape=()):
    """Return the computation that sums the clients' integers by the given operator."""

    @tff.federated_computation(at_clients(tff.TensorType(dtype("int32"), list(shape))))
    def total(values):
        return operator(values, limit)

    return total


def messages(message, kind):
    """Return all messages of a kind inside a protocol message."""
    found, waiting = [], [message]
    while waiting:
        one = waiting.pop()
        if one.DESCRIPTOR.name == kind:
            found.append(one)
        for field, value in one.ListFields():
            if field.message_type is not None:
                parts = [value] if hasattr(value, "ListFields") else value
                waiting += [part for part in parts if hasattr(part, "ListFields")]
    return found


def aggregated(computation):
    """Return what leaves the clients of a computation: securely, and in the clear, as the server then sees it.

    Each is a list of pairs: the operator that takes values of clients to the server, as the serialised computation
    names it, and the shape of a tensor that it takes.
    """
    secure, clear = [], []
    for one in messages(tff.framework.serialize_computation(computation), "Computation"):
        if not one.HasField("intrinsic"):
            continue
        operator, function = one.intrinsic.uri, one.type.function
        if function.result.federated.placement.value.uri != "server":
            continue
        for taken in messages(function.parameter, "FederatedType"):
            if taken.placement.value.uri == "clients":
                into = secure if operator.startswith("federated_secure_") else clear
                into += [(operator, tuple(tensor.dims)) for tensor in messages(taken.member, "TensorType")]
    return secure, clear


def assert_hidden(computation, shapes):
    """Check that tensors of these shapes leave the clients by secure aggregation, and by no other."""
    secure, clear = ({shape for _, shape in part} for part in aggregated(computation))
    assert secure >= set(shapes), f"of {shapes} only {sorted(secure)} are aggregated securely"
    assert not clear & set(shapes), f"of {shapes} some are aggregated in the clear: {aggregated(computation)[1]}"


def sum_in_the_clear():
    """Return the computation that sums the clients' integers without more ado."""
    return secure_sum_of(lambda values, limit: tff.federated_sum(values), None)


def total_in_secure_context(operator, limit, values):
    """Return the result of a secure sum, after a look at what it lets the server see."""
    total = secure_sum_of(operator, limit)
    secure, clear = aggregated(total)
    assert len(secure) == 1, f"not one secure sum but {secure}"
    assert not clear, f"in the clear: {clear}"
    assert aggregated(sum_in_the_clear()) == ([], [("federated_sum", ())])
    with secure_context():
        return int(total(values))


@pytest.mark.capability(
    "secure.sum",
    title="Secure sum",
    says="Integers below a largest value are added up by a secure operator alone, in the context made for tests.",
    looks_for=[
        ("tff.federated_secure_sum",),
        (
            "tff.backends.test.create_sync_test_cpp_execution_context",
            "tff.backends.test.create_test_python_execution_context",
            "tff.backends.test.create_test_execution_context",
        ),
    ],
)
def test_a_secure_sum(find, record_property):
    operator = find("tff.federated_secure_sum")
    find("tff.backends.test.create_sync_test_cpp_execution_context")
    if "max_input" in inspect.signature(operator).parameters:
        limit = 100
    else:
        record_property("spelling", "bitwidth")
        limit = 7
    assert total_in_secure_context(operator, limit, [7, 100, 0, 35]) == 142


@pytest.mark.capability(
    "secure.sum-bitwidth",
    title="Secure sum of numbers of some bits",
    says="Integers of at most so many bits are added up by a secure operator alone, in the context made for tests.",
    looks_for=[
        ("tff.federated_secure_sum_bitwidth", "tff.federated_secure_sum"),
        (
            "tff.backends.test.create_sync_test_cpp_execution_context",
            "tff.backends.test.create_test_python_execution_context",
            "tff.backends.test.create_test_execution_context",
        ),
    ],
)
def test_a_secure_sum_of_numbers_of_some_bits(find):
    operator = find("tff.federated_secure_sum_bitwidth")
    find("tff.backends.test.create_sync_test_cpp_execution_context")
    assert total_in_secure_context(operator, 8, [7, 255, 0, 35]) == 297


@pytest.mark.capability(
    "secure.modular-sum",
    title="Secure modular sum",
    says="Integers are added up modulo a number by a secure operator alone, in the context made for tests.",
    looks_for=[
        ("tff.backends.mapreduce.federated_secure_modular_sum", "tff.federated_secure_modular_sum"),
        (
            "tff.backends.test.create_sync_test_cpp_execution_context",
            "tff.backends.test.create_test_python_execution_context",
            "tff.backends.test.create_test_execution_context",
        ),
    ],
)
def test_a_secure_modular_sum(find):
    operator = find("tff.backends.mapreduce.federated_secure_modular_sum")
    find("tff.backends.test.create_sync_test_cpp_execution_context")
    assert total_in_secure_context(operator, 10, [7, 8, 9]) == 4


@pytest.mark.capability(
    "secure.refused",
    title="Secure sums are refused elsewhere",
    says="The ordinary context refuses a secure sum with an error, rather than add up in the clear.",
    looks_for=[("tff.federated_secure_sum_bitwidth", "tff.federated_secure_sum")],
)
def test_the_ordinary_context_refuses_a_secure_sum(find):
    secure = secure_sum_of(find("tff.federated_secure_sum_bitwidth"), 8)
    # Until 0.40 the message names the operator; the C++ runtime only says "Cannot embed a federated value".
    with pytest.raises(Exception, match=r"(?i)secure|federated value"):
        secure([1, 2, 3])
    assert int(sum_in_the_clear()([1, 2, 3])) == 6


@pytest.mark.capability(
    "secure.static-check",
    title="Is the aggregation secure?",
    says="A computation is examined, without running it, for aggregation in the clear and for secure aggregation.",
    looks_for=[
        ("tff.test.assert_not_contains_unsecure_aggregation",),
        ("tff.federated_secure_sum_bitwidth", "tff.federated_secure_sum"),
    ],
)
def test_a_computation_is_examined_for_secure_aggregation(find):
    find("tff.test.assert_not_contains_unsecure_aggregation")
    secure = secure_sum_of(find("tff.federated_secure_sum_bitwidth"), 8)
    clear = sum_in_the_clear()
    tff.test.assert_contains_secure_aggregation(secure)
    tff.test.assert_not_contains_unsecure_aggregation(secure)
    tff.test.assert_contains_unsecure_aggregation(clear)
    tff.test.assert_not_contains_secure_aggregation(clear)
    with pytest.raises(AssertionError):
        tff.test.assert_not_contains_unsecure_aggregation(clear)
    with pytest.raises(AssertionError):
        tff.test.assert_contains_secure_aggregation(clear)


@pytest.mark.capability(
    "secure.aggregator",
    title="Secure sum as an aggregator",
    says="The ready-made secure sum adds numbers of a known range up, and holds what is beyond it to the range.",
    looks_for=[
        ("tff.aggregators.SecureSumFactory",),
        (
            "tff.backends.test.create_sync_test_cpp_execution_context",
            "tff.backends.test.create_test_python_execution_context",
            "tff.backends.test.create_test_execution_context",
        ),
    ],
)
def test_the_aggregator_of_secure_sums(find):
    factory = find("tff.aggregators.SecureSumFactory")(5.0, -5.0)
    find("tff.backends.test.create_sync_test_cpp_execution_context")
    process = factory.create(tff.TensorType(dtype("float32"), [2]))
    assert_hidden(process.next, [(2,)])
    values = [np.array(pair, np.float32) for pair in ([1.5, -2.0], [4.0, 0.25], [9.0, -7.0])]
    with secure_context():
        result = process.next(process.initialize(), values).result
    # The range of 10 is cut into steps that 32 bits can add up for many clients.
    assert_close(np.array(result), np.sum(np.clip(values, -5, 5), axis=0), rtol=0, atol=1e-3)


@pytest.mark.capability(
    "secure.fed-avg",
    title="Secure federated averaging",
    says="Federated averaging takes the ready-made secure aggregator, and comes to the weights of the ordinary mean.",
    looks_for=[
        ("tff.learning.secure_aggregator",),
        (
            "tff.backends.test.create_sync_test_cpp_execution_context",
            "tff.backends.test.create_test_python_execution_context",
            "tff.backends.test.create_test_execution_context",
        ),
    ],
)
def test_secure_federated_averaging(find):
    aggregator = find("tff.learning.secure_aggregator")(zeroing=False, clipping=False)
    find("tff.backends.test.create_sync_test_cpp_execution_context")
    process = fed_avg_with(aggregator)
    assert_hidden(process.next, [np.shape(part) for part in ZEROS])
    with secure_context():
        (only,) = models.run(process, 1)
    assert_close(only.weights, models.fed_avg_round(ZEROS), rtol=0, atol=1e-3)
