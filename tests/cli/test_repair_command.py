"""`compat find repair` with the real resolver and a local index."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import tomllib
from support.ran import Run

from compat import pipeline
from compat.run.outcome import Passed, parse_outcome

# demo 2.0 asks for gone 4.1, which the local index does not have.
CELL = "py3.11-dep2-demo2.0"


@pytest.fixture(autouse=True)
def module(root: Path) -> None:
    """The matrix says which module the wheels of the local index have."""
    matrix = root / "matrices" / "demo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8")
    matrix.write_text(text.replace('path = "suite"', 'path = "suite", module = "thing"'))


def test_the_change_is_named_with_the_rule_that_makes_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The pytest of the local index runs nothing.
    monkeypatch.setattr(pipeline, "tried", lambda *_: SimpleNamespace(outcome=Passed()))
    ran = run("find", "repair", "demo", CELL, "--without-rules")
    assert ran.code == 0, ran.err
    assert "core: pass" in ran.out
    lines = ran.out.splitlines()
    start, end = lines.index("[[rules]]"), lines.index("]", lines.index("[[rules]]"))
    [rule] = tomllib.loads("\n".join(lines[start : end + 1]))["rules"]
    assert rule["effect"] == "relax"
    assert rule["when"] == {"python": "==3.11.*", "dep": "==2.*", "demo": "==2.0"}
    assert [relaxation["package"] for relaxation in rule["relaxations"]] == ["gone"]
    assert "core run on" in rule["because"]


def test_a_project_of_ones_own_gets_an_override_and_constraints(run: Run) -> None:
    ran = run("find", "repair", "demo", CELL, "--without-rules", "--no-verify", "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)["data"]
    [override] = tomllib.loads(data["uv"])["tool"]["uv"]["override-dependencies"]
    assert override["package"] == {"name": "demo", "version": "2.0"}
    assert override["dependencies"] == ["gone==4.0"]
    assert data["constraints"] == ["gone==4.0"]
    assert data["core"] is None


def test_what_locks_and_fails_its_core_is_no_repair(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = parse_outcome("import-fail:version-guard(dep)")
    monkeypatch.setattr(pipeline, "tried", lambda *_: SimpleNamespace(outcome=outcome))
    ran = run("find", "repair", "demo", CELL, "--without-rules")
    assert ran.code == 1, ran.err
    assert str(outcome) in ran.out
    assert "[[rules]]" not in ran.out


def test_the_printed_rule_lets_the_cell_be_locked(run: Run, root: Path) -> None:
    ran = run("find", "repair", "demo", CELL, "--without-rules", "--json", "--no-verify")
    rule = json.loads(ran.out)["data"]["rule"]
    matrix = root / "matrices" / "demo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8").split("rules = [")[0]
    matrix.write_text(f"{text}\n{rule}", encoding="utf-8")
    assert run("matrix", "lock", "demo", f"{CELL}+relaxed").code == 0


def test_a_cell_that_can_be_locked_needs_nothing(run: Run) -> None:
    ran = run("find", "repair", "demo", "py3.11-dep1-demo1.0", "--without-rules")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("py3.11-dep1-demo1.0 can be locked")


@pytest.mark.parametrize("cell", ["py3.11", "py3.11-dep1-demo9.9", "py3.11-*"])
def test_what_names_no_cell_is_one_line(run: Run, cell: str) -> None:
    run("matrix", "discover", "demo", "--write")
    ran = run("find", "repair", "demo", cell)
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1


def test_a_relaxed_cell_gives_up_what_it_must_without_a_rule_for_it(run: Run, root: Path) -> None:
    # demo 2.0 asks for gone 4.1; the rule speaks of another package.
    rule = (
        '{ name = "moved", effect = "relax", because = "dep may be moved", '
        'relaxations = [{ package = "dep", to = "any" }] }'
    )
    matrix = root / "matrices" / "demo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8").split("rules = [")[0]
    matrix.write_text(f"{text}rules = [{rule}]\n", encoding="utf-8")
    ran = run("matrix", "lock", "demo", f"{CELL}+relaxed")
    assert ran.code == 0, ran.err
    assert "gone 4.0 instead of" in ran.out
    assert run("matrix", "lock", "demo", "--check").code == 0


def test_a_version_that_a_record_shows_broken_is_not_offered(
    run: Run, root: Path, remember: Callable[..., None]
) -> None:
    test_a_relaxed_cell_gives_up_what_it_must_without_a_rule_for_it(run, root)
    remember(f"{CELL}+relaxed", outcome="import-fail:missing-attribute(gone.thing)")
    ran = run("find", "repair", "demo", CELL, "--without-rules", "--no-verify", "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)["data"]
    assert data["refuted"] == [f"gone 4.0 fails in {CELL}+relaxed"]
    assert "gone==4.2" in data["constraints"]
