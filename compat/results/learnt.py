"""What is stored of a matrix beside its records: the newest answer of a resolver about each cell,
audits of inferences, the releases that break something, and clauses.

A check of an inference must not share its assumptions. So a relaxed cell that is inferred to fail
is locked without any rule, with every package free that is neither the subject nor on an axis.
"""

import datetime
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.errors import DeclarationError, count
from compat.files import read_if_there, write
from compat.lock.lockfile import Lock, Refusal
from compat.results.answer import Answer
from compat.results.clauses import KeptClauses, decode_clauses, encode_clauses, refused
from compat.results.record import is_cell_id
from compat.run.outcome import Failed, Outcome, Passed, is_of_machine, is_spurious, parse_outcome
from compat.value import StrictValue, encode

T = TypeVar("T")
FORMAT = 1
LOCKED = "locked"

_Words = Annotated[str, msgspec.Meta(max_length=500)]


class PlainAnswer(StrictValue, frozen=True, kw_only=True):
    """A resolver's answer on a day: `locked`, or an outcome of stage lock and one sentence why."""

    cell: str
    on: datetime.date
    outcome: _Words
    because: _Words = ""

    @property
    def refusal(self) -> Failed | None:
        outcome = None if self.outcome == LOCKED else parse_outcome(self.outcome)
        return outcome if isinstance(outcome, Failed) else None


def answer_of(
    cell: str, result: Lock | Refusal, day: datetime.date, redacted: Callable[[str], str]
) -> PlainAnswer:
    # A plain install has no tests.
    if isinstance(result, Lock) or result.cause == "suite-fault":
        return PlainAnswer(cell=cell, on=day, outcome=LOCKED)
    failed = Failed(stage="lock", cause=result.cause, subject=redacted(result.subject))
    because = redacted(result.because)
    return PlainAnswer(cell=cell, on=day, outcome=str(failed), because=because)


class _KeptAnswers(StrictValue, frozen=True, kw_only=True):
    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)]
    answers: tuple[PlainAnswer, ...]


def encode_answers(answers: Iterable[PlainAnswer]) -> str:
    ordered = sorted(answers, key=lambda answer: answer.cell)
    lines = ",\n".join(msgspec.json.encode(answer).decode() for answer in ordered)
    return f'{{"format": {FORMAT}, "answers": [\n{lines}\n]}}\n'


def decode_answers(
    text: str, source: str, *, is_any_recipe: bool = False
) -> dict[str, PlainAnswer]:
    """Raises DeclarationError also for an answer of another recipe, unless any is allowed."""
    command = "run MATRIX --budget 20m" if is_any_recipe else "matrix lock MATRIX --plain"
    with refused(source, "answers of a resolver", command):
        document = msgspec.json.decode(text, type=_KeptAnswers)
        answers = {answer.cell: answer for answer in document.answers}
        if len(answers) < len(document.answers):
            raise ValueError("a cell stands there twice")
        for answer in document.answers:
            if not is_cell_id(answer.cell) or ("+" in answer.cell and not is_any_recipe):
                kind = "" if is_any_recipe else "fresh "
                raise ValueError(f"{answer.cell[:80]!r} is not the id of a {kind}cell")
            refusal = answer.refusal
            if answer.outcome != LOCKED and (refusal is None or refusal.stage != "lock"):
                raise ValueError(f"{answer.cell}: no resolver reports {answer.outcome}")
    return answers


AUDIT_FORMAT = 1
CONFIDENCE = 0.95

Finding = Literal["agrees", "wrong", "no-answer"]


class AuditedCell(StrictValue, frozen=True, kw_only=True):
    """A verified inference; `route`: by the cell's `own` lock, or with all others `free`."""

    cell: str
    inferred: _Words
    outcome: _Words
    finding: Finding
    route: Literal["own", "free"] = "own"


