"""The command that writes a first matrix: `compat init`."""

import platform
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from packaging.utils import canonicalize_name

from compat import files
from compat.cli.arguments import argument, given, option
from compat.cli.machine import cache_folder, interpreter, level_of, today
from compat.cli.options import index_settings, workspace_of
from compat.cli.output import envelope, fields, note, prose, report, say
from compat.cli.verdicts import print_verdicts
from compat.declare.capabilities import TEST_FILES
from compat.declare.project import PYPROJECT, Project, listed_in, name_in_setup, project_of
from compat.draft.draft import (
    Draft,
    SuiteDraft,
    axis_name,
    bringing,
    draft_of,
    library_of,
    only_in,
    own_suite,
    target_of,
)
from compat.errors import CompatError, UsageError
from compat.index.pypi import PyPISource
from compat.lock.resolvers import requested_builds
from compat.plan.cell import parse_cell
from compat.policy.evaluation import PYTHONS
from compat.results.record import Capability
from compat.run.classify import lost_modules
from compat.run.outcome import Failed
from compat.run.suitefiles import project_settings
from compat.site.wording import count, listed
from compat.workspace import Workspace


def init_command(
    package: str = argument("Package name (default: from pyproject.toml).", metavar="[PACKAGE]"),
    root: Path | None = option("Repository or empty folder (default: current).", metavar="FOLDER"),
    run: bool = option("Run the project's own tests.", "--run/--no-run", default=True),
) -> None:
    """Write a first matrix for a library.

    Reads pyproject.toml in a repository, else the newest release on the index. Axes are the
    dependencies most likely to break the library: those with an upper bound, several major versions
    or compiled files. Existing files are not overwritten. Runs the project's own tests in the
    newest smoke cell, adds known missing requirements and lists the others. Exits 2 if a matrix
    exists or the package does not.

    Examples: compat init; compat init attrs; compat init attrs --root /tmp/attrs-matrix
    """
    folder = Path.cwd() if root is None else root
    if not folder.is_dir():
        raise UsageError.of("is not a directory", path=str(folder))
    checkout = project_in(folder)
    package = package or checkout.name
    if not package:
        message = f"no package given, and no {PYPROJECT} with a project name here"
        raise UsageError.of(message, hint="for example compat init attrs")
    own = checkout if canonicalize_name(checkout.name) == canonicalize_name(package) else None
    matrix = folder / "matrices" / axis_name(package)
    if matrix.exists():
        message = "already exists and was not changed"
        hint = f"compat check {matrix.name} checks it"
        raise UsageError.of(message, path=f"matrices/{matrix.name}", hint=hint)
    source = PyPISource(index_settings(), cache_folder())
    library = library_of(package, own, source)
    module = library.module or canonicalize_name(package).replace("-", "_")
    # The project's own tests where they stand in a folder of their own, else an import test.
    tests = "" if own is None else own_tests(folder)
    if own is not None and tests:
        suite = own_suite(own, module, tests, discovered(folder))
    else:
        why = "there are no tests of the project here"
        if own is None and (folder / "tests").is_dir():
            why = f"no {PYPROJECT} names the project of the tests in tests"
        because = f"Suite: an import test, as {why}"
        suite = SuiteDraft(module=module, title=package, because=because)
    series = [s.version for s in PYTHONS if interpreter(s.version) is not None]
    target, day = target_of(library, machine_platform(), today(), series), today()

    for proof in range(_PROOFS + 1):
        draft = draft_of(library, target, suite, source, day)
        for name, text in draft.texts.items():
            files.write(matrix / name, text)
        if own is None or not (suite.tests and draft.quick) or proof == _PROOFS:
            break
        faults, failing = _trial(workspace_of(draft.name, folder), draft, run)
        modules = [module for fault in faults for module in lost_modules(fault)]
        builds = [release for fault in faults for release in requested_builds(str(fault))]
        whole = with_builds(with_modules(suite, modules, own), builds)
        whole = without_neighbour_files(whole, failing)
        if whole == suite:
            break
        suite = whole
    _print(draft)


