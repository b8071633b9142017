"""Computations: of TensorFlow code, of JAX code, and of other computations."""

import numpy as np
import pytest
import tensorflow_federated as tff
from api import at_clients, at_server, dtype, installed, look_up, ordered, tf_computation


@pytest.mark.quick
@pytest.mark.capability(
    "computation.tf",
    title="TensorFlow computations",
    says="A function of TensorFlow code becomes a computation with a type, and runs.",
    looks_for=[("tff.tensorflow.computation", "tff.tf_computation")],
)
def test_a_tensorflow_computation_runs(find):
    computation = find("tff.tensorflow.computation")

    @computation(dtype("int32"), dtype("int32"))
    def combine(a, b):
        return 10 * a + b

    @computation(tff.TensorType(dtype("float32"), [None]))
    def squares(values):
        return values * values

    assert str(combine.type_signature) == "(<a=int32,b=int32> -> int32)"
    assert combine(4, 2) == 42
    assert combine(b=4, a=2) == 24
    assert str(squares.type_signature) == "(float32[?] -> float32[?])"
    assert np.array_equal(squares(np.array([1.5, -2.0], np.float32)), [2.25, 4.0])
    assert np.shape(squares(np.zeros([0], np.float32))) == (0,)


@pytest.mark.capability(
    "computation.struct",
    title="Structs in and out",
    says="A computation takes and returns structures with named parts, also one inside the other.",
)
def test_a_computation_takes_and_returns_structs():
    inner = tff.StructType([("c", dtype("int32"))])

    @tf_computation(tff.StructType([("a", dtype("int32")), ("b", dtype("float32")), ("inner", inner)]))
    def swap(parts):
        return ordered(b=parts["b"] + 0.5, a=(parts["a"] + 1, parts["inner"]["c"]))

    assert str(swap.type_signature.result) == "<b=float32,a=<int32,int32>>"
    result = swap(ordered(a=1, b=2.0, inner=ordered(c=7)))
    assert list(result) == ["b", "a"]
    assert (result["b"], tuple(result["a"])) == (2.5, (2, 7))


@pytest.mark.capability(
    "computation.assertion",
    title="Assertions in TensorFlow code",
    says="An assertion that a result depends on by `tf.control_dependencies` ends the computation with its message.",
)
def test_an_assertion_ends_a_computation():
    import tensorflow as tf

    for number in ("int32", "float32", "int64"):

        @tf_computation(tff.TensorType(dtype(number), [2]))
        def positive(values):
            with tf.control_dependencies([tf.debugging.assert_positive(values, message="must be more than none")]):
                return tf.identity(values)

        assert np.array_equal(positive(np.array([3, 4], number)), [3, 4])
        with pytest.raises(Exception, match="must be more than none"):
            positive(np.array([3, -4], number))


@pytest.mark.capability(
    "computation.polymorphic",
    title="Computations without a declared type",
    says="A computation declared without types takes each type that its code can do with, and is traced for it.",
)
def test_a_computation_without_types_takes_several():
    @tf_computation
    def doubled(value):
        return value + value

    whole = doubled(21)
    assert (whole, np.asarray(whole).dtype) == (42, np.int32)
    fraction = doubled(1.25)
    assert (fraction, np.asarray(fraction).dtype) == (2.5, np.float32)
    assert np.array_equal(doubled(np.array([[1, 2]], np.int64)), [[2, 4]])

    @tff.federated_computation(dtype("int32"), dtype("float32"))
    def both(a, b):
        return doubled(a), doubled(b)

    assert str(both.type_signature) == "(<a=int32,b=float32> -> <int32,float32>)"
    assert tuple(both(3, 0.5)) == (6, 1.0)


@pytest.mark.quick
@pytest.mark.capability(
    "computation.federated",
    title="Federated computations of others",
    says="A federated computation is made of other computations, federated ones too; its type tells where values are.",
)
def test_a_federated_computation_is_made_of_others():
    add_half = tf_computation(dtype("float32"))(lambda value: value + 0.5)
    double = tf_computation(dtype("float32"))(lambda value: 2 * value)

    @tff.federated_computation(at_clients(dtype("float32")))
    def mean_of_next(values):
        return tff.federated_mean(tff.federated_map(add_half, values))

    @tff.federated_computation(at_clients(dtype("float32")), at_server(dtype("float32")))
    def outer(values, known):
        return mean_of_next(values), tff.federated_map(double, known)

    assert str(mean_of_next.type_signature) == "({float32}@CLIENTS -> float32@SERVER)"
    expected = "(<values={float32}@CLIENTS,known=float32@SERVER> -> <float32@SERVER,float32@SERVER>)"
    assert str(outer.type_signature) == expected
    mean, doubled = outer([1.0, 2.0, 6.0], 8.0)
    assert (mean, doubled) == (3.5, 16.0)


@pytest.mark.capability(
    "computation.lambda",
    title="Computations of lambdas and of functions",
    says="A lambda becomes a computation; a computation takes another one as its argument and calls it.",
)
def test_lambdas_become_computations_and_computations_arguments():
    add_one = tf_computation(lambda value: value + 1, dtype("int32"))
    function = tff.FunctionType(dtype("int32"), dtype("int32"))
    thrice = tff.federated_computation(lambda inner, value: inner(inner(inner(value))), [function, dtype("int32")])
    use = tff.federated_computation(lambda value: thrice(add_one, value), dtype("int32"))
    assert str(add_one.type_signature) == "(int32 -> int32)"
    assert add_one(4) == 5
    assert str(thrice.type_signature.result) == "int32"
    assert str(thrice.type_signature.parameter[0]) == "(int32 -> int32)"
    assert use(4) == 7


@pytest.mark.capability(
    "computation.jax-trace",
    title="JAX computations: tracing",
    says="A function of JAX code becomes a computation with a type, held as XLA code.",
    looks_for=[("tff.jax.computation", "tff.jax_computation", "tff.experimental.jax_computation")],
)
def test_a_jax_computation_is_traced(find):
    computation = find("tff.jax.computation")

    @computation(np.float32, tff.TensorType(np.float32, [3]))
    def scaled(factor, values):
        import jax

        return jax.numpy.sum(factor * values)

    assert str(scaled.type_signature) == "(<factor=float32,values=float32[3]> -> float32)"
    proto = look_up("tff.framework.serialize_computation")[1](scaled)
    assert proto.WhichOneof("computation") == "xla"
    module = proto.xla.hlo_module
    assert module.type_url.endswith("HloModuleProto")
    assert b"multiply" in module.value
    assert b"reduce" in module.value


@pytest.mark.capability(
    "computation.jax-run",
    title="JAX computations: running",
    says="A computation of JAX code runs in the execution context for XLA, and gives the right result.",
    looks_for=[
        ("tff.jax.computation", "tff.jax_computation", "tff.experimental.jax_computation"),
        (
            "tff.backends.xla.create_local_python_execution_context",
            "tff.backends.xla.create_local_execution_context",
            "tff.experimental.backends.xla.create_local_execution_context",
        ),
    ],
)
def test_a_jax_computation_runs(find):
    computation = find("tff.jax.computation")
    create_context = find("tff.backends.xla.create_local_python_execution_context")

    @computation(np.float32, np.float32)
    def combine(a, b):
        return 10 * a + b

    with installed(create_context()):
        assert combine(4.0, 2.0) == 42.0


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
