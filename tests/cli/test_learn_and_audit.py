"""`compat run --budget --jobs 0` asks a resolver, keeps what its conflicts teach, and verifies a
sample of what was inferred.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.fake_index import FakeIndex
from support.local_index import DEMO, fill
from support.ran import Ran, Run

from compat.cli import budget
from compat.cli.machine import level_of
from compat.cli.options import workspace_of
from compat.cli.this_machine import ThisMachine
from compat.run.outcome import parse_outcome

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

# Whatever asks for `low` cannot be locked: it asks for a `deep` that the index does not have.
WORLD = {
    **DEMO,
    "demo": [
        (f"1.{number}", 1 + number, None, ["dep~=1.0", "low"] if number else ["dep~=1.0"])
        for number in range(4)
    ],
    "low": [("1.0", 1, None, ["deep==9"])],
}
REFUSED = {f"py{python}-dep1-demo1.{number}" for python in ("3.8", "3.11") for number in (1, 2, 3)}


@pytest.fixture(autouse=True)
def world(demo_index: FakeIndex) -> None:
    """An index with a dead end that no release of the subject names."""
    fill(demo_index, WORLD)


def kept(root: Path, name: str) -> dict[str, Any]:
    text = (root / "matrices" / "demo" / f"{name}.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@pytest.fixture
def learnt(run: Run) -> Run:
    """The command line after the first lesson."""
    assert run("matrix", "discover", "demo", "--write").code in (0, 1)
    ran = run("run", "demo", "--budget", "5m", "--jobs", "0")
    assert ran.code == 0, ran.err
    return run


def test_the_reason_of_a_refusal_answers_the_cells_that_have_it(learnt: Run, root: Path) -> None:
    (clause,) = kept(root, "clauses")["clauses"]
    assert clause["facts"] == ["low"]
    assert clause["pythons"] == ["3.8", "3.11"]
    assert "deep==9" in clause["outcome"]
    rows = [learnt("show", "demo", cell, "--json").json["data"]["cells"][0] for cell in REFUSED]
    assert {row["verdict"] for row in rows} == {"broken"}
    # Which cell a resolver is asked about first depends on time: it may be a dated one.
    names = [f"{cell}{recipe}" for cell in REFUSED for recipe in ("", "+dated")]
    shown = [learnt("show", "demo", name, "--json").json["data"]["cells"][0] for name in names]
    assert {row["evidence"] for row in shown} == {"asked", "inferred"}


def test_what_was_asked_is_kept_and_names_no_index_and_no_folder(
    learnt: Run, root: Path, demo_index: FakeIndex
) -> None:
    asked = [answer for answer in kept(root, "probes")["answers"] if answer["outcome"] != "locked"]
    assert asked
    # No clause about `low` answers a relaxed cell, in which it may move.
    relaxed = {f"{cell.replace('dep1', 'dep2')}+relaxed" for cell in REFUSED}
    assert {answer["cell"] for answer in asked} - relaxed < {
        f"{cell}{recipe}" for cell in REFUSED for recipe in ("", "+dated")
    }
    for name in ("clauses", "probes"):
        text = (root / "matrices" / "demo" / f"{name}.json").read_text(encoding="utf-8")
        assert demo_index.url.split("/")[2] not in text
        assert str(root) not in text


def test_an_inferred_answer_names_its_ground(learnt: Run, root: Path) -> None:
    asked = {answer["cell"] for answer in kept(root, "probes")["answers"]}
    cell = min(REFUSED - asked)
    shown = learnt("show", "demo", cell)
    assert f"{cell}: does not install, inferred" in shown.out
    assert "asks for low" in shown.out
    explained = learnt("plan", "demo", "--explain", cell)
    assert "(inferred): inferred: it" in explained.out
    advised = learnt("advise", "demo", "demo==1.3")
    assert "Inferred from" in advised.out
    assert "fail without a run" in learnt("plan", "demo").out


def test_learning_again_changes_no_clause(learnt: Run, root: Path) -> None:
    before = kept(root, "clauses")
    assert learnt("run", "demo", "--budget", "5m", "--jobs", "0", "--json").code == 0
    assert kept(root, "clauses") == before


def verified(learnt: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Verify what is inferred, with nothing else left to ask."""
    monkeypatch.setattr(budget, "_SAMPLE", 3)
    return learnt("run", "demo", "--budget", "5m", "--jobs", "0")


