"""The sessions that workflows call, with a `gh` that answers what it is told and a repository of a
few lines.
"""

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from actions import HERE

GH = """#!/bin/sh
[ "$1" != pr ] || exit "${NO_PULLS:-0}"
case "$2" in */runs*) echo "$LAST";; *) echo "$STATE";; esac
"""


def session(place: Path, *words: str, **environ: str) -> tuple[int, str]:
    """Run a nox session in that folder, with the `gh` above."""
    tools = place.parent / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "gh").write_text(GH, encoding="utf-8")
    (tools / "gh").chmod(0o755)
    shutil.copy(HERE / "noxfile.py", place)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nox", "-s", *words],
        cwd=place,
        env={**os.environ, "PATH": path, **environ},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout


def ago(days: int) -> str:
    return f"{datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "repository").mkdir()
    return tmp_path / "repository"


@pytest.mark.parametrize(
    ("state", "last", "said"),
    [
        ("active", 1, "succeeded on"),
        ("active", 4, "which is more than 3 days ago"),
        ("active", None, "succeeded last on no day"),
        ("disabled_inactivity", 1, "gh workflow enable matrix.yml"),
    ],
)
def test_the_watchdog_barks_when_the_schedule_is_off_or_late(
    place: Path, state: str, last: int | None, said: str
) -> None:
    known = {"STATE": state, "LAST": "" if last is None else ago(last)}
    code, out = session(place, "watchdog", "--", "matrix.yml", "3", **known)
    assert (code == 0) is (said == "succeeded on"), out
    assert said in out


WHO = {
    f"GIT_{role}_{key}": "someone" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
}
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
PROTECTED = (
    '#!/bin/sh\n[ "$1" != refs/heads/main ] || { echo "GH006: Protected branch update failed"; exit'
    " 1; }\n"
)


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
    """A repository at `place` with something learnt, and the one that it was cloned from, with a
    hook for pushes.
    """

    def __init__(self, place: Path) -> None:
        self.place, self.bare = place, place.parent / "origin.git"
        git("init", "--quiet", "--initial-branch=main", cwd=place)
        git("commit", "--quiet", "--allow-empty", "--message", "first", cwd=place)
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


@pytest.fixture
def origin(place: Path) -> Origin:
    return Origin(place)


def test_what_was_learnt_is_committed_and_pushed_onto_what_others_pushed_meanwhile(
    origin: Origin,
) -> None:
    origin.push_meanwhile()
    assert "nothing new" in session(origin.place, "keep", "--", "ferry", **WHO)[1]
    origin.learn()
    (origin.place / "matrices" / "ferry" / "suite.py").write_text("not learnt", encoding="utf-8")
    code, out = session(origin.place, "keep", "--", "ferry", "main", **WHO)
    assert code == 0, out
    assert origin.log()[:2] == ["What was learnt of ferry", "meanwhile"]
    assert git("ls-tree", "-r", "--name-only", "main", cwd=origin.bare).split() == [RECORD]


def test_a_push_that_lost_a_race_is_made_again_and_nobodys_commit_is_lost(origin: Origin) -> None:
    origin.learn()
    origin.hook(FASTER)
    (origin.bare / "faster").write_text("2", encoding="utf-8")
    code, out = session(origin.place, "keep", "--", "ferry", "main", **WHO)
    assert code == 0, out
    assert origin.log() == ["What was learnt of ferry", "meanwhile 1", "meanwhile 2", "first"]
    assert origin.branches() == []


def test_a_protected_branch_gets_a_pull_request(origin: Origin) -> None:
    origin.learn()
    origin.hook(PROTECTED)
    code, out = session(origin.place, "keep", "--", "ferry", "main", **WHO)
    assert code == 0, out
    assert "nobody pushed meanwhile, so main itself takes no push" in out
    (branch,) = origin.branches()
    assert (origin.log(), origin.log(branch)) == (["first"], ["What was learnt of ferry", "first"])
    assert f"gh pr create --base main --head {branch} " in out


def test_what_does_not_go_together_with_what_others_pushed_gets_one_too(origin: Origin) -> None:
    origin.learn("ours")
    origin.push_meanwhile("theirs")
    code, out = session(origin.place, "keep", "--", "ferry", "main", **WHO)
    assert code == 0, out
    assert "does not go together with what main has now" in out
    (branch,) = origin.branches()
    assert git("show", f"{branch}:{RECORD}", cwd=origin.bare) == "ours"
    assert git("show", f"main:{RECORD}", cwd=origin.bare) == "theirs"


def test_where_no_pull_request_may_be_opened_the_branch_is_named_and_the_job_fails(
    origin: Origin,
) -> None:
    origin.learn()
    origin.hook(PROTECTED)
    code, out = session(origin.place, "keep", "--", "ferry", "main", **WHO, NO_PULLS="1")
    assert code == 1
    assert (
        f"{origin.branches()[0]} is pushed, and no pull request could be opened: open one from it"
        " to main" in out
    )


def test_an_interpreter_that_cannot_be_had_does_not_stop_the_others(place: Path) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    code, out = session(
        place, "interpreters", "--", "3.1", here, UV_OFFLINE="1", UV_PYTHON_DOWNLOADS="never"
    )
    assert code == 0, out
    assert f"python find {here}" in out
