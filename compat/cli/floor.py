"""The command that finds the lowest versions that work: of an axis of a matrix, or of each direct
dependency of a project.
"""

import datetime
import re
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.version import Version

from compat import files, pipeline
from compat.cli.arguments import Exit, argument, option
from compat.cli.budget import budget_seconds
from compat.cli.diff import checkout_row
from compat.cli.init import (
    discovered,
    init_command,
    machine_platform,
    own_tests,
    project_in,
    with_builds,
    with_modules,
)
from compat.cli.machine import (
    cache_folder,
    environ,
    interpreter,
    level_of,
    now,
    sandbox_folder,
    scratch,
)
from compat.cli.machine import today as this_day
from compat.cli.options import (
    AT,
    ISOLATION_LEVEL,
    index_options,
    kept_version,
    refuse_faulty_suite,
    workspace_of,
)
from compat.cli.output import envelope, fields, note, raw, say_rendered
from compat.cli.progress import Progress
from compat.cli.propose import project_files
from compat.cli.this_machine import Interruption, ThisMachine, workshop_of
from compat.declare.matrix import patch_of
from compat.declare.parsing import name_of_line
from compat.declare.project import Project, extras_in
from compat.draft import draft
from compat.errors import BuildFailed, CompatError, UsageError
from compat.fleet import floor
from compat.fleet.batch import RunOptions
from compat.fleet.checkout_run import CheckoutCells
from compat.index.discover import encode_catalogue
from compat.index.release import Catalogue, Package
from compat.plan.cell import RECIPES
from compat.plan.platform import admits
from compat.policy.evaluation import PYTHONS
from compat.results.judge import JudgedRun
from compat.rewrite.ranges import Move
from compat.run.checkout import BuiltCheckout, CheckoutOrder, built_checkout
from compat.run.evidence import Isolation
from compat.run.suitefiles import folders_above, own_option
from compat.search.blame import SearchStopped
from compat.site.wording import count, listed
from compat.value import Value
from compat.workspace import Workspace


def floor_command(
    matrix: str = argument(
        "A project: folder or git+https://... (default: .). With --axis: a matrix.",
        metavar="[PROJECT|MATRIX]",
    ),
    axis: str = option("Axis of the matrix to search.", metavar="AXIS"),
    at: list[str] | None = AT,
    highest: bool = option("Find the highest version instead."),
    need: list[str] | None = option(
        "Required capability (default: all); repeatable.", metavar="CAPABILITY"
    ),
    recipe: str = option("How to lock cells: fresh, dated or relaxed.", default="relaxed"),
    isolation: str = ISOLATION_LEVEL,
    python: str = option("Python series (default: oldest installed).", metavar="X.Y"),
    k: str = option("Run only these tests.", metavar="EXPRESSION"),
    m: str = option("Run only tests with these markers.", metavar="MARKERS"),
    n: str = option("Processes of the tests, by pytest-xdist.", metavar="N"),
    budget: str = option("Stop after this time.", metavar="10m"),
    extras: bool = option("Test the minimums of extras, too."),
    check: bool = option("Exit 1 if a declared minimum is false."),
    fix: bool = option("Write the true minimums to the project's files."),
    constraints: Path | None = option("Write the tested versions to this file.", metavar="FILE"),
    write: bool = option("Also write a matrix."),
) -> None:
    """Find the lowest versions that work.

    Without --axis: tests the project's declared minimums and searches for the true ones. Needs no
    matrix, stores nothing, builds releases without wheels. If the budget does not suffice for all
    tests, the fastest decide. Exits 3 if the tests give no result or, without --check, a minimum
    stays open; with --check, 1 if a minimum is false. Options from --python on are only for this.

    With --axis: searches an axis of a matrix, reuses and stores records. Exits 1 if nothing works,
    3 if the boundary stays open.

    Examples: compat floor; compat floor . --check --budget 10m; compat floor . --fix; compat floor
    tff --axis tf --at tff=0.33.0 --at python=3.9
    """
    if not axis:
        if at or need or highest:
            raise UsageError.of("--at, --need and --highest search a matrix", path="--axis")
        source = matrix or "."
        if not (Path(source).exists() or source.startswith("git+")):
            hint = "--axis AXIS searches a matrix"
            raise UsageError.of("there is no such project", path=source, hint=hint)
        asked = ProjectRequest(
            source=source,
            python=python,
            words=(*(("-k", k) if k else ()), *(("-m", m) if m else ())),
            processes=n,
            level=level_of(isolation),
            spent=time.monotonic() + budget_seconds(budget) if budget else None,
            extras=extras,
        )
        code = _answer_project(asked, check, fix, constraints)
        if write:
            init_command("", Path(source), True)
        raise Exit(code)
    if python or k or m or n or budget or extras or check or fix or constraints or write:
        raise UsageError.of("excludes the options listed from --python on", path="--axis")
    if recipe not in RECIPES:
        message = f"{recipe!r} is not one of {', '.join(RECIPES)}"
        raise UsageError.of(message, path="--recipe")
    workspace = workspace_of(matrix)
    question = floor.FloorQuestion(
        axis=axis,
        others=dict(map(kept_version, at or ())),
        recipe=recipe,
        end="highest" if highest else "lowest",
        needs=tuple(need or ()),
    )
    refuse_faulty_suite(workspace)
    machine = ThisMachine(workspace, level_of(isolation))

    def run_cell(cell: str) -> Mapping[str, str]:
        return machine.run_of_search(cell, RunOptions(is_search=True)).outcomes

    answer = floor.boundary_of(workspace, question, run_cell, note, machine.cancel.is_set)
    machine.interruption.exit_if_interrupted()
    floor.refuse_nothing(answer)
    boundary, ids = answer.boundary, [cell.id for cell in answer.cells]
    document = {
        "axis": question.axis,
        "end": question.end,
        "works": None if boundary.works is None else ids[boundary.works],
        "fails": None if boundary.fails is None else ids[boundary.fails],
        **{
            name: [ids[position] for position in getattr(boundary, name)]
            for name in ("exceptions", "untestable", "unanswered", "flaky")
        },
        "confidence": round(boundary.confidence, 4),
        "is_decided": boundary.is_decided,
        "runs": answer.cells_run,
        "earlier_results": boundary.runs - answer.cells_run,
        "because": dict(answer.because),
    }
    envelope(document)
    print_answer(answer, question)
    raise Exit(3 if not boundary.is_decided else 1 if boundary.works is None else 0)


