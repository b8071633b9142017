"""How many pinned environments of BugsInPy lock, as declared or with fewer pins?

Usage: public_pinned.py BUGSINPY [--sample N] [--seed N] [--minutes N] [--install]; BUGSINPY is a
clone of soarsmu/BugsInPy. A pin that the resolver's refusal names gives way to any version; each
one that is not needed for the lock is put back. Lines of a checkout are left out. Locks have wheels
only and are made with the index of today. With --install each lock is installed by its hashes, and
the modules of every package that the list names are imported, each by itself. Prints Markdown.
"""

import os
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from public_locks import Environment, drawn, locker_here, options_of
from side_by_side import machine

from compat.declare.matrix import patch_of
from compat.index.interpreters import find
from compat.lock.lockfile import Inputs, Lock, Locker, Refusal, encode_lock
from compat.lock.resolvers import packages_in

MOST_REFUSALS = 20


def environments(clone: Path) -> Counter[Environment]:
    """Return how many bugs each environment has: a Python series with lines of requirements."""
    found: Counter[Environment] = Counter()
    for info in clone.glob("projects/*/bugs/*/bug.info"):
        series = re.search(r'python_version="(\d+\.\d+)', info.read_text("utf-8", "replace"))
        asked = info.with_name("requirements.txt")
        content = asked.read_bytes() if asked.exists() else b""
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
        lines = (line.partition(" #")[0].strip() for line in text.splitlines())
        # `-e git+...` is the project itself, at the bug's commit.
        own = tuple(sorted({line for line in lines if line and line[0] not in "#-"}))
        found[series[1] if series else "", own] += 1
    return found


def locked(locker: Locker, python: Version, asked: tuple[str, ...]) -> tuple[Lock | str, int]:
    """Return the lock or why there is none, and how many pins had to give way."""
    try:
        pins = {canonicalize_name(Requirement(line).name): line for line in asked}
    except InvalidRequirement:
        return "not only releases of an index", 0

    def answer(free: set[str]) -> Lock | Refusal:
        lines = (name if name in free else line for name, line in pins.items())
        platform = "x86_64-manylinux_2_35"
        own = tuple(sorted(lines))
        return locker.lock(Inputs("environment", python, platform, own))

    free: set[str] = set()
    refusal = answer(free)
    for _ in range(MOST_REFUSALS):
        if isinstance(refusal, Lock):
            break
        subject = {*packages_in(refusal.subject)} & pins.keys()
        blamed = subject - free or ({*refusal.named, *refusal.wheelless} & pins.keys()) - free
        if not blamed:
            return f"refused: {refusal.cause}", 0
        free |= blamed
        refusal = answer(free)
    if isinstance(refusal, Refusal):
        return f"refused: {refusal.cause}", 0
    for name in sorted(free):
        if isinstance(nearer := answer(free - {name}), Lock):
            free.remove(name)
            refusal = nearer
    return refusal, len(free)


def modules_of(site: Path, names: Container[str]) -> Iterator[str]:
    """Yield the modules at the top of the installed packages of these names."""
    for about in sorted(site.glob("*.dist-info")):
        if canonicalize_name(about.name.partition("-")[0]) in names:
            files = (line.partition(",")[0] for line in (about / "RECORD").read_text().splitlines())
            tops = {re.split(r"/|\.py$", file)[0] for file in files if file.endswith(".py")}
            yield from sorted(top for top in tops if top.isidentifier() and top != "tests")


def imported(lock: Lock, python: str, asked: tuple[str, ...]) -> str:
    """Install a lock and import what the list names; return what fails, or nothing."""
    names = {canonicalize_name(Requirement(line).name) for line in asked}
    with tempfile.TemporaryDirectory() as folder:
        home, listed = Path(folder) / "env", Path(folder) / "lock.txt"
        listed.write_text(encode_lock(lock))
        words = ["uv", "pip", "install", "--require-hashes", "--no-deps", "-r", str(listed)]
        for command in (["uv", "venv", "-q", "-p", python, str(home)], [*words, "-p", str(home)]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"does not install: {done.stderr.strip()[-200:]}"
        (site,) = home.glob("lib/*/site-packages")
        failing = []
        for module in modules_of(site, names):
            done = subprocess.run(
                [str(home / "bin" / "python"), "-c", f"import {module}"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            if done.returncode:
                failing.append(f"{module}: {done.stderr.strip().splitlines()[-1][:120]}")
        return "; ".join(failing)


def main() -> None:
    """Lock each environment of the sample."""
    options = options_of(__doc__, "clone", "--install")
    until = time.monotonic() + 60 * options.minutes
    every = environments(options.clone)
    chosen = drawn(every, options.seed)
    print(machine(), flush=True)
    locker = locker_here()
    counts: dict[str, Counter[str]] = {"environments": Counter(), "bugs": Counter()}
    for series, asked in chosen[: options.sample]:
        if time.monotonic() > until:
            break
        found = find(Version(series), os.environ) if series else None
        python = found.version if found else patch_of(Version(series))
        what, given_up = locked(locker, python, asked)
        if isinstance(what, Lock):
            lock = what
            parts = ((0, "locks as declared"), (1, "with one pin less"), (5, "with 2 to 5 less"))
            what = next((words for most, words in parts if given_up <= most), "with more less")
            if options.install:
                fails = imported(lock, found.path if found else str(python), asked)
                print(f"  imports: {fails or 'all'}", flush=True)
                what += ", imports" if not fails else ", an import fails"
        counts["environments"][what] += 1
        counts["bugs"][what] += every[series, asked]
        print(f"{series}, {len(asked)} lines: {what} ({given_up})", flush=True)
    done = counts["environments"].total()
    print(f"\n{done} of {len(every)} environments were asked.\n")
    print("| result | environments | bugs |\n|---|---|---|")
    for what, times in counts["environments"].most_common():
        print(f"| {what} | {times} | {counts['bugs'][what]} |")


if __name__ == "__main__":
    main()
