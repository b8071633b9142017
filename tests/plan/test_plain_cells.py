"""A plain install is asked once of each release and Python that its own metadata admits."""

from support.world import catalogue_of, matrix_of, world

from compat.declare.load import decode_matrix
from compat.plan.feasible import Feasibility
from compat.results.installs import Install, declared_installs

WORLD = world("published")


def questions() -> dict[tuple[str, str], Install]:
    facts = Feasibility(matrix_of(WORLD), catalogue_of(WORLD))
    return {(one.release, one.python): one for one in declared_installs(facts)}


def test_each_release_is_asked_with_what_it_publishes_on_each_python_that_it_admits() -> None:
    cells = {pair: install.cell for pair, install in questions().items() if install.cell}
    assert cells == {
        ("1.0", "3.8"): "py3.8-dep1-demo1.0",
        # dep 1 has no file for Python 3.9, which the resolver is to say.
        ("1.0", "3.9"): "py3.9-dep1-demo1.0",
        ("2.0", "3.9"): "py3.9-dep2-demo2.0",
    }


def test_a_python_that_the_release_does_not_admit_is_not_asked_about() -> None:
    install = questions()["2.0", "3.8"]
    assert (install.cell, install.state) == ("", "not-admitted")
    assert install.outcome == "plan-fail:requires-python"


def test_of_several_that_a_release_admits_the_newest_is_asked() -> None:
    document = world("published")
    demo = next(package for package in document["packages"] if package["name"] == "demo")
    demo["releases"][0]["requires"] = ["dep"]
    facts = Feasibility(matrix_of(document), catalogue_of(document))
    install = next(declared_installs(facts))
    assert (install.release, install.cell) == ("1.0", "py3.8-dep2-demo1.0")


def test_a_cell_that_people_excluded_is_not_asked_about() -> None:
    document = world("published")
    excluding = (
        '  { name = "never", effect = "exclude", because = "it eats files", when = { demo ='
        ' "==1.0" } },\n]\n'
    )
    text = document["matrix"].rstrip().removesuffix("]") + excluding
    facts = Feasibility(decode_matrix(text.encode(), "world"), catalogue_of(document))
    install = next(declared_installs(facts))
    assert (install.cell, install.outcome) == ("", "plan-fail:excluded")
