"""What follows for cells that nobody tried: from clauses, from files, and from neighbours."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from support.known import DAY, SUITE, ran
from support.made_records import capabilities
from support.world import FRAME_MATRIX, catalogue_of, matrix_of

from compat.declare.load import Declared
from compat.fleet.choices import open_work
from compat.index.release import Catalogue
from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import plan
from compat.results.infer import Consequences, disproved, with_answers
from compat.results.judge import EvaluationContext
from compat.results.learnt import Clause, FileClause, PlainAnswer, StoredClauses
from compat.results.record import Record
from compat.results.snapshot import Snapshot, snapshot

DIGEST = "d" * 64
FRAMES = range(1, 6)
WORLD: dict[str, Any] = {
    "matrix": FRAME_MATRIX,
    "packages": [
        {
            "name": "frame",
            "releases": [
                {"version": f"{number}.0", "files": [f"frame-{number}.0-py3-none-any.whl"]}
                for number in FRAMES
            ],
        },
        {
            "name": "demo",
            "releases": [
                {
                    "version": f"{number}.0",
                    "files": [f"demo-{number}.0-py3-none-any.whl"],
                    "requires": ["ant==1"] if number < 3 else ["ant==2"],
                }
                for number in (1, 2, 3)
            ],
        },
    ],
}
CLAUSE = Clause(
    facts=("ant==1", "frame==2.*"),
    pythons=("3.9",),
    outcome="lock-fail:conflict(ant==1)",
    because="frame 2.0 depends on ant==2",
    cell="py3.9-fr2-demo1.0",
    on=DAY,
)
FILE = FileClause(
    path="demo/core.py",
    sha256="p" * 43,
    releases=("1.0", "2.0"),
    pythons=("3.8",),
    outcome="import-fail:type-error(demo/core.py:12)",
    cell="py3.8-fr1-demo1.0",
    works="py3.9-fr1-demo1.0",
    on=DAY,
)


PRESENT = EvaluationContext(suite_digest=SUITE, day=DAY, asked=frozenset(("demo", "frame")))


def record(cell: str, *outcomes: str, days_ago: int = 0, **more: Any) -> Record:
    return ran(cell, *outcomes, days_ago=days_ago, lock_digest=DIGEST, suite_digest=SUITE, **more)


def picture(
    *records: Record,
    conflicts: Sequence[Clause] = (),
    files: Sequence[FileClause] = (),
    answers: Mapping[str, str] | None = None,
    rules: str = "",
    present: EvaluationContext = PRESENT,
) -> Snapshot:
    matrix = matrix_of(WORLD | {"matrix": FRAME_MATRIX + rules})
    # Of `ant` the plan knows nothing: that is for the resolver to say.
    catalogue = Catalogue(packages=catalogue_of(WORLD).packages)
    runs: dict[str, list[Record]] = {}
    for run in records:
        runs.setdefault(run.cell, []).append(run)
    known = snapshot(
        Declared(matrix=matrix),
        catalogue,
        plan(matrix, catalogue).fates,
        dict.fromkeys(runs, DIGEST),
        runs,
        present,
    )
    asked = {
        cell: PlainAnswer(cell=cell, on=DAY, outcome=outcome)
        for cell, outcome in (answers or {}).items()
    }
    clauses = StoredClauses(conflicts=tuple(conflicts), files=tuple(files))
    return with_answers(known, asked, clauses)


def refuted_in(of: Snapshot, *conflicts: Clause, files: tuple[FileClause, ...] = ()) -> list[Any]:
    disproofs, _ = disproved(of, StoredClauses(conflicts=conflicts, files=files))
    return [disproof.clause for disproof in disproofs]


def inferred(of: Snapshot) -> set[str]:
    return {entry.cell.id for entry in of.entries if entry.evidence == "inferred"}


def test_a_clause_answers_under_every_recipe_what_contains_it() -> None:
    of = picture(conflicts=[CLAUSE])
    assert inferred(of) == {
        f"py3.9-fr2-demo{release}{recipe}"
        for release in ("1.0", "2.0")
        for recipe in ("", "+dated")
    }
    verdict = of.by_id["py3.9-fr2-demo2.0+dated"]
    assert (verdict.kind, str(verdict.outcome)) == ("broken", CLAUSE.outcome)
    assert "ant==1 and frame==2.*" in verdict.reasons[0]
    assert CLAUSE.cell in verdict.reasons[0]


ANT_MOVES = """
[[rules]]
name = "ant-moves"
effect = "relax"
because = "So that there are relaxed cells."
relaxations = [{ package = "ant", to = "==1" }]
"""


def test_a_clause_about_a_package_that_may_move_answers_no_relaxed_cell() -> None:
    hard = replace(CLAUSE, facts=("frame==4.*",), outcome="lock-fail:conflict(demo<1)")
    hard = replace(hard, because="frame==4.0 depends on demo<1")
    of = picture(conflicts=[CLAUSE, hard], rules=ANT_MOVES)
    relaxed = {cell for cell in inferred(of) if cell.endswith("+relaxed")}
    assert relaxed == {f"py3.9-fr4-demo{release}.0+relaxed" for release in (1, 2, 3)}
    assert {"py3.9-fr2-demo1.0", "py3.9-fr2-demo1.0+dated"} <= inferred(of)


def test_a_relaxed_cell_that_works_disproves_no_clause_about_a_package_that_moved() -> None:
    of = picture(
        record("py3.9-fr2-demo1.0+relaxed", "pass", capabilities=capabilities(sum="yes")),
        conflicts=[CLAUSE],
        rules=ANT_MOVES,
    )
    assert not refuted_in(of, CLAUSE)
    assert "py3.9-fr2-demo1.0+dated" in inferred(of)


def test_a_relaxed_cell_that_a_third_package_blocks_is_open_work_the_next_day() -> None:
    cell = "py3.9-fr2-demo1.0+relaxed"
    refused = {cell: "lock-fail:conflict(ant==1)"}
    of = picture(answers=refused, rules=ANT_MOVES)
    verdict = of.by_id[cell]
    assert (verdict.kind, verdict.evidence, verdict.blocked_by) == ("unknown", "none", "ant")
    assert cell not in {open_cell.id for open_cell in open_work(of).unlocked}
    tomorrow = replace(of.present, day=DAY + datetime.timedelta(days=1))
    of = picture(answers=refused, rules=ANT_MOVES, present=tomorrow)
    assert cell in {open_cell.id for open_cell in open_work(of).unlocked}


def test_a_third_package_without_a_wheel_blocks_a_relaxed_cell_that_stays_open_work() -> None:
    relaxed, fresh = "py3.9-fr2-demo1.0+relaxed", "py3.9-fr2-demo1.0"
    wants_build = dict.fromkeys((relaxed, fresh), "lock-fail:source-only(ant==1)")
    of = picture(rules=ANT_MOVES, answers=wants_build)
    assert (of.by_id[relaxed].kind, of.by_id[relaxed].blocked_by) == ("unknown", "ant")
    assert (of.by_id[fresh].kind, of.by_id[fresh].blocked_by) == ("unknown", "")
    of = picture(rules=ANT_MOVES, answers={relaxed: "lock-fail:source-only(demo==1)"})
    assert (of.by_id[relaxed].kind, of.by_id[relaxed].blocked_by) == ("unknown", "")


def test_a_tested_cell_is_never_answered_by_a_clause() -> None:
    of = picture(record("py3.9-fr2-demo2.0", days_ago=1), conflicts=[CLAUSE])
    assert of.by_id["py3.9-fr2-demo2.0"].evidence == "tested"
    # It was locked the day before, so it contradicts nothing.
    assert not refuted_in(of, CLAUSE)
    assert "py3.9-fr2-demo1.0" in inferred(of)


@pytest.mark.parametrize("by", ["run", "lock"])
def test_a_later_lock_removes_the_clause_and_all_that_rested_on_it(by: str) -> None:
    cell = "py3.9-fr2-demo2.0"
    of = (
        picture(record(cell, "test-fail:assertion(x)"), conflicts=[CLAUSE])
        if by == "run"
        else picture(conflicts=[CLAUSE], answers={cell: "locked"})
    )
    disproofs, fell = disproved(of, StoredClauses(conflicts=(CLAUSE,)))
    assert [(disproof.clause, disproof.cell) for disproof in disproofs] == [(CLAUSE, cell)]
    assert inferred(of) == set()
    assert set(fell) >= {"py3.9-fr2-demo1.0", "py3.9-fr2-demo1.0+dated"}
    assert all("fr2" in name for name in fell)


def test_what_another_clause_answers_does_not_fall() -> None:
    other = replace(CLAUSE, facts=("ant==1",), cell="py3.9-fr1-demo1.0")
    wrong = replace(CLAUSE, facts=("frame==2.*",))
    of = picture(conflicts=[wrong, other], answers={"py3.9-fr2-demo3.0": "locked"})
    _, fell = disproved(of, StoredClauses(conflicts=(wrong, other)))
    # The locked cell itself was answered by the clause until then.
    assert fell == ("py3.9-fr2-demo3.0", "py3.9-fr2-demo3.0+dated")


def test_a_refusal_disproves_nothing() -> None:
    of = picture(conflicts=[CLAUSE], answers={"py3.9-fr2-demo2.0": "lock-fail:build(x)"})
    assert not refuted_in(of, CLAUSE)
    assert of.by_id["py3.9-fr2-demo2.0"].evidence == "asked"


def test_a_file_answers_the_releases_that_have_it_on_the_pythons_up_to_its_own() -> None:
    of = picture(files=[FILE])
    assert inferred(of) == {
        f"py3.8-fr{frame}-demo{release}{recipe}"
        for frame in FRAMES
        for release in ("1.0", "2.0")
        for recipe in ("", "+dated")
    }
    verdict = of.by_id["py3.8-fr2-demo2.0"]
    assert (verdict.kind, str(verdict.outcome)) == ("broken", FILE.outcome)
    assert "demo/core.py" in verdict.reasons[0]


def test_a_run_that_gets_past_the_import_removes_the_file() -> None:
    of = picture(record("py3.8-fr1-demo2.0"), files=[FILE])
    assert refuted_in(of, files=(FILE,)) == [FILE]
    assert inferred(of) == set()
    again = picture(record("py3.8-fr1-demo2.0", "import-fail:error(x:1)"), files=[FILE])
    assert not refuted_in(again, files=(FILE,))


def test_a_refusal_is_told_before_a_file() -> None:
    clause = replace(CLAUSE, pythons=("3.8",))
    of = picture(conflicts=[clause], files=[FILE])
    assert str(of.by_id["py3.8-fr2-demo1.0"].outcome) == CLAUSE.outcome
    soft = replace(clause, outcome="lock-fail:source-only(ant==1)")
    of = picture(conflicts=[soft], files=[FILE])
    assert str(of.by_id["py3.8-fr2-demo1.0"].outcome) == FILE.outcome


@pytest.mark.parametrize(
    ("package", "told"), [("ant", FILE.outcome), ("frame", "lock-fail:conflict(frame>2)")]
)
def test_a_file_is_told_before_a_refusal_by_a_package_that_may_move(
    package: str, told: str
) -> None:
    rule = """
