"""The command before any command: its version, and the same command as a module."""

import subprocess
import sys
from importlib.metadata import version

from support.ran import Run

LINE = f"compat {version('compat-matrix')}\n"


def test_the_version_is_that_of_the_installed_distribution(run: Run) -> None:
    ran = run("--version")
    assert (ran.code, ran.out, ran.err) == (0, LINE, "")


def test_without_a_command_the_commands_are_listed(run: Run) -> None:
    ran = run()
    assert ran.code == 0
    assert "--version" in ran.out
    assert "  propose  " in ran.out


def test_python_m_compat_is_the_command() -> None:
    command = [sys.executable, "-m", "compat"]
    shown = subprocess.run(
        [*command, "--version"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (shown.returncode, shown.stdout) == (0, LINE)
    wrong = subprocess.run(
        [*command, "no-such-command"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "no-such-command" in wrong.stderr
