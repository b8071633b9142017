"""What is inferred moves no floor."""

from hypothesis import given
from hypothesis import strategies as st
from support.floors import DAY, DEPS, cell, green, red, seen

from compat.policy.propose import proposals
from compat.results.infer import with_answers
from compat.results.learnt import Clause, StoredClauses
from compat.results.snapshot import Snapshot

CORNERS = tuple(cell(python, dep) for python in ("3.9", "3.11") for dep in ("1.2", "1.3", "1.4"))
FACTS = ("pytest", *(f"dep=={dep}.*" for dep in DEPS))


def opened(of: Snapshot) -> list[tuple[str, str]]:
    return [(p.axis, str(p.proposed)) for p in proposals(of, DAY) if p.is_open]


@given(
    st.sets(st.sampled_from(CORNERS)),
    st.sets(st.sampled_from(CORNERS), max_size=2),
    st.sampled_from(FACTS),
    st.sets(st.sampled_from(["3.8", "3.9", "3.10", "3.11"]), min_size=1),
)
def test_a_clause_opens_no_proposal_and_stops_none(
    works: set[str], fails: set[str], fact: str, pythons: set[str]
) -> None:
    clause = Clause(
        facts=(fact,),
        pythons=tuple(sorted(pythons, key=lambda text: int(text[2:]))),
        outcome="lock-fail:conflict(dep)",
        because="two minds",
        cell=CORNERS[0],
        on=DAY,
    )
    runs = [*green(*sorted(works), days=[100, 101])]
    if fails:
        runs += red(*sorted(fails), days=[100, 101])
    known = seen(runs)
    inferred = with_answers(known, {}, StoredClauses(conflicts=(clause,)))
    assert opened(inferred) == opened(known)
