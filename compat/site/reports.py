"""The `site` room's pages of advice, charts, roadmap and proposals."""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from packaging.version import Version

from compat.advise.answer import Recommended, Unproven
from compat.advise.request import Goal, Request, exactly, label
from compat.declare.matrix import Axis, own_name
from compat.files import unified_diff
from compat.policy.evaluation import Proposal, VersionRelease, version_releases
from compat.policy.propose import floors
from compat.results.answer import Answer, representative
from compat.results.runs import change_point
from compat.rewrite.toml_values import matrix_after
from compat.run.outcome import Failed
from compat.site.edition import MatrixReport
from compat.site.paths import cell_page, page
from compat.site.results import Doc, cause_anchor, entry_page
from compat.site.status import STYLES, platform_title
from compat.site.why_words import keeper_sentence
from compat.site.wording import cause_sentence, day, ranges
from compat.value import grouped

# The answers to "what do I install?": the question, the advisor's cards, and what is known of one
# version of Python or of a package beside the subject.

GOAL_WORDS: dict[Goal, str] = {
    "best": "published for these versions, with the fewest failures",
    "newest": "the newest",
    "stable": "tested on the most days",
    "closest": "the closest to published",
    "published": "as published",
    "minimum": "the oldest that works",
}
_MOST_PYTHONS = 5


def goals(report: MatrixReport) -> list[tuple[str, Answer]]:
    best = [(word, report.best(goal, {})) for goal, word in GOAL_WORDS.items()]
    return [(word, proof) for word, proof in best if proof is not None]


def advised(report: MatrixReport, coordinates: Mapping[str, Version]) -> Recommended | Unproven:
    axes = [axis for axis in report.snapshot.matrix.axes if axis.name in coordinates]
    wants = tuple(exactly(axis, coordinates[axis.name]) for axis in axes)
    return report.answer(Request(wants=wants))


def why_not(report: MatrixReport, coordinates: Mapping[str, Version]) -> str:
    asked = " and ".join(words for words, _ in version_links(report, coordinates))
    why = without(report, coordinates)
    return f"{asked}: {why}." if asked else f"{why[0].upper()}{why[1:]}."


def tiles(report: MatrixReport, proof: Answer) -> list[tuple[str, Version, bool]]:
    matrix = report.snapshot.matrix
    others = [axis for axis in matrix.axes[::-1] if axis.name != matrix.subject]
    axes = (matrix.subject_axis, *others)
    return [(label(a), proof.version(a.name), a.name == matrix.subject) for a in axes]


def words(report: MatrixReport, proof: Answer) -> str:
    return ", ".join(f"{label} {version}" for label, version, _ in tiles(report, proof))


def version_links(
    report: MatrixReport, coordinates: Mapping[str, Version]
) -> list[tuple[str, str]]:
    axes = [axis for axis in report.snapshot.matrix.axes if axis.name in coordinates]
    each = [(axis, coordinates[axis.name]) for axis in axes]
    return [(f"{label(a)} {v}", answer_path(report, {a.name: v})) for a, v in each]


def answer_path(report: MatrixReport, coordinates: Mapping[str, Version]) -> str:
    axes = [axis for axis in report.snapshot.matrix.axes if axis.name in coordinates]
    text = "-".join(f"{axis.short}{coordinates[axis.name]}" for axis in axes)
    return page(report.name, "advise", *filter(None, (text,)))


def version_axes(report: MatrixReport) -> Iterator[tuple[Axis, Version]]:
    for axis in report.snapshot.matrix.axes:
        if axis.name != report.snapshot.matrix.subject:
            for version in report.advisor.ranks.positions[axis.name]:
                yield axis, version


def crossed(report: MatrixReport, axis: Axis) -> Doc:
    """Return the best combination of each version of an axis on each Python, the newest first;
    `without` are the versions with which none works.
    """
    python, positions = report.snapshot.matrix.interpreters.name, report.advisor.ranks.positions
    pythons = [each for each in reversed(positions[python]) if report.best("best", {python: each})]
    rows, without = list[tuple[Version, str, list[tuple[str, Answer | None]]]](), list[str]()
    for version in positions[axis.name]:
        pairs = [{python: each, axis.name: version} for each in pythons]
        best = [(answer_path(report, pair), report.best("best", pair)) for pair in pairs]
        if any(proof for _, proof in best):
            rows.append((version, answer_path(report, {axis.name: version}), best))
        else:
            without.append(str(version))
    every = [str(version) for version in positions[axis.name]]
    return Doc(label=label(axis), pythons=pythons, rows=rows[::-1], without=ranges(without, every))


def options(report: MatrixReport, axis: Axis, beside: Mapping[str, Version]) -> list[Doc]:
    options = []
    for version in reversed(report.advisor.ranks.positions[axis.name]):
        coordinates = {**beside, axis.name: version}
        best = report.best("best", coordinates)
        why = without(report, coordinates) if best is None else ""
        path = answer_path(report, coordinates)
        options.append(Doc(label=version, path=path, best=best, without=why))
    return options


def without(report: MatrixReport, coordinates: Mapping[str, Version]) -> str:
    matrix = report.snapshot.matrix
    entries = report.entries_at(coordinates) if coordinates else report.snapshot.entries
    is_open = any(entry.obstacle is None for entry in entries)
    python = coordinates.get(matrix.interpreters.name)
    versions = sorted({entry.cell.on(matrix.subject).version for entry in entries})
    releases = report.facts.subject_releases(versions[-1]) if versions else ()
    published = releases[-1].published if releases else None
    requires = None if published is None else published.requires_python
    if python is None or requires is None or requires.contains(python):
        if is_open:
            return "no tested combination works"
        return "not supported: metadata or a rule excludes every combination"
    head = "no tested combination works" if is_open else "no release can be installed with it"
    return (
        f"{head}; {matrix.subject_axis.package} {releases[-1].version} requires Python {requires}"
    )


