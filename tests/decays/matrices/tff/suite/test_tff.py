"""A sum over clients."""


def test_clients_are_added_up():
    import tensorflow as tf
    import tensorflow_federated as tff

    @tff.federated_computation(tff.type_at_clients(tf.int32))
    def total(values):
        return tff.federated_sum(values)

    assert total([1, 2, 3]) == 6
