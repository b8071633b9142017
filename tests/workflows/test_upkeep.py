"""`compat ci push` and `compat ci watchdog`, as the workflows call them, with a repository of a
few lines and its GitHub.
"""

import datetime
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.github_api import NAME, PULL_URL, GitHubApi, serving
from support.ran import Ran, Run, called

WHO = {
    f"GIT_{role}_{key}": "someone" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
}
TITLE = "Update catalogue, locks and records of ferry"
RECORD = "matrices/ferry/records/one.json"
# Somebody else's push comes between our fetch and our push, as often as the file says.
FASTER = """#!/bin/sh
left=$(cat faster)
[ "$1" = refs/heads/main ] && [ "$left" -gt 0 ] || exit 0
echo $((left - 1)) > faster
unset GIT_QUARANTINE_PATH
new=$(git commit-tree "$2^{tree}" -p "$2" -m "meanwhile $left")
git update-ref refs/heads/main "$new"
"""
PROTECTED = """#!/bin/sh
[ "$1" != refs/heads/main ] || { echo "GH006: Protected branch update failed"; exit 1; }
"""


@pytest.fixture
def github() -> Iterator[GitHubApi]:
    with serving() as api:
        yield api


@pytest.fixture
def run(
    github: GitHubApi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run `compat` in a folder, with the token and the repository's name in the environment as
    the workflows set it.
    """
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "GIT_"))]:
        monkeypatch.delenv(name)
    token = {
        "GITHUB_TOKEN": "token-of-the-tests",
        "GITHUB_REPOSITORY": NAME,
        "GITHUB_API_URL": github.url,
    }
    for name, value in (WHO | token | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}).items():
        monkeypatch.setenv(name, value)

    def command(folder: Path, *words: str) -> Ran:
        monkeypatch.chdir(folder)
        return called(monkeypatch, capsys, *words)

    return command


def ago(days: int) -> str:
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    ("state", "last", "expected"),
    [
        ("active", 1, "matrix.yml last succeeded on"),
        ("active", 4, "which is more than 3 days ago"),
        ("active", None, "matrix.yml has never succeeded"),
        ("disabled_inactivity", 1, "gh workflow enable matrix.yml"),
    ],
)
def test_the_watchdog_barks_when_the_schedule_is_off_or_late(
    tmp_path: Path, run: Run, github: GitHubApi, state: str, last: int | None, expected: str
) -> None:
    github.state, github.succeeded = state, None if last is None else ago(last)
    ran = run(tmp_path, "ci", "watchdog", "matrix.yml", "--days", "3")
    sound = expected.endswith("succeeded on")
    assert ran.code == (0 if sound else 1), ran.err
    assert expected in (ran.out if sound else ran.err)


def test_the_watchdog_says_the_same_as_json(tmp_path: Path, run: Run, github: GitHubApi) -> None:
    github.state, github.succeeded = "disabled_manually", ago(9)
    ran = run(tmp_path, "ci", "watchdog", "matrix.yml", "--days", "3", "--json")
    told = json.loads(ran.out)["data"]
    assert (ran.code, told["workflow"], told["state"]) == (1, "matrix.yml", "disabled_manually")
    assert told["succeeded"] == github.succeeded
    assert len(told["findings"]) == 2


def test_the_watchdog_never_takes_trouble_for_an_answer(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = run(tmp_path, "ci", "watchdog", "other.yml", "--days", "3")
    assert (unknown.code, unknown.out) == (2, "")
    assert "has no workflow 'other.yml'" in unknown.err
    monkeypatch.setenv("GITHUB_REPOSITORY", "")
    nowhere = run(tmp_path, "ci", "watchdog", "matrix.yml", "--days", "3")
    assert (nowhere.code, nowhere.out) == (2, "")
    named = run(tmp_path, "ci", "watchdog", "matrix.yml", "--days", "3", "--repository", NAME)
    assert (named.code, named.out) == (1, "")
    monkeypatch.setenv("GITHUB_TOKEN", "not a token")
    refused = run(tmp_path, "ci", "watchdog", "matrix.yml", "--days", "3", "--repository", NAME)
    assert (refused.code, refused.out) == (4, "")


def git(*words: str, cwd: Path) -> str:
    return subprocess.run(
        ["git", *words],
        cwd=cwd,
        env={**os.environ, **WHO},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


class Origin:
    """A repository with something measured, and the one that it was cloned from, with a hook
    for pushes.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.bare = place, place.parent / "origin.git"
        (place / "matrices" / "ferry").mkdir(parents=True)
        (place / "matrices" / "ferry" / "matrix.toml").write_text("", encoding="utf-8")
        git("init", "--quiet", "--initial-branch=main", cwd=place)
        git("add", "--all", cwd=place)
        git("commit", "--quiet", "--message", "first", cwd=place)
        git("clone", "--quiet", "--bare", str(place), str(self.bare), cwd=place)
        git("remote", "add", "origin", str(self.bare), cwd=place)

    def learn(self, text: str = "{}") -> None:
        (self.place / RECORD).parent.mkdir(parents=True)
        (self.place / RECORD).write_text(text, encoding="utf-8")

    def push_meanwhile(self, text: str = "") -> None:
        other = self.place.parent / "other"
        git("clone", "--quiet", str(self.bare), str(other), cwd=self.place)
        if text:
            (other / RECORD).parent.mkdir(parents=True)
            (other / RECORD).write_text(text, encoding="utf-8")
            git("add", "--all", cwd=other)
        git("commit", "--quiet", "--allow-empty", "--message", "meanwhile", cwd=other)
        git("push", "--quiet", cwd=other)

    def hook(self, script: str) -> None:
        (self.bare / "hooks" / "update").write_text(script, encoding="utf-8")
        (self.bare / "hooks" / "update").chmod(0o755)

    def log(self, branch: str = "main") -> list[str]:
        return git("log", "--format=%s", branch, cwd=self.bare).splitlines()

    def branches(self) -> list[str]:
        return git(
            "branch", "--list", "compat/*", "--format=%(refname:short)", cwd=self.bare
        ).split()

    def files(self) -> list[str]:
        return git("diff", "--name-only", "main~1", "main", cwd=self.bare).split()


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    (tmp_path / "repository").mkdir()
    return Origin(tmp_path / "repository")


def test_what_was_learnt_is_committed_and_pushed_onto_what_others_pushed_meanwhile(
    origin: Origin, run: Run, github: GitHubApi
) -> None:
    origin.push_meanwhile()
    assert "nothing new" in run(origin.place, "ci", "push", "ferry").err
    origin.learn()
    (origin.place / "matrices" / "ferry" / "suite.py").write_text("not measured", encoding="utf-8")
    ran = run(origin.place, "ci", "push", "ferry", "--branch", "main")
    assert ran.code == 0, ran.err
    assert origin.log()[:2] == [TITLE, "meanwhile"]
    assert origin.files() == [RECORD]
    assert f"pushed to main as {git('rev-parse', 'main', cwd=origin.bare)[:12]}" in ran.out
    assert github.tokens == set()


def test_a_branch_of_its_own_has_what_was_measured_alone(origin: Origin, run: Run) -> None:
    (origin.place / "notes.md").write_text("a person's", encoding="utf-8")
    git("add", "notes.md", cwd=origin.place)
    origin.learn("first")
    apart = ("ci", "push", "ferry", "--apart", "--branch", "compat-records")
    assert "pushed to compat-records" in run(origin.place, *apart).out
    assert "nothing new" in run(origin.place, *apart).err
    (origin.place / "matrices" / "other").mkdir()
    (origin.place / "matrices" / "other" / "catalogue.json").write_text("{}", encoding="utf-8")
    assert run(origin.place, "ci", "push", "other", *apart[3:]).code == 0
    (origin.place / RECORD).write_text("second", encoding="utf-8")
    assert run(origin.place, *apart).code == 0
    files = git("ls-tree", "-r", "--name-only", "compat-records", cwd=origin.bare).split()
    assert sorted(files) == sorted(["matrices/other/catalogue.json", RECORD])
    assert git("show", f"compat-records:{RECORD}", cwd=origin.bare) == "second"
    assert len(origin.log("compat-records")) == 3
    # The default branch, the commit here and what a person has staged are as before.
    assert origin.log() == ["first"]
    assert git("log", "--format=%s", cwd=origin.place).split() == ["first"]
    assert git("diff", "--cached", "--name-only", cwd=origin.place).split() == ["notes.md"]
    (origin.place / RECORD).write_text("third", encoding="utf-8")
    origin.hook(PROTECTED.replace("refs/heads/main", "refs/heads/compat-records"))
    refused = run(origin.place, *apart)
    assert (refused.code, "GH006" in refused.err) == (3, True)
    assert run(origin.place, "ci", "push", "ferry", "--apart").code == 2


def test_without_a_branch_it_only_commits_and_leaves_what_a_person_has_staged(
    origin: Origin, run: Run
) -> None:
    (origin.place / "notes.md").write_text("a person's", encoding="utf-8")
    git("add", "notes.md", cwd=origin.place)
    assert (
        json.loads(run(origin.place, "ci", "push", "ferry", "--json").out)["data"]["outcome"]
        == "nothing-new"
    )
    origin.learn()
    told = json.loads(run(origin.place, "ci", "push", "ferry", "--json").out)["data"]
    commit = git("rev-parse", "HEAD", cwd=origin.place).strip()
    assert told == {"matrix": "ferry", "outcome": "committed", "commit": commit}
    assert origin.log() == ["first"]
    assert git("show", "--name-only", "--format=", "HEAD", cwd=origin.place).split() == [RECORD]
    assert git("diff", "--cached", "--name-only", cwd=origin.place).split() == ["notes.md"]


def test_a_push_that_lost_a_race_is_made_again_and_nobodys_commit_is_lost(
    origin: Origin, run: Run
) -> None:
    origin.learn()
    origin.hook(FASTER)
    (origin.bare / "faster").write_text("2", encoding="utf-8")
    ran = run(origin.place, "ci", "push", "ferry", "--branch", "main")
    assert ran.code == 0, ran.err
    assert origin.log() == [TITLE, "meanwhile 1", "meanwhile 2", "first"]
    assert origin.branches() == []


def test_a_protected_branch_gets_a_pull_request(
    origin: Origin, run: Run, github: GitHubApi
) -> None:
    origin.learn()
    origin.hook(PROTECTED)
    ran = run(origin.place, "ci", "push", "ferry", "--branch", "main")
    assert ran.code == 0, ran.err
    assert "GH006" in ran.err
    (branch,) = origin.branches()
    assert (origin.log(), origin.log(branch)) == (["first"], [TITLE, "first"])
    (pull,) = github.pulls
    assert (pull["base"], pull["head"], pull["title"]) == ("main", branch, TITLE)
    assert f"pull request {PULL_URL} from {branch} to main" in ran.out


def test_what_does_not_go_together_with_what_others_pushed_gets_one_too(
    origin: Origin, run: Run
) -> None:
    origin.learn("ours")
    origin.push_meanwhile("theirs")
    ran = run(origin.place, "ci", "push", "ferry", "--branch", "main", "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)["data"]
    assert "conflicts" in told["because"]
    (branch,) = origin.branches()
    assert (told["outcome"], told["head"], told["url"]) == ("offered", branch, PULL_URL)
    assert git("show", f"{branch}:{RECORD}", cwd=origin.bare) == "ours"
    assert git("show", f"main:{RECORD}", cwd=origin.bare) == "theirs"


def test_where_no_pull_request_may_be_opened_the_branch_is_named_and_the_job_fails(
    origin: Origin, run: Run, github: GitHubApi
) -> None:
    origin.learn()
    origin.hook(PROTECTED)
    github.forbids_pulls = True
    ran = run(origin.place, "ci", "push", "ferry", "--branch", "main")
    assert ran.code == 4
    assert f"{origin.branches()[0]} is pushed, but no pull request could be opened" in ran.err
    assert "open one" in ran.err


def test_trouble_of_git_is_told_without_the_password_of_the_address(
    origin: Origin, run: Run
) -> None:
    origin.learn()
    git(
        "remote",
        "set-url",
        "origin",
        "http://someone:hidden@127.0.0.1:1/origin.git",
        cwd=origin.place,
    )
    ran = run(origin.place, "ci", "push", "ferry", "--branch", "main")
    assert (ran.code, ran.out) == (3, "")
    assert "git fetch failed" in ran.err
    assert "hidden" not in ran.err
