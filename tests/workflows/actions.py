"""GitHub Actions here, as far as our workflows go: run lines as they stand, actions by what they do
to files.

Our own action and reusable workflow run from their files. An expression, an action or a key of a
step that is not known
here is an error: nothing is passed over in silence.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from support.zoo import shares

HERE = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((HERE / ".github" / "workflows").glob("*.yml"))
ACTIONS = [HERE / "action.yml", *sorted((HERE / ".github" / "actions").glob("*/action.yml"))]
# A repository of somebody who uses the action and the reusable workflow.
EXAMPLE = Path(__file__).parent / "example"
STEP_KEYS = {
    *("name", "id", "if", "uses", "with", "run", "env", "continue-on-error", "shell"),
    "timeout-minutes",
}
CALL_KEYS = {"name", "needs", "if", "uses", "with", "permissions"}
# A file of the workflow's own repository, at the commit that runs.
OWN = "$/"
# What another repository calls this one; what stands after the @ is the commit that it chose.
ELSEWHERE = re.compile(r"OWNER/compat/?(?P<path>[^@]*)@[0-9a-f]{40}")
# What a runner has, or may do, and this machine not: these note what they were asked, and do
# nothing. So `.ci/install`
# leaves the compat that is installed here: the code under test.
PRETEND = {
    "gh": 'echo "gh $*" >> "$PRETENDED"',
    "sudo": 'echo "sudo $*" >> "$PRETENDED"',
    "python": (
        # What is installed into a folder of its own leaves the code under test alone.
        'if [ "$1 $2" = "-m pip" ] && [ "${*/--target/}" = "$*" ]; then'
        ' echo "pip $*" >> "$PRETENDED"; else exec "$REAL_PYTHON" "$@"; fi'
    ),
}


def read(path: Path) -> dict[str, Any]:
    """Return a workflow or an action; the key `on` is read as text, not as the truth."""
    found = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    assert isinstance(found, dict)
    return found


@dataclass
class Job:
    """What a job came to."""

    result: str
    outputs: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)


@dataclass
class Scope:
    """A workflow that runs, with its inputs and what its jobs came to."""

    workflow: dict[str, Any]
    inputs: dict[str, str]
    jobs: dict[str, Job]


class Forge:
    """A repository with its runners: each job gets a fresh clone and a machine of its own,
    artifacts are folders.
    """

    def __init__(
        self, place: Path, origin: Path, environ: dict[str, str], inputs: dict[str, str]
    ) -> None:
        """Take a folder to work in, a bare repository with the branch main, and what
        workflow_dispatch is given.
        """
        self.place = place
        self.origin = origin
        self.artifacts = place / "artifacts"
        self.jobs: dict[str, Job] = {}
        # What GitHub was asked to sign: lines of sha256sum.
        self.attested: list[str] = []
        # Those of the reusable workflow that was called.
        self.called: dict[str, Job] = {}
        self.inputs = inputs
        self.github = {
            "ref_name": "main",
            "token": "not-a-token",
            "event.repository.default_branch": "main",
            "event.repository.private": "false",
            "event_name": "schedule",
        }
        tools = place / "tools"
        tools.mkdir(parents=True)
        for name, script in PRETEND.items():
            (tools / name).write_text(f"#!/usr/bin/env bash\n{script}\n", encoding="utf-8")
            (tools / name).chmod(0o755)
        self.environ = environ | {
            "PATH": os.pathsep.join(
                [str(tools), str(Path(sys.executable).parent), environ["PATH"]]
            ),
            "REAL_PYTHON": sys.executable,
            "PRETENDED": str(place / "pretended"),
            "GITHUB_REF_NAME": "main",
            "GITHUB_REPOSITORY": "someone/compat",
            "GITHUB_REPOSITORY_OWNER": "someone",
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_RUN_ID": "7",
            "UV_PYTHON_DOWNLOADS": "never",
        }

    def copy(self, place: Path) -> "Forge":
        """Return the same repository, artifacts and jobs in another folder, where they can
        be tampered with.
        """
        other = Forge(place, place / "origin.git", self.environ, self.inputs)
        shutil.copytree(self.origin, other.origin)
        shutil.copytree(self.artifacts, other.artifacts)
        other.jobs |= self.jobs
        other.called |= self.called
        return other

    def run_all(self, workflow: dict[str, Any], names: list[str]) -> None:
        """Run jobs of a workflow one after another; one that calls a workflow runs all jobs
        of that.
        """
        scope = Scope(workflow, self.inputs, self.jobs)
        for name in names:
            if "uses" in workflow["jobs"][name]:
                self.call(workflow, name, list(called_by(workflow, name)["jobs"]))
            else:
                self._run(scope, name)

    def call(self, workflow: dict[str, Any], name: str, names: list[str]) -> None:
        """Run the named jobs of the workflow that a job calls; with its last one, the job
        has come to something.
        """
        scope = Scope(workflow, self.inputs, self.jobs)
        job, called = workflow["jobs"][name], called_by(workflow, name)
        caller = Runner(self, scope, job, {}, name)
        if not caller.holds(job.get("if", "")):
            self.jobs[name] = Job("skipped")
            return
        scope = Scope(called, self.enter(workflow, name), self.called)
        for one in names:
            self._run(scope, one)
        results = [one.result for one in self.called.values()]
        if len(results) == len(called["jobs"]):
            outputs = called["on"]["workflow_call"]["outputs"]
            last = Runner(self, scope, job, {}, name)
            self.jobs[name] = Job(
                "failure" if "failure" in results else "success",
                {key: last.text(spec["value"]) for key, spec in outputs.items()},
            )

    def enter(self, workflow: dict[str, Any], name: str) -> dict[str, str]:
        """Return the inputs that the workflow which a job calls gets from it."""
        job, called = workflow["jobs"][name], called_by(workflow, name)
        assert set(job) <= CALL_KEYS, f"a call with unknown keys: {set(job) - CALL_KEYS}"
        caller = Runner(self, Scope(workflow, self.inputs, self.jobs), job, {}, name)
        given = {key: caller.text(value) for key, value in job["with"].items()}
        declared = called["on"]["workflow_call"]["inputs"]
        assert set(given) <= set(declared), "an input that is not declared"
        required = {key for key, spec in declared.items() if spec.get("required") == "true"}
        assert required <= set(given)
        for one in called["jobs"].values():
            # GitHub refuses to start a run whose called jobs ask for more than the caller has.
            asked = one["permissions"].items()
            assert all(job["permissions"].get(key) in (value, "write") for key, value in asked)
        return {key: spec.get("default", "") for key, spec in declared.items()} | given

    def _run(self, scope: Scope, name: str) -> None:
        """Run a job; one with a matrix once for each of its rows."""
        job = scope.workflow["jobs"][name]
        rows = job.get("strategy", {}).get("matrix")
        if rows is None:
            scope.jobs[name] = self._job(scope, name, {})
            return
        include = json.loads(Runner(self, scope, job, {}, name).text(rows))["include"]
        self.shards = [self._job(scope, name, row) for row in include]
        results = {shard.result for shard in self.shards} or {"skipped"}
        scope.jobs[name] = Job("failure" if "failure" in results else results.pop())

    def _job(self, scope: Scope, name: str, matrix: dict[str, Any]) -> Job:
        job = scope.workflow["jobs"][name]
        runner = Runner(self, scope, job, matrix, f"{name}-{matrix.get('shard', 0)}")
        needs = job.get("needs", [])
        waits = [needs] if isinstance(needs, str) else needs
        condition = job.get("if", "")
        sound = all(scope.jobs[one].result == "success" for one in waits)
        if not (runner.holds(condition) and (sound or "cancelled()" in condition)):
            return Job("skipped")
        return runner.job()


def called_by(workflow: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the reusable workflow that a job calls."""
    uses = workflow["jobs"][name]["uses"]
    elsewhere = ELSEWHERE.fullmatch(uses)
    return read(HERE / (elsewhere["path"] if elsewhere else uses.removeprefix(OWN)))


