"""Whether any version can satisfy a specifier: never a wrong no, and the plain contradictions are
seen.
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.satisfiable import satisfiable

GRID = [
    Version(".".join(map(str, parts)))
    for parts in itertools.product(range(5), range(5), (0, 1, 4), (0, 1))
]
ODD = [
    Version(text)
    for text in ("1.0a1", "1.1rc1", "1.0.dev1", "2.0.post1", "1!1", "1.0+cpu", "3.dev0")
]
VERSIONS = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(
    lambda parts: ".".join(map(str, parts))
)
CLAUSES = st.one_of(
    st.tuples(st.sampled_from([">=", "<=", "<", ">", "==", "!="]), VERSIONS).map("".join),
    st.tuples(st.sampled_from(["==", "!="]), VERSIONS).map(lambda pair: f"{pair[0]}{pair[1]}.*"),
    st.tuples(st.just("~="), VERSIONS).map(lambda pair: f"{pair[0]}{pair[1]}.0"),
    st.sampled_from([">=1.0a1", "<1.0rc1", "!=2.0.post1", ">1!0", "===odd", "==1.0+cpu"]),
)


@given(st.lists(CLAUSES, max_size=4))
def test_what_some_version_satisfies_is_never_called_unsatisfiable(clauses: list[str]) -> None:
    specifier = SpecifierSet(",".join(clauses))
    if any(specifier.contains(version, prereleases=True) for version in GRID + ODD):
        assert satisfiable(specifier)


@pytest.mark.parametrize(
    "text",
    [">3,<2", ">=3,<3", "==1,==2", ">3,<=3", "==1.*,>=2", "!=0.*,<1", "~=1.2,<1", "<0", "==1,!=1"],
)
def test_a_contradiction_is_unsatisfiable(text: str) -> None:
    assert not satisfiable(SpecifierSet(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ">3,<3.1",
        ">3,<3.0.1",
        "!=3.*,!=4.*,>3",
        ">=3,!=3",
        "<1,!=0",
        "==3.*,>3",
        "===odd",
        ">2.9,<3",
    ],
)
def test_a_narrow_specifier_is_satisfiable(text: str) -> None:
    assert satisfiable(SpecifierSet(text))
