"""The module that all workers import."""


def test_the_utilities_can_be_imported():
    import gunicorn.util

    assert gunicorn.util.parse_address("localhost:80") == ("localhost", 80)
