"""The sessions that workflows call, with a `gh` that answers what it is told and a repository of a few lines."""

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from actions import HERE

GH = '#!/bin/sh\ncase "$2" in */runs*) echo "$LAST";; *) echo "$STATE";; esac\n'


def session(place: Path, *words: str, **environ: str) -> tuple[int, str]:
    """Run a nox session in that folder, with the `gh` above."""
    tools = place.parent / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "gh").write_text(GH, encoding="utf-8")
    (tools / "gh").chmod(0o755)
    shutil.copy(HERE / "noxfile.py", place)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nox", "-s", *words], cwd=place, env={**os.environ, "PATH": path, **environ},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
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


def test_what_was_learnt_is_committed_and_pushed_onto_what_others_pushed_meanwhile(place: Path) -> None:
    def git(*words: str, cwd: Path = place) -> str:
        named = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
        return subprocess.run(["git", *named, *words], cwd=cwd, capture_output=True, text=True, check=True).stdout

    who = {f"GIT_{role}_{key}": "someone" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    origin, other = place.parent / "origin.git", place.parent / "other"
    git("init", "--quiet", "--initial-branch=main")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    git("clone", "--quiet", "--bare", str(place), str(origin))
    git("remote", "add", "origin", str(origin))
    git("clone", "--quiet", str(origin), str(other))
    git("commit", "--quiet", "--allow-empty", "--message", "meanwhile", cwd=other)
    git("push", "--quiet", cwd=other)
    assert "nothing new" in session(place, "keep", "--", "ferry", **who)[1]
    (place / "matrices" / "ferry" / "records").mkdir(parents=True)
    (place / "matrices" / "ferry" / "records" / "one.json").write_text("{}", encoding="utf-8")
    (place / "matrices" / "ferry" / "suite.py").write_text("not learnt", encoding="utf-8")
    code, out = session(place, "keep", "--", "ferry", "main", **who)
    assert code == 0, out
    assert git("log", "--format=%s", "main", cwd=origin).split("\n")[:2] == ["What was learnt of ferry", "meanwhile"]
    assert git("ls-tree", "-r", "--name-only", "main", cwd=origin).split() == ["matrices/ferry/records/one.json"]


def test_an_interpreter_that_cannot_be_had_does_not_stop_the_others(place: Path) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    code, out = session(place, "interpreters", "--", "3.1", here, UV_OFFLINE="1", UV_PYTHON_DOWNLOADS="never")
    assert code == 0, out
    assert f"python find {here}" in out
