"""What is stored of a matrix beside its records: the newest answer of a resolver about each cell,
audits of inferences, the releases that break something, and clauses.

A check of an inference must not share its assumptions. So a relaxed cell that is inferred to fail
is locked without any rule, with every package free that is neither the subject nor on an axis.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import msgspec
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.errors import DeclarationError
from compat.results.record import is_cell_id
from compat.run.outcome import Failed, Stage, is_spurious, parse_outcome
from compat.value import StrictValue, encode

if TYPE_CHECKING:
    from compat.lock.demands import Facts
import math
import random
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Literal, TypeVar

from compat.errors import count
from compat.files import read_if_present, write
from compat.lock.lockfile import Lock, Refusal
from compat.results.answer import Answer
from compat.run.outcome import Outcome, Passed, is_of_machine

# Clauses: the smallest sets of facts that cannot be locked together, their text in one file, and
# which of them answers a cell.
#
# As a solver stores the clause of a conflict (Marques-Silva and Sakallah, "GRASP", IEEE
# Transactions on Computers 48, 1999), each answers every cell that contains it, whatever its other
# facts.

# The code that computes the facts of cells is imported only where needed: reading clauses does not
# need it.

CLAUSES_FORMAT = 1

_Words = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Facts = Annotated[tuple[_Words, ...], msgspec.Meta(min_length=1, max_length=100)]
_Series = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+$")]
_Pythons = Annotated[tuple[_Series, ...], msgspec.Meta(min_length=1, max_length=50)]


class Clause(StrictValue, frozen=True, kw_only=True):
    """Facts that no resolver could lock together, on each of these Python series, on that day.

    None of the facts can be left out. `facts` are those of `lock/demands.py`, sorted; `cell` is the
    one from which this was learnt. `outcome` and `because` are the resolver's for these facts
    alone.
    """

    facts: _Facts
    pythons: _Pythons
    outcome: _Words
    because: _Words
    cell: str
    on: datetime.date

    @property
    def failed(self) -> Failed:
        return _failed(self.outcome)


class FileClause(StrictValue, frozen=True, kw_only=True):
    """A line of a file that fails at import on these Python series, in every release with the file.

    `sha256` is as in a wheel's RECORD; `releases` are those of the subject whose wheel has it.
    `cell` failed with `outcome`; `works`, with a newer Python alone, got past the import.
    """

    path: _Words
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{43}$")]
    releases: Annotated[tuple[_Words, ...], msgspec.Meta(min_length=1, max_length=1000)]
    pythons: _Pythons
    outcome: _Words
    cell: str
    works: str
    on: datetime.date

    @property
    def failed(self) -> Failed:
        return _failed(self.outcome)


class StoredClauses(StrictValue, frozen=True, kw_only=True):
    """All clauses of a matrix: sets of facts that cannot be locked, and files that fail."""

    conflicts: tuple[Clause, ...] = ()
    files: tuple[FileClause, ...] = ()

    def without(self, disproofs: Iterable[Disproof]) -> StoredClauses:
        gone = {disproof.clause for disproof in disproofs}
        return self._those(lambda clause: clause not in gone)

    def until(self, day: datetime.date) -> StoredClauses:
        return self._those(lambda clause: clause.on <= day)

    def _those(self, holds: Callable[[Clause | FileClause], bool]) -> StoredClauses:
        return StoredClauses(
            conflicts=tuple(filter(holds, self.conflicts)), files=tuple(filter(holds, self.files))
        )


class Disproof(StrictValue, frozen=True, kw_only=True):
    """A clause, and a cell that contains it but did not fail by it, on a later day."""

    clause: Clause | FileClause
    cell: str
    on: datetime.date


class ClauseBook:
    """Clauses, indexed for many cells."""

    def __init__(self, clauses: Iterable[Clause] = ()) -> None:
        """Merges the Pythons of clauses with the same facts."""
        self.clauses = united(clauses)
        often = Counter(fact for clause in self.clauses for fact in clause.facts)
        self._by_rarest: dict[str, list[tuple[Facts, Clause]]] = defaultdict(list)
        for clause in self.clauses:
            rarest = min(clause.facts, key=lambda fact: (often[fact], fact))
            self._by_rarest[rarest].append((frozenset(clause.facts), clause))

    def answer(self, sets: Iterable[Facts], python: str) -> tuple[Clause, ...]:
        """A cell has a set for each release of the subject that a resolver could take."""
        # The one with the fewest facts, the first by their order; one of a missing build only where
        # there is no other.
        answers = [
            min(
                self._all_of(facts, python),
                key=lambda clause: (is_spurious(clause.failed), len(clause.facts), clause.facts),
                default=None,
            )
            for facts in sets
        ]
        clauses = tuple(filter(None, answers))
        return clauses if len(clauses) == len(answers) else ()

    def contained(self, sets: Iterable[Facts], python: str) -> frozenset[Clause]:
        each = [frozenset(self._all_of(facts, python)) for facts in sets]
        return frozenset.intersection(*each) if each else frozenset()

    def _all_of(self, facts: Facts, python: str) -> Iterator[Clause]:
        for fact in facts & self._by_rarest.keys():
            for needed, clause in self._by_rarest[fact]:
                if python in clause.pythons and needed <= facts:
                    yield clause


def united(clauses: Iterable[Clause]) -> tuple[Clause, ...]:
    """Cell, day and text are those of the one that was learnt first."""
    alike: dict[tuple[tuple[str, ...], str], list[Clause]] = defaultdict(list)
    for clause in clauses:
        alike[clause.facts, clause.outcome].append(clause)
    every = []
    for _, own in sorted(alike.items()):
        first = min(own, key=lambda clause: (clause.on, clause.cell))
        pythons = sorted({p for clause in own for p in clause.pythons}, key=Version)
        every.append(msgspec.structs.replace(first, pythons=tuple(pythons)))
    return tuple(every)


class _StoredText(StrictValue, frozen=True, kw_only=True):
    """The premises of clauses, and these. A file without `replaced` has today's."""

    format: Annotated[int, msgspec.Meta(ge=CLAUSES_FORMAT, le=CLAUSES_FORMAT)]
    platform: str
    builds: tuple[str, ...]
    replaced: tuple[str, ...] | None = None
    clauses: tuple[Clause, ...]
    files: tuple[FileClause, ...] = ()