# The time of one run without a budget.
_SECONDS = 600
# How often a trial run may show something that the tests lack.
_PROOFS = 20


class ProjectRequest(Value, frozen=True, kw_only=True):
    """A project, its tests (`words` of pytest) and the moment when the time is spent."""

    source: str
    python: str
    words: tuple[str, ...]
    processes: str
    level: Isolation
    spent: float | None
    extras: bool


def _answer_project(asked: ProjectRequest, check: bool, fix: bool, constraints: Path | None) -> int:
    with _trial(asked) as (checkout, search, suite):
        answered = search.minimums()
    wrong = [minimum for minimum in answered.minimums if minimum.state == "false"]
    if answered.lock is not None and constraints is not None:
        name, series = checkout.wheels[0].name, answered.lock.inputs.python
        what = f"the tests of {name} {checkout.words} pass on Python {series.major}.{series.minor}"
        pins = (pin for pin in answered.lock.library_pins if pin.name != name)
        head = f"# The lowest versions with which {what}.\n"
        files.write(constraints, head + "".join(f"{p.name}=={p.version}\n" for p in pins))
    moves = [
        Move(package=m.package, floor=m.works, before=m.lowest, known=m.known)
        for m in wrong
        if m.works is not None
    ]
    folder = Path(asked.source)
    asked_to = moves if fix else []
    targets = project_files([folder]) if asked_to else ()
    done, left = pipeline.rewritten_files(targets, [folder], asked_to, folder / "matrices")
    changed = {path: file for path, file in done.items() if file.before != file.after}
    for path, file in changed.items():
        files.write(path, file.after)
    if asked_to and not changed:
        left = (*left, "no file here declares these minimums in a form that compat can change")
    lock = answered.lock
    on = "" if lock is None else f"{lock.inputs.python.major}.{lock.inputs.python.minor}"
    rows = [msgspec.structs.asdict(minimum) for minimum in answered.minimums]
    for row in rows:
        del row["known"]
    document = {
        "checkout": checkout_row(checkout),
        "python": on,
        "tests": suite.because,
        **fields(answered, "passing chosen failing runs stopped"),
        "minimums": rows,
        "proven": lock.versions if lock else {},
        "changed": sorted(map(str, changed)),
        "left_alone": left,
    }
    envelope(document)
    _print_minimums(checkout, answered, on, suite)
    for file in changed.values():
        raw(files.unified_diff(file.path, file.before, file.after))
    if moves and not fix:
        note("Next: --fix writes the true minimums.")
    for line in left:
        note(f"left alone: {line}")
    is_open = answered.stopped or any(minimum.state == "open" for minimum in answered.minimums)
    return (1 if wrong else 0) if check else 3 if is_open else 0


