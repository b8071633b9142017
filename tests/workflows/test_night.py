"""The example's workflows from their files: plan, two shards, record, publish, in clones of a
repository with a ferry that calls the reusable workflow and the action.
"""

import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from actions import EXAMPLE, HERE, Forge, Job, read
from support import github_server
from support.fake_index import FakeIndex
from support.github_api import GitHubApi, serving
from support.made_records import cells_in
from support.zoo import SERIES, pytest_and_its_needs, repacked, serve, wheel

from compat.lock.lockfile import decode_pins, lock_digest
from compat.results.learnt import decode_answers, encode_answers
from compat.results.record import Record, decode_line
from compat.results.record_files import RecordFiles

pytestmark = pytest.mark.slow

PATCH = ".".join(map(str, sys.version_info[:3]))
WORKFLOW = read(HERE / ".github" / "workflows" / "library.yml")
CALLER = read(EXAMPLE / ".github" / "workflows" / "compat.yml")
FLOORS = read(EXAMPLE / ".github" / "workflows" / "floors.yml")
BUMP = read(HERE / ".github" / "workflows" / "bump.yml")


def copied(root: Path) -> None:
    """Copy the example, with a matrix on the Python that is here."""
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns("__pycache__"))
    path = root / "matrices" / "ferry" / "matrix.toml"
    text = path.read_text(encoding="utf-8")
    text = text.replace('releases = ["3.12"]', f'releases = ["{PATCH}"]').replace("3.12", SERIES)
    path.write_text(text, encoding="utf-8")


def served(index: FakeIndex) -> None:
    pure = "py3-none-any"
    # The example is built by setuptools.
    for name, version, content in (*pytest_and_its_needs(), repacked("setuptools", True)):
        serve(index, name, [(version, content, pure)])
    boats = [(version, {"boat.py": f"NAME = {version!r}\n"}) for version in ("1.0", "2.0")]
    ferries = [
        ("1.0", {"ferry.py": "FLOATS = True\n"}),
        ("2.0", {"ferry.py": "import boat\nFLOATS = boat.NAME < '2'\n"}),
    ]
    serve(
        index,
        "boat",
        [(version, wheel("boat", version, files, []), pure) for version, files in boats],
    )
    serve(
        index,
        "ferry",
        [
            (version, wheel("ferry", version, files, ["boat>=1"]), pure)
            for version, files in ferries
        ],
    )


def git(*words: str, cwd: Path) -> str:
    named = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    return subprocess.run(
        ["git", *named, *words], cwd=cwd, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def github() -> Iterator[GitHubApi]:
    with serving() as api:
        yield api


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory, github: GitHubApi) -> Iterator[Forge]:
    place = tmp_path_factory.mktemp("night")
    index = FakeIndex()
    served(index)
    root, origin = place / "root", place / "origin.git"
    copied(root)
    git("init", "--quiet", "--initial-branch=main", cwd=root)
    git("add", "--all", cwd=root)
    git("commit", "--quiet", "--message", "A ferry", cwd=root)
    git("clone", "--quiet", "--bare", str(root), str(origin), cwd=place)
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PIP_", "UV_", "GITHUB_", "GIT_"))
    }
    environ = kept | {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": index.url,
        "UV_HTTP_RETRIES": "0",
        "COLUMNS": "120",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "GITHUB_API_URL": github.url,
    }
    inputs = Forge(place / "caller", origin, environ, {}).enter(CALLER, "compat")
    asked = {"budget": "7m", "shards": "2", "records": "main"}
    forge = Forge(place, origin, environ, inputs | asked)
    forge.jobs["head"] = Job("skipped")
    yield forge
    index.stop()


@pytest.fixture(scope="module")
def night(forge: Forge) -> Forge:
    """The forge after the jobs that plan and run."""
    forge.call(WORKFLOW, "cells", ["plan", "shards"])
    return forge


