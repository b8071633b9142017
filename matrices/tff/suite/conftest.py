"""Markers and the `find` fixture of the suite."""

import api
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "capability(id, title, says): what of the library this test shows")
    config.addinivalue_line("markers", "quick: belongs to the short run")


@pytest.fixture
def find(record_property):
    """Look a name up as `api.look_up` does, and note under which name this release has it."""

    def find(*names):
        spelling, found = api.look_up(*names)
        record_property("spelling", spelling)
        return found

    return find


@pytest.fixture
def metric(record_property):
    """Report a number in seconds, of which less is better."""

    def metric(name, seconds):
        record_property("metric", {"name": name, "value": seconds, "unit": "s", "better": "lower"})

    return metric
