"""The `site` room's pages of what the results add up to: each root cause once, the verdicts that
changed, and how far to trust them.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import groupby

from msgspec.structs import replace
from packaging.version import Version

from compat.plan.feasible import Kind
from compat.results.answer import Answer, by_evidence
from compat.results.compare import ChangeKind
from compat.results.coverage import cell_count
from compat.run.outcome import Failed, Outcome, parse_outcome
from compat.site.edition import MatrixReport, place_of
from compat.site.history import Event
from compat.site.pages.place_view import Doc, links_to, recipe_words
from compat.site.paths import cell_page
from compat.site.status import NAMES_RECIPE, STYLES, cell_state, style_then
from compat.site.wording import cause_sentence, listed, place_words, ranges

OBSTACLES: dict[Kind, str] = {
    "excluded": "a rule of the matrix excludes them",
    "yanked": "a release was withdrawn from the index",
    "requires-python": "a release does not support this Python",
    "no-artifact": "a release has no file for this Python and platform",
    "conflicting-pin": "the release pins another version",
    "undated": "the index does not say when a release came out",
    "no-interpreter": "the interpreter is missing on the machine",
}
CHANGES: dict[ChangeKind, str] = {
    "regressed": "Regression",
    "fixed": "Fix",
    "spurious": "Flaky result",
    "new": "First result",
    "gone": "No result any more",
    "same": "Unchanged",
}
# What another suite finds is no change of the versions.
OTHER_TESTS: dict[ChangeKind, str] = {
    "regressed": "New tests found problems",
    "fixed": "Changed tests found fewer problems",
}
_ORDER: tuple[ChangeKind, ...] = ("regressed", "fixed", "spurious", "new", "gone", "same")
_MOST_CELLS = 200
_MOST_DAYS = 30


def cause_anchor(outcome: Outcome) -> str:
    """Return the id that a root cause has on the page of causes; it stays as long as the cause."""
    digest = hashlib.sha256(_without_line(outcome).encode(errors="surrogatepass"))
    return f"cause-{digest.hexdigest()[:12]}"


def _without_line(outcome: Outcome) -> str:
    # The line of a file differs between versions, the cause does not.
    return str(replace(outcome, at="") if isinstance(outcome, Failed) else outcome)


def causes(report: MatrixReport) -> Doc:
    """Return all causes, the most common first; `ruled_out` has kinds of obstacles with their most
    common sentences, `inferred` from what cells are known that nobody tried.
    """
    return report.snapshot.once("causes", lambda: _causes(report))


def _causes(report: MatrixReport) -> Doc:
    red: dict[str, list[Answer]] = {}
    undecided: dict[str, list[Answer]] = {}
    kinds, grounds = Counter[Kind](), Counter[str]()
    sentences: dict[str, Counter[str]] = {}
    for entry in report.snapshot.known:
        outcome = entry.outcome
        if isinstance(outcome, Failed):
            red.setdefault(_without_line(outcome), []).append(entry)
        elif entry.kind == "unknown" and entry.runs:
            undecided.setdefault(_without_line(entry.runs[-1].outcomes[-1]), []).append(entry)
    for entry in report.snapshot.entries:
        if entry.planned and entry.evidence == "inferred":
            grounds["; ".join(entry.reasons)] += 1
        if entry.obstacle is not None and not entry.is_tested:
            kinds[entry.obstacle.kind] += 1
            sentences.setdefault(entry.obstacle.kind, Counter())[entry.obstacle.because] += 1
    return Doc(
        red=_folded(report, red),
        inferred=_by_count(grounds),
        ruled_out=[
            (OBSTACLES[kind], count, _by_count(sentences[kind])[:5])
            for kind, count in kinds.most_common()
        ],
        undecided=_folded(report, undecided, "undecided-"),
    )


def _by_count(counted: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


def _folded(
    report: MatrixReport, by_outcome: dict[str, list[Answer]], prefix: str = ""
) -> list[Doc]:
    """Each cause with its cells and releases; `since` is the first day that it was seen on."""
    subject = report.snapshot.matrix.subject
    every = [str(version) for version in report.advisor.ranks.positions[subject]]
    folded = []
    for text, entries in sorted(by_outcome.items(), key=lambda item: (-len(item[1]), item[0])):
        outcome, known = parse_outcome(text), map(report.snapshot.explained, entries)
        days = [e.since for e in entries if e.since is not None]
        fails = all(entry.kind in ("works", "partial") for entry in entries)
        folded.append(
            Doc(
                anchor=f"{prefix}{cause_anchor(outcome)}",
                outcome=text,
                sentence=cause_sentence(outcome),
                known=next(filter(None, known), None),
                count=len(entries),
                releases=ranges((entry.cell.on(subject).number for entry in entries), every),
                span=_span({entry.cell.on(subject).version for entry in entries}),
                since=min(days, default=None),
                whose="capability" if fails else "combination",
                cells=links_to(entries[:_MOST_CELLS], report.snapshot.matrix),
                more=max(0, len(entries) - _MOST_CELLS),
            )
        )
    return folded


def _span(versions: Collection[Version]) -> str:
    first, last = min(versions), max(versions)
    return f"{first}" if first == last else f"{first} to {last} ({len(versions)})"


def changes(report: MatrixReport) -> Doc:
    """Return the verdicts that changed, by day, the newest first; `first` counts the first results
    of each day, which change nothing.
    """
    days = []
    for day, group in groupby(report.events, key=lambda event: event.moment.date()):
        every = [*group]
        changed = sorted((e for e in every if e.change.kind != "new"), key=_order)
        days.append((day, [_news(report, e) for e in changed], len(every) - len(changed)))
    news = [day for day in days if day[1]]
    count = sum(len(changed) for _, changed, _ in news)
    shown = news[:_MOST_DAYS]
    return Doc(
        days=shown,
        count=count,
        left_out=count - sum(len(changed) for _, changed, _ in shown),
        first=sum(first for _, _, first in days),
        firsts=[(day, first) for day, _, first in days if first][:_MOST_DAYS],
    )


def newest(report: MatrixReport, most: int) -> list[Doc]:
    """Return the newest changes; regressions before fixes of one day. First results are none."""
    changed = (event for event in report.events if event.change.kind != "new")
    return [_news(report, event) for event in sorted(changed, key=_order)[:most]]


def _order(event: Event) -> tuple[float, int]:
    return -event.moment.date().toordinal(), _ORDER.index(event.change.kind)


def _heading(event: Event) -> str:
    kind = event.change.kind
    return OTHER_TESTS.get(kind, CHANGES[kind]) if "suite" in event.beside else CHANGES[kind]


def _news(report: MatrixReport, event: Event) -> Doc:
    change, verdict, entry, word = event.change, event.verdict, event.entry, _heading(event)
    if "suite" in event.beside and change.kind in OTHER_TESTS:
        word += f"; the packages {'changed too' if 'lock' in event.beside else 'did not change'}"
    why = ""
    if change.lost:
        why = f"No longer works: {listed(change.lost)}."
    elif change.gained:
        why = f"Works now: {listed(change.gained)}."
    elif verdict.kind != "works" and verdict.outcome is not None:
        why = cause_sentence(verdict.outcome)
    siblings = report.places[place_of(entry.cell)]
    style = style_then(entry, verdict, siblings)
    was_other = event.before.kind not in ("unknown", verdict.kind)
    return Doc(
        word=word,
        style=style,
        before=style_then(entry, event.before, siblings).word if was_other else "",
        place=place_words(entry.cell, report.snapshot.matrix),
        recipe="" if style.state in NAMES_RECIPE else recipe_words(entry),
        path=cell_page(entry.cell),
        why=why,
        moment=event.moment,
    )


def matrix_health(report: MatrixReport) -> Doc:
    """Return how a matrix does on its day, counted in cells; `newest` and `oldest` are days of runs
    that count. It is quiet when something ran, but nothing within the days that a run stays fresh.
    """
    known, present = report.snapshot.known, report.snapshot.present
    latest = [entry.latest for entry in known if entry.latest is not None]
    newest = max(latest, default=None)
    return Doc(
        cells=cell_count(report.snapshot),
        flaky=sum(entry.kind == "flaky" for entry in known),
        stale=sum(entry.stale for entry in known),
        newest=newest,
        oldest=min(latest, default=None),
        is_quiet=newest is not None and (present.day - newest).days > present.fresh_days,
        fresh_days=present.fresh_days,
    )


def reliability(report: MatrixReport) -> Doc:
    known = report.snapshot.known
    states = Counter(by_evidence(cell_state(entry), entry) for entry in known)
    outcomes = Counter(outcome for entry in known for run in entry.runs for outcome in run.outcomes)
    ignored = outcomes - Counter(
        outcome for entry in known for run in entry.counted for outcome in run.outcomes
    )
    trouble: Counter[str] = Counter()
    for outcome, number in ignored.items():
        trouble[str(outcome).partition("(")[0]] += number
    levels = Counter(run.isolation for entry in known for run in entry.runs)
    dated = [(entry.latest, entry) for entry in known if entry.latest is not None]
    dated.sort(key=lambda pair: (pair[0], pair[1].cell.id))
    return Doc(
        health=matrix_health(report),
        states=[(STYLES[state], states[state]) for state in STYLES if states[state]],
        runs=sum(len(entry.runs) for entry in known),
        attempts=outcomes.total(),
        spurious=trouble.most_common(),
        isolation=sorted(levels.items(), reverse=True),
        flaky=_linked(report, [entry for entry in known if entry.kind == "flaky"]),
        oldest=_linked(report, [entry for _, entry in dated[:5]]),
    )


def _linked(report: MatrixReport, entries: Sequence[Answer]) -> list[tuple[Answer, str, str]]:
    links = links_to(entries, report.snapshot.matrix)
    return [(entry, words, path) for entry, (words, path) in zip(entries, links, strict=True)]
