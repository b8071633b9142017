"""Pages of two capabilities: which pairs have one, and where both work."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from support.editions import edition, files
from support.examples import examples
from support.known import Shelf, lock_of, ran, statuses
from support.printed import Addresses, printed

from compat.results.record import Capability
from compat.site.api.documents import api, cell_files
from compat.site.edition import Edition
from compat.site.pages.capability_view import Pairs, pair_statements
from compat.site.paths import cell_page

OLD, ALSO_OLD, NEW = (
    "py3.8-dep1-demo1.0+relaxed",
    "py3.8-dep2-demo1.0+relaxed",
    "py3.9-dep2-demo2.0",
)
TITLES = ("One", "Two")


def shelf(**cells: tuple[Capability, ...]) -> Shelf:
    """A shelf whose cells can what is told, by `old`, `also` and `new`."""
    names = {"old": OLD, "also": ALSO_OLD, "new": NEW}
    locks = {cell: lock_of(names[cell]) for cell in cells}
    return Shelf(
        [ran(locks[cell], capabilities=told) for cell, told in cells.items()], locks.values()
    )


def made(**cells: tuple[Capability, ...]) -> Pairs:
    return Pairs(edition(shelf(**cells)).reports[0])


def can(**found: str) -> tuple[Capability, ...]:
    """What a cell can, in the group `a`."""
    return statuses(**{f"a.{name}": status for name, status in found.items()})


def words(of: Edition, path: str) -> str:
    return " ".join(" ".join(Addresses(printed(of)[path]).words).split())


def test_two_of_one_group_have_a_page_where_one_works_without_the_other() -> None:
    cells = {"old": can(x="yes", y="absent", z="no"), "new": can(x="yes", y="yes", z="no")}
    assert made(**cells).all == (("a.x", "a.y"), ("a.x", "a.z"), ("a.y", "a.z"))
    assert made(old=can(x="no", y="absent"), new=can(x="yes", y="yes")).all == ()
    assert made(old=statuses(**{"a.x": "yes", "b.x": "no"})).all == ()


def test_a_release_that_was_not_asked_for_both_says_nothing_about_them() -> None:
    assert made(old=can(x="yes"), new=can(x="yes", y="yes")).all == ()


def test_no_pair_has_the_address_of_a_capability() -> None:
    found = made(old=statuses(**{"a.x": "yes", "a.y": "no", "a.x+a.y": "yes", "a.z": "no"}))
    assert found.all == (("a.x", "a.z"),)


def test_the_newest_cell_in_which_both_work_is_named_even_where_another_is_representative() -> None:
    told = {
        "old": can(x="yes", y="yes", z="no", w="no"),
        "also": can(x="yes", y="no", z="yes", w="yes"),
        "new": can(x="yes", y="no", z="yes", w="yes"),
    }
    view = made(**told).view("a.x", "a.y")
    assert view.newest is not None
    version, entry = view.newest
    assert (str(version), entry.cell.id) == ("1.0", OLD)
    assert [(str(one.version), one.state, one.differs) for one in view.strip] == [
        ("1.0", "one", True),
        ("2.0", "one", False),
    ]


def test_where_both_never_work_the_page_says_so() -> None:
    of = edition(shelf(old=can(x="yes", y="no"), new=can(x="no", y="yes")))
    text = words(of, "demo/cap/a.x+a.y/index.html")
    assert "There is no tested cell in which both work." in text
    assert "Until 1.0: “a.x” works, “a.y” fails. Since 2.0: “a.x” fails, “a.y” works." in text
    assert "demo 2.0 with dep 2 on Python 3.9: only the second works" in text


def test_the_two_link_it_under_compare_with() -> None:
    content = printed(edition(shelf(old=can(x="yes", y="no", z="yes"))))
    for name, others in (("x", ["x+a.y"]), ("y", ["x+a.y", "y+a.z"]), ("z", ["y+a.z"])):
        links = [
            link
            for link in Addresses(content[f"demo/cap/a.{name}/index.html"]).links
            if "+a." in link
        ]
        assert links == [f"../../../demo/cap/a.{other}/" for other in others]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            [("1", "yes", "yes"), ("2", "yes", "yes")],
            ("In every release tested for it: both work.",),
        ),
        (
            [("1", None, "yes"), ("2", "no", "no")],
            ("In every release tested for it: “One” fails, “Two” fails.",),
        ),
        (
            [("1", "absent", "yes"), ("2", "yes", "yes"), ("3", "no", "yes")],
            (
                "Until 1: “One” is absent, “Two” works.",
                "In 2: both work.",
                "Since 3: “One” fails, “Two” works.",
            ),
        ),
    ],
)
def test_the_releases_are_told_as_ranges(
    told: list[tuple[str, str, str]], expected: tuple[str, ...]
) -> None:
    assert pair_statements([(Version(at), (one, two)) for at, one, two in told], TITLES) == expected


@given(
    cells=st.dictionaries(
        st.sampled_from(["old", "also", "new"]),
        st.dictionaries(
            st.sampled_from("xyz"), st.sampled_from(["yes", "no", "absent"]), min_size=1
        ),
        min_size=1,
    )
)
@examples(40)
def test_it_says_what_the_api_says_of_the_two(cells: dict[str, dict[str, str]]) -> None:
    of = edition(shelf(**{cell: can(**found) for cell, found in cells.items()}))
    told = {
        path: json.loads(text)
        for path, text in files(of, cell_files, api).items()
        if "/capabilities/a." in path
    }
    by_cell = {
        document["id"]: {
            f"demo/cell/{one['cell']}/index.html": one["status"] for one in document["cells"]
        }
        for document in told.values()
    }
    pairs = Pairs(of.reports[0])
    for first, second in pairs.all:
        view = pairs.view(first, second)
        for mark in view.strip:
            two = [by_cell[name].get(mark.path) for name in (first, second)]
            expected = "unknown" if None in two else ("none", "one", "both")[two.count("yes")]
            assert mark.state == expected
        meeting = {
            path
            for path, status in by_cell[first].items()
            if status == "yes" == by_cell[second].get(path)
        }
        newest = None if view.newest is None else cell_page(view.newest[1].cell)
        assert (newest in meeting) if newest is not None else not meeting
