"""Markers of the suite, and the folder that its commands run in."""

import api
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "capability(id, title, says): what of the library this test shows")
    config.addinivalue_line("markers", "quick: belongs to the short run")


@pytest.fixture
def project(tmp_path):
    """A folder with `wheels/`: `outer` 1.0, which requires `inner`, and `inner` in two versions."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    api.make_wheel(wheels, "outer", "1.0", ["inner>=1"])
    api.make_wheel(wheels, "inner", "1.0")
    api.make_wheel(wheels, "inner", "2.0")
    return tmp_path
