"""The rules for messages: each finds its example, in a syntax that Python and JavaScript share."""

import re
from typing import Any

import pytest

from compat.advise.message import legible, read_message
from compat.advise.message_patterns import PYTHON_PATTERNS, VERSION_PATTERN
from compat.advise.message_rules import (
    MESSAGE_RULES,
    MOST_READ,
)

PATTERNS = [*(rule.pattern for rule in MESSAGE_RULES), *PYTHON_PATTERNS, VERSION_PATTERN]


UNDERSTOOD = [
    (
        "ERROR: Package 'demo' requires a different Python: 3.8.1 not in '<3.12,>=3.9'",
        *("requires-python", "python", "demo", "python<3.12,>=3.9"),
    ),
    (
        "\u00d7 No solution found when resolving dependencies:\n\u2570\u2500\u25b6 Because the"
        " current Python version (3.12.3) does not satisfy\n      Python>=3.9,<3.12 and"
        " demo==1.0 depends on Python>=3.9,<3.12, we can conclude that",
        *("requires-python", "python", "demo", "python>=3.9,<3.12"),
    ),
    (
        "Because there is no version of dep==0.4.14 and demo==1.0 depends on dep==0.4.14, we",
        *("no-artifact", "dep", "demo", ""),
    ),
    (
        "Because only demo<=2.0 is available and you require demo==3.0, we can conclude",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "Because demo==1.0 depends on dep==1.* and other==2.0 depends on dep>=2, we can",
        *("conflict", "dep", "demo", "dep==1.*"),
    ),
    (
        "ERROR: demo 1.0 has requirement dep~=1.34.0, but you'll have dep 1.37.1 which is"
        " incompatible.",
        *("conflict", "dep", "demo", "dep~=1.34.0"),
    ),
    (
        "\x1b[31mImportError: cannot import name 'Mapping' from 'collections'\x1b[0m"
        " (/usr/lib/python3.10/collections/__init__.py)",
        *("missing-attribute", "python", "", "python<3.10"),
    ),
    (
        "ModuleNotFoundError: No module named 'distutils'",
        *("missing-module", "python", "", "python<3.12"),
    ),
    (
        "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.2 as it may",
        *("binary-incompatible", "numpy", "", "numpy<2"),
    ),
    (
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility.",
        *("binary-incompatible", "numpy", "", ""),
    ),
    (
        "  Building wheel for demo (pyproject.toml) ... error\n  error:"
        " subprocess-exited-with-error",
        *("build", "demo", "", ""),
    ),
    (
        "ImportError: /venv/lib/python3.9/site-packages/demo_ops/_k.so: undefined symbol: _ZN4",
        *("binary-incompatible", "demo-ops", "", ""),
    ),
]


@pytest.mark.parametrize(("text", "cause", "package", "of", "needs"), UNDERSTOOD)
def test_a_message_is_understood(text: str, cause: str, package: str, of: str, needs: str) -> None:
    complaint = read_message(text).complaints[0]
    assert (complaint.cause, complaint.package, complaint.of, complaint.needs) == (
        *(cause, package, of, needs),
    )
    assert "$" not in complaint.sentence


def test_trouble_of_the_network_says_nothing_about_versions() -> None:
    message = read_message(
        "Retrying after connection broken by 'NewConnectionError'\nERROR: No matching distribution"
        " found for demo"
    )
    assert [complaint.is_fault for complaint in message.complaints] == [False]


def test_of_a_long_message_the_end_is_read() -> None:
    text = "No module named 'distutils' " + "x" * MOST_READ + " numpy.dtype size changed, may"
    text += " indicate binary incompatibility"
    assert [complaint.package for complaint in read_message(text).complaints] == ["numpy"]
    assert len(read_message(text).text) <= MOST_READ


def test_nothing_of_a_terminal_is_left_in_what_is_read() -> None:
    assert legible("\x1b[1;31m\u2502 a\n\u2570\u2500\u25b6 'b'\u276f\x1b[0m\t c") == "a b c"


@pytest.mark.parametrize(
    "line",
    [
        "/a/b.py:36: RuntimeWarning: numpy.dtype size changed, may indicate binary incompatibility",
        "I1025 08:07:07.36 3504 bridge.py:35] No backend: module 'demo' has no attribute 'client'",
        "2020-04-22 21:10:43.5: W demo/loader.cc:55] cannot import name 'a' from 'demo'",
    ],
)
def test_what_a_program_only_notes_is_not_read(line: str) -> None:
    assert read_message(f"{line}\n").complaints == ()
    error = "ImportError: cannot import name 'a' from 'dep'"
    packages = [c.package for c in read_message(f"{line}\n{error}\n").complaints]
    assert packages == ["dep"]
    # What was pasted without its line ends may hold an error, too.
    assert "dep" in [c.package for c in read_message(f"{line} {error}").complaints]


def test_files_tell_what_is_installed_and_what_is_the_users_own() -> None:
    message = read_message(
        '  File "/home/me/demo.py", line 1, in <module>\n  File "/usr/lib/python3.9/random.py",'
        ' line 3\n  File "C:\\env\\Lib\\site-packages\\yaml\\__init__.py", line 2, in <module>\n'
    )
    assert message.own_files == {"demo"}
    assert message.installed == {"pyyaml"}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_bounded_and_of_the_shared_syntax(pattern: str) -> None:
    bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern)
    assert not re.search(r"[*+]|\{\d*,\}", bare), "a repetition without a bound"
    assert not re.search(r"\(\?(?![:=!]|<[=!])", bare), "a group that JavaScript has not"
    re.compile(pattern, re.ASCII | re.IGNORECASE)


@pytest.mark.parametrize("rule", MESSAGE_RULES, ids=lambda rule: str(rule.cause))
def test_a_rule_refers_to_groups_that_it_has(rule: Any) -> None:
    groups = re.compile(rule.pattern).groups
    for text in (rule.sentence, rule.package, rule.of, rule.needs):
        assert all(int(number) <= groups for number in re.findall(r"\$(\d)", text))
    assert rule.sentence.endswith(".")
