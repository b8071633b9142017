"""What a command imports, and that the table of commands says what the commands say.

A question is answered in the time that its modules take to load, so each of these is a bound on
that time that does not depend on the machine.
"""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from compat.cli.command_table import COMMANDS, command_named

ROOT = Path(__file__).parents[2]
CELL = "py3.11-tf2.14-tff0.87.0"
SEEN = """
import json, sys
from compat.cli.app import main
sys.argv = ["compat", *sys.argv[1:]]
try:
    main()
except SystemExit as left:
    code = left.code
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""
# What asks an index or GitHub, runs cells, writes pages or explains faults.
HEAVY = {
    *("requests", "urllib3", "compat.index.pages"),
    *("jinja2", "markdown_it", "PIL", "tomlkit", "psutil"),
    *("python_discovery", "compat.fleet.batch", "compat.fleet.local"),
    *("compat.site.edition", "compat.site.pages.render", "compat.github.client", "compat.lock.uv"),
    *("compat.run.supervise", "compat.run.keeper", "compat.index.pypi"),
}
# What help need not have: it imports no command, and nothing that reads a matrix.
NOT_FOR_HELP = HEAVY | {
    *("rich", "sqlite3", "compat.workspace", "compat.cli.options", "compat.cli.output"),
    *("compat.declare.matrix", "compat.plan.cell"),
}


def imported(folder: Path, *words: str) -> set[str]:
    """Return what a command has imported when it ends well."""
    done = subprocess.run(
        [sys.executable, "-c", SEEN, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "COMPAT_CACHE_DIR": str(folder)},
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


def test_help_and_version_import_no_command(tmp_path: Path) -> None:
    for word in ("--help", "--version"):
        modules = imported(tmp_path, word)
        assert not modules & NOT_FOR_HELP
        commands = {f"compat.cli.{module}" for module, _ in COMMANDS.values()}
        assert not modules & commands


def test_completion_of_a_command_imports_none(tmp_path: Path) -> None:
    variables = {
        "_COMPAT_COMPLETE": "complete_bash",
        "COMP_WORDS": "compat pl",
        "COMP_CWORD": "1",
        "PATH": "/usr/bin:/bin",
    }
    program = "import sys; from compat.cli.app import app\ntry:\n    app(prog_name='compat')\n"
    program += "except SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env=variables,
    )
    assert done.stdout.split() == ["plan"]
    assert not set(done.stderr.split()) & NOT_FOR_HELP


@pytest.mark.parametrize(
    "words",
    [
        ("show", "tff"),
        ("show", "tff", CELL),
        ("show", "tff", CELL, "--json"),
        ("show", "tff", "--plain", "--json"),
        ("advise", "tff", "--need", "import"),
        ("find", "reason", "tff", "python", "--at", "tff=0.36.0"),
        ("plan", "tff", "--explain", CELL),
        ("matrix", "schedule", "tff", "--json"),
        ("propose", "tff"),
        ("ci", "health", "tff"),
    ],
    ids=" ".join,
)
def test_a_question_imports_nothing_that_runs_cells_or_writes_pages(
    words: tuple[str, ...], cache: Path
) -> None:
    assert not imported(cache, *words) & HEAVY


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_of_a_command_what_it_says_itself(name: str) -> None:
    command = command_named(name)
    assert command.name == name
    (first, *_) = inspect.cleandoc(command.help).split("\n\n")
    words = first.split()
    end = next(number for number, word in enumerate(words, 1) if word.endswith("."))
    assert COMMANDS[name][1] == " ".join(words[:end])


def test_every_command_function_stands_in_the_table() -> None:
    functions = {
        line.split("(")[0].removeprefix("def ")
        for path in (ROOT / "compat" / "cli").glob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("def ") and line.split("(")[0].endswith("_command")
    }
    assert functions == {f"{name}_command" for name in COMMANDS}
