"""The snapshot of a matrix: each cell once, with its verdict, and why it is not green."""

import datetime

import msgspec
from packaging.specifiers import SpecifierSet
from support.made_records import LOCK, START, SUITE, capabilities, cell_of, ran
from support.world import catalogue_of, matrix_of, world

from compat.declare.capabilities import Described, with_table
from compat.declare.load import Declared
from compat.declare.matrix import KnownIssue, Matrix, When
from compat.index.release import Catalogue
from compat.plan.plan import plan
from compat.results.infer import with_answers
from compat.results.judge import EvaluationContext, judge, refuted
from compat.results.record import Record
from compat.results.snapshot import Snapshot, snapshot
from compat.results.table import capability_table, unexplained

WORLD = world("platforms")
PRESENT = EvaluationContext(suite_digest=SUITE, day=START.date() + datetime.timedelta(days=10))


def pictured(*runs: Record, matrix: Matrix | None = None) -> Snapshot:
    matrix = matrix or matrix_of(WORLD)
    catalogue = catalogue_of(WORLD)
    by_cell: dict[str, list[Record]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)
    locks = dict.fromkeys(by_cell, LOCK)
    return snapshot(
        Declared(matrix=matrix), catalogue, plan(matrix, catalogue).fates, locks, by_cell, PRESENT
    )


def test_without_a_catalogue_nothing_is_expected_of_any_cell() -> None:
    run = ran("pass", cell=FIRST)
    nothing = Catalogue(packages=())
    declared = Declared(matrix=matrix_of(WORLD))
    known = snapshot(declared, nothing, (), {}, {run.cell: [run]}, PRESENT)
    assert [entry.expected for entry in with_answers(known, {}).entries] == [None]


FATES = plan(matrix_of(WORLD), catalogue_of(WORLD)).fates
FIRST, LAST = FATES[0].cell.id, FATES[-1].cell.id


def with_known(**more: str) -> Matrix:
    issue = KnownIssue(because="the compiler of that year", **more)  # type: ignore[arg-type]
    return msgspec.structs.replace(matrix_of(WORLD), known=(issue,))


def test_every_cell_of_the_plan_stands_in_the_snapshot_once_and_in_order() -> None:
    found = pictured(ran("pass", cell=LAST, capabilities=capabilities(sum="yes")))
    assert [entry.cell for entry in found.entries] == [fate.cell for fate in FATES]
    assert [entry.cell.id for entry in found.known] == [LAST]
    assert found.by_id[LAST].kind == "works"
    assert found.by_id[FIRST].kind in ("unknown", "infeasible")


def test_the_entry_of_one_cell_is_that_of_the_whole() -> None:
    run = ran("pass", cell=LAST, capabilities=capabilities(sum="yes"))
    alone = judge(FATES[-1].cell, (run,), PRESENT, lock_digest=LOCK)
    assert alone == pictured(run).by_id[LAST]


def test_a_cell_that_left_the_plan_keeps_its_runs_and_one_of_other_axes_is_left_out() -> None:
    at = FATES[0].cell.coordinates
    gone = "-".join([*(one.text for one in at[:-1]), f"{at[-1].short}99"])
    found = pictured(ran("pass", cell=gone), ran("pass", cell="other-axes"))
    assert not found.by_id[gone].planned
    assert "other-axes" not in found.by_id


def test_an_explanation_holds_for_its_outcome_and_its_versions_only() -> None:
    red = ran("import-fail:type-error(library/types.py:690)", cell=LAST)
    assert pictured(
        red, matrix=with_known(outcome="import-fail:type-error(library/types.py")
    ).explained(pictured(red).by_id[LAST])
    assert not pictured(
        red, matrix=with_known(outcome="import-fail:type-error(library/other.py")
    ).explained(pictured(red).by_id[LAST])
    axis = matrix_of(WORLD).subject
    elsewhere = KnownIssue(
        because="only there", outcome="import-fail", when=When(((axis, SpecifierSet("<0")),))
    )
    matrix = msgspec.structs.replace(matrix_of(WORLD), known=(elsewhere,))
    assert pictured(red, matrix=matrix).explained(pictured(red).by_id[LAST]) is None


def test_a_run_that_does_not_count_is_explained_too() -> None:
    lacking = ran("test-fail:illegal-instruction(sum; by worker_binary)", cell=LAST)
    matrix = with_known(outcome="test-fail:illegal-instruction")
    explained = pictured(lacking, matrix=matrix)
    assert explained.by_id[LAST].outcome is None
    assert explained.explained(explained.by_id[LAST])
    assert explained.explained(explained.by_id[FIRST]) is None


