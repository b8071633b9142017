"""What refusals teach, against a resolver whose conflicts are known."""

import datetime
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.memory_locker import MemoryLocker
from support.world import catalogue_of, matrix_of

from compat.index.release import Catalogue
from compat.lock.demands import Demands
from compat.lock.lockfile import Cause, Inputs, Lock, Refusal
from compat.plan.cell import Cell, parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import every_cell
from compat.results.learnt import Clause
from compat.search.learning import ClauseLearner, Probed

DAY = datetime.date(2026, 11, 23)
LIBRARIES = ("ant", "bee", "cat", "dog")
LINES = tuple(f"{name}=={version}" for name in LIBRARIES for version in (1, 2))
PINS = ("frame==1.*", "frame==2.*")
Conflict = tuple[str, frozenset[str]]


def world_of(releases: Iterable[Iterable[str]], rules: str = "") -> Feasibility:
    """A world of one subject whose releases ask for these lines, on two Pythons and frames."""
    document: dict[str, Any] = {
        "matrix": f"""
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
suite = {{ path = "suite" }}
axes = [
  {{ kind = "interpreter", name = "python", short = "py", releases = ["3.8.18", "3.9.18"] }},
  {{ kind = "package", name = "frame", short = "fr", package = "frame", select={{keep="major"}} }},
  {{ kind = "package", name = "demo", short = "demo", package = "demo" }},
]
{rules}
""",
        "packages": [
            {
                "name": "frame",
                "releases": [
                    {"version": f"{number}.0", "files": [f"frame-{number}.0-py3-none-any.whl"]}
                    for number in (1, 2)
                ],
            },
            {
                "name": "demo",
                "releases": [
                    {
                        "version": f"{number}.0",
                        "files": [f"demo-{number}.0-py3-none-any.whl"],
                        "requires": sorted(lines),
                    }
                    for number, lines in enumerate(releases, start=1)
                ],
            },
        ],
    }
    # Of the libraries the plan knows nothing: that is for the resolver to say.
    return Feasibility(matrix_of(document), Catalogue(packages=catalogue_of(document).packages))


def resolver(
    conflicts: Iterable[Conflict], named: str = "exact", cause: Cause = "conflict"
) -> MemoryLocker:
    """A resolver that refuses as long as all lines of a conflict are asked for on its Python.

    Of a replaced package it takes the replacement alone, and of one that is left out nothing.
    """
    every = list(conflicts)

    def answer(inputs: Inputs) -> Lock | Refusal:
        replaced = {name_of(line): line for line in inputs.overrides}
        held = {
            replaced.get(name_of(line), line)
            for line in inputs.requirements
            if name_of(line) not in inputs.excludes
        }
        for python, lines in every:
            if f"{inputs.python.major}.{inputs.python.minor}" == python and lines <= held:
                names = {name_of(line) for line in lines}
                told = {"exact": names, "less": set(sorted(names)[1:]), "none": set()}
                return Refusal(
                    cause=cause,
                    subject=min(lines),
                    because=f"{' and '.join(sorted(lines))} cannot be had",
                    named=tuple(sorted(told[named])),
                )
        return Lock(inputs=inputs, pins=(), tool="memory")

    return MemoryLocker(answer)


def name_of(line: str) -> str:
    return canonicalize_name(Requirement(line).name)


def learner_of(facts: Feasibility, locker: MemoryLocker, *known: Clause) -> ClauseLearner:
    return ClauseLearner(facts, locker.lock, known, DAY, str)


def learn(learner: ClauseLearner, facts: Feasibility, cell: str) -> Probed:
    return learner.learn(parse_cell(cell, facts.matrix))


def cells_of(facts: Feasibility) -> list[Cell]:
    return [cell for cell in every_cell(facts) if facts.obstacle(cell) is None]


conflicts_of = st.lists(
    st.tuples(
        st.sampled_from(["3.8", "3.9"]),
        st.sets(st.sampled_from([*LINES, *PINS]), min_size=1, max_size=3).map(frozenset),
    ),
    max_size=5,
)
releases_of = st.lists(st.sets(st.sampled_from(LINES), max_size=6), min_size=1, max_size=5)


@given(
    releases_of,
    conflicts_of,
    st.sampled_from(["exact", "less", "none"]),
    st.lists(st.integers(0, 100), max_size=6),
)
def test_a_clause_is_minimal_and_never_answers_a_cell_that_can_be_locked(
    releases: list[set[str]], conflicts: list[Conflict], named: str, picks: list[int]
) -> None:
    facts = world_of(releases)
    locker = resolver(conflicts, named)
    learner = learner_of(facts, locker)
    demands = Demands(facts)
    cells = cells_of(facts)

    def can_be_locked(cell: Cell, held: frozenset[str]) -> bool:
        return isinstance(locker.lock(demands.inputs(cell, held)), Lock)

    for pick in picks:
        cell = cells[pick % len(cells)]
        lesson = learner.learn(cell)
        (held,) = demands.of(cell)
        assert bool(lesson.clauses) is not can_be_locked(cell, held)
        assert bool(learner.answer(cell)) is bool(lesson.clauses)
    for cell in cells:
        if learner.answer(cell):
            assert not any(can_be_locked(cell, held) for held in demands.of(cell))
    for clause in learner.clauses:
        for python in clause.pythons:
            cell = parse_cell(f"py{python}-fr1-demo1.0", facts.matrix)
            whole = frozenset(clause.facts)
            assert not can_be_locked(cell, whole)
            assert all(can_be_locked(cell, whole - {fact}) for fact in whole)


