"""What a command imports, and that the table of commands says what the commands say.

A question is answered in the time that its modules take to load, so each of these is a bound on
that time that does not depend on the machine.
"""

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat.cli.app import COMMANDS, GROUPS, declared_by, function_of, sentence_of, shown_help
from compat.cli.arguments import WrongUsage
from compat.cli.completion import script

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
    *("requests", "urllib3", "compat.index.pypi"),
    *("jinja2", "markdown_it", "PIL", "tomlkit", "psutil"),
    *("python_discovery", "compat.fleet.batch", "compat.fleet.batch"),
    *("compat.site.edition", "compat.site.render", "compat.github.client", "compat.lock.uv"),
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
        commands = {name for name in modules if name.startswith("compat.cli.")}
        assert commands <= {"compat.cli.app", "compat.cli.arguments"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("compat pl", {"plan"}),
        ("compat show tff py3.11-tf2.14-tff0.87", {"py3.11-tf2.14-tff0.87.0+relaxed"}),
        ("compat run p", {"pip-tools"}),
        ("compat floor tff --axis t", {"tf", "tff"}),
        ("compat floor tff --at tff=0.36", {"tff=0.36.0"}),
        ("compat advise tff --need import", {"import"}),
        ("compat advise tff tf==2.14", {"tf==2.14"}),
        ("compat show tff --platform linux", {"linux-aarch64"}),
        ("compat plan tff --gi", {"--github"}),
        ("compat find rea", {"reason"}),
        ("compat matrix lock --root . tff --che", {"--check"}),
    ],
)
def test_completion_imports_no_command_and_nothing_that_reads_a_matrix(
    tmp_path: Path, line: str, found: set[str]
) -> None:
    assert not imported(tmp_path, "--complete", "zsh", line) & NOT_FOR_HELP
    done = subprocess.run(
        [sys.executable, "-m", "compat", "--complete", "zsh", line],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=ROOT,
    )
    assert found <= set(done.stdout.split())


def test_after_the_last_argument_only_options_are_offered() -> None:
    ask = [sys.executable, "-m", "compat", "--complete", "fish"]
    for line, some in (("compat propose tff ", False), ("compat ci health tff -", True)):
        done = subprocess.run(
            [*ask, line], capture_output=True, text=True, timeout=300, check=True, cwd=ROOT
        )
        words = done.stdout.split()
        assert all(word.startswith("-") for word in words), line
        assert bool(words) is some, line


def test_each_shell_has_its_script_and_bash_gets_what_follows_the_equals_sign() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert f"--complete {shell}" in script(shell)
    with pytest.raises(WrongUsage, match="bash, zsh, fish"):
        script("csh")
    source = script("bash") + '\nCOMP_LINE="compat floor tff --at tff=0.36"\n'
    source += 'COMP_POINT=${#COMP_LINE}\n_compat\nprintf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", source],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=ROOT,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
    )
    assert done.stdout.split() == ["0.36.0"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "asks"),
    [
        (
            "zsh",
            """compdef() {}; compadd() { print -l -- ${(P)2}; }
eval "$(compat --completion zsh)"; words=(compat floor tff --axis t); CURRENT=5; _compat""",
        ),
        ("fish", """compat --completion fish | source; complete -C 'compat floor tff --axis t'"""),
    ],
)
def test_a_shell_that_is_not_bash_gets_the_words_that_fit(shell: str, asks: str) -> None:
    if shutil.which(shell) is None:
        pytest.fail(f"this machine does not have {shell}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [shell, "-c", asks],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
    )
    assert done.stdout.split() == ["tf", "tff"], done.stderr


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


def test_a_run_imports_no_network_and_no_display_before_it_knows_that_cells_are_due(
    cache: Path,
) -> None:
    modules = imported(cache, "run", "pip-tools", "--dry-run", "py3.11-pip26-piptools7.6")
    assert not modules & {"requests", "rich", "markdown_it", "compat.index.pypi"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_of_a_command_what_it_says_itself(name: str) -> None:
    says, declared = declared_by(name)
    words = says.split("\n\n")[0].split()
    end = next(number for number, word in enumerate(words, 1) if word.endswith("."))
    assert sentence_of(name) == " ".join(words[:end])
    function = function_of(name)
    assert [p.name for p in declared] == list(inspect.signature(function).parameters)


def test_no_description_is_cut_at_80_columns() -> None:
    for group, (_, names) in GROUPS.items():
        shown = " ".join(shown_help([group]).split())
        assert all(sentence_of(key) in shown for key in names.values())


def test_every_command_function_stands_in_the_table() -> None:
    functions = {
        line.split("(")[0].removeprefix("def ")
        for path in (ROOT / "compat" / "cli").glob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("def ") and line.split("(")[0].endswith("_command")
    }
    assert functions == {f"{name}_command" for name in COMMANDS}
