"""How many environments of a benchmark does compat lock?

Usage: public_locks.py PROBLEMS [--sample N] [--seed N] [--minutes N]; PROBLEMS is JSON lines with
`python_version`, `library`, `version` and `additional_dependencies`, as in GitChameleon 2.0. Locks
have wheels only and are not installed. Prints Markdown.
"""

import argparse
import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.version import Version
from side_by_side import machine

from compat.declare.matrix import patch_of
from compat.index.interpreters import find
from compat.index.settings import settings
from compat.lock.lockfile import Inputs, Lock
from compat.lock.uv import UvLocker

Environment = tuple[str, tuple[str, ...]]


def environments(problems: Iterable[dict[str, Any]]) -> Counter[Environment]:
    """Return how many problems each environment has."""
    found: Counter[Environment] = Counter()
    for one in problems:
        more = (one.get("additional_dependencies") or "").replace(",", " ").split()
        asked = tuple(sorted({f"{one['library']}=={one['version']}", *more}))
        found[one["python_version"], asked] += 1
    return found


def main() -> None:
    """Lock each environment of the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", type=Path)
    parser.add_argument("--sample", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no lock after this time")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    every = environments(map(json.loads, options.problems.read_text("utf-8").splitlines()))
    chosen = sorted(every)
    random.Random(options.seed).shuffle(chosen)
    print(machine(), flush=True)
    pythons = {s: find(Version(s), os.environ) for s in {python for python, _ in chosen}}
    locker = UvLocker(settings(), os.environ, lambda v: (f := find(v, os.environ)) and f.path)
    result: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    for python, asked in chosen[: options.sample]:
        if time.monotonic() > until:
            break
        found = pythons[python]
        inputs = Inputs(
            cell="environment",
            python=found.version if found else patch_of(Version(python)),
            platform="x86_64-manylinux_2_35",
            requirements=asked,
        )
        answer = locker.lock(inputs)
        what = "locks as declared" if isinstance(answer, Lock) else f"refused: {answer.cause}"
        result[what] += 1
        problems[what] += every[python, asked]
        print(f"{python} {' '.join(asked)}: {what}", flush=True)
    total = result.total()
    print(f"\n{result['locks as declared']} of {total} environments lock as declared.\n")
    print("| result | environments | problems |\n|---|---|---|")
    for what, times in result.most_common():
        print(f"| {what} | {times} | {problems[what]} |")


if __name__ == "__main__":
    main()
