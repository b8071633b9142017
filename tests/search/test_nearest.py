"""How far releases lie from what was asked, and the nearest with which something is possible."""

import datetime

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.index.release import Artifact, Package, Release
from compat.search.companions import companions
from compat.search.nearest import distances, nearest_possible

RELEASES = [Version(f"1.{minor}") for minor in range(40)]


def steps(asked: str, *releases: str) -> dict[str, int]:
    apart = distances([Version(release) for release in releases], [SpecifierSet(asked)])
    return {str(version): number for version, number in apart.items()}


def test_a_release_that_is_asked_for_lies_nowhere_apart() -> None:
    assert steps(">=2", "1.0", "1.1", "2.0", "3.0") == {"1.0": 2, "1.1": 1, "2.0": 0, "3.0": 0}


def test_a_pin_that_the_index_has_lost_counts_as_a_release() -> None:
    assert steps("==0.4.14", "0.4.13", "0.4.18", "0.4.19") == {
        "0.4.13": 1,
        "0.4.18": 1,
        "0.4.19": 2,
    }


def test_a_series_that_the_index_has_lost_is_where_its_bounds_are() -> None:
    assert steps("~=0.3.10", "0.1", "0.4.13", "0.4.18") == {"0.1": 1, "0.4.13": 1, "0.4.18": 2}


def test_where_anything_will_do_nothing_lies_apart() -> None:
    assert steps("", "1.0") == {}


@pytest.mark.parametrize("only", range(40))
def test_the_nearest_possible_release_is_found_with_few_questions(only: int) -> None:
    asked: list[SpecifierSet] = []

    def possible(within: SpecifierSet) -> Version | None:
        asked.append(within)
        return Version(f"1.{only}") if within.contains(f"1.{only}") else None

    answer = nearest_possible(distances(RELEASES, [SpecifierSet("==1.7")]), possible)
    assert answer == Version(f"1.{only}")
    assert len(asked) <= 11


def test_of_two_as_near_the_newer_is_within_the_same_range() -> None:
    apart = distances(RELEASES, [SpecifierSet("==1.7")])
    ranges: list[str] = []
    nearest_possible(
        apart, lambda within: ranges.append(str(within)) or (within.contains("1.8") or None)
    )
    assert SpecifierSet(ranges[-1]) == SpecifierSet(">=1.6,<=1.8")


def test_where_nothing_is_possible_there_is_no_answer() -> None:
    assert (
        nearest_possible(distances(RELEASES, [SpecifierSet("==1.7")]), lambda within: None) is None
    )
    assert nearest_possible({}, lambda within: 1) is None


def package(name: str, versions: list[str], later_days: int = 0) -> Package:
    """A package whose releases came out ten days after each other."""
    begin = datetime.datetime(2023, 1, 1, tzinfo=datetime.timezone.utc)
    releases = []
    for number, version in enumerate(versions):
        day = begin + datetime.timedelta(days=10 * number + later_days)
        file = Artifact(filename=f"{name}-{version}.whl", url="", tags=frozenset(), uploaded=day)
        releases.append(Release(version=Version(version), artifacts=(file,)))
    return Package(name=name, releases=tuple(releases))


class TestCompanions:
    def test_packages_that_are_released_together_move_together(self) -> None:
        versions = ["1.0", "1.1", "1.2", "1.3"]
        packages = [package("a", versions), package("other", ["7.0", "7.1", "7.2"])]
        together = companions([*packages, package("a-lib", versions[1:], later_days=11)])
        assert together == (("a", "a-lib"), ("other",))

    def test_equal_versions_of_another_time_are_chance(self) -> None:
        versions = ["1.0", "1.1", "1.2", "1.3"]
        assert len(companions([package("a", versions), package("b", versions, 900)])) == 2

    def test_a_file_that_was_put_up_again_later_does_not_part_them(self) -> None:
        versions = ["1.0", "1.1", "1.2", "1.3"]
        again = package("a-lib", versions)
        renewed = package("a-lib", versions[:1], later_days=2000)
        again = Package(name="a-lib", releases=(*renewed.releases, *again.releases[1:]))
        assert companions([package("a", versions), again]) == (("a", "a-lib"),)

    def test_a_few_shared_versions_say_nothing(self) -> None:
        assert len(companions([package("a", ["1.0", "1.1"]), package("b", ["1.0", "1.1"])])) == 2
