"""Every animal goes through the whole stream, from its declaration to its verdict, and comes to its
golden outcome.
"""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from support.fake_index import FakeIndex
from support.zoo import Animal, Repository, animals, described

from compat.run.supervise import levels

# COMPAT_LEVELS="L3 L2 L1" is for the night; without it the highest level that is allowed here.
LEVELS = os.environ.get("COMPAT_LEVELS", "highest").split()
FAULTY = [
    animal
    for animal in animals()
    if "suite-fault" in animal.outcome or animal.outcome.startswith("check:")
]
ALL = [animal for animal in animals() if animal not in FAULTY]


def first_of_each_stage(among: list[Animal]) -> list[Any]:
    """Return all of them as parameters; the quick part runs the first that ends at each stage."""
    first = {animal.outcome.partition(":")[0]: animal for animal in reversed(among)}
    return [
        pytest.param(animal, marks=() if animal in first.values() else pytest.mark.slow)
        for animal in among
    ]


@pytest.mark.parametrize("animal", first_of_each_stage(FAULTY), ids=lambda animal: animal.name)
def test_a_fault_of_the_suite_is_told_and_never_recorded(
    animal: Animal,
    tmp_path: Path,
    cache: Path,
    index: FakeIndex,
    tools: list[tuple[str, str, bytes]],
) -> None:
    if animal.level not in ("", levels(os.environ)[0]):
        pytest.skip(f"this machine does not allow {animal.level}")
    repository = Repository(tmp_path, cache, index, animal, tools)
    code, out, stderr = repository.run("run", "zoo", repository.cell, "--json")
    assert code == 2, stderr[-2000:]
    assert animal.outcome.removeprefix("check:") in stderr
    assert repository.records() == []
    if animal.outcome.startswith("check:"):
        assert repository.run("check")[0] == 2
    else:
        (found,) = json.loads(out)["data"]["cells"]
        assert (found["verdict"], found["last"]) == ("unknown", None)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("animal", first_of_each_stage(ALL), ids=lambda animal: animal.name)
def test_an_animal_comes_to_its_golden_outcome(
    animal: Animal,
    level: str,
    tmp_path: Path,
    cache: Path,
    index: FakeIndex,
    tools: list[tuple[str, str, bytes]],
) -> None:
    if animal.level not in ("", levels(os.environ)[0] if level == "highest" else level):
        pytest.skip(f"it comes to this at {animal.level} only")
    repository = Repository(tmp_path, cache, index, animal, tools)
    options = (f"--attempts={animal.attempts}", "--json")
    if level != "highest":
        options += (f"--isolation={level}",)
    with socket.socket(socket.AF_UNIX) as outside:
        outside.bind(str(tmp_path / "outside"))
        outside.listen()
        code, out, stderr = repository.run("run", "zoo", repository.cell, *options)
    assert out, stderr[-3000:]
    (found,) = json.loads(out)["data"]["cells"]
    assert (code == 0) is (animal.outcome == "pass")
    assert str(found["result"]).startswith(animal.outcome), (
        described(animal),
        found,
        stderr[-2000:],
    )
    green = found["verdict"] == "works"
    assert green is (animal.outcome == "pass" and not animal.verdict), found
    if animal.verdict:
        assert found["verdict"] == animal.verdict
    assert repository.alive() == []


def test_there_are_at_least_twenty_animals_and_none_is_green_without_having_run() -> None:
    assert len(ALL) >= 20
    passing = {animal.name for animal in ALL if animal.outcome == "pass"}
    assert passing == {"orphans", "unpacks-at-import"}


@pytest.mark.slow
def test_what_runs_the_tests_is_made_once_and_made_again_when_it_was_changed(
    tmp_path: Path, index: FakeIndex, tools: list[tuple[str, str, bytes]]
) -> None:
    if levels(os.environ)[0] != "L3":
        pytest.skip("nothing is shared where cells could write to it")
    tame = Animal(name="tame", story="It works.", outcome="pass")
    repository = Repository(tmp_path, tmp_path / "cache", index, tame, tools)

    def shared() -> dict[str, int]:
        assert repository.run("run", "zoo", repository.cell)[0] == 0
        folders = (tmp_path / "cache" / "L3" / "runners").iterdir()
        return {folder.name: folder.stat().st_ino for folder in folders}

    (first,) = made = shared()
    assert shared() == made
    # The lock says which packages a user does not need, and the cell held them apart.
    lock = (tmp_path / "matrices" / "zoo" / "locks" / f"{repository.cell}.txt").read_text()
    assert "pytest" in lock.partition("# suite-only: ")[2].splitlines()[0].split()
    # Another file in the place of a link: what uv has stays as it is.
    (module,) = (tmp_path / "cache" / "L3" / "runners" / first).rglob("_pytest/nodes.py")
    module.unlink()
    module.write_text("raise SystemExit(0)\n")
    again = shared()
    assert again.keys() == {first, *(name for name in again if name.startswith("damaged-"))}
    assert again[first] != made[first]