@pytest.fixture(scope="module")
def recorded(night: Forge, tmp_path_factory: pytest.TempPathFactory) -> Forge:
    """A copy of that forge after the job that records, too."""
    forge = night.copy(tmp_path_factory.mktemp("recorded"))
    forge.call(WORKFLOW, "cells", ["record", "attest"])
    return forge


def cells_of(forge: Forge) -> list[str]:
    rows = json.loads(forge.called["plan"].outputs["shards"])["include"]
    return [cell for row in rows for cell in row["cells"].split()]


def passed_on(folder: Path) -> list[dict[str, Any]]:
    """The records that a shard handed on."""
    paths = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines()]


def recorded_in(origin: Path, branch: str) -> list[Record]:
    """The records of ferry on a branch."""
    folder = "matrices/ferry/records/"
    names = git("ls-tree", "-r", "--name-only", branch, folder, cwd=origin).split()
    texts = [git("show", f"{branch}:{name}", cwd=origin) for name in names if name[-1] == "l"]
    return [decode_line(line.encode(), "a test") for text in texts for line in text.splitlines()]


def plain_of(forge: Forge) -> dict[str, str]:
    """What a resolver said of each plain install that the plan's job asked about."""
    path = forge.artifacts / "plan" / "plain.json"
    answers = decode_answers(path.read_text(encoding="utf-8"), path.name)
    return {cell: answer.outcome for cell, answer in answers.items()}


def test_the_plan_packs_what_fits_into_two_shards_and_says_what_was_left_out(night: Forge) -> None:
    plan = night.called["plan"]
    assert plan.result == "success", plan.said
    rows = json.loads(plan.outputs["shards"])["include"]
    assert [row["shard"] for row in rows] == [1, 2]
    assert {row["pythons"] for row in rows} == {SERIES}
    # Nothing ran yet, so each cell is expected to take two minutes, of the four that a shard has.
    assert len(cells_of(night)) == 4
    assert "in run 2" in plan.said["Plan what runs, and lock it"]
    assert (night.artifacts / "plan" / "catalogue.json").is_file()
    locks = {path.stem for path in (night.artifacts / "plan" / "locks").iterdir()}
    assert locks == {*cells_of(night), *plain_of(night)}


def test_the_plan_asks_what_plain_installs_come_to(night: Forge) -> None:
    newest = {f"py{SERIES}-boat2.0-ferry{release}" for release in ("1.0", "2.0")}
    assert plain_of(night) == dict.fromkeys(newest, "locked")


def test_each_shard_hands_on_the_records_of_its_own_cells(night: Forge) -> None:
    assert night.called["shards"].result == "success", [shard.said for shard in night.shards]
    rows = json.loads(night.called["plan"].outputs["shards"])["include"]
    for row in rows:
        handed = night.artifacts / f"records-{row['shard']}"
        assert sorted(record["cell"] for record in passed_on(handed)) == sorted(
            row["cells"].split()
        )


def test_a_shard_that_hands_on_more_than_sound_records_is_found_out_and_the_sound_ones_are_kept(
    night: Forge, tmp_path: Path
) -> None:
    forged = night.copy(tmp_path)
    first = sorted((forged.artifacts / "records-1").glob("*.jsonl"))[0]
    first.write_text(
        first.read_text(encoding="utf-8").replace('"outcome":"', '"outcome":"pass', 1),
        encoding="utf-8",
    )
    (forged.artifacts / "records-2" / "conftest.py").write_text(
        "raise SystemExit\n", encoding="utf-8"
    )
    (forged.artifacts / "records-2" / "token.json").symlink_to("/etc/passwd")
    forged.call(WORKFLOW, "cells", ["record", "attest"])
    assert forged.called["record"].result == "failure"
    assert (forged.jobs["cells"].result, forged.jobs["cells"].outputs) == ("failure", {"sound": ""})
    # The pages tell what is known; nothing is proposed before people looked.
    forged.run_all(WORKFLOW, ["publish"])
    assert forged.jobs["publish"].result == "success", forged.jobs["publish"].said
    forged.run_all(BUMP, ["open"])
    assert forged.jobs["open"].result == "skipped"
    said = forged.called["record"].said["Keep the sound records"]
    assert "its digest differs" in said
    assert "conftest.py: is not" in said
    assert "token.json: is a" in said
    assert len(recorded_in(forged.origin, "main")) == len(cells_of(night)) - 1


