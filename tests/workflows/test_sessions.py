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
