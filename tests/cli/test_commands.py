"""The commands as people and programs see them: words in; stdout, stderr and an exit code out."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.fake_index import FakeIndex, status
from support.ran import Run

from compat.cli.app import FIRST

CELL = "py3.11-dep1-demo1.0"


def test_the_first_screen_of_help_has_twelve_commands_and_mcp_is_below_it(run: Run) -> None:
    assert sum(map(len, FIRST.values())) == 12
    assert run("site", "mcp", "--help").out.startswith("Usage: compat site mcp [SITE] [OPTIONS]")
    ran = run("mcp", "--help")
    assert ran.code == 2
    assert ran.err == "error: compat has no command 'mcp' (did you mean site mcp?)\n"


def test_plan_prints_counts_by_fate_and_recipe(run: Run) -> None:
    ran = run("plan", "demo")
    assert ran.code == 0
    assert "22 cells: 14 ruled out before any run, 8 without an answer" in ran.out
    assert "requires-python" in ran.out
    assert "compat plan demo --explain" in ran.err


def test_plan_json_is_one_envelope_with_every_cell_once(run: Run) -> None:
    ran = run("plan", "demo", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert {key: ran.json[key] for key in ("schema", "ok", "errors")} == {
        "schema": 1,
        "ok": True,
        "errors": [],
    }
    cells = ran.json["data"]["cells"]
    assert len(cells) == len({cell["id"] for cell in cells}) == 22
    assert cells[0].keys() == {"id", "coordinates", "recipe", "fate", "obstacle"}
    by_id = {cell["id"]: cell for cell in cells}
    assert by_id[CELL]["coordinates"] == {"python": "3.11", "dep": "1", "demo": "1.0"}
    assert by_id["py3.8-dep2-demo2.0"]["obstacle"] == {
        "kind": "requires-python",
        "between": ["demo2.0", "py3.8"],
        "package": "",
        "because": "demo 2.0 requires Python >=3.9, not 3.8",
    }


def test_a_relaxed_cell_in_which_nothing_is_relaxed_is_no_cell_and_the_dated_one_is_named(
    run: Run,
) -> None:
    for command in (["plan", "demo", "--explain"], ["matrix", "lock", "demo"]):
        ran = run(*command, "py3.11-dep1-demo1.0+relaxed")
        assert ran.code == 2
        assert ran.err.strip().endswith(
            "no cell of matrix 'demo' is 'py3.11-dep1-demo1.0+relaxed': no rule relaxes anything"
            " there (py3.11-dep1-demo1.0+dated asks the same)"
        )


def test_a_matrix_without_a_relaxing_rule_has_no_relaxed_cells_and_no_column_for_them(
    run: Run, root: Path
) -> None:
    matrix = root / "matrices" / "demo" / "matrix.toml"
    matrix.write_text(matrix.read_text().partition("rules = [")[0])
    ran = run("plan", "demo")
    assert "16 cells" in ran.out
    assert "relaxed" not in ran.out


def test_a_lock_outside_the_plan_is_told_and_the_others_are_still_checked(
    run: Run, root: Path
) -> None:
    locks = root / "matrices" / "demo" / "locks"
    assert run("matrix", "lock", "demo", CELL).code == 0
    (locks / f"{CELL}+relaxed.txt").write_text((locks / f"{CELL}.txt").read_text())
    ran = run("matrix", "lock", "demo", "--check")
    assert ran.code == 0
    assert f"{CELL}+relaxed has a lock but is not in the plan: skipped" in ran.err


def test_a_package_that_the_index_lacks_is_told_by_axis_and_an_index_that_fails_is_not(
    run: Run, root: Path, demo_index: FakeIndex
) -> None:
    matrix = root / "matrices" / "demo" / "matrix.toml"
    matrix.write_text(
        matrix.read_text().replace('package = "dep", select', 'package = "depp", select')
    )
    ran = run("plan", "demo")
    assert (ran.code, ran.out) == (2, "")
    assert (
        "matrix.toml: axes[1].package: the package index has no package 'depp' (did you mean"
        " 'dep'?)" in ran.err
    )
    demo_index.page("depp", status(500))
    assert run("plan", "demo").code == 3


def test_plans_are_byte_identical(run: Run) -> None:
    assert run("plan", "demo", "--json").out == run("plan", "demo", "--json").out


def test_explain_shows_the_arithmetic_of_one_cell(run: Run) -> None:
    ran = run("plan", "demo", "--explain", "py3.11-dep2-demo1.0")
    assert ran.code == 0
    assert "demo 1.0 requires dep ~=1.0; the cell is outside it: moved" in ran.out
    assert ran.out.splitlines()[-1].strip() == "infeasible: demo 1.0 requires dep ~=1.0, not 2"


def test_discover_lists_the_coordinates_of_each_axis(run: Run) -> None:
    assert run("matrix", "discover", "demo", "--json").json["data"]["axes"] == {
        "python": ["3.8", "3.11"],
        "dep": ["1", "2"],
        "demo": ["1.0", "2.0"],
    }
    assert "dep: 2 versions, 1 to 2" in run("matrix", "discover", "demo").out


def test_discover_keeps_the_catalogue_when_told_and_then_finds_it_current(
    run: Run, root: Path
) -> None:
    path = root / "matrices" / "demo" / "catalogue.json"
    assert "would change" in run("matrix", "discover", "demo").err
    assert not path.exists()
    assert "matrices/demo/catalogue.json: new" in run("matrix", "discover", "demo", "--write").out
    text = path.read_text()
    assert "127.0.0.1" not in text
    assert "is current" in run("matrix", "discover", "demo", "--write").err
    assert path.read_text() == text


def test_show_puts_the_table_of_capabilities_between_its_marks(run: Run, root: Path) -> None:
    run("matrix", "discover", "demo", "--write")
    page = root / "page.md"
    page.write_text("a\n<!-- capabilities -->\n<!-- /capabilities -->\nb\n")
    assert run("show", "demo", "--into", str(page)).code == 0
    assert page.read_text().startswith(
        "a\n<!-- capabilities -->\nNo cell has reached the suite yet.\n"
    )
    page.write_text("no marks")
    assert "has no <!-- capabilities -->" in run("show", "demo", "--into", str(page)).err
    assert page.read_text() == "no marks"


def test_lock_writes_the_lock_and_then_finds_it_current(run: Run, root: Path) -> None:
    first = run("matrix", "lock", "demo", CELL)
    assert first.code == 0
    assert f"{CELL}  locked (4 pins)" in first.out
    assert "not measured: time, size on disk and size of the download" in first.out
    path = root / "matrices" / "demo" / "locks" / f"{CELL}.txt"
    text = path.read_text()
    assert "dep==1.1" in text
    assert "127.0.0.1" not in text
    assert str(root) not in text
    assert f"{CELL}  current" in run("matrix", "lock", "demo").out
    assert path.read_text() == text


def test_lock_json_tells_each_cell_and_the_refusals_cause(run: Run) -> None:
    ran = run("matrix", "lock", "demo", CELL, "py3.11-dep2-demo2.0", "py3.8-dep2-demo2.0", "--json")
    assert ran.code == 1
    assert ran.json["ok"] is True
    assert [(cell["id"], cell["outcome"]) for cell in ran.json["data"]["cells"]] == [
        (CELL, "locked"),
        ("py3.11-dep2-demo2.0", "plan-fail:no-artifact(gone==4.1)"),
        ("py3.8-dep2-demo2.0", "plan-fail:requires-python(demo2.0, py3.8)"),
    ]


def test_a_relaxed_cell_locks_and_frees_from_its_date_what_it_needs(run: Run, root: Path) -> None:
    cell = "py3.11-dep2-demo2.0+relaxed"
    assert run("matrix", "lock", "demo", cell).code == 0
    text = (root / "matrices" / "demo" / "locks" / f"{cell}.txt").read_text()
    assert "gone==4.2" in text
    assert "# as-of: 2024-01-22T00:00:00Z" in text
    assert "# as-of late: 2024-01-30T00:00:00Z" in text
    assert "deep==1.0" in text
    assert "# given: demo" in text


def test_lock_takes_globs(run: Run) -> None:
    ran = run("matrix", "lock", "demo", "py3.*-dep1-demo1.0", "--json")
    assert [cell["id"] for cell in ran.json["data"]["cells"]] == ["py3.8-dep1-demo1.0", CELL]


def test_check_writes_nothing_and_says_what_would_drift_and_why(
    run: Run, root: Path, demo_index: FakeIndex
) -> None:
    path = root / "matrices" / "demo" / "locks" / f"{CELL}.txt"
    assert "not-locked" in run("matrix", "lock", "demo", CELL, "--check").out
    assert not path.exists()
    run("matrix", "lock", "demo", CELL)
    before = path.read_text()
    matrix = root / "matrices" / "demo" / "matrix.toml"
    matrix.write_text(
        matrix.read_text().replace(
            'requirements = ["pytest"]', 'requirements = ["pytest", "deep<2"]'
        )
    )
    ran = run("matrix", "lock", "demo", "--check")
    assert ran.code == 1
    assert "drifted" in ran.out
    assert "because of requirements: nothing -> deep<2" in ran.out
    assert path.read_text() == before


def test_a_damaged_lock_is_one_line_with_its_place(run: Run, root: Path) -> None:
    run("matrix", "lock", "demo", CELL)
    path = root / "matrices" / "demo" / "locks" / f"{CELL}.txt"
    path.write_text(path.read_text().replace("dep==1.1", "dep==1.0"))
    ran = run("matrix", "lock", "demo", "--check")
    assert ran.code == 2
    assert "the digest differs" in ran.err
    assert "Traceback" not in ran.err


def test_an_unreachable_index_is_exit_code_3_and_no_plan(run: Run, demo_index: FakeIndex) -> None:
    demo_index.page("dep", status(500))
    ran = run("plan", "demo", "--json")
    assert ran.code == 3
    assert ran.json["ok"] is False
    assert ran.json["data"] is None
    assert [error.keys() for error in ran.json["errors"]] == [{"code", "path", "message", "hint"}]


def test_a_stale_page_serves_and_says_so(run: Run, demo_index: FakeIndex) -> None:
    fresh = run("plan", "demo", "--json")
    for package in ("dep", "demo"):
        demo_index.page(package, status(404))
    stale = run("plan", "demo", "--json", "--refresh")
    assert stale.code == 0
    assert stale.out == fresh.out
    assert "the index did not answer for dep; using its page of" in stale.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("plan", "dmo"), "no matrix 'dmo'; declared here: demo (did you mean demo?)"),
        (("plan",), "MATRIX"),
        (("pln", "demo"), "plan"),
        (("plan", "demo", "--jsn"), "--jsn"),
        (("plan", "demo", "--explain", "py3.11-dep1-demo9.9"), "did you mean py3.11-dep1-demo"),
        (("run", "demo", "--tier", "smok"), "did you mean smoke?"),
        (
            ("plan", "demo", "--explain", "py3.11"),
            "does not have the form py<version>-dep<version>-demo<version>",
        ),
        (("matrix", "lock", "demo", "py9*"), "no cell of matrix 'demo' is 'py9*'"),
        (("matrix", "lock", "demo", CELL, "--locker", "pip"), "pip"),
        (("check", "--root", "/nowhere"), "no folder matrices/ in /nowhere"),
        (("plan", "demo", "--index-url", "ftp://x"), "is not the address of a package index"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(
    run: Run, words: tuple[str, ...], told: str
) -> None:
    ran = run(*words)
    assert ran.code == 2
    assert ran.out == ""
    assert told in ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


def test_a_matrix_is_found_by_its_title(run: Run, root: Path) -> None:
    matrix = root / "matrices" / "demo" / "matrix.toml"
    text = matrix.read_text()
    name = re.compile(r"^title = .*$", re.MULTILINE)
    matrix.write_text(name.sub('title = "Demo Library"', text))
    assert run("plan", "demo-library").out == run("plan", "demo").out != ""


def test_a_rule_that_no_cell_needs_is_told_beside_the_whole_plan(run: Run, root: Path) -> None:
    matrix = root / "matrices" / "demo" / "matrix.toml"
    rule = (
        '  { name = "idle", effect = "exclude", because = "nobody has it", when = { demo = ">=7" }'
        " },\n]\n"
    )
    text = matrix.read_text()
    matrix.write_text(text[: text.rindex("]")] + rule)
    ran = run("plan", "demo", "--json")
    assert ran.code == 2
    assert len(ran.json["data"]["cells"]) == 22
    assert [(error["code"], error["path"]) for error in ran.json["errors"]] == [
        ("unneeded", "matrices/demo/matrix.toml: rules[2]")
    ]
    assert "no cell needs rule 'idle'" in ran.err


def test_check_tells_every_fault_of_a_declaration_at_once(run: Run, root: Path) -> None:
    matrix = root / "matrices" / "demo" / "matrix.toml"
    matrix.write_text(
        matrix.read_text().replace("margin_days = 1", "margin_day = 1").replace('"major"', '"majr"')
    )
    ran = run("check")
    assert ran.code == 2
    lines = ran.err.splitlines()
    assert len(lines) >= 2
    assert any("margin_day" in line and "margin_days" in line for line in lines)
    assert any("majr" in line and "major" in line for line in lines)


def test_check_says_which_matrices_are_sound(root: Path, run: Run) -> None:
    matrix = root / "matrices" / "demo" / "matrix.toml"
    suite = matrix.parent / "suite"
    shutil.rmtree(suite)
    without = run("check")
    assert without.code == 2
    assert "is not a directory (make it, with at least one test_*.py)" in without.err
    suite.mkdir()
    assert "has no file of tests" in run("check", "demo").err
    (suite / "test_demo.py").write_text("def test_demo(:\n")
    assert "matrices/demo/suite/test_demo.py:1: does not parse on Python" in run("check").err
    (suite / "test_demo.py").write_text("def test_demo():\n    pass\n")
    assert run("check").out == "valid: demo\n"
    assert run("check", "demo", "--json").json["data"] == {"matrices": ["demo"]}


def test_a_cell_that_the_matrix_lacks_is_not_recommended_for_a_run(run: Run) -> None:
    words = "show", "demo", "py3.11-dep1-demo9.9"
    assert "no results for cell" in run(*words).err
    run("matrix", "discover", "demo", "--write")
    assert "did you mean py3.11-dep1-demo" in run(*words).err


def test_schema_shows_a_diff_and_writes_only_when_told(run: Run, root: Path) -> None:
    path = root / "matrices" / "matrix.schema.json"
    ran = run("matrix", "schema")
    assert (ran.code, path.exists()) == (1, False)
    assert "+++ b/matrices/matrix.schema.json" in ran.out
    data = run("matrix", "schema", "--json").json["data"]
    assert data == {"changed": ["matrix.schema.json", "policy.schema.json"]}
    assert run("matrix", "schema", "--write").code == 0
    assert path.exists()
    assert (run("matrix", "schema").code, run("matrix", "schema").out) == (0, "")


def test_schema_needs_no_matrices(run: Run, root: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    schema = fresh / "matrices" / "matrix.schema.json"
    assert (run("matrix", "schema", "--root", str(fresh)).code, schema.exists()) == (1, False)
    assert run("matrix", "schema", "--write", "--root", str(fresh)).code == 0
    assert schema.read_bytes().startswith(b"{")
    nowhere = run("matrix", "schema", "--root", str(fresh / "nowhere"))
    assert (nowhere.code, nowhere.err.count("\n")) == (2, 1)
    assert "no folder matrices/ in " in nowhere.err


def test_help_shows_examples(run: Run) -> None:
    ran = run("matrix", "lock", "--help")
    assert ran.code == 0
    assert "Examples: compat matrix lock" in ran.out


def test_a_cell_that_the_plan_rules_out_is_shown_with_its_obstacle_and_not_offered_to_run(
    run: Run,
) -> None:
    run("matrix", "discover", "demo", "--write")
    cell, obstacle = "py3.11-dep2-demo1.0", "demo 1.0 requires dep ~=1.0, not 2"
    shown = run("show", "demo", cell)
    assert shown.code == 0
    assert obstacle in shown.out
    offered = run("run", "demo", cell, "--dry-run")
    assert (offered.code, obstacle in offered.out) == (1, True)
    (row,) = run("run", "demo", cell, "--dry-run", "--json").json["data"]["cells"]
    assert row["obstacle"] == obstacle
    both = run("run", "demo", cell, "py3.11-dep1-demo1.0", "--dry-run")
    assert (both.code, "1 cell to lock and run" in both.out) == (0, True)


def test_a_version_or_a_glob_chooses_the_cells_that_are_shown(
    run: Run, remember: Callable[..., None]
) -> None:
    cells = "py3.8-dep1-demo1.0", "py3.11-dep1-demo1.0"
    assert run("matrix", "lock", "demo", *cells).code == 0
    remember()

    def shown(*words: str) -> set[str]:
        return {row["id"] for row in run("show", "demo", *words, "--json").json["data"]["cells"]}

    for word in ("1.0", "demo==1.0", "demo 1.0", "dep<2", "*-demo1.0"):
        assert shown(word) == {*cells}, word
    for word in ("python3.8", "python==3.8", "py3.8", "*py3.8*", cells[0]):
        assert shown(word) == {cells[0]}, word
    for word in ("python3.13", "2.0", "*-demo9*", "nothing", "py3.8-dep1"):
        ran = run("show", "demo", word)
        assert (ran.code, ran.out) == (2, ""), word
    assert "compat advise demo python3.13" in run("show", "demo", "python3.13").err


@pytest.mark.parametrize(
    ("module", "extra", "words"),
    [
        ("PIL", "site", ("publish",)),
        ("vermin", "sources", ("find", "reason", "demo", "python", "--write")),
    ],
)
def test_a_command_names_the_extra_that_it_needs_before_it_does_anything(
    run: Run,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    extra: str,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"pip install 'compat-matrix[{extra}]'" in ran.err
    assert not (root / "public").exists()
