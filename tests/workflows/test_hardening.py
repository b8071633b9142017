"""What every workflow must hold to, besides what `nox -s check` asks of zizmor and the schema."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from actions import ACTIONS, ELSEWHERE, EXAMPLE, HERE, OWN, WORKFLOWS, called_by, read
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from compat.cli.app import called, declared_by
from compat.cli.arguments import SHARED

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

PINNED = re.compile(r"\s*-? *uses: (?P<action>[\w./-]+)@(?P<sha>[0-9a-f]{40}) # v\d+\.\d+\.\d+")
WRITERS = {
    ("cells", "record"),
    ("cells", "attest"),
    ("library", "cells"),
    ("library", "deploy"),
    ("matrix", "library"),
    ("bump", "cells"),
    ("bump", "open"),
    ("release", "publish"),
    # Of the example.
    ("compat", "compat"),
    ("floors", "propose"),
}
# The commands that run cells whenever they are called.
RUNNING = {"run", "diff", "floor", "blame"}
EXAMPLES = sorted((EXAMPLE / ".github" / "workflows").glob("*.yml"))


def jobs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from read(path)["jobs"].items()


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the steps of a workflow or of an action of our own; a job that calls a workflow has
    none.
    """
    if path in ACTIONS:
        yield from read(path)["runs"]["steps"]
        return
    for _, job in jobs(path):
        yield from job.get("steps", [])


FILES = [*WORKFLOWS, *EXAMPLES, *ACTIONS]


@pytest.mark.parametrize("path", [*WORKFLOWS, *EXAMPLES], ids=lambda path: path.stem)
class TestEveryWorkflow:
    def test_has_no_permission_of_its_own_and_each_job_says_what_it_needs(self, path: Path) -> None:
        assert read(path)["permissions"] == {}
        for name, job in jobs(path):
            assert job["permissions"], f"{name} says nothing"

    def test_only_jobs_that_run_nothing_of_others_may_write(self, path: Path) -> None:
        writers = {
            (path.stem, name) for name, job in jobs(path) if "write" in job["permissions"].values()
        }
        assert writers <= WRITERS
        for name, job in jobs(path):
            if (path.stem, name) in writers:
                ran = " ".join(step.get("run", "") for step in job.get("steps", []))
                assert not re.search(r"compat (run|lock)|nox -s (cell|matrix|tests)", ran)

    def test_a_caller_grants_what_the_called_jobs_need_and_no_more(self, path: Path) -> None:
        for name, job in jobs(path):
            if "uses" in job:
                needed: dict[str, str] = {}
                for called in called_by(read(path), name)["jobs"].values():
                    needed |= {
                        key: value
                        for key, value in called["permissions"].items()
                        if value == "write"
                    }
                assert job["permissions"] == needed
                assert "secrets" not in job

    def test_every_job_ends_in_time(self, path: Path) -> None:
        # A job that calls a workflow can have no limit; those that are called have theirs.
        assert all(
            0 < int(job["timeout-minutes"]) <= 350 for _, job in jobs(path) if "uses" not in job
        )

    def test_a_checkout_leaves_no_credentials_behind(self, path: Path) -> None:
        checkouts = [
            step for step in steps(path) if step.get("uses", "").startswith("actions/checkout")
        ]
        assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)

    def test_only_one_runs_at_a_time_and_nobody_elses_event_starts_it_with_our_rights(
        self, path: Path
    ) -> None:
        found = read(path)
        # Of a called workflow the callers say so: with their own group it would wait for itself.
        assert ("concurrency" in found) is ("workflow_call" not in found["on"])
        assert found.get("concurrency", {"group": "its caller's"})["group"]
        assert not set(found["on"]) & {
            "pull_request_target",
            "workflow_run",
            "issue_comment",
            "issues",
        }

    def test_a_token_is_seen_by_single_steps_only(self, path: Path) -> None:
        found = read(path)
        assert "token" not in str(found.get("env", {})).lower()
        assert all("token" not in str(job.get("env", {})).lower() for _, job in jobs(path))
        assert "secrets." not in path.read_text(encoding="utf-8")

    def test_a_schedule_avoids_the_full_hour_when_all_others_start(self, path: Path) -> None:
        for one in read(path)["on"].get("schedule", []):
            assert int(one["cron"].split()[0]) % 5


