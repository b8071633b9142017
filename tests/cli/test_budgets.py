"""What to run now, through the command."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.ran import Run

Remember = Callable[..., None]

CELL = "py3.11-dep1-demo1.0"


@pytest.fixture
def locked(run: Run) -> Run:
    """A repository with a kept catalogue and two locks."""
    run("matrix", "discover", "demo", "--write")
    assert run("matrix", "lock", "demo", CELL, f"{CELL}+dated").code == 0
    return run


def test_the_table_says_what_runs_and_why(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "1h30m", "--shards", "3")
    assert found.code == 0
    assert f"{CELL}+dated" in found.out
    assert "never-run" in found.out
    assert "2 of 2 due cells run now; shards: 2: the longest 5.0 minutes, the mean 5.0" in found.out


def test_what_does_not_fit_comes_later(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "5m")
    assert "1 of 2 due cells run now; shards: 1" in found.out
    assert "never-run: in run 2" in found.out
    assert "a whole shard" in locked("plan", "demo", "--budget", "4m").out


def test_github_gets_its_matrix_in_one_line(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "90m", "--github")
    assert found.out.count("\n") == 1
    cells = f"{CELL} {CELL}+dated"
    (row,) = json.loads(found.out)["include"]
    assert {**row, "since": ""} == {
        "shard": 1,
        "cells": cells,
        "smoke": "",
        "pythons": "3.11",
        "minutes": 7,
        "since": "",
    }
    assert datetime.datetime.fromisoformat(
        row["since"].replace("Z", "+00:00")
    ).utcoffset() == datetime.timedelta(0)


def test_json_has_the_shards_and_what_was_left_out(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "5m", "--json").json["data"]
    assert [[cell["id"] for cell in shard["cells"]] for shard in found["shards"]] == [[CELL]]
    assert found["later"] == [
        {
            "id": f"{CELL}+dated",
            "place": "elsewhere",
            "reason": "never-run",
            "tier": "full",
            "last": None,
            "blocked_by": None,
            "seconds": 120.0,
            "run": 2,
        }
    ]


def test_cells_that_are_named_are_planned_alone(locked: Run) -> None:
    other = "py3.11-dep2-demo2.0+relaxed"
    found = locked("plan", "demo", other, "--budget", "90m", "--github")
    assert json.loads(found.out)["include"][0]["cells"] == other


def test_with_write_releases_are_fetched_and_what_runs_is_locked(locked: Run, root: Path) -> None:
    folder = root / "matrices" / "demo"
    (folder / "catalogue.json").unlink()
    words = ("plan", "demo", "--budget", "90m", "--write", "--github")
    found = locked(*words)
    assert found.code == 0, found.err
    (row,) = json.loads(found.out)["include"]
    assert row["cells"].split() == [CELL, f"{CELL}+dated"]
    assert f"{CELL} locked" in found.err
    assert "2 of 2 due cells run now" in found.err
    assert (folder / "catalogue.json").is_file()
    assert json.loads((folder / "plain.json").read_text(encoding="utf-8"))["answers"]


def test_without_a_proposal_that_waits_only_proposed_plans_nothing(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "90m", "--proposed", "--github")
    assert (found.code, found.out) == (0, '{"include":[]}\n')


class TestCellsThatWaitForAFirstRun:
    @pytest.fixture
    def open_cells(self, locked: Run, root: Path) -> list[str]:
        """The cells without a lock of which a resolver said that they can be locked."""
        matrix = root / "matrices" / "demo" / "matrix.toml"
        text = matrix.read_text(encoding="utf-8")
        matrix.write_text(text.replace('path = "suite"', 'path = "suite", core = ["*"]'))
        assert locked("run", "demo", "--budget", "5m", "--jobs", "0").code == 0
        probes = json.loads((matrix.parent / "probes.json").read_text(encoding="utf-8"))
        yes = {row["cell"] for row in probes["answers"] if row["outcome"] == "locked"}
        return sorted(yes - {CELL, f"{CELL}+dated"})

    def test_they_run_the_core_beside_what_is_due(self, locked: Run, open_cells: list[str]) -> None:
        words = ("plan", "demo", "--budget", "90m")
        assert open_cells
        assert "never-run, smoke" in locked(*words).out
        (row,) = json.loads(locked(*words, "--github").out)["include"]
        assert sorted(row["smoke"].split()) == open_cells
        assert row["cells"].split() == [CELL, f"{CELL}+dated"]

    def test_no_more_are_chosen_than_there_is_time_for(
        self, locked: Run, open_cells: list[str]
    ) -> None:
        # Both due cells need four minutes; of the rest a shard of eight and a half has time for
        # three, at 30 seconds each.
        words = ("plan", "demo", "--budget", "8m", "--github")
        (row,) = json.loads(locked(*words).out)["include"]
        assert len(row["cells"].split()) == 2
        assert 0 < len(row["smoke"].split()) <= 2
        assert "in run 9" not in locked("plan", "demo", "--budget", "8m").out

    def test_runners_without_their_python_are_not_given_them(
        self, locked: Run, open_cells: list[str]
    ) -> None:
        words = ("plan", "demo", "--budget", "90m", "--pythons", "3.8", "--github")
        (row,) = json.loads(locked(*words).out)["include"]
        chosen = row["smoke"].split()
        assert chosen == [cell for cell in chosen if cell.startswith("py3.8-")]
        assert chosen


def test_a_cell_whose_python_no_machine_can_get_is_left_out_and_told(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "90m", "--pythons", "3.8 3.12")
    assert "of 2 due cells" in found.err
    assert f": {CELL} {CELL}+dated" in found.out
    assert "2 of 2 due cells" in locked("plan", "demo", "--budget", "90m", "--pythons", "3.11").out


@pytest.mark.parametrize(
    "words",
    [
        ["--shards", "3"],
        ["--github"],
        ["--budget", "soon"],
        ["--budget", "3m"],
        ["--budget", "90m", "--shards", "257"],
        ["py3.11", "--budget", "90m"],
    ],
)
def test_what_makes_no_sense_is_told(locked: Run, words: list[str]) -> None:
    found = locked("plan", "demo", *words)
    assert found.code == 2
    assert found.err


def test_a_plan_for_a_matrix_without_locks_says_what_to_type(run: Run) -> None:
    run("matrix", "discover", "demo", "--write")
    for shown in ((), ("--github",)):
        found = run("plan", "demo", "--budget", "90m", *shown)
        assert (found.code, found.out) == (1, "")
        assert "no locks and no" in found.err


def test_where_nothing_is_due_there_is_no_shard_and_a_sentence(
    locked: Run, remember: Remember
) -> None:
    remember()
    found = locked("plan", "demo", "--budget", "90m", "--github")
    assert (found.code, found.out) == (0, '{"include":[]}\n')
    assert "all 2 locked cells" in found.err


def test_times_that_are_assumed_are_said_to_be(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "90m")
    assert "with 2 minutes" in found.err


def test_a_budget_into_which_no_cell_fits_is_no_success(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "4m")
    assert found.code == 1
    assert "--budget 5m" in found.err


def test_a_cell_outside_the_matrix_is_wrong_usage(locked: Run) -> None:
    found = locked("plan", "demo", "py3.11-dep9-demo1.0", "--budget", "90m")
    assert found.code == 2
    assert "'py3.11-dep9-demo1.0'" in found.err


def test_a_quick_cell_that_the_plan_rules_out_is_not_planned(locked: Run, root: Path) -> None:
    path = root / "matrices" / "demo" / "matrix.toml"
    path.write_text(
        path.read_text().replace(
            "margin_days = 1", 'margin_days = 1\nquick = ["py3.8-dep2-demo2.0"]'
        )
    )
    found = locked("plan", "demo", "--budget", "90m")
    assert "2 of 2 due cells" in found.out
    assert "py3.8-dep2-demo2.0: demo 2.0 requires" in found.err
