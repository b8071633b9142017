"""`compat floor`: what the records know is not run again, and what is run moves the boundary."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from packaging.version import Version
from support.ran import Run

from compat.cli.floor import print_answer
from compat.cli.options import workspace_of
from compat.fleet.floor import FloorAnswer, FloorQuestion, boundary_of

Remember = Callable[..., None]
QUESTION = FloorQuestion(
    axis="python", others={"dep": Version("1"), "demo": Version("1.0")}, recipe="fresh"
)
ASKED = ("--axis", "python", "--at", "dep=1", "--at", "demo=1.0", "--recipe", "fresh")
CELLS = ("py3.8-dep1-demo1.0", "py3.11-dep1-demo1.0")


@pytest.fixture
def locked(run: Run) -> None:
    """Both cells of the question have a lock."""
    run("matrix", "discover", "demo", "--write")
    assert run("matrix", "lock", "demo", *CELLS).code == 0


@pytest.mark.usefixtures("locked")
class TestFromTheRecords:
    def test_where_all_work_the_oldest_is_the_lowest(self, run: Run, remember: Remember) -> None:
        remember(*CELLS)
        ran = run("floor", "demo", *ASKED)
        assert ran.code == 0, ran.err
        assert "python 3.8 is the" in ran.out
        assert "0 runs and 2 earlier results" in ran.err

    def test_a_failure_below_is_named(self, run: Run, remember: Remember) -> None:
        remember(CELLS[0], outcome="import-fail:missing-module(demo)")
        remember(CELLS[1])
        ran = run("floor", "demo", *ASKED, "--json")
        data = json.loads(ran.out)["data"]
        assert (data["works"], data["fails"], data["runs"]) == (CELLS[1], CELLS[0], 0)
        assert data["is_decided"]
        assert "missing-module(demo)" in data["because"][CELLS[0]]

    def test_where_none_works_it_says_so(self, run: Run, remember: Remember) -> None:
        remember(*CELLS, outcome="import-fail:missing-module(demo)")
        ran = run("floor", "demo", *ASKED)
        assert ran.code == 1
        assert "no version of python" in ran.out


def test_versions_that_cannot_be_installed_are_told_as_a_range(
    run: Run, root: Path, remember: Remember
) -> None:
    matrix = root / "matrices" / "demo" / "matrix.toml"
    text = matrix.read_text(encoding="utf-8")
    text = text.replace('"3.8.18", ', '"3.8.18", "3.9.18", "3.10.13", ')
    excluded = """rules = [
  { name = "no", effect = "exclude", because = "no wheel there", when = { python = "<3.11,>3.8" } },
"""
    matrix.write_text(text.replace("rules = [\n", excluded), encoding="utf-8")
    run("matrix", "discover", "demo", "--write")
    assert run("matrix", "lock", "demo", *CELLS).code == 0
    remember(CELLS[0], outcome="import-fail:missing-module(demo)")
    remember(CELLS[1])
    ran = run("floor", "demo", *ASKED)
    assert ran.code == 0, ran.err
    assert "python 3.11 is the" in ran.out
    assert "  3.9 to 3.10 could not be installed: no wheel there" in ran.out


@pytest.mark.usefixtures("locked")
@pytest.mark.slow
class TestByRunning:
    def answer(
        self, root: Path, remember: Remember, outcomes: Mapping[str, list[str]]
    ) -> FloorAnswer:
        """What comes of it when each run of a cell takes the next of its outcomes."""
        left = {cell: list(each) for cell, each in outcomes.items()}
        self.tried: list[str] = []
        self.said: list[str] = []

        def run_cell(cell: str) -> Mapping[str, str]:
            self.tried.append(cell)
            outcome = left[cell].pop(0) if len(left[cell]) > 1 else left[cell][0]
            if outcome == "nothing":
                return {}
            remember(cell, outcome=outcome)
            return {cell: outcome}

        workspace = workspace_of("demo", root)
        stop = threading.Event()
        return boundary_of(workspace, QUESTION, run_cell, self.said.append, stop.is_set)

    def test_both_ends_are_run_and_recorded(self, root: Path, remember: Remember) -> None:
        broken = "import-fail:missing-module(demo)"
        answer = self.answer(root, remember, {CELLS[0]: [broken], CELLS[1]: ["pass"]})
        assert (answer.boundary.works, answer.boundary.fails) == (1, 0)
        assert answer.boundary.is_decided
        assert set(self.tried) == set(CELLS)
        assert len(workspace_of("demo", root).runs) == 2

    def test_the_budget_is_told_and_raised_aloud_when_an_end_is_flaky(
        self, root: Path, remember: Remember
    ) -> None:
        broken = "test-fail:assertion(printing; at test_demo.py:9)"
        self.answer(root, remember, {CELLS[0]: ["pass"], CELLS[1]: [broken, "pass"] * 20})
        first, raised = self.said
        assert first == "2 cells; at most 12 runs"
        assert raised.startswith(f"{CELLS[1]} is flaky:")
        assert raised.endswith(" 120 runs now")

    def test_versions_that_fail_each_time_amid_working_ones_are_a_hole(
        self, root: Path, run: Run, remember: Remember, capsys: pytest.CaptureFixture[str]
    ) -> None:
        matrix = root / "matrices" / "demo" / "matrix.toml"
        text = matrix.read_text(encoding="utf-8")
        series = [f"3.{minor}" for minor in range(8, 14)]
        patches = ", ".join(f'"{each}.7"' for each in series)
        matrix.write_text(text.replace('"3.8.18", "3.11.7"', patches), encoding="utf-8")
        run("matrix", "discover", "demo", "--write")
        cells = [f"py{each}-dep1-demo1.0" for each in series]
        assert run("matrix", "lock", "demo", *cells).code == 0
        wrong = "test-fail:assertion(printing; at test_demo.py:9)"
        outcomes = {cell: [wrong if cell == cells[2] else "pass"] for cell in cells}
        answer = self.answer(root, remember, outcomes)
        boundary = answer.boundary
        assert (boundary.works, boundary.exceptions, boundary.flaky) == (0, (2,), ())
        assert [said for said in self.said if "is flaky" in said] == []
        print_answer(answer, QUESTION)
        printed = capsys.readouterr().out
        assert "3.10 above it fails each time" in printed
        assert "is flaky" not in printed

    @pytest.mark.parametrize(
        "outcome", ["install-fail:network(dep)", "test-fail:cancelled", "nothing"]
    )
    def test_what_says_nothing_of_a_version_moves_no_floor(
        self, root: Path, remember: Remember, outcome: str
    ) -> None:
        answer = self.answer(root, remember, {CELLS[0]: [outcome, "pass"], CELLS[1]: ["pass"]})
        assert answer.boundary.works == 0
        assert answer.boundary.fails is None
        assert answer.boundary.unanswered == ()

    def test_a_network_that_fails_moves_no_floor(self, root: Path, remember: Remember) -> None:
        answer = self.answer(
            root, remember, {CELLS[0]: ["install-fail:network(dep)"], CELLS[1]: ["pass"]}
        )
        assert answer.boundary.fails is None
        assert answer.boundary.unanswered == (0,)

    def test_a_cell_that_never_ran_has_no_answer(self, root: Path, remember: Remember) -> None:
        answer = self.answer(root, remember, {CELLS[0]: ["nothing"], CELLS[1]: ["nothing"]})
        assert answer.boundary.works is None
        assert answer.boundary.unanswered == (0, 1)
        assert answer.cells_run == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--axis", "nope"), "no axis 'nope'"),
        (("--axis", "python"), "no version of dep and demo"),
        (("--axis", "python", "--at", "dep"), "is not AXIS=VERSION"),
        (("--axis", "python", "--at", "dep=x.y", "--at", "demo=1.0"), "--at"),
        (("--axis", "python", "--at", "dep=9", "--at", "demo=1.0"), "has no version 9"),
        (
            ("--axis", "python", "--at", "python=3.8", "--at", "dep=1", "--at", "demo=1.0"),
            "searched",
        ),
        ((*ASKED[:-1], "newest"), "is not one of fresh, dated, relaxed"),
    ],
)
def test_a_wrong_question_is_one_line(run: Run, words: tuple[str, ...], message: str) -> None:
    run("matrix", "discover", "demo", "--write")
    ran = run("floor", "demo", *words)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
