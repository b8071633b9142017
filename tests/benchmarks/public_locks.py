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


def options_of(description: str | None, place: str, *flags: str) -> argparse.Namespace:
    """Parse where the data are, which environments to lock for how long, and flags."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(place, type=Path)
    parser.add_argument("--sample", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no lock after this time")
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def drawn(every: Iterable[Environment], seed: int) -> list[Environment]:
    """Return the environments in an order that the seed decides."""
    chosen = sorted(every)
    random.Random(seed).shuffle(chosen)
    return chosen


def locker_here() -> UvLocker:
    """Return the locker of this machine: wheels only."""

    def path_of(version: Version) -> str | None:
        found = find(version, os.environ)
        return None if found is None else found.path

    return UvLocker(settings(), os.environ, path_of)


def main() -> None:
    """Lock each environment of the sample."""
    options = options_of(__doc__, "problems")
    until = time.monotonic() + 60 * options.minutes
    every = environments(map(json.loads, options.problems.read_text("utf-8").splitlines()))
    chosen = drawn(every, options.seed)
    print(machine(), flush=True)
    pythons = {s: find(Version(s), os.environ) for s in {python for python, _ in chosen}}
    locker = locker_here()
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
