"""Malformed declarations through the command: exit code 2, a line for each fault, never a
traceback.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.corpus import each
from support.malformed import corpus, handmade, policy_corpus
from support.ran import Run


def some() -> Iterator[tuple[str, str, bytes]]:
    """What is refused is proven on `load`; these show how the command says it."""
    made = handmade()
    for name, document in (*made[::12], *corpus()[len(made) :: 300]):
        yield name, "matrix.toml", document
    for name, document in policy_corpus()[::100]:
        yield name, "policy.toml", document


@pytest.fixture
def folder(root: Path) -> Path:
    return root / "matrices" / "demo"


@each("name, file, document", some, ids=str)
def test_a_malformed_declaration_is_told_line_by_line(
    run: Run, folder: Path, name: str, file: str, document: bytes
) -> None:
    sound = (folder / "matrix.toml").read_bytes()
    (folder / file).write_bytes(document)
    ran = run("check", "demo")
    (folder / "policy.toml").unlink(missing_ok=True)
    (folder / "matrix.toml").write_bytes(sound)
    assert ran.code == 2, name
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert lines
    assert all(line.startswith(f"error: matrices/demo/{file}") for line in lines)
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", ["matrix.toml", "policy.toml", "catalogue.json", "clauses.json"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_never_waited_for(
    run: Run, folder: Path, name: str
) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    ran = run("show", "demo")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert "no regular file" in ran.err


def test_a_device_or_pipe_as_a_handed_plan_is_refused(run: Run, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path in (folder / "pipe", Path("/dev/zero")):
        ran = run("ci", "record", "demo", "--from", str(folder), "--plan", str(path))
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err


def test_a_process_ends_with_2_and_no_traceback(folder: Path) -> None:
    (folder / "matrix.toml").write_bytes(b"x = " + b"[" * 100_000)
    command = [sys.executable, "-c", "from compat.cli.app import main; main()", "check", "demo"]
    done = subprocess.run(
        command, cwd=folder.parent.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: matrices/demo/matrix.toml")
    assert done.stderr.count("\n") == 1