def with_modules(suite: SuiteDraft, modules: Sequence[str], project: Project) -> SuiteDraft:
    """Add the requirements that are known to bring modules that a run lacked, and report them."""
    every = dict.fromkeys(bringing(module, project) for module in modules)
    added = tuple(name for name in every if name and name not in suite.requirements)
    if added:
        note(f"the tests import {listed(modules)}; added: {listed(added)}")
    return msgspec.structs.replace(suite, requirements=(*suite.requirements, *added))


def with_builds(suite: SuiteDraft, releases: Iterable[str]) -> SuiteDraft:
    """Allow builds without which nothing can be locked, and report them: pip builds them, too."""
    added = tuple(text for text in dict.fromkeys(releases) if text not in suite.builds)
    if added:
        note(f"built from source: {listed(added)}")
    return msgspec.structs.replace(suite, builds=(*suite.builds, *added))


# A cell has the folder of tests alone, not the checkout around it.
_BESIDE = re.compile(r"FileNotFoundError: .*'suite/")


def without_neighbour_files(suite: SuiteDraft, failing: Iterable[Capability]) -> SuiteDraft:
    """Leave out tests that read files beside their folder, and report them: that says nothing about
    the versions.
    """
    names = [test.id for test in failing if _BESIDE.match(test.subject)]
    if not names:
        return suite
    note(f"left out because they read files beside the tests: {listed(names)}")
    return only_in(suite, (), names)


# How often a draft is mended by what a run of its tests lacks: a module that is brought may show
# that another one is lacking.
_PROOFS = 4


def _trial(
    workspace: Workspace, draft: Draft, run: bool
) -> tuple[tuple[Failed, ...], list[Capability]]:
    """Run the tests once in the newest quick cell; return the suite's faults and failing tests."""
    from compat.cli.this_machine import ThisMachine

    cells = {name: parse_cell(name, draft.matrix).coordinates for name in draft.quick}
    cell = max(cells, key=lambda name: [place.version for place in cells[name]])
    try:
        if workspace.matrix and not run:
            return (), []
        machine = ThisMachine(workspace, level_of(""))
        result = machine.run([cell])
    except CompatError as error:
        report(error.faults)
        return (), []
    machine.interruption.exit_if_interrupted()
    workspace.refresh()
    if result.suite_faults or result.is_incomplete:
        note(f"warning: the tests have no result in {cell}, so the suite is not proven")
    elif not given.as_json:
        print_verdicts(workspace, [cell])
    every = (test for record in result.records for test in record.capabilities)
    return result.suite_faults, [test for test in every if test.status == "no"]


# Where a project lists what its tests need besides pyproject.toml.
_LISTS = (
    "tox.ini",
    "*requirements*.txt",
    "requirements/*.txt",
    "requirements*/*.in",
    "tests/*.txt",
)


def project_in(folder: Path) -> Project:
    content = files.read_if_present(folder / PYPROJECT)
    project = Project() if content is None else project_of(content)
    named = {
        name: files.read(folder / name).decode(errors="replace")
        for name in ("setup.cfg", "setup.py")
        if (folder / name).is_file()
    }
    listed: dict[str, tuple[str, ...]] = {}
    for path in sorted({path for pattern in _LISTS for path in folder.glob(pattern)}):
        name = path.relative_to(folder).as_posix()
        listed |= listed_in(name, files.read(path).decode(errors="replace"))
    return msgspec.structs.replace(
        project, name=project.name or name_in_setup(named), listed=listed
    )


# Where a project keeps tests: at its top, in its package, or beside several of them, as in
# src/PACKAGE/tests and packages/NAME/tests.
_DEPTH = 4
_NOT_OURS = frozenset(("matrices", "node_modules", "build", "dist", "site-packages", "venv", "env"))