def test_the_table_shows_each_capability_and_why_it_is_red() -> None:
    run = ran(
        "test-fail:error(mean)",
        cell=LAST,
        capabilities=capabilities(sum="yes", mean="no", new="absent"),
    )
    described = [Described(id="sum", title="Sum | of `two`", says="", file="", line=1, code="")]
    bare = pictured(run)
    text = capability_table(bare, described)
    assert "| Sum  of two `sum` | ✓ |" in text
    assert "\n| `mean` | ✗ |" in text
    assert "`new` | ∅ |" in text
    assert "not explained yet" in text
    assert unexplained(bare) == ((LAST, "mean"),)
    told = pictured(run, matrix=with_known(capability="mean"))
    assert "compiler of that year" in capability_table(told, described)
    assert unexplained(told) == ()


def test_a_table_without_runs_says_so() -> None:
    assert capability_table(pictured(), []) == "No cell has reached the suite yet.\n"


def test_the_table_takes_its_place_between_the_marks_and_touches_nothing_else() -> None:
    once = with_table(
        "before\n<!-- capabilities -->\nold\n<!-- /capabilities -->\nafter\n", "new\n"
    )
    assert once == "before\n<!-- capabilities -->\nnew\n<!-- /capabilities -->\nafter\n"
    assert with_table(once, "new\n") == once


def test_a_cell_that_fell_by_a_capability_has_that_ones_explanation() -> None:
    run = ran("test-fail:error(mean)", cell=LAST, capabilities=capabilities(sum="yes", mean="no"))
    told, other = (pictured(run, matrix=with_known(capability=name)) for name in ("mean", "sum"))
    assert told.explained(told.by_id[LAST])
    assert other.explained(other.by_id[LAST]) is None


def test_a_release_that_fails_with_the_newest_versions_is_not_shown_as_good() -> None:
    old, new = (
        cell.replace("-dep1-", f"-dep{version}-") for cell, version in ((FIRST, "1"), (FIRST, "99"))
    )
    assert old != new
    good = ran("pass", cell=old, capabilities=capabilities(sum="yes"))
    assert "| `sum` | ✓ |" in capability_table(pictured(good), [])
    fallen = ran("import-fail:binary-incompatible(dep; at library/core.pyx:1)", cell=new)
    text = capability_table(pictured(good, fallen), [])
    assert "| `sum` | ◐ |" in text
    assert "◐ yes, but not with the newest versions that were tested" in text
    assert f"- `{new}`: import-fail:binary-incompatible(dep; at library/core.pyx:1)" in text
    refused = ran("lock-fail:conflict(dep)", cell=new)
    assert "| `sum` | ✓ |" in capability_table(pictured(good, refused), [])


def test_an_explanation_to_the_closing_bracket_holds_with_the_place_beside_it() -> None:
    red = ran("import-fail:missing-module(jax; at library/core.py:3)", cell=LAST)
    for outcome in (
        "import-fail:missing-module(jax)",
        "import-fail:missing-module(jax; at library/core.py",
    ):
        found = pictured(red, matrix=with_known(outcome=outcome))
        assert found.explained(found.by_id[LAST])


def test_a_run_from_before_places_were_kept_makes_no_cell_flaky() -> None:
    before = ran(
        "test-fail:error(mean)", cell=LAST, capabilities=capabilities(sum="yes", mean="no")
    )
    after = ran(
        "test-fail:error(mean; at library/core.py:3)",
        cell=LAST,
        day=1,
        capabilities=capabilities(sum="yes", mean="no"),
    )
    assert pictured(before, after).by_id[LAST].kind == "partial"


def test_an_explanation_of_a_capability_that_works_in_its_range_is_refuted() -> None:
    works = pictured(ran("pass", cell=LAST, capabilities=capabilities(mean="yes"))).by_id[LAST]
    (finding,) = refuted(with_known(capability="mean"), [works])
    assert (finding.code, finding.path) == ("refuted", ("known", 0))
    assert finding.message == f"mean works in {LAST}, where this entry says why it fails"
    elsewhere = KnownIssue(
        because="there",
        capability="mean",
        when=When(((matrix_of(WORLD).subject, SpecifierSet("<0")),)),
    )
    matrix = msgspec.structs.replace(matrix_of(WORLD), known=(elsewhere,))
    assert not list(
        refuted(matrix, [works, msgspec.structs.replace(works, cell=cell_of("of-other-axes"))])
    )
    fails = ran("test-fail:error(mean)", cell=LAST, capabilities=capabilities(sum="yes", mean="no"))
    assert not list(refuted(with_known(capability="mean"), [pictured(fails).by_id[LAST]]))


def test_a_flaky_cell_refutes_no_explanation() -> None:
    passed = ran("pass", cell=LAST, day=1, capabilities=capabilities(mean="yes"))
    failed = ran("test-fail:error(mean)", cell=LAST, capabilities=capabilities(mean="no"))
    flaky = pictured(failed, passed).by_id[LAST]
    assert flaky.kind == "flaky"
    assert not list(refuted(with_known(capability="mean"), [flaky]))
