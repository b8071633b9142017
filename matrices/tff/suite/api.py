"""How the suite finds its way through the names of many releases; nothing here imports more than the subject needs."""

import asyncio
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
    """Return the first of the dotted names (`tff.a.b`) that exists, and what it names; raise Absent when none does."""
    import tensorflow_federated as tff

    for name in names:
        found = tff
        try:
            for part in name.split(".")[1:]:
                found = getattr(found, part)
        except AttributeError:
            continue
        return name, found
    raise Absent(names)


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
    """Return the first two numbers of the release; for behaviour only that no name tells of."""
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
