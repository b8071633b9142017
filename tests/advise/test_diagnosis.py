"""What `compat doctor` makes of real environments and messages: golden cases, and how many of them
are right.

The anchor is DECIDE, which finds 65 % of known issues at 92 % precision.
"""

import datetime
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.version import Version

from compat.advise.diagnosis import Diagnosis, diagnosis, touches
from compat.advise.message import read_message
from compat.advise.package_list import PackageList, listed_versions, read_list
from compat.advise.problem import KnownFacts
from compat.advise.proof import is_current
from compat.cli.doctor import known_facts
from compat.cli.doctor import works as doctor_works
from compat.run.outcome import CAUSES
from compat.workspace import Workspace

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
MATRICES = HERE.parent.parent / "matrices"
CASES, HELD_OUT, FRESH, THIRD, FOURTH, FIFTH, SIXTH = (
    tomllib.loads((HERE / name).read_text("utf-8"))["cases"]
    for name in (
        "doctor_cases.toml",
        "doctor_held_out.toml",
        "doctor_fresh.toml",
        "doctor_third.toml",
        "doctor_fourth.toml",
        "doctor_fifth.toml",
        "doctor_sixth.toml",
    )
)
EVERY: list[dict[str, Any]] = [*CASES, *HELD_OUT, *FRESH, *THIRD, *FOURTH, *FIFTH, *SIXTH]
DAY = datetime.date(2026, 11, 23)
# What is not found, and why.
MISSED = {
    "google-research-13": "an error in the words of the user's own program",
    "privacy-520": "an error in the words of TensorFlow alone",
    "probability-1752": "an error in the words of TensorFlow Probability alone",
    "tensorflow-52937": "an error in the words of TensorFlow alone",
    "jax-1912": "an error in the words of jax alone",
    "model-optimization-448": "Python 2 does not say which module lacks the name",
    "albert-chinese-ner-6": "a slip reads as what was removed",
    "tensorflow-109469": "what a coordinate requires is not kept",
    "assume-774": "a list alone does not say what is imported",
    "acts-5034": "versions that were never run together",
    "neurostore-901": "a class that the message does not say where to look for",
    "l3das23-3": "what other packages require is not known",
    "mediapipe-5117": "an index without a file reads like an index without the package",
    "open-zaak-585": "the same, and an old release reads as a resolver's fallback",
    "sack-3": "a name that no message before told of, and whose package it does not say",
    "tensorboard-keras-example-3": "an argument, and not whose call it is",
    "si-adv-3": "it does not say that the library is too old for the processor",
    "numpy-31613": "a build that ends without a word of its cause",
    "ktrain-525": "an error in the words of a package alone",
    "totaldepth-37": "a missing compiler reads as a package that cannot be built",
}
# Cells that work, of three Pythons, and of which one is as published.
PROVEN = (
    "py3.9-tf2.14-tff0.87.0+relaxed",
    "py3.10-tf2.12-tff0.61.0+relaxed",
    "py3.11-tf2.15-tff0.87.0+relaxed",
    "py3.8-tf2.8-tff0.20.0+relaxed",
)


@pytest.fixture(scope="module")
def known(derived: Callable[[datetime.date], Path]) -> dict[str, KnownFacts]:
    cache = derived(DAY)
    return {name: facts(MATRICES / name, cache) for name in ("tff", "pip-tools")}


def facts(folder: Path, cache: Path) -> KnownFacts:
    return known_facts(Workspace(folder, DAY, lambda: cache))


def answered(known: dict[str, KnownFacts], case: dict[str, Any]) -> Diagnosis | None:
    """The answer of the one matrix that the case is about, as the command would choose it."""
    text = case.get("message", "")
    message = read_message(text) if text else None
    python = Version(case["python"]) if "python" in case else None
    if "list" in case:
        packages = read_list(case["list"], python)
    else:
        python = python or (None if message is None else message.python)
        packages = PackageList(versions=listed_versions(text), python=python)
    names = [
        name
        for name, of in known.items()
        if case.get("matrix") == name
        or ("matrix" not in case and touches(of.snapshot.matrix, packages, message))
    ]
    return diagnosis(known[names[0]], packages, message) if names else None


