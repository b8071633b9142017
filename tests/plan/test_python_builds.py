"""Free-threaded builds and PyPy: what their platform accepts, what they are called, how they are
found, and what is said where there is none.
"""

import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from packaging.tags import Tag
from packaging.version import Version
from support.documents import MATRIX, changed, toml
from support.fake_index import FakeIndex
from support.world import catalogue_of, matrix_of, world

from compat.declare.load import decode_matrix, lint_matrix
from compat.errors import DeclarationError, ToolFailed
from compat.index import interpreters
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs
from compat.lock.uv import UvLocker
from compat.plan.plan import Infeasible, plan
from compat.plan.platform import accepted_tags, build_of, marker_values, python_name, without_build

USUAL = "x86_64-manylinux_2_28"
FREE, PYPY = f"{USUAL}-free-threaded", f"{USUAL}-pypy"


def tag(text: str) -> Tag:
    return Tag(*text.split("-"))


@pytest.mark.parametrize(
    ("platform", "series", "accepted", "refused"),
    [
        (USUAL, "3.13", "cp313-cp313-manylinux_2_17_x86_64", "cp313-cp313t-manylinux_2_17_x86_64"),
        (FREE, "3.13", "cp313-cp313t-manylinux_2_17_x86_64", "cp313-cp313-manylinux_2_17_x86_64"),
        (FREE, "3.13", "py3-none-any", "cp39-abi3-manylinux_2_17_x86_64"),
        (USUAL, "3.13", "cp39-abi3-manylinux_2_17_x86_64", "pp310-pypy310_pp73-linux_x86_64"),
        (PYPY, "3.10", "pp310-pypy310_pp73-manylinux_2_28_x86_64", "cp310-cp310-linux_x86_64"),
        (PYPY, "3.10", "py3-none-any", "pp39-pypy39_pp73-manylinux_2_28_x86_64"),
    ],
)
def test_a_build_accepts_its_own_wheels(
    platform: str, series: str, accepted: str, refused: str
) -> None:
    tags = accepted_tags(Version(series), platform)
    assert tag(accepted) in tags
    assert tag(refused) not in tags


def test_a_platform_tells_its_build_and_what_tools_call_it() -> None:
    version = Version("3.13.2")
    assert [build_of(platform) for platform in (USUAL, FREE, PYPY, "")] == [
        "",
        "free-threaded",
        "pypy",
        "",
    ]
    assert {without_build(platform) for platform in (USUAL, FREE, PYPY)} == {USUAL}
    names = [python_name(version, platform) for platform in (USUAL, FREE, PYPY)]
    assert names == ["3.13", "3.13t", "pypy3.13"]


def test_markers_tell_pypy_apart() -> None:
    assert marker_values(Version("3.10.16"), PYPY)["platform_python_implementation"] == "PyPy"
    assert marker_values(Version("3.10.16"), PYPY)["implementation_name"] == "pypy"
    assert marker_values(Version("3.13.1"), FREE)["implementation_name"] == "cpython"


@pytest.mark.parametrize("platform", [USUAL, FREE, PYPY])
def test_a_matrix_may_be_of_a_build(platform: str) -> None:
    assert decode_matrix(
        toml(changed(MATRIX, ("platform",), platform)), "matrix.toml"
    ).platform == (platform)


def test_other_platforms_are_not_asked_about_for_a_build() -> None:
    matrix = msgspec.structs.replace(
        decode_matrix(toml(MATRIX), "matrix.toml"), platform=PYPY, platforms=("macos-arm64",)
    )
    faults = lint_matrix(matrix, "matrix.toml", folder=matrix.name, today=datetime.date.today())
    [message] = [fault.message for fault in faults if fault.path.endswith("platforms")]
    assert "CPython's usual builds" in message


@pytest.mark.parametrize(
    ("release", "version", "build"),
    [
        ("3.13t", "3.13", "free-threaded"),
        ("3.13.1t", "3.13.1", "free-threaded"),
        ("pypy3.10", "3.10", "pypy"),
    ],
)
def test_a_release_that_names_a_build_is_told_where_builds_are_declared(
    release: str, version: str, build: str
) -> None:
    with pytest.raises(DeclarationError) as refused:
        decode_matrix(toml(changed(MATRIX, ("axes", 0, "releases"), [release])), "matrix.toml")
    (fault,) = refused.value.faults
    assert fault.path == "matrix.toml: axes[0].releases[0]"
    assert fault.message == (
        f"'{release}' names a build of Python besides its version: write '{version}', and end"
        f" `platform` with '-{build}'"
    )


def info(implementation: str, free_threaded: bool) -> Any:
    return SimpleNamespace(
        implementation=implementation,
        version_info=SimpleNamespace(major=3, minor=13),
        free_threaded=free_threaded,
    )


@pytest.mark.parametrize(
    ("found", "build"),
    [
        (info("CPython", False), ""),
        (info("CPython", True), "free-threaded"),
        (info("PyPy", False), "pypy"),
    ],
)
def test_an_interpreter_is_taken_for_its_own_build_alone(found: Any, build: str) -> None:
    for other in ("", "free-threaded", "pypy"):
        assert interpreters._fits(found, Version("3.13"), other) is (other == build)


def test_folders_of_pyenv_are_read_with_their_build(tmp_path: Path) -> None:
    for name in ("3.13.0t", "pypy3.13-7.3.19", "3.13.1", "3.12.1", "graalpy-24", "my-venv"):
        python = tmp_path / "versions" / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch()

    def listed(build: str) -> list[str]:
        paths = interpreters._pyenv(Version("3.13"), {"PYENV_ROOT": str(tmp_path)}, build)
        return [path.parents[1].name for path in paths]

    assert listed("") == ["3.13.1"]
    assert listed("free-threaded") == ["3.13.0t"]
    assert listed("pypy") == ["pypy3.13-7.3.19"]


def test_where_no_interpreter_is_found_the_plan_and_the_locker_name_the_command(
    demo_index: FakeIndex,
) -> None:
    matrix = msgspec.structs.replace(matrix_of(world("patches")), platform=PYPY)
    fates = plan(matrix, catalogue_of(world("patches")), here=frozenset()).fates
    (because,) = {
        fate.obstacle.because
        for fate in fates
        if isinstance(fate, Infeasible)
        and fate.obstacle.kind == "no-interpreter"
        and fate.obstacle.between == ("py3.10",)
    }
    assert "`uv python install pypy3.10`" in because
    locker = UvLocker(IndexSettings(index_url=demo_index.url), {}, lambda version: None)
    inputs = Inputs(cell="c", python=Version("3.13.1"), platform=FREE, requirements=("dep",))
    with pytest.raises(ToolFailed) as failed:
        locker.lock(inputs)
    assert "`uv python install 3.13t`" in str(failed.value)
