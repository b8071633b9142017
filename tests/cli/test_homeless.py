"""A user without a home folder, or without one that can be written, is told in one line what to
do.
"""

import pwd
from pathlib import Path

import pytest
from support.ran import Run

CELL = "py3.11-dep1-demo1.0"


@pytest.mark.parametrize(
    "words",
    [("plan", "demo"), ("matrix", "lock", "demo", CELL), ("run", "demo", CELL)],
)
def test_a_user_without_a_home_gets_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "COMPAT_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)

    def nobody(_: int) -> None:
        raise KeyError("no such user")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    ran = run(*words)
    assert ran.code == 2
    assert "no home folder" in ran.err
    assert ran.err.endswith("(set COMPAT_CACHE_DIR to a writable folder)\n")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("command", ["matrix lock", "run"])
def test_a_cache_that_cannot_be_made_is_told_in_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    (tmp_path / "home").write_text("in the way")
    monkeypatch.delenv("COMPAT_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("UV_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    ran = run(*command.split(), "demo", CELL)
    assert ran.code == 2
    assert ": not a directory (set COMPAT_CACHE_DIR" in ran.err
    assert ran.err.count("\n") == 1