@contextmanager
def _trial(
    asked: ProjectRequest,
) -> Iterator[tuple[BuiltCheckout, floor.MinimumSearch, draft.SuiteDraft]]:
    """Build a project and yield the search for its minimums, whose tests have run with the newest
    versions on the oldest Python here that the project requires and that can say something.
    """
    interruption, spent = Interruption(), asked.spent
    with scratch(sandbox_folder(asked.level) / "checkouts") as own:
        checkout, pythons = _built(asked, own.folder)
        package, root = checkout.wheels[0].name, Path(checkout.folder)
        with zipfile.ZipFile(checkout.wheels[0].path) as archive:
            module = draft.module_of(package, archive.namelist())
        tests = own_tests(root)
        if not tests:
            raise CompatError.of(f"{package} has no tests that pytest collects", hint="")
        suite, project = _suite(asked, checkout, module, tests)
        whose = [e for e in draft.users_extras(project) if "test" not in e]
        why = reason = ""

        def seconds_left() -> float | None:
            return None if spent is None else spent - time.monotonic()

        def is_stopped() -> str:
            late = (seconds_left() or 1) < 0
            return "interrupted" if interruption.signal else "out of time" if late else ""

        # The newest versions get half of the time; then the fastest tests are chosen.
        most = (seconds_left() or 2 * _SECONDS) / 2
        if spent is not None:
            timer = threading.Timer(max(spent - time.monotonic(), 0), interruption.cancel.set)
            timer.daemon = True
            timer.start()
        for series in pythons:
            for _ in range(_PROOFS):
                timed = msgspec.structs.replace(suite, seconds=max(round(most), 1))
                workspace = _workspace(root, package, [series], timed)
                cells = CheckoutCells(workspace, checkout, now(), keep=False)
                machine = ThisMachine(workspace, asked.level, (cells.shown,), interruption)
                machine.progress = lambda c, n: Progress(dict.fromkeys(c), n, words=_passed)

                def narrowed(
                    files: Iterable[str],
                    without: Iterable[str],
                    series: Version = series,
                    suite: draft.SuiteDraft = suite,
                ) -> CheckoutCells:
                    only = draft.only_in(suite, files, without)
                    place = _workspace(root, package, [series], only, beside="part")
                    return CheckoutCells(place, checkout, now(), keep=False)

                search = floor.MinimumSearch(
                    cells,
                    machine,
                    is_stopped,
                    narrowed,
                    seconds_left,
                    whose if asked.extras else (),
                )
                try:
                    trouble = search.baseline()
                except SearchStopped as stop:
                    message = f"{stop} before the tests ended with the newest versions"
                    raise CompatError.of(message, hint="a longer --budget, or -k") from stop
                if interruption.signal:
                    raise Exit(128 + interruption.signal)
                lacking = trouble or floor.Untestable(because="", modules=search.missing)
                mended = _fixed(suite, lacking, project, workspace.suite_texts)
                if mended == suite:
                    break
                suite = mended
            if trouble is None:
                yield checkout, search, suite
                return
            why = f"on Python {series}: {trouble.because}"
            note(f"the tests have no result with the newest versions {why}")
            # Another Python brings no module, and does not mend what fails on two in the same way.
            reason, before = re.sub(r"\S+\.py:\d+", "", trouble.because), reason
            if trouble.modules or reason == before:
                break
        raise CompatError.of(
            f"the tests of {package} give no result {why}",
            hint=f"does `pytest {tests}` pass in a new environment with the newest versions?",
        )


def _passed(attempt: JudgedRun) -> str:
    """Tests that fail with the newest versions, too, would make every run look like a failure."""
    counts = Counter(trial.status for trial in attempt.evidence.tests)
    numbers = f"{counts['passed']} tests pass, {counts['failed']} fail"
    return numbers if counts["passed"] else str(attempt.outcome)


