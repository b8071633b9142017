"""Types: made, printed, compared, spelt in several ways, and turned into bytes and back."""

import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, at_server, dtype, offered, ordered, release


@pytest.mark.quick
@pytest.mark.capability(
    "types.tensor",
    title="Types",
    says="Tensor, struct, sequence, federated and function types can be made, and print in a short notation.",
)
def test_types_print_in_a_short_notation():
    import tensorflow as tf

    int32, float32 = dtype("int32"), dtype("float32")
    pair = tff.StructType([("a", int32), ("b", float32)])
    expected = [
        (tff.TensorType(int32), "int32"),
        (tff.TensorType(int32, [3]), "int32[3]"),
        (tff.TensorType(float32, [None, 2]), "float32[?,2]"),
        (tff.to_type(int32), "int32"),
        (tff.to_type((float32, [2, 3])), "float32[2,3]"),
        (pair, "<a=int32,b=float32>"),
        (tff.to_type(ordered(a=int32, b=float32)), "<a=int32,b=float32>"),
        (tff.StructType([int32, pair]), "<int32,<a=int32,b=float32>>"),
        (tff.SequenceType(int32), "int32*"),
        (tff.FederatedType(int32, tff.CLIENTS), "{int32}@CLIENTS"),
        (tff.FederatedType(int32, tff.CLIENTS, all_equal=True), "int32@CLIENTS"),
        (tff.FederatedType(int32, tff.SERVER), "int32@SERVER"),
        (tff.FunctionType(int32, float32), "(int32 -> float32)"),
        (tff.FunctionType(None, pair), "( -> <a=int32,b=float32>)"),
        (at_clients(tff.SequenceType(pair)), "{<a=int32,b=float32>*}@CLIENTS"),
    ]
    assert [str(made) for made, _ in expected] == [printed for _, printed in expected]
    string = tff.TensorType(np.str_) if release() >= (0, 64) else tff.TensorType(tf.string)
    assert str(string) == (
        "str" if release() >= (0, 67) else "string"
    )  # RELEASE.md of 0.67.0: types hold NumPy's dtypes


@pytest.mark.capability(
    "types.assignable",
    title="Assignability",
    says="A type tells which other types may take its place: known for unknown sizes, all-equal for any; never back.",
)
def test_assignability_follows_its_rules():
    int32, float32 = dtype("int32"), dtype("float32")
    unknown, three = tff.TensorType(int32, [None]), tff.TensorType(int32, [3])
    same = tff.FederatedType(int32, tff.CLIENTS, all_equal=True)
    rules = [
        # target, source, whether source may be given where target is asked for
        (unknown, three, True),
        (three, unknown, False),
        (three, tff.TensorType(int32, [4]), False),
        (unknown, tff.TensorType(int32, [3, 1]), False),
        (three, tff.TensorType(float32, [3]), False),
        (tff.SequenceType(unknown), tff.SequenceType(three), True),
        (tff.SequenceType(three), tff.SequenceType(unknown), False),
        (tff.StructType([("a", unknown)]), tff.StructType([("a", three)]), True),
        (tff.StructType([("a", three)]), tff.StructType([("b", three)]), False),
        (at_clients(int32), same, True),
        (same, at_clients(int32), False),
        (at_clients(int32), at_server(int32), False),
        (at_clients(unknown), at_clients(three), True),
        (at_clients(int32), tff.to_type(int32), False),
        # A function is taken for another that it can stand in for: it may ask for less and give more.
        (tff.FunctionType(three, unknown), tff.FunctionType(three, three), True),
        (tff.FunctionType(three, three), tff.FunctionType(three, unknown), False),
    ]
    wrong = [str((str(a), str(b))) for a, b, fits in rules if a.is_assignable_from(b) is not fits]
    assert wrong == []


@pytest.mark.capability(
    "types.equal",
    title="Equality of types",
    says="Types made in different ways are equal, and the same key of a dictionary, exactly when they say the same.",
)
def test_types_are_equal_when_they_say_the_same():
    int32, float32 = dtype("int32"), dtype("float32")
    same = [
        (tff.to_type(int32), tff.TensorType(int32)),
        (tff.to_type((int32, [2])), tff.TensorType(int32, [2])),
        (tff.to_type([("a", int32)]), tff.StructType([("a", int32)])),
        (tff.FederatedType(int32, tff.SERVER), tff.FederatedType(int32, tff.SERVER, all_equal=True)),
    ]
    assert all(a == b and hash(a) == hash(b) and a.is_equivalent_to(b) for a, b in same)
    different = [
        tff.TensorType(int32),
        tff.TensorType(float32),
        tff.TensorType(int32, [1]),
        tff.TensorType(int32, [None]),
        tff.StructType([("a", int32)]),
        tff.StructType([("b", int32)]),
        tff.StructType([int32]),
        tff.SequenceType(int32),
        at_clients(int32),
        at_server(int32),
        tff.FederatedType(int32, tff.CLIENTS, all_equal=True),
        tff.FunctionType(None, int32),
        tff.FunctionType(int32, int32),
    ]
    assert len(set(different)) == len(different)
    pairs = [(a, b) for a in different for b in different if a is not b]
    assert not any(a == b or a.is_equivalent_to(b) for a, b in pairs)


