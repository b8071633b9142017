"""What `compat doctor` says of environments by a matrix: runs, metadata and guards. What it reads in
messages is in test_doctor.py.
"""  # noqa: E501

import datetime
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.version import Version

from compat.advise.diagnosis import KnownFacts, diagnosis
from compat.advise.doctor.infer import case_of
from compat.advise.package_list import PackageList, read_list
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


def test_cases_say_where_they_are_from_and_what_is_true() -> None:
    names = [case["name"] for case in EVERY]
    assert len(set(names)) == len(names)
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
        (entry.cell.id, entry.kind)
        for entry in known[name].snapshot.known
        if entry.kind in ("works", "partial") and entry.tested
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
    [problem] = answer.problems
    assert "numpy~=1.21.4, and numpy 1.24.0" in problem.sentence
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
    assert "tf-nightly 2.10.0.dev20220620 is" in answer.problems[0].sentence
    assert any("place of tensorflow" in line for line in answer.notes)


def test_what_a_package_was_seen_to_refuse_at_import_is_held_against_a_list(
    known: dict[str, KnownFacts],
) -> None:
    listed = "tensorflow-federated==0.33.0\ntensorflow-probability==0.18.0\ntensorflow==2.9.2\n"
    problem = diagnosis(known["tff"], read_list(listed)).problems[0]
    assert (problem.cause, problem.ground) == ("version-guard", "run")
    assert "a run of py3." in problem.sentence
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
    message = case_of(f"import tensorflow_federated as tff\n{text}\n")
    answer = diagnosis(known["tff"], PackageList(versions={}), message)
    assert answer.state == "unproven"


def test_in_a_list_without_the_subject_a_run_says_nothing_of_anothers_failure(
    derived: Callable[[datetime.date], Path],
) -> None:
    failure = "AttributeError: module 'tensorflow' has no attribute 'is_symbolic_tensor'\n"
    packages = read_list("demo==1.0\n", Version("3.11"))
    day = datetime.date(2026, 11, 26)
    tff = known_facts(Workspace(MATRICES / "tff", day, lambda: derived(day)))
    grounds = []
    for package in ("demo", "tensorflow_federated"):
        frame = f'  File "/v/lib/python3.11/site-packages/{package}/a.py", line 3, in <module>\n'
        message = case_of(frame + failure)
        message.findings = ()
        grounds.append([problem.ground for problem in diagnosis(tff, packages, message).problems])
    assert grounds == [[], ["run"]]