def is_right(answer: Diagnosis | None, case: dict[str, Any]) -> bool:
    """Whether the state is right, and of what is broken the cause and the package at fault."""
    is_broken = answer is not None and answer.state == "broken"
    if case["truth"] == "fine" or answer is None or not is_broken:
        return is_broken is (case["truth"] == "broken")
    first = answer.problems[0]
    return first.cause in case["causes"] and not set(first.packages[:2]).isdisjoint(
        case["packages"]
    )


@pytest.mark.parametrize("case", EVERY, ids=lambda case: str(case["name"]))
def test_a_real_case_is_diagnosed(case: dict[str, Any], known: dict[str, KnownFacts]) -> None:
    answer = answered(known, case)
    assert is_right(answer, case) is (case["name"] not in MISSED), answer


@pytest.mark.parametrize(
    ("cases", "number", "found", "called"),
    [
        (CASES, 140, 138, 138),
        (HELD_OUT, 34, 31, 32),
        (FRESH, 30, 25, 26),
        (THIRD, 31, 30, 30),
        (FOURTH, 28, 27, 27),
        (FIFTH, 29, 28, 28),
        (SIXTH, 29, 24, 25),
    ],
    ids=["kept", "held out", "fresh", "third", "fourth", "fifth", "sixth"],
)
def test_precision_and_recall(
    cases: list[dict[str, Any]], number: int, found: int, called: int, known: dict[str, KnownFacts]
) -> None:
    positives = [case for case in cases if case["truth"] == "broken"]
    answers = [(case, answered(known, case)) for case in cases]
    broken = [(case, answer) for case, answer in answers if answer and answer.state == "broken"]
    right = [case for case, answer in broken if is_right(answer, case)]
    assert len(positives) == number
    # As of 2026-11-24. Asked of the held-out cases for the first time it found 27 and called 29
    # broken, of the fresh ones 20 and 21, of the third 26 and 28, of the fourth 20 and 20, of the
    # fifth 24 and 24, of the sixth 23 and 25; what was seen in them was mended by general rules,
    # where it could be.
    assert len(right) >= found
    assert len(broken) - len(right) <= called - found


def test_cases_say_where_they_are_from_and_what_is_true() -> None:
    names = [case["name"] for case in EVERY]
    assert len(set(names)) == len(names)
    assert set(MISSED) <= set(names)
    for case in EVERY:
        assert case["source"].startswith("https://")
        assert case["why"].endswith(".")
        assert case["truth"] in ("broken", "fine")
        assert bool(case.get("causes")) is bool(case.get("packages")) is (case["truth"] == "broken")
        assert set(case.get("causes", ())) <= set(CAUSES)
        assert "list" in case or "message" in case


def without_suite(pins: dict[str, Version]) -> dict[str, Version]:
    """What pip freeze prints for somebody who never had the suite."""
    left_out = ("pytest", "iniconfig", "pluggy", "exceptiongroup", "tomli", "setuptools", "wheel")
    return {name: version for name, version in pins.items() if name not in left_out}


def as_freeze(pins: dict[str, Version]) -> str:
    return "".join(f"{name}=={version}\n" for name, version in pins.items())


def as_columns(pins: dict[str, Version]) -> str:
    rows = "".join(f"{name:<32}{version}\n" for name, version in pins.items())
    return f"{'Package':<32}Version\n{'-' * 31} {'-' * 9}\n{rows}"


def as_json(pins: dict[str, Version]) -> str:
    rows = [{"name": name, "version": str(version)} for name, version in pins.items()]
    return msgspec.json.encode(rows).decode()


def as_poetry_lock(pins: dict[str, Version]) -> str:
    return "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\n\n[package.dependencies]\n'
        'name = "x"\nversion = "9"\n\n'
        for name, version in pins.items()
    )


