"""Execution contexts: where computations run, one at a time, several at once, or in parts that are merged."""

import asyncio
import inspect
import threading

import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, dtype, installed, local_context, look_up, run_async, tf_computation

ASYNC = "tff.backends.native.create_async_local_cpp_execution_context"


def stack():
    """Return the stack of contexts of this thread."""
    return look_up("tff.framework.get_context_stack")[1]()


def total():
    """Return a computation that sums the clients' numbers."""

    @tff.federated_computation(at_clients(dtype("int32")))
    def total(values):
        return tff.federated_sum(values)

    return total


def in_a_thread(function):
    """Return what a function returned in another thread, or the exception that it raised there."""
    results = []

    def run():
        try:
            results.append(function())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(45)
    assert not thread.is_alive()
    return results[0]


@pytest.mark.capability(
    "context.local",
    title="A local context of one's own",
    says="A local execution context can be made, used for a block of code, and left again.",
    looks_for=[
        (
            "tff.backends.native.create_sync_local_cpp_execution_context",
            "tff.backends.native.create_local_python_execution_context",
            "tff.backends.native.create_local_execution_context",
        )
    ],
)
def test_a_context_is_used_for_a_block(find):
    context = find("tff.backends.native.create_sync_local_cpp_execution_context")()
    before = stack().current
    with installed(context):
        assert stack().current is context
        assert total()([1, 2, 39]) == 42
    assert stack().current is before
    assert total()([1, 2, 3]) == 6


@pytest.mark.capability(
    "context.default",
    title="Changing the default context",
    says="The default context can be replaced, by none at all too, and put back; computations follow at once.",
    looks_for=[("tff.framework.set_default_context",), ("tff.test.set_no_default_context",)],
)
def test_the_default_context_is_changed_and_put_back(find):
    set_default = find("tff.framework.set_default_context")
    before = stack().current
    try:
        find("tff.test.set_no_default_context")()
        with pytest.raises(RuntimeError):
            total()([1, 2])
        set_default(before)
        assert total()([1, 2]) == 3
    finally:
        set_default(before)
    assert stack().current is before


@pytest.mark.capability(
    "context.per-thread",
    title="Contexts belong to a thread",
    says="A new thread has no context, not even the default one; computations run there once one is installed.",
)
def test_a_thread_needs_a_context_of_its_own():
    add = total()
    context = local_context()

    def with_a_context():
        with installed(context):
            return add([1, 2])

    assert isinstance(in_a_thread(lambda: add([1, 2])), RuntimeError)
    assert in_a_thread(with_a_context) == 3


@pytest.mark.capability(
    "context.async",
    title="Asynchronous context",
    says="Computations become awaitable; several are awaited together, and each returns its own result.",
    looks_for=[
        (
            "tff.backends.native.create_async_local_cpp_execution_context",
            "tff.backends.native.create_local_async_python_execution_context",
        )
    ],
)
def test_computations_are_awaited_together(find, async_context):
    find(ASYNC)

    @tf_computation(dtype("int32"))
    def square(value):
        return value * value

    @tff.federated_computation(at_clients(dtype("int32")))
    def sum_of_squares(values):
        return tff.federated_sum(tff.federated_map(square, values))

    async def four_together():
        calls = [sum_of_squares([number, number + 1]) for number in range(4)]
        assert all(asyncio.iscoroutine(call) or asyncio.isfuture(call) for call in calls)
        return await asyncio.gather(*calls)

    with installed(async_context):
        results = run_async(four_together())
    assert [int(result) for result in results] == [number**2 + (number + 1) ** 2 for number in range(4)]


@pytest.mark.capability(
    "context.async-error",
    title="Errors in an asynchronous context",
    says="A computation that fails raises where it is awaited; the others that run beside it are not affected.",
    looks_for=[
        (
            "tff.backends.native.create_async_local_cpp_execution_context",
            "tff.backends.native.create_local_async_python_execution_context",
        )
    ],
)
def test_an_error_is_raised_where_it_is_awaited(find, async_context):
    import tensorflow as tf

    find(ASYNC)

    @tf_computation(dtype("int32"))
    def positive(value):
        with tf.control_dependencies([tf.debugging.assert_positive(value, message="not a positive number")]):
            return tf.identity(value)

    async def one_fails():
        return await asyncio.gather(positive(1), positive(-1), positive(3), return_exceptions=True)

    with installed(async_context):
        first, error, third = run_async(one_fails())
    assert (int(first), int(third)) == (1, 3)
    assert isinstance(error, Exception)
    assert "not a positive number" in str(error)


@pytest.mark.capability(
    "context.mergeable",
    title="Mergeable context",
    says="A round is split into parts that run in separate contexts, and their sums are merged into the right one.",
    looks_for=[
        ("tff.backends.native.create_mergeable_comp_execution_context",),
        (
            "tff.backends.native.create_async_local_cpp_execution_context",
            "tff.backends.native.create_local_async_python_execution_context",
        ),
    ],
)
def test_parts_of_a_round_are_merged(find, request):
    create = find("tff.backends.native.create_mergeable_comp_execution_context")
    if "executor_factories" in inspect.signature(create).parameters:
        # RELEASE.md of 0.29.0: contexts are given in the place of factories of executors.
        context = create([look_up("tff.framework.local_executor_factory")[1]() for _ in range(2)])
    else:
        find(ASYNC)
        context = create([request.getfixturevalue("async_context")], num_subrounds=2)
    with installed(context):
        result = total()([1, 2, 3, 4, 32])
    assert int(np.asarray(result)) == 42


@pytest.mark.capability(
    "context.test",
    title="Test context",
    says="The context meant for tests can be made, and runs an ordinary sum.",
    looks_for=[
        (
            "tff.backends.test.create_sync_test_cpp_execution_context",
            "tff.backends.test.create_test_python_execution_context",
            "tff.backends.test.create_test_execution_context",
        )
    ],
)
def test_the_test_context_sums(find):
    context = find("tff.backends.test.create_sync_test_cpp_execution_context")()
    with installed(context):
        assert total()([1, 2, 3]) == 6
