"""The text of clauses: what is read strictly, and for which matrix it holds."""

import datetime
from typing import Any

import pytest
from msgspec.structs import replace
from support.known import MATRIX

from compat.declare.matrix import Relaxation, Rule
from compat.errors import DeclarationError
from compat.results.learnt import (
    Clause,
    ClauseBook,
    FileClause,
    StoredClauses,
    decode_clauses,
    encode_clauses,
)

DAY = datetime.date(2026, 11, 23)
CELL = "py3.9-dep2-demo1.0"
CLAUSE = Clause(
    facts=("gone==4.1", "throughout: numpy as asked"),
    pythons=("3.9", "3.10"),
    outcome="lock-fail:no-artifact(gone==4.1)",
    because="there is no version of gone==4.1",
    cell=CELL,
    on=DAY,
)
OTHER = replace(CLAUSE, facts=("ant==1",), pythons=("3.8",))
FILE = FileClause(
    path="demo/core.py",
    sha256="plGKGPTzpN6hsplGKGPTzpN6hsplGKGPTzpN6hsplGK",
    releases=("1.0", "2.0"),
    pythons=("3.8",),
    outcome="import-fail:type-error(demo/core.py:12)",
    cell="py3.8-dep2-demo1.0",
    works=CELL,
    on=DAY,
)
KEPT = StoredClauses(conflicts=(OTHER, CLAUSE), files=(FILE,))


def read(text: str, **changes: Any) -> StoredClauses:
    return decode_clauses(text, "clauses.json", replace(MATRIX, **changes))


def test_clauses_are_read_as_they_were_written_and_stand_sorted() -> None:
    text = encode_clauses(StoredClauses(conflicts=(CLAUSE, OTHER), files=(FILE,)), MATRIX)
    assert read(text) == KEPT
    assert encode_clauses(KEPT, MATRIX) == text
    assert read(encode_clauses(StoredClauses(), MATRIX)) == StoredClauses()


def test_clauses_of_the_same_facts_are_one_for_all_their_pythons() -> None:
    later = replace(CLAUSE, pythons=("3.8",), cell="py3.8-dep2-demo1.0", on=DAY.replace(day=24))
    (clause,) = read(encode_clauses(StoredClauses(conflicts=(later, CLAUSE)), MATRIX)).conflicts
    assert clause == replace(CLAUSE, pythons=("3.8", "3.9", "3.10"))


@pytest.mark.parametrize(
    ("clause", "why"),
    [
        (replace(CLAUSE, cell="../escape"), "not the id of a cell"),
        (replace(CLAUSE, facts=("gone==4.1; os",)), "is not a fact"),
        (replace(CLAUSE, facts=("b==1", "a==1")), "facts must be sorted"),
        (replace(CLAUSE, facts=("a==1", "a==1")), "facts must be sorted"),
        (replace(CLAUSE, facts=()), "length"),
        (replace(CLAUSE, pythons=("3",)), "matching regex"),
        (replace(CLAUSE, outcome="pass"), "no resolver reports pass"),
        (replace(CLAUSE, outcome="test-fail:error(x)"), "no resolver reports"),
    ],
)
def test_what_is_no_clause_is_refused_with_its_place(clause: Clause, why: str) -> None:
    text = encode_clauses(StoredClauses(conflicts=(clause,)), MATRIX)
    with pytest.raises(DeclarationError, match=why) as refusal:
        read(text)
    assert refusal.value.faults[0].path == "clauses.json"


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (replace(FILE, works="../escape"), "not the id of a cell"),
        (replace(FILE, sha256="short"), "matching regex"),
        (replace(FILE, releases=("2.0", "1.0")), "releases must be sorted"),
        (replace(FILE, releases=("2.0", "x")), "Invalid version"),
        (replace(FILE, outcome="lock-fail:conflict(x)"), "no import reports"),
        (replace(FILE, path="demo/other.py"), "is not in demo/other.py"),
    ],
)
def test_what_is_no_clause_of_a_file_is_refused(file: FileClause, why: str) -> None:
    with pytest.raises(DeclarationError, match=why):
        read(encode_clauses(StoredClauses(files=(file,)), MATRIX))


def test_unknown_keys_and_another_order_are_refused() -> None:
    text = encode_clauses(KEPT, MATRIX)
    with pytest.raises(DeclarationError, match="unknown field"):
        read(text.replace('"because"', '"why":1,"because"', 1))
    with pytest.raises(DeclarationError, match="Pythons must be sorted"):
        read(text.replace('"3.9","3.10"', '"3.10","3.9"'))
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if "ant==1" in line)
    lines[first], lines[first + 1] = f"{lines[first + 1]},", lines[first].rstrip(",")
    with pytest.raises(DeclarationError, match="in order"):
        read("\n".join(lines))


def test_more_builds_or_another_platform_void_what_resolvers_said_and_no_file() -> None:
    text = encode_clauses(KEPT, MATRIX)
    for changes in ({"builds": ("gone==4.1",)}, {"platform": "x86_64-manylinux_2_99"}):
        assert read(text, **changes) == StoredClauses(files=(FILE,))
    assert read(encode_clauses(KEPT, replace(MATRIX, builds=("gone==4.1",)))) == KEPT


def test_a_package_that_a_rule_has_come_to_replace_was_as_asked_before() -> None:
    """Clauses of 23 November 2026 went on to answer cells in whose tree a rule of the next day
    replaced dm-tree and grpcio; some of these can be locked.
    """
    relaxation = Relaxation(package="Ant", to="<3", everywhere=True)
    rule = Rule(name="ant", effect="relax", because="it is gone", relaxations=(relaxation,))
    before, after = replace(MATRIX, rules=()), replace(MATRIX, rules=(rule,))
    text = encode_clauses(StoredClauses(conflicts=(CLAUSE, OTHER)), before)
    facts = {clause.facts for clause in decode_clauses(text, "clauses.json", after).conflicts}
    more = "throughout: ant as asked"
    assert facts == {("ant==1", more), ("gone==4.1", more, "throughout: numpy as asked")}
    # What was learnt beside the rule says itself whether it needs that.
    text = encode_clauses(StoredClauses(conflicts=(CLAUSE, OTHER)), after)
    assert {c.facts for c in decode_clauses(text, "clauses.json", after).conflicts} == {
        CLAUSE.facts,
        OTHER.facts,
    }


def test_a_clause_answers_only_what_holds_all_of_it() -> None:
    book = ClauseBook([CLAUSE, OTHER])
    facts = frozenset(CLAUSE.facts)
    assert book.answer([facts | {"more"}], "3.9") == (CLAUSE,)
    assert book.answer([facts - {"gone==4.1"}], "3.9") == ()
    assert book.answer([facts], "3.8") == ()
    assert book.answer([], "3.9") == ()


def test_every_release_that_a_cell_could_have_must_hold_a_clause() -> None:
    book = ClauseBook([CLAUSE, replace(OTHER, pythons=("3.9",))])
    facts = frozenset(CLAUSE.facts)
    assert len(book.answer([facts, frozenset(OTHER.facts)], "3.9")) == 2
    assert book.answer([facts, frozenset(["bee==1"])], "3.9") == ()


def test_the_want_of_a_build_is_the_answer_only_where_there_is_no_other() -> None:
    soft = replace(CLAUSE, facts=("ant==1",), outcome="lock-fail:source-only(ant==1)")
    facts = frozenset((*CLAUSE.facts, "ant==1"))
    assert ClauseBook([soft, CLAUSE]).answer([facts], "3.9") == (CLAUSE,)
    assert ClauseBook([soft]).answer([facts], "3.9") == (soft,)
