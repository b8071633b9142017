"""Computations and values as bytes: in one process, and from one process to another."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff
from api import at_clients, at_server, dtype, ordered, tf_computation

# A program of its own: it imports nothing of this suite, and learns all about the computation from the file.
RUNS_A_FILE = """
import sys
import numpy as np
import tensorflow_federated as tff
from tensorflow_federated.proto.v0 import computation_pb2

with open(sys.argv[1], "rb") as file:
    proto = computation_pb2.Computation.FromString(file.read())
computation = tff.framework.deserialize_computation(proto)
result = computation([np.array([1, 10], np.float32), np.array([2, 20], np.float32)], 3.0)
np.save(sys.argv[2], np.asarray(result))
with open(sys.argv[3], "w") as file:
    file.write(str(computation.type_signature))
"""


def scaled_total():
    """Return a computation that each client's vector and a factor of the server take part in."""
    vector = tff.TensorType(dtype("float32"), [2])
    scaled = tf_computation(vector, dtype("float32"))(lambda values, factor: factor * values)

    @tff.federated_computation(at_clients(vector), at_server(dtype("float32")))
    def total(values, factor):
        pairs = tff.federated_zip((values, tff.federated_broadcast(factor)))
        return tff.federated_sum(tff.federated_map(scaled, pairs))

    return total


VECTORS = [np.array([1, 10], np.float32), np.array([2, 20], np.float32)]
SIGNATURE = "(<values={float32[2]}@CLIENTS,factor=float32@SERVER> -> float32[2]@SERVER)"


@pytest.mark.capability(
    "serialization.computation",
    title="Saved computations",
    says="A computation can be turned into bytes and back, and then gives the same result.",
    looks_for=[("tff.framework.serialize_computation",), ("tff.framework.deserialize_computation",)],
)
def test_a_computation_survives_being_bytes(find):
    serialize = find("tff.framework.serialize_computation")
    deserialize = find("tff.framework.deserialize_computation")
    proto = serialize(scaled_total())
    content = proto.SerializeToString()
    assert isinstance(content, bytes)
    again = deserialize(type(proto).FromString(content))
    assert str(again.type_signature) == SIGNATURE
    assert np.array_equal(again(VECTORS, 3.0), [9.0, 90.0])


@pytest.mark.capability(
    "serialization.new-process",
    title="Computations in a new process",
    says="A computation saved to a file is loaded and run by a new process that has none of its code.",
    looks_for=[("tff.framework.serialize_computation",), ("tff.framework.deserialize_computation",)],
)
def test_a_saved_computation_runs_in_a_new_process(find, tmp_path, another_process):
    proto = find("tff.framework.serialize_computation")(scaled_total())
    find("tff.framework.deserialize_computation")  # is called in the new process
    (tmp_path / "computation").write_bytes(proto.SerializeToString())
    (tmp_path / "program.py").write_text(RUNS_A_FILE)
    files = [tmp_path / name for name in ("computation", "result.npy", "signature")]
    another_process.run(tmp_path / "program.py", *files)
    assert (tmp_path / "signature").read_text() == SIGNATURE
    assert np.array_equal(np.load(str(tmp_path / "result.npy")), [9.0, 90.0])


@pytest.mark.capability(
    "serialization.value",
    title="Values as bytes",
    says="Numbers, structures and datasets can be turned into bytes and back, together with their types.",
    looks_for=[("tff.framework.serialize_value",), ("tff.framework.deserialize_value",)],
)
def test_a_value_survives_being_bytes(find):
    serialize, deserialize = find("tff.framework.serialize_value"), find("tff.framework.deserialize_value")
    pair = tff.StructType([("a", dtype("int32")), ("b", tff.TensorType(dtype("float32"), [2]))])

    def there_and_back(value, type_spec):
        proto, type_before = serialize(value, type_spec)
        again, type_after = deserialize(type(proto).FromString(proto.SerializeToString()))
        assert str(type_before) == str(type_after) == str(type_spec)
        return again

    assert there_and_back(np.int32(7), tff.TensorType(dtype("int32"))) == 7
    parts = there_and_back(ordered(a=np.int32(3), b=np.array([0.5, -1], np.float32)), pair)
    assert parts[0] == 3
    assert np.array_equal(parts[1], [0.5, -1.0])
    numbers = tf.data.Dataset.from_tensor_slices(np.array([1, 2, 3], np.int32))
    dataset = there_and_back(numbers, tff.SequenceType(dtype("int32")))
    assert [int(value) for value in dataset] == [1, 2, 3]
