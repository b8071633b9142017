"""Cells on the workers of a real Dask cluster of this machine: the same records as here, each once,
whatever is killed meanwhile.
"""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.fake_index import FakeIndex
from support.zoo import SERIES, Animal, Repository, serve, wheel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("distributed") is None, reason="the extra fleet is missing"),
]

VERSIONS = ("1.0", "1.1", "1.2")
CELLS = tuple(f"py{SERIES}-a{version}" for version in VERSIONS)
# Of the three one fails, so that there is a cause to compare; each takes long enough to be killed.
FLOCK = Animal(
    name="flock",
    story="Four releases, each of which takes two seconds.",
    outcome="pass",
    suite=(
        "def test_alive():\n    import animal\n    import time\n\n    time.sleep(2)\n"
        "    assert animal.ALIVE\n"
    ),
    limits={"memory_mb": 256, "disk_mb": 256},
)
# A worker tells the scheduler an address that nobody can dial (RFC 5737).
BEHIND_A_FIREWALL = """\
import functools, sys
from compat.fleet import cluster
cluster.Worker = functools.partial(cluster.Worker, contact_address="tls://192.0.2.1:9")
from compat.cli.app import main
sys.argv = ["compat", *sys.argv[1:]]
main()
"""


# A run as far as it hears, and somebody who has a worker's certificates.
CONNECTED = """\
import sys
from pathlib import Path
from compat.errors import CompatError
from compat.fleet.cluster import Cluster, cluster_address
cluster = Cluster(cluster_address(sys.argv[1], None, Path(sys.argv[2])), "topic")
print("connected", flush=True)
try:
    while True:
        cluster.message(1)
except CompatError as fault:
    print(fault)
"""
INTRUDER = """\
import sys
from pathlib import Path
from distributed import Client
from compat.fleet.cluster import cluster_address
address = cluster_address(sys.argv[1], None, Path(sys.argv[2]))
def push(dask_scheduler, sent=sys.argv[3], path=sys.argv[4]):
    import os
    from distributed.protocol import Serialize, ToPickle
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {path}",)
    dask_scheduler.log_event("topic", eval(sent, {**globals(), **locals()}))
client = Client(address.url, security=address.security, set_as_default=False)
client.run_on_scheduler(push)
client.close()
"""


class Flock(Repository):
    """A repository of three cells, and processes that are killed when the test ends."""

    def __init__(self, root: Path, cache: Path, index: FakeIndex, tools: Any) -> None:
        super().__init__(root, cache, index, FLOCK, tools)
        releases = [
            (version, wheel("zooflock", version, {"animal.py": module}, []), "py3-none-any")
            for version in VERSIONS
            for module in (f"ALIVE = {version != '1.2'}\n",)
        ]
        serve(index, "zooflock", releases)
        self.processes: list[psutil.Process] = []

    def begin(self, *words: str, command: Sequence[str] = ()) -> "subprocess.Popen[str]":
        """Start `compat` in a process that the end of the test kills."""
        path = self.root / f"log-{len(self.processes)}"
        with path.open("w") as log:
            process = subprocess.Popen(
                [*(command or (sys.executable, "-m", "compat")), *words],
                cwd=self.root, env=self.environ, text=True, stdout=log, stderr=log,
            )  # fmt: skip
        self.processes.append(psutil.Process(process.pid))
        if "cluster" in words:
            wait_for(lambda: "dask://" in path.read_text() or process.poll() is not None)
        return process

    def address(self, port: int) -> str:
        """Return the address of the scheduler at that port."""
        return f"dask://127.0.0.1:{port}"

    def outcomes(self) -> dict[str, list[str]]:
        """Return what each cell came to, by its records."""
        outcomes: dict[str, list[str]] = {}
        for record in map(json.loads, self.records()):
            outcomes.setdefault(record["cell"], []).append(record["outcome"])
        return outcomes

    def logs(self) -> str:
        """Return what the processes said."""
        return "\n".join(path.read_text() for path in sorted(self.root.glob("log-*")))

    def worker_at_work(self, run: "subprocess.Popen[str]") -> psutil.Process:
        """Return the worker process that runs a cell of a run, when there is one."""
        workers: list[psutil.Process] = []

        def is_there() -> bool:
            assert run.poll() is None, (run.communicate(), self.logs())
            for pid in self.alive():
                try:
                    above = psutil.Process(pid).parents()
                    workers.extend(p for p in above if "worker" in p.cmdline())
                except psutil.Error:
                    continue
            return bool(workers)

        wait_for(is_there)
        return workers[0]