class Audit(StrictValue, frozen=True, kw_only=True):
    """The audit of a day: the cells that `seed` chose of all `inferred`, and their findings."""

    on: datetime.date
    seed: int
    inferred: Annotated[int, msgspec.Meta(ge=0)]
    cells: tuple[AuditedCell, ...]

    def number(self, finding: Finding) -> int:
        return sum(cell.finding == finding for cell in self.cells)

    @property
    def bound(self) -> float:
        wrong = self.number("wrong")
        return upper_bound(wrong, wrong + self.number("agrees"))

    @property
    def sentence(self) -> str:
        return self.words(str(self.on))

    def words(self, day: str) -> str:
        wrong, agrees = self.number("wrong"), self.number("agrees")
        asked = f"of {count(wrong + agrees, 'inferred cell')} asked on {day}, {agrees} agree"
        return f"{asked}; at 95 % at most {math.ceil(self.bound * 1000) / 10:.1f} % are wrong"


def audited_run(entry: Answer, verdict: Answer) -> AuditedCell:
    expected = entry.likely
    finding: Finding = "agrees" if verdict.kind == expected else "wrong"
    if verdict.evidence != "tested":
        finding = "no-answer"
    inferred = expected if entry.outcome is None else str(entry.outcome)
    outcome = str(verdict.outcome or verdict.kind)
    return AuditedCell(cell=entry.id, inferred=inferred, outcome=outcome, finding=finding)


def audited_free(
    entry: Answer, found: Lock | Refusal, ran: Outcome | None, blocker: str, missing: str = ""
) -> AuditedCell:
    """Of a relaxed cell that should fail: a resolver's answer, and what its core did on that."""
    expected = entry.outcome
    is_lock_claim = isinstance(expected, Failed) and expected.stage == "lock"
    finding: Finding = "no-answer"
    if isinstance(found, Refusal):
        outcome = str(found)
        if is_lock_claim and not is_spurious(Failed(stage="lock", cause=found.cause)):
            finding = "agrees"
    elif is_lock_claim:
        outcome, finding = LOCKED, "wrong"
    elif ran is None:
        outcome = f"not run here: {missing or 'the machine gave no answer'}"
    else:
        outcome = str(ran)
        if isinstance(ran, Passed) or ran.stage == "test":
            finding = "no-answer" if is_of_machine(ran) else "wrong"
        elif ran.stage in ("import", "collect") and not blocker and not is_of_machine(ran):
            finding = "agrees"
    inferred = entry.likely if expected is None else str(expected)
    return AuditedCell(
        cell=entry.cell.id,
        inferred=inferred[:500],
        outcome=outcome[:500],
        finding=finding,
        route="free",
    )


def sampled(cells: Iterable[str], size: int, seed: int) -> tuple[str, ...]:
    ordered = sorted(cells)
    return tuple(random.Random(seed).sample(ordered, min(size, len(ordered))))


def upper_bound(wrong: int, asked: int, confidence: float = CONFIDENCE) -> float:
    """The bound of Clopper and Pearson (Biometrika 26, 1934), exact for a sample from many."""
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
    head = encode(msgspec.structs.replace(audit, cells=())).decode().removesuffix("[]}")
    lines = ",\n".join(encode(cell).decode() for cell in audit.cells)
    return f'{{"format": {AUDIT_FORMAT}, "audit":\n{head}[\n{lines}\n]}}}}\n'


def decode_audit(text: str, source: str) -> Audit:
    with refused(source, "audit"):
        audit = msgspec.json.decode(text, type=_KeptAudit).audit
        ids = [cell.cell for cell in audit.cells]
        if not all(map(is_cell_id, ids)) or len(set(ids)) < len(ids):
            raise ValueError("its cells must be ids, each once")
        if len(ids) > audit.inferred:
            raise ValueError("it has more cells than there were to choose from")
    return audit


class BlamedReleases(StrictValue, frozen=True, kw_only=True):
    """A package that broke a cell: the releases at the boundary, and the cell's own."""

    package: str
    works: str
    fails: str
    also_fails: str

    def includes(self, version: Version | None) -> bool:
        ends = sorted((Version(self.fails), Version(self.also_fails)))
        return version is not None and ends[0] <= version <= ends[1]


