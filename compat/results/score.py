"""The `results` room's score of a cell: how much of what was asked works, and whose fault the rest
is.
"""

from collections.abc import Iterable
from typing import Literal

from compat.results.record import Capability
from compat.run.outcome import begins_with, is_of_machine
from compat.value import StrictValue, derive

# Whose fault a failing capability is. `unexplained` counts as one of the combination until another
# cell or a declaration shows more.
Blame = Literal["combination", "unexplained", "release", "index"]
# These take nothing from the verdict of a combination.
EXCUSED: tuple[Blame, ...] = ("release", "index")


class CapabilityFault(StrictValue, frozen=True, kw_only=True):
    """A capability that fails in a cell, and whose fault that is where its failure begins with this
    `outcome`.
    """

    id: str
    fault: Blame
    outcome: str = ""


def blame_of(capability: Capability, faults: Iterable[CapabilityFault]) -> Blame:
    """Return whose fault a failing capability is: the first that is about it and how it fails.

    What a machine can be at fault for is no known fault of a release.
    """
    failed = capability.failed
    about = (f for f in faults if f.id == capability.id)
    matching = (f.fault for f in about if not f.outcome or begins_with(failed, f.outcome))
    blame: Blame = next(matching, "unexplained")
    is_excuse = blame in EXCUSED and failed is not None and is_of_machine(failed)
    return "unexplained" if is_excuse else blame


class Score(StrictValue, frozen=True, kw_only=True):
    """How many capabilities of a cell pass, and of how many that fail whose fault it is.

    `combination` counts what fails by the combination, with what nobody has explained yet;
    `release` what fails in every combination of the release; `gone` what needs packages that the
    index no longer has; `absent` what the release does not offer. `finished` is false where the
    tests did not run to their end, or nothing reached them.

    `words` says it: `123 of 125 work; 2 fail in every combination of this release`; empty where no
    capability was tried.
    """

    passing: int = 0
    combination: int = 0
    release: int = 0
    gone: int = 0
    absent: int = 0
    finished: bool = False
    words: str = ""

    def __post_init__(self) -> None:
        derive(self, words=self._words())

    @classmethod
    def of(
        cls,
        capabilities: Iterable[Capability],
        faults: Iterable[CapabilityFault],
        *,
        finished: bool,
    ) -> "Score":
        """Return the score of these capabilities; one that fails without a fault is unexplained."""
        statuses = [capability.status for capability in capabilities]
        blames = [fault.fault for fault in faults]
        release, gone = blames.count("release"), blames.count("index")
        return cls(
            passing=statuses.count("yes"),
            combination=statuses.count("no") - release - gone,
            release=release,
            gone=gone,
            absent=statuses.count("absent"),
            finished=finished and bool(statuses),
        )

    @property
    def asked(self) -> int:
        """How many capabilities were tried: all but those that the release does not offer."""
        return self.passing + self.combination + self.release + self.gone

    @property
    def head(self) -> str:
        if not self.asked:
            return ""
        if self.passing == self.asked:
            return "the 1 asked works" if self.asked == 1 else f"all {self.asked} work"
        return f"{self.passing} of {self.asked} {_verb(self.passing, 'work')}"

    def _words(self) -> str:
        parts = (
            (self.combination, f"{_verb(self.combination, 'fail')} in this combination"),
            (self.release, f"{_verb(self.release, 'fail')} in every combination of this release"),
            (self.gone, f"{'is' if self.gone == 1 else 'are'} not to be had today"),
        )
        counted = (f"{number} {words}" for number, words in parts if number)
        stopped = () if self.finished else ("the tests did not run to their end",)
        return "; ".join((self.head, *counted, *stopped)) if self.asked else ""


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb
