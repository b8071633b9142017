"""What the tests of the lock room share: a local index."""

from collections.abc import Iterator

import pytest
from fake_index import FakeIndex
from local_index import DEMO, fill


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeIndex]:
    """An index with the packages of the demo."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    fake = FakeIndex()
    fill(fake, DEMO)
    yield fake
    fake.stop()
