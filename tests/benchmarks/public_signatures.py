"""How many changed calls of a benchmark does compat see in sources, without running them?

Usage: public_signatures.py CASES LIBRARY... [--log FILE]; CASES is the folder Benchmark of PCBench,
with LIBRARY/API@OLD-NEW/CASE/FILE.py. The two letters at the end of a file's name say whether the
call is compatible with the new release, and whether it still runs there.

The sources of both releases are downloaded and read with `search/api_change.py`. A call is said to
be incompatible if its arguments reach other parameters in the new release than in the old one, or
cannot be bound there. Nothing is run. Prints Markdown.
"""

import argparse
import ast
import io
import json
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import requests
from packaging.version import Version
from side_by_side import machine

from compat.errors import CompatError
from compat.index.pypi import PyPISource
from compat.index.settings import settings
from compat.search.api_change import module_of, surface

# Where a module has another name than its package.
PACKAGES = {"PIL": "pillow", "sklearn": "scikit-learn"}
Takes = tuple[str, ...]


class Call(NamedTuple):
    """The arguments of a call: how many by place, and the names of the others."""

    positional: int
    keywords: tuple[str, ...]


def sources(packages: PyPISource, name: str, version: Version) -> dict[str, bytes]:
    """Return the Python files of a release by path, from a wheel or else a source distribution."""
    release = next((r for r in packages.package(name).releases if r.version == version), None)
    files = sorted(release.artifacts if release else (), key=lambda file: not file.is_wheel)
    if not files:
        return {}
    content = requests.get(files[0].url, timeout=60).content
    if files[0].filename.endswith((".whl", ".zip")):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {path: archive.read(path) for path in archive.namelist() if path[-3:] == ".py"}
    with tarfile.open(fileobj=io.BytesIO(content)) as opened:
        members = ((m, opened.extractfile(m)) for m in opened if m.name.endswith(".py"))
        return {member.name: file.read() for member, file in members if file}


def below(files: dict[str, bytes], library: str) -> dict[str, bytes]:
    """Return the files of a package; a source distribution has folders above it."""
    own = {path.partition(f"{library}/")[2]: text for path, text in files.items()}
    return {f"{library}/{path}": text for path, text in own.items() if path}


def callables(files: dict[str, bytes], name: str) -> dict[str, Takes]:
    """Return the parameters of each function of that name, and of each constructor of such a class,
    by dotted name, without what a method gets itself.
    """
    found: dict[str, Takes] = {}
    for path, text in files.items():
        module = module_of(path)
        if module is None or name.encode() not in text:
            continue
        read = surface(text, module, path.endswith("/__init__.py"))
        for own, takes in read.names.items():
            owner, _, last = own.rpartition(".")
            is_named = last == name or (last == "__init__" and owner == name)
            if takes is not None and is_named and own not in read.bases:
                found[f"{module}.{own}"] = without_self(takes) if owner else takes
    return found


def without_self(takes: Takes) -> Takes:
    if not takes or takes[0] not in ("self", "cls"):
        return takes
    fewer = (f"#{int(each[1:]) - 1}" if each[0] == "#" else each for each in takes[1:])
    return tuple(each for each in fewer if each not in ("!self", "!cls"))


def bound(takes: Takes, call: Call) -> tuple[str, ...] | None:
    """Return which parameter each argument reaches; None where the call cannot be made."""
    names = [each for each in takes if each[0] not in "!#*"]
    counts = (int(each[1:]) for each in takes if each[0] == "#")
    most = next(counts, len(names))
    reached = names[: min(call.positional, most)]
    if len(reached) < call.positional:
        if "*" not in takes:
            return None
        reached += ["*"] * (call.positional - len(reached))
    for keyword in call.keywords:
        if keyword not in names and "**" not in takes:
            return None
        reached.append(keyword if keyword in names else f"**{keyword}")
    required = {each[1:] for each in takes if each[0] == "!"}
    is_whole = required <= {*reached} and len(reached) == len({*reached} - {"*"}) + reached.count(
        "*"
    )
    return tuple(reached) if is_whole else None


def is_same(old: Takes, new: Takes, call: Call) -> bool:
    """Whether each argument reaches its parameter; one by place may have got another name."""
    before, after = bound(old, call), bound(new, call)
    if before is None or after is None:
        return False
    return all(
        was == now or (place < call.positional and was not in new and now not in old)
        for place, (was, now) in enumerate(zip(before, after, strict=True))
    )


