"""What a user asks for, in words."""

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from support.known import CAPABILITIES, CATALOGUE, MATRIX

from compat.advise.request import meets, patches, releases_of, request_of
from compat.errors import UsageError


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        ("==2.11", True),
        ("<=2.11", True),
        ("!=2.11", False),
        (">2.11", False),
        (">=2.10,<2.12", True),
        ("~=2.10", True),
        ("==2.*", True),
        ("==2.11.*", True),
        ("<3", True),
        ("==2.11.1", True),
        ("==2.11.0", False),
        (">2.11.0,<2.11.2", True),
        (">2.11.1", False),
        ("===2.11.1", True),
        ("", True),
    ],
)
def test_a_short_specifier_speaks_of_the_series_and_a_long_one_of_the_release(
    specifier: str, expected: bool
) -> None:
    assert meets(SpecifierSet(specifier), Version("2.11"), [Version("2.11.1")]) is expected


def test_any_patch_of_an_interpreter_will_do() -> None:
    assert meets(SpecifierSet("==3.10.4"), Version("3.10"), patches(Version("3.10")))
    assert not meets(SpecifierSet(">=3.10.4,<3.10.4"), Version("3.10"), patches(Version("3.10")))
    assert Version("3.9.18") in releases_of(MATRIX.interpreters, Version("3.9"), CATALOGUE)


def test_the_releases_of_a_series_are_those_of_the_catalogue() -> None:
    (dep,) = (axis for axis in MATRIX.packages if axis.name == "dep")
    assert releases_of(dep, Version("1"), CATALOGUE) == (Version("1.0"), Version("1.1"))


@pytest.mark.parametrize("name", ["py", "python", "Python"])
def test_an_axis_goes_by_each_of_its_names(name: str) -> None:
    (want,) = request_of([f"{name}==3.9"], MATRIX, []).wants
    assert (want.axis.name, str(want.specifier)) == ("python", "==3.9")


@pytest.mark.parametrize(
    "words", [["python 3.9"], ["python3.9"], ["Py", "3.9"], ["python", "v3.9"], ["py3.9"]]
)
def test_a_version_may_stand_beside_its_axis(words: list[str]) -> None:
    assert request_of(words, MATRIX, []) == request_of(["python==3.9"], MATRIX, [])


def test_a_package_on_no_axis_is_one_that_a_lock_has() -> None:
    request = request_of(
        ["Num_Py<2", "demo==1", "numpy>1"], MATRIX, [], locked=lambda: ["num-py", "numpy"]
    )
    assert [(name, str(asked)) for name, asked in request.packages] == [
        ("num-py", "<2"),
        ("numpy", ">1"),
    ]
    assert [want.axis.name for want in request.wants] == ["demo"]


def test_two_words_about_an_axis_both_hold_and_axes_stand_in_their_order() -> None:
    request = request_of(["demo", "dep>=1", "dep<2"], MATRIX, ["sum"], needs=["sum", "sum"])
    assert [(want.axis.name, str(want.specifier)) for want in request.wants] == [
        ("dep", "<2,>=1"),
        ("demo", ""),
    ]
    assert request.needs == ("sum",)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("pyton==3.9", "no axis and no lock with 'pyton' (did you mean python?)"),
        ("zzz", "no axis and no lock with 'zzz' (its axes are Python, dep, demo)"),
        ("3.9", "no axis and no lock with '3.9'"),
        ("zzz 3.9", "'zzz 3.9' is not a requirement"),
        (
            "python=3.9",
            (
                "'python=3.9' is not a requirement (requirements look like python==3.10 or"
                " 'name>=1,<2')"
            ),
        ),
        ("demo[x]", "'demo[x]' has more than a name and versions (leave out extras and markers)"),
        ("demo; python_version<'3'", "has more than a name and versions"),
        ("demo @ https://example.org/x", "has more than a name and versions"),
    ],
)
def test_what_is_no_request_is_told_with_the_nearest(word: str, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        request_of([word], MATRIX, [])
    assert told in str(raised.value)


def test_an_unknown_capability_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no capability 'sun' \(did you mean sum\?\)"):
        request_of([], MATRIX, ["sum", "mean"], needs=["sun"])


@pytest.mark.parametrize(
    "words",
    [
        ("python==3.8", "python==3.9"),
        ("python>=3.9,<3.9",),
        ("demo==1.0", "demo>=2"),
        ("dep==1", "dep==2.5"),
        ("python>3.8", "python<3.9"),
    ],
)
def test_wishes_that_exclude_each_other_are_an_error(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="no version of"):
        request_of(words, MATRIX, CAPABILITIES)


@pytest.mark.parametrize(
    "words",
    [
        ("python==3.9", "python==3.9.7"),
        ("python>3.8", "python<3.10"),
        ("dep==2", "dep>=2.3", "dep!=2.3"),
        ("demo>1.0", "demo<2.0"),
        ("demo>=90",),
        ("demo<0.1",),
        ("demo===nightly",),
        ("dep~=2.1", "dep<2.2"),
    ],
)
def test_wishes_that_a_version_could_meet_are_none(words: tuple[str, ...]) -> None:
    assert request_of(words, MATRIX, CAPABILITIES).wants