def _built(asked: ProjectRequest, place: Path) -> tuple[BuiltCheckout, list[Version]]:
    """Build the wheel of a project, and return it with the Pythons to try, oldest first."""
    source, python = asked.source, asked.python
    required = project_in(Path(source)).requires_python if Path(source).is_dir() else None
    series = [s.version for s in PYTHONS if s.version >= draft.OLDEST_PYTHON]
    available = [version for version in series if interpreter(version) is not None]
    if python and Version(python) not in available:
        raise UsageError.of(f"this machine has no Python {python}", path="--python")
    available = [v for v in available if not python or v == Version(python)]
    fitting = [v for v in available if required is None or required.contains(patch_of(v))]
    if not fitting:
        raise UsageError.of(f"this machine has no Python that the project requires ({required})")
    provisional = _workspace(
        place / "none",
        "project",
        fitting[-1:],
        draft.SuiteDraft(module="project", title="project", because=""),
    )

    def built(series: Version) -> BuiltCheckout:
        order = CheckoutOrder(
            source=source,
            package="",
            pythons=(patch_of(series),),
            platform=provisional.matrix.platform,
        )
        shop = partial(workshop_of, provisional, level=asked.level)
        try:
            return built_checkout(order, place / f"build{series}", shop, environ())
        except BuildFailed as error:
            # It ends with 1 elsewhere, which here says that a minimum is false.
            raise CompatError(*error.faults) from error

    newest = fitting[-1]
    checkout = built(newest)
    if not checkout.folder:
        raise UsageError.of("is not a project folder", path=source)
    wheel = checkout.wheels[0]
    admitted = wheel.published.requires_python
    fitting = [v for v in fitting if admits(admitted, patch_of(v))] or fitting[-1:]
    if admitted is None and not python:
        fitting = usual_pythons(fitting, wheel.path, this_day()) or fitting
    if all("any" not in tag.platform for tag in wheel.tags):
        # Compiled for one Python: the oldest is built for alone.
        return checkout if fitting[0] == newest else built(fitting[0]), fitting[:1]
    return checkout, fitting


