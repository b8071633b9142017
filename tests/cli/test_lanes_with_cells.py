"""The lanes of a matrix with cells that run: from an index of their own, and of a checkout."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_index import FakeIndex
from support.zoo import SERIES, Animal, Repository, serve, wheel
from test_checkout import checkout

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

# What the animal uses of its dependency has another name from 3.0rc1 on.
MODULE = "import other\n\nALIVE = other.OLD\n"
OTHERS = {"1.0": "OLD = True\n", "2.0": "OLD = NEW = True\n"}
NEXT = ("3.0rc1", "NEW = True\n")
FRESH = f"py{SERIES}-o2.0-a1.0"
RC = f"py{SERIES}-o3.0rc1-a1.0+prerelease"


def other(version: str, text: str) -> tuple[str, bytes, str]:
    return version, wheel("other", version, {"other.py": text}, []), "py3-none-any"


@pytest.fixture
def further() -> Iterator[FakeIndex]:
    """A second index, with what is not out yet."""
    fake = FakeIndex()
    serve(fake, "other", [other(*NEXT)], {NEXT[0]: "2024-02-01"})
    yield fake
    fake.stop()


@pytest.fixture
def zoo(
    tmp_path: Path, cache: Path, index: FakeIndex, further: FakeIndex, tools: Any
) -> Repository:
    """An animal that uses another package, with both lanes."""
    animal = Animal(
        name="lanes",
        story="It works.",
        outcome="pass",
        module=MODULE,
        requires=["other>=1"],
    )
    repository = Repository(tmp_path, cache, index, animal, tools)
    serve(index, "other", [other(*release) for release in OTHERS.items()])
    path = tmp_path / "matrices" / "zoo" / "matrix.toml"
    text = path.read_text(encoding="utf-8")
    axis = '{ kind = "package", name = "other", short = "o", package = "other" }'
    lanes = f'lowest = true\nprereleases = {{ axes = ["other"], index = "{further.url}" }}\n'
    text = text.replace(
        '  { kind = "package", name = "animal"',
        f"  {axis},\n" + ('  { kind = "package", name = "animal"'),
    ).replace("margin_days", lanes + "margin_days")
    path.write_text(text, encoding="utf-8")
    return repository


def test_a_pre_release_of_an_index_of_its_own_is_installed_from_there_and_breaks(
    zoo: Repository, further: FakeIndex
) -> None:
    code, out, err = zoo.run("run", "zoo", FRESH, RC)
    assert code == 1, err
    assert f"{FRESH}  pass" in err
    assert f"{RC}  import-fail:missing-attribute(" in err
    assert any(path.endswith("/files/other-3.0rc1-py3-none-any.whl") for path in further.paths())
    code, out, _ = zoo.run("matrix", "variants", "zoo")
    assert code == 1
    assert "other 3.0rc1 breaks 1" in out


def test_pip_tools_says_that_it_asks_no_index_of_a_lane(
    zoo: Repository, further: FakeIndex
) -> None:
    code, out, _ = zoo.run("matrix", "lock", "zoo", RC, "--locker", "pip-tools")
    assert code == 1
    assert (
        f"{RC}  lock-fail:unsupported({further.url}): pip-tools does not lock {further.url} here"
        in out
    )


def test_a_checkout_is_asked_in_the_lanes_too(zoo: Repository) -> None:
    # It works with what is out, and neither with the lowest that it declares nor with what comes.
    module = "import other\n\nALIVE = other.OLD and other.NEW\n"
    checkout_of(zoo.root, module)
    code, out, err = zoo.run("diff", "zoo", "--json")
    assert code == 1, err
    cells = {cell["cell"]: cell for cell in json.loads(out)["data"]["cells"]}
    lowest = f"py{SERIES}-o1.0-a-local+lowest"
    assert cells[lowest]["difference"] == "breaks"
    assert cells[lowest]["against"] == f"py{SERIES}-o1.0-a1.0+lowest"
    assert cells[f"py{SERIES}-o2.0-a-local"]["difference"] == "same"
    # The release breaks with it as well.
    assert cells[f"py{SERIES}-o3.0rc1-a-local+prerelease"]["difference"] == "same"


def checkout_of(folder: Path, module: str) -> None:
    checkout(folder, module, "1.1.dev0", "Requires-Dist: other>=1")
    backend = folder / "backend.py"
    backend.write_text(backend.read_text("utf-8").replace("zoogood", "zoolanes"), "utf-8")
