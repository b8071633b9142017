"""How many environments of a benchmark lock, install, and pass their ground truth?

Usage: public_problems.py DATASET [--sample N] [--minutes N] [--log FILE]; DATASET is the folder of
GitChameleon 2.0 with dataset.jsonl, ground_truth_solutions.jsonl and hidden_tests.

Each environment becomes a matrix of one cell: its Python, its library, and what else it declares.
The harness of the benchmark adds numpy, scipy and pytest; where its pins do not fit, the newest
that do are taken. A capability is a problem: its solution with the hidden tests, as the harness
runs them. Wheels only. Small libraries come first. Prints Markdown.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import Version
from public_locks import Environment
from side_by_side import machine

from compat.declare.matrix import patch_of
from compat.errors import CompatError
from compat.index.interpreters import find
from compat.results.answer import Answer
from compat.workspace import Workspace

# By the size of what they install, the small ones first; others stand between.
SMALL = ("tqdm", "jinja2", "falcon", "flask", "tornado", "networkx", "pytest", "sympy", "pillow")
LARGE = ("librosa", "geopandas", "gradio", "spacy", "mitmproxy", "lightgbm", "kymatio", "torch")
# Libraries whose module has another name.
MODULES = {"pillow": "PIL", "scikit-learn": "sklearn"}
# What the harness adds, by Python (gitchameleon/create_venvs.py at 630daf9d).
ADDED = {
    "3.7": ("numpy==1.21.6", "scipy==1.7.1", "pytest==6.2.5"),
    "3.9": ("numpy==1.21.6", "scipy==1.9.1", "pytest==7.1.2"),
    "3.10": ("numpy==1.23", "scipy==1.10.1", "pytest==7.2.0"),
}
MATRIX = """
name = "row"
title = "An environment"
subject = "library"
platform = "x86_64-manylinux_2_35"
margin_days = 30
requirements = {requirements}

[suite]
path = "suite"
module = "{module}"
requirements = {added}
seconds = 600

[[axes]]
kind = "interpreter"
name = "python"
short = "py"
releases = ["{python}"]

[[axes]]
kind = "package"
name = "library"
short = "lib"
package = "{library}"
select = {{ specifier = "{releases}", keep = "each" }}
"""
POLICY = 'default_months = 36\ncadence = "quarterly"\nnotice_days = 60\nwitnesses = 2\n'
SUITE = """
import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

import pytest

PROBLEMS = json.loads(pathlib.Path(__file__).with_name("problems.json").read_text("utf-8"))


