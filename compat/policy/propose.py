"""The `policy` room's proposals: a Picture and a day -> the floor moves that policy and records ask for."""

import datetime

from compat.policy.proposal import Proposal
from compat.results.picture import Picture


def proposals(picture: Picture, day: datetime.date) -> tuple[Proposal, ...]:
    """Return the moves to propose on that day, open and objected ones, in the order of the axes."""
    return ()