def usual_pythons(series: Iterable[Version], wheel: str, day: datetime.date) -> list[Version]:
    """The Pythons of the wheel's classifiers, or else those that upstream supports today."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode(errors="replace")
    named = re.findall(r"(?m)^Classifier: Programming Language :: Python :: (\d\.\d+)\s*$", text)
    supported = [s.version for s in PYTHONS if s.ends is None or s.ends > day]
    return [v for v in series if v in (list(map(Version, named)) or supported)]


def _suite(
    asked: ProjectRequest, checkout: BuiltCheckout, module: str, tests: str
) -> tuple[draft.SuiteDraft, Project]:
    """The suite of a project's tests, and the project with what the folders above it list, as far
    as the tests need that: a workspace's root has what the tests of its members ask for.
    """
    root, wheel = Path(checkout.folder), checkout.wheels[0]
    project, texts = project_in(root), wheel.published.requires_dist
    direct = {name_of_line(text) for text in texts if "extra" not in text.partition(";")[2]}
    every = extras_in(texts) | dict(project.extras)
    # An extra may pin the minimums for the project's own tests.
    extras = {n: tuple(t for t in texts if not _pins(t, direct)) for n, texts in every.items()}
    project = msgspec.structs.replace(project, name=wheel.name, extras=extras)
    words = (*discovered(root), *asked.words)
    # A search adds to -k, which pytest takes once.
    if "-k" not in words and (own := own_option(root, tests, "-k")):
        words = (*words, "-k", own)
    suite = draft.own_suite(project, module, tests, words, named=False)
    for folder in folders_above(root)[1:]:
        if suite.requirements != ("pytest",):
            break
        above = project_in(folder)
        groups, lists = {**above.groups, **project.groups}, {**above.listed, **project.listed}
        project = msgspec.structs.replace(project, groups=groups, listed=lists)
        suite = draft.own_suite(project, module, tests, words, named=False)
    # A file with pins of all packages would keep every minimum out.
    if pinned := [r for r in suite.requirements if _pins(r, direct)]:
        note(f"left out because it pins a dependency of the project: {listed(pinned)}")
    remaining = tuple(r for r in suite.requirements if r not in pinned)
    processes = asked.processes or own_option(root, tests, "-n", "--numprocesses")
    suite = msgspec.structs.replace(suite, requirements=remaining)
    suite = draft.in_processes(suite, processes.lstrip("0"))
    return draft.with_extras(suite, project) if asked.extras else suite, project


def _pins(text: str, names: Collection[str]) -> bool:
    return name_of_line(text) in names and any(
        part.operator in ("==", "===") for part in Requirement(text).specifier
    )


def _fixed(
    suite: draft.SuiteDraft, trouble: floor.Untestable, project: Project, texts: Mapping[str, str]
) -> draft.SuiteDraft:
    brought = with_modules(suite, trouble.modules, project)
    if brought == suite and trouble.modules:
        # A module that only a dependency of an extra brings has no line of its own.
        brought = draft.with_extras(suite, project)
        if brought != suite:
            note(f"the tests import {listed(trouble.modules)}; all extras of the project are added")
    ignored = [f"--ignore-glob=/*/{f}" for f in trouble.files if not f.endswith("conftest.py")]
    if brought == suite and ignored and not set(ignored) & set(suite.arguments):
        why = [f"no known package provides {module}" for module in trouble.modules]
        note(f"{listed(why) or trouble.because}: {listed(ignored)}")
        brought = msgspec.structs.replace(suite, arguments=(*suite.arguments, *ignored))
    suite = with_builds(brought, trouble.builds)
    # What its entry point calls a plugin is mostly the name of its package, too.
    plugins = {name for plugin in trouble.plugins for name in (plugin, f"pytest-{plugin}")}
    if refused := [r for r in suite.requirements if name_of_line(r) in plugins]:
        note(f"left out because this pytest rejects it: {listed(refused)}")
    remaining = tuple(r for r in suite.requirements if r not in refused)
    lost = re.findall(r"([\w.-]+) was not found in the package registry", trouble.because)
    if unknown := [r for r in remaining if name_of_line(r) in lost]:
        note(f"left out because the index does not have it: {listed(unknown)}")
        remaining = tuple(r for r in remaining if r not in unknown)
    elif trouble.is_refused:
        remaining = draft.imported_alone(suite.requirements, texts)
        if remaining != suite.requirements:
            gone = sorted({*suite.requirements} - {*remaining})
            note(f"left out because no test imports it: {listed(gone)}")
    return msgspec.structs.replace(suite, requirements=remaining)


def _workspace(
    root: Path,
    package: str,
    pythons: list[Version],
    suite: draft.SuiteDraft,
    beside: str = "matrices",
) -> Workspace:
    folder = root / beside / draft.axis_name(package)
    platform = machine_platform()
    files.write(folder / "matrix.toml", draft.trial_text(package, pythons, platform, suite))
    workspace = Workspace(folder, this_day(), cache_folder, index=index_options(), notify=note)
    name = workspace.matrix.subject_axis.normalised_name
    empty = Catalogue(packages=(Package(name=name, releases=()),))
    files.write(folder / "catalogue.json", encode_catalogue(empty, workspace.matrix))
    return workspace


def _print_minimums(
    checkout: BuiltCheckout, answered: floor.Minimums, python: str, suite: draft.SuiteDraft
) -> None:
    texts = [f"{m.declared} [{m.extra}]" if m.extra else m.declared for m in answered.minimums]
    states = [minimum.state for minimum in answered.minimums]
    titles = {"works": "true", "false": "false", "untested": "not testable here", "open": "open"}
    say_rendered(
        "minimums.txt",
        checkout=checkout,
        answered=answered,
        python=python,
        texts=texts,
        width=max(map(len, texts), default=0),
        counted=[
            f"{states.count(state)} {word}" for state, word in titles.items() if state in states
        ],
    )
    note(f"{suite.because}; {count(answered.runs, 'run')}")
    if answered.chosen is not None:
        note(f"the budget does not suffice for all tests; the {answered.chosen} fastest decided")
    if answered.failing:
        verb = "fails" if len(answered.failing) == 1 else "fail"
        failing = f"{count(len(answered.failing), 'test')} {verb}"
        note(f"{failing} with the newest versions, too: {listed(answered.failing, 3)}")
    if answered.stopped:
        note(f"stopped: {answered.stopped}")


def print_answer(answer: floor.FloorAnswer, question: floor.FloorQuestion) -> None:
    boundary = answer.boundary

    def ranges(positions: Sequence[int]) -> list[tuple[int, int]]:
        firsts = (p for p in positions if p - 1 not in positions)
        return [*zip(firsts, (p for p in positions if p + 1 not in positions), strict=True)]

    cells, beyond = answer.cells, ("below", "above")
    say_rendered(
        "boundary.txt",
        boundary=boundary,
        question=question,
        works=boundary.works,
        version=lambda position: cells[position].on(question.axis).version,
        why=lambda position: answer.because.get(cells[position].id, ""),
        ranges=ranges,
        beyond=beyond[question.end == "highest"],
        above=beyond[question.end == "lowest"],
    )
    earlier = count(boundary.runs - answer.cells_run, "earlier result")
    runs = count(answer.cells_run, "run")
    note(f"{boundary.confidence:.1%} certain, from {runs} and {earlier}")
