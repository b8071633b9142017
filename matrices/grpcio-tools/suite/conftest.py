"""Code that this cell's grpcio-tools generates, and a service that this cell's gRPC serves."""

import importlib
import os
import sys
import tempfile
from concurrent import futures
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    """A folder with the modules of demo.proto."""
    from grpc_tools import protoc

    folder = tmp_path_factory.mktemp("generated")
    well_known = os.path.join(os.path.dirname(protoc.__file__), "_proto")
    made = protoc.main(
        [
            "protoc",
            f"-I{HERE}",
            f"-I{well_known}",
            f"--python_out={folder}",
            f"--grpc_python_out={folder}",
            str(HERE / "demo.proto"),
        ]
    )
    assert made == 0
    return folder


def imported(folder, name):
    """Import a generated module, each time as if it were the first."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


@pytest.fixture
def demo(generated):
    return imported(generated, "demo_pb2")


@pytest.fixture
def demo_grpc(demo, generated):
    return imported(generated, "demo_pb2_grpc")


@pytest.fixture
def socket():
    """The address of a socket file; the path of one may have no more than 107 characters."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield f"unix:{folder}/s"


@pytest.fixture
def stub(demo, demo_grpc, socket):
    """A client of a service that is served beside the test."""
    import grpc

    class Service(demo_grpc.DemoServicer):
        def Unary(self, request, context):
            if request.name == "fail":
                context.abort(grpc.StatusCode.NOT_FOUND, "no such name")
            sent = dict(context.invocation_metadata())
            return demo.Outer(name=request.name + sent.get("suffix", "!"))

        def Many(self, request, context):
            for number in request.numbers:
                yield demo.Inner(number=number)

        def Sum(self, request_iterator, context):
            return demo.Inner(number=sum(inner.number for inner in request_iterator))

        def Echo(self, request_iterator, context):
            for inner in request_iterator:
                yield demo.Inner(number=-inner.number)

    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    demo_grpc.add_DemoServicer_to_server(Service(), server)
    assert server.add_insecure_port(socket)
    server.start()
    with grpc.insecure_channel(socket) as channel:
        grpc.channel_ready_future(channel).result(timeout=20)
        yield demo_grpc.DemoStub(channel)
    server.stop(None).wait(10)
