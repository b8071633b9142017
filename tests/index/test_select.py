"""Which releases a selector keeps, and that each of them stands under one coordinate."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.matrix import Selector
from compat.index.release import Artifact, Package, Release

KEEPS: tuple[Literal["each", "minor", "major"], ...] = ("each", "minor", "major")


def package(*versions: str) -> Package:
    return Package(
        name="thing",
        releases=tuple(
            Release(version=v, artifacts=()) for v in sorted({Version(v) for v in versions})
        ),
    )


def texts(versions: tuple[Version, ...]) -> list[str]:
    return [str(version) for version in versions]


SOME = package(
    "1.9", "1.10.1", "1.10.2", "2.0rc1", "2.0", "2.0.post1", "2.1.dev3", "2.1+cpu", "3.0a1", "1!0.5"
)


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        ("each", ["1.9", "1.10.1", "1.10.2", "2.0", "2.0.post1", "1!0.5"]),
        ("minor", ["1.9", "1.10", "2.0", "1!0.5"]),
        ("major", ["1", "2", "1!0"]),
    ],
)
def test_finals_become_coordinates_oldest_first(
    keep: Literal["each", "minor", "major"], expected: list[str]
) -> None:
    assert texts(SOME.coordinates(Selector(keep=keep))) == expected


def test_pre_releases_count_only_when_asked_for_and_development_releases_are_such() -> None:
    found = texts(SOME.coordinates(Selector(prereleases=True)))
    assert [text for text in found if text in ("2.0rc1", "2.1.dev3", "3.0a1")] == [
        "2.0rc1",
        "2.1.dev3",
        "3.0a1",
    ]
    assert texts(SOME.coordinates(Selector(keep="minor", prereleases=True))) == [
        *("1.9", "1.10", "2.0", "2.1", "3.0", "1!0.5"),
    ]


def test_a_specifier_that_names_a_pre_release_does_not_ask_for_pre_releases() -> None:
    assert texts(SOME.coordinates(Selector(specifier=SpecifierSet(">=2.0rc1,<3")))) == [
        "2.0",
        "2.0.post1",
    ]


def test_local_versions_never_count() -> None:
    assert "2.1+cpu" not in texts(SOME.coordinates(Selector(prereleases=True)))


def test_the_specifier_holds_for_each_member_of_a_series() -> None:
    selector = Selector(specifier=SpecifierSet(">=1.10.2"), keep="minor")
    assert texts(SOME.coordinates(selector)) == ["1.10", "2.0", "1!0.5"]
    assert [str(release.version) for release in SOME.members(Version("1.10"), selector)] == [
        "1.10.2"
    ]


def test_a_version_without_a_minor_stands_in_the_minor_series_zero() -> None:
    assert texts(package("3", "3.0.1").coordinates(Selector(keep="minor"))) == ["3.0"]


def test_a_coordinate_that_nothing_stands_under_has_no_members() -> None:
    assert SOME.members(Version("9.9"), Selector(keep="minor")) == ()


def test_a_yanked_release_stays() -> None:
    yanked = Artifact(
        filename="thing-1.0.tar.gz", url="https://files.example/x", tags=frozenset(), yanked=True
    )
    listed = Package(name="thing", releases=(Release(version=Version("1.0"), artifacts=(yanked,)),))
    assert texts(listed.coordinates(Selector())) == ["1.0"]


NUMBERS = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(
    lambda parts: ".".join(map(str, parts))
)
SUFFIXES = st.sampled_from(["", "", "", "rc1", "a2", ".post1", ".dev1", "+local"])
VERSIONS = st.lists(
    st.builds(str.__add__, NUMBERS, SUFFIXES) | NUMBERS.map("1!".__add__), max_size=12
)
SELECTORS = st.builds(
    lambda text, keep, prereleases: Selector(
        specifier=SpecifierSet(text), keep=keep, prereleases=prereleases
    ),
    st.sampled_from(["", ">=1", "<2.1", "!=1.*", ">=1.0rc1,<3", "==2.*"]),
    st.sampled_from(KEEPS),
    st.booleans(),
)


@given(VERSIONS, SELECTORS)
def test_every_selected_release_stands_under_exactly_one_coordinate(
    versions: list[str], selector: Selector
) -> None:
    listed = package(*versions)
    at = listed.coordinates(selector)
    stood = [
        release.version for coordinate in at for release in listed.members(coordinate, selector)
    ]
    assert sorted(stood) == [release.version for release in listed.selected(selector)]
    assert list(at) == sorted(set(at))
    assert all(listed.members(coordinate, selector) for coordinate in at)


@given(VERSIONS, SELECTORS)
def test_a_coordinate_is_what_its_members_share(versions: list[str], selector: Selector) -> None:
    listed = package(*versions)
    for at in listed.coordinates(selector):
        for release in listed.members(at, selector):
            version = release.version
            assert version.epoch == at.epoch
            assert (
                version == at
                or version.release[: len(at.release)] == at.release
                or version.minor == at.minor == 0
            )