@pytest.mark.parametrize("cell", PROVEN)
@pytest.mark.parametrize("form", [as_freeze, as_columns, as_json, as_poetry_lock])
def test_what_a_run_proves_is_proven_in_each_form(
    cell: str, form: Any, known: dict[str, KnownFacts]
) -> None:
    pins = without_suite(known["tff"].pins[cell])
    python = Version(cell[2:].partition("-")[0])
    packages = read_list(form(pins), python)
    answer = diagnosis(known["tff"], packages)
    assert answer.state == "proven"
    assert answer.proof is not None
    assert answer.problems == ()
    further = as_freeze(pins | {"black": Version("24.1"), "my-package": Version("0.1")})
    assert diagnosis(known["tff"], read_list(further, python)).state == "proven"


@pytest.mark.parametrize(("name", "most"), [("pip-tools", 10_000), ("tff", 60)])
def test_each_lock_of_a_cell_that_works_is_proven(
    name: str, most: int, known: dict[str, KnownFacts]
) -> None:
    """All locks of pip-tools, and of TFF's many a sample that is the same each time."""
    cells = [
        (entry.cell.id, entry.verdict.kind)
        for entry in known[name].snapshot.known
        if entry.verdict.kind in ("works", "partial") and is_current(entry)
    ]
    sample = random.Random(38).sample(cells, min(most, len(cells)))
    assert sample
    wrong = []
    for cell, kind in sample:
        text = (MATRICES / name / "locks" / f"{cell}.txt").read_text()
        python = Version(cell[2:].partition("-")[0])
        answer = diagnosis(known[name], read_list(text, python))
        is_right = answer.state == "proven" and doctor_works(answer) is (kind == "works")
        wrong += [] if is_right else [(cell, answer.state, answer.problems)]
    assert wrong == []


@pytest.mark.parametrize("cell", PROVEN)
def test_what_differs_in_little_is_unproven_with_its_distance(
    cell: str, known: dict[str, KnownFacts]
) -> None:
    pins = without_suite(known["tff"].pins[cell]) | {"certifi": Version("2026.1.1")}
    python = Version(cell[2:].partition("-")[0])
    answer = diagnosis(known["tff"], PackageList(versions=pins, python=python))
    assert answer.state == "unproven"
    assert answer.neighbour is not None
    assert answer.neighbour.entry.cell.id == cell
    assert [d.package for d in answer.neighbour.differences] == ["certifi"]


def test_without_its_python_nothing_is_proven(known: dict[str, KnownFacts]) -> None:
    pins = without_suite(known["tff"].pins[PROVEN[0]])
    assert diagnosis(known["tff"], PackageList(versions=pins)).state == "unproven"


def test_a_part_of_a_tested_set_is_not_proven(known: dict[str, KnownFacts]) -> None:
    pins = known["tff"].pins[PROVEN[0]]
    part = {name: pins[name] for name in ("tensorflow", "tensorflow-federated")}
    packages = PackageList(versions=part, python=Version("3.9"))
    assert diagnosis(known["tff"], packages).state == "unproven"


def test_a_requirement_that_is_not_met_is_told_with_the_pin_that_mends_it(
    known: dict[str, KnownFacts],
) -> None:
    cell = "py3.9-tf2.9-tff0.33.0+relaxed"
    pins = without_suite(known["tff"].pins[cell]) | {"numpy": Version("1.24.0")}
    answer = diagnosis(known["tff"], PackageList(versions=pins, python=Version("3.9.18")))
    assert answer.state == "broken"
    assert [problem.sentence for problem in answer.problems] == [
        "tensorflow-federated 0.33.0 requires numpy~=1.21.4, and numpy 1.24.0 is installed."
    ]
    assert answer.pins == (("numpy", known["tff"].pins[cell]["numpy"]),)


def test_a_red_run_speaks_for_the_same_python_and_the_same_packages(
    known: dict[str, KnownFacts],
) -> None:
    cell = "py3.8-tf2.9-tff0.36.0+relaxed"
    pins = without_suite(known["tff"].pins[cell]) | {"certifi": Version("2026.1.1")}
    answer = diagnosis(known["tff"], PackageList(versions=pins, python=Version("3.8.10")))
    assert answer.state == "broken"
    assert answer.problems[0].ground == "run"
    assert answer.problems[0].packages[0] == "python"
    assert "PEP 585" in answer.problems[0].because
    assert answer.neighbour is not None
    assert answer.neighbour.is_other_python


