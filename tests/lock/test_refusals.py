"""What resolvers said on real indexes, and what we make of it: one real example for each
pattern.
"""

from pathlib import Path

import pytest

from compat.declare.parsing import toml_document
from compat.lock.lockfile import Refusal
from compat.lock.resolvers import last_words, refusal_of_pip, refusal_of_uv, tool_message

KEPT = Path(__file__).with_name("refusals.toml")
SAID = toml_document(KEPT.read_bytes(), KEPT.name)
READERS = {"uv": refusal_of_uv, "pip": refusal_of_pip}
CASES = [(tool, case) for tool, cases in SAID.items() for case in cases]


def said(tool: str, outcome: str) -> str:
    text: str = next(case["text"] for case in SAID[tool] if case["outcome"] == outcome)
    return text


def refusal_of(tool: str, text: str) -> Refusal:
    refusal = READERS[tool](text)
    assert refusal is not None
    return refusal


@pytest.mark.parametrize(("tool", "case"), CASES, ids=[case["outcome"] for _, case in CASES])
def test_the_tool_says_why(tool: str, case: dict[str, str]) -> None:
    refusal = refusal_of(tool, case["text"])
    assert str(refusal) == f"lock-fail:{case['outcome']}"
    assert case.get("because", refusal.because) == refusal.because


def test_a_derivation_of_many_ranges_is_read_to_its_end() -> None:
    """uv's 17 kB about TensorFlow's pre-releases were read for minutes: each `==` in two ways."""
    ranges = " ".join(f"tf>=2.{number}.0rc0,<=2.{number}.0rc1" for number in range(40))
    text = f"error: No solution found:\n  Because {ranges} {{}}, we can conclude that"
    assert str(refusal_of("uv", text.format("were yanked"))).startswith("lock-fail:yanked(tf>=2.0")
    assert refusal_of_uv(text.format("are unknown")) is None
    strange = f"Could not find a version that matches demo{'!' * 4000}"
    assert str(refusal_of("pip", strange)).startswith("lock-fail:no-artifact(demo")


def test_uv_names_the_packages_that_the_date_hides() -> None:
    only = "to only include packages uploaded before 2022-09-08."
    text = said("uv", "no-artifact(ml-dtypes>=0.1.0)") + (
        f"\nhint: `ml-dtypes` was filtered by `exclude-newer` {only}"
        f"\nhint: `etils` was filtered by `exclude-newer-package` {only}"
    )
    assert refusal_of("uv", text).hidden == ("ml-dtypes", "etils")


def test_pip_that_names_no_two_demands_tells_of_no_conflict() -> None:
    alone = "ResolutionImpossible: [RequirementInformation(requirement=SpecifierRequirement("
    assert refusal_of_pip(f"{alone}'demo>=2'), parent=None)]") is None


def test_the_marker_of_a_demand_is_no_part_of_it() -> None:
    text = said("pip", "conflict(werkzeug>=2.0)").replace(
        "'Werkzeug>=2.0'", "'Werkzeug>=2.0 ; python_version >= \"3.6\"'"
    )
    assert str(refusal_of("pip", text)) == "lock-fail:conflict(werkzeug>=2.0)"


def test_the_marker_of_a_requirement_names_no_package() -> None:
    refusal = refusal_of("uv", said("uv", "conflict(numpy>=1.23.5,<2.0.0)"))
    assert refusal.named == ("attrs", "numpy", "tensorflow", "tensorflow-privacy")


def test_a_demand_that_was_told_is_not_told_again() -> None:
    text = said("uv", "conflict(urllib3>=1.25.4,<2.1)").replace(
        "And because requests==2.20.0 depends on urllib3>=1.21.1,<1.25",
        "And because botocore==1.34.5 depends on urllib3>=1.25.4,<2.1",
    )
    assert refusal_of("uv", text).because.count("urllib3>=1.25.4,<2.1") == 1


def test_the_reason_of_pip_ends_before_its_traceback() -> None:
    first = said("pip", "no-artifact(jaxlib==0.4.14)").splitlines()[0]
    refusal = refusal_of("pip", f"{first}\nTraceback (most recent call last):\n  x")
    assert refusal.because.endswith("(from versions: 0.4.13, 0.4.18)")


def test_the_end_of_a_tools_words_begins_with_a_word() -> None:
    words = " ".join(f"word{number}" for number in range(100))
    assert last_words("short") == "short"
    assert len(last_words(words)) <= 300
    assert words.endswith(f" {last_words(words)}")


def test_a_long_reason_is_cut_at_the_end_of_a_word_and_says_so() -> None:
    parts = [f"part-{number}>=1.{number} depends on ground>={number}" for number in range(20)]
    reason = " and ".join(parts)
    refusal = refusal_of(
        "uv", f"error: No solution found when resolving\n  cause: Because {reason}"
    )
    assert len(refusal.because) <= 300
    assert refusal.because.endswith("...")
    assert reason.startswith(refusal.because[:-3])
    assert reason[len(refusal.because) - 3] == " "


def test_a_build_that_pip_could_not_set_up_is_not_a_refusal() -> None:
    text = (
        "ERROR: installing backend dependencies for farmhashpy did not run successfully.\n"
        "ERROR: Failed to build 'x'"
    )
    assert refusal_of_pip(text) is None


@pytest.mark.parametrize(
    "text", ["", "error: unexpected argument '--frob' found", "thread 'main' panicked at lib.rs"]
)
def test_a_broken_tool_is_not_a_refusal(text: str) -> None:
    assert refusal_of_uv(text) is None
    assert refusal_of_pip(text) is None


def test_what_is_told_names_neither_indexes_nor_paths_of_the_machine() -> None:
    text = (
        "Failed to fetch https://user:secret@index.example/simple/x/ into"
        " /home/somebody/.cache/uv/x \n  again"
    )
    assert tool_message(text) == "Failed to fetch <url> into <path> again"
