"""What is due is one question with one answer, whoever asks it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.ran import Run

Remember = Callable[..., None]
CELL = "py3.11-dep1-demo1.0"
FLOOR = """
[[floors]]
axis = "dep"
at = "1"
because = "it is the oldest that anybody asks about"
"""


@pytest.fixture
def floored(run: Run, root: Path, remember: Remember) -> Run:
    """A matrix of which one locked cell is sound, with a floor near which no cell has run."""
    run("matrix", "discover", "demo", "--write")
    assert run("matrix", "lock", "demo", CELL).code == 0
    remember(CELL)
    path = root / "matrices" / "demo" / "matrix.toml"
    path.write_text(path.read_text(encoding="utf-8") + FLOOR, encoding="utf-8")
    return run


def test_run_due_and_plan_budget_choose_the_same_cells_in_the_same_order(floored: Run) -> None:
    dry = floored("run", "demo", "--dry-run", "--json").json["data"]["cells"]
    (row,) = json.loads(floored("plan", "demo", "--budget", "9h", "--github").out)["include"]
    assert row["cells"], "nothing is due, so the two agree about nothing"
    assert [cell["id"] for cell in dry] == row["cells"].split()


def test_a_cell_that_left_the_matrix_is_planned_no_more(
    run: Run, root: Path, remember: Remember
) -> None:
    run("matrix", "discover", "demo", "--write")
    assert run("matrix", "lock", "demo", CELL, "py3.8-dep1-demo1.0").code == 0
    path = root / "matrices" / "demo" / "matrix.toml"
    path.write_text(path.read_text().replace('"3.8.18", "3.11.7"', '"3.11.7"'), encoding="utf-8")
    planned = run("plan", "demo", "--budget", "90m", "--github")
    assert json.loads(planned.out)["include"][0]["cells"] == CELL
    assert "left out: py3.8-dep1-demo1.0 " in planned.err
