"""A real run in a pseudo-terminal: what it shows while it works, and that a hostile cell only makes
its own line wrong.
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from support.fake_index import FakeIndex
from support.zoo import Animal, Repository

from compat.cli.output import table

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
SUITE = """\
import time

import pytest


@pytest.mark.parametrize("number", range(4))
def test_slow(number):
    time.sleep(1)
"""
# The first test puts something else in the place of the events file, and goes on for a while.
HOSTILE = """\
import os, time

def test_replaces():
    path = os.environ["COMPAT_EVENTS"]
    os.unlink(path)
    {act}
    time.sleep(3)

def test_next():
    pass
"""
ACTS = {
    "fifo": "os.mkfifo(path)",
    "link": "os.symlink('/dev/zero', path)",
    "lies": (
        'open(path, \'w\').write(\'{"event": "collected", "count": 1000000000000}\\\\n\' * 3'
        " + '\\x1b]0;owned\\x07' * 1000000)"
    ),
}


def in_terminal(repository: Repository, *words: str, width: int = 80) -> tuple[int, str]:
    """Run `compat` in a terminal of that width; return its exit code and all that came."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environ = {
        name: value
        for name, value in repository.environ.items()
        if name not in ("NO_COLOR", "COLUMNS", "LINES", "CI")
    } | {"TERM": "xterm-256color"}
    command = [sys.executable, "-c", "from compat.cli.app import main; main()", *words]
    process = subprocess.Popen(
        command, cwd=repository.root, env=environ, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    chunks = []
    while True:
        if not select.select([master], [], [], 300)[0]:
            process.kill()
            raise AssertionError("nothing came for five minutes")
        try:
            chunk = os.read(master, 65536)
        except OSError:  # Linux says so when the last writer has gone.
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(master)
    return process.wait(60), b"".join(chunks).decode()


def test_a_run_shows_its_steps_and_tests_and_ends_with_what_it_taught(
    tmp_path: Path, index: FakeIndex, tools: Any
) -> None:
    animal = Animal(name="watched", story="It takes its time.", outcome="pass", suite=SUITE)
    repository = Repository(tmp_path, tmp_path / "cache", index, animal, tools)
    code, text = in_terminal(repository, "run", "zoo", "--isolation", "L0")
    assert code == 0, text[-3000:]
    plain = ESCAPE.sub("", text)
    steps = [step for step in ("lock", "install", "suite, test") if step in plain]
    assert steps == ["lock", "install", "suite, test"]
    shown = [int(number) for number in re.findall(r"suite, test (\d+) of 4,", plain)]
    assert len(set(shown)) >= 2
    assert shown == sorted(shown)
    # Nothing of this matrix ever ran, so nothing is known of the time.
    assert " left" not in plain
    assert text.index("\x1b[?25l") < text.index("\x1b[?25h")
    end = plain.partition("1 of 1 cell\r\n")[2]
    assert "zoowatched 1.0 on Python" in end
    assert "works as published." in end
    assert f"compat show zoo {repository.cell} shows" in " ".join(end.split())
    again, text = in_terminal(repository, "run", "zoo", repository.cell, "--isolation", "L0")
    assert again == 0
    assert re.search(r"about \d+ s left", ESCAPE.sub("", text))
    assert not re.search(r"-\d+ s", ESCAPE.sub("", text))


@pytest.mark.parametrize("act", ACTS)
def test_a_cell_that_puts_something_else_in_the_place_of_its_events_harms_nobody(
    tmp_path: Path, index: FakeIndex, tools: Any, act: str
) -> None:
    suite = HOSTILE.replace("{act}", ACTS[act])
    animal = Animal(name=act, story="It lies.", outcome="", suite=suite)
    repository = Repository(tmp_path, tmp_path / "cache", index, animal, tools)
    code, text = in_terminal(repository, "run", "zoo", "--isolation", "L0")
    assert code == 1, text[-3000:]
    assert "\x1b]0" not in text
    assert "owned" not in text
    assert "000000000" not in text.replace(",", "")
    assert "works as published" not in text


def test_a_sentence_that_no_column_has_room_for_goes_below_its_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    cell, outcome = (
        "py3.11-numpy2.4.1-pandas3.0.0",
        "test-fail:attribute(a.dotted.name.of.32letters)",
    )
    table(("cell", "verdict", "outcome"), [(cell, "works", "pass"), (cell, "broken", outcome)])
    assert capsys.readouterr().out.splitlines() == [
        f"{'cell':<29}  verdict  outcome",
        f"{cell}  works    pass",
        f"{cell}  broken",
        f"    {outcome}",
    ]
