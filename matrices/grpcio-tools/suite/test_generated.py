"""What generated messages and services do for their users, with the runtimes of the cell."""

import asyncio
import datetime
import inspect
import os
import subprocess
import sys

import pytest

TIMEOUT = 20


class Absent(pytest.skip.Exception):
    """This release has none of the names: neither a success nor a failure."""

    def __init__(self, *names):
        super().__init__("absent: " + ", ".join(names))
        self.missing = names


@pytest.mark.capability(
    "import",
    title="Import",
    says="The generator and both runtimes import.",
)
def test_they_import():
    import google.protobuf
    import grpc
    from grpc_tools import protoc

    assert grpc.__version__
    assert google.protobuf.__version__
    assert protoc.main


@pytest.mark.capability(
    "generate.messages",
    title="Generate messages",
    says="A .proto file becomes a Python module.",
)
def test_messages_are_generated(generated):
    assert "DESCRIPTOR" in (generated / "demo_pb2.py").read_text()


@pytest.mark.capability(
    "generate.service",
    title="Generate a service",
    says="A service becomes a stub and a servicer.",
)
def test_a_service_is_generated(generated):
    text = (generated / "demo_pb2_grpc.py").read_text()
    assert "class DemoStub" in text
    assert "class DemoServicer" in text


@pytest.mark.capability(
    "generate.command",
    title="The command",
    says="`python -m grpc_tools.protoc` generates code, with stubs for type checkers by `--pyi_out`.",
)
def test_the_command_writes_stubs(tmp_path):
    here = os.path.dirname(__file__)
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I" + here, f"--pyi_out={tmp_path}", here + "/demo.proto"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    if done.returncode:
        pytest.fail(done.stdout.strip().rpartition("\n")[2])
    assert "class Outer" in (tmp_path / "demo_pb2.pyi").read_text()


@pytest.mark.capability(
    "message.import",
    title="Import messages",
    says="The module of messages imports.",
)
def test_messages_import(demo):
    assert demo.Outer.DESCRIPTOR.full_name == "demo.Outer"


@pytest.mark.capability(
    "message.bytes",
    title="Bytes",
    says="A message survives serialization.",
)
def test_a_message_survives_bytes(demo):
    message = demo.Outer(name="a", size=2**40, numbers=[1, 2], raw=b"\0", ratio=0.5)
    assert demo.Outer.FromString(message.SerializeToString()) == message


@pytest.mark.capability(
    "message.json",
    title="JSON",
    says="A message survives JSON, with names in camel case.",
)
def test_a_message_survives_json(demo):
    from google.protobuf import json_format

    message = demo.Outer(name="a", size=3, colour=demo.COLOUR_RED)
    made = json_format.MessageToDict(message)
    assert made == {"name": "a", "size": "3", "colour": "COLOUR_RED"}
    assert json_format.ParseDict(made, demo.Outer()) == message


@pytest.mark.capability(
    "message.json-defaults",
    title="JSON with defaults",
    says="`MessageToDict(..., including_default_value_fields=True)` writes fields that have their default.",
)
def test_json_with_defaults_by_its_first_name(demo):
    from google.protobuf import json_format

    if "including_default_value_fields" not in inspect.signature(json_format.MessageToDict).parameters:
        raise Absent("google.protobuf.json_format.MessageToDict(including_default_value_fields)")
    assert json_format.MessageToDict(demo.Inner(), including_default_value_fields=True) == {"number": 0}


@pytest.mark.capability(
    "message.json-no-presence",
    title="JSON with fields without presence",
    says="`MessageToDict(..., always_print_fields_with_no_presence=True)` writes fields that have their default.",
)
def test_json_with_defaults_by_its_second_name(demo):
    from google.protobuf import json_format

    if "always_print_fields_with_no_presence" not in inspect.signature(json_format.MessageToDict).parameters:
        raise Absent("google.protobuf.json_format.MessageToDict(always_print_fields_with_no_presence)")
    assert json_format.MessageToDict(demo.Inner(), always_print_fields_with_no_presence=True) == {"number": 0}


