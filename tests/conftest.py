"""What all tests share: what a test that needs the real index does where there is none, and no test
is timed.
"""

import datetime
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
import requests
from support import zoo
from support.fake_index import FakeIndex
from support.local_index import DEMO, fill
from support.untested import untested

from compat.index.settings import settings
from compat.workspace import Workspace

MATRICES = Path(__file__).parent.parent / "matrices"

# The quick part tries a property on a tenth of its examples, the long part on all of them. A busy
# machine is no fault of the code.
for name, count in (("few", 10), ("all", 100)):
    hypothesis.settings.register_profile(
        name,
        hypothesis.settings.get_profile("ci" if "CI" in os.environ else "default"),
        max_examples=count,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("few")


def index_answers() -> bool:
    """Whether the package index that pip is configured for answers at all."""
    found = settings()
    try:
        return (
            requests.head(found.index_url, timeout=20, verify=found.cert or True).status_code < 500
        )
    except requests.RequestException:
        return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests on the real index where it cannot be reached; in CI they run, and fail,
    instead.
    """
    asking = [item for item in items if item.get_closest_marker("real_index")]
    if not asking or os.environ.get("CI") or index_answers():
        return
    for item in asking:
        item.add_marker(pytest.mark.skip(reason="the package index does not answer"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say last of all what was not tested: a line among hundreds would not be read."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    for line in untested([str(report.longrepr) for report in reporter.stats.get("skipped", ())]):
        reporter.write_line(line, yellow=True)


@pytest.fixture
def demo_index(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeIndex]:
    """An index on this machine with the packages of the demo."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    fake = FakeIndex()
    fill(fake, DEMO)
    yield fake
    fake.stop()


@pytest.fixture
def index() -> Iterator[FakeIndex]:
    """An empty index on this machine."""
    fake = FakeIndex()
    yield fake
    fake.stop()


@pytest.fixture(scope="session")
def tools() -> list[tuple[str, str, bytes]]:
    """Wheels of pytest and all that it needs, for an index that a cell installs from."""
    return zoo.pytest_and_its_needs()


@pytest.fixture(scope="session")
def derived(tmp_path_factory: pytest.TempPathFactory) -> Callable[[datetime.date], Path]:
    """Give a cache folder with what is derived of the committed matrices on a day: one worker
    derives it, the others read it.
    """
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent

    def of(day: datetime.date) -> Path:
        folder = place / f"derived-{day}"
        folder.mkdir(exist_ok=True)
        with (place / f"derived-{day}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for matrix in ("tff", "pip-tools"):
                assert Workspace(MATRICES / matrix, day, lambda: folder).known.entries
        return folder

    return of


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that the tests of a module share."""
    return tmp_path_factory.mktemp("cache")