def own_title(report: MatrixReport) -> str:
    return platform_title(own_name(report.snapshot.matrix.platform))


def newest_words(report: MatrixReport, axis: Axis) -> str:
    """Return why no answer has the newest version of an axis; empty where one has it."""
    newest = max(report.advisor.ranks.positions[axis.name], default=None)
    proofs = report.advisor.proofs
    if newest is None or any(proof.cell.on(axis.name).version == newest for proof in proofs):
        return ""
    if all(entry.obstacle is not None for entry in report.entries_at({axis.name: newest})):
        return ", and no release supports it"
    return ", and no tested combination with it works"


def red_outcomes(entries: Sequence[Answer]) -> list[tuple[str, str]]:
    failed = (entry.outcome for entry in entries if entry.is_tested)
    return [(cause_anchor(o), cause_sentence(o)) for o in failed if isinstance(o, Failed)]


def released(report: MatrixReport, axis: Axis, version: Version) -> VersionRelease | None:
    releases = report.snapshot.once(
        ("version-releases", axis.name), lambda: version_releases(axis, report.snapshot.catalogue)
    )
    return next((release for release in releases if release.version == version), None)


def releases(report: MatrixReport, entries: Sequence[Answer]) -> Iterator[Doc]:
    subject = report.snapshot.matrix.subject
    by_release = grouped((entry.cell.on(subject).version, entry) for entry in entries)
    every = sorted(by_release)
    best = ((version, representative(by_release[version])) for version in every)
    by_style = grouped((report.style(entry).css, (version, entry)) for version, entry in best)
    for style in STYLES.values():
        shown = by_style.get(style.css, [])
        if shown:
            yield Doc(
                style=style,
                versions=ranges([str(version) for version, _ in shown], [*map(str, every)]),
                tested=[(v, entry_page(entry)) for v, entry in reversed(shown) if entry.is_tested],
            )


def embed_box(report: MatrixReport) -> Doc:
    python, rows = report.snapshot.matrix.interpreters.name, []
    for series in reversed(report.advisor.ranks.positions[python]):
        proof = report.best("best", {python: series})
        if proof is not None:
            style = report.style(proof)
            others = [f"{name} {v}" for name, v, _ in tiles(report, proof) if name != "Python"]
            words = f"{', '.join(others)}: {style.word}"
            rows.append(Doc(python=series, words=words, style=style, path=cell_page(proof.cell)))
    return Doc(
        title=f"{report.snapshot.matrix.title}: what works with what",
        rows=rows[:_MOST_PYTHONS],
        tested=f"Last tested on {day(report.run_days[-1])}"
        if report.run_days
        else "Nothing was tested yet",
        home=page(report.name),
    )


# A page with so many dots a chart weighs less than 60 KiB gzipped.
_MOST_DOTS = 100


def charts(report: MatrixReport) -> Doc:
    """Return the measurements of each metric of which a rank test shows a change between releases,
    and the titles of others: those of the representative cell of each release, on one class of
    machine, `host`.
    """
    newest = []
    for column in report.columns[-_MOST_DOTS:]:
        records = report.newest_records(column.entry.cell.id)
        record = next((record for record in records if record.metrics), None)
        if record is not None:
            newest.append((column, record))
    hosts = Counter(record.host for _, record in newest)
    host = hosts.most_common(1)[0][0] if hosts else ""
    measured = [(column, record) for column, record in newest if record.host == host]
    drawn, silent = [], []
    names = Counter(metric.name for _, record in measured for metric in record.metrics)
    for name in sorted(name for name, number in names.items() if number > 1):
        values = [(c, r, m) for c, r in measured for m in r.metrics if m.name == name]
        change = change_point([metric.value for _, _, metric in values])
        if change is None:
            silent.append(report.metric(name))
        else:
            drawn.append((name, values, change))
    return Doc(charts=drawn, host=host, silent=silent)


def nice(value: float) -> float:
    if value < sys.float_info.min:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999999)


def roadmap(report: MatrixReport) -> Doc:
    snapshot = report.snapshot
    why_python, floor = "", next(reversed(report.python_floors.values()), None)
    if floor is not None and floor.needs is not None:
        package = snapshot.matrix.subject_axis.package
        why_python = f"{package} {floor.release}: {keeper_sentence(floor)}"
    return Doc(
        arithmetic={floor.axis: floor.arithmetic for floor in floors(snapshot, snapshot.day)},
        proposed={(each.axis, each.proposed): each for each in report.proposals},
        why={snapshot.matrix.interpreters.name: why_python},
    )


def proposal_diff(proposal: Proposal, report: MatrixReport) -> str:
    before = report.parts.declaration()
    after = matrix_after(before, proposal, proposal.reason)
    return unified_diff(f"matrices/{report.name}/matrix.toml", before, after)


def title_of(proposal: Proposal) -> str:
    if proposal.kind == "extend":
        matrix = f"the matrix from {proposal.package} {proposal.current}"
        return f"Extend {matrix} to {proposal.proposed}"
    floor = f"the floor of {proposal.package}"
    verb = "Raise early" if proposal.kind == "early" else proposal.kind.capitalize()
    return f"{verb} {floor} from {proposal.current} to {proposal.proposed}"