def test_a_shard_that_hands_on_what_another_was_to_run_or_another_run_made_is_found_out(
    night: Forge, tmp_path: Path
) -> None:
    forged = night.copy(tmp_path)
    mine, another = (
        next((forged.artifacts / f"records-{shard}").glob("*.jsonl")) for shard in (1, 2)
    )
    # A forger needs no tool but the tool: a green record of one shard's cell in the other's
    # name, and one of last week.
    lines = mine.read_bytes().splitlines(keepends=True)
    record = decode_line(lines[0], "a test")
    foreign = another.read_bytes().splitlines(keepends=True)[0]
    mine.write_bytes(b"".join([*lines[1:], foreign]))
    week = datetime.timedelta(days=6)
    old = msgspec.structs.replace(record, started=record.started - week, attempts=())
    (tmp_path / "forger" / "ferry").mkdir(parents=True)
    RecordFiles(tmp_path / "forger" / "ferry").add(old)
    shutil.copytree(
        tmp_path / "forger" / "ferry" / "records",
        forged.artifacts / "records-1",
        dirs_exist_ok=True,
    )
    forged.call(WORKFLOW, "cells", ["record", "attest"])
    said = forged.called["record"].said["Keep the sound records"]
    assert "records-2/" in said
    assert "it started at" in said
    assert len(recorded_in(forged.origin, "main")) == len(cells_of(night)) - 1


def test_where_the_branch_is_protected_what_was_learnt_becomes_a_pull_request(
    night: Forge, github: GitHubApi, tmp_path: Path
) -> None:
    guarded = night.copy(tmp_path)
    hook = guarded.origin / "hooks" / "update"
    hook.write_text(
        '#!/bin/sh\n[ "$1" != refs/heads/main ] || { echo "GH006: protected branch"; exit 1; }\n'
    )
    hook.chmod(0o755)
    before = git("rev-parse", "main", cwd=guarded.origin)
    guarded.call(WORKFLOW, "cells", ["record", "attest"])
    assert guarded.called["record"].result == "success", guarded.called["record"].said
    assert git("rev-parse", "main", cwd=guarded.origin) == before
    (branch,) = git(
        "branch", "--list", "compat/*", "--format=%(refname:short)", cwd=guarded.origin
    ).split()
    assert len(recorded_in(guarded.origin, branch)) == len(cells_of(night))
    (pull,) = github.pulls
    assert (pull["base"], pull["head"]) == ("main", branch)
    assert pull["title"].endswith(" of ferry")


def test_a_plan_that_hands_on_more_than_sound_locks_is_found_out_and_nothing_else_of_it_is_taken(
    night: Forge, tmp_path: Path
) -> None:
    forged = night.copy(tmp_path)
    (forged.artifacts / "plan" / "matrix.toml").write_text("overwritten", encoding="utf-8")
    (forged.artifacts / "plan" / "catalogue.json").write_text("overwritten", encoding="utf-8")
    first, *others = sorted((forged.artifacts / "plan" / "locks").iterdir())
    text = first.read_text(encoding="utf-8")
    digest = text[text.index("sha256:") + 7 :][:64]
    pins = text[text.index("\n", text.index("# digest")) + 1 :].replace(digest, "ab" * 32)
    head = text[: text.index("# digest")]
    first.write_text(f"{head}# digest: {lock_digest(decode_pins(pins))}\n{pins}", encoding="utf-8")
    forged.call(WORKFLOW, "cells", ["record", "attest"])
    assert forged.called["record"].result == "failure"
    said = forged.called["record"].said
    assert "does not list" in said["Keep the sound locks and answers"]
    assert "has none here" in said["Keep the sound records"]
    kept = git("ls-tree", "-r", "--name-only", "main", "matrices/ferry", cwd=forged.origin).split()
    assert {Path(name).name for name in kept if "/locks/" in name} == {path.name for path in others}
    assert "overwritten" not in git("show", "main:matrices/ferry/matrix.toml", cwd=forged.origin)
    assert "overwritten" not in git("show", "main:matrices/ferry/catalogue.json", cwd=forged.origin)