class Runner:
    """A machine that runs one job."""

    def __init__(
        self, forge: Forge, scope: Scope, job: dict[str, Any], matrix: dict[str, Any], name: str
    ) -> None:
        self.forge = forge
        self.folder = forge.place / "machines" / name
        self.spec = job
        self.jobs = scope.jobs
        self.inputs = scope.inputs
        self.matrix = matrix
        self.steps: dict[str, dict[str, str]] = {}
        self.failed = False
        self.number = 0
        self.action = ""
        self.env: dict[str, str] = {}
        self.env = {key: self.text(value) for key, value in scope.workflow.get("env", {}).items()}

    def job(self) -> Job:
        """Run every step whose condition holds."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shares(self.folder.parent / f"{self.folder.name}-cache")
        said = self._all(self.spec["steps"])
        outputs = {key: self.text(value) for key, value in self.spec.get("outputs", {}).items()}
        return Job("failure" if self.failed else "success", outputs, said)

    def _all(self, steps: list[dict[str, Any]]) -> dict[str, str]:
        said = {}
        for step in steps:
            self.number += 1
            assert set(step) <= STEP_KEYS, f"a step with unknown keys: {set(step) - STEP_KEYS}"
            assert step.get("shell", "bash") == "bash"
            condition = step.get("if", "")
            if (self.failed and "cancelled()" not in condition) or not self.holds(condition):
                continue
            sound, output = self._uses(step) if "uses" in step else self._runs(step, self.number)
            said[step.get("name", step.get("uses", ""))] = output
            if "id" in step:
                self.steps[step["id"]]["outcome"] = "success" if sound else "failure"
            self.failed |= not sound and step.get("continue-on-error") != "true"
        return said

    def _composite(self, path: Path, given: dict[str, str]) -> tuple[bool, str]:
        """Run the steps of an action of our own, which see its inputs and each other only."""
        action = read(path / "action.yml")
        assert set(given) <= set(action["inputs"])
        inputs = action["inputs"].items()
        assert {key for key, spec in inputs if spec.get("required") == "true"} <= set(given)
        outer = self.inputs, self.steps, self.action
        self.inputs = {key: spec.get("default", "") for key, spec in inputs} | given
        self.steps, self.action = {}, str(path)
        said = self._all(action["runs"]["steps"])
        self.inputs, self.steps, self.action = outer
        return not self.failed, "\n".join(said.values())

    def _runs(self, step: dict[str, Any], number: int) -> tuple[bool, str]:
        output = self.folder.parent / f"{self.folder.name}-{number}.output"
        output.write_text("", encoding="utf-8")
        assert "${{" not in step["run"], "an expression inside a run block"
        env = {key: self.text(value) for key, value in step.get("env", {}).items()}
        machine = {
            "COMPAT_CACHE_DIR": str(self.folder.parent / f"{self.folder.name}-cache"),
            "GITHUB_ACTION_PATH": self.action,
            "GITHUB_STEP_SUMMARY": str(output.with_suffix(".md")),
            "GITHUB_WORKSPACE": str(self.folder),
            "RUNNER_TEMP": str(self.folder.parent / f"{self.folder.name}-temporary"),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env={**self.forge.environ, **machine, **self.env, **env, "GITHUB_OUTPUT": str(output)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=min(300, 60 * int(step.get("timeout-minutes", 5))),
            check=False,
        )
        if "id" in step:
            lines = output.read_text(encoding="utf-8").splitlines()
            self.steps[step["id"]] = dict(line.partition("=")[::2] for line in lines)
        return done.returncode == 0, done.stdout

    def _uses(self, step: dict[str, Any]) -> tuple[bool, str]:
        action = step["uses"].partition("@")[0]
        given = {key: self.text(value) for key, value in step.get("with", {}).items()}
        if "id" in step:
            self.steps[step["id"]] = {}
        if action.startswith(OWN):
            return self._composite(HERE / action.removeprefix(OWN), given)
        if elsewhere := ELSEWHERE.fullmatch(step["uses"]):
            return self._composite(HERE / elsewhere["path"], given)
        match action:
            case "actions/checkout":
                return self._checkout(given)
            case "actions/setup-python":
                return True, ""
            case "actions/upload-artifact":
                return self._upload(
                    given["name"], given["path"].split(), given.get("if-no-files-found", "warn")
                )
            case "actions/download-artifact":
                return self._download(given)
            case "actions/upload-pages-artifact":
                return self._upload("github-pages", [given["path"]], "error")
            case "actions/attest-build-provenance":
                permissions = {"id-token": "write", "attestations": "write"}
                assert self.spec["permissions"] == permissions
                path = self.folder / given["subject-checksums"]
                subjects = path.read_text(encoding="utf-8").splitlines()
                assert 0 < len(subjects) <= 1024, "GitHub takes no more at once"
                self.forge.attested += subjects
                return True, ""
            case "actions/deploy-pages":
                self.steps[step["id"]] = {"page_url": "https://someone.github.io/compat/"}
                return any(_files(self.forge.artifacts / "github-pages")), ""
        raise AssertionError(f"no such action is known here: {action}")

    def _checkout(self, given: dict[str, str]) -> tuple[bool, str]:
        assert given["persist-credentials"] == "false"
        depth = [] if given.get("fetch-depth") == "0" else ["--depth", "1"]
        command = ["git", "clone", "--quiet", *depth, "--branch", given.get("ref", "main")]
        place = self.folder / given.get("path", "")
        done = subprocess.run([*command, self.forge.origin.as_uri(), str(place)], check=False)
        return done.returncode == 0, ""

    def _upload(self, name: str, paths: list[str], missing: str) -> tuple[bool, str]:
        found = [path for path in paths if (self.folder / path).exists()]
        target = self.forge.artifacts / name
        assert not target.exists(), f"two artifacts {name}"
        files = [file for path in found for file in _files(self.folder / path)]
        if not files:
            assert missing in ("ignore", "error")
            return missing == "ignore", "no files"
        if len(found) == 1:
            base = self.folder / found[0]
        else:
            base = Path(os.path.commonpath([self.folder / path for path in found]))
        for file in files:
            place = target / file.relative_to(base if base.is_dir() else base.parent)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        return True, ""

    def _download(self, given: dict[str, str]) -> tuple[bool, str]:
        whole = [self.forge.artifacts / given["name"]] if "name" in given else []
        if not all(artifact.is_dir() for artifact in whole):
            return False, "there is no such artifact"
        for artifact in whole or sorted(self.forge.artifacts.glob(given["pattern"])):
            into = self.folder / given["path"] / ("" if whole else artifact.name)
            shutil.copytree(artifact, into, dirs_exist_ok=True, symlinks=True)
        return True, ""

    def holds(self, condition: str) -> bool:
        """Return whether an `if` holds; without one it does."""
        inner = re.fullmatch(r"\$\{\{ (.*) \}\}", condition)
        parts = (inner[1] if inner else condition).split(" && ") if condition else []
        return all(self._part(part) for part in parts)

    def _part(self, part: str) -> bool:
        if part == "!cancelled()":
            return True
        if truth := re.fullmatch(r"(!?)([\w.-]+)", part):
            return (self.term(truth[2]) not in ("", "false")) is (truth[1] == "")
        compared = re.fullmatch(r"(\S+) (==|!=) (.+)", part)
        assert compared, f"no such condition is known here: {part}"
        left, sign, right = compared.groups()
        return (self.term(left) == self.term(right)) is (sign == "==")

    def text(self, value: str) -> str:
        """Return a text with its expressions filled in."""
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.term(found[1]), value)

    def term(self, term: str) -> str:
        """Return what a term of an expression stands for."""
        if literal := re.fullmatch(r"'([^']*)'", term):
            return literal[1]
        if either := re.fullmatch(r"(\S+) \|\| '([^']*)'", term):
            return self.term(either[1]) or either[2]
        if inner := re.fullmatch(r"fromJSON\((.+)\)", term):
            return self.term(inner[1])
        match term.split("."):
            case ["env", name]:
                return self.env[name]
            case ["inputs", name]:
                return self.inputs.get(name, "")
            case ["matrix", name]:
                return str(self.matrix[name])
            case ["github", *names]:
                return self.forge.github[".".join(names)]
            case ["needs", job, "outputs", name]:
                return self.jobs[job].outputs.get(name, "")
            case ["needs", job, "result"]:
                return self.jobs[job].result
            case ["jobs", job, "outputs", name]:
                return self.jobs[job].outputs.get(name, "")
            case ["steps", step, "outputs", name]:
                return self.steps.get(step, {}).get(name, "")
            case ["steps", step, "outcome"]:
                return self.steps.get(step, {}).get("outcome", "skipped")
        raise AssertionError(f"no such expression is known here: {term}")


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
