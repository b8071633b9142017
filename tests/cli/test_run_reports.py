"""What `compat run` leaves for CI: JUnit XML and a summary, which agree with its exit code."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.fake_index import FakeIndex
from support.known import statuses
from support.ran import Run, run_today
from support.zoo import Animal, Repository, pytest_and_its_needs

from compat.cli.options import workspace_of
from compat.cli.reports import ReportFiles, junit_xml, released_report, summary_text
from compat.errors import CompatError
from compat.github.markdown import faults
from compat.results.record import Record
from compat.workspace import Workspace

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

CELL, OTHER = "py3.11-dep1-demo1.0", "py3.11-dep2-demo1.0"
KNOWN = """
[[known]]
capability = "sum"
because = "the sign is wrong"
fault = "release"
"""
SUITE = """\
import pytest


class Lacks(pytest.skip.Exception):
    missing = ["animal.swim"]


@pytest.mark.capability("walk", title="Walk", says="It walks.")
def test_walk():
    pass


@pytest.mark.capability("swim", title="Swim", says="It swims.")
def test_swim():
    raise Lacks("no swimming yet")


@pytest.mark.capability("fly", title="Fly", says="It flies.")
def test_fly():
    assert not "\\x1b[31m<&]]>\\ud800 @someone closes #1 | ![](http://a.example)"
"""


@pytest.fixture
def lame(tmp_path: Path) -> Iterator[Repository]:
    animal = Animal(name="lame", story="A part of it works.", outcome="", suite=SUITE)
    index = FakeIndex()
    yield Repository(tmp_path, tmp_path / "cache", index, animal, pytest_and_its_needs())
    index.stop()


def test_a_run_leaves_both_and_a_second_one_appends_to_the_summary(lame: Repository) -> None:
    files = ("--junit", "junit.xml", "--summary", "summary.md")
    code, _, err = lame.run("run", "zoo", *files)
    assert code == 1, err
    root = ElementTree.parse(lame.root / "junit.xml").getroot()
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    [suite] = root
    assert suite.get("name") == lame.cell
    assert float(suite.get("time") or 0) > 0
    cases = {case.get("name"): case for case in suite}
    assert list(cases["walk"]) == []
    skipped, failure = cases["swim"].find("skipped"), cases["fly"].find("failure")
    assert skipped is not None
    assert skipped.get("message", "").endswith(" animal.swim")
    assert failure is not None
    assert failure.get("type") == "assertion"
    assert "\x1b" not in (lame.root / "junit.xml").read_text(encoding="utf-8")
    summary = (lame.root / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("## The zoo: the combination does not work\n")
    assert f"| `{lame.cell}` |" in summary
    assert faults(summary) == ()
    code, _, err = lame.run("run", "zoo", *files)
    assert code == 0, err
    assert ElementTree.parse(lame.root / "junit.xml").getroot().get("tests") == "0"
    again = (lame.root / "summary.md").read_text(encoding="utf-8")
    assert again == f"{summary}## The zoo: nothing was due\n\n"


def record(workspace: Workspace, cell: str, outcome: str, **capabilities: str) -> Record:
    log = "one\nE   two \x07\n"
    return run_today(workspace, cell, outcome, capabilities=statuses(**capabilities), log=log)


@pytest.fixture
def workspace(run: Run, root: Path) -> Workspace:
    assert run("matrix", "lock", "demo", CELL).code == 0
    return workspace_of("demo", root)


def case_of(workspace: Workspace, *records: Record) -> ElementTree.Element:
    """The last case of the first cell."""
    for each in records:
        workspace.store.add(each)
    workspace.refresh()
    root = ElementTree.fromstring(junit_xml(released_report(workspace, [CELL], records)))
    return root.findall("testsuite/testcase")[-1]


def test_what_fails_in_every_combination_of_the_release_is_skipped_as_it_fails_no_run(
    workspace: Workspace, root: Path
) -> None:
    path = root / "matrices" / "demo" / "matrix.toml"
    path.write_text(path.read_text(encoding="utf-8") + KNOWN, encoding="utf-8")
    workspace = workspace_of("demo", root)
    case = case_of(workspace, record(workspace, CELL, "test-fail:assertion(sum)", sum="no"))
    [said] = case
    assert (said.tag, case.get("name")) == ("skipped", "sum")
    assert "in every combination" in str(said.get("message"))


@pytest.mark.parametrize(
    ("outcome", "tag", "name"),
    [
        ("import-fail:missing-module(dep)", "failure", "import"),
        ("lock-fail:conflict(dep)", "failure", "lock"),
        ("install-fail:network", "error", "install"),
        ("test-fail:premature-exit", "failure", "test"),
    ],
)
def test_what_ends_before_a_test_fails_is_a_case_of_its_own(
    workspace: Workspace, outcome: str, tag: str, name: str
) -> None:
    case = case_of(workspace, record(workspace, CELL, outcome))
    [said] = case
    assert (said.tag, case.get("name"), said.text) == (tag, name, "one\nE   two \\x07")


def test_a_cell_without_a_result_is_an_error_and_never_missing(workspace: Workspace) -> None:
    passed = record(workspace, CELL, "pass", sum="yes")
    workspace.store.add(passed)
    workspace.refresh()
    report = released_report(workspace, [CELL, OTHER], [passed])
    root = ElementTree.fromstring(junit_xml(report))
    assert [(suite.get("name"), suite.get("errors")) for suite in root] == [
        (CELL, "0"),
        (OTHER, "1"),
    ]
    summary = summary_text(report)
    assert summary.startswith("## Demo: 1 of 2 combinations work\n")
    assert re.findall(r"^\| `([^`]+)`", summary, re.MULTILINE) == [OTHER, CELL]
    assert f"| `{OTHER}` | no result | compat could not run it, or was stopped |" in summary


def test_a_dry_run_has_nothing_to_report(run: Run) -> None:
    dry = run("run", "demo", "--dry-run", "--junit", "junit.xml")
    assert dry.code == 2
    assert "--dry-run runs nothing" in dry.err


def test_a_place_that_cannot_be_written_is_named(workspace: Workspace, root: Path) -> None:
    (root / "file").write_text("", encoding="utf-8")
    with pytest.raises(CompatError, match=r"file/junit\.xml: cannot be written"):
        ReportFiles(junit=root / "file" / "junit.xml").write(released_report(workspace, (), ()))