def encode_clauses(clauses: StoredClauses, matrix: Matrix) -> str:
    from compat.lock.demands import replaceable

    files = sorted(clauses.files, key=_file_key)
    head = {
        "format": CLAUSES_FORMAT,
        "platform": matrix.platform,
        "builds": sorted(matrix.builds),
        "replaced": replaceable(matrix),
    }
    conflicts = ",\n".join(encode(clause).decode() for clause in united(clauses.conflicts))
    of_files = ",\n".join(encode(clause).decode() for clause in files)
    begin = encode(head).decode().removesuffix("}")
    return f'{begin},\n"clauses": [\n{conflicts}\n],\n"files": [\n{of_files}\n]}}\n'


def decode_clauses(text: str, source: str, matrix: Matrix) -> StoredClauses:
    """Leaves out conflicts of another platform, or with fewer builds. Raises DeclarationError."""
    from compat.lock.demands import as_asked, is_fact, is_requirement, package_of_fact, replaceable

    with refused(source, "clauses"):
        document = msgspec.json.decode(text, type=_StoredText)
        for clause in document.clauses:
            _refuse_unsound(clause, "lock", clause.cell)
            wrong = next((fact for fact in clause.facts if not is_fact(fact)), None)
            if wrong is not None:
                raise ValueError(f"{clause.cell}: {wrong[:80]!r} is not a fact")
            if list(clause.facts) != sorted(set(clause.facts)):
                raise ValueError(f"{clause.cell}: facts must be sorted, each once")
        for file in document.files:
            _refuse_unsound(file, "import", file.cell, file.works)
            if file.failed.place.rpartition(":")[0] != file.path:
                raise ValueError(f"{file.cell}: {file.outcome[:80]} is not in {file.path[:80]}")
            releases = list(map(Version, file.releases))
            if releases != sorted(set(releases)):
                raise ValueError(f"{file.cell}: releases must be sorted, each once")
        keys = [(clause.facts, clause.outcome) for clause in document.clauses]
        file_keys = [_file_key(file) for file in document.files]
        if keys != sorted(set(keys)) or file_keys != sorted(set(file_keys)):
            raise ValueError("clauses must stand in order, each once")
    if document.platform != matrix.platform or not set(matrix.builds) <= set(document.builds):
        return StoredClauses(files=document.files)
    conflicts = document.clauses
    if document.replaced is not None:
        replaced_since, now = {*replaceable(matrix)}.difference(document.replaced), list[Clause]()
        for clause in conflicts if replaced_since else ():
            spoken = {package_of_fact(fact) for fact in clause.facts if not is_requirement(fact)}
            facts = {*clause.facts, *map(as_asked, replaced_since - spoken)}
            now.append(msgspec.structs.replace(clause, facts=tuple(sorted(facts))))
        conflicts = united(now) if replaced_since else conflicts
        # A package that no rule replaces any more is unreplaced in every cell.
        always = {*map(as_asked, {*document.replaced}.difference(replaceable(matrix)))}
        conflicts = united(
            msgspec.structs.replace(c, facts=tuple(f for f in c.facts if f not in always))
            for c in conflicts
        )
    return StoredClauses(conflicts=conflicts, files=document.files)


@contextmanager
def refused(source: str, what: str, command: str = "run MATRIX --budget 20m") -> Iterator[None]:
    try:
        yield
    except (ValueError, RecursionError) as fault:
        hint = f"compat {command} makes it again once it is deleted"
        raise DeclarationError.of(f"has no {what}: {fault}", path=source, hint=hint) from fault