@pytest.mark.capability(
    "message.text",
    title="Text format",
    says="A message survives the text format.",
)
def test_a_message_survives_text(demo):
    from google.protobuf import text_format

    message = demo.Outer(name="a", numbers=[1, 2])
    assert text_format.Parse(text_format.MessageToString(message), demo.Outer()) == message


@pytest.mark.capability(
    "message.map",
    title="Maps",
    says="A map of messages makes its values on the first look.",
)
def test_a_map_makes_its_values(demo):
    message = demo.Outer()
    message.inners["a"].number = 3
    assert {key: inner.number for key, inner in message.inners.items()} == {"a": 3}


@pytest.mark.capability(
    "message.oneof",
    title="Oneof",
    says="Setting one choice clears the other.",
)
def test_a_choice_clears_the_other(demo):
    message = demo.Outer(word="a")
    message.inner.number = 1
    assert (message.WhichOneof("choice"), message.word) == ("inner", "")


@pytest.mark.capability(
    "message.optional",
    title="Optional fields",
    says="An optional field knows whether it is set.",
)
def test_an_optional_field_knows_whether_it_is_set(demo):
    message = demo.Outer()
    assert not message.HasField("maybe")
    message.maybe = 0
    assert message.HasField("maybe")


@pytest.mark.capability(
    "message.enum",
    title="Enums",
    says="An enum has names and values, and keeps an unknown number.",
)
def test_an_enum_has_names(demo):
    assert demo.Colour.Name(1) == "COLOUR_RED"
    assert demo.Colour.Value("COLOUR_RED") == demo.COLOUR_RED
    assert demo.Outer.FromString(b"\x40\x07").colour == 7


@pytest.mark.capability(
    "message.unknown",
    title="Unknown fields",
    says="Fields of a newer message survive an older one.",
)
def test_unknown_fields_survive(demo):
    message = demo.Outer(name="a", size=3)
    smaller = demo.Smaller.FromString(message.SerializeToString())
    assert demo.Outer.FromString(smaller.SerializeToString()) == message


@pytest.mark.capability(
    "message.refuses",
    title="A wrong type",
    says="A value of a wrong type is refused at once.",
)
def test_a_wrong_type_is_refused(demo):
    with pytest.raises(TypeError):
        demo.Outer(name=1)
    with pytest.raises(ValueError, match="out of range"):
        demo.Inner(number=2**40)


@pytest.mark.capability(
    "message.merge",
    title="Copy and merge",
    says="Messages are copied, merged and cleared.",
)
def test_messages_are_merged(demo):
    message = demo.Outer(name="a", numbers=[1])
    other = demo.Outer()
    other.CopyFrom(message)
    other.MergeFrom(demo.Outer(size=2, numbers=[2]))
    assert (other.name, other.size, list(other.numbers), list(message.numbers)) == ("a", 2, [1, 2], [1])
    other.Clear()
    assert other == demo.Outer()


@pytest.mark.capability(
    "types.timestamp",
    title="Timestamps",
    says="A time goes into a message and comes out again.",
)
def test_a_time_survives(demo):
    message, time = demo.Outer(), datetime.datetime(2026, 1, 2, 3, 4, 5)
    message.at.FromDatetime(time)
    message.lasts.FromTimedelta(datetime.timedelta(seconds=90))
    assert message.at.ToDatetime() == time
    assert message.lasts.ToTimedelta().total_seconds() == 90


@pytest.mark.capability(
    "types.any",
    title="Any",
    says="Any message is packed and unpacked by its type.",
)
def test_any_message_is_packed(demo):
    message, out = demo.Outer(), demo.Inner()
    message.anything.Pack(demo.Inner(number=7))
    assert message.anything.Unpack(out)
    assert (out.number, message.anything.Is(demo.Smaller.DESCRIPTOR)) == (7, False)


@pytest.mark.capability(
    "types.struct",
    title="Struct",
    says="A dictionary goes into a Struct.",
)
def test_a_dictionary_goes_into_a_struct(demo):
    message = demo.Outer()
    message.fields.update({"a": 1, "b": [True, "c"]})
    assert message.fields["a"] == 1
    assert list(message.fields["b"]) == [True, "c"]


