"""The tags of wheels and published requirements tell what installs on another platform."""

import pytest
from packaging.tags import Tag
from packaging.version import Version
from support.world import catalogue_of, matrix_of, source_of, world

from compat.declare.matrix import (
    PLATFORM_NAMES,
    PLATFORMS,
    PlatformName,
    own_name,
    target_of,
    target_words,
)
from compat.errors import UsageError
from compat.index.discover import decode_packages, encode_packages, wheels_elsewhere
from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import named_cells
from compat.plan.platform import accepted_tags, marker_values
from compat.results.installs import Install, declared_installs, platform_facts

WORLD = world("native")
MATRIX, CATALOGUE = matrix_of(WORLD), catalogue_of(WORLD)
OWN = "x86_64-manylinux_2_28"
ELSEWHERE = wheels_elsewhere(MATRIX, CATALOGUE.required, source_of(WORLD))


def installs(platform: PlatformName, is_read: bool = True) -> dict[tuple[str, str], Install]:
    facts = platform_facts(MATRIX, CATALOGUE, ELSEWHERE if is_read else None, platform)
    return {(one.release, one.python): one for one in declared_installs(facts, platform)}


def said(platform: PlatformName, release: str, python: str) -> str:
    return installs(platform)[release, python].because


def test_a_wheel_for_the_platform_is_enough_where_nothing_else_is_in_the_way() -> None:
    assert said("macos-arm64", "2.0", "3.9") == ""
    assert said("windows-x86_64", "1.0", "3.9") == ""


def test_a_release_without_a_wheel_there_is_told_with_its_newest_that_has_one() -> None:
    one = installs("macos-arm64")["3.0", "3.9"]
    assert said("macos-arm64", "3.0", "3.9").startswith("demo 3.0 has no ")
    assert (one.lacking, one.cell, one.state) == ("demo", "", "no-wheel")
    assert (one.newest, one.newest_pythons) == ("2.0", ("3.9",))


def test_a_package_that_is_pinned_counts_as_its_own_wheels_say() -> None:
    one = installs("windows-x86_64")["1.0", "3.8"]
    assert "native ==1.0: 1.0 has" in said("windows-x86_64", "1.0", "3.8")
    assert (one.lacking, one.newest_pythons) == ("native", ("3.9",))
    assert installs("linux-aarch64")["1.0", "3.9"].newest == ""


def test_where_the_wheels_of_what_is_pinned_were_not_read_they_rule_nothing_out() -> None:
    unread = installs("windows-x86_64", is_read=False)
    assert unread["1.0", "3.8"].state == "by-metadata"
    assert unread["3.0", "3.9"].state == "no-wheel"


def test_a_python_that_the_release_does_not_admit_is_no_matter_of_the_platform() -> None:
    one = installs("macos-arm64")["2.0", "3.8"]
    assert (one.state, one.lacking) == ("not-admitted", "")


def test_only_wheels_of_declared_pythons_for_declared_platforms_are_kept_beside_the_catalogue() -> (
    None
):
    (native,) = ELSEWHERE
    (release,) = native.releases
    assert [file.filename for file in release.artifacts] == ["native-1.0-cp39-cp39-win_amd64.whl"]
    (kept,) = decode_packages(encode_packages(ELSEWHERE), "wheels.json")
    assert kept.releases[0].artifacts[0].tags == release.artifacts[0].tags


def test_the_own_platform_knows_nothing_of_the_others() -> None:
    (native,) = (entry for entry in CATALOGUE.required if entry.name == "native")
    names = [file.filename for file in native.releases[0].artifacts]
    assert all("manylinux" in name for name in names)
    assert Feasibility(MATRIX, CATALOGUE).obstacle(parse_cell("py3.9-dep1-demo3.0", MATRIX)) is None


@pytest.mark.parametrize("name", PLATFORM_NAMES)
def test_every_platform_accepts_its_own_wheels_and_those_of_no_other(name: PlatformName) -> None:
    tags = {
        "linux-x86_64": "manylinux_2_17_x86_64",
        "linux-aarch64": "manylinux_2_17_aarch64",
        "linux-musl-x86_64": "musllinux_1_1_x86_64",
        "linux-musl-aarch64": "musllinux_1_1_aarch64",
        "macos-arm64": "macosx_11_0_arm64",
        "macos-x86_64": "macosx_10_15_x86_64",
        "windows-x86_64": "win_amd64",
        "windows-arm64": "win_arm64",
    }
    accepted = accepted_tags(Version("3.11"), target_of(name, OWN))
    own = {tag for tag in tags.values() if Tag("cp311", "cp311", tag) in accepted}
    assert own == {tags[name]}
    assert Tag("py3", "none", "any") in accepted


@pytest.mark.parametrize("name", PLATFORM_NAMES)
def test_markers_say_what_the_platform_is(name: PlatformName) -> None:
    facts, markers = PLATFORMS[name], marker_values(Version("3.11.7"), target_of(name, OWN))
    assert markers["sys_platform"] == facts.sys_platform
    assert markers["platform_machine"] == facts.machine
    assert markers["platform_system"] == facts.system
    assert markers["os_name"] == facts.os_name


def test_the_platform_of_the_matrix_has_a_name_and_keeps_its_spelling() -> None:
    assert own_name(OWN) == "linux-x86_64"
    assert own_name("aarch64-manylinux_2_31") == "linux-aarch64"
    assert target_words(OWN) == OWN
    assert target_words(target_of("macos-arm64", OWN)) == "macOS arm64"


@pytest.mark.parametrize("pattern", ["py3.9-dep1-demo2.0@macos-arm64", "py3.9-*@macos-arm64"])
def test_a_cell_of_another_platform_is_refused_with_the_runner_that_could(pattern: str) -> None:
    with pytest.raises(UsageError) as refused:
        named_cells(Feasibility(MATRIX, CATALOGUE), [pattern])
    (fault,) = refused.value.faults
    assert "never run here" in fault.message
    assert "macos-14" in fault.message


def test_where_no_runner_is_known_that_is_said() -> None:
    with pytest.raises(UsageError) as refused:
        parse_cell("py3.9-dep1-demo2.0@linux-musl-x86_64", MATRIX)
    assert "runner of GitHub's" in refused.value.faults[0].message


def test_an_unknown_platform_of_a_cell_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError) as refused:
        parse_cell("py3.9-dep1-demo2.0@macos-arm", MATRIX)
    assert "did you mean 'macos-arm64'" in refused.value.faults[0].line()