def test_a_plan_that_hands_on_a_forged_answer_is_found_out_and_the_sound_ones_are_kept(
    night: Forge, tmp_path: Path
) -> None:
    forged = night.copy(tmp_path)
    path = forged.artifacts / "plan" / "plain.json"
    text = path.read_text(encoding="utf-8")
    cell, other = sorted(plain_of(night))
    path.write_text(text.replace(cell, f"py{SERIES}-boat1.0-ferry1.0"), encoding="utf-8")
    forged.call(WORKFLOW, "cells", ["record", "attest"])
    assert forged.called["record"].result == "failure"
    said = forged.called["record"].said["Keep the sound locks and answers"]
    assert "plain install" in said
    answers = decode_answers(
        git("show", "main:matrices/ferry/plain.json", cwd=forged.origin), path.name
    )
    assert set(answers) == {other}


def test_the_records_are_committed_and_the_pages_are_published(
    recorded: Forge, tmp_path: Path
) -> None:
    assert recorded.called["record"].result == "success", recorded.called["record"].said
    assert (recorded.jobs["cells"].result, recorded.jobs["cells"].outputs) == (
        "success",
        {"sound": "true"},
    )
    assert git("log", "-1", "--format=%s%n%an", "main", cwd=recorded.origin).endswith(
        " of ferry\ngithub-actions[bot]\n"
    )
    changed = git("diff", "--name-only", "main~1", "main", cwd=recorded.origin).split()
    assert {name.split("/")[2] for name in changed} == {
        *("catalogue.json", "locks", "plain.json", "platforms", "probes.json", "records")
    }
    clone = tmp_path / "clone"
    git("clone", "--quiet", str(recorded.origin), str(clone), cwd=tmp_path)
    store = RecordFiles(clone / "matrices" / "ferry")
    assert sorted(cells_in(store)) == sorted(cells_of(recorded))
    outcomes = {
        cell: str(record.outcome) for cell in cells_in(store) for record in store.records(cell)
    }
    red = {cell for cell, outcome in outcomes.items() if outcome.startswith("test-fail:assertion")}
    assert {record.run_url for cell in cells_in(store) for record in store.records(cell)} == {
        "https://github.com/someone/compat/actions/runs/7"
    }
    # Of each record GitHub signs that this workflow took the file that is in the commit.
    assert {line.split("  ")[1]: line.split("  ")[0] for line in recorded.attested} == {
        name: hashlib.sha256((clone / name).read_bytes()).hexdigest()
        for name in changed
        if name.endswith(".jsonl")
    }
    assert red == {cell for cell in cells_of(recorded) if "boat2.0" in cell}
    assert {outcome for cell, outcome in outcomes.items() if cell not in red} == {"pass"}
    recorded.run_all(WORKFLOW, ["publish", "deploy"])
    assert recorded.jobs["publish"].result == "success", recorded.jobs["publish"].said
    assert recorded.jobs["deploy"].result == "success"