def _failed(text: str) -> Failed:
    outcome = parse_outcome(text)
    assert isinstance(outcome, Failed), "a clause is of a failure"
    return outcome


def _file_key(clause: FileClause) -> tuple[str, str]:
    return clause.path, clause.sha256


def _refuse_unsound(clause: Clause | FileClause, stage: Stage, *cells: str) -> None:
    wrong = next((cell for cell in cells if not is_cell_id(cell)), None)
    if wrong is not None:
        raise ValueError(f"{wrong[:80]!r} is not the id of a cell")
    if list(clause.pythons) != sorted(set(clause.pythons), key=Version):
        raise ValueError(f"{clause.cell}: Pythons must be sorted, each once")
    outcome = parse_outcome(clause.outcome)
    if not isinstance(outcome, Failed) or outcome.stage != stage:
        who = "resolver" if stage == "lock" else "import"
        raise ValueError(f"{clause.cell}: no {who} reports {clause.outcome[:80]}")


T = TypeVar("T")
FORMAT = 1
LOCKED = "locked"

_Sentence = Annotated[str, msgspec.Meta(max_length=500)]


class PlainAnswer(StrictValue, frozen=True, kw_only=True):
    """A resolver's answer on a day: `locked`, or an outcome of stage lock and one sentence why."""

    cell: str
    on: datetime.date
    outcome: _Sentence
    because: _Sentence = ""

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


class _StoredAnswers(StrictValue, frozen=True, kw_only=True):
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
        document = msgspec.json.decode(text, type=_StoredAnswers)
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
    inferred: _Sentence
    outcome: _Sentence
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


class _StoredAudit(StrictValue, frozen=True, kw_only=True):
    format: Annotated[int, msgspec.Meta(ge=AUDIT_FORMAT, le=AUDIT_FORMAT)]
    audit: Audit


def encode_audit(audit: Audit) -> str:
    head = encode(msgspec.structs.replace(audit, cells=())).decode().removesuffix("[]}")
    lines = ",\n".join(encode(cell).decode() for cell in audit.cells)
    return f'{{"format": {AUDIT_FORMAT}, "audit":\n{head}[\n{lines}\n]}}}}\n'


def decode_audit(text: str, source: str) -> Audit:
    with refused(source, "audit"):
        audit = msgspec.json.decode(text, type=_StoredAudit).audit
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


class StoredBlame(StrictValue, frozen=True, kw_only=True):
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


class ResolverFiles:
    """Stored answers and clauses, as of one moment; a damaged one raises DeclarationError."""

    def __init__(self, folder: Path, matrix: Matrix) -> None:
        self._folder = folder
        self._matrix = matrix
        self._texts = {name: read_if_present(folder / name) for name in (PLAIN, PROBES, CLAUSES)}

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
    def clauses(self) -> StoredClauses:
        decode = partial(decode_clauses, matrix=self._matrix)
        return _decoded(self._folder, CLAUSES, self._texts[CLAUSES], decode) or StoredClauses()


def _decoded(
    folder: Path, name: str, text: bytes | None, decode: Callable[[str, str], T]
) -> T | None:
    source = f"matrices/{folder.name}/{name}"
    return None if text is None else decode(text.decode(errors="replace"), source)


def _kept(folder: Path, name: str, decode: Callable[[str, str], T]) -> T | None:
    return _decoded(folder, name, read_if_present(folder / name), decode)


def store_clauses(folder: Path, matrix: Matrix, clauses: StoredClauses) -> None:
    write(folder / CLAUSES, encode_clauses(clauses, matrix))


def _decode_blames(text: str, source: str) -> tuple[StoredBlame, ...]:
    try:
        blames = msgspec.json.decode(text, type=tuple[StoredBlame, ...])
        for blame in blames:
            parse_outcome(blame.failed)
            for each in blame.packages:
                each.includes(Version(each.works))
    except ValueError as fault:
        raise DeclarationError.of(str(fault), path=source) from fault
    return blames


def stored_blames(folder: Path) -> tuple[StoredBlame, ...]:
    return _kept(folder, BLAMES, _decode_blames) or ()


def store_blames(folder: Path, blames: Sequence[StoredBlame]) -> None:
    cells = {blame.cell for blame in blames}
    every = (*(blame for blame in stored_blames(folder) if blame.cell not in cells), *blames)
    listed = ",\n".join(sorted(encode(blame).decode() for blame in every))
    write(folder / BLAMES, f"[\n{listed}\n]\n")


def store_answers(folder: Path, name: str, answers: Iterable[PlainAnswer]) -> None:
    decode = partial(decode_answers, is_any_recipe=name == PROBES)
    merged = (_kept(folder, name, decode) or {}) | {answer.cell: answer for answer in answers}
    write(folder / name, encode_answers(merged.values()))


def stored_audit(folder: Path) -> Audit | None:
    return _kept(folder, AUDIT, decode_audit)


def store_audit(folder: Path, audit: Audit) -> None:
    write(folder / AUDIT, encode_audit(audit))
