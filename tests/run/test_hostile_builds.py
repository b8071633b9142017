"""Builds of source distributions that attack: what nobody named does not run, what is named writes
only its own.
"""

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.built import inputs_of, run_of, variables
from support.fake_index import FakeIndex, File, body, in_json
from support.hostile import EACH_LEVEL, allowed, landlock
from support.zoo import sdist

from compat.index.settings import IndexSettings
from compat.lock.uv import UvLocker
from compat.run.cell_run import CellRun
from compat.run.classify import classify
from compat.run.evidence import Isolation

# The back end writes a mark into each victim, then makes an honest wheel.
BACKEND = """\
import pathlib, zipfile

for victim in {victims!r}:
    try:
        pathlib.Path(victim, "owned").write_text("owned")
    except OSError:
        pass

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "sly-1.0-py3-none-any.whl"
    files = {{
        "sly.py": "",
        "sly-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: sly\\nVersion: 1.0\\n",
        "sly-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: \
py3-none-any\\n",
        "sly-1.0.dist-info/RECORD": "",
    }}
    with zipfile.ZipFile(directory + "/" + name, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return name
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def packed(victims: list[Path]) -> bytes:
    """Return the source distribution whose build attacks these folders."""
    backend = BACKEND.format(victims=[str(victim) for victim in victims])
    return sdist("sly", {"pyproject.toml": PROJECT, "backend.py": backend})


class Machine:
    """A machine with a sandbox, another cell's folder and a folder of locks: all that a build must
    not write.
    """

    def __init__(self, index: FakeIndex, folder: Path) -> None:
        self.index = index
        self.sandbox = folder / "sandbox"
        self.victims = [
            self.sandbox / "uv",
            self.sandbox / "cells" / "w" / "other",
            folder / "locks",
        ]
        for victim in self.victims:
            victim.mkdir(parents=True)
        content = packed(self.victims)
        self.digest = hashlib.sha256(content).hexdigest()
        index.answers("/files/sly-1.0.tar.gz", body(content, "application/octet-stream"))
        index.page(
            "sly", in_json([File("sly-1.0.tar.gz", "", self.digest, None, "2024-01-02T12:00:00Z")])
        )
        self.environ = dict(variables(self.sandbox / "uv"))

    @property
    def owned(self) -> list[str]:
        """The victims that a build wrote into."""
        return [victim.name for victim in self.victims if (victim / "owned").exists()]

    def run(self, level: Isolation, *builds: str) -> CellRun:
        """Return the run of a cell whose lock builds the source distribution; the matrix names
        these builds.
        """
        return run_of(
            inputs_of("sly"),
            self.digest,
            self.sandbox.parent,
            builds,
            level=level,
            sandbox=str(self.sandbox),
            index=IndexSettings(index_url=self.index.url),
            variables=tuple(self.environ.items()),
            readable=(sys.prefix, sys.base_prefix),
        )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    index = FakeIndex()
    # In /tmp a build below L3 could write.
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        yield Machine(index, Path(folder))
    index.stop()


def test_a_lock_runs_no_build_that_nobody_named(machine: Machine) -> None:
    locker = UvLocker(
        IndexSettings(index_url=machine.index.url), machine.environ, lambda _: sys.executable
    )
    refusal = locker.lock(inputs_of("sly"))
    assert machine.owned == []
    assert str(refusal) == "lock-fail:source-only(sly==1.0)"


def test_an_install_runs_no_build_that_nobody_named(machine: Machine) -> None:
    evidence = machine.run("L0").run()
    assert machine.owned == []
    assert str(classify(evidence)) == "install-fail:source-only(sly==1.0)"


@pytest.mark.parametrize("level", EACH_LEVEL)
def test_a_named_build_writes_only_its_own_folder(machine: Machine, level: Isolation) -> None:
    if level not in allowed() or (level != "L3" and landlock() < 3):
        pytest.skip(f"this machine does not keep a build from files elsewhere at {level}")
    evidence = machine.run(level, "sly==1.0").run()
    assert [item.name for item in evidence.installed] == ["sly"], evidence.steps[-1].log
    assert machine.owned == []
