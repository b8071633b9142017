"""How the suite finds its way through the names of many releases; nothing here imports more than the subject needs."""

import asyncio
import concurrent.futures
import importlib
from collections import OrderedDict

import pytest


class Absent(pytest.skip.Exception):
    """This release has none of the names: neither a success nor a failure.

    pytest counts it as a skip. The attribute `missing` tells it apart for whoever reports the run.
    """

    def __init__(self, names):
        super().__init__("absent: " + ", ".join(names))
        self.missing = tuple(names)


def look_up(*names):
    """Return the first of the dotted names that exists, and what it names; raise Absent when none does.

    `tff.a.b` is public. `tensorflow_federated.python.a.b` is a module of the library that is not.
    """
    for name in names:
        try:
            return name, _named(name)
        except (AttributeError, ImportError):
            continue
    raise Absent(names)


def _named(name):
    import tensorflow_federated as tff

    if not name.startswith("tff."):
        module, _, last = name.rpartition(".")
        return getattr(importlib.import_module(module), last)
    found = tff
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def is_public(name):
    """Return whether a name that `look_up` takes is one that users are meant to write."""
    return name.startswith("tff.")


def offered(name, call):
    """Return what a call returns; raise Absent, for the name, where the library does not take that kind of argument.

    A TypeError or a NotImplementedError of a call that makes a type or a computation is how it says so. Call as little
    as possible here: where an argument is taken, and what comes of it is wrong, the test must fail.
    """
    try:
        # In a thread of its own: in 0.17 a computation that cannot be made leaves its context behind, and the next
        # computation of the same thread runs in that (seen 2026-11-22).
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            return thread.submit(call).result()
    except (TypeError, NotImplementedError):
        raise Absent([name]) from None


def tf_computation(*types):
    """Return the decorator that makes a computation of TensorFlow code."""
    return look_up("tff.tensorflow.computation", "tff.tf_computation")[1](*types)


def local_context():
    """Return a new context of the default kind, under the name that this release has for it."""
    return look_up(
        "tff.backends.native.create_sync_local_cpp_execution_context",
        "tff.backends.native.create_local_python_execution_context",
        "tff.backends.native.create_local_execution_context",
    )[1]()


def installed(context):
    """Return a context manager that runs computations of this thread in another execution context."""
    return look_up("tff.framework.get_context_stack")[1]().install(context)


def run_async(coroutine, seconds=45):
    """Return what a coroutine returns, run in a loop of its own and no longer than that."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(asyncio.wait_for(coroutine, seconds))
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def release():
    """Return the first two numbers of the release; for a choice between spellings only, never for absence."""
    import tensorflow_federated as tff

    return tuple(int(part) for part in tff.__version__.split(".")[:2])


def ordered(**parts):
    """Return a mapping as every release takes it: 0.20 to 0.63 refuse a plain dict."""
    return OrderedDict(parts)


def at_clients(type_spec):
    """Return the type of a value that each client holds one of."""
    return look_up("tff.FederatedType")[1](type_spec, look_up("tff.CLIENTS")[1])


def at_server(type_spec):
    """Return the type of a value that the server holds."""
    return look_up("tff.FederatedType")[1](type_spec, look_up("tff.SERVER")[1])


def dtype(name):
    """Return a number type as this release takes it: NumPy's from 0.18 on, TensorFlow's before."""
    import numpy as np
    import tensorflow as tf

    try:
        look_up("tff.TensorType")[1](getattr(np, name))
    except TypeError:
        return getattr(tf, name)
    return getattr(np, name)


def state_and_metrics(output):
    """Return both parts of what `next` of a learning process returns: an object with fields, or a pair."""
    if hasattr(output, "state"):
        return output.state, output.metrics
    return output[0], output[1]


def found_in(metrics, key):
    """Return the value under a key, however deep this release nests it; None when it is nowhere."""
    if hasattr(metrics, "_asdict"):
        metrics = metrics._asdict()
    if not hasattr(metrics, "items"):
        return None
    for name, value in metrics.items():
        inner = value if name == key else found_in(value, key)
        if inner is not None:
            return inner
    return None
