"""How far releases lie from what was asked."""

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.lock.recipe import distances


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
