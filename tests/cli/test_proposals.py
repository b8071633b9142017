"""`compat propose` and `compat matrix schedule`, in a repository with a kept catalogue and
records."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.version import Version
from support import floors
from support.floors import cell
from support.ran import Run

from compat.cli import options
from compat.declare.load import decode_matrix
from compat.index.discover import encode_catalogue
from compat.index.release import Catalogue, Package
from compat.lock.lockfile import Inputs, Lock, Pin, encode_lock
from compat.results.record import Record
from compat.results.record_files import RecordFiles
from compat.run.suitefiles import suite_digest

POLICY = 'default_months = 24\ncadence = "quarterly"\nnotice_days = 30\nwitnesses = 2\n'
FLOORS = """
[[floors]]
axis = "python"
at = "3.9" # the oldest that anybody asked for
because = "somebody said so"

[[floors]]
axis = "dep"
at = "1.2"
because = "somebody said so"
"""
PROJECT = (
    '[project]\nname = "demo"\nrequires-python = ">=3.9"\ndependencies = [\n  "dep>=1.2,<1.5",  #'
    " ours\n]\n"
)


@pytest.fixture
def demo(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The matrix's folder; the day is that of the small world."""
    folder = root / "matrices" / "demo"
    (folder / "matrix.toml").write_text(floors.MATRIX + FLOORS, encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    (folder / "suite").mkdir(exist_ok=True)
    (folder / "suite" / "test_demo.py").write_text("def test_it(): pass\n", encoding="utf-8")
    matrix = decode_matrix(floors.MATRIX.encode(), "world")
    (folder / "catalogue.json").write_text(
        encode_catalogue(floors.catalogue(), matrix), encoding="utf-8"
    )
    monkeypatch.setattr(options, "today", lambda: floors.DAY)
    for name in ("GITHUB_TOKEN", "GITHUB_REPOSITORY", "GITHUB_REF_NAME", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder


def keep(folder: Path, runs: Iterable[Record]) -> None:
    store = RecordFiles(folder)
    for run in runs:
        store.add(run)


def proven(folder: Path) -> None:
    suite = suite_digest(folder / "suite")
    names = [cell("3.9", "1.4"), cell("3.11", "1.4")]
    keep(
        folder,
        [floors.ran(name, days_ago=ago, suite_digest=suite) for name in names for ago in (1, 2)],
    )


def test_nothing_proven_is_nothing_open(demo: Path, run: Run) -> None:
    came = run("propose", "demo")
    assert came.code == 0
    assert run("propose", "demo", "--check").code == 0
    assert "2026-06-15: 0 open, " in came.out
    assert f"to run: {cell('3.9', '1.4')}" in came.out


class TestExtending:
    FIRST = cell("3.12", "1.4")

    def test_a_new_python_waits_for_the_run_that_the_proposal_names(
        self, demo: Path, run: Run
    ) -> None:
        came = run("propose", "demo")
        assert "waits  (extend-python-3.11-to-3.12)" in came.out
        assert f"`compat run demo {self.FIRST}` makes the first" in came.out
        assert f"to run: {self.FIRST}" in came.out
        explained = run("plan", "demo", "--explain", self.FIRST)
        assert "feasible: no known fact" in explained.out

    def test_the_night_takes_the_cell_that_a_proposal_waits_for(self, demo: Path, run: Run) -> None:
        came = run("plan", "demo", "--budget", "2h")
        assert f"\t{self.FIRST}\t" in came.out
        words = ("--budget", "2h", "--pythons", "3.11")
        assert self.FIRST not in run("plan", "demo", *words).out

    def test_a_first_run_opens_it_and_writing_adds_the_series_alone(
        self, demo: Path, run: Run
    ) -> None:
        suite = suite_digest(demo / "suite")
        keep(demo, [floors.ran(self.FIRST, suite_digest=suite, tier="smoke")])
        before = (demo / "matrix.toml").read_text(encoding="utf-8")
        came = run("propose", "demo", "--write")
        assert came.code == 0
        assert "3.11 -> 3.12: OPEN" in came.out
        after = (demo / "matrix.toml").read_text(encoding="utf-8")
        assert after == before.replace('"3.11.7"]', '"3.11.7", "3.12.0"]')
        assert "3.12 -> 3.13: waits" in run("propose", "demo").out

    def test_the_lists_of_a_target_get_the_python_too(
        self, demo: Path, run: Run, tmp_path: Path
    ) -> None:
        suite = suite_digest(demo / "suite")
        keep(demo, [floors.ran(self.FIRST, suite_digest=suite, tier="smoke")])
        tox = tmp_path / "tox.ini"
        tox.write_text("[tox]\nenvlist = py310, py311, lint\n", encoding="utf-8")
        assert run("propose", "demo", "--write", "--target", str(tox)).code == 0
        text = tox.read_text(encoding="utf-8")
        assert text == "[tox]\nenvlist = py310, py311, py312, lint\n"


def test_an_open_move_is_told_with_its_evidence_and_its_diff_and_fails_a_check(
    demo: Path, run: Run
) -> None:
    proven(demo)
    came = run("propose", "demo")
    assert came.code == 0
    assert "OPEN  (raise-dep-1.2-to-1.4)" in came.out
    assert f"supports: {cell('3.9', '1.4')}  works, pass on 2026-06-13, 2026-06-14" in came.out
    assert '-at = "1.2"\n' in came.out
    assert '+at = "1.4"\n' in came.out
    assert 'at = "1.2"' in (demo / "matrix.toml").read_text(encoding="utf-8")


def test_writing_moves_the_floors_of_the_matrix_and_of_a_target_and_then_that_axis_stays(
    demo: Path, run: Run, tmp_path: Path
) -> None:
    proven(demo)
    target = tmp_path / "pyproject.toml"
    target.write_text(PROJECT, encoding="utf-8")
    assert run("propose", "demo", "--write", "--target", str(target)).code == 0
    assert target.read_text(encoding="utf-8") == PROJECT.replace("dep>=1.2", "dep>=1.4")
    text = (demo / "matrix.toml").read_text(encoding="utf-8")
    assert 'at = "3.9" # the oldest that anybody asked for' in text
    assert "allowed from 2026-04-01 on" in text
    assert run("check", "demo").code == 0
    again = run("propose", "demo", "--json").json["data"]["proposals"]
    assert not [one["id"] for one in again if one["axis"] == "dep" and one["open"]]


def test_a_projects_own_bound_is_the_lowest_release_that_ran(
    demo: Path, run: Run, tmp_path: Path
) -> None:
    matrix = decode_matrix(floors.MATRIX.encode(), "world")
    packages = {package.name: package for package in floors.catalogue().packages}
    patch = floors.release("dep", "1.4.1", "2024-03-01")
    packages["dep"] = Package("dep", (*packages["dep"].releases, patch))
    text = encode_catalogue(Catalogue(tuple(packages.values())), matrix)
    (demo / "catalogue.json").write_text(text, encoding="utf-8")
    (demo / "locks").mkdir(exist_ok=True)
    for python in ("3.9.18", "3.11.7"):
        name = cell(python.rpartition(".")[0], "1.4")
        lock = Lock(
            inputs=Inputs(
                cell=name,
                python=Version(python),
                platform=matrix.platform,
                requirements=("demo==2.0", "dep==1.4.*", "pytest"),
            ),
            pins=tuple(
                Pin(name=package, version=Version(version), hashes=("0" * 64,))
                for package, version in (("demo", "2.0"), ("dep", "1.4.1"), ("pytest", "8.0"))
            ),
            tool="uv 0.13.9",
        )
        (demo / "locks" / f"{name}.txt").write_text(encode_lock(lock), encoding="utf-8")
        kept = {"lock_digest": lock.digest, "suite_digest": suite_digest(demo / "suite")}
        keep(demo, [floors.ran(name, days_ago=ago, **kept) for ago in (1, 2)])
    target = tmp_path / "pyproject.toml"
    target.write_text(PROJECT, encoding="utf-8")
    came = run("propose", "demo", "--write", "--target", str(target))
    assert came.code == 0, came.err
    assert "ran is 1.4.1." in came.out
    assert target.read_text(encoding="utf-8") == PROJECT.replace("dep>=1.2", "dep>=1.4.1")
    assert 'at = "1.4"\n' in (demo / "matrix.toml").read_text(encoding="utf-8")
    # What was raised is not offered to be lowered.
    again = run("propose", "demo", "--json").json["data"]["proposals"]
    assert not [one["id"] for one in again if one["axis"] == "dep"]


def test_a_projects_folder_moves_with_all_that_states_the_floor(
    demo: Path, run: Run, tmp_path: Path
) -> None:
    proven(demo)
    project = tmp_path / "project"
    workflow = project / ".github" / "workflows" / "ci.yml"
    workflow.parent.mkdir(parents=True)
    matrix = 'jobs:\n  t:\n    strategy:\n      matrix:\n        dep: ["1.2", 1.3, "1.4"] # all\n'
    texts = {
        project / "pyproject.toml": PROJECT,
        project / "tox.ini": "[testenv]\ndeps =\n  dep>=1.2 # ours\n  pytest\n",
        project / "README.md": "![dep](https://img.shields.io/badge/dep-1.2%2B-blue) 1.2\n",
        workflow: matrix,
    }
    others = {
        "uv.lock": 'name = "dep"\n',
        "a/pyproject.toml": '[project]\ndependencies=["dep>=1.2"]',
        ".github/workflows/broken.yml": "dep: [",
    }
    (project / "a").mkdir()
    for name, text in others.items():
        (project / name).write_text(text, encoding="utf-8")
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    came = run("propose", "demo", "--target", str(project))
    assert '+        dep: ["1.4"] # all' in came.out
    assert "left alone: uv.lock: " in came.err
    assert "left alone: a/pyproject.toml:2: " in came.err
    assert "broken.yml: is not valid YAML" in came.err
    assert {path.read_text(encoding="utf-8") for path in texts} == set(texts.values())
    assert run("propose", "demo", "--write", "--target", str(project)).code == 0
    for path, text in texts.items():
        expected = text.replace('"1.2", 1.3, "1.4"', '"1.4"').replace("dep>=1.2", "dep>=1.4")
        expected = expected.replace("dep-1.2%2B", "dep-1.4%2B")
        assert path.read_text(encoding="utf-8") == expected
    (tmp_path / "empty").mkdir()
    none = run("propose", "demo", "--target", str(tmp_path / "empty"))
    assert (none.code, "declares a minimum" in none.err) == (2, True)


def test_a_target_that_cannot_follow_is_left_and_names_what_it_could(
    demo: Path, run: Run, tmp_path: Path
) -> None:
    proven(demo)
    target = tmp_path / "pyproject.toml"
    target.write_text(PROJECT.replace("<1.5", "<1.4"), encoding="utf-8")
    came = run("propose", "demo", "--target", str(target))
    assert "left of >=1.4,<1.4" in came.err
    assert "; the nearest that fits is 1.3" in came.err


def test_machines_get_every_field(demo: Path, run: Run) -> None:
    proven(demo)
    data = run("propose", "demo", "--json").json["data"]
    (one,) = [each for each in data["proposals"] if each["open"]]
    assert (one["id"], one["current"], one["proposed"], one["earliest"]) == (
        "raise-dep-1.2-to-1.4",
        "1.2",
        "1.4",
        "2026-04-01",
    )
    assert len(one["digest"]) == 64
    assert one["evidence"][0]["cell"] == cell("3.9", "1.4")
    assert "from 2026-04-01 on" in one["because"]
    assert [floor["axis"] for floor in data["floors"]] == ["python", "dep"]
    assert len(data["diffs"]) == 1


def test_a_day_in_the_past_is_looked_back_at_and_never_written(demo: Path, run: Run) -> None:
    came = run("propose", "demo", "--today", "2023-01-10")
    assert "back at 2023-01-10" in came.out
    assert "demo 1.0 of 2022-05-05," in came.out
    refused = run("propose", "demo", "--today", "2023-01-10", "--write")
    assert refused.code == 2


def test_on_a_later_day_old_runs_are_outdated(demo: Path, run: Run) -> None:
    proven(demo)
    came = run("propose", "demo", "--today", "2027-04-01")
    assert came.code == 0
    assert "291 days old, and fresh are at most 90" in came.out


@pytest.mark.parametrize("command", ["propose", "matrix schedule"])
def test_a_day_that_is_none_is_refused_in_one_line(demo: Path, run: Run, command: str) -> None:
    came = run(*command.split(), "demo", "--today", "tomorrow")
    assert (came.code, came.err.startswith("error: --today: 'tomorrow' ")) == (2, True)


@pytest.mark.parametrize("command", ["propose", "matrix schedule"])
def test_a_matrix_without_a_policy_is_refused_in_one_line(
    demo: Path, run: Run, command: str
) -> None:
    (demo / "policy.toml").unlink()
    came = run(*command.split(), "demo")
    assert came.code == 2
    assert came.err.startswith("error: matrices/demo/policy.toml: ")


class TestOpening:
    def test_without_a_token_ends_in_4(self, demo: Path, run: Run) -> None:
        proven(demo)
        assert run("propose", "demo", "--open", "--repository", "somebody/demo").code == 4

    def test_without_a_repository_is_wrong_usage(self, demo: Path, run: Run) -> None:
        assert run("propose", "demo", "--open").code == 2

    def test_a_dry_run_needs_no_token_and_shows_title_body_and_diff(
        self, demo: Path, run: Run
    ) -> None:
        proven(demo)
        came = run(
            "propose",
            "demo",
            "--open",
            "--dry-run",
            "--repository",
            "a/b",
            "--site",
            "https://c.example",
        )
        assert came.code == 0
        assert "minimum dep 1.2 to" in came.out
        assert f"(https://c.example/demo/cell/{cell('3.9', '1.4')}/)" in came.out
        assert "Close this pull request" in came.out
        assert "2 moves of minimum" in came.out


class TestTheSchedule:
    def test_says_when_in_words_that_mean_one_thing(self, demo: Path, run: Run) -> None:
        came = run("matrix", "schedule", "demo")
        assert came.code == 0
        assert "first release after 2026-04-01" in came.out
        assert "minimum may rise" in came.out

    def test_is_json_too(self, demo: Path, run: Run) -> None:
        data = run("matrix", "schedule", "demo", "--json").json["data"]
        assert [move["id"] for move in data["moves"]][:3] == [
            "python-3.11",
            "python-3.12",
            "dep-1.4",
        ]
        assert data["minimums"][0]["floors"] == {"python": "3.12", "dep": "1.4"}
        assert json.dumps(data["bars"])


@pytest.mark.slow
class TestTheRealMatrices:
    """Whatever has been run by now: laws only."""

    ROOT = str(Path(__file__).parents[2])

    @pytest.mark.parametrize("matrix", ["tff", "pip-tools"])
    def test_propose_moves_that_rest_on_cells_of_the_newest_release(
        self, run: Run, matrix: str
    ) -> None:
        came = run("propose", matrix, "--root", self.ROOT, "--json")
        found = came.json["data"]["proposals"]
        assert len({one["id"] for one in found}) == len(found)
        assert came.code == int(any(one["open"] for one in found))
        for one in found:
            series = ".".join(one["release"].split()[-1].split(".")[:2])
            assert all(series in each["cell"] for each in one["evidence"])
            assert bool(one["objections"]) is not one["open"]
            if one["open"]:
                assert any(each["supports"] and len(each["days"]) >= 2 for each in one["evidence"])

    def test_tell_what_a_maintainer_would_have_been_told_on_the_day_of_the_floor_debate(
        self, run: Run
    ) -> None:
        data = run("propose", "tff", "--root", self.ROOT, "--today", "2022-09-22", "--json").json[
            "data"
        ]
        assert data["looks_back"]
        assert {floor["axis"]: floor["at"] for floor in data["floors"]} == {
            "python": "3.9",
            "tf": "2.10",
        }
        assert {one["release"] for one in data["proposals"]} == {"tensorflow-federated 0.36.0"}
        (python,) = [one for one in data["proposals"] if one["axis"] == "python"]
        assert (python["kind"], python["proposed"], python["open"]) == ("lower", "3.8", False)
        for one in data["proposals"]:
            later = {f"tf2.{minor}" for minor in range(11, 22)} | {"py3.11", "py3.12", "py3.13"}
            assert not any(
                part in later for each in one["evidence"] for part in each["cell"].split("-")
            )

    def test_mark_what_only_the_index_of_today_tells_of_another_day(self, run: Run) -> None:
        told = run("propose", "tff", "--root", self.ROOT, "--today", "2024-10-01").out
        (line,) = (line for line in told.splitlines() if "the index has no such release" in line)
        assert " (as of 20" in line
        assert "--find-links https://" in line

    def test_have_a_schedule_of_three_years(self, run: Run) -> None:
        data = run("matrix", "schedule", "tff", "--root", self.ROOT, "--json").json["data"]
        assert {move["axis"] for move in data["moves"]} == {"python", "tf"}
        assert all(move["on"] <= data["until"] for move in data["moves"])
