"""Audits: what a sample says of all, and the text that keeps it."""

import datetime
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_locker import MemoryLocker
from support.world import FRAME_MATRIX, catalogue_of, matrix_of

from compat.errors import DeclarationError
from compat.index.release import Catalogue
from compat.lock.lockfile import Lock, Refusal
from compat.pipeline import freed
from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility
from compat.results.answer import Answer
from compat.results.learnt import (
    Audit,
    AuditedCell,
    Finding,
    audited_free,
    decode_audit,
    encode_audit,
    sampled,
    upper_bound,
)
from compat.run.outcome import parse_outcome

DAY = datetime.date(2026, 11, 23)
CELLS = [f"py3.8-dep{number}-demo1.0" for number in range(100)]


def audit(*findings: Finding) -> Audit:
    cells = tuple(
        AuditedCell(cell=cell, inferred="lock-fail:conflict(a)", outcome="locked", finding=finding)
        for cell, finding in zip(CELLS, findings, strict=False)
    )
    return Audit(on=DAY, seed=7, inferred=100, cells=cells)


@pytest.mark.parametrize(("asked", "bound"), [(20, 0.139), (59, 0.0495), (149, 0.0199)])
def test_none_wrong_bounds_the_share_by_the_size_of_the_sample(asked: int, bound: float) -> None:
    assert upper_bound(0, asked) == pytest.approx(bound, abs=0.0005)


# One-sided, at 95 %: of 10 with 1 wrong 39.4 %, with 2 wrong 50.7 %.
@pytest.mark.parametrize(("wrong", "bound"), [(1, 0.394), (2, 0.507)])
def test_the_bound_of_few_wrong_is_that_of_the_tables(wrong: int, bound: float) -> None:
    assert upper_bound(wrong, 10) == pytest.approx(bound, abs=0.0005)


@given(st.integers(1, 200), st.integers(0, 200))
def test_at_the_bound_so_few_would_be_seen_one_time_in_twenty(asked: int, wrong: int) -> None:
    share = upper_bound(wrong, asked)
    if wrong >= asked:
        assert share == 1
        return
    seen = sum(
        math.comb(asked, k) * share**k * (1 - share) ** (asked - k) for k in range(wrong + 1)
    )
    assert seen == pytest.approx(0.05, rel=1e-6)


def test_of_nothing_asked_nothing_is_known() -> None:
    assert upper_bound(0, 0) == 1
    assert audit("no-answer").bound == 1


def test_a_seed_chooses_the_same_cells_whatever_their_order() -> None:
    assert sampled(CELLS, 10, 3) == sampled(reversed(CELLS), 10, 3)
    assert sampled(CELLS, 10, 3) != sampled(CELLS, 10, 4)
    assert sorted(sampled(CELLS, 1000, 3)) == sorted(CELLS)


def test_the_sentence_counts_what_was_answered_and_rounds_up() -> None:
    text = audit(*["agrees"] * 58, "wrong", "no-answer").sentence
    assert "of 59 inferred cells" in text
    assert "7.8 %" in text


def test_an_audit_is_read_as_it_was_written() -> None:
    whole = audit("agrees", "wrong", "no-answer")
    assert decode_audit(encode_audit(whole), "audit.json") == whole
    assert decode_audit(encode_audit(audit()), "audit.json") == audit()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"agrees"', '"perhaps"'),
        ('"seed":7', '"seed":7,"more":1'),
        ('"inferred":100', '"inferred":1'),
        (CELLS[1], CELLS[0]),
        (CELLS[1], "../escape"),
    ],
)
def test_what_is_no_audit_is_refused_with_its_place(old: str, new: str) -> None:
    text = encode_audit(audit("agrees", "wrong"))
    assert old in text
    with pytest.raises(DeclarationError, match="has no audit") as refusal:
        decode_audit(text.replace(old, new), "audit.json")
    assert refusal.value.faults[0].path == "audit.json"


RULES = """
[[rules]]
name = "ant"
effect = "relax"
because = "So that there are relaxed cells."
relaxations = [{ package = "ant", to = "==2", everywhere = true }]
"""
FILES: Any = lambda name: [f"{name}-1.0-py3-none-any.whl"]  # noqa: E731
WORLD: dict[str, Any] = {
    "matrix": FRAME_MATRIX + RULES,
    "packages": [
        {"name": "frame", "releases": [{"version": "1.0", "files": FILES("frame")}]},
        {
            "name": "demo",
            "releases": [
                {"version": "1.0", "files": FILES("demo"), "requires": ["ant==1", "bee[x]<3"]}
            ],
        },
    ],
}
FACTS = Feasibility(matrix_of(WORLD), Catalogue(packages=catalogue_of(WORLD).packages))
CELL = parse_cell("py3.9-fr1-demo1.0+relaxed", FACTS.matrix)


def test_what_checks_a_relaxed_cell_asks_without_rules_and_bounds() -> None:
    locker = MemoryLocker(lambda inputs: Lock(inputs=inputs, pins=(), tool="memory"))
    workspace: Any = SimpleNamespace(
        facts_of=lambda _: FACTS, stored_or_fetched=None, source=SimpleNamespace(package=None)
    )
    lock = freed(workspace, CELL, locker)
    assert isinstance(lock, Lock)
    (asked,) = locker.asked
    assert {"ant", "bee[x]", "frame==1.*"} <= set(asked.requirements)
    assert (asked.overrides, asked.excludes) == ((), ())
    assert asked.injected_pin is not None


@pytest.mark.parametrize(
    ("inferred", "ran", "blocker", "finding"),
    [
        ("lock-fail:conflict(ant==1)", "", "", "wrong"),
        (
            "import-fail:type-error(demo/a.py:1)",
            "import-fail:type-error(demo/a.py:1)",
            "",
            "agrees",
        ),
        (
            "import-fail:type-error(demo/a.py:1)",
            "import-fail:error(ant/a.py:1)",
            "ant",
            "no-answer",
        ),
        ("import-fail:type-error(demo/a.py:1)", "pass", "", "wrong"),
        ("import-fail:type-error(demo/a.py:1)", "test-fail:silence(sum)", "", "no-answer"),
        ("import-fail:type-error(demo/a.py:1)", "install-fail:error", "", "no-answer"),
        ("import-fail:type-error(demo/a.py:1)", "", "", "no-answer"),
    ],
)
def test_what_works_with_other_packages_free_was_inferred_wrongly(
    inferred: str, ran: str, blocker: str, finding: str
) -> None:
    entry = Answer(cell=CELL, kind="broken", evidence="inferred", outcome=parse_outcome(inferred))
    inputs: Any = None
    lock = Lock(inputs=inputs, pins=(), tool="memory")
    found = audited_free(entry, lock, parse_outcome(ran) if ran else None, blocker, "no Python 3.9")
    assert (found.finding, found.route) == (finding, "free")
    refused = audited_free(entry, Refusal(cause="conflict", subject="x", because=""), None, "")
    assert refused.finding == ("agrees" if inferred.startswith("lock") else "no-answer")