def test_a_python_that_the_release_does_not_admit_is_told(known: dict[str, KnownFacts]) -> None:
    packages = read_list("tensorflow==2.14.1\ntensorflow-federated==0.87.0\n", Version("3.12.1"))
    answer = diagnosis(known["tff"], packages)
    assert answer.state == "broken"
    assert answer.problems[0].cause == "requires-python"
    assert "requires Python" in answer.problems[0].sentence


def test_a_nightly_build_meets_no_requirement_on_the_package_that_it_stands_for(
    known: dict[str, KnownFacts],
) -> None:
    packages = read_list("tf-nightly==2.10.0.dev20220620\ntensorflow-federated==0.33.0\n")
    answer = diagnosis(known["tff"], packages)
    assert answer.state == "broken"
    assert answer.problems[0].sentence == (
        "tensorflow-federated 0.33.0 requires tensorflow~=2.9.1, and in its place tf-nightly"
        " 2.10.0.dev20220620 is installed."
    )
    assert any("stands in the place of tensorflow" in line for line in answer.notes)


def test_what_a_package_was_seen_to_refuse_at_import_is_held_against_a_list(
    known: dict[str, KnownFacts],
) -> None:
    listed = "tensorflow-federated==0.33.0\ntensorflow-probability==0.18.0\ntensorflow==2.9.2\n"
    problem = diagnosis(known["tff"], read_list(listed)).problems[0]
    assert (problem.cause, problem.ground) == ("version-guard", "run")
    assert "when it is imported, as a run of py3." in problem.sentence
    newer = diagnosis(known["tff"], read_list(listed.replace("2.9.2", "2.10.0")))
    assert "version-guard" not in [problem.cause for problem in newer.problems]


@pytest.mark.parametrize(
    "text",
    [
        "AttributeError: 'dict' object has no attribute 'model'",
        "ModuleNotFoundError: No module named 'my_helpers'",
        "AttributeError: module 'my_helpers' has no attribute 'load'",
        "SyntaxError: invalid syntax",
        "AttributeError: 'MyTrainer' object has no attribute 'model'",
        "error: command 'gcc' failed with exit status 1",
        "  File \"/home/me/numpy.py\", line 3, in <module>\nImportError: cannot import name 'array'"
        " from 'numpy' (/home/me/numpy.py)",
        "    model.fit(x, epoch=3)\nTypeError: fit() got an unexpected keyword argument 'epoch'",
    ],
)
def test_what_could_be_anybodys_is_held_against_nobody(
    text: str, known: dict[str, KnownFacts]
) -> None:
    message = read_message(f"import tensorflow_federated as tff\n{text}\n")
    answer = diagnosis(known["tff"], PackageList(versions={}), message)
    assert answer.state == "unproven"


@pytest.mark.parametrize(
    ("text", "package"),
    [
        (
            "ImportError: cannot import name 'a' from 'strange' (/v/site-packages/strange/a.py)",
            "strange",
        ),
        (
            "AttributeError: module 'tensorflow_core.train' has no attribute 'Optimizer'",
            "tensorflow",
        ),
        (
            "    tf.enable(a=1)\nTypeError: enable() got an unexpected keyword argument 'a'",
            "tensorflow",
        ),
        ("ERROR: Failed building wheel for strange", "strange"),
    ],
)
def test_what_is_installed_or_ends_an_installation_is_at_fault_under_any_name(
    text: str, package: str, known: dict[str, KnownFacts]
) -> None:
    answer = diagnosis(known["tff"], PackageList(versions={}), read_message(text))
    assert answer.problems[0].packages == (package,)


def test_a_release_that_is_long_out_of_date_is_noted(known: dict[str, KnownFacts]) -> None:
    packages = read_list("tensorflow==2.8.4\ntensorflow-federated==0.20.0\n", Version("3.9"))
    notes = diagnosis(known["tff"], packages).notes
    assert any("years older than 0.87.0" in line for line in notes)
