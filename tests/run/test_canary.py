"""The canary: workers that start at the same moment make it at the same moment."""

import hashlib
import threading
import zipfile
from pathlib import Path

from packaging.version import Version
from support.lair import PYTHON, THEN, Lair

from compat.run.cell_run import CellRun
from compat.run.classify import classify
from compat.run.job import canary

WORKERS, TIMES = 4, 100


def test_a_worker_never_finds_the_wheel_half_written_by_another(tmp_path: Path) -> None:
    wrong: list[str] = []
    start = threading.Barrier(WORKERS)

    def work() -> None:
        start.wait()
        for _ in range(TIMES):
            (pin,) = canary(tmp_path, Version("3.11.7")).lock.pins
            (wheel,) = tmp_path.glob("*.whl")
            if hashlib.sha256(wheel.read_bytes()).hexdigest() not in pin.hashes:
                wrong.append(wheel.name)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_wheel_is_a_whole_one(tmp_path: Path) -> None:
    canary(tmp_path, Version("3.11.7"))
    (wheel,) = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        assert "compat_canary.py" in archive.namelist()


def test_it_passes_again_with_the_cache_that_the_first_left(tmp_path: Path) -> None:
    # Each run writes its own wheel, and the installer notes the time of that file.
    lair = Lair(tmp_path, "L0", [])
    for day in ("first", "second"):
        job = canary(tmp_path / day, PYTHON)
        found = CellRun(job, lair.bench(tmp_path / f"home-{day}"), THEN, threading.Event()).run()
        assert str(classify(found)) == "pass"
