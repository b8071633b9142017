"""Ask again, without compat, what matrices say: plain uv and pytest on a sample of their cells.

Usage: audit.py ANSWERS SUITES RESULTS [--sample N] [--seed N] [--minutes N]; ANSWERS has a line for
each cell, `MATRIX CELL VERDICT EVIDENCE`; SUITES is the folder of matrices. A cell's versions are
read from its id and installed by `uv pip install` of today, dated ones with `--exclude-newer`, and
relaxed ones with the other axes as overrides. Then pytest runs the suite, or its core where
the evidence is no more. RESULTS gets one line of JSON for each cell, and keeps earlier ones.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tomllib
from packaging.specifiers import SpecifierSet

# Writes what became of each capability; a test that says it is absent is neither good nor bad.
PLUGIN = """
import json, os
CORE, OUT, FOUND, IDS = os.environ.get("AUDIT_CORE", "").split(), os.environ["AUDIT_OUT"], {}, {}

def pytest_configure(config):
    config.addinivalue_line("markers", "capability(id, title, says)")

def pytest_collection_modifyitems(items):
    for item in items:
        mark = item.get_closest_marker("capability")
        IDS[item.nodeid] = mark.args[0] if mark and mark.args else item.name
    if CORE:
        items[:] = [item for item in items if IDS[item.nodeid] in CORE]

def pytest_runtest_logreport(report):
    name = IDS[report.nodeid]
    if report.failed:
        FOUND[name] = "no"
    elif report.when == "call" or report.skipped:
        FOUND.setdefault(name, "absent" if report.skipped else "yes")

def pytest_sessionfinish():
    with open(OUT, "w") as out:
        json.dump(FOUND, out)
"""


def requirements(matrix: dict[str, Any], cell: str) -> tuple[str, list[str], list[str]]:
    """Return the Python of a cell, what is asked for, and what overrides the metadata."""
    place, _, recipe = cell.partition("+")
    python, asked, overrides, patches = "", [], [], {}
    for axis in matrix["axes"]:
        found = re.search(rf"(?:^|-){axis['short']}([0-9][^-]*)(?:-|$)", place)
        assert found is not None, (cell, axis["short"])
        if axis["kind"] == "interpreter":
            patches = {patch.rpartition(".")[0]: patch for patch in axis["releases"]}
            python = patches[found[1]]
            continue
        exact = axis["select"].get("keep", "each") == "each"
        text = f"{axis['package']}=={found[1]}" + ("" if exact else ".*")
        asked.append(text)
        if recipe == "relaxed" and axis["name"] != matrix["subject"]:
            overrides.append(text)
    asked += [*matrix.get("requirements", []), *matrix["suite"].get("requirements", [])]
    return python, asked, overrides


def is_excused(matrix: dict[str, Any], cell: str, capability: str) -> bool:
    """Whether the matrix declares that a capability fails in each combination of a release."""
    shorts = {axis["name"]: axis["short"] for axis in matrix["axes"]}

    def holds(axis: str, condition: str) -> bool:
        found = re.search(rf"(?:^|-){shorts[axis]}([0-9][^-+]*)", cell)
        return found is not None and SpecifierSet(condition).contains(found[1])

    return any(
        known.get("fault") in ("release", "index")
        and known.get("capability") == capability
        and all(holds(*condition) for condition in known.get("when", {}).items())
        for known in matrix.get("known", ())
    )


def ask(folder: Path, cell: str, evidence: str, uv: str) -> tuple[str, list[str]]:
    """Return the verdict of a plain install and pytest, and what fails."""
    matrix = tomllib.loads((folder / "matrix.toml").read_text())
    python, asked, overrides = requirements(matrix, cell)
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))}
        quiet: dict[str, Any] = {"env": env, "capture_output": True, "text": True}
        words = [uv, "venv", "-q", "--python", f"cpython@{python}", str(here / "venv")]
        subprocess.run(words, check=True, **quiet)
        words = [uv, "pip", "install", "-q", "--only-binary", ":all:"]
        words += ["--python", str(here / "venv/bin/python"), *asked]
        if overrides:
            (here / "overrides.txt").write_text("\n".join(overrides))
            words += ["--override", str(here / "overrides.txt")]
        if cell.endswith("+dated"):
            head = (folder / "locks" / f"{cell}.txt").read_text()
            words += ["--exclude-newer", re.findall(r"^# as-of: (\S+)", head, re.M)[0]]
        installed = subprocess.run(words, check=False, **quiet)
        if installed.returncode:
            return "refused", [" ".join(installed.stderr.split())[-200:]]
        shutil.copytree(folder / "suite", here / "suite")
        (here / "audit_plugin.py").write_text(PLUGIN)
        env |= {"PYTHONPATH": str(here), "AUDIT_OUT": str(here / "out.json"), "HOME": scratch}
        if evidence == "smoke":
            env["AUDIT_CORE"] = " ".join(matrix["suite"]["core"])
        words = [str(here / "venv/bin/python"), "-m", "pytest", "-q", "-p", "audit_plugin"]
        module = matrix["suite"].get("module", "sys")
        importing = [words[0], "-c", f"import {module}"]
        if subprocess.run(importing, cwd=here, timeout=300, check=False, **quiet).returncode:
            return "broken", ["import"]
        subprocess.run(
            [*words, "-p", "no:cacheprovider"],
            cwd=here / "suite",
            timeout=900,
            check=False,
            **quiet,
        )
        out = here / "out.json"
        found = json.loads(out.read_text()) if out.exists() else {"collection": "no"}
        failed = [name for name, status in sorted(found.items()) if status == "no"]
        failed = [name for name in failed if not is_excused(matrix, cell, name)]
        return (
            "works" if not failed else "partial" if "yes" in found.values() else "broken"
        ), failed


def main() -> None:
    """Ask a sample, the matrices in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answers", type=Path)
    parser.add_argument("suites", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--minutes", type=float, default=1e9)
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    by_matrix: dict[str, list[list[str]]] = {}
    rows = [line.split() for line in options.answers.read_text().splitlines()]
    random.Random(options.seed).shuffle(rows)
    for row in rows:
        by_matrix.setdefault(row[0], []).append(row)
    turns = [
        row
        for turn in range(options.sample)
        for of in by_matrix.values()
        for row in of[turn : turn + 1]
    ]
    done = options.results.read_text().splitlines() if options.results.exists() else []
    known = {(line["matrix"], line["cell"]) for line in map(json.loads, done)}
    uv = shutil.which("uv") or "uv"
    for matrix, cell, verdict, evidence in turns[: options.sample]:
        if time.monotonic() > until:
            break
        if (matrix, cell) in known:
            continue
        found, failed = ask(options.suites / matrix, cell, evidence, uv)
        line: dict[str, Any] = {"matrix": matrix, "cell": cell, "said": verdict}
        line |= {"evidence": evidence, "found": found, "failed": failed}
        with options.results.open("a") as results:
            print(json.dumps(line), file=results)
        print(json.dumps(line), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
