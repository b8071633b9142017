"""`compat repair` with the real resolver and a local index."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import tomllib
from support.ran import Run

from compat import questions
from compat.run.outcome import parse_outcome
from compat.search.repair import Repairs

# demo 2.0 asks for gone 4.1, which the local index does not have.
CELL = "py3.11-dep2-demo2.0"


@pytest.fixture(autouse=True)
def module(root: Path) -> None:
    """The matrix says which module the wheels of the local index have."""
    matrix = root / "matrices" / "demo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8")
    matrix.write_text(text.replace('path = "suite"', 'path = "suite", module = "thing"'))


def test_the_change_is_named_with_the_rule_that_makes_it(run: Run) -> None:
    ran = run("repair", "demo", CELL, "--without-rules")
    assert ran.code == 0, ran.err
    assert "cannot be locked as it is" in ran.out
    assert "gone" in ran.out
    assert "it was installed and imported" in ran.out
    assert "no suite was run" in ran.err
    lines = ran.out.splitlines()
    start, end = lines.index("[[rules]]"), lines.index("]", lines.index("[[rules]]"))
    [rule] = tomllib.loads("\n".join(lines[start : end + 1]))["rules"]
    assert rule["effect"] == "relax"
    assert rule["when"] == {"python": "==3.11.*", "dep": "==2.*", "demo": "==2.0"}
    assert [relaxation["package"] for relaxation in rule["relaxations"]] == ["gone"]
    assert "installed and imported on" in rule["because"]


def test_a_project_of_ones_own_gets_an_override_and_constraints(run: Run) -> None:
    ran = run("repair", "demo", CELL, "--without-rules", "--no-verify")
    assert ran.code == 0, ran.err
    assert "none was run" in ran.err
    lines = ran.out.splitlines()
    start = lines.index("[tool.uv]")
    table = tomllib.loads("\n".join(lines[start : lines.index("]", start) + 1]))
    assert table["tool"]["uv"]["override-dependencies"] == ["gone==4.2"]
    assert lines[-1] == "  gone==4.2"


def test_what_locks_and_does_not_import_is_told_and_is_no_repair(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = parse_outcome("import-fail:version-guard(dep)")
    failed = SimpleNamespace(outcome=outcome)
    monkeypatch.setattr(questions, "imported", lambda *_: failed)
    ran = run("repair", "demo", CELL, "--without-rules")
    assert ran.code == 1, ran.err
    assert f"but {outcome}" in ran.out
    assert "installed and imported on" not in ran.out


def test_where_no_move_helps_it_says_what_was_tried(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Repairs(
        cell=CELL,
        refusal="demo 2.0 requires gone ==4.1",
        remains="gone was not found",
        repairs=(),
        conflicts=(("gone",),),
        is_complete=True,
        locks=4,
    )
    monkeypatch.setattr(questions, "repaired", lambda *_: nothing)
    ran = run("repair", "demo", CELL)
    assert ran.code == 1
    assert "moving up to 3 packages does not mend it; none was left out" in ran.out


def test_the_printed_rule_lets_the_cell_be_locked(run: Run, root: Path) -> None:
    ran = run("repair", "demo", CELL, "--without-rules", "--json", "--no-verify")
    [repair] = json.loads(ran.out)["data"]["repairs"]
    matrix = root / "matrices" / "demo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8").split("rules = [")[0]
    matrix.write_text(f"{text}\n{repair['rule']}", encoding="utf-8")
    assert run("lock", "demo", f"{CELL}+relaxed").code == 0


def test_a_cell_that_can_be_locked_needs_nothing(run: Run) -> None:
    ran = run("repair", "demo", "py3.11-dep1-demo1.0", "--without-rules")
    assert ran.code == 0, ran.err
    assert ran.out.strip() == "py3.11-dep1-demo1.0 can be locked as it is"


@pytest.mark.parametrize("cell", ["py3.11", "py3.11-dep1-demo9.9", "py3.11-*"])
def test_what_names_no_cell_is_one_line(run: Run, cell: str) -> None:
    run("discover", "demo", "--write")
    ran = run("repair", "demo", cell)
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1


def test_all_refused_cells_are_mended_by_few_searches_and_found_again(run: Run) -> None:
    first = run("repair", "demo", "--all-refused", "--without-rules", "--json")
    assert first.code == 0, first.err
    cells = {cell["cell"]: cell for cell in json.loads(first.out)["data"]["cells"]}
    assert cells[f"{CELL}"]["fate"] == "mended"
    assert [moved["package"] for moved in cells[CELL]["moved"]] == ["gone"]
    assert any(cell["answered_by"] for cell in cells.values())
    again = run("repair", "demo", "--all-refused", "--without-rules", "--json")
    assert json.loads(again.out)["data"] == json.loads(first.out)["data"]
    assert "1 of " in first.err
    assert "1 of " not in again.err  # no cell was searched again


def test_a_sample_of_the_refused_cells_is_the_same_for_the_same_seed(run: Run) -> None:
    words = ("repair", "demo", "--all-refused", "--without-rules", "--sample", "1", "--seed", "3")
    first, again = run(*words), run(*words)
    assert "seed 3" in first.err
    assert first.out == again.out
    assert "1 cell," in first.out


def test_a_cell_and_all_of_them_is_one_line(run: Run) -> None:
    for words in ((CELL, "--all-refused"), (), (CELL, "--sample", "3")):
        ran = run("repair", "demo", *words)
        assert ran.code == 2
        assert len(ran.err.strip().splitlines()) == 1
