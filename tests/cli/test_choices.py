"""Which cells `compat run` is about, and that a command which finds nothing to do says so."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.fake_index import FakeIndex
from support.local_index import fill
from support.ran import Run

from compat.cli.output import about
from compat.fleet import choices

OLD, CELL, NEW = "py3.8-dep1-demo1.0", "py3.11-dep1-demo1.0", "py3.11-dep2-demo2.0"
# NEW asks for a release that the index lost, so the plan rules it out.
FRESH = [OLD, CELL]
Remember = Callable[..., None]


def declare(root: Path, old: str, new: str) -> None:
    """Change the declaration of the demo."""
    path = root / "matrices" / "demo" / "matrix.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def quick(root: Path, *cells: str) -> None:
    declare(root, "margin_days = 1", f"margin_days = 1\nquick = {list(cells)}")


def planned(run: Run, *words: str) -> list[str]:
    """The cells that a run would be about."""
    found = run("run", "demo", "--dry-run", "--json", *words)
    assert found.code == 0, found.err
    return [cell["id"] for cell in found.json["data"]["cells"]]


class TestNothingIsKnownYet:
    def test_a_small_matrix_is_locked_and_run(self, run: Run) -> None:
        assert planned(run) == FRESH
        said = run("run", "demo", "--dry-run").out
        assert (
            "2 cells to lock and run, 1 at a time: no cell of the matrix has run yet, so the time"
            " is not known" in said
        )

    def test_the_quick_cells_of_a_small_matrix_come_first(self, run: Run, root: Path) -> None:
        quick(root, f"{NEW}+relaxed", CELL)
        assert planned(run) == [f"{NEW}+relaxed", CELL, OLD]

    def test_of_a_large_matrix_it_is_said_what_to_type(
        self, run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(choices, "MOST_UNASKED", 1)
        found = run("run", "demo")
        assert (found.code, found.out) == (1, "")
        assert "2 cells of demo" in found.err.splitlines()[-1]
        assert "runs 2 cells)" in found.err.splitlines()[-1]
        quick(root, CELL)
        assert planned(run) == [CELL]
        said = run("run", "demo", "--dry-run").err
        assert (
            "2 cells of demo are feasible and none is locked: the smoke cells run first; compat run"
            " demo 'py*-dep*-demo1.0' runs 2 cells" in said
        )

    def test_cells_of_a_python_that_is_not_here_are_left_out_and_counted(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "compat.cli.run.interpreter",
            lambda series, platform: "x" if str(series) == "3.8" else None,
        )
        assert planned(run) == [OLD]
        assert "`uv python install 3.11`" in run("run", "demo", "--dry-run").err
        monkeypatch.setattr("compat.cli.run.interpreter", lambda series, platform: None)
        found = run("run", "demo")
        assert found.code == 1
        assert "2 cells need Python 3.8 or 3.11" in found.err
        assert planned(run, "py*-dep*-demo1.0") == FRESH

    def test_where_no_cell_is_feasible_the_first_obstacle_is_said(
        self, run: Run, root: Path
    ) -> None:
        declare(root, '"3.8.18", "3.11.7"', '"3.8.18"')
        declare(
            root,
            'short = "demo", package = "demo"',
            'short = "demo", package = "demo", select = { specifier = "==2.*" }',
        )
        found = run("run", "demo")
        assert (found.code, found.out) == (1, "")
        assert "py3.8-dep1-demo2.0: demo 2.0 requires" in found.err

    @pytest.mark.parametrize(
        ("words", "remedy"),
        [
            (
                ("matrix lock",),
                "matrix 'demo' has no locks yet (compat matrix lock demo 'GLOB' locks cells",
            ),
            (("matrix lock", "--check"), "matrix 'demo' has no locks yet"),
            (
                ("run", "--quick"),
                "matrix 'demo' names no quick cells (compat run demo 'GLOB' runs cells",
            ),
            (("run", "--quick", "--dry-run"), "matrix 'demo' names no quick cells"),
            (
                ("run", "py3.8-*demo2.0"),
                "no cell to run is left; left out, because they are infeasible: ",
            ),
        ],
    )
    def test_nothing_to_do_is_never_green(
        self, run: Run, words: tuple[str, ...], remedy: str
    ) -> None:
        command, *more = words
        found = run(*command.split(), "demo", *more)
        assert (found.code, found.out) == (1, "")
        assert remedy in found.err
        code, data = (told := run(*command.split(), "demo", *more, "--json")).code, told.json
        assert (code, data["ok"], data["data"], data["errors"][0]["code"]) == (
            1,
            False,
            None,
            "nothing-to-do",
        )

    @pytest.mark.parametrize(
        "words",
        [("plan",), ("run",), ("matrix", "lock", CELL), ("run", CELL), ("plan", "--budget", "9m")],
    )
    def test_a_matrix_without_cells_names_the_axis_that_has_none(
        self, run: Run, root: Path, words: tuple[str, ...]
    ) -> None:
        declare(root, 'keep = "major"', 'keep = "major", specifier = ">=99"')
        named = 2 if words[0] == "matrix" else 1
        found = run(*words[:named], "demo", *words[named:])
        assert (found.code, found.out) == (1, "")
        assert "(change `select`" in found.err


class TestNames:
    def test_a_glob_names_cells_of_the_plan_whether_or_not_they_are_locked(self, run: Run) -> None:
        assert run("matrix", "lock", "demo", CELL).code == 0
        assert planned(run, "*-dep1-demo1.0") == [OLD, CELL]
        assert (
            "2 cells to run, 1 without a lock"
            in run("run", "demo", "*-dep1-demo1.0", "--dry-run").out
        )

    def test_what_a_glob_names_and_the_plan_rules_out_is_counted_with_its_obstacle(
        self, run: Run
    ) -> None:
        found = run("run", "demo", "py3.8-dep1-demo?.0", "--dry-run")
        assert (found.code, found.out.splitlines()[0]) == (0, f"{OLD}  named")
        assert "py3.8-dep1-demo2.0: demo 2.0 requires" in found.err
        assert found.err.count("\n") == 1

    def test_a_glob_that_names_only_locked_cells_says_no_more(self, run: Run) -> None:
        run("matrix", "lock", "demo", OLD, CELL)
        assert run("run", "demo", "*-dep1-demo1.0", "--dry-run").err == ""

    @pytest.mark.parametrize(
        "words", [("py3.11-dep9-demo1.0",), ("py3.11-dep1-demo1.0+dated", "py2.7-dep1-demo1.0")]
    )
    def test_an_id_outside_the_matrix_is_wrong_usage_and_leaves_no_record(
        self, run: Run, root: Path, words: tuple[str, ...]
    ) -> None:
        found = run("run", "demo", *words)
        assert (found.code, found.out) == (2, "")
        assert repr(words[-1]) in found.err
        assert not (root / "matrices" / "demo" / "records").exists()

    def test_a_quick_cell_outside_the_matrix_is_wrong_usage(self, run: Run, root: Path) -> None:
        quick(root, "py3.11-dep9-demo1.0")
        assert run("run", "demo", "--quick").code == 2
        assert run("run", "demo").code == 2

    def test_a_release_that_came_out_after_the_kept_catalogue_can_be_named(
        self, run: Run, demo_index: FakeIndex
    ) -> None:
        run("matrix", "discover", "demo", "--write")
        fill(demo_index, {"demo": [("1.0", 1, None, ["dep~=1.0"]), ("3.0", 28, None, ["dep"])]})
        run("matrix", "discover", "demo", "--refresh")
        assert planned(run, "py3.11-dep1-demo3.0") == ["py3.11-dep1-demo3.0"]

    def test_an_infeasible_cell_that_its_id_names_is_told_and_leaves_no_record(
        self, run: Run, root: Path
    ) -> None:
        found = run("run", "demo", "py3.8-dep2-demo2.0", "--json")
        assert found.code == 1
        assert (
            found.json["data"]["cells"][0]["result"] == "plan-fail:requires-python(demo2.0, py3.8)"
        )
        assert (
            "[1/1] py3.8-dep2-demo2.0  plan-fail:requires-python(demo2.0, py3.8): demo 2.0 requires"
            in found.err
        )
        assert not (root / "matrices" / "demo" / "records").exists()


class TestDue:
    def test_where_all_is_up_to_date_that_is_said(self, run: Run, remember: Remember) -> None:
        run("matrix", "lock", "demo", OLD)
        remember()
        found = run("run", "demo")
        assert (found.code, found.out) == (0, "")
        index, due, more = found.err.splitlines()
        assert "discover demo --write" in index
        assert due.startswith("nothing is due: ")
        assert "compat run demo 'py*-dep*-demo1.0'" in more
        remember(CELL, outcome="lock-fail:conflict(deep<2)")
        said = run("run", "demo").err
        assert "1 cell without a lock" in said
        assert "never locked" not in said
        empty = run("run", "demo", "--json")
        assert (empty.code, empty.json["data"]) == (0, {"cells": []})

    def test_where_no_due_cell_could_be_chosen_it_ends_with_1(self, run: Run, root: Path) -> None:
        run("matrix", "lock", "demo", OLD)
        declare(root, '"3.8.18", "3.11.7"', '"3.11.7"')
        assert run("run", "demo").code == 1

    def test_what_is_known_of_a_cell_that_left_the_matrix_is_no_reason_to_run_it(
        self, run: Run, root: Path, remember: Remember
    ) -> None:
        run("matrix", "lock", "demo", OLD, CELL)
        declare(root, '"3.8.18", "3.11.7"', '"3.11.7"')
        found = run("run", "demo", "--dry-run")
        assert found.out.startswith(f"{CELL}  never-run")
        assert f"left out: {OLD} is not in matrix 'demo' any more" in found.err


class TestEstimates:
    def test_a_run_takes_as_long_as_those_of_the_matrix_took(
        self, run: Run, remember: Remember
    ) -> None:
        run("matrix", "lock", "demo", OLD, CELL)
        remember(CELL, seconds=5.0)
        assert (
            "1 cell to run, 1 at a time: about 5 seconds; at most"
            in run("run", "demo", "--dry-run").out
        )
        assert (
            "2 cells to run, 1 at a time: about 10 seconds; at most"
            in run("run", "demo", "*demo1.0", "--dry-run").out
        )

    @pytest.mark.parametrize(
        ("seconds", "words"),
        [
            (0.2, "1 second"),
            (5, "5 seconds"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (95, "2 minutes"),
            (9000, "2 hours"),
        ],
    )
    def test_a_time_is_said_in_a_unit_that_fits_it(self, seconds: float, words: str) -> None:
        assert about(seconds) == f"about {words}"
