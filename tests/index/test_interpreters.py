"""Interpreters of this machine: pyenv's by folder, others by PATH, and none that hangs or lies."""

import sys
from pathlib import Path

import pytest
from packaging.version import Version

from compat.index import interpreters
from compat.index.interpreters import find

HERE = Version(f"{sys.version_info.major}.{sys.version_info.minor}")
EXACT = Version(".".join(map(str, sys.version_info[:3])))
BASE = Path(sys.base_prefix) / "bin" / f"python{HERE}"

pytestmark = pytest.mark.skipif(not BASE.exists(), reason="this interpreter has no bin/pythonX.Y")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home, so that nothing of this machine is found by chance."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": str(home), "HOME": str(home), **more}


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_running_series_is_found_outside_its_virtual_environment(
    home: Path, tmp_path: Path
) -> None:
    found = find(HERE, environment(home), tmp_path / "cache")
    assert found is not None
    assert found.version == EXACT
    assert Path(found.path).resolve() == BASE.resolve()


def test_a_series_that_is_not_there_is_none(home: Path, tmp_path: Path) -> None:
    assert find(Version("3.99"), environment(home), tmp_path / "cache") is None


@pytest.mark.parametrize("where", ["home", "root"])
def test_a_version_of_pyenv_is_found_by_its_folder(home: Path, where: str) -> None:
    root = home / ".pyenv" if where == "home" else home / "elsewhere"
    python = root / "versions" / str(EXACT) / "bin" / "python"
    script(python, f'exec "{BASE}" "$@"')
    env = environment(home) if where == "home" else environment(home, PYENV_ROOT=str(root))
    assert list(interpreters._pyenv(HERE, env)) == [python]
    found = find(HERE, env)
    assert found is not None
    assert found.version == EXACT


def test_newer_patches_come_first_and_other_series_not_at_all(home: Path) -> None:
    names = ["3.9.2", "3.9.18", "3.10.1", "3.9-dev", "pypy3.9-7.3", "my-venv", "3.9.3"]
    for name in names:
        script(home / ".pyenv" / "versions" / name / "bin" / "python", "exit 1")
    found = [path.parts[-3] for path in interpreters._pyenv(Version("3.9"), environment(home))]
    assert [name for name in found if name != "3.9-dev"] == ["3.9.18", "3.9.3", "3.9.2"]


def test_an_interpreter_that_is_broken_is_passed_over(home: Path) -> None:
    script(home / ".pyenv" / "versions" / f"{HERE}.99" / "bin" / "python", "exit 1")
    script(home / ".pyenv" / "versions" / f"{HERE}.98" / "bin" / "python", "echo nonsense")
    found = find(HERE, environment(home))
    assert found is not None
    assert found.version == EXACT


def test_an_interpreter_that_is_not_of_its_folder_s_series_is_passed_over(home: Path) -> None:
    script(home / ".pyenv" / "versions" / "3.99.1" / "bin" / "python", f'exec "{BASE}" "$@"')
    assert find(Version("3.99"), environment(home)) is None


def test_an_interpreter_that_hangs_is_not_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "QUERY_SECONDS", "0.3")
    waited_for = home / "waited-for"
    script(
        home / ".pyenv" / "versions" / "3.99.1" / "bin" / "python", f"sleep 30; touch {waited_for}"
    )
    script(home / "python3.99", f"sleep 30; touch {waited_for}")
    assert find(Version("3.99"), environment(home)) is None
    assert not waited_for.exists()


def test_what_an_interpreter_told_is_kept_for_the_next_run(home: Path, tmp_path: Path) -> None:
    python = home / ".pyenv" / "versions" / str(EXACT) / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(BASE)
    assert find(HERE, environment(home), tmp_path / "cache") is not None
    kept = [path.read_text() for path in (tmp_path / "cache").rglob("*.json")]
    assert any(str(python) in text for text in kept)
