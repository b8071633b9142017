"""What fails in a run, in a form in which equal failures of different environments are equal."""

import re
from collections.abc import Iterable

import msgspec

from compat.results.record import Record
from compat.run.outcome import PLACED, STAGES, Failed, Outcome, is_spurious
from compat.search.shrink import Trial

_RAISED = re.compile(r"[\w.]+: ")
_LINE = re.compile(r":\d+$")


def symptoms(record: Record) -> tuple[Failed, ...]:
    """Return what failed: the outcome first, then each capability; without places, as the lines of
    a file move from release to release.
    """
    if not isinstance(record.outcome, Failed) or is_of_runner(record.outcome):
        return ()
    capabilities = (c.failed for c in record.capabilities)
    failed = (record.outcome, *(failure for failure in capabilities if failure is not None))
    return tuple(dict.fromkeys(map(_placeless, failed)))


def is_of_runner(outcome: Outcome) -> bool:
    """Return whether pytest itself did not start: that says nothing about what it would test."""
    return isinstance(outcome, Failed) and outcome.cause == "test-runner"


def message_of(record: Record, target: Failed) -> str:
    """Return what was raised, in its own words: `Type: message`; empty where nothing was."""
    for capability in record.capabilities:
        if capability.failed is not None and _placeless(capability.failed) == target:
            return capability.subject
    first = next(iter(record.log.splitlines()), "")
    return first if _RAISED.match(first) else ""


def trial_of(record: Record, target: Failed, usual: Iterable[Failed]) -> Trial:
    """Return what a run says of a failure: it is there, it is gone, or nothing can be said.

    What fails in the good environment, too, is `usual`. A failure is gone where the run went past
    its stage, or did what failed, whatever else fails then.
    """
    outcome = record.outcome
    if is_spurious(outcome) or is_of_runner(outcome):
        return "unresolved"
    shown = symptoms(record)
    if target in shown:
        return "fails"
    if not set(shown) - set(usual):
        return "works"
    assert isinstance(outcome, Failed)
    if target.stage == "test":
        done = {capability.id for capability in record.capabilities if capability.status == "yes"}
        return "works" if target.subject in done else "unresolved"
    is_past = STAGES.index(outcome.stage) > STAGES.index(target.stage)
    return "works" if is_past else "unresolved"


def _placeless(failed: Failed) -> Failed:
    subject = failed.subject
    if failed.stage in ("import", "collect") and failed.cause in PLACED:
        subject = _LINE.sub("", subject)
    return msgspec.structs.replace(failed, subject=subject, at="")
