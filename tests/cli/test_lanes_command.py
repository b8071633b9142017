"""`compat matrix variants`: what is asked beside the grid, and what `run` and `lock` make of it."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from support.fake_index import FakeIndex
from support.github_server import NAME, TOKEN, Repository, serving
from support.local_index import fill
from support.ran import Run

from compat.github.markdown import faults

REPOSITORY = Path(__file__).parents[2]
FRESH = "py3.11-dep1-demo1.0"
LOWEST = f"{FRESH}+lowest"
Remember = Callable[..., None]


@pytest.fixture
def with_lowest(root: Path) -> Path:
    path = root / "matrices" / "demo" / "matrix.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("margin_days", "lowest = true\nmargin_days"), encoding="utf-8")
    return path


def test_without_a_lane_it_says_how_to_declare_one(run: Run) -> None:
    ended = run("matrix", "variants", "demo")
    assert (ended.code, ended.out) == (1, "")
    assert "`lowest = true` or [prereleases]" in ended.err


def test_before_any_run_it_says_what_to_type(run: Run, with_lowest: Path) -> None:
    ended = run("matrix", "variants", "demo")
    assert ended.code == 0
    assert f"{LOWEST}: unknown" in ended.out
    assert "'*+lowest'" in ended.err


def test_a_lowest_cell_is_locked_to_what_its_release_declares(run: Run, with_lowest: Path) -> None:
    ended = run("matrix", "lock", "demo", LOWEST)
    assert ended.code == 0, ended.err
    lock = (with_lowest.parent / "locks" / f"{LOWEST}.txt").read_text(encoding="utf-8")
    assert "# floor: dep~=1.0\n" in lock
    assert "\ndep==1.0 " in lock
    assert "\npytest==8.0 " in lock
    assert run("matrix", "lock", "demo", "--check").code == 0


def test_what_the_floors_break_is_an_alert_and_exit_1(
    run: Run, root: Path, with_lowest: Path, remember: Remember
) -> None:
    assert run("matrix", "lock", "demo", FRESH, LOWEST).code == 0
    remember(FRESH)
    remember(LOWEST, outcome="import-fail:missing-attribute(dep.new)")
    ended = run("matrix", "variants", "demo")
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert f"{LOWEST}: broken, import-fail:missing-attribute(dep.new)" in lines
    assert "  dep~=1.0: 1.0 installed" in lines
    assert f"  what makes it fail: compat blame demo {FRESH} {LOWEST}" in lines
    assert "1 of 1 cell" in lines[-1]
    data = run("matrix", "variants", "demo", "--json").json["data"]
    (alert,) = data["alerts"]
    assert (alert["broken"], alert["compared"], alert["cells"]) == (1, 1, [LOWEST])
    (cell,) = (cell for cell in data["cells"] if cell["cell"] == LOWEST)
    assert cell["floors"] == [
        {
            "package": "dep",
            "declared": "dep~=1.0",
            "lowest": "1.0",
            "installed": "1.0",
            "because": "",
        }
    ]
    # The published page and document say the same.
    site = root / "public"
    run("publish", "--out", str(site), "--base-url", "https://compat.example/")
    document = json.loads((site / "api" / "v1" / "demo" / "lanes.json").read_text("utf-8"))
    assert {key: document[key] for key in ("matrix", "cells", "alerts")} == data
    page = (site / "demo" / "lanes" / "index.html").read_text("utf-8")
    assert f"{lines[-1].capitalize()}." in page
    assert run("site", "check", str(site)).code == 0
    # The grid does not show it; a line below it does.
    grid, line, end = run("show", "demo").out.rpartition("\n✗")
    assert end.split()[:2] == [LOWEST, "broken"]
    assert line
    assert "✗" not in grid


def test_a_broken_lane_opens_one_issue_updates_it_and_closes_it(
    run: Run,
    root: Path,
    with_lowest: Path,
    remember: Remember,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run("matrix", "lock", "demo", FRESH, LOWEST).code == 0
    asked = ("matrix", "variants", "demo", "--open")
    with serving(there := Repository({"a": ""})) as server:
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        monkeypatch.setenv("GITHUB_REPOSITORY", NAME)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        remember(FRESH)
        assert run(*asked).code == 0
        assert there.issues() == []
        remember(LOWEST, outcome="import-fail:missing-attribute(dep.new)")
        assert "issue: opened" in run(*asked).out
        (issue,) = there.issues("open")
        assert f"`{LOWEST}`" in issue["body"]
        assert "1 of 1 cell" in issue["body"]
        written = len(server.writes)
        assert "up to date" in run(*asked).out
        assert len(server.writes) == written
        shutil.rmtree(with_lowest.parent / "records")
        remember(FRESH, LOWEST)
        assert "issue: closed" in run(*asked).out
        assert (there.issues("open"), len(there.issues())) == ([], 1)
        shutil.rmtree(with_lowest.parent / "records")
        remember(FRESH)
        remember(LOWEST, outcome="import-fail:missing-attribute(dep.new)")
        assert "issue: opened again" in run(*asked).out
        assert [each["number"] for each in there.issues("open")] == [issue["number"]]
        monkeypatch.delenv("GITHUB_TOKEN")
        assert run(*asked).code == 4
        assert "dep.new" in run(*asked, "--dry-run").out


def nightly(root: Path) -> tuple[int, str, str]:
    """The step of the nightly workflow: its exit code, what it printed, and the job's summary."""
    jobs = yaml.safe_load((REPOSITORY / ".github/workflows/cells.yml").read_text("utf-8"))["jobs"]
    (step,) = (s for s in jobs["record"]["steps"] if "compat matrix variants" in s.get("run", ""))
    summary = root / "summary.md"
    with serving(Repository({"a": ""})) as server:
        given = {"MATRIX": "demo", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_TOKEN": TOKEN}
        given |= {"GITHUB_API_URL": server.url, "GITHUB_REPOSITORY": NAME}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=root,
            env=os.environ | given,
            capture_output=True,
            text=True,
            check=False,
        )
    text = summary.read_text("utf-8") if summary.exists() else ""
    return done.returncode, done.stdout + done.stderr, text


