"""Write the generated blocks of docs/findings.md and docs/errors.md from the answers.

    python tools/findings.py            write them
    python tools/findings.py --check    exit 1 if one is out of date

Each number about a matrix is in such a block, between `<!-- NAME -->` and `<!-- end -->`.
"""

import datetime
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import get_args

from packaging.requirements import Requirement
from packaging.version import Version

from compat.results.answer import Answer, EvidenceKind
from compat.results.installs import plain_installs
from compat.results.record_files import RecordFiles
from compat.results.snapshot import Snapshot
from compat.run.outcome import brief
from compat.workspace import Workspace

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs" / "findings.md", ROOT / "docs" / "errors.md")
AUDIT = ROOT / "tests" / "benchmarks" / "audit.jsonl"
# Verdicts are dated, and so is the page.
DAY = datetime.date(2026, 11, 29)
RANKS = ("works", "partial", "flaky", "broken", "unknown", "infeasible")
BLOCK = re.compile(r"(<!-- ([a-z-]+)\.([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def runs_of(versions: Iterable[Version], order: list[Version]) -> str:
    """Shorten versions that stand side by side in the order: `0.20.0 to 0.24.0, 0.27.0`."""
    places = sorted(order.index(version) for version in set(versions))
    parts: list[list[int]] = []
    for place in places:
        if parts and place == parts[-1][-1] + 1:
            parts[-1].append(place)
        else:
            parts.append([place])
    ends = ((order[part[0]], order[part[-1]]) for part in parts)
    return ", ".join(str(low) if low == high else f"{low} to {high}" for low, high in ends)


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def order_of(known: Snapshot, axis: str) -> list[Version]:
    return sorted({entry.cell.on(axis).version for entry in known.entries})


def best_of(known: Snapshot) -> dict[tuple[Version, ...], Answer]:
    """Return the best cell of each combination of versions."""
    best: dict[tuple[Version, ...], Answer] = {}
    for entry in known.entries:
        if not entry.planned:
            continue
        key = tuple(place.version for place in entry.cell.coordinates)
        kept = best.get(key)
        if kept is None or RANKS.index(verdict(entry)) < RANKS.index(verdict(kept)):
            best[key] = entry
    return best


def counted(here: Workspace) -> str:
    """How many combinations have which verdict, on which evidence; the best cell of each counts."""
    known = here.snapshot
    best = best_of(known)
    kinds = Counter((verdict(entry), entry.evidence) for entry in best.values())
    evidence = get_args(EvidenceKind)
    rows = [
        (kind, *(f"{kinds[kind, how]:,}" for how in evidence))
        for kind in RANKS
        if any(kinds[kind, how] for how in evidence)
    ]
    runs = sum(entry.is_tested for entry in known.entries)
    return (
        table(("verdict", *evidence), rows) + f"\n{len(best):,} combinations; {runs:,} cells ran.\n"
    )


def verdict(entry: Answer) -> str:
    """What is known or inferred of a cell."""
    inferred = entry.evidence == "inferred" and entry.expected is not None
    return entry.expected if inferred and entry.expected is not None else entry.kind


def installs(here: Workspace) -> str:
    """What a plain install of each release comes to, by cause."""
    known = here.snapshot
    subject = known.matrix.subject
    order = order_of(known, subject)
    causes: dict[str, dict[Version, list[str]]] = defaultdict(lambda: defaultdict(list))
    states: dict[Version, set[str]] = defaultdict(set)
    for install in plain_installs(known):
        cause = f"{install.state}: `{install.outcome}`" if install.outcome else install.state
        if install.state == "not-admitted":
            continue
        if install.state == "works":
            cause = "works"
        causes[cause][Version(install.release)].append(install.python)
        states[Version(install.release)].add(install.state)
    works = [version for version in order if "works" in states[version]]
    other = [v for v in order if v not in works and states[v] & {"broken", "resolves"}]
    rows = sorted(
        (
            (cause, runs_of(releases, order), sum(map(len, releases.values())))
            for cause, releases in causes.items()
        ),
        key=lambda row: -row[2],
    )
    none = len(order) - len(works) - len(other)
    return (
        f"Of {len(order)} releases {len(works)} installs as published and works on some Python "
        f"({runs_of(works, order)}), {len(other)} installs and fails at import "
        f"({runs_of(other, order)}), and {none} do not install on any Python.\n\n"
        + table(("a plain install", "releases", "releases with a Python"), rows)
    )


def floor(here: Workspace) -> str:
    """What stops the Python below 3.9, release by release, once its own check is lifted."""
    known = here.snapshot
    order = order_of(known, "tff")
    axis = next(axis for axis in known.matrix.packages if axis.name == "tff")
    days = {r.version: r.uploaded for r in known.catalogue.of(axis).releases}
    found: dict[Version, Counter[str]] = defaultdict(Counter)
    for entry in known.entries:
        version = entry.cell.on("tff").version
        day = days.get(version)
        if str(entry.cell.on("python").version) != "3.8" or entry.cell.recipe != "relaxed":
            continue
        if day is not None and day.year == 2022 and entry.is_tested:
            failed = str(entry.outcome) if entry.outcome else entry.kind
            failed = failed if failed.startswith("import-fail") else "imports"
            found[version][failed] += 1
    ways: dict[str, dict[Version, int]] = defaultdict(dict)
    for version, outcomes in found.items():
        for failed, times in outcomes.items():
            ways[failed][version] = times
    rows = [
        (f"`{failed}`" if failed != "imports" else failed, runs_of(by, order), sum(by.values()))
        for failed, by in sorted(ways.items(), key=lambda way: min(way[1]))
    ]
    return table(("on Python 3.8, once lifted", "releases of 2022 that ran", "runs"), rows)


def moves(here: Workspace) -> str:
    """With which TensorFlow each release works or works in part, by a run or by inference."""
    known = here.snapshot
    order, series = order_of(known, "tff"), order_of(known, "tf")
    axis = next(axis for axis in known.matrix.packages if axis.name == "tff")
    published = known.catalogue.of(axis).releases
    spans: dict[tuple[str, str, str], list[Version]] = defaultdict(list)
    for version in order:
        ours = [e for e in known.entries if e.cell.on("tff").version == version]
        (release,) = (r for r in published if r.version == version)
        asks = map(Requirement, release.published.requires_dist if release.published else ())
        declared = next((str(ask.specifier) for ask in asks if ask.name == "tensorflow"), "-")
        working = [e for e in ours if verdict(e) in ("works", "partial")]
        ran = {e.cell.on("tf").version for e in working if e.is_tested}
        every = {e.cell.on("tf").version for e in working}
        key = (declared, runs_of(ran, series), runs_of(every, series))
        spans[key].append(version)
    rows = [
        (runs_of(releases, order), declared, ran or "-", every or "-")
        for (declared, ran, every), releases in spans.items()
    ]
    return table(("releases", "declared", "works, tested", "works, with what is inferred"), rows)


def victims(here: Workspace) -> str:
    """Of each capability the releases of the subject with which it works, fails and is absent."""
    known = here.snapshot
    subject = known.matrix.subject
    order = order_of(known, subject)
    found: dict[str, dict[str, set[Version]]] = defaultdict(lambda: defaultdict(set))
    why: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in known.entries:
        for capability in entry.capabilities if entry.is_tested else ():
            found[capability.id][capability.status].add(entry.cell.on(subject).version)
            if capability.failed is not None:
                why[capability.id][str(capability.failed).partition("(")[0]] += 1
    titles = {capability.id: capability.title for capability in here.described}
    rows = [
        (
            titles.get(name, name),
            *(runs_of(by[status], order) or "-" for status in ("yes", "no", "absent")),
            ", ".join(why[name]) or "-",
        )
        for name, by in sorted(found.items())
        if set(by) != {"yes"}
    ]
    return table(("capability", "works", "fails", "is not there", "outcome"), rows)


def unanswered(here: Workspace) -> str:
    """The combinations without an answer, by what blocks them."""
    known = here.snapshot
    axes = [axis.name for axis in known.matrix.axes if axis.name != known.matrix.subject]
    groups: dict[str, list[Answer]] = defaultdict(list)
    for entry in best_of(known).values():
        if verdict(entry) == "unknown":
            asked = known.plain.get(entry.id)
            has_lock = entry.lock_digest is not None or (asked is not None and not asked.refusal)
            why = "waits for a run" if has_lock else "waits for a resolver"
            if entry.runs or (asked is not None and asked.refusal is not None):
                why = "no result: see the cell"
            groups[f"blocked by {entry.blocked_by}" if entry.blocked_by else why].append(entry)
    rows = [
        (
            why,
            f"{len(of):,}",
            *(runs_of((e.cell.on(a).version for e in of), order_of(known, a)) for a in axes),
        )
        for why, of in sorted(groups.items(), key=lambda group: -len(group[1]))
    ]
    return table(("reason", "combinations", *axes), rows)


def culprits(here: Workspace) -> str:
    """For each failure the versions that separate the failing cells from the passing ones."""
    known = here.snapshot
    axes = [axis.name for axis in known.matrix.axes]
    tested = [entry for entry in known.entries if entry.is_tested]
    failing: dict[str, list[Answer]] = defaultdict(list)
    names: dict[str, set[str]] = defaultdict(set)
    for entry in tested:
        failed = {c.id: str(brief(c.failed)) for c in entry.capabilities if c.failed is not None}
        if not failed and entry.kind == "broken" and entry.outcome is not None:
            failed = {"import": str(brief(entry.outcome))}
        for capability, outcome in failed.items():
            names[outcome].add(capability)
        for outcome in set(failed.values()):
            failing[outcome].append(entry)
    # Capabilities that fail with one cause in the same cells are one failure.
    alike: dict[tuple[str, frozenset[str]], set[str]] = defaultdict(set)
    for outcome, cells in failing.items():
        cause, thing = outcome.rstrip(")").partition("(")[::2]
        is_whole = names[outcome] != {thing}
        key = (outcome if is_whole else cause, frozenset(e.cell.id for e in cells))
        alike[key] |= names[outcome]
    rows = []
    for (failure, ids), of in sorted(alike.items(), key=lambda one: (-len(one[0][1]), one[0][0])):
        cells = [entry for entry in tested if entry.cell.id in ids]
        # Cells that did not reach these capabilities are no evidence.
        passing = [
            entry
            for entry in tested
            if entry.cell.id not in ids
            and any(c.status == "yes" and c.id in of for c in entry.capabilities)
        ]
        pairs = (pair for n in (1, 2) for pair in combinations(axes, n))
        told = (with_which(known, cells, passing, pair) for pair in pairs)
        what = next(filter(None, told), "no one or two axes separate them")
        shown = sorted(of)
        more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
        rows.append((f"`{failure}`", ", ".join(shown[:3]) + more, len(ids), what, len(passing)))
    head = ("failure", "capabilities", "cells that fail", "only with", "cells that pass")
    return table(head, rows)


def with_which(
    known: Snapshot, cells: list[Answer], others: list[Answer], axes: tuple[str, ...]
) -> str:
    """Return the versions on the axes if no other cell has the same ones; else nothing."""

    def places(entries: list[Answer]) -> set[tuple[Version, ...]]:
        return {tuple(entry.cell.on(axis).version for axis in axes) for entry in entries}

    mine = places(cells)
    if not others or mine & places(others):
        return ""
    if len(axes) == 1:
        return f"{axes[0]} {runs_of((version for (version,) in mine), order_of(known, axes[0]))}"
    beside: dict[str, set[Version]] = defaultdict(set)
    for one in sorted({one for one, _ in mine}):
        of = runs_of((other for first, other in mine if first == one), order_of(known, axes[1]))
        beside[of].add(one)
    return "; ".join(
        f"{axes[0]} {runs_of(ones, order_of(known, axes[0]))} with {axes[1]} {of}"
        for of, ones in beside.items()
    )


def effort(of: Callable[[str], Workspace]) -> str:
    """Of each matrix the combinations with an answer, and the runs with what they took."""
    rows = []
    for name in sorted(path.parent.name for path in ROOT.glob("matrices/*/matrix.toml")):
        best = best_of(of(name).snapshot).values()
        ran = RecordFiles(ROOT / "matrices" / name)
        days = (ran.read(ran.folder / day) for day, _ in ran.states())
        attempts = [a for day in days for _, record in day.records for a in record.attempts]
        unknown = [entry for entry in best if verdict(entry) == "unknown"]
        named = sum(bool(entry.blocked_by) for entry in unknown)
        runs = sum(entry.is_tested for entry in best)
        hours = sum(attempt.seconds for attempt in attempts) / 3600
        rows.append(
            (
                name,
                f"{len(best):,}",
                f"{len(best) - len(unknown):,}",
                runs,
                f"{named:,}",
                f"{len(unknown) - named:,}",
                f"{len(attempts):,}",
                f"{hours:.1f}",
            )
        )
    head = (
        "matrix",
        "combinations",
        "answered",
        "by a run",
        "unknown, and the blocking package named",
        "unknown without",
        "runs",
        "hours of runs",
    )
    return table(head, rows)


def audited(_: Callable[[str], Workspace]) -> str:
    """A sample of the cells, run again with uv and pytest alone."""
    lines = AUDIT.read_text(encoding="utf-8").splitlines()
    rows = []
    every = [json.loads(line) for line in lines]
    for name, evidence in sorted({(one["matrix"], one["evidence"]) for one in every}):
        ours = [one for one in every if (one["matrix"], one["evidence"]) == (name, evidence)]
        greens = [one for one in ours if one["said"] == "works"]
        false = [one for one in greens if one["found"] != "works"]
        same = sum(one["said"] == one["found"] for one in ours)
        rows.append((name, evidence, len(ours), same, len(greens), len(false)))
    total = [sum(row[n] for row in rows) for n in range(2, 6)]
    head = ("matrix", "evidence", "cells", "same verdict", "green before", "of these not green")
    return table(head, [*rows, ("all", "", *total)])


BLOCKS: dict[str, Callable[[Workspace], str]] = {
    "counts": counted,
    "installs": installs,
    "floor": floor,
    "moves": moves,
    "victims": victims,
    "culprits": culprits,
    "unanswered": unanswered,
}
# About all matrices.
WHOLE: dict[str, Callable[[Callable[[str], Workspace]], str]] = {
    "audit": audited,
    "effort": effort,
}


def page(text: str, cache: Callable[[], Path]) -> str:
    """Return the page with each block made again from the answers, which are derived in `cache`."""
    matrices: dict[str, Workspace] = {}

    def of(name: str) -> Workspace:
        return matrices.setdefault(name, Workspace(ROOT / "matrices" / name, DAY, cache))

    def block(match: re.Match[str]) -> str:
        head, name, what, end = match.groups()
        return f"{head}{WHOLE[what](of) if name == 'all' else BLOCKS[what](of(name))}{end}"

    return BLOCK.sub(block, text)


def main(arguments: list[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as cache:
        for path in PAGES:
            text = path.read_text(encoding="utf-8")
            made = page(text, lambda: Path(cache))
            if made != text and "--check" in arguments:
                yield f"{path.relative_to(ROOT)} is out of date: run python tools/findings.py"
            elif made != text:
                path.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    sys.exit("\n".join(main(sys.argv[1:])) or 0)
