"""How many examples a property is tried on: a tenth of them in the quick part."""

from typing import Any

from hypothesis import settings


def examples(usual: int, **more: Any) -> settings:
    """Return the settings with as many examples as the profile takes of `usual`."""
    assert settings.default is not None
    share = settings.default.max_examples  # of 100; tests/conftest.py has both profiles
    return settings(max_examples=max(3, usual * share // 100), deadline=None, **more)
