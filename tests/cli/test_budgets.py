"""What to run now, through the command."""

import json

import pytest
from ran import Run

CELL = "py3.11-dep1-demo1.0"


@pytest.fixture
def locked(run: Run) -> Run:
    """A repository with a kept catalogue and two locks."""
    run("discover", "demo", "--write")
    assert run("lock", "demo", CELL, f"{CELL}+dated").code == 0
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
    assert "left out: 1 x elsewhere, never-run: in run 2, if nothing else becomes due" in found.out
    assert "longer than a whole shard" in locked("plan", "demo", "--budget", "4m").out


def test_github_gets_its_matrix_in_one_line(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "90m", "--print", "github")
    assert found.out.count("\n") == 1
    cells = f"{CELL} {CELL}+dated"
    assert json.loads(found.out) == {"include": [{"shard": 1, "cells": cells, "pythons": "3.11", "minutes": 7}]}


def test_json_has_the_shards_and_what_was_left_out(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "5m", "--json").json["data"]
    assert [[cell["id"] for cell in shard["cells"]] for shard in found["shards"]] == [[CELL]]
    assert found["later"] == [
        {"id": f"{CELL}+dated", "place": "elsewhere", "reason": "never-run", "last": None, "seconds": 120.0, "run": 2}
    ]


def test_cells_that_are_named_come_first_or_alone(locked: Run) -> None:
    other = "py3.11-dep2-demo2.0+relaxed"
    words = ("plan", "demo", "--budget", "90m", "--print", "cells")
    assert locked(*words, "--first", other).out.split() == [other, CELL, f"{CELL}+dated"]
    assert locked(*words, "--only", other).out.split() == [other]


def test_a_cell_whose_python_no_machine_can_get_is_left_out_and_told(locked: Run) -> None:
    found = locked("plan", "demo", "--budget", "90m", "--pythons", "3.8 3.12")
    assert "0 of 0 due cells run now" in found.out
    assert f"left out: 2 whose Python the machines cannot get: {CELL} {CELL}+dated" in found.out
    assert "2 of 2 due cells" in locked("plan", "demo", "--budget", "90m", "--pythons", "3.11").out


@pytest.mark.parametrize(
    "words",
    [
        ["--shards", "3"],
        ["--print", "cells"],
        ["--budget", "soon"],
        ["--budget", "3m"],
        ["--budget", "90m", "--shards", "257"],
        ["--budget", "90m", "--only", "py3.11"],
    ],
)
def test_what_makes_no_sense_is_told(locked: Run, words: list[str]) -> None:
    found = locked("plan", "demo", *words)
    assert found.code == 2
    assert found.err


def test_when_nothing_is_due_there_is_no_shard(run: Run) -> None:
    run("discover", "demo", "--write")
    assert run("plan", "demo", "--budget", "90m", "--print", "github").out == '{"include":[]}\n'
    assert "0 of 0 due cells run now; shards: 0" in run("plan", "demo", "--budget", "90m").out