def test_an_audit_that_agrees_says_how_sure_that_makes(
    learnt: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = verified(learnt, root, monkeypatch)
    assert ran.code == 0, ran.err
    assert "of 3 inferred cells" in ran.out
    assert "3 agree; at 95 % at most 63.2 % are wrong (seed " in ran.out
    assert [cell["finding"] for cell in kept(root, "audit")["audit"]["cells"]] == ["agrees"] * 3


def test_a_sample_goes_on_in_the_next_session_and_no_cell_is_asked_twice(
    learnt: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified(learnt, root, monkeypatch)
    first = kept(root, "audit")["audit"]
    monkeypatch.setattr(budget, "_SAMPLE", 5)
    learnt("run", "demo", "--budget", "5m", "--jobs", "0")
    second = kept(root, "audit")["audit"]
    assert second["seed"] == first["seed"]
    assert second["cells"][:3] == first["cells"]
    assert len({cell["cell"] for cell in second["cells"]}) == len(second["cells"]) > 3


def test_a_disproof_removes_the_clause_and_says_what_fell(
    learnt: Run, root: Path, demo_index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(demo_index, {"low": [("1.0", 1, None, ["deep==9"]), ("1.1", 1, None, [])]})
    ran = verified(learnt, root, monkeypatch)
    assert ran.code == 1, ran.err
    assert "and removed: low" in ran.out
    assert "without an answer now:" in ran.out
    assert kept(root, "clauses")["clauses"] == []
    cell = kept(root, "audit")["audit"]["cells"][0]["cell"]
    assert kept(root, "audit")["audit"]["cells"][0]["finding"] == "wrong"
    assert "inferred" not in learnt("show", "demo", cell).out


@pytest.mark.parametrize("name", ["clauses", "probes"])
def test_a_damaged_file_is_one_line_with_its_place(learnt: Run, root: Path, name: str) -> None:
    path = root / "matrices" / "demo" / f"{name}.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"cell"', '"sell"'), encoding="utf-8")
    ran = learnt("show", "demo", min(REFUSED))
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1
    assert f"matrices/demo/{name}.json" in ran.err
    assert "MATRIX --budget 20m" in ran.err


def test_a_lock_that_disproves_a_clause_removes_it_and_says_what_fell(
    learnt: Run, root: Path, demo_index: FakeIndex
) -> None:
    fill(demo_index, {"low": [("1.0", 1, None, ["deep==9"]), ("1.1", 1, None, [])]})
    asked = {answer["cell"] for answer in kept(root, "probes")["answers"]}
    cell = min(REFUSED - asked)
    assert kept(root, "clauses")["clauses"] != []
    checked = learnt("matrix", "lock", "demo", cell, "--check")
    assert "disproved" not in checked.out
    assert kept(root, "clauses")["clauses"] != []
    ran = learnt("matrix", "lock", "demo", cell)
    assert ran.code == 0, ran.err
    assert f"disproved by {cell} on " in ran.out
    assert "and removed: low" in ran.out
    assert "without an answer now:" in ran.out
    assert kept(root, "clauses")["clauses"] == []
    again = learnt("matrix", "lock", "demo", cell, "--json").json["data"]
    assert (again["disproved"], again["fell"]) == ([], [])


def test_a_relaxed_cell_that_cannot_be_installed_with_other_packages_free_has_no_answer(
    run: Run, root: Path
) -> None:
    assert run("matrix", "discover", "demo", "--write").code in (0, 1)
    workspace = workspace_of("demo", root)
    entry = workspace.snapshot.by_id["py3.11-dep2-demo1.0+relaxed"]
    outcome = parse_outcome("import-fail:error(demo/__init__.py:1)")
    session = budget._Session(workspace, ThisMachine(workspace, level_of("")))
    found = session.audit(replace(entry, kind="broken", evidence="inferred", outcome=outcome))
    assert found.route == "free"
    # This index has wheels that no installer takes.
    assert (found.finding, found.outcome) == ("no-answer", "install-fail:error")
