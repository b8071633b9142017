"""What a plain install comes to: what a resolver said, what ran, and what follows from a pin."""

import datetime

import pytest
from msgspec.structs import replace
from support.known import DAY, Shelf, answered, lock_of, ran
from support.world import catalogue_of, matrix_of, world

from compat.declare.load import Declared
from compat.errors import DeclarationError
from compat.plan.plan import plan
from compat.results.infer import with_answers
from compat.results.installs import Install, install_causes, plain_installs
from compat.results.judge import EvaluationContext
from compat.results.learnt import Clause, PlainAnswer, StoredClauses, decode_answers, encode_answers
from compat.results.snapshot import Snapshot, snapshot

CELL = "py3.8-dep1-demo1.0"
REFUSED = "lock-fail:no-artifact(gone==4.1)"


def install(of: Snapshot, cell: str = CELL) -> Install:
    (only,) = (one for one in plain_installs(of) if one.cell == cell)
    return only


def test_answers_are_read_as_they_were_written() -> None:
    answers = [answered(CELL), answered("py3.9-dep2-demo2.0", "locked")]
    assert decode_answers(encode_answers(answers), "plain.json") == {
        answer.cell: answer for answer in answers
    }


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (PlainAnswer(cell="../escape", on=DAY, outcome="locked"), "not the id of a fresh cell"),
        (PlainAnswer(cell=f"{CELL}+relaxed", on=DAY, outcome="locked"), "not the id of a fresh"),
        (PlainAnswer(cell=CELL, on=DAY, outcome="pass"), "no resolver reports pass"),
        (PlainAnswer(cell=CELL, on=DAY, outcome="test-fail:error(x)"), "no resolver reports"),
        (PlainAnswer(cell=CELL, on=DAY, outcome="works"), "neither 'pass' nor"),
    ],
)
def test_what_no_resolver_says_is_no_answer(answer: PlainAnswer, why: str) -> None:
    with pytest.raises(DeclarationError, match=why):
        decode_answers(encode_answers([answer]), "plain.json")


def test_a_cell_has_one_answer() -> None:
    with pytest.raises(DeclarationError, match="twice"):
        decode_answers(encode_answers([answered(CELL), answered(CELL)]), "plain.json")


def test_packages_that_a_resolver_finds_do_not_work_for_that() -> None:
    of = Shelf(plain=[answered(CELL, "locked")]).picture()
    assert (install(of).state, install(of).ground) == ("resolves", "resolver")
    assert of.by_id[CELL].kind == "unknown"


def test_what_ran_since_says_what_it_came_to() -> None:
    lock = lock_of(CELL)
    of = Shelf([ran(lock)], [lock], plain=[answered(CELL, "locked", days_ago=3)]).picture()
    assert (install(of).state, install(of).ground, install(of).on) == ("works", "run", DAY)


def test_a_refusal_outdates_an_older_run_and_not_a_newer_one() -> None:
    lock = lock_of(CELL)
    newer = Shelf([ran(lock, days_ago=3)], [lock], plain=[answered(CELL)]).picture()
    assert (install(newer).state, install(newer).on) == ("refused", DAY)
    older = Shelf([ran(lock)], [lock], plain=[answered(CELL, days_ago=3)]).picture()
    assert install(older).state == "works"


def test_a_refusal_that_a_run_came_to_is_one() -> None:
    of = Shelf([ran(CELL, REFUSED)]).picture()
    assert (install(of).state, install(of).ground, install(of).outcome) == (
        "refused",
        "resolver",
        REFUSED,
    )


def test_a_refused_cell_is_broken_for_the_reason_and_nothing_of_it_was_tested() -> None:
    of = Shelf(plain=[answered(CELL)]).picture()
    entry = of.by_id[CELL]
    assert (entry.kind, entry.evidence) == ("broken", "asked")
    assert str(entry.outcome) == REFUSED
    assert not entry.is_tested
    assert entry not in of.known


def test_what_a_build_would_be_needed_for_is_neither_refused_nor_broken() -> None:
    of = Shelf(plain=[answered(CELL, "lock-fail:source-only(dep==1.0)")]).picture()
    assert install(of).state == "needs-build"
    assert of.by_id[CELL].kind == "unknown"


def test_metadata_that_no_build_could_mend_says_more_than_the_want_of_one() -> None:
    cell = "py3.9-dep1-demo1.0"
    of = Shelf(plain=[answered(cell, "lock-fail:source-only(dep==1.0)")]).picture()
    assert (install(of, cell).state, install(of, cell).ground) == ("ruled-out", "metadata")


