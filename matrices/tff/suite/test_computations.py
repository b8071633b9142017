"""Types and computations, without anything federated."""

import numpy as np
import pytest
import tensorflow_federated as tff
from api import dtype, look_up, ordered, tf_computation


@pytest.mark.quick
@pytest.mark.capability(
    "types.tensor",
    title="Types",
    says="Tensor, struct, sequence, federated and function types can be made, compared and printed.",
)
def test_types_print_and_compare():
    int32, float32 = dtype("int32"), dtype("float32")
    scalar = tff.TensorType(int32)
    assert str(scalar) == "int32"
    assert str(tff.TensorType(int32, [3])) == "int32[3]"
    assert str(tff.TensorType(float32, [None, 2])) == "float32[?,2]"
    assert str(tff.StructType([("a", int32), ("b", float32)])) == "<a=int32,b=float32>"
    assert str(tff.SequenceType(int32)) == "int32*"
    assert str(tff.FederatedType(int32, tff.CLIENTS)) == "{int32}@CLIENTS"
    assert str(tff.FederatedType(int32, tff.SERVER)) == "int32@SERVER"
    assert str(tff.FunctionType(int32, float32)) == "(int32 -> float32)"
    assert tff.to_type(int32) == scalar
    assert tff.TensorType(int32, [None]).is_assignable_from(tff.TensorType(int32, [3]))
    assert not tff.TensorType(int32, [3]).is_assignable_from(tff.TensorType(int32, [None]))


@pytest.mark.quick
@pytest.mark.capability(
    "computation.tf",
    title="TensorFlow computations",
    says="A function of TensorFlow code becomes a computation with a type, and runs.",
)
def test_a_tensorflow_computation_runs(find):
    computation = find("tff.tensorflow.computation", "tff.tf_computation")

    @computation(dtype("int32"), dtype("int32"))
    def combine(a, b):
        return 10 * a + b

    assert str(combine.type_signature) == "(<a=int32,b=int32> -> int32)"
    assert combine(4, 2) == 42


@pytest.mark.capability(
    "computation.struct",
    title="Structs in and out",
    says="A computation takes and returns structures with named parts.",
)
def test_a_computation_takes_and_returns_structs():
    @tf_computation(tff.StructType([("a", dtype("int32")), ("b", dtype("float32"))]))
    def swap(parts):
        return ordered(b=parts["b"] + 0.5, a=parts["a"] + 1)

    result = swap(ordered(a=1, b=2.0))
    assert (result["a"], result["b"]) == (2, 2.5)


@pytest.mark.quick
@pytest.mark.capability(
    "dataset.reduce",
    title="Datasets as arguments",
    says="A computation takes a dataset and reduces it; lists and tf.data datasets are both accepted.",
)
def test_a_dataset_is_reduced_inside_a_computation():
    import tensorflow as tf

    @tf_computation(tff.SequenceType(dtype("int32")))
    def total(dataset):
        return dataset.reduce(np.int32(0), lambda sum_so_far, value: sum_so_far + value)

    assert total([1, 2, 3, 4]) == 10
    assert total(tf.data.Dataset.range(5).map(lambda value: tf.cast(value, tf.int32))) == 10
    assert total([]) == 0


@pytest.mark.capability(
    "serialization.computation",
    title="Saved computations",
    says="A computation can be turned into bytes and back, and then gives the same result.",
)
def test_a_computation_survives_being_bytes(find):
    serialize = find("tff.framework.serialize_computation")
    deserialize = look_up("tff.framework.deserialize_computation")[1]

    @tf_computation(dtype("int32"))
    def add_one(value):
        return value + 1

    @tff.federated_computation(tff.FederatedType(dtype("int32"), tff.CLIENTS))
    def sum_of_next(values):
        return tff.federated_sum(tff.federated_map(add_one, values))

    proto = serialize(sum_of_next)
    content = proto.SerializeToString()
    assert isinstance(content, bytes)
    again = deserialize(type(proto).FromString(content))
    assert str(again.type_signature) == "({int32}@CLIENTS -> int32@SERVER)"
    assert again([1, 2, 3]) == sum_of_next([1, 2, 3]) == 9


@pytest.mark.capability(
    "context.execution",
    title="Default execution context",
    says="After the import, computations run without any set-up, in the default execution context.",
)
def test_the_default_context_executes(record_property):
    stack = look_up("tff.framework.get_context_stack")[1]()
    record_property("spelling", type(stack.current).__name__)

    @tf_computation()
    def constant():
        return np.int32(7)

    assert constant() == 7
