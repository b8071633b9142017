"""`compat blame` on small real wheels from a local index: dated works, fresh does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.fake_index import FakeIndex
from support.ran import Run
from support.zoo import Animal, Repository, serve, wheel

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

DAYS = {
    "1.0": "2023-11-01",
    "1.1": "2023-12-01",
    "1.2": "2024-03-01",
    "2.0": "2024-04-01",
    "2.1": "2024-05-01",
    "2.2": "2024-06-01",
}
WITH = "def spoken():\n    return 'old'\n"
WITHOUT = "def heard():\n    return 'new'\n"


def repository(
    root: Path, cache: Path, index: FakeIndex, tools: Any, module: str, **sources: dict[str, str]
) -> Repository:
    """A repository with one animal that asks for some packages, each with a source per version."""
    animal = Animal(
        name=root.name.replace("_", ""),
        story="It worked once.",
        outcome="",
        module=module,
        requires=list(sources),
    )
    made = Repository(root, cache, index, animal, tools)
    for name, versions in sources.items():
        releases = [
            (version, wheel(name, version, {f"{name}.py": text}, []), "py3-none-any")
            for version, text in versions.items()
        ]
        serve(index, name, releases, DAYS)
    return made


def test_the_release_that_took_a_function_away_is_named_and_nothing_runs_twice(
    tmp_path: Path, cache: Path, index: FakeIndex, tools: Any
) -> None:
    lib = {version: WITH if version < "2.0" else WITHOUT for version in DAYS}
    quiet = dict.fromkeys(DAYS, "")
    animals = repository(
        tmp_path,
        cache,
        index,
        tools,
        "import otherlib\nfrom spokenlib import spoken\n\nALIVE = bool(spoken())\n",
        spokenlib=lib,
        otherlib=quiet,
    )
    code, out, err = animals.run("blame", "zoo", animals.cell)
    assert code == 0, out + err
    assert out.startswith("spokenlib 2.0 broke it: ")
    assert "missing-attribute(spokenlib.spoken)" in out
    assert "`spokenlib.spoken` was removed; 1.2 has it in spokenlib.py" in out
    assert "1.2 works, 2.0 fails" in out
    assert "spokenlib 1.2 passes" in out
    assert err.splitlines()[-1].endswith("Verified both ways.")
    assert "run 3: GOOD with" in err
    # Both ends are records of the matrix, and nothing else is.
    assert {json.loads(line)["cell"] for line in animals.records()} == {
        animals.cell,
        f"{animals.cell}+dated",
    }
    # What was found is known of every environment with a release between those that were run.
    animals.run("matrix", "discover", "zoo", "--write")
    subject, python = (
        f"zoo{tmp_path.name.replace('_', '')}",
        animals.cell.split("-")[0].removeprefix("py"),
    )
    for version, state, code in (("2.1", "broken", 1), ("1.2", "unproven", 1)):
        freeze = f"{subject}==1.0\nspokenlib=={version}\notherlib==1.1\n"
        (tmp_path / "freeze.txt").write_text(freeze, encoding="utf-8")
        words = ("--freeze", str(tmp_path / "freeze.txt"), "--python", python, "--json")
        ended, out, err = animals.run("doctor", "zoo", *words)
        [answer] = json.loads(out)["data"]["answers"]
        assert (ended, answer["state"]) == (code, state), out + err
        assert [p["packages"] for p in answer["problems"]] == [["spokenlib"]] * (state == "broken")
    dated = f"{animals.cell}+dated"
    code, out, _ = animals.run("blame", "zoo", dated, animals.cell, "--json")
    data = json.loads(out)["data"]
    assert (code, data["runs"], data["is_verified"]) == (0, 0, True)
    [cause] = data["causes"]
    [package] = cause["packages"]
    assert (package["package"], package["last_good"], package["first_bad"]) == (
        "spokenlib",
        "1.2",
        "2.0",
    )
    assert package["api"]["name"] == "spokenlib.spoken"
    code, out, err = animals.run("blame", "zoo", animals.cell, dated)
    assert code == 1
    assert "no cause found: GOOD fails: " in out


@pytest.fixture
def backwards(tmp_path: Path, cache: Path, index: FakeIndex, tools: Any) -> Repository:
    """An animal whose newest packages work and whose dated ones are too old."""
    lib = {version: WITHOUT if version < "2.0" else WITH for version in DAYS}
    module = "from spokenlib import spoken\n\nALIVE = bool(spoken())\n"
    return repository(tmp_path, cache, index, tools, module, spokenlib=lib)


def test_what_an_older_release_never_had_is_not_said_to_be_removed(backwards: Repository) -> None:
    dated = f"{backwards.cell}+dated"
    code, out, err = backwards.run("blame", "zoo", backwards.cell, dated)
    assert code == 0, out + err
    assert out.startswith("spokenlib 1.2 broke it: ")
    assert "`spokenlib.spoken` was added in 2.0, in spokenlib.py; 1.2 does not have it" in out
    assert "2.0 works, 1.2 fails" in out
    assert "removed" not in out
    _, out, _ = backwards.run("blame", "zoo", backwards.cell, dated, "--json")
    [cause] = json.loads(out)["data"]["causes"]
    assert cause["packages"][0]["api"]["kind"] == "added"


def test_what_breaks_only_together_is_named_as_a_pair(
    tmp_path: Path, cache: Path, index: FakeIndex, tools: Any
) -> None:
    module = (
        "import askinglib\nimport spokenlib\n\n"
        "ALIVE = not askinglib.ASKS or bool(spokenlib.spoken())\n"
    )
    animals = repository(
        tmp_path,
        cache,
        index,
        tools,
        module,
        spokenlib={"1.1": WITH, "2.1": WITHOUT},
        askinglib={"1.0": "ASKS = False\n", "2.0": "ASKS = True\n"},
    )
    code, out, err = animals.run("blame", "zoo", animals.cell)
    assert code == 0, out + err
    assert out.startswith("askinglib 2.0 and spokenlib ")
    assert "spokenlib 1.1 passes" in out
    locks = animals.root / "matrices" / "zoo" / "locks"
    names = [str(locks / f"{animals.cell}{recipe}.txt") for recipe in ("+dated", "")]
    again = animals.run("blame", "zoo", *names)
    # As locks of files they are no cells, so their own runs are kept apart.
    assert again[0] == 0, again[1] + again[2]
    assert again[1] == out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("py3.8-dep9-demo1.0",), "no cell"),
        (("nothing",), "form"),
        (("none.txt", "none.txt"), "cannot be read"),
        (("py3.8-dep1-demo1.0", "--budget", "soon"), "is not a time such as 90m"),
        (("py3.8-dep1-demo1.0+dated", "py3.8-dep1-demo*"), "cells ("),
    ],
)
def test_a_wrong_question_is_one_line(run: Run, words: tuple[str, ...], message: str) -> None:
    run("matrix", "discover", "demo", "--write")
    ran = run("blame", "demo", *words)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
