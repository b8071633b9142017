"""What all tests share: what a test that needs the real index does where there is none, and no test
is timed.
"""

import datetime
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
import requests
from support import zoo
from support.fake_index import FakeIndex
from support.local_index import DEMO, fill
from support.real_site import made as made_real
from support.untested import untested

from compat.index.settings import settings
from compat.workspace import Workspace

MATRICES = Path(__file__).parent.parent / "matrices"
Once = Callable[[str, Callable[[Path], object]], Path]

# The files that take longest (measured), the longest first.
LONGEST = (
    *("test_claims", "test_night", "test_clusters", "test_access", "test_real_locks"),
    "test_zoo",
    *("test_checkout", "test_own_tests", "test_real_commands", "test_mended"),
    *("test_hostile_cells", "test_supervise", "test_known_truths", "test_question"),
    *("test_tables", "test_hostile", "test_hostile_data", "test_documentation"),
    *("test_generated", "test_runs", "test_derived_answers"),
)

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


@pytest.hookimpl(trylast=True)  # of those that are chosen
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests on the real index where it cannot be reached; in CI they run, and fail, instead.

    What takes longest begins first, so that no worker is left alone with it at the end.
    """
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))
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


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cells run one after the other unless a test asks for more: their lines come in order."""
    monkeypatch.setattr("psutil.Process.cpu_affinity", lambda _: [0])


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


@pytest.fixture(scope="session", autouse=True)
def of_all_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all workers."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    zoo.SHARED[:] = [place / "shared"]
    return place


@pytest.fixture(scope="session")
def once(of_all_workers: Path) -> Once:
    """Give the folder of a name, which one worker fills and the others find full."""
    place = of_all_workers

    def of(name: str, fill: Callable[[Path], object]) -> Path:
        folder, full = place / name, place / f"{name}.full"
        with (place / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not full.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                fill(folder)
                full.touch()
        return folder

    return of


@pytest.fixture(scope="session")
def derived(once: Once) -> Callable[[datetime.date], Path]:
    """Give a cache folder with what is derived of the committed matrices on a day."""

    def of(day: datetime.date) -> Path:
        def fill(folder: Path) -> None:
            for matrix in ("tff", "pip-tools", "setuptools"):
                assert Workspace(MATRICES / matrix, day, lambda: folder).known.entries

        return once(f"derived-{day}", fill)

    return of


@pytest.fixture(scope="session")
def real_site(once: Once) -> Path:
    """The site of the committed records in `public`, beside the matrices that it is made from."""
    return once("real-site", made_real)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that the tests of a module share."""
    return tmp_path_factory.mktemp("cache")