@pytest.mark.parametrize(
    "path", FILES, ids=lambda path: path.parent.name if path in ACTIONS else path.stem
)
class TestEveryFile:
    def test_every_action_is_pinned_by_its_commit_and_names_its_version(self, path: Path) -> None:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
        others = [line for line in lines if f"uses: {OWN}" not in line]
        assert all("OWNER" not in line for line in lines) or path in EXAMPLES
        assert [line for line in others if not PINNED.fullmatch(line)] == []

    def test_an_action_or_a_workflow_of_our_own_exists(self, path: Path) -> None:
        own = re.findall(r"uses: \$/(\S+)", path.read_text(encoding="utf-8"))
        assert [
            name
            for name in own
            if HERE / name not in FILES and HERE / name / "action.yml" not in FILES
        ] == []

    def test_the_same_action_is_the_same_commit_everywhere(self, path: Path) -> None:
        text = "\n".join(one.read_text(encoding="utf-8") for one in FILES)
        found = {(match["action"], match["sha"]) for match in PINNED.finditer(text)}
        assert len(found) == len({action for action, _ in found})

    def test_what_cells_make_us_print_is_no_order_to_the_runner(self, path: Path) -> None:
        for step in steps(path):
            for command in (*RUNNING, "matrix variants", '"$COMMAND"'):
                before, runs, _ = step.get("run", "").partition(f"compat {command} ")
                assert not runs or "::stop-commands::$token" in before

    def test_cells_run_at_the_level_that_keeps_them_from_records(self, path: Path) -> None:
        lines = [line for step in steps(path) for line in step.get("run", "").splitlines()]
        for line in lines:
            if any(f"compat {command} " in line for command in RUNNING):
                assert "--isolation L3" in line
        if path == HERE / "action.yml":
            own = " ".join(line for line in lines if "--isolation L3" in line)
            assert set(own.replace(")", " ").split()) >= RUNNING

    def test_no_expression_stands_inside_a_run_block(self, path: Path) -> None:
        assert [step["run"] for step in steps(path) if "${{" in step.get("run", "")] == []


def test_each_step_is_a_command_that_a_person_can_run() -> None:
    tools = re.compile(
        r"\"\$GITHUB_ACTION_PATH/|compat |nox |gh auth |rm -rf (\"matrices/|\.measured)|mkdir "
        r"|touch |sudo |git ls-files |cp -R \.measured/|git add --force matrices"
        r"|uv run python tools/|python -m pip install "
        r"|PYTHONPATH=\"\$place\" python "
    )
    shell = re.compile(
        r"exit 1|if (grep|\[ -d|\[ \"\$(ONLY_PROPOSED|RECORDS)\" = \S+ \]; then own=)|for lock"
        r"|done$|fi$|(shards|site|token|jobs|place|own|SITE|lists)=|case|esac|[a-z |]+\) own="
        r"|if \[ \"\$COMMAND\" = publish"
        r"|echo \"(shards|sound|jobs|lists|::|\$PLAN\" > plan|\$lock )"
    )
    for path in FILES:
        for step in steps(path):
            for line in step.get("run", "").splitlines():
                assert tools.match(line.strip()) or shell.match(line.strip()), (
                    f"{path.name}: {line}"
                )


def test_each_command_and_session_in_a_workflow_exists() -> None:
    shared = {name for option in SHARED.values() for name in option.names}
    sessions = set(
        re.findall(
            r"^def (\w+)\(session", (HERE / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    ran = [step.get("run", "") for path in FILES for step in steps(path)]
    typed = re.findall(r"\bcompat (\w[^|;\n]*)", "\n".join(ran))
    found = [called(words.split()) for words in typed]
    assert {key for key, _, _ in found} >= {
        "plan",
        "run",
        "record",
        "keep",
        "watchdog",
        "health",
    }
    for name, _, words in found:
        known = {n for parameter in declared_by(name)[1] for n in parameter.names} | shared
        assert set(re.findall(r"--[a-z-]+", " ".join(words))) <= known, f"compat {name} {words}"
    asked = set(re.findall(r"nox (?:-f \S+ )?-s (\w+)", "\n".join(ran)))
    assert asked <= sessions
    assert asked == {"check", "tests", "hard", "interpreters", "distributions"}


def test_what_the_workflows_install_is_what_the_project_asks_for() -> None:
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    extras = project["project"]["optional-dependencies"]
    texts = [*project["project"]["dependencies"], *groups["build"], *groups["sessions"]]
    texts += [*extras["site"], *extras["sources"]]
    text = (HERE / ".ci" / "requirements.txt").read_text(encoding="utf-8")
    pinned: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)", text, re.MULTILINE):
        pinned.setdefault(canonicalize_name(name), []).append(version)
    for one in map(Requirement, texts):
        found = pinned.get(canonicalize_name(one.name), [])
        assert found, f"{one.name} is not in .ci/requirements.txt: nox -s requirements"
        assert all(version in one.specifier for version in found), f"{one} is pinned to {found}"
    assert "://" not in text


def test_dependabot_keeps_the_pins_moving() -> None:
    found = yaml.safe_load((HERE / ".github" / "dependabot.yml").read_text(encoding="utf-8"))
    (update,) = found["updates"]
    assert update["package-ecosystem"] == "github-actions"
    own = {f"/{path.parent.relative_to(HERE).as_posix()}".removesuffix(".") for path in ACTIONS}
    assert set(update["directories"]) == {"/"} | own


def test_pull_requests_and_nights_have_the_pythons_of_the_matrix() -> None:
    workflows = HERE / ".github" / "workflows"
    asked = [
        step["with"]["interpreters"]
        for name in ("library.yml", "cells.yml")
        for step in steps(workflows / name)
        if "with" in step and "interpreters" in step["with"]
    ]
    matrix = "matrices/${{ inputs.matrix }}/matrix.toml"
    assert asked == [matrix, matrix, matrix, "${{ matrix.pythons }}"]


def test_an_adopter_calls_the_reusable_workflow_in_six_lines() -> None:
    text = (EXAMPLE / ".github" / "workflows" / "compat.yml").read_text(encoding="utf-8")
    lines = text[text.index("jobs:\n") :].splitlines()
    assert len(lines) == 6
    assert ELSEWHERE.match(lines[3].split("uses: ")[1])