def wait_for(condition: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def flock(tmp_path: Path, cache: Path, tools: Any) -> Iterator[Flock]:
    index = FakeIndex()
    flock = Flock(tmp_path, cache, index, tools)
    yield flock
    for process in flock.processes:
        family = [process, *children(process)]
        for member in family:
            with_no_error(member.kill)
    index.stop()


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def with_no_error(kill: Callable[[], None]) -> None:
    try:
        kill()
    except psutil.Error:
        return


EXPECTED = {cell: ["pass"] for cell in CELLS} | {
    CELLS[2]: ["test-fail:assertion(test_animal.py::test_alive; at test_animal.py:6)"]
}


def test_a_cluster_makes_the_same_records_as_this_machine(flock: Flock) -> None:
    assert flock.run("run", "zoo", *CELLS)[0] == 1
    local = {record["cell"]: record for record in map(json.loads, flock.records())}
    shutil.rmtree(flock.root / "matrices" / "zoo" / "records")
    port = free_port()
    flock.begin("fleet", "cluster", "--workers", "2", "--port", f"{port}")
    code, _, err = flock.run("run", "zoo", *CELLS, "--fleet", flock.address(port))
    assert code == 1, err + flock.logs()
    assert flock.outcomes() == EXPECTED
    differing = {"started", "seconds", "step_seconds", "metrics", "attempts", "log", "digest"}
    for line in flock.records():
        record = json.loads(line)
        before = local[record["cell"]]
        assert {key for key in record if record[key] != before.get(key)} <= differing
        assert str(flock.cache) not in line.decode()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="PYTHONSAFEPATH came with Python 3.11")
def test_workers_start_in_a_folder_with_another_compat(flock: Flock) -> None:
    (flock.root / "compat").mkdir()
    (flock.root / "compat" / "__init__.py").write_text("raise SystemExit('another compat')\n")
    command = Path(sys.executable).with_name("compat")
    flock.begin(
        "fleet", "cluster", "--workers", "1", "--port", f"{free_port()}", command=(str(command),)
    )
    wait_for(lambda: "joined" in flock.logs() or "another" in flock.logs())
    assert "another compat" not in flock.logs()


def test_a_worker_that_is_killed_in_a_cell_loses_nothing(flock: Flock) -> None:
    port = free_port()
    flock.begin("fleet", "cluster", "--workers", "2", "--port", f"{port}")
    run = flock.start("run", "zoo", *CELLS, "--fleet", flock.address(port))
    flock.worker_at_work(run).send_signal(signal.SIGKILL)
    _, err = run.communicate(timeout=600)
    assert flock.outcomes() == EXPECTED, err + flock.logs()
    assert run.returncode == 1
    assert "connection is lost" in err


def test_a_scheduler_that_is_killed_and_started_anew_loses_nothing(flock: Flock) -> None:
    port = free_port()
    scheduler = flock.begin("fleet", "cluster", "--workers", "0", "--port", f"{port}")
    flock.begin("fleet", "worker", flock.address(port), "--workers", "2")
    run = flock.start("run", "zoo", *CELLS, "--fleet", flock.address(port))
    flock.worker_at_work(run)
    wait_for(lambda: bool(flock.records()))
    scheduler.kill()
    scheduler.wait()
    flock.begin("fleet", "cluster", "--workers", "0", "--port", f"{port}")
    _, err = run.communicate(timeout=600)
    assert flock.outcomes() == EXPECTED, err + flock.logs()
    assert run.returncode == 1
    assert "dialling the scheduler again" in err


def test_a_connection_that_dask_has_made_anew_counts_as_lost(flock: Flock) -> None:
    # Seen with Dask 2026.8: the client dials again by itself, and the new scheduler does not know
    # to whom to hand on what workers say.
    from compat.fleet.cluster import Cluster, ClusterLost, cluster_address

    port = free_port()
    scheduler = flock.begin("fleet", "cluster", "--workers", "0", "--port", f"{port}")
    cluster = Cluster(cluster_address(flock.address(port), None, flock.cache / "fleet"), "topic")
    try:
        assert cluster.offers() == {}
        scheduler.kill()
        scheduler.wait()
        flock.begin("fleet", "cluster", "--workers", "0", "--port", f"{port}")
        # It may be connected again before anybody looks whether it was lost.
        before = (None, cluster._connection)
        wait_for(
            lambda: (
                cluster._client.status == "running" and cluster._client.scheduler_comm not in before
            )
        )
        with pytest.raises(ClusterLost, match="the connection to the scheduler was lost"):
            cluster.offers()
    finally:
        cluster.close()