def test_unless_asked_nothing_is_committed_to_the_default_branch(
    night: Forge, tmp_path: Path
) -> None:
    apart = night.copy(tmp_path)
    apart.inputs = night.inputs | {"records": "compat-records"}
    before = git("log", "--format=%s", "main", cwd=apart.origin)
    apart.call(WORKFLOW, "cells", ["record", "attest"])
    assert apart.called["record"].result == "success", apart.called["record"].said
    assert git("log", "--format=%s", "main", cwd=apart.origin) == before
    names = git("ls-tree", "-r", "--name-only", "compat-records", cwd=apart.origin).split()
    assert {name.split("/")[2] for name in names} >= {"catalogue.json", "locks", "records"}
    assert "matrices/ferry/matrix.toml" not in names
    # The site has them, and the checkout beside the releases.
    apart.run_all(WORKFLOW, ["head", "publish"])
    assert apart.jobs["head"].result == "success", apart.jobs["head"].said
    assert apart.jobs["publish"].result == "success", apart.jobs["publish"].said
    pages = (apart.artifacts / "github-pages").rglob("index.html")
    assert any("HEAD is commit" in page.read_text(encoding="utf-8") for page in pages)
    assert git("log", "--format=%s", "main", cwd=apart.origin) == before


def test_other_platforms_are_asked_and_their_runners_install_what_has_a_lock(
    recorded: Forge,
) -> None:
    folder = "matrices/ferry/platforms/macos-arm64"
    names = git("ls-tree", "-r", "--name-only", "main", folder, cwd=recorded.origin).split()
    newest = [f"{folder}/locks/py{SERIES}-boat2.0-ferry{release}.txt" for release in ("1.0", "2.0")]
    assert names == [f"{folder}/answers.json", *newest]
    recorded.run_all(WORKFLOW, ["platforms", "install"])
    assert recorded.jobs["platforms"].result == "success", recorded.jobs["platforms"].said
    (row,) = json.loads(recorded.jobs["platforms"].outputs["jobs"])["include"]
    assert (row["runner"], row["python"], row["locks"].split()) == ("macos-14", SERIES, newest)
    said = recorded.jobs["platforms"].said["Say which runners try what"]
    assert "Linux x86-64 with musl" in said
    (install,) = recorded.shards
    # ferry 2.0 and boat 2.0 are no friends, and its import says nothing of that.
    assert recorded.jobs["install"].result == "success", install.said
    assert f"{newest[1]} installs, and ferry imports" in "".join(install.said.values())


def test_the_weekly_workflow_runs_what_proposals_wait_for_unless_it_ran_today(
    recorded: Forge, tmp_path: Path
) -> None:
    week = Forge(tmp_path, recorded.origin, recorded.environ, recorded.inputs)
    week.call(BUMP, "cells", ["plan"])
    assert week.called["plan"].result == "success", week.called["plan"].said
    assert not set(cells_of(week)) & set(cells_of(recorded))


def test_the_next_night_plans_what_was_left_out_and_knows_how_long_it_takes(
    recorded: Forge, tmp_path: Path
) -> None:
    done = set(cells_of(recorded))
    later = Forge(tmp_path, recorded.origin, recorded.environ, recorded.inputs)
    later.call(WORKFLOW, "cells", ["plan"])
    assert later.called["plan"].result == "success", later.called["plan"].said
    assert cells_of(later)
    assert not set(cells_of(later)) & done, later.called["plan"].said
    # Four cells of some seconds need no second machine.
    assert len(json.loads(later.called["plan"].outputs["shards"])["include"]) == 1
    assert "left out" not in later.called["plan"].said["Plan what runs, and lock it"]


