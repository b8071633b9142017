"""The commands that install a lock."""

import re
import shlex
import subprocess
from pathlib import Path

import msgspec
import tomllib
from hypothesis import given
from hypothesis import strategies as st
from support.known import MATRIX, lock_of

from compat.advise.commands import commands, suite_lines
from compat.lock.lockfile import decode_pins, encode_lock, read_pins
from compat.results.answer import Lifted

USUAL = lock_of("py3.9-dep2-demo2.0")
RELAXED = lock_of("py3.9-dep2-demo2.0+relaxed")
CHANGED = msgspec.structs.replace(
    RELAXED, inputs=msgspec.structs.replace(RELAXED.inputs, overrides=("dep>=2", "pytest-gone"))
)
UNDECLARED = lock_of("py3.8-dep2-demo2.0+relaxed", install_as_python="3.9.18")


def test_a_lock_is_installed_with_hashes_and_nothing_else() -> None:
    found = commands(USUAL, "locks/a.txt", MATRIX)
    assert found.uv[:2] == (
        "uv venv --python 3.9 demo2.0-dep2-py3.9",
        "uv pip install --python demo2.0-dep2-py3.9 --no-deps --require-hashes -r locks/a.txt",
    )
    assert found.pip[:2] == (
        "python3.9 -m venv demo2.0-dep2-py3.9",
        "demo2.0-dep2-py3.9/bin/python -m pip install --no-deps --require-hashes -r locks/a.txt",
    )


def test_a_user_installs_without_what_only_the_suite_needs(tmp_path: Path) -> None:
    layered = msgspec.structs.replace(USUAL, suite_only=("dep",))
    (tmp_path / "a.txt").write_text(encode_lock(layered))
    at = "a.txt"
    for lines, pins in (
        (commands(layered, at, MATRIX).uv, layered.library_pins),
        (suite_lines(layered, at), [pin for pin in layered.pins if pin.name == "dep"]),
    ):
        subprocess.run(lines[0], shell=True, cwd=tmp_path, check=True)
        (name,) = re.findall(r"> (\S+)$", lines[0])
        assert decode_pins((tmp_path / name).read_text()) == list(pins) != []
        assert any(line.endswith(f"-r {name}") for line in lines)
    assert read_pins(encode_lock(layered)) == {p.name: p.version for p in layered.library_pins}
    assert suite_lines(USUAL, at) == ()


def test_an_installation_ends_with_its_activation_and_a_look_at_the_version() -> None:
    found = commands(USUAL, "a.txt", MATRIX)
    assert found.uv[2:] == found.pip[2:]
    activate, look = found.uv[2:]
    assert activate == "source demo2.0-dep2-py3.9/bin/activate"
    assert shlex.split(look) == [
        "python",
        "-c",
        'import demo; from importlib.metadata import version; print(version("demo"))',
    ]
    assert found.platform == "Linux x86-64, glibc 2.28 or newer"


def test_a_notebook_and_an_image_take_the_same_lock_with_its_hashes() -> None:
    found = commands(USUAL, "https://x.example/a.txt", MATRIX)
    assert all(line.startswith("!") for line in found.colab)
    assert [line.removeprefix("!") for line in found.colab[1:3]] == list(found.uv[:2])
    assert found.docker[:2] == (
        "FROM --platform=linux/amd64 python:3.9-slim",
        "RUN pip install --no-deps --require-hashes --no-cache-dir -r https://x.example/a.txt",
    )


def test_a_project_overrides_only_what_the_lock_does_not_keep() -> None:
    at = "https://x.example/a.txt"
    usual = commands(USUAL, at, MATRIX)
    assert "override-dependencies = [" not in usual.pyproject
    assert usual.project[:2] == (
        "curl -fsSL -o constraints.txt https://x.example/a.txt",
        "uv add --constraints constraints.txt demo==2.0",
    )
    lifted = Lifted(("dep", "Python"), "==1.*", "2.0", "", "")
    left_out = Lifted(("other",), ">=3", "", "", "")
    changed = tomllib.loads("\n".join(commands(CHANGED, at, MATRIX, (lifted, left_out)).pyproject))
    own, everywhere = changed["tool"]["uv"]["override-dependencies"]
    assert own["package"] == {"name": "demo", "version": "2.0"}
    assert own["dependencies"] == ["dep==2.0", "other ; python_version < '0'"]
    assert everywhere == "dep==2.0"
    assert changed["project"]["requires-python"] == "==3.9.*"


def test_a_project_reads_other_metadata_where_the_release_does_not_admit_the_python() -> None:
    found = commands(UNDECLARED, "a.txt", MATRIX)
    uv = tomllib.loads("\n".join(found.pyproject))["tool"]["uv"]
    assert uv["dependency-metadata"] == [
        {
            "name": "demo",
            "version": "2.0",
            "requires-dist": list(UNDECLARED.inputs.requirements),
        }
    ]
    assert found.project[0] == "uv add --constraints a.txt demo==2.0"


def test_a_subject_that_does_not_declare_the_python_is_installed_by_itself() -> None:
    found = commands(UNDECLARED, "https://x.example/a.txt", MATRIX)
    assert found.uv[1:6] == (
        "curl -fsSL -o lock.txt https://x.example/a.txt",
        "awk '/^[a-z0-9]/ { given = /^demo==/ } given' lock.txt > given.txt",
        "awk '/^[a-z0-9]/ { given = /^demo==/ } !given' lock.txt > pins.txt",
        "uv pip install --python demo2.0-dep2-py3.8 --no-deps --require-hashes -r pins.txt",
        "uv pip install --python demo2.0-dep2-py3.8 --no-deps --require-hashes"
        " --python-version 3.9.18 -r given.txt",
    )
    assert found.pip[1].endswith(
        "--require-hashes --ignore-requires-python -r https://x.example/a.txt"
    )


def test_a_lock_in_one_file_is_taken_apart_first() -> None:
    lines = commands(UNDECLARED, "a.txt", MATRIX).uv
    assert lines[1:3] == (
        "awk '/^[a-z0-9]/ { given = /^demo==/ } given' a.txt > given.txt",
        "awk '/^[a-z0-9]/ { given = /^demo==/ } !given' a.txt > pins.txt",
    )


@given(st.text(min_size=1, alphabet="ab '\"$`\\;&|\n"))
def test_a_place_is_one_word_for_the_shell(place: str) -> None:
    assert shlex.split(commands(USUAL, place, MATRIX).uv[1])[-1] == place
