"""Which proofs meet a request: the same as one finds who looks at each of them."""

from hypothesis import given
from hypothesis import strategies as st
from support.known import CAPABILITIES, MATRIX, Shelf, shelves

from compat.advise.answer import Advisor, is_goal_met, lacking, unmet
from compat.advise.request import GOALS, Request, request_of, wanted_coordinates

WORDS = ("python==3.8", "python>=3.9", "dep==1", "dep<2", "dep==2.0", "demo==1.0", "demo>=2")


@st.composite
def requests(draw: st.DrawFn) -> Request:
    words = draw(st.lists(st.sampled_from(WORDS), unique_by=lambda word: word[:3], max_size=3))
    needs = draw(st.lists(st.sampled_from(sorted(CAPABILITIES)), unique=True, max_size=1))
    return request_of(words, MATRIX, CAPABILITIES, needs, draw(st.sampled_from(GOALS)))


@given(shelves(), st.lists(requests(), min_size=1, max_size=5))
def test_a_request_is_met_by_what_meets_it_and_nearest_to_the_nearest_of_all(
    shelf: Shelf, asked: list[Request]
) -> None:
    advisor = Advisor(shelf.picture(), shelf.locks)
    for request in asked:
        assert advisor.matching(request) == [
            proof
            for proof in advisor.proofs
            if is_goal_met(proof, request)
            and not (*unmet(proof, request), *lacking(proof, request))
        ]
        if advisor.proofs:
            ranks = advisor.ranks
            wanted = wanted_coordinates(request, ranks.positions, advisor.snapshot.catalogue)
            one_by_one = [(proof, unmet(proof, request)) for proof in advisor.proofs]
            nearest = [
                min(every, key=lambda pair: ranks.distance(*pair, request, wanted))
                for every in (one_by_one, advisor.candidates(request))
            ]
            assert nearest[0] == nearest[1]
