"""A generated module."""


def test_a_generated_module_can_be_imported():
    from google.api import http_pb2

    assert http_pb2.HttpRule(get="/v1").get == "/v1"