[[rules]]
name = "ant"
effect = "relax"
because = "So that there are relaxed cells."
relaxations = [{ package = "ant", to = "any" }]
"""
    world = WORLD | {"matrix": FRAME_MATRIX + rule}
    facts = Feasibility(matrix_of(world), catalogue_of(world))
    clause = replace(
        CLAUSE,
        facts=("ant", "frame==2.*"),
        pythons=("3.8",),
        outcome=f"lock-fail:conflict({package}>2)",
        because=f"demo 1.0 depends on {package}>2",
    )
    cell = parse_cell("py3.8-fr2-demo1.0+relaxed", facts.matrix)
    known = Consequences(facts, StoredClauses(conflicts=(clause,), files=(FILE,))).of(cell)
    assert known is not None
    assert str(known.outcome) == told


BETWEEN = {f"py3.9-fr{frame}-demo1.0" for frame in (2, 3, 4)}


def test_between_tested_neighbours_that_agree_the_same_is_expected() -> None:
    of = picture(record("py3.9-fr1-demo1.0"), record("py3.9-fr5-demo1.0"))
    assert inferred(of) == BETWEEN
    verdict = of.by_id["py3.9-fr3-demo1.0"]
    assert (verdict.kind, verdict.expected) == ("unknown", "works")
    assert "py3.9-fr1-demo1.0 and py3.9-fr5-demo1.0 both" in verdict.reasons[0]


KNOWN = """
[[known]]
{what}
because = "It dies there."
when = {{ {when} }}
"""


@pytest.mark.parametrize(
    "what", ['outcome = "test-fail:illegal-instruction"', 'capability = "sum"']
)
def test_where_people_know_of_a_failure_nothing_is_expected_to_work(what: str) -> None:
    ends = record("py3.9-fr1-demo1.0"), record("py3.9-fr5-demo1.0")
    dies = KNOWN.format(what=what, when='frame = "==3.*"')
    assert inferred(picture(*ends, rules=dies)) == BETWEEN - {"py3.9-fr3-demo1.0"}
    # Both ends work in spite of it.
    assert inferred(picture(*ends, rules=dies.replace("==3.*", "<9"))) == BETWEEN


def test_equal_failures_are_expected_between_them_and_different_ones_are_not() -> None:
    ends = ("py3.9-fr1-demo1.0", "py3.9-fr5-demo1.0")
    failure = "import-fail:missing-module(x)"
    assert inferred(picture(*(record(end, failure) for end in ends))) == BETWEEN
    other = record(ends[1], "import-fail:missing-module(y)")
    assert inferred(picture(record(ends[0], failure), other)) == set()
    assert inferred(picture(record(ends[0], failure), record(ends[1]))) == set()


def test_of_failures_at_places_those_in_the_same_package_are_equal() -> None:
    first, last = "py3.9-fr1-demo1.0", "py3.9-fr5-demo1.0"
    failure = record(first, "import-fail:type-error(demo/core.py:12)")
    of = picture(failure, record(last, "import-fail:type-error(demo/shape.py:7)"))
    assert inferred(of) == BETWEEN
    verdict = of.by_id["py3.9-fr3-demo1.0"]
    assert "(demo/core.py:12) and import-fail:type-error(demo/shape.py:7)" in verdict.reasons[0]
    other = record(last, "import-fail:type-error(frame/shape.py:7)")
    assert inferred(picture(failure, other)) == set()


def in_part(cell: str, *failing: str) -> Record:
    """A run in which these capabilities fail, and one more works."""
    rows = capabilities(**dict.fromkeys(failing, "no"), fine="yes")
    return record(cell, f"test-fail:assertion({failing[0]})", capabilities=rows)


def test_of_neighbours_that_work_in_part_what_fails_in_both_is_expected_between_them() -> None:
    """On 24 November 2026 a release in which one more capability failed ended what was expected of
    78 combinations in which three others failed anyway.
    """
    first, last = "py3.9-fr1-demo1.0", "py3.9-fr5-demo1.0"
    of = picture(in_part(first, "mean", "sum"), in_part(last, "mean", "zip"))
    assert inferred(of) == BETWEEN
    verdict = of.by_id["py3.9-fr3-demo1.0"]
    assert (verdict.kind, verdict.expected) == ("unknown", "partial")
    assert "mean fails in both" in verdict.reasons[0]
    assert "and sum, zip in" in verdict.reasons[0]


def test_neighbours_that_work_in_part_by_different_failures_let_expect_nothing() -> None:
    first, last = "py3.9-fr1-demo1.0", "py3.9-fr5-demo1.0"
    assert inferred(picture(in_part(first, "mean"), in_part(last, "zip"))) == set()
    assert inferred(picture(in_part(first, "mean"), record(last))) == set()


def test_what_one_working_neighbour_lacks_is_expected_where_the_release_itself_ran_it() -> None:
    """On 27 November 2026 mcp 1.9 was expected to work between 1.2, which has no streaming over
    HTTP, and 2.3, where it works; its own run failed in it.
    """
    first, middle, last = (f"py3.9-fr1-demo{release}" for release in ("1.0", "2.0", "3.0"))
    lacks = record(first, capabilities=capabilities(stream="absent", fine="yes"))
    ends = lacks, record(last, capabilities=capabilities(stream="yes", fine="yes"))
    assert inferred(picture(lacks, record(last, capabilities=lacks.capabilities))) == {middle}
    assert inferred(picture(*ends)) == set()
    for status, expected in (("yes", {middle}), ("absent", {middle}), ("no", set())):
        rows = capabilities(stream=status, fine="yes")
        outcome = "test-fail:assertion(stream)" if status == "no" else "pass"
        beside = record("py3.9-fr5-demo2.0", outcome, capabilities=rows)
        assert inferred(picture(*ends, beside)) == expected


@pytest.mark.parametrize("against", ["refusal", "run", "clause"])
def test_an_answer_of_its_own_between_them_ends_the_expectation(against: str) -> None:
    ends = [record("py3.9-fr1-demo1.0"), record("py3.9-fr5-demo1.0")]
    middle = "py3.9-fr3-demo1.0"
    match against:
        case "refusal":
            of = picture(*ends, answers={middle: "lock-fail:conflict(x)"})
        case "run":
            of = picture(*ends, record(middle, "import-fail:missing-module(x)"))
        case _:
            of = picture(*ends, conflicts=[replace(CLAUSE, facts=("ant==1", "frame==3.*"))])
    assert not inferred(of) & {"py3.9-fr2-demo1.0", "py3.9-fr4-demo1.0"}


def test_a_run_that_says_nothing_of_its_versions_leaves_the_others_expected() -> None:
    """On 24 November 2026 one cell hung once, and what was expected of 22 beside it fell."""
    silent = record("py3.9-fr3-demo1.0", "test-fail:silence(test_demo.py::test_sum)")
    of = picture(record("py3.9-fr1-demo1.0"), record("py3.9-fr5-demo1.0"), silent)
    assert inferred(of) == BETWEEN - {"py3.9-fr3-demo1.0"}
    facts, outcome = ("ant==1", "frame==3.*"), "lock-fail:source-only(ant==1)"
    wants_build = [replace(CLAUSE, facts=facts, outcome=outcome)]
    of = picture(record("py3.9-fr1-demo1.0"), record("py3.9-fr5-demo1.0"), conflicts=wants_build)
    assert inferred(of) == BETWEEN - {"py3.9-fr3-demo1.0"}


def test_what_axes_expect_differently_is_not_expected() -> None:
    failure = "import-fail:missing-module(x)"
    of = picture(
        record("py3.9-fr1-demo2.0"),
        record("py3.9-fr3-demo2.0"),
        record("py3.9-fr2-demo1.0", failure),
        record("py3.9-fr2-demo3.0", failure),
    )
    assert of.by_id["py3.9-fr2-demo2.0"].expected is None


def test_old_neighbours_make_an_old_expectation() -> None:
    of = picture(record("py3.9-fr1-demo1.0", days_ago=200), record("py3.9-fr3-demo1.0"))
    assert of.by_id["py3.9-fr2-demo1.0"].stale


def test_what_is_learnt_later_is_not_known_yet() -> None:
    later = replace(CLAUSE, on=DAY + datetime.timedelta(days=1))
    assert inferred(picture(conflicts=[later])) == set()
