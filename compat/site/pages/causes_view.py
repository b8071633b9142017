"""The `site` room's page of causes: each root cause of failures and obstacles once."""

from collections import Counter

import msgspec

from compat.declare.matrix import KnownIssue
from compat.plan.feasible import Kind
from compat.results.answer import Answer
from compat.run.outcome import Failed, Outcome, parse_outcome
from compat.site.edition import MatrixReport
from compat.site.pages.place_view import View, links_to
from compat.site.tokens import digest
from compat.site.wording import cause_sentence

_SHOWN = 12
_KINDS: dict[Kind, str] = {
    "excluded": "a rule of the matrix excludes them",
    "yanked": "a release was withdrawn from the index",
    "requires-python": "a release does not support this Python",
    "no-artifact": "a release has no file for this Python and platform",
    "conflicting-pin": "the release pins another version",
    "undated": "the index does not say when a release came out",
    "no-interpreter": "the interpreter is missing on the machine",
}


class Cause(View, frozen=True):
    """A root cause: its outcome, a sentence, what is known, and the cells that have it.

    `anchor` is its place on the page.
    """

    anchor: str
    outcome: str
    sentence: str
    known: KnownIssue | None
    count: int
    cells: tuple[tuple[str, str], ...]
    more: int


class RuledOut(View, frozen=True):
    """A kind of obstacle, how many cells it stops, and its most common sentences."""

    kind: str
    sentence: str
    count: int
    common: tuple[tuple[str, int], ...]


class InferredGround(View, frozen=True):
    """From what cells are known that nobody tried, as a sentence, and how many they are."""

    sentence: str
    count: int


class Causes(View, frozen=True):
    """All causes, the most common first; `audit` says how sure is what is inferred."""

    red: tuple[Cause, ...]
    inferred: tuple[InferredGround, ...]
    audit: str
    ruled_out: tuple[RuledOut, ...]
    indeterminate: tuple[Cause, ...]
    planned: int


def cause_anchor(outcome: Outcome) -> str:
    """Return the id that a root cause has on the page of causes; it stays as long as the cause."""
    if isinstance(outcome, Failed):
        # The line of a file differs between versions, the cause does not.
        outcome = msgspec.structs.replace(outcome, at="")
    return f"cause-{digest(str(outcome))[:12]}"


def obstacle_words(kind: Kind) -> str:
    return _KINDS[kind]


def causes(report: MatrixReport) -> Causes:
    red: dict[str, list[Answer]] = {}
    indeterminate: dict[str, list[Answer]] = {}
    for entry in report.snapshot.known:
        outcome = entry.verdict.outcome
        if isinstance(outcome, Failed):
            red.setdefault(str(msgspec.structs.replace(outcome, at="")), []).append(entry)
        elif entry.verdict.kind == "unknown" and entry.runs:
            indeterminate.setdefault(str(entry.runs[-1].outcomes[-1]), []).append(entry)
    return Causes(
        red=_folded(report, red),
        inferred=_grounds(report),
        audit=report.audit_sentence,
        ruled_out=_obstacles(report),
        indeterminate=_folded(report, indeterminate, "undecided-"),
        planned=len(report.snapshot.entries),
    )


def _grounds(report: MatrixReport) -> tuple[InferredGround, ...]:
    grounds: Counter[str] = Counter()
    for entry in report.snapshot.entries:
        if entry.planned and entry.verdict.evidence == "inferred":
            grounds["; ".join(entry.verdict.reasons)] += 1
    ordered = sorted(grounds.items(), key=lambda item: (-item[1], item[0]))
    return tuple(InferredGround(sentence=sentence, count=count) for sentence, count in ordered)


def _folded(
    report: MatrixReport, by_outcome: dict[str, list[Answer]], prefix: str = ""
) -> tuple[Cause, ...]:
    ordered = sorted(by_outcome.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(_cause(report, outcome, entries, prefix) for outcome, entries in ordered)


def _cause(report: MatrixReport, text: str, entries: list[Answer], prefix: str) -> Cause:
    outcome = parse_outcome(text)
    return Cause(
        anchor=f"{prefix}{cause_anchor(outcome)}",
        outcome=text,
        sentence=cause_sentence(outcome),
        known=next(
            (known for entry in entries if (known := report.snapshot.explained(entry))), None
        ),
        count=len(entries),
        cells=links_to(entries[:_SHOWN], report.snapshot.matrix),
        more=max(0, len(entries) - _SHOWN),
    )


def _obstacles(report: MatrixReport) -> tuple[RuledOut, ...]:
    kinds: Counter[Kind] = Counter()
    sentences: dict[str, Counter[str]] = {}
    for entry in report.snapshot.entries:
        if entry.obstacle is not None and not entry.is_tested:
            kinds[entry.obstacle.kind] += 1
            sentences.setdefault(entry.obstacle.kind, Counter())[entry.obstacle.because] += 1
    return tuple(
        RuledOut(
            kind=kind,
            sentence=obstacle_words(kind),
            count=count,
            common=tuple(sorted(sentences[kind].items(), key=lambda item: (-item[1], item[0]))[:5]),
        )
        for kind, count in kinds.most_common()
    )
