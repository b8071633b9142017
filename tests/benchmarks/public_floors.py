"""Does a search by runs find the release that a benchmark says an API came or went in?

Usage: public_floors.py DATASET LIBRARY... [--log FILE]; DATASET is the folder of GitChameleon 2.0.

Where the benchmark has problems about one API for two releases of a library, an older and a newer
one, its newer solution should pass from a release between them on, its older one up to a release.
One matrix a library has every release from the oldest to the newest of these, without
pre-releases, and a capability a solution; `compat run` runs its dated cells, wheels only. `compat
blame` is asked about the first two neighbouring releases between which a solution starts to pass.
Prints Markdown.
"""

import argparse
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import Version
from public_problems import Problem, cells_of, compat, more_of, read_problems
from side_by_side import machine


class Pair(NamedTuple):
    """Two problems about one API: numbers and releases of the older and the newer solution."""

    api: str
    old: tuple[str, Version]
    new: tuple[str, Version]


def pairs_of(problems: Mapping[str, Any], library: str) -> list[Pair]:
    """Return pairs of neighbouring releases about each API of the library that has a name."""
    by_api: defaultdict[str, dict[Version, str]] = defaultdict(dict)
    for number, one in problems.items():
        if one["library"] == library and one["name_of_class_or_func"].strip("- "):
            by_api[one["name_of_class_or_func"]].setdefault(Version(one["version"]), number)
    return [
        Pair(api, (of[low], low), (of[high], high))
        for api, of in sorted(by_api.items())
        for low, high in pairwise(sorted(of))
    ]


def passing(
    library: str,
    pairs: list[Pair],
    problems: Mapping[str, Any],
    solutions: Mapping[str, Problem],
    scratch: Path,
) -> tuple[dict[Version, dict[str, bool]], dict[Version, str]]:
    """Return which solutions pass with each release, and the cell of each."""
    numbers = sorted({number for pair in pairs for number, _ in (pair.old, pair.new)}, key=int)
    versions = sorted(version for pair in pairs for _, version in (pair.old, pair.new))
    # Not as the problems pin them: one environment has to fit all releases of the library.
    more = {re.split("[=<>]", name)[0] for n in numbers for name in more_of(problems[n])}
    asked = sorted((more | {"scipy"}) - {library, "numpy"})
    entries = cells_of(
        scratch,
        [solutions[number] for number in numbers],
        "dated",
        library,
        requirements=json.dumps([*asked, *(["numpy<2"] if library != "numpy" else [])]),
        added=json.dumps(["pytest<9"]),
        python=problems[pairs[-1].new[0]]["python_version"],
        releases=f">={versions[0]},<={versions[-1]}",
    )
    ran = [(entry.cell.on("library").version, entry) for entry in entries if entry.capabilities]
    found = {v: {c.id: c.status == "yes" for c in entry.capabilities} for v, entry in ran}
    return found, {version: entry.id for version, entry in ran}


def judged(pair: Pair, found: Mapping[Version, Mapping[str, bool]]) -> list[tuple[str, str]]:
    """Return for the newer and the older solution what the runs say of its annotation."""
    order = [version for version in sorted(found) if pair.old[1] <= version <= pair.new[1]]
    if len(order) < 2:
        return [("newer", "releases of the pair do not run here")]
    verdicts = []
    for what, (number, _), versions in (
        ("newer", pair.new, order),
        ("older", pair.old, order[::-1]),
    ):
        passes = [found[version].get(f"p{number}", False) for version in versions]
        if not passes[-1]:
            verdict = "fails where the benchmark says it passes"
        elif passes[0]:
            verdict = "passes with all that run"
        else:
            first = versions[len(passes) - next(n for n, ok in enumerate(passes[::-1]) if not ok)]
            verdict = f"from {first}" if what == "newer" else f"up to {first}"
        verdicts.append((what, verdict))
    return verdicts


def main() -> None:
    """Search in each library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    print(machine(), flush=True)
    every = [*read_problems(options.dataset)]
    problems = {solution.number: one for one, solution in every}
    solutions = {solution.number: solution for _, solution in every}
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for library in options.libraries:
        pairs = pairs_of(problems, library)
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            found, cells = passing(library, pairs, problems, solutions, scratch)
            blamed = ""
            for pair in pairs:
                for what, verdict in judged(pair, found):
                    line = {"library": library, "api": pair.api, "solution": what}
                    line |= {"between": [str(pair.old[1]), str(pair.new[1])], "runs": verdict}
                    first = verdict.removeprefix("from ")
                    if what == "newer" and verdict != first and not blamed:
                        before = max(v for v in found if v < Version(first))
                        said = compat(
                            scratch, "blame", "row", cells[Version(first)], cells[before], "--json"
                        )
                        blamed = line["blame"] = said
                    print(json.dumps(line), file=sys.stderr, flush=True)
                    if options.log:
                        with options.log.open("a") as log:
                            print(json.dumps(line), file=log)
                    kind = verdict.partition(" ")[0] if verdict[:4] in ("from", "up t") else verdict
                    rows[library][kind] += 1
        print(library, dict(rows[library]), flush=True)


if __name__ == "__main__":
    main()
