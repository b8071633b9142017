"""The import probe as cells run it: a process of its own, judged by the file that it leaves."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROBE = Path(__file__).parents[2] / "compat" / "run" / "incell" / "probe.py"


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    """A virtual environment without pip; its site-packages takes the modules under test."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "cell")], check=True
    )
    return tmp_path / "cell"


def site(cell: Path) -> Path:
    return next((cell / "lib").glob("python*/site-packages"))


def probe(cell: Path, module: str) -> tuple[int, dict[str, Any] | None]:
    out = cell / "probe.json"
    command = [str(cell / "bin" / "python"), "-I", str(PROBE), str(out), module]
    done = subprocess.run(command, check=False, capture_output=True, timeout=600, cwd=cell)
    return done.returncode, json.loads(out.read_text(encoding="ascii")) if out.exists() else None


def install(cell: Path, name: str, text: str) -> None:
    path = site(cell) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_an_import_that_works_is_timed(cell: Path) -> None:
    install(cell, "subject.py", "import time\ntime.sleep(0.1)\n")
    code, facts = probe(cell, "subject")
    assert code == 0
    assert facts is not None
    assert 0.1 <= facts["seconds"] < 10
    assert facts["raised"] is None
    assert set(facts) == {"seconds", "raised"}


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        (
            "import subject.deep",
            ("TypeError", "'int' object is not subscriptable", "subject/deep.py:2"),
        ),
        (
            "import nowhere",
            ("ModuleNotFoundError", "No module named 'nowhere'", "subject/__init__.py:1"),
        ),
        (
            "import importlib\nimportlib.import_module('nowhere')",
            ("ModuleNotFoundError", "No module named 'nowhere'", "subject/__init__.py:2"),
        ),
        ("import subject.torn", ("SyntaxError", None, "subject/torn.py:2")),
        ("import sys\nsys.exit(0)", ("SystemExit", "0", "subject/__init__.py:2")),
        ("raise KeyboardInterrupt", ("KeyboardInterrupt", "", "subject/__init__.py:1")),
        (
            "raise ValueError('\\ud800' + 'm' * 900 + '\\nsecond')",
            ("ValueError", None, "subject/__init__.py:1"),
        ),
        ("import json\njson.loads('{')", ("JSONDecodeError", None, None)),
    ],
)
def test_what_an_import_raises_is_told_with_its_place(
    cell: Path, text: str, raised: tuple[str, str, str]
) -> None:
    install(cell, "subject/__init__.py", text + "\n")
    install(cell, "subject/deep.py", "def f():\n    return (1)[0]\nf()\n")
    install(cell, "subject/torn.py", "x = 1\ny = = 2\n")
    code, facts = probe(cell, "subject")
    assert code == 1
    assert facts is not None
    kind, message, where = raised
    assert facts["raised"]["type"] == kind
    assert message is None or facts["raised"]["message"] == message
    assert len(facts["raised"]["message"]) <= 500
    assert facts["raised"]["where"] == where or (
        where is None and facts["raised"]["where"].startswith("python3.")
    )


def test_a_subject_that_is_not_there_has_no_place(cell: Path) -> None:
    _, facts = probe(cell, "subject")
    assert facts is not None
    assert facts["raised"] == {
        "type": "ModuleNotFoundError",
        "message": "No module named 'subject'",
        "where": "",
    }


@pytest.mark.parametrize(("death", "code"), [("os._exit(0)", 0), ("os.kill(os.getpid(), 11)", -11)])
def test_a_process_that_dies_leaves_no_file_not_even_an_old_one(
    cell: Path, death: str, code: int
) -> None:
    (cell / "probe.json").write_text('{"seconds": 1, "raised": null}')
    install(cell, "subject.py", f"import os\n{death}\n")
    returned, facts = probe(cell, "subject")
    assert returned == code
    assert facts is None


def test_a_stack_dump_can_be_asked_for(cell: Path) -> None:
    install(
        cell,
        "subject.py",
        "import os, signal\ndef waits():\n    os.kill(os.getpid(), signal.SIGUSR1)\nwaits()\n",
    )
    command = [str(cell / "bin" / "python"), "-I", str(PROBE), str(cell / "probe.json"), "subject"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0
    assert "in waits" in done.stderr


def test_the_place_in_a_compiled_module_lies_below_its_own_package(cell: Path) -> None:
    """The frames of compiled modules name files of where they were built, and headers of others."""
    built = "compile('raise ValueError()', '{}', 'exec')"
    for file, where in [
        ("subject/core.pyx", "subject/core.pyx:1"),
        ("core.pyx", "subject/core.pyx:1"),
        ("/build/env/site-packages/other/__init__.pxd", "subject/__init__.pxd:1"),
        ("<generated>", "subject/core.py:1"),
    ]:
        install(cell, "subject/__init__.py", "import subject.core\n")
        install(cell, "subject/core.py", f"exec({built.format(file)})\n")
        _, facts = probe(cell, "subject")
        assert facts is not None
        assert facts["raised"]["where"] == where
