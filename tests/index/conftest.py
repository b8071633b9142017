"""What the tests of the index room share: a fake index, and limits that make trouble quick."""

from collections.abc import Iterator

import msgspec
import pytest
from support.fake_index import FakeIndex

from compat.index.metadata import ResponseLimits


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep requests to this machine off any proxy that the environment names."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def other_index() -> Iterator[FakeIndex]:
    """A second fake index."""
    fake = FakeIndex()
    yield fake
    fake.stop()


@pytest.fixture
def quick() -> ResponseLimits:
    """Small limits, of which those of time hold on a loaded machine."""
    return ResponseLimits(
        connect=10,
        silence=10,
        total=20,
        wheel_total=20,
        retries=2,
        back_off=0.01,
        retry_after_max=1,
        max_bytes=200_000,
        max_metadata_bytes=20_000,
        max_wheel_bytes=2_000_000,
    )


@pytest.fixture
def impatient(quick: ResponseLimits) -> ResponseLimits:
    """Limits under which a slow server is given up within a second or two."""
    return msgspec.structs.replace(quick, silence=0.5, total=1.2)
