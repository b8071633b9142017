"""An audit of what was inferred: a random sample of cells that are locked or run, and how sure that
makes the others; as a value and as text.

What checks an inference must not share its assumptions. So a relaxed cell that is inferred to fail
is locked without any rule, with every package free that is neither the subject nor on an axis.
"""

import datetime
import math
import random
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from compat.errors import DeclarationError
from compat.lock.lockfile import Lock, Refusal
from compat.results.entry import Entry
from compat.results.plain_answers import LOCKED
from compat.results.record import is_cell_id
from compat.results.verdict import Verdict
from compat.run.outcome import Failed, Outcome, Passed, is_of_machine, is_spurious
from compat.value import StrictValue, encode

AUDIT_FORMAT = 1
CONFIDENCE = 0.95

Finding = Literal["agrees", "wrong", "no-answer"]
_Words = Annotated[str, msgspec.Meta(max_length=500)]


class AuditedCell(StrictValue, frozen=True, kw_only=True):
    """An inferred cell that was checked: what was inferred, and the result.

    `route` is how: by the cell's `own` question and lock, or with all other packages `free`.
    """

    cell: str
    inferred: _Words
    outcome: _Words
    finding: Finding
    route: Literal["own", "free"] = "own"


class Audit(StrictValue, frozen=True, kw_only=True):
    """The audit of a day: which cells `seed` chose of all that were inferred, and their findings.

    `inferred` is how many there were to choose from.
    """

    on: datetime.date
    seed: int
    inferred: Annotated[int, msgspec.Meta(ge=0)]
    cells: tuple[AuditedCell, ...]

    def number(self, finding: Finding) -> int:
        return sum(cell.finding == finding for cell in self.cells)

    @property
    def bound(self) -> float:
        """Up to which share of the inferred answers may be wrong, at 95 %; 1 where none was
        answered.
        """
        wrong = self.number("wrong")
        return upper_bound(wrong, wrong + self.number("agrees"))

    @property
    def sentence(self) -> str:
        return self.words(str(self.on))

    def words(self, day: str) -> str:
        wrong, agrees = self.number("wrong"), self.number("agrees")
        asked = f"of {wrong + agrees} inferred cells asked on {day}, {agrees} agree"
        return f"{asked}; at 95 % at most {math.ceil(self.bound * 1000) / 10:.1f} % are wrong"


def audited_run(entry: Entry, verdict: Verdict) -> AuditedCell:
    """Return the finding of a cell that was run: `entry` is what was inferred, `verdict` what is
    known of it now.
    """
    expected = entry.verdict.answer
    outcome = "" if verdict.outcome is None else str(verdict.outcome)
    finding: Finding = "agrees" if verdict.kind == expected else "wrong"
    if verdict.evidence != "tested":
        finding = "no-answer"
    inferred = expected if entry.verdict.outcome is None else str(entry.verdict.outcome)
    return AuditedCell(
        cell=entry.cell.id, inferred=inferred, outcome=outcome or verdict.kind, finding=finding
    )


def audited_free(
    entry: Entry, found: Lock | Refusal, ran: Outcome | None, blocker: str, missing: str = ""
) -> AuditedCell:
    """Return the finding of a relaxed cell that is inferred to fail.

    `found` is a resolver's answer with all other packages free, and `ran` the result of the core on
    that; None where it was not run, as something is `missing`. `blocker` is the third package by
    which it failed.
    """
    expected = entry.verdict.outcome
    is_lock_claim = isinstance(expected, Failed) and expected.stage == "lock"
    finding: Finding = "no-answer"
    if isinstance(found, Refusal):
        outcome = str(found)
        if is_lock_claim and not is_spurious(Failed(stage="lock", cause=found.cause)):
            finding = "agrees"
    elif is_lock_claim:
        outcome, finding = LOCKED, "wrong"
    elif ran is None:
        outcome = f"not run here: {missing or 'the machine came to no answer'}"
    else:
        outcome = str(ran)
        if isinstance(ran, Passed) or ran.stage == "test":
            finding = "no-answer" if is_of_machine(ran) else "wrong"
        elif ran.stage in ("import", "collect") and not blocker and not is_of_machine(ran):
            finding = "agrees"
    inferred = entry.verdict.answer if expected is None else str(expected)
    return AuditedCell(
        cell=entry.cell.id,
        inferred=inferred[:500],
        outcome=outcome[:500],
        finding=finding,
        route="free",
    )


def sampled(cells: Iterable[str], size: int, seed: int) -> tuple[str, ...]:
    """Return a random sample of the cells, the same for a seed; all where there are fewer."""
    ordered = sorted(cells)
    return tuple(random.Random(seed).sample(ordered, min(size, len(ordered))))


def upper_bound(wrong: int, asked: int, confidence: float = CONFIDENCE) -> float:
    """Return the one-sided upper bound of the share that is wrong, when so many of a sample were.

    Exact for a sample from many: the share at which at most as many would be seen with probability
    1 - confidence (Clopper and Pearson, Biometrika 26, 1934). With none wrong that is
    1 - (1 - confidence) ** (1 / asked). A sample of few makes it smaller still.
    """
    if asked <= 0 or wrong >= asked:
        return 1.0
    if wrong == 0:
        return float(1 - (1 - confidence) ** (1 / asked))
    low, high = wrong / asked, 1.0
    for _ in range(60):
        share = (low + high) / 2
        at_most = sum(
            math.comb(asked, k) * share**k * (1 - share) ** (asked - k) for k in range(wrong + 1)
        )
        low, high = (share, high) if at_most > 1 - confidence else (low, share)
    return high


class _KeptAudit(StrictValue, frozen=True, kw_only=True):
    format: Annotated[int, msgspec.Meta(ge=AUDIT_FORMAT, le=AUDIT_FORMAT)]
    audit: Audit


def encode_audit(audit: Audit) -> str:
    """Return the text of an audit: one cell a line, in the order in which they were drawn."""
    head = encode(msgspec.structs.replace(audit, cells=())).decode().removesuffix("[]}")
    lines = ",\n".join(encode(cell).decode() for cell in audit.cells)
    return f'{{"format": {AUDIT_FORMAT}, "audit":\n{head}[\n{lines}\n]}}}}\n'


def decode_audit(text: str, source: str) -> Audit:
    """Return the audit of the text; raise DeclarationError, naming `source`, when it has something
    else.
    """
    try:
        audit = msgspec.json.decode(text, type=_KeptAudit).audit
        ids = [cell.cell for cell in audit.cells]
        if not all(map(is_cell_id, ids)) or len(set(ids)) < len(ids):
            raise ValueError("its cells must be ids, each once")
        if len(ids) > audit.inferred:
            raise ValueError("it has more cells than there were to choose from")
    except (ValueError, RecursionError) as fault:
        hint = "compat run MATRIX --budget 20m makes it again once it is deleted"
        raise DeclarationError.of(f"has no audit: {fault}", path=source, hint=hint) from fault
    return audit