@pytest.mark.capability(
    "dynamic.factory",
    title="Messages by name",
    says="A class of messages is made for a name by `message_factory.GetMessageClass`.",
)
def test_a_class_is_made_for_a_name(demo):
    from google.protobuf import descriptor_pool, message_factory

    if not hasattr(message_factory, "GetMessageClass"):
        raise Absent("google.protobuf.message_factory.GetMessageClass")
    made = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName("demo.Inner"))
    assert made(number=1) == demo.Inner(number=1)


@pytest.mark.capability(
    "dynamic.prototype",
    title="GetPrototype",
    says="A class of messages is made by `MessageFactory.GetPrototype`, as code for protobuf 3 does.",
)
def test_a_class_is_made_by_its_prototype(demo):
    from google.protobuf import message_factory

    if not hasattr(message_factory.MessageFactory, "GetPrototype"):
        raise Absent("google.protobuf.message_factory.MessageFactory.GetPrototype")
    assert message_factory.MessageFactory().GetPrototype(demo.Inner.DESCRIPTOR)(number=1) == demo.Inner(number=1)


@pytest.mark.capability(
    "descriptor.label",
    title="FieldDescriptor.label",
    says="A field's descriptor has a label, as repeated.",
)
def test_a_field_has_a_label(demo):
    field = demo.Outer.DESCRIPTOR.fields_by_name["numbers"]
    if not hasattr(field, "label"):
        raise Absent("google.protobuf.descriptor.FieldDescriptor.label")
    assert field.label == field.LABEL_REPEATED


@pytest.mark.capability(
    "service.import",
    title="Import services",
    says="The module of services imports.",
)
def test_services_import(demo_grpc):
    assert demo_grpc.DemoStub


@pytest.mark.capability(
    "service.unary",
    title="One answer",
    says="A client calls a method, and sends metadata with it.",
)
def test_a_client_calls_a_method(stub, demo):
    assert stub.Unary(demo.Outer(name="a"), timeout=TIMEOUT).name == "a!"
    assert stub.Unary(demo.Outer(name="a"), metadata=(("suffix", "?"),), timeout=TIMEOUT).name == "a?"


@pytest.mark.capability(
    "service.server-stream",
    title="Many answers",
    says="A server streams its answers.",
)
def test_a_server_streams(stub, demo):
    assert [inner.number for inner in stub.Many(demo.Outer(numbers=[1, 2]), timeout=TIMEOUT)] == [1, 2]


@pytest.mark.capability(
    "service.client-stream",
    title="Many questions",
    says="A client streams its questions.",
)
def test_a_client_streams(stub, demo):
    assert stub.Sum(iter([demo.Inner(number=40), demo.Inner(number=2)]), timeout=TIMEOUT).number == 42


@pytest.mark.capability(
    "service.both-stream",
    title="Both stream",
    says="Questions and answers are streams at once.",
)
def test_both_stream(stub, demo):
    assert [inner.number for inner in stub.Echo(iter([demo.Inner(number=1)]), timeout=TIMEOUT)] == [-1]


@pytest.mark.capability(
    "service.error",
    title="Errors",
    says="A client gets the status and the details of an error.",
)
def test_an_error_has_a_status(stub, demo):
    import grpc

    with pytest.raises(grpc.RpcError) as raised:
        stub.Unary(demo.Outer(name="fail"), timeout=TIMEOUT)
    assert (raised.value.code(), raised.value.details()) == (grpc.StatusCode.NOT_FOUND, "no such name")


@pytest.mark.capability(
    "service.asyncio",
    title="asyncio",
    says="A service is served and called with asyncio.",
)
def test_a_service_with_asyncio(demo, demo_grpc, socket):
    import grpc.aio

    class Service(demo_grpc.DemoServicer):
        async def Unary(self, request, context):
            return demo.Outer(name=request.name + "!")

    async def asking():
        server = grpc.aio.server()
        demo_grpc.add_DemoServicer_to_server(Service(), server)
        server.add_insecure_port(socket)
        await server.start()
        try:
            async with grpc.aio.insecure_channel(socket) as channel:
                return await demo_grpc.DemoStub(channel).Unary(demo.Outer(name="a"), timeout=TIMEOUT)
        finally:
            await server.stop(None)

    assert asyncio.run(asking()).name == "a!"