def answered(number, folder):
    answer, test = PROBLEMS[number]
    (folder / f"sample_{number}.py").write_text(answer, encoding="utf-8")
    (folder / "test_sample.py").write_text(test, encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "--disable-warnings", "-q", str(folder)]
    done = subprocess.run(words, cwd=str(folder), timeout=60, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        # Again in this process, so that a failure is known by its own exception.
        sys.path.insert(0, str(folder))
        place = folder / "test_sample.py"
        spec = importlib.util.spec_from_file_location(f"test_sample_{number}", place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        unittest.defaultTestLoader.loadTestsFromModule(module).debug()
    assert not done.returncode, done.stdout[-2000:]
"""
TEST = """

@pytest.mark.capability("p{number}", title="Problem {number}", says="Its solution passes.")
def test_p{number}(tmp_path):
    answered("{number}", tmp_path)
"""


class Problem(NamedTuple):
    """A problem's number, its solution, and its hidden tests."""

    number: str
    answer: str
    test: str


def read_problems(dataset: Path) -> Iterator[tuple[dict[str, Any], Problem]]:
    """Yield what the dataset says of each problem, and the problem."""
    lines = (dataset / "ground_truth_solutions.jsonl").read_text("utf-8").splitlines()
    answers = {one["example_id"]: one["answer"] for one in map(json.loads, lines)}
    for one in map(json.loads, (dataset / "dataset.jsonl").read_text("utf-8").splitlines()):
        number = one["example_id"]
        test = dataset / "hidden_tests" / f"test_sample_{number}.py"
        yield one, Problem(number, answers[number], test.read_text("utf-8"))


def more_of(one: Mapping[str, Any]) -> list[str]:
    """Return what a problem requires besides its library."""
    return (one.get("additional_dependencies") or "").replace(",", " ").split()


def problems_of(dataset: Path) -> dict[Environment, list[Problem]]:
    """Return the problems of each environment, the small environments first."""
    found: defaultdict[Environment, list[Problem]] = defaultdict(list)
    for one, problem in read_problems(dataset):
        asked = (f"{one['library']}=={one['version']}", *sorted(set(more_of(one))))
        found[one["python_version"], asked].append(problem)

    def size(environment: Environment) -> tuple[int, int]:
        names = {canonicalize_name(text.partition("==")[0]) for text in environment[1]}
        large = max((LARGE.index(name) + 1 for name in names & {*LARGE}), default=0)
        return large, min((SMALL.index(name) for name in names & {*SMALL}), default=len(SMALL))

    return {key: found[key] for key in sorted(found, key=lambda key: (size(key), key))}


def compat(folder: Path, *words: str) -> str:
    """Run a command of compat in a folder, and return what it prints."""
    command = [sys.executable, "-m", "compat", *words]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return done.stdout


def cells_of(
    scratch: Path, problems: Iterable[Problem], recipe: str, library: str, **fields: object
) -> list[Answer]:
    """Make a matrix with a capability for each problem, and run its cells of one recipe.

    `fields` are those of MATRIX.
    """
    folder = scratch / "matrices" / "row"
    (folder / "suite").mkdir(parents=True)
    module = MODULES.get(library, "")
    (folder / "matrix.toml").write_text(MATRIX.format(library=library, module=module, **fields))
    (folder / "policy.toml").write_text(POLICY)
    texts = {each.number: (each.answer, each.test) for each in problems}
    tests = "".join(TEST.format(number=number) for number in texts)
    (folder / "suite" / "test_problems.py").write_text(SUITE + tests)
    (folder / "suite" / "problems.json").write_text(json.dumps(texts))
    compat(scratch, "matrix", "discover", "row", "--write")
    named = "*[0-9]" if recipe == "fresh" else f"*+{recipe}"
    compat(scratch, "run", "row", named, "--attempts", "1")
    day = datetime.datetime.now(datetime.timezone.utc).date()
    known = Workspace(folder, day, lambda: scratch / "cache").snapshot
    return [entry for entry in known.entries if entry.cell.recipe == recipe]


def answer(key: Environment, problems: list[Problem], added: list[str], scratch: Path) -> Answer:
    """Run the cell of an environment."""
    python, (asked, *more) = key
    library, _, version = asked.partition("==")
    own = find(Version(python), os.environ)
    (entry,) = cells_of(
        scratch,
        problems,
        "fresh",
        library,
        requirements=json.dumps(more),
        added=json.dumps(added),
        python=own.version if own else patch_of(Version(python)),
        releases=f"=={version}",
    )
    return entry


def result_of(key: Environment, problems: list[Problem]) -> tuple[str, Answer | None]:
    """Return how far an environment comes: first with what the harness adds, then without pins."""
    names = {canonicalize_name(text.partition("==")[0]) for text in key[1]}
    added = [text for text in ADDED[key[0]] if text.partition("==")[0] not in names]
    entry = None
    for extra in (added, [text.partition("==")[0] for text in added]):
        with tempfile.TemporaryDirectory() as folder:
            try:
                entry = answer(key, problems, extra, Path(folder))
            except (CompatError, ValueError) as error:
                return f"fault: {error!r}"[:300], None
        if entry.is_tested and entry.capabilities:
            is_pinned = "" if extra is added else ", other numpy, scipy or pytest than the harness"
            return f"installs{is_pinned}", entry
    why = entry.outcome if entry is not None and entry.outcome else None
    return f"refused: {why or (entry.reasons[:1] if entry else '')}"[:300], entry


def main() -> None:
    """Run each environment of the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--sample", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=1e9, help="start none after this time")
    parser.add_argument("--log", type=Path, help="JSON lines: environments in it are not run again")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    print(machine(), flush=True)
    lines = options.log.read_text().splitlines() if options.log and options.log.exists() else []
    known = {(one["python"], tuple(one["asked"])): one for one in map(json.loads, lines)}
    every = problems_of(options.dataset)
    for key in [*every][: options.sample]:
        if key in known or time.monotonic() > until:
            continue
        what, entry = result_of(key, every[key])
        passing = entry.capabilities if entry is not None else ()
        line = {"python": key[0], "asked": key[1], "result": what, "problems": len(every[key])}
        line["pass"] = [c.id for c in passing if c.status == "yes"]
        line["fail"] = {c.id: str(c.failed) for c in passing if c.status != "yes"}
        known[key] = line
        print(json.dumps(line), file=sys.stderr, flush=True)
        if options.log:
            with options.log.open("a") as log:
                print(json.dumps(line), file=log)
    print(table(known))


def table(known: dict[Environment, Any]) -> str:
    """Return how many environments and problems came how far."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in known.values():
        what = one["result"].partition(": ")[0]
        if what.startswith("installs"):
            whole = len(one["pass"]) == one["problems"]
            what += ", all problems pass" if whole else ", a problem fails"
        rows[what] += Counter(environments=1, problems=one["problems"], passing=len(one["pass"]))
    lines = ["| result | environments | problems | solutions that pass |", "|---|---|---|---|"]
    for what, of in sorted(rows.items(), key=lambda row: -row[1]["environments"]):
        lines.append(f"| {what} | {of['environments']} | {of['problems']} | {of['passing']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
