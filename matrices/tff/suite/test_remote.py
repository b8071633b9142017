"""Computations that run in another process: one that serves an executor, and one that pulls from a relay."""

import contextlib
import os
import socket
import sys

import numpy as np
import pytest
import tensorflow_federated as tff
from api import Absent, at_clients, at_server, dtype, installed, look_up, tf_computation
from processes import end, running, wait_until
from relay import relayed

HERE = os.path.dirname(os.path.abspath(__file__))
# The executor is served until the file of the second argument is there.
SERVICE = """
import os, sys, time
import tensorflow_federated as tff
with tff.simulation.server_context(tff.framework.local_executor_factory(), 4, int(sys.argv[1])):
    end = time.monotonic() + 120
    while not os.path.exists(sys.argv[2]) and time.monotonic() < end:
        time.sleep(0.02)
"""


def free_port():
    """Return a port that is free now."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    """Return whether something listens on a port."""
    with contextlib.closing(socket.socket()) as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def scaled_total():
    """Return a computation in which the clients scale their numbers by the server's, and the sum comes out."""

    @tf_computation(dtype("int32"), dtype("int32"))
    def times(a, b):
        return a * b

    @tff.federated_computation(at_server(dtype("int32")), at_clients(dtype("int32")))
    def scaled_total(factor, values):
        pairs = tff.federated_zip((tff.federated_broadcast(factor), values))
        return tff.federated_sum(tff.federated_map(times, pairs))

    return scaled_total


def channel(port):
    """Return a gRPC channel to a port of this machine."""
    import grpc

    return grpc.insecure_channel(f"127.0.0.1:{port}")


@pytest.mark.capability(
    "remote.python-service",
    title="An executor served by another process",
    says="A Python process serves an executor over gRPC, and computations run there: a federated sum comes back.",
    looks_for=[
        (
            "tff.backends.native.create_remote_python_execution_context",
            "tff.backends.native.create_remote_execution_context",
        ),
        ("tff.simulation.server_context",),
        ("tff.framework.local_executor_factory",),
    ],
)
def test_another_python_process_sums(find, tmp_path, another_process):
    create = find("tff.backends.native.create_remote_python_execution_context")
    find("tff.simulation.server_context")
    find("tff.framework.local_executor_factory")
    port = free_port()
    with python_service(port, tmp_path, another_process), installed(create([channel(port)])):
        assert scaled_total()(2, [1, 2, 3]) == 12
        assert scaled_total()(6, [1, 2, 3]) == 36


@contextlib.contextmanager
def python_service(port, folder, another_process):
    """Have another process serve an executor on a port until the block ends."""
    program, stop = folder / "service.py", folder / "stop"
    program.write_text(SERVICE)
    with another_process.running(program, port, stop) as ended:
        wait_until(lambda: answers(port) or ended(), what="the service")
        yield
        stop.touch()


@contextlib.contextmanager
def worker(port, folder):
    """Run the library's worker on a port until the block ends, for two minutes at most; raise Absent without one."""
    command = ["timeout", "--signal=KILL", 120, worker_binary(), f"--port={port}"]
    with running(folder / "worker.log", *command) as process:
        wait_until(lambda: answers(port) or process.poll() is not None, what="the worker")
        yield


def remote_context(find, port):
    """Return a context that runs computations at an executor service.

    The library made a whole one until 0.49. Since then it is made of parts, which are public from 0.85 on only.
    """
    found = find("tff.framework.RemoteExecutorGrpcStub")
    if not isinstance(found, type):
        return found([channel(port)])
    stub = found(channel(port))
    wait_until(lambda: stub.is_ready, what="the connection")

    def executor(cardinalities):
        executor = remote_executor(stub)
        executor.set_cardinalities({tff.CLIENTS: 0, **cardinalities})
        return executor

    _, remote_executor = look_up(
        "tff.framework.RemoteExecutor",
        "tensorflow_federated.python.core.impl.executors.remote_executor.RemoteExecutor",
    )
    _, executor_factory = look_up(
        "tff.framework.ResourceManagingExecutorFactory",
        "tensorflow_federated.python.core.impl.executor_stacks.python_executor_stacks.ResourceManagingExecutorFactory",
    )
    transforms = {}
    with contextlib.suppress(Absent):
        transforms["transform_args"] = look_up("tff.tensorflow.transform_args")[1]
        transforms["transform_result"] = look_up("tff.tensorflow.transform_result")[1]
    return tff.framework.SyncExecutionContext(
        executor_factory(executor),
        tff.backends.native.desugar_and_transform_to_native,
        **transforms,
    )


def worker_binary():
    """Return the path of the program that runs computations since 0.41; raise Absent where there is none."""
    path = os.path.join(os.path.dirname(tff.__file__), "data", "worker_binary")
    if os.path.exists(path + ".xz"):
        tf_computation()(lambda: np.int32(0))()  # unpacks it, in 0.41 to 0.58
    if not os.path.exists(path):
        raise Absent(["data/worker_binary"])
    return path