def calls(text: str, name: str) -> Iterator[Call]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            function = node.func
            called = function.attr if isinstance(function, ast.Attribute) else None
            if isinstance(function, ast.Name):
                called = function.id
            if called == name and not any(isinstance(arg, ast.Starred) for arg in node.args):
                keywords = tuple(each.arg for each in node.keywords if each.arg is not None)
                if len(keywords) == len(node.keywords):
                    yield Call(len(node.args), keywords)


def is_compatible(old: dict[str, Takes], new: dict[str, Takes], api: str, call: Call) -> bool:
    """Whether a call reaches the same parameters in both; of several functions of the name, those
    count whose path is most like the one that the benchmark names, and that take it in the old.
    """
    parts = {*api.split(".")}
    taken = {name: takes for name, takes in old.items() if bound(takes, call) is not None}
    likest = max((len(parts & {*name.split(".")}) for name in taken), default=0)
    chosen = {n: takes for n, takes in taken.items() if len(parts & {*n.split(".")}) == likest}
    answers = []
    for name, before in chosen.items():
        tail = name.rpartition(".")[2]
        moved = [takes for other, takes in new.items() if other.rpartition(".")[2] == tail]
        options = [new[name]] if name in new else moved
        answers.append(any(is_same(before, takes, call) for takes in options))
    return all(answers)


def main() -> None:
    """Read the cases of the libraries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path)
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    print(machine(), flush=True)
    totals: dict[str, Counter[str]] = {name: Counter() for name in options.libraries}
    log = options.log.open("w") if options.log else None
    with tempfile.TemporaryDirectory() as pages:
        packages = PyPISource(settings(), Path(pages))
        read: dict[tuple[str, str], dict[str, bytes]] = {}
        for library, counts in totals.items():
            for folder in sorted((options.cases / library).iterdir()):
                api, _, versions = folder.name.partition("@")
                releases = versions.split("-")
                try:
                    for version in releases:
                        if (library, version) not in read:
                            package = PACKAGES.get(library, library)
                            files = sources(packages, package, Version(version))
                            read[library, version] = below(files, library)
                except (CompatError, requests.RequestException, tarfile.TarError) as error:
                    print(f"{folder.name}: {error!r}", file=sys.stderr)
                own = [read.get((library, version), {}) for version in releases]
                name = api.rpartition(".")[2]
                old, new = (callables(files, name) for files in own)
                for case in sorted(folder.glob("*/*.py")):
                    if case.stem[-2:] not in ("YY", "YN", "NY", "NN"):
                        continue
                    told = what = "without sources" if not all(own) else ""
                    if not told:
                        try:
                            found = [*calls(case.read_text("utf-8"), name)]
                        except SyntaxError:
                            found = []
                        fits = all(is_compatible(old, new, api, call) for call in found)
                        told = "Y" if fits else "N"
                        what = {"NN": "hit", "YN": "missed", "YY": "sound", "NY": "false"}[
                            told + case.stem[-2]
                        ]
                        # Of an incompatible call that still runs no run would show anything.
                        counts["hit, runs"] += what == "hit" and case.stem[-1] == "Y"
                        counts["runs"] += case.stem[-2:] == "NY"
                    counts[what] += 1
                    if log:
                        line = {"case": str(case.relative_to(options.cases)), "said": told}
                        print(json.dumps(line | {"what": what}), file=log)
    print(table(totals))


def table(totals: dict[str, Counter[str]]) -> str:
    """Return precision, recall and F1 of each library; a hit is a call rightly said to break."""
    lines = [
        "| library | cases | incompatible | precision | recall | F1 | of those that still run |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = [*totals.items()]
    if len(rows) > 1:
        rows.append(("all", sum(totals.values(), Counter())))
    for name, of in rows:
        hits, false, missed = of["hit"], of["false"], of["missed"]
        number = hits + false + missed + of["sound"]
        shares = (
            hits / max(1, hits + false),
            hits / max(1, hits + missed),
            2 * hits / max(1, 2 * hits + false + missed),
        )
        lines.append(
            f"| {name} | {number:,} | {hits + missed} | "
            + " | ".join(f"{share:.1%}" for share in shares)
            + f" | {of['hit, runs']} of {of['runs']} |"
        )
    without = sum(of["without sources"] for of in totals.values())
    return "\n".join([*lines, f"\n{without} cases without sources on the index."])


if __name__ == "__main__":
    main()