def test_the_nightly_shows_the_alert_in_the_summary_of_its_job(
    run: Run, root: Path, with_lowest: Path, remember: Remember
) -> None:
    assert run("matrix", "lock", "demo", FRESH, LOWEST).code == 0
    remember(FRESH)
    remember(LOWEST, outcome="import-fail:missing-attribute(dep.new)")
    ended, said, summary = nightly(root)
    assert ended == 0, said
    assert "variants, 1 of " in summary
    assert "1 of 1 cell" in summary
    assert f"| `{LOWEST}` | " in summary
    assert faults(summary) == ()


def test_the_nightly_shows_nothing_of_a_matrix_without_a_lane(run: Run, root: Path) -> None:
    ended, said, summary = nightly(root)
    assert (ended, summary) == (0, ""), said


def test_a_summary_without_an_alert_says_how_much_was_tried(
    run: Run, root: Path, with_lowest: Path
) -> None:
    summary = root / "lanes.md"
    assert run("matrix", "variants", "demo", "--summary", str(summary)).code == 0
    text = summary.read_text("utf-8")
    assert "variants, 0 of " in text


def test_the_cells_of_a_lane_are_due_with_the_others(
    run: Run, with_lowest: Path, remember: Remember
) -> None:
    assert run("matrix", "lock", "demo", FRESH, LOWEST).code == 0
    ended = run("run", "demo", "--dry-run")
    assert f"{LOWEST}  never-run" in ended.out
    remember(FRESH, LOWEST)
    assert LOWEST not in run("run", "demo", "--dry-run").out


@pytest.fixture
def with_prereleases(root: Path, demo_index: FakeIndex) -> Iterator[Path]:
    """The matrix with a lane of pre-releases, whose index has one of dep and a final release."""
    nightly = FakeIndex()
    fill(nightly, {"dep": [("2.2.dev1", 20, None, [])], "deep": [("3.0.dev1", 21, None, [])]})
    fill(demo_index, {"demo": [("3.0", 21, None, ["dep>=2", "deep"])]})
    path = root / "matrices" / "demo" / "matrix.toml"
    text = path.read_text(encoding="utf-8")
    lane = f'prereleases = {{ axes = ["dep"], index = "{nightly.url}" }}'
    path.write_text(text.replace("margin_days", f"{lane}\nmargin_days"), encoding="utf-8")
    yield path
    nightly.stop()


def test_a_pre_release_of_another_index_is_locked_and_nothing_else_of_it(
    run: Run, with_prereleases: Path
) -> None:
    cell = "py3.11-dep2.2.dev1-demo3.0+prerelease"
    ended = run("matrix", "lock", "demo", cell)
    assert ended.code == 0, ended.err
    lock = (with_prereleases.parent / "locks" / f"{cell}.txt").read_text(encoding="utf-8")
    assert "# index: http://127.0.0.1:" in lock
    assert "\ndep==2.2.dev1 " in lock
    assert "\ndeep==2.0 " in lock
    assert run("matrix", "lock", "demo", "--check").code == 0


def test_what_a_pre_release_breaks_is_one_alert_and_moves_no_grid(
    run: Run, with_prereleases: Path, remember: Remember
) -> None:
    fresh = [f"py{python}-dep2-demo3.0" for python in ("3.8", "3.11")]
    broken, works = (f"py{python}-dep2.2.dev1-demo3.0+prerelease" for python in ("3.8", "3.11"))
    assert run("matrix", "lock", "demo", *fresh, broken, works).code == 0
    remember(*fresh, works)
    remember(broken, outcome="import-fail:missing-attribute(dep.old)")
    ended = run("matrix", "variants", "demo")
    assert ended.code == 1
    assert ended.out.splitlines()[-1].startswith("dep 2.2.dev1 breaks 1 ")
    assert f"  what makes it fail: compat blame demo {fresh[0]} {broken}" in ended.out.splitlines()
    (alert,) = run("matrix", "variants", "demo", "--json").json["data"]["alerts"]
    assert (alert["lane"], alert["what"], alert["cells"]) == (
        "prerelease",
        "dep 2.2.dev1",
        [broken],
    )
    advised = run("advise", "demo", "--json").out
    assert "2.2.dev1" not in advised


def test_where_there_is_no_pre_release_it_says_so(run: Run, root: Path) -> None:
    path = root / "matrices" / "demo" / "matrix.toml"
    text = path.read_text(encoding="utf-8")
    lane = 'prereleases = { axes = ["dep"], as_of = 2024-01-02 }'
    path.write_text(text.replace("margin_days", f"{lane}\nmargin_days"), encoding="utf-8")
    ended = run("matrix", "variants", "demo")
    assert (ended.code, ended.out) == (0, "")
    assert "no pre-release of dep" in ended.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("lowest = 1", "lowest: expected a boolean, got 1"),
        ('lowest = "true"', "lowest: expected a boolean, got 'true'"),
        ("lowest_direct = true", "unknown key 'lowest_direct'"),
    ],
)
def test_a_wrong_declaration_is_one_line(run: Run, with_lowest: Path, text: str, told: str) -> None:
    document = with_lowest.read_text(encoding="utf-8")
    with_lowest.write_text(document.replace("lowest = true", text), encoding="utf-8")
    ended = run("check", "demo")
    assert ended.code == 2
    assert told in ended.err
    assert len(ended.err.splitlines()) == 1
