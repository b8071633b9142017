"""The sessions that workflows call, in a folder with the noxfile alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from actions import HERE


def session(place: Path, *words: str, **environ: str) -> tuple[int, str]:
    """Run a nox session in that folder."""
    shutil.copy(HERE / "noxfile.py", place)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
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


def test_an_interpreter_that_cannot_be_had_does_not_stop_the_others(tmp_path: Path) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    code, out = session(
        tmp_path, "interpreters", "--", "3.1", here, UV_OFFLINE="1", UV_PYTHON_DOWNLOADS="never"
    )
    assert code == 0, out
    assert f"python find {here}" in out
    matrix = f'[[axes]]\nkind = "interpreter"\nreleases = ["{here}.1"]\n'
    (tmp_path / "matrix.toml").write_text(matrix, encoding="utf-8")
    code, out = session(tmp_path, "interpreters", "--", str(tmp_path / "matrix.toml"))
    assert (code, f"python find {here}" in out) == (0, True)


PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
[project]
name = "ferry"
version = "1.0"
[tool.setuptools]
packages = []
"""


def test_a_release_builds_both_files_and_only_for_the_tag_of_its_version(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    code, out = session(tmp_path, "distributions", "--", "v2.0")
    assert code == 1
    assert "tag of version 1.0" in out
    placeholder = '[project.urls]\nSource = "https://github.com/OWNER/ferry"\n'
    (tmp_path / "pyproject.toml").write_text(PROJECT + placeholder, encoding="utf-8")
    code, out = session(tmp_path, "distributions", "--", "v1.0")
    assert (code, "project.urls" in out) == (1, True)
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    code, out = session(tmp_path, "distributions", "--", "v1.0")
    assert code == 0, out
    assert {path.name for path in (tmp_path / "dist").iterdir()} == {
        "ferry-1.0.tar.gz",
        "ferry-1.0-py3-none-any.whl",
    }
