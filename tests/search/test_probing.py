"""What is known of cells after a resolver was asked about some of them."""

import datetime
from typing import Any

from packaging.version import Version
from support.memory_locker import MemoryLocker
from support.world import catalogue_of, matrix_of, source_of

from compat.index.release import Catalogue
from compat.lock.lockfile import Inputs, Lock, Pin, Refusal
from compat.lock.recipe import inputs_of
from compat.plan.cell import Cell, parse_cell
from compat.plan.feasible import Feasibility
from compat.search.learning import CellProber, ClauseLearner

DAY = datetime.date(2026, 11, 23)
MATRIX = """
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
suite = { path = "suite" }
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = ["3.8.18", "3.9.18"] },
  { kind = "package", name = "demo", short = "demo", package = "demo" },
]
"""
ASKED = (("ant",), ("ant",), ("ant", "bee==9"), ("ant", "bee==9"))
WORLD: dict[str, Any] = {
    "matrix": MATRIX,
    "packages": [
        {
            "name": "demo",
            "releases": [
                {
                    "version": f"{number}.0",
                    "files": [f"demo-{number}.0-py3-none-any.whl"],
                    "requires": lines,
                }
                for number, lines in enumerate(ASKED, start=1)
            ],
        },
        {"name": "ant", "releases": [{"version": "1.0", "files": ["ant-1.0-py3-none-any.whl"]}]},
    ],
}
SOURCE = source_of(WORLD)
FACTS = Feasibility(matrix_of(WORLD), Catalogue(packages=catalogue_of(WORLD).packages))


def resolve(inputs: Inputs) -> Lock | Refusal:
    """Nobody has bee, for which the last two releases ask; of everything else there is 1.0."""
    if {"bee==9", "demo==3.0", "demo==4.0"}.intersection(inputs.requirements):
        because = "bee==9 cannot be had"
        return Refusal(cause="no-artifact", subject="bee==9", because=because, named=("bee",))
    pins = [Pin(name="ant", version=Version("1.0"), hashes=())]
    for text in inputs.requirements:
        name, is_exact, version = text.partition("==")
        if is_exact:
            pins.append(Pin(name=name, version=Version(version), hashes=()))
    return Lock(inputs=inputs, pins=tuple(pins), tool="memory")


def prober_of(locker: MemoryLocker) -> CellProber:
    learner = ClauseLearner(FACTS, MemoryLocker(resolve).lock, (), DAY, str)
    return CellProber(FACTS, learner, locker, SOURCE.package, DAY)


def cell(name: str) -> Cell:
    return parse_cell(name, FACTS.matrix)


def test_found_packages_answer_a_cell_whose_requirements_they_meet() -> None:
    locker = MemoryLocker(resolve)
    prober = prober_of(locker)
    assert prober.known(cell("py3.8-demo1.0")) is None
    probed = prober.probe(cell("py3.8-demo1.0+dated"))
    assert (probed.is_locked, len(locker.asked), probed.clauses) == (True, 1, ())
    # As published it may have the packages of that day, too.
    known = prober.known(cell("py3.8-demo1.0"))
    assert known is not None
    assert known.is_locked
    assert known.answer is not None
    assert known.answer.because.endswith(" found for py3.8-demo1.0+dated")
    assert prober.probe(cell("py3.8-demo1.0")) == known
    assert len(locker.asked) == 1
    # Another release, and another Python, are other questions.
    assert prober.known(cell("py3.8-demo2.0")) is None
    assert prober.known(cell("py3.9-demo1.0")) is None


def test_packages_that_came_later_are_none_for_an_earlier_day() -> None:
    prober = prober_of(MemoryLocker(resolve))
    # demo 2.0 came out 30 days after ant, and a cell of 1.0 has packages of 10 days.
    assert prober.probe(cell("py3.8-demo2.0")).is_locked
    assert prober.known(cell("py3.8-demo2.0+dated")) is not None
    assert prober.known(cell("py3.8-demo1.0+dated")) is None


def test_a_refusal_teaches_what_refuses_others() -> None:
    prober = prober_of(MemoryLocker(resolve))
    probed = prober.probe(cell("py3.8-demo3.0"))
    assert [clause.facts for clause in probed.clauses] == [("bee==9",)]
    assert not probed.is_locked
    assert {str(refusal) for refusal in probed.refusals} == {"lock-fail:no-artifact(bee==9)"}
    assert probed.answer is not None
    assert probed.answer.because == "bee==9 cannot be had"
    other = prober.known(cell("py3.8-demo4.0+dated"))
    assert other is not None
    assert (other.clauses, other.answer) == (probed.clauses, None)


def test_a_lock_of_earlier_is_taken_into_account() -> None:
    prober = prober_of(MemoryLocker(resolve))
    lock = resolve(inputs_of(FACTS, cell("py3.8-demo1.0+dated")))
    assert isinstance(lock, Lock)
    prober.add(lock)
    known = prober.known(cell("py3.8-demo1.0"))
    assert known is not None
    assert known.is_locked