_DISCOVERY = re.compile(
    r"unittest\W+discover\b[^\n]*?\s(?:-p|--pattern)[ =]*\\?[\"']?(?P<files>[\w*?.-]+\.py)"
)


def discovered(folder: Path) -> tuple[str, ...]:
    """Return the arguments with which pytest collects the files that the project's own `unittest
    discover -p` does; none without one.
    """
    names = ("pyproject.toml", "tox.ini", "setup.cfg", "noxfile.py", "Makefile")
    for path in (*map(folder.joinpath, names), *sorted(folder.glob(".github/workflows/*.y*ml"))):
        text = (files.read_if_present(path) or b"").decode(errors="replace")
        if (known := _DISCOVERY.search(text)) and "python_files" not in text:
            return "-o", f"python_files={known['files']}"
    return ()


def own_tests(folder: Path) -> str:
    """The tests that pytest's settings name, else the folder of tests nearest to the top, else the
    only file of tests at the top; empty without one.
    """
    settings, top = project_settings(folder) or {}, folder.resolve()

    def words(key: str) -> list[str]:
        value = settings.get(key, "")
        return [str(word) for word in (value if isinstance(value, list) else str(value).split())]

    unittests = [word.partition("=")[2] for word in discovered(folder)[1:]]
    patterns = words("python_files") or unittests or TEST_FILES

    def holds_tests(place: Path) -> bool:
        return place.is_file() or any(next(place.rglob(pattern), None) for pattern in patterns)

    for named in words("testpaths"):
        place = (folder / named).resolve()
        if place.is_relative_to(top) and place != top and holds_tests(place):
            return place.relative_to(top).as_posix()
    levels = [[folder]]
    for _ in range(_DEPTH):
        below = (path for parent in levels[-1] for path in sorted(parent.iterdir()))
        levels.append(
            [
                path
                for path in sorted(below, key=lambda path: path.name == "test")
                if path.is_dir() and not path.is_symlink() and not path.name.startswith(".")
                if path.name not in _NOT_OURS
            ]
        )
    every = [path for level in levels[1:] for path in level if "test" in path.name]
    # `tests` at the top before `tests` in a package, before `testsuite` anywhere.
    usual = [path for path in every if path.name in ("tests", "test")]
    for path in dict.fromkeys((*usual, *every)):
        if holds_tests(path):
            whole, package = path, path.parent
            if (package / "__init__.py").is_file() and any(
                path not in (place, *place.parents) and holds_tests(place)
                for place in package.rglob(f"{path.name}/")
            ):
                whole = package  # each part of the package has tests of its own
            return whole.relative_to(folder).as_posix()
    # pytest runs a file that it is given, whatever its name.
    files = {file for name in (*patterns, "test.py", "tests.py") for file in folder.glob(name)}
    return next(iter(files)).name if len(files) == 1 else ""


def machine_platform() -> str:
    architecture = "aarch64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
    return f"{architecture}-manylinux_2_28"


def _print(draft: Draft) -> None:
    paths = [f"matrices/{draft.name}/{path}" for path in draft.texts]
    following = f"compat run {draft.name} --quick" if draft.quick else f"compat plan {draft.name}"
    document = {"matrix": draft.name, "files": paths}
    envelope({**document, **fields(draft, "reasons left_out cells quick"), "next": following})
    say(*(f"wrote {path}" for path in paths))
    say(*(f"{reason}." for reason in draft.reasons), indent=2)
    if draft.left_out:
        say("  Without an axis:")
    say(*draft.left_out, indent=4)
    say(f"  {count(draft.cells, 'cell')} can be installed as published.")
    if not draft.cells:
        note("no cell of this matrix can be installed as published")
    elif not draft.quick:
        note(
            "no cell has a wheel of each package;"
            ' builds = ["NAME==VERSION"] in matrix.toml lets a source distribution be built'
        )
    prose(f"Next: {following}")