def test_an_answer_of_a_later_day_is_not_known_yet() -> None:
    of = Shelf(plain=[answered(CELL)]).picture(DAY - datetime.timedelta(days=1))
    assert install(of).state == "not-asked"
    assert of.by_id[CELL].kind == "unknown"


def test_metadata_answers_where_nobody_asked() -> None:
    states = {(one.release, one.python): one for one in plain_installs(Shelf().picture())}
    assert states["1.0", "3.8"].state == "not-asked"
    assert (states["1.0", "3.9"].state, states["1.0", "3.9"].outcome) == (
        "ruled-out",
        "plan-fail:no-artifact(dep1)",
    )
    assert states["2.0", "3.8"].state == "not-admitted"
    assert states["2.0", "3.8"].cell == ""


def pinned(second: str, clause: Clause, asked: tuple[PlainAnswer, ...] = ()) -> Snapshot:
    """The world with two demos for the same dep; the second has this requirement."""
    document = world("published")
    demo = next(package for package in document["packages"] if package["name"] == "demo")
    for release, gone in zip(demo["releases"], ("gone==4.1", second), strict=True):
        release.pop("requires_python", None)
        release["requires"] = ["dep==2.*", *([gone] if gone else [])]
    # Of `gone` the catalogue knows nothing, as before it was discovered or after it was lost.
    document["packages"].append({"name": "gone", "releases": []})
    catalogue = catalogue_of(document)
    known = type(catalogue)(packages=catalogue.packages, required=())
    matrix = matrix_of(document)
    present = EvaluationContext(suite_digest="a" * 64, day=DAY)
    fates = plan(matrix, known).fates
    of = snapshot(Declared(matrix=matrix), known, fates, {}, {}, present)
    return with_answers(
        of, {answer.cell: answer for answer in asked}, StoredClauses(conflicts=(clause,))
    )


ASKED, OTHER = "py3.9-dep2-demo1.0", "py3.9-dep2-demo2.0"
LOST = Clause(
    facts=("gone==4.1",),
    pythons=("3.9",),
    outcome=REFUSED,
    because="there is no version of gone==4.1",
    cell=ASKED,
    on=DAY,
)


def test_a_clause_refuses_each_cell_that_contains_it_and_says_from_where_that_is_known() -> None:
    of = pinned("gone==4.1", LOST)
    assert (install(of, OTHER).state, install(of, OTHER).witness) == ("refused", ASKED)
    assert install(of, OTHER).ground == "clause"
    verdict = of.by_id[OTHER]
    assert (verdict.kind, verdict.evidence) == ("broken", "inferred")
    assert ASKED in verdict.reasons[0]
    assert "gone==4.1" in verdict.reasons[0]


@pytest.mark.parametrize(
    "second", ["gone==4.2", "gone>=4.1", "", "gone==4.1; python_version < '3.9'"]
)
def test_nothing_follows_for_a_cell_with_another_requirement(second: str) -> None:
    of = pinned(second, LOST)
    assert install(of, OTHER).state == "not-asked"
    assert of.by_id[OTHER].kind == "unknown"


def test_nothing_follows_for_another_python() -> None:
    of = pinned("gone==4.1", LOST)
    assert install(of, "py3.8-dep2-demo2.0").state == "not-asked"


def test_nothing_follows_before_the_day_on_which_it_was_learnt() -> None:
    of = pinned("gone==4.1", replace(LOST, on=DAY + datetime.timedelta(days=1)))
    assert install(of, OTHER).state == "not-asked"


def test_what_a_resolver_found_is_not_refused_by_a_clause() -> None:
    of = pinned("gone==4.1", LOST, (answered(OTHER, "locked"),))
    assert install(of, OTHER).state == "resolves"
    assert of.by_id[OTHER].kind == "unknown"


def test_the_want_of_a_build_is_told_and_breaks_nothing() -> None:
    of = pinned("gone==4.1", replace(LOST, outcome="lock-fail:source-only(gone==4.1)"))
    assert install(of, OTHER).state == "needs-build"
    verdict = of.by_id[OTHER]
    assert (verdict.kind, verdict.evidence) == ("unknown", "none")
    assert "gone==4.1" in verdict.reasons[0]


def test_identical_answers_are_one_cause() -> None:
    plain = [answered(CELL), answered("py3.9-dep2-demo2.0", days_ago=2)]
    causes = install_causes(plain_installs(Shelf(plain=plain).picture()))
    (refused,) = (cause for cause in causes if cause.state == "refused")
    assert (refused.outcome, refused.count) == (REFUSED, 2)
    assert refused.releases == {"3.8": ("1.0",), "3.9": ("2.0",)}
    assert refused.on == (DAY - datetime.timedelta(days=2), DAY)
    assert sum(cause.count for cause in causes) == len(plain_installs(Shelf().picture()))