def test_a_cell_that_waits_for_a_first_run_runs_the_core_in_a_shard_and_no_other_tier_is_taken(
    recorded: Forge, tmp_path: Path
) -> None:
    forge = recorded.copy(tmp_path / "before")
    cell, clone = f"py{SERIES}-boat2.0-ferry1.0", tmp_path / "clone"
    git("clone", "--quiet", str(forge.origin), str(clone), cwd=tmp_path)
    folder = clone / "matrices" / "ferry"
    text = (folder / "matrix.toml").read_text(encoding="utf-8")
    core = text.replace('path = "suite"', 'path = "suite", core = ["*floats"]')
    (folder / "matrix.toml").write_text(core, encoding="utf-8")
    # All that is known of it is that a resolver found packages for it.
    for path in (folder / "records").glob("*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for line in lines if json.loads(line)["cell"] != cell))
    (folder / "locks" / f"{cell}.txt").unlink()
    answers = decode_answers((folder / "plain.json").read_text(encoding="utf-8"), "plain.json")
    (folder / "plain.json").unlink()
    (folder / "probes.json").write_text(encode_answers([answers[cell]]), encoding="utf-8")
    git("add", "--all", cwd=clone)
    git("commit", "--quiet", "--message", "Name a core", cwd=clone)
    git("push", "--quiet", cwd=clone)
    later = Forge(tmp_path / "later", forge.origin, forge.environ, forge.inputs)
    later.call(WORKFLOW, "cells", ["plan", "shards"])
    rows = json.loads(later.called["plan"].outputs["shards"])["include"]
    assert [row["shard"] for row in rows if cell in row["smoke"].split()]
    assert cell not in cells_of(later)
    forged = later.copy(tmp_path / "forged")
    later.call(WORKFLOW, "cells", ["record", "attest"])
    assert later.called["record"].result == "success", later.called["record"].said
    [kept] = [one for one in recorded_in(later.origin, "main") if one.cell == cell]
    assert (kept.tier, str(kept.outcome)) == ("smoke", "pass")
    assert [capability.id for capability in kept.capabilities] == [
        "test_ferry.py::test_the_ferry_floats"
    ]
    # A whole run of it was not asked for, and nobody knows what it would have said.
    [path] = [
        path
        for path in forged.artifacts.glob("records-*/*.jsonl")
        if cell in [record["cell"] for record in passed_on(path.parent)]
    ]
    path.unlink()
    (tmp_path / "forger" / "ferry").mkdir(parents=True)
    RecordFiles(tmp_path / "forger" / "ferry").add(msgspec.structs.replace(kept, tier="full"))
    made = tmp_path / "forger" / "ferry" / "records"
    shutil.copytree(made, path.parent, dirs_exist_ok=True)
    forged.call(WORKFLOW, "cells", ["record", "attest"])
    said = forged.called["record"].said["Keep the sound records"]
    assert "tier full" in said


def test_of_a_pull_request_nothing_is_kept_or_published(night: Forge, tmp_path: Path) -> None:
    pull = Forge(tmp_path, night.origin, night.environ, night.inputs)
    pull.github["event_name"] = "pull_request"
    names = ["cells", "head", "publish", "deploy"]
    pull.run_all(WORKFLOW, names)
    assert {name: job.result for name, job in pull.jobs.items()} == dict.fromkeys(names, "skipped")


def test_a_pull_request_that_breaks_something_fails_and_names_it(
    recorded: Forge, tmp_path: Path
) -> None:
    pull = recorded.copy(tmp_path / "pull")
    pull.github["event_name"] = "pull_request"
    clone = tmp_path / "clone"
    git("clone", "--quiet", str(pull.origin), str(clone), cwd=tmp_path)
    source = clone / "src" / "ferry.py"
    source.write_text(source.read_text(encoding="utf-8").replace("<", ">="), encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "Float on new boats only", cwd=clone)
    git("push", "--quiet", cwd=clone)
    pull.run_all(WORKFLOW, ["diff"])
    said = pull.jobs["diff"].said["Compare it with the newest release"]
    assert pull.jobs["diff"].result == "failure", said
    assert "Broken:" in said
    assert f"py{SERIES}-boat1.0-ferry-local" in said
    written = (pull.place / "machines").glob("diff*.md")
    [summary] = [path.read_text(encoding="utf-8") for path in written]
    assert "| Broken | " in summary
    assert f"`py{SERIES}-boat1.0-ferry-local`" in summary


def test_without_pages_nothing_is_published(recorded: Forge, tmp_path: Path) -> None:
    inputs = recorded.inputs | {"pages": "false"}
    bare = Forge(tmp_path, recorded.origin, recorded.environ, inputs)
    bare.jobs |= recorded.jobs
    bare.run_all(WORKFLOW, ["publish"])
    assert bare.jobs["publish"].result == "skipped"


def by_action(forge: Forge, **inputs: str) -> tuple[str, str]:
    """What a job comes to that calls the action, and what it said."""
    [checkout, own] = FLOORS["jobs"]["propose"]["steps"]
    job = {"permissions": {"contents": "read"}, "steps": [checkout, {**own, "with": inputs}]}
    forge.run_all({"jobs": {"one": job}}, ["one"])
    return forge.jobs["one"].result, "\n".join(forge.jobs["one"].said.values())


@pytest.fixture
def weekly(recorded: Forge, tmp_path: Path) -> Forge:
    return Forge(tmp_path / "weekly", recorded.origin, recorded.environ, recorded.inputs)


def test_the_action_checks_and_plans(weekly: Forge) -> None:
    result, out = by_action(weekly, command="check")
    assert (result, out.strip().splitlines()[1]) == ("success", "valid: ferry")
    result, out = by_action(weekly, command="plan", matrix="ferry", options="--budget 5m")
    assert result == "success", out
    result, out = by_action(weekly, command="plan", matrix="fairy")
    assert (result, "did you mean ferry?" in out) == ("failure", True)
    result, out = by_action(weekly, command="walk")
    assert (result, "has no command" in out) == ("failure", True)


def test_the_action_runs_cells_and_leaves_a_summary(weekly: Forge) -> None:
    cells = f"py{SERIES}-boat1.0-ferry2.0 py{SERIES}-boat2.0-ferry2.0"
    run = {"command": "run", "matrix": "ferry", "options": cells}
    result, out = by_action(weekly, **run)
    assert result == "failure", out
    [summary] = [path for path in (weekly.place / "machines").glob("*.md") if path.read_text()]
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("## Ferry: 1 of 2 combinations work\n")
    assert (weekly.place / "machines" / "one-0" / "junit.xml").is_file()
    result, out = by_action(weekly, **run, findings="pass")
    assert result == "success", out
    [stopped, resumed] = [line for line in out.splitlines() if line.startswith("::")]
    assert stopped == f"::stop-commands::{resumed.strip(':')}"


def test_the_action_publishes_a_site_that_is_whole(weekly: Forge) -> None:
    result, out = by_action(weekly, command="publish")
    assert result == "success", out
    assert (weekly.place / "machines" / "one-0" / "public" / "ferry" / "index.html").is_file()
    assert " 0 faults" in out


def test_the_weekly_proposal_is_made_by_the_action_with_the_jobs_token(weekly: Forge) -> None:
    path = "matrices/ferry/matrix.toml"
    files = {path: git("show", f"main:{path}", cwd=weekly.origin)}
    with github_server.serving(github_server.Repository(files)) as server:
        weekly.environ |= {
            "GITHUB_API_URL": server.url,
            "GITHUB_REPOSITORY": github_server.NAME,
        }
        weekly.run_all(FLOORS, ["propose"])
        assert weekly.jobs["propose"].result == "failure"
        weekly.github["token"] = github_server.TOKEN
        weekly.run_all(FLOORS, ["propose"])
        assert weekly.jobs["propose"].result == "success", weekly.jobs["propose"].said


def test_the_locked_cells_are_sessions_of_nox(recorded: Forge, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git("clone", "--quiet", str(recorded.origin), str(clone), cwd=tmp_path)

    def nox(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "nox", *words]
        environ = recorded.environ | {"COMPAT_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(
            command, cwd=clone, env=environ, check=False, capture_output=True, text=True
        )

    listed = nox("--list").stdout
    locked = {path.stem for path in (clone / "matrices" / "ferry" / "locks").iterdir()}
    assert locked
    assert all(f"cell({cell})" in listed for cell in locked)
    codes = {"boat1.0": 0, "boat2.0": 1}
    for boat, code in codes.items():
        cell = next(cell for cell in cells_of(recorded) if boat in cell)
        ran = nox("--session", f"cell({cell})")
        assert ran.returncode == code, ran.stdout + ran.stderr
