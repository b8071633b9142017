"""`compat repair` with the real resolver and a local index."""

import json
from pathlib import Path

import pytest
import tomllib
from support.ran import Run

# demo 2.0 asks for gone 4.1, which the local index does not have.
CELL = "py3.11-dep2-demo2.0"


def test_the_change_is_named_with_the_rule_that_makes_it(run: Run) -> None:
    ran = run("repair", "demo", CELL, "--without-rules")
    assert ran.code == 0, ran.err
    assert "cannot be locked as it is" in ran.out
    assert "gone" in ran.out
    assert "none of them has been run" in ran.err
    lines = ran.out.splitlines()
    start, end = lines.index("[[rules]]"), lines.index("]", lines.index("[[rules]]"))
    [rule] = tomllib.loads("\n".join(lines[start : end + 1]))["rules"]
    assert rule["effect"] == "relax"
    assert rule["when"] == {"python": "==3.11.*", "dep": "==2.*", "demo": "==2.0"}
    assert [relaxation["package"] for relaxation in rule["relaxations"]] == ["gone"]


def test_the_printed_rule_lets_the_cell_be_locked(run: Run, root: Path) -> None:
    ran = run("repair", "demo", CELL, "--without-rules", "--json")
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
