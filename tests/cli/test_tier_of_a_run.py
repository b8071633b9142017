"""`compat run --tier smoke`: the same suite is collected, and only its core runs."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_index import FakeIndex
from support.ran import Run
from support.zoo import Animal, Repository, pytest_and_its_needs

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

SUITE = """\
import pytest


@pytest.mark.capability("alive")
def test_alive():
    import animal

    assert animal.ALIVE


@pytest.mark.capability("flight")
def test_flight():
    assert False
"""
BIRD = Animal(name="bird", story="It lives, and does not fly.", outcome="pass", suite=SUITE)


HIDING = """\
import sys

ALIVE = True
if "_pytest.python" in sys.modules:
    from _pytest.python import Module

    collect = Module.collect
    Module.collect = lambda self: [item for item in collect(self) if item.name != "test_later"]
"""
LATER = """\
import pytest


@pytest.mark.capability("alive.later")
def test_later():
    assert False
"""


@contextlib.contextmanager
def exhibited(folder: Path, animal: Animal) -> Iterator[Repository]:
    index = FakeIndex()
    repository = Repository(folder / "zoo", folder / "cache", index, animal, pytest_and_its_needs())
    path = repository.root / "matrices" / "zoo" / "matrix.toml"
    declared, module = path.read_text(encoding="utf-8"), '"module" = "animal"'
    assert module in declared
    path.write_text(declared.replace(module, f'{module}, "core" = ["ali*"]'), encoding="utf-8")
    yield repository
    index.stop()


@pytest.fixture
def bird(tmp_path: Path) -> Iterator[Repository]:
    with exhibited(tmp_path, BIRD) as repository:
        yield repository


def shown(repository: Repository) -> Any:
    return json.loads(repository.run("show", "zoo", "--json")[1])["data"]["cells"][0]


def test_only_the_core_runs_and_the_whole_suite_stays_due(bird: Repository) -> None:
    code, out, err = bird.run("run", "zoo", "--tier", "smoke")
    assert code == 0, err
    assert "only the suite's core" in err
    assert "works (smoke)" in out
    assert "passes the suite's core" in err
    cell = shown(bird)
    assert (cell["verdict"], cell["evidence"], cell["words"]) == (
        "works",
        "smoke",
        "works (smoke)",
    )
    assert cell["capabilities"] == {"alive": "yes"}
    record = json.loads(bird.records()[0])
    assert record["tier"] == "smoke"
    due = json.loads(bird.run("run", "zoo", "--dry-run", "--json")[1])["data"]["cells"]
    assert [entry["reason"] for entry in due] == ["smoke-only"]
    again = bird.run("run", "zoo", "--dry-run", "--tier", "smoke", "--json")[1]
    assert json.loads(again)["data"]["cells"] == []
    assert bird.run("run", "zoo")[0] == 1
    cell = shown(bird)
    assert (cell["verdict"], cell["evidence"]) == ("partial", "tested")


def test_a_package_that_hides_a_test_of_the_core_is_not_believed(tmp_path: Path) -> None:
    """What the cell collects is held against the suite's own files, in this tier too."""
    hiding = Animal(
        name="bird",
        story="It hides what it cannot do.",
        outcome="pass",
        module=HIDING,
        suite=SUITE.replace("import pytest", "import animal\nimport pytest", 1),
    )
    with exhibited(tmp_path, hiding) as repository:
        later = repository.root / "matrices" / "zoo" / "suite" / "test_later.py"
        later.write_text(LATER, encoding="utf-8")
        repository.run("run", "zoo", "--tier", "smoke")
        record = json.loads(repository.records()[0])
    assert record["outcome"] == (
        "test-fail:report-mismatch(test_later.py::test_later was not collected)"
    )
    assert record["capabilities"] == []


def test_a_suite_without_a_core_has_no_such_tier(run: Run) -> None:
    answer = run("run", "demo", "--tier", "smoke")
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "has no core" in answer.err
    assert "core = ['ID', ...]" in answer.err
