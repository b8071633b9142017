"""What a run of the suite's core alone can do to a floor: break it, and by default not move it."""

from packaging.version import Version
from support.floors import DAY, cell, declared, policy, ran, red, seen

from compat.declare.matrix import Policy
from compat.policy.evaluation import Evaluation, FloorEvidence, is_red
from compat.results.record import Record

PLACES = (cell("3.9", "1.3"), cell("3.11", "1.3"))


def floor(runs: list[Record], rules: Policy | None = None) -> FloorEvidence:
    known = seen(runs, declared({"python": "3.9", "dep": "1.2"}, rules), has_locks=True)
    assert known.ask.policy is not None
    return Evaluation(known, known.ask.policy, DAY).floor("dep", Version("1.3"))


def of_the_core(outcome: str = "pass") -> list[Record]:
    return [ran(place, outcome, days_ago=day, tier="smoke") for place in PLACES for day in (1, 2)]


def test_the_core_alone_moves_no_floor() -> None:
    proof = floor(of_the_core())
    assert proof.state == "open"
    assert not any(evidence.supports for evidence in proof.evidence)
    assert {evidence.word for evidence in proof.evidence} == {"core alone"}
    assert "the whole suite yet" in proof.objections[0].because


def test_it_does_where_the_policy_allows_it() -> None:
    assert floor(of_the_core(), policy(tier="smoke")).state == "proven"


def test_an_import_that_fails_counts_at_either_tier() -> None:
    failed = "import-fail:missing-module(gone)"
    proof = floor(of_the_core(failed))
    assert {evidence.cell for evidence in proof.evidence if is_red(evidence)} == {*PLACES}
    assert proof.red_days == floor(red(*PLACES)).red_days


def test_a_run_of_the_core_is_no_witness_beside_one_of_the_whole_suite() -> None:
    runs = [ran(place, days_ago=1) for place in PLACES]
    runs += [ran(place, days_ago=2, tier="smoke") for place in PLACES]
    assert floor(runs).state == "green"
