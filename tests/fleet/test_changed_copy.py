"""A run with postponed annotations changes a copy, and leaves no result of the release."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.version import Version
from support.fake_index import FakeIndex
from support.made_records import capabilities, ran
from support.zoo import Animal, Repository, pytest_and_its_needs

from compat.errors import UsageError
from compat.fleet import wheel_needs
from compat.plan.cell import Cell, Coordinate
from compat.results.record import Record

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

# What this name stands for nobody knows, so the module cannot be imported as it is.
MODULE = "def alive(x: no_such_name) -> bool:\n    return True\n\n\nALIVE = alive(1)\n"
ANIMAL = Animal(name="late", story="Its annotation is wrong.", outcome="", module=MODULE)
SCRIPT = """\
import json, sys, threading
from compat import pipeline
from compat.cli.options import workspace_of
from compat.cli.progress import Progress
from compat.cli.this_machine import ThisMachine
from compat.errors import RecordError
from compat.results.judged import judged
from compat.run.evidence import decode_evidence

workspace = workspace_of("zoo", None)
machine = ThisMachine(workspace, "L0")
with Progress({sys.argv[1]: None}, 1) as progress:
    result = pipeline.run_postponed(
        workspace, sys.argv[1], ("animal.py",), machine, threading.Event(), progress
    )
print(json.dumps(dict(result.outcomes)))
[path] = workspace.evidence_paths()
evidence = decode_evidence(path.read_bytes())
print(json.dumps(evidence.postponed))
try:
    pipeline.recorded(workspace, [judged(evidence)], "uv", machine)
except RecordError as refused:
    print(refused)
"""


@pytest.fixture
def zoo(tmp_path: Path) -> Iterator[Repository]:
    index = FakeIndex()
    yield Repository(tmp_path, tmp_path / "cache", index, ANIMAL, pytest_and_its_needs())
    index.stop()


def test_a_changed_copy_runs_and_is_recorded_nowhere(zoo: Repository) -> None:
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, zoo.cell],
        cwd=zoo.root, env=zoo.environ, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    outcomes, changed, refusal = process.stdout.splitlines()
    assert json.loads(outcomes) == {zoo.cell: "pass"}
    assert json.loads(changed) == ["animal.py"]
    assert "changed copy" in refusal
    assert zoo.records() == []
    # The installer's cache has the file as it was: the release itself still fails.
    assert zoo.run("run", "zoo", zoo.cell)[0] == 1
    [record] = zoo.records()
    assert json.loads(record)["outcome"].startswith("import-fail")


def cell(python: str) -> Cell:
    coordinates = tuple(
        Coordinate(axis=axis, short=axis, version=Version(version))
        for axis, version in (("python", python), ("demo", "1.0"))
    )
    return Cell(matrix="demo", coordinates=coordinates, recipe="fresh")


@pytest.fixture
def workspace(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A workspace of which nothing but the names is asked, and wheels that hold two files."""
    wheels = SimpleNamespace(
        files_to_postpone=lambda release, python: ("a.py",),
        annotated_files=lambda release: ("a.py", "b.py"),
    )
    monkeypatch.setattr(wheel_needs, "WheelNeeds", lambda workspace: wheels)
    release = SimpleNamespace(version=Version("1.0"))
    monkeypatch.setattr(wheel_needs, "subject_release", lambda known, version: release)
    matrix = SimpleNamespace(interpreters=SimpleNamespace(name="python"), subject="demo")
    return SimpleNamespace(matrix=matrix, known=None)


def tried(workspace: Any, *records: Record | None) -> tuple[Any, list[tuple[str, ...]]]:
    asked: list[tuple[str, ...]] = []

    def run_cell(files: tuple[str, ...]) -> Record | None:
        asked.append(files)
        return records[len(asked) - 1]

    return wheel_needs.try_postponed(workspace, cell("3.8"), run_cell, print), asked


def test_files_that_need_it_are_changed_first_and_alone_when_that_does(workspace: Any) -> None:
    works = ran("test-fail:error(b)", capabilities=capabilities(a="yes", b="no", c="absent"))
    run, asked = tried(workspace, works)
    assert asked == [("a.py",)]
    assert (run.scope, run.files, run.works, [c.id for c in run.failing]) == ("needed", 1, 1, ["b"])


def test_all_annotated_files_are_changed_where_the_import_still_fails(workspace: Any) -> None:
    run, asked = tried(workspace, ran("import-fail:type-error(b.py:1)"), ran("pass"))
    assert asked == [("a.py",), ("a.py", "b.py")]
    assert (run.scope, run.files, run.outcome) == ("all", 2, "pass")


def test_what_could_not_be_run_teaches_nothing(workspace: Any) -> None:
    assert tried(workspace, None) == (None, [("a.py",)])


def test_a_python_without_the_import_is_refused(workspace: Any) -> None:
    with pytest.raises(UsageError, match=r"3\.7 is the first"):
        wheel_needs.try_postponed(workspace, cell("3.6"), lambda files: None, print)
