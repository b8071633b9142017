"""A sum over clients."""


def test_clients_are_added_up():
    import tensorflow as tf
    import tensorflow_federated as tff

    at_clients = tff.type_at_clients(tf.int32)
    total = tff.federated_computation(lambda values: tff.federated_sum(values), at_clients)
    assert total([1, 2, 3]) == 6
