"""How the tool that generates the doctor's data adds releases to what it read before."""

import runpy
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from compat.advise.doctor.facts import Api
from compat.search.api_change import surface

ROOT = Path(__file__).parent.parent.parent
Names = dict[str, tuple[str, ...] | None]


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "knowledge.py"))


def test_a_release_between_two_that_were_read_changes_nothing_of_theirs(
    tool: dict[str, Any],
) -> None:
    first: Names = {"m:": None, "m:f": ("x", "!x"), "m:old": None}
    between: Names = {"m:": None, "m:f": ("x", "y", "!x")}
    last: Names = {"m:": None, "m:f": ("y",), "m:g": ("q",)}
    releases = [(Version("1"), first), (Version("2"), between), (Version("3"), last)]
    api = {Version("2"): between, Version("3"): last}
    tool["extended"](tool["content_of"]("m", [releases[0], releases[2]]), api)
    content = tool["content_of"]("m", sorted(api.items()))
    assert content == tool["content_of"]("m", releases)
    known = Api(content)
    accepts = known.accepts("f", "y")
    assert accepts is not None
    assert accepts.wanted(None) == [">=2"]
    assert known.name("m", "old").wanted(None) == ["<=1"]


def test_a_module_in_another_folder_of_the_path_is_the_packages_own(tool: dict[str, Any]) -> None:
    path = b"__path__.append(os.path.join(os.path.dirname(__file__), 'api'))\n"
    surfaces = {
        "k": surface(path, "k", True),
        "k.api": surface(b"", "k.api", True),
        "k.api.utils": surface(b"def get_file(name): ...", "k.api.utils", True),
    }
    assert {"k.utils:", "k.utils:get_file", "k:utils"} <= set(tool["joined"](surfaces))


def test_of_many_releases_the_edges_of_each_major_series_are_read(tool: dict[str, Any]) -> None:
    versions = [Version(f"{a}.{b}.{c}") for a in (1, 2) for b in range(9) for c in range(4)]
    chosen = tool["sampled"](versions, 10)
    assert {Version("1.0.0"), Version("1.8.3"), Version("2.0.0"), versions[-1]} <= set(chosen)
    assert len(chosen) <= 14
    assert tool["sampled"](versions[:9], 10) == versions[:9]


def test_an_error_is_a_change_unless_it_was_said_before_in_other_words(
    tool: dict[str, Any],
) -> None:
    source = (
        "def f(x):\n"
        "    text = f'the argument {x} is deprecated and was removed'\n"
        "    raise ValueError(text)\n"
    )
    [error] = tool["words_of"](source.encode())
    assert error == ("the argument", "is deprecated and was removed")
    again = ("argument", "is deprecated and was removed now")
    read = [Version(f"{number}.0") for number in (1, 2, 3)]
    assert [*tool["rows_of"]({error: {1, 2}}, read)] == [("<=1.0", error)]
    assert [*tool["rows_of"]({error: {0}}, read)] == [(">=2.0", error)]
    assert [*tool["rows_of"]({error: {2}, again: {0, 1}}, read)] == []


def test_the_numbers_of_results_are_read_as_parameters_are() -> None:
    source = b"class E:\n    def step(self, x):\n        return x, 1, 2, 3\n"
    assert surface(source, "m", False).names["E.step"] == ("=4", "self", "x", "!self", "!x", "#2")


def test_a_module_in_a_private_folder_is_the_public_one() -> None:
    names = {"m": {"0-": " x ?"}, "m._api.v2.x": {"0-": " new", "0-0": "old"}}
    known = Api(
        {"package": "m", "modules": ["m"], "releases": ["1", "2"], "names": names, "calls": {}}
    )
    assert known.name("m.x", "old").wanted(None) == ["<=1"]
    assert known.name("m.x", "never").never