def test_one_refusal_answers_every_cell_that_asks_for_the_same() -> None:
    facts = world_of([["ant==1", "bee==1"], ["ant==1", "cat==2"], ["ant==2"]])
    learner = learner_of(facts, resolver([("3.9", frozenset(["ant==1"]))]))
    lesson = learn(learner, facts, "py3.9-fr1-demo1.0")
    assert [clause.facts for clause in lesson.clauses] == [("ant==1",)]
    answered = {cell.id for cell in cells_of(facts) if learner.answer(cell)}
    assert answered == {
        f"py3.9-fr{frame}-demo{release}{recipe}"
        for frame in (1, 2)
        for release in ("1.0", "2.0")
        for recipe in ("", "+dated")
    }


def test_a_conflict_without_the_coordinate_is_preferred() -> None:
    facts = world_of([["ant==1", "bee==1"]])
    conflicts = [
        ("3.9", frozenset(["ant==1", "frame==1.*"])),
        ("3.9", frozenset(["ant==1", "bee==1"])),
    ]
    lesson = learn(learner_of(facts, resolver(conflicts, "none")), facts, "py3.9-fr1-demo1.0")
    assert lesson.clauses[0].facts == ("ant==1", "bee==1")


def test_the_shape_of_a_known_clause_is_asked_about_first() -> None:
    facts = world_of([["ant==1", "bee==1", "cat==1"], ["ant==2", "bee==2", "cat==1"]])
    conflicts = [
        ("3.9", frozenset(lines)) for lines in (("ant==1", "bee==1"), ("ant==2", "bee==2"))
    ]
    locker = resolver(conflicts)
    learner = learner_of(facts, locker)
    learn(learner, facts, "py3.9-fr1-demo1.0")
    locker.asked.clear()
    lesson = learn(learner, facts, "py3.9-fr1-demo2.0")
    assert lesson.answer is None
    assert locker.asked[0].requirements == ("ant==2", "bee==2")
    assert all("cat==1" not in inputs.requirements for inputs in locker.asked)


def test_what_is_answered_is_not_asked_again() -> None:
    facts = world_of([["ant==1"], ["ant==1", "bee==1"]])
    locker = resolver([("3.9", frozenset(["ant==1"]))])
    learner = learner_of(facts, locker)
    learn(learner, facts, "py3.9-fr1-demo1.0")
    asked = len(locker.asked)
    learn(learner, facts, "py3.9-fr2-demo2.0")
    assert len(locker.asked) == asked


RULE = """
[[rules]]
name = "ant-everywhere"
effect = "relax"
because = "A test of the whole tree."
when = { demo = "==2.0" }
relaxations = [{ package = "ant", to = "==2", everywhere = true, always = true }]
"""


def test_a_rule_for_the_whole_tree_is_a_fact_only_where_it_matters() -> None:
    facts = world_of([["ant==1", "bee==1"], ["ant==1", "bee==1"]], RULE)
    on_ant = learner_of(facts, resolver([("3.9", frozenset(["ant==1", "bee==1"]))]))
    (clause,) = learn(on_ant, facts, "py3.9-fr1-demo1.0").clauses
    assert clause.facts == ("ant==1", "bee==1", "throughout: ant as asked")
    replaced = parse_cell("py3.9-fr1-demo2.0+relaxed", facts.matrix)
    assert on_ant.answer(replaced) == ()
    elsewhere = learner_of(facts, resolver([("3.9", frozenset(["bee==1"]))]))
    (clause,) = learn(elsewhere, facts, "py3.9-fr1-demo1.0").clauses
    assert clause.facts == ("bee==1",)
    # What refuses a pin of a package that may move refuses no relaxed cell.
    assert elsewhere.answer(replaced) == ()
    assert elsewhere.answer(parse_cell("py3.9-fr1-demo2.0", facts.matrix)) == (clause,)


@pytest.mark.parametrize("cause", ["build", "build-tool"])
def test_a_build_that_failed_teaches_nothing(cause: Cause) -> None:
    facts = world_of([["ant==1"]])
    learner = learner_of(facts, resolver([("3.9", frozenset(["ant==1"]))], cause=cause))
    assert learn(learner, facts, "py3.9-fr1-demo1.0").clauses == ()


def test_behind_the_want_of_a_build_another_reason_is_looked_for() -> None:
    facts = world_of([["ant==1", "bee==1"]])
    soft = resolver([("3.9", frozenset(["ant==1"]))], cause="source-only")
    hard = resolver([("3.9", frozenset(["bee==1"]))])

    def answer(inputs: Inputs) -> Lock | Refusal:
        first = soft.lock(inputs)
        return first if isinstance(first, Refusal) else hard.lock(inputs)

    learner = learner_of(facts, MemoryLocker(answer))
    lesson = learn(learner, facts, "py3.9-fr1-demo1.0")
    assert [clause.facts for clause in lesson.clauses] == [("bee==1",)]
    assert [clause.facts for clause in learner.clauses] == [("ant==1",), ("bee==1",)]