def test_a_worker_that_cannot_be_dialled_runs_cells(flock: Flock) -> None:
    port = free_port()
    flock.begin("fleet", "cluster", "--workers", "0", "--port", f"{port}")
    flock.begin(
        "fleet", "worker", flock.address(port), command=(sys.executable, "-c", BEHIND_A_FIREWALL)
    )
    code, _, err = flock.run("run", "zoo", *CELLS, "--fleet", flock.address(port))
    assert flock.outcomes() == EXPECTED, err + flock.logs()
    assert code == 1


def test_an_interrupted_run_stops_the_cells_on_the_workers(flock: Flock) -> None:
    port = free_port()
    flock.begin("fleet", "cluster", "--workers", "1", "--port", f"{port}")
    run = flock.start("run", "zoo", *CELLS, "--fleet", flock.address(port))
    flock.worker_at_work(run)
    run.send_signal(signal.SIGTERM)
    _, err = run.communicate(timeout=120)
    assert run.returncode == 143, err
    wait_for(lambda: not flock.alive())


@pytest.mark.parametrize("sent", ["ToPickle(Evil())", "Serialize(Evil())", "b'words'"])
def test_what_is_no_message_is_refused_and_never_unpickled(flock: Flock, sent: str) -> None:
    port, folder = free_port(), flock.cache / "fleet"
    flock.begin("fleet", "cluster", "--workers", "0", "--port", f"{port}")
    run = subprocess.Popen(
        [sys.executable, "-c", CONNECTED, flock.address(port), str(folder)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "connected\n"
    intruder = [sys.executable, "-c", INTRUDER, flock.address(port), str(folder), sent]
    subprocess.run([*intruder, str(flock.root / "unpickled")], check=True)
    told = run.communicate(timeout=60)[0]
    assert not (flock.root / "unpickled").exists()
    assert told.startswith("refused " + ("something" if sent[0] == "b" else "an object of posix"))


def test_nobody_listens_with_a_key_that_others_can_read(flock: Flock) -> None:
    port = free_port()
    flock.begin("fleet", "cluster", "--workers", "0", "--port", f"{port}")
    own = flock.cache / "fleet"
    assert {path.stat().st_mode & 0o777 for path in (own, *own.iterdir())} == {0o700, 0o600}
    shutil.copytree(own, flock.root / "open")
    (flock.root / "open" / "key.pem").chmod(0o644)
    code, _, err = flock.run("fleet", "cluster", "--port", "0", "--tls", "open")
    assert (code, "can read the key" in err) == (2, True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates")
def test_with_certificates_nobody_joins_without_them(flock: Flock) -> None:
    folder, port = flock.root / "certificates", free_port()
    folder.mkdir()
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=fleet"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )
    shutil.copy(folder / "cert.pem", folder / "ca.pem")
    tls = ("--tls", str(folder))
    secrets = {"GITHUB_TOKEN": "a-secret", "UV_GITHUB_TOKEN": "b", "UV_PUBLISH_PASSWORD": "c"}
    flock.environ |= secrets
    flock.begin("fleet", "cluster", "--workers", "1", "--port", f"{port}", *tls)
    code, _, err = flock.run("run", "zoo", CELLS[0], "--fleet", flock.address(port), *tls)
    assert code == 0, err + flock.logs()
    flock.begin("fleet", "worker", flock.address(port), "--workers", "2", *tls)
    wait_for(lambda: flock.logs().count("joined") == 3)
    for process in (started := flock.processes) + [c for p in started for c in p.children()]:
        assert not secrets.keys() & process.environ().keys()
    from compat.fleet.cluster import make_certificates

    # Certificates of this user, but not those of this cluster.
    make_certificates(flock.cache / "fleet", time.time())
    code, _, err = flock.run("run", "zoo", CELLS[0], "--fleet", flock.address(port))
    assert (code, "does not answer" in err) == (3, True)


def test_off_the_loopback_certificates_are_required(flock: Flock) -> None:
    code, _, err = flock.run("run", "zoo", CELLS[0], "--fleet", "dask://192.0.2.1:8786")
    assert (code, "needs certificates" in err) == (2, True)
    code, _, err = flock.run("fleet", "cluster", "--host", "0.0.0.0")
    assert (code, "needs certificates" in err) == (2, True)
    code, _, err = flock.run("fleet", "worker", "tcp://127.0.0.1:8786")
    assert (code, "such as dask://127.0.0.1:8786" in err) == (2, True)


def test_what_only_this_machine_can_do_is_refused(flock: Flock) -> None:
    words = ("run", "zoo", CELLS[0], "--fleet", "dask://127.0.0.1:1", "--jobs", "2", "--keep")
    code, _, err = flock.run(*words)
    assert (code, "--jobs and --keep cannot be combined with --fleet" in err) == (2, True)