class KeptBlame(StrictValue, frozen=True, kw_only=True):
    """With these `versions` on this Python, the releases of `packages` cause `failed`."""

    cell: str
    on: str
    python: str
    versions: dict[str, str]
    packages: tuple[BlamedReleases, ...]
    failed: str

    def includes(self, python: Version, versions: Mapping[str, Version]) -> bool:
        pinned = {name: Version(version) for name, version in self.versions.items()}
        return (
            f"{python.major}.{python.minor}" == self.python
            and all(versions.get(name) == version for name, version in pinned.items())
            and all(each.includes(versions.get(each.package)) for each in self.packages)
        )


PLAIN = "plain.json"
CLAUSES = "clauses.json"
PROBES = "probes.json"
AUDIT = "audit.json"
BLAMES = "blames.json"


class LearntFiles:
    """Stored answers and clauses, as of one moment; a damaged one raises DeclarationError."""

    def __init__(self, folder: Path, matrix: Matrix) -> None:
        self._folder = folder
        self._matrix = matrix
        self._texts = {name: read_if_there(folder / name) for name in (PLAIN, PROBES, CLAUSES)}

    @property
    def texts(self) -> tuple[bytes, ...]:
        return tuple(text or b"" for text in self._texts.values())

    @cached_property
    def plain(self) -> dict[str, PlainAnswer]:
        return self._answers(PLAIN)

    @cached_property
    def probes(self) -> dict[str, PlainAnswer]:
        return self._answers(PROBES)

    def _answers(self, name: str) -> dict[str, PlainAnswer]:
        decode = partial(decode_answers, is_any_recipe=name == PROBES)
        return _decoded(self._folder, name, self._texts[name], decode) or {}

    @cached_property
    def asked(self) -> dict[str, PlainAnswer]:
        """The last resolver's answer for each cell, by its id; the newer of answer and probe."""
        plain = self.plain
        newer = {c: p for c, p in self.probes.items() if c not in plain or plain[c].on <= p.on}
        return {**plain, **newer}

    @cached_property
    def clauses(self) -> KeptClauses:
        decode = partial(decode_clauses, matrix=self._matrix)
        return _decoded(self._folder, CLAUSES, self._texts[CLAUSES], decode) or KeptClauses()


def _decoded(
    folder: Path, name: str, text: bytes | None, decode: Callable[[str, str], T]
) -> T | None:
    source = f"matrices/{folder.name}/{name}"
    return None if text is None else decode(text.decode(errors="replace"), source)


def _kept(folder: Path, name: str, decode: Callable[[str, str], T]) -> T | None:
    return _decoded(folder, name, read_if_there(folder / name), decode)


def keep_clauses(folder: Path, matrix: Matrix, clauses: KeptClauses) -> None:
    write(folder / CLAUSES, encode_clauses(clauses, matrix))


def _decode_blames(text: str, source: str) -> tuple[KeptBlame, ...]:
    try:
        blames = msgspec.json.decode(text, type=tuple[KeptBlame, ...])
        for blame in blames:
            parse_outcome(blame.failed)
            for each in blame.packages:
                each.includes(Version(each.works))
    except ValueError as fault:
        raise DeclarationError.of(str(fault), path=source) from fault
    return blames


def kept_blames(folder: Path) -> tuple[KeptBlame, ...]:
    return _kept(folder, BLAMES, _decode_blames) or ()


def keep_blames(folder: Path, blames: Sequence[KeptBlame]) -> None:
    cells = {blame.cell for blame in blames}
    every = (*(blame for blame in kept_blames(folder) if blame.cell not in cells), *blames)
    listed = ",\n".join(sorted(encode(blame).decode() for blame in every))
    write(folder / BLAMES, f"[\n{listed}\n]\n")


def keep_answers(folder: Path, name: str, answers: Iterable[PlainAnswer]) -> None:
    decode = partial(decode_answers, is_any_recipe=name == PROBES)
    merged = (_kept(folder, name, decode) or {}) | {answer.cell: answer for answer in answers}
    write(folder / name, encode_answers(merged.values()))


def kept_audit(folder: Path) -> Audit | None:
    return _kept(folder, AUDIT, decode_audit)


def keep_audit(folder: Path, audit: Audit) -> None:
    write(folder / AUDIT, encode_audit(audit))
