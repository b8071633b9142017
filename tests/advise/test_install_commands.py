"""The commands that install a lock."""

from hypothesis import given
from hypothesis import strategies as st
from support.known import lock_of

from compat.advise.commands import Whereabouts, commands, parts
from compat.lock.lock_text import decode_pins

USUAL = lock_of("py3.9-dep2-demo2.0")
UNDECLARED = lock_of("py3.8-dep2-demo2.0+relaxed", install_as_python="3.9.18")


def test_a_lock_is_installed_with_hashes_and_nothing_else() -> None:
    found = commands(USUAL, Whereabouts(lock="locks/a.txt"))
    assert found.uv == (
        "uv venv --python 3.9 cell",
        "uv pip install --python cell --no-deps --require-hashes -r locks/a.txt",
    )
    assert found.pip == (
        "python3.9 -m venv cell",
        "cell/bin/python -m pip install --no-deps --require-hashes -r locks/a.txt",
    )


def test_a_subject_that_does_not_declare_the_python_is_installed_by_itself() -> None:
    at = Whereabouts(
        lock="https://x.example/a.txt",
        pins="https://x.example/p.txt",
        given="https://x.example/g.txt",
    )
    found = commands(UNDECLARED, at)
    assert found.uv[1:] == (
        "uv pip install --python cell --no-deps --require-hashes -r https://x.example/p.txt",
        "uv pip install --python cell --no-deps --require-hashes --python-version 3.9.18"
        " -r https://x.example/g.txt",
    )
    assert found.pip[-1].endswith(
        "--require-hashes --ignore-requires-python -r https://x.example/a.txt"
    )


def test_a_lock_in_one_file_is_taken_apart_first() -> None:
    lines = commands(UNDECLARED, Whereabouts(lock="a.txt")).uv
    assert lines[1:3] == (
        "awk '/^[a-z0-9]/ { given = /^demo==/ } given' a.txt > given.txt",
        "awk '/^[a-z0-9]/ { given = /^demo==/ } !given' a.txt > pins.txt",
    )


def test_the_parts_of_a_lock_are_all_of_it() -> None:
    rest, subject = parts(UNDECLARED)
    assert [pin.name for pin in decode_pins(subject)] == ["demo"]
    assert sorted(decode_pins(rest) + decode_pins(subject), key=lambda pin: pin.name) == list(
        UNDECLARED.pins
    )


@given(st.text(min_size=1, alphabet="ab '\"$`\\;&|\n"))
def test_a_place_is_one_word_for_the_shell(place: str) -> None:
    import shlex

    assert shlex.split(commands(USUAL, Whereabouts(lock=place)).uv[1])[-1] == place