@pytest.mark.capability(
    "remote.worker-binary",
    title="The library's worker, started by hand",
    says="The program that runs computations is started on a port by hand, and a federated sum runs there. "
    "From 0.56 to 0.80 it is reached by modules of the library that are not public.",
    looks_for=[
        (
            "tff.framework.RemoteExecutorGrpcStub",
            "tff.backends.native.create_remote_python_execution_context",
            "tff.backends.native.create_remote_execution_context",
            "tensorflow_federated.python.core.impl.executors.remote_executor_grpc_stub.RemoteExecutorGrpcStub",
        ),
    ],
)
def test_the_worker_started_by_hand_sums(find, tmp_path):
    find("tff.framework.RemoteExecutorGrpcStub")
    port = free_port()
    with worker(port, tmp_path), installed(remote_context(find, port)):
        assert scaled_total()(2, [1, 2, 3]) == 12
        assert scaled_total()(6, [1, 2, 3]) == 36


def service(port, folder, another_process):
    """Serve an executor on a port for a block: by the library's worker where there is one, and by Python where not."""
    try:
        worker_binary()
    except Absent:
        look_up("tff.simulation.server_context")
        return python_service(port, folder, another_process)
    return worker(port, folder)


@pytest.mark.capability(
    "remote.relay",
    title="An executor that pulls its work",
    says="An executor that nobody can dial pulls its calls from a relay, as opaque bytes; a federated sum comes back. "
    "From 0.56 to 0.80 the relay is reached by modules of the library that are not public.",
    looks_for=[
        (
            "tff.framework.RemoteExecutorGrpcStub",
            "tff.backends.native.create_remote_python_execution_context",
            "tff.backends.native.create_remote_execution_context",
            "tensorflow_federated.python.core.impl.executors.remote_executor_grpc_stub.RemoteExecutorGrpcStub",
        ),
    ],
    helper="relay.py",
)
def test_an_executor_pulls_its_work(find, tmp_path, another_process):
    find("tff.framework.RemoteExecutorGrpcStub")
    port, behind = free_port(), free_port()
    with contextlib.ExitStack() as stack:
        stack.enter_context(service(behind, tmp_path, another_process))
        url = stack.enter_context(relayed(port, seconds=30))
        pulling = [sys.executable, os.path.join(HERE, "relay.py"), url, f"127.0.0.1:{behind}"]
        stack.enter_context(running(tmp_path / "leaf.log", *pulling))
        with installed(remote_context(find, port)):
            assert scaled_total()(2, [1, 2, 3]) == 12


@pytest.mark.capability(
    "remote.relay-lost-leaf",
    title="An executor that is lost",
    says="When the process that pulls from the relay is killed, the call that it holds and every later computation "
    "fail with an error that says so, in bounded time. "
    "From 0.56 to 0.80 the relay is reached by modules of the library that are not public.",
    looks_for=[
        (
            "tff.framework.RemoteExecutorGrpcStub",
            "tff.backends.native.create_remote_python_execution_context",
            "tff.backends.native.create_remote_execution_context",
            "tensorflow_federated.python.core.impl.executors.remote_executor_grpc_stub.RemoteExecutorGrpcStub",
        ),
    ],
    helper="relay.py",
)
def test_a_computation_fails_when_its_executor_is_lost(find, tmp_path):
    find("tff.framework.RemoteExecutorGrpcStub")
    port = free_port()
    total = scaled_total()
    with contextlib.ExitStack() as stack:
        behind = stack.enter_context(contextlib.closing(silent_service()))
        url = stack.enter_context(relayed(port, seconds=2))
        pulling = [sys.executable, os.path.join(HERE, "relay.py"), url, f"127.0.0.1:{behind.getsockname()[1]}"]
        leaf = stack.enter_context(running(tmp_path / "leaf.log", *pulling))
        dialled = stack.enter_context(channel(port))
        held, connection = wait_until(lambda: call_held_by_leaf(dialled, behind), what="the leaf")
        stack.enter_context(contextlib.closing(connection))
        end(leaf)
        assert leaf.returncode < 0
        assert "no leaf answered /held" in held.exception(30).details()
        stack.enter_context(installed(remote_context(find, port)))
        with pytest.raises(Exception, match="no leaf answered"):
            total(2, [1, 2, 3])


def silent_service():
    """Return a socket that listens, and never answers."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(1)
    listening.settimeout(1)
    return listening


def call_held_by_leaf(dialled, behind):
    """Call through the relay; return the call and the leaf's connection to the service, None when there is none yet."""
    call = dialled.unary_unary("/held").future(b"", timeout=30)
    try:
        return call, behind.accept()[0]
    except socket.timeout:
        return None