@pytest.mark.capability(
    "types.dtype-tensorflow",
    title="TensorFlow's dtypes in types",
    says="`tf.int32`, `tf.bool` and `tf.string` are taken where a type is made.",
)
def test_dtypes_of_tensorflow_make_types():
    import tensorflow as tf

    # RELEASE.md of 0.69.0: no tf.dtypes.DType any more
    made = offered("tff.TensorType(tf.int32)", lambda: tff.TensorType(tf.int32, [2]))
    assert str(made) == str(tff.to_type((tf.int32, [2]))) == "int32[2]"
    assert str(tff.TensorType(tf.bool)) == str(tff.to_type(tf.bool)) == "bool"
    assert str(tff.TensorType(tf.string)) in ("string", "str")
    assert tff.TensorType(tf.float32) == tff.to_type(tf.float32) != tff.to_type(tf.float64)


@pytest.mark.capability(
    "types.dtype-numpy",
    title="NumPy's number types in types",
    says="`np.int32`, `np.float64` and `np.dtype` objects are taken where a type is made.",
)
def test_number_types_of_numpy_make_types():
    # core/api/computation_types.py of 0.17.0 asks for a tf.DType
    offered("tff.TensorType(np.int32)", lambda: tff.TensorType(np.int32))
    names = ["int8", "uint8", "int32", "int64", "float32", "float64", "complex64"]
    for name in names:
        made = [tff.TensorType(getattr(np, name)), tff.to_type(getattr(np, name)), tff.to_type(np.dtype(name))]
        assert [str(one) for one in made] == [name] * 3
        assert made[0] == made[1] == made[2]
    assert str(tff.to_type((np.int32, [2]))) == "int32[2]"


@pytest.mark.capability(
    "types.dtype-numpy-bool-str",
    title="NumPy's bool_ and str_ in types",
    says="`np.bool_` and `np.str_` are taken where a type is made, as the number types are.",
)
def test_bool_and_string_types_of_numpy_make_types():
    # _is_dtype in core/impl/types/computation_types.py: any np.generic from 0.64.0 on, only np.number before
    made = offered("tff.to_type(np.bool_)", lambda: tff.to_type(np.bool_))
    assert str(tff.TensorType(np.bool_)) == str(made) == "bool"
    assert str(tff.TensorType(np.str_)) in ("string", "str")
    assert tff.TensorType(np.str_) == tff.to_type(np.str_)


@pytest.mark.capability(
    "types.proto",
    title="Types as bytes",
    says="A type can be turned into bytes and back without losing anything.",
    looks_for=[
        ("tff.types.serialize_type", "tff.framework.serialize_type"),
        ("tff.types.deserialize_type", "tff.framework.deserialize_type"),
    ],
)
def test_a_type_survives_being_bytes(find):
    serialize, deserialize = find("tff.types.serialize_type"), find("tff.types.deserialize_type")
    int32, float32 = dtype("int32"), dtype("float32")
    parts = tff.StructType([("a", tff.TensorType(int32, [None, 2])), (None, tff.SequenceType(float32))])
    everything = tff.FunctionType(
        tff.StructType([at_clients(parts), tff.FederatedType(int32, tff.CLIENTS, all_equal=True)]), at_server(float32)
    )
    for before in (tff.TensorType(float32, []), parts, everything):
        proto = serialize(before)
        after = deserialize(type(proto).FromString(proto.SerializeToString()))
        assert after == before
        assert str(after) == str(before)
    assert str(everything) == "(<{<a=int32[?,2],float32*>}@CLIENTS,int32@CLIENTS> -> float32@SERVER)"


@pytest.mark.capability(
    "types.tensor-spec",
    title="Types from tensor specs",
    says="A structure of `tf.TensorSpec` becomes the type of such values.",
    looks_for=[("tff.types.tensorflow_to_type", "tff.to_type")],
)
def test_a_tensor_spec_becomes_a_type(find):
    import tensorflow as tf

    type_of = find("tff.types.tensorflow_to_type")
    specs = ordered(x=tf.TensorSpec([None, 2], tf.float32), y=tf.TensorSpec([], tf.int64))
    assert str(type_of(specs["x"])) == "float32[?,2]"
    assert str(type_of(specs)) == "<x=float32[?,2],y=int64>"


@pytest.mark.capability(
    "types.dataset-spec",
    title="Types from dataset specs",
    says="A `tf.data.DatasetSpec`, as a dataset itself gives it, becomes the type of a sequence.",
    looks_for=[("tff.types.tensorflow_to_type", "tff.to_type")],
)
def test_a_dataset_spec_becomes_a_sequence_type(find):
    import tensorflow as tf

    dataset = tf.data.Dataset.range(6).map(lambda value: ordered(x=tf.cast(value, tf.float32), y=value)).batch(4)
    type_of = find("tff.types.tensorflow_to_type")
    # to_type in core/impl/types/computation_types.py takes it from 0.39.0 on
    found = offered("to_type(tf.data.DatasetSpec)", lambda: type_of(tf.data.DatasetSpec.from_value(dataset)))
    assert str(found) == "<x=float32[?],y=int64[?]>*"
