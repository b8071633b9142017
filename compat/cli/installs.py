"""Plain installs, on the matrix's platform and on others, for the commands that resolve, show, plan
and import them.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace
from packaging.version import Version

from compat import pipeline
from compat.advise.answer import positions
from compat.advise.request import Request, wanted_coordinates
from compat.cli.machine import without_paths
from compat.cli.output import answer, envelope, note, report, say
from compat.declare.matrix import PLATFORMS, PlatformName, own_name
from compat.declare.parsing import choice
from compat.errors import CompatError, NothingToDo, UsageError
from compat.lock.lockfile import Lock, Locker
from compat.plan.cell import parse_cell, split_platform
from compat.results.installs import (
    INSTALLABLE,
    Install,
    declared_installs,
    install_causes,
    plain_installs,
)
from compat.results.learnt import PLAIN, PlainAnswer, store_answers
from compat.site.status import (
    INSTALL_STYLES,
    by_python,
    install_line,
    install_reason,
    installable_words,
    platform_title,
)
from compat.site.wording import count, listed
from compat.workspace import Workspace

T = TypeVar("T")
R = TypeVar("R")
Asked = tuple[PlainAnswer, Lock | None]
ALL = "all"
# What a runner tries each night leaves no record, so of all releases only the newest are tried.
MOST_TRIED = 3
# Without --most: at two seconds a question, which uv takes with a warm cache, about half an hour.
# Chosen on 2026-11-23; the largest matrix here has 238 questions.
MOST_QUESTIONS = 1000


def resolve_installs(
    workspace: Workspace,
    platforms: Sequence[PlatformName],
    words: Collection[str],
    resolver: Locker,
    jobs: int,
    most: int,
) -> int:
    """Resolve plain installs on these platforms, without any on the matrix's own.

    The named ones, else all that metadata does not decide: unknown ones first, newest release
    first, then the oldest answers.
    """
    meant = _meant(workspace, platforms, words)
    matrix, catalogue = workspace.matrix, workspace.stored_or_fetched if platforms else None
    facts = {n: workspace.platforms.facts(matrix, catalogue, n) for n in platforms if catalogue}
    answers: list[PlainAnswer] = []

    def ask(install: Install) -> Asked:
        own = facts[install.platform] if install.platform else workspace.feasibility
        cell = parse_cell(split_platform(install.cell)[0], own.matrix)
        return pipeline.plain_install_of(workspace, own, cell, resolver, without_paths)

    errors: list[CompatError] = []
    for install, (own, lock) in side_by_side(meant[:most], ask, jobs, errors):
        if install.platform:
            workspace.platforms.store_answer(install.platform, own, lock)
        else:
            if lock is not None and lock != workspace.lock(own.cell):
                workspace.keep_lock(own.cell, lock)
            store_answers(workspace.folder, PLAIN, [own])
            workspace.refresh()
        answers.append(replace(own, cell=install.cell))
        if not platforms:
            because = f": {own.because}" if own.because else ""
            say(f"{install.cell}  {own.outcome}{because}")

    workspace.refresh()
    cells = {answer.cell for answer in answers}
    elsewhere = [i for i in installs_on(workspace, platforms) if i.cell in cells]
    faults = [fault for error in errors for fault in error.faults]
    envelope({"answers": [i.row for i in elsewhere] if platforms else answers}, faults)
    say(*(f"{install.cell}  {install_line(install)}" for install in elsewhere))
    for outcome, number in Counter(each.outcome for each in answers).most_common():
        note(f"{number:>5,}  {outcome}")
    without = f", {len(errors):,} without an answer" if errors else ""
    note(f"{count(len(answers) + len(errors), 'plain install')} resolved{without}")
    refused = any(answer.refusal is not None for answer in answers)
    return max((error.exit_code for error in errors), default=1 if refused else 0)


def _meant(
    workspace: Workspace, platforms: Sequence[PlatformName], words: Collection[str]
) -> list[Install]:
    if not platforms:
        before = workspace.learnt.plain
        meant = [install for install in declared_installs(workspace.feasibility) if install.cell]
        if not meant:
            because = "no release admits its Pythons and versions"
            raise NothingToDo.of(f"matrix {workspace.name!r} has no plain install: {because}")
        asked = {install.cell: before.get(install.cell) for install in meant}
        meant.reverse()
        meant.sort(key=lambda i: str(known.on) if (known := asked[i.cell]) else "")
        return meant
    every = installs_on(workspace, platforms)
    meant = [install for install in every if install.is_open]
    hint = f"compat show {workspace.name} --platform {platforms[0]}"
    if words:
        wanted = {split_platform(word)[0] for word in words}
        meant = [install for install in meant if split_platform(install.cell)[0] in wanted]
        for cell in sorted(wanted - {split_platform(install.cell)[0] for install in meant}):
            parse_cell(cell, workspace.matrix)
            message = f"metadata already answers {cell} on {listed(platforms)}"
            raise UsageError.of(message, hint=f"{hint} shows it")
        return meant
    if not meant:
        titles = listed([platform_title(name) for name in platforms])
        answered = f"metadata answers all {count(len(every), 'plain install')} on {titles}"
        raise NothingToDo.of(f"{answered}, so nothing is resolved", hint=f"{hint} shows them")
    meant.reverse()
    meant.sort(key=lambda install: str(install.on or ""))
    return meant


def side_by_side(
    questions: Sequence[T], ask: Callable[[T], R], jobs: int, errors: list[CompatError]
) -> Iterator[tuple[T, R]]:
    """Ask in several threads and yield the answers in the order of the questions, to one thread:
    what is known of records belongs to it. An error is reported, and added to `errors`.
    """

    def answer(question: T) -> R | CompatError:
        try:
            return ask(question)
        except CompatError as error:
            return error

    with ThreadPoolExecutor(jobs, thread_name_prefix="locker") as pool:
        for question, answered in zip(questions, pool.map(answer, questions), strict=True):
            if isinstance(answered, CompatError):
                errors.append(answered)
                report(answered.faults)
            else:
                yield question, answered


def show_installs(workspace: Workspace, platforms: Sequence[PlatformName] = ()) -> None:
    """Show the plain installs on these platforms; without any those on the matrix's own."""
    snapshot, package = workspace.snapshot, workspace.matrix.subject_axis.package
    installs = installs_on(workspace, platforms) if platforms else plain_installs(snapshot)
    causes = install_causes(installs)
    rows = {"installs": [i.row for i in installs], "causes": [cause.row for cause in causes]}
    envelope({"matrix": workspace.name, **rows})
    releases = list(dict.fromkeys(install.release for install in installs))
    for name in platforms or ("",):
        if name:
            say(f"{platform_title(name)}: {installable_words(installs, name, package)}")
        for cause in (cause for cause in causes if cause.platform == name):
            word, example = INSTALL_STYLES[cause.state].word, cause.example
            what = count(cause.count, "plain install")
            if name:
                word += f" ({example.evidence})" + (", such as" if cause.is_example else "")
                say(f"  {what}: {word}: {install_reason(example)}")
            else:
                days = " to ".join(map(str, dict.fromkeys(cause.on or ())))
                word += f", as of {days}" if days else ""
                say(f"{what}: {word}: {install_reason(cause)}")
                if "-fail:" in cause.outcome:
                    say(f"  {cause.outcome}, such as: {example.because}")
            for pythons, words in by_python(cause.releases, releases):
                say(f"    Python {pythons}: {words}")


def _lines(
    installs: Iterable[Install],
    releases: Collection[Version],
    pythons: Collection[Version] | None,
) -> list[str]:
    lines = dict[str, list[str]]()
    for install in installs:
        is_python = pythons is None or Version(install.python) in pythons
        if is_python and Version(install.release) in releases:
            # The line of an install without its Python, so that equal ones are printed once.
            line = install_line(install)
            for tail in (f", not {install.python}", f" for Python {install.python}"):
                line = line.replace(tail, "", 1) if install.platform else line
            lines.setdefault(line, []).append(install.python)
    return [f"Python {listed(alike)}: {line}" for line, alike in lines.items()]


def platforms_named(workspace: Workspace, text: str) -> tuple[PlatformName, ...]:
    declared = workspace.matrix.platforms
    if not declared:
        hint = f"`platforms = [...]` in matrices/{workspace.name}/matrix.toml declares some"
        raise NothingToDo.of(f"matrix {workspace.name!r} declares no other platform", hint=hint)
    named = declared if text == ALL else tuple(name for name in declared if name == text)
    if not named and text == own_name(workspace.matrix.platform):
        hint = "use the same command without --platform"
        message = f"{text!r} is the matrix's own platform, where its cells run"
        raise UsageError.of(message, path="--platform", hint=hint)
    if not named:
        known = choice(text, (*declared, ALL))
        raise UsageError.of(f"{text!r} is no platform of this matrix; {known}", path="--platform")
    return named


def installs_on(workspace: Workspace, platforms: Collection[PlatformName]) -> tuple[Install, ...]:
    return tuple(i for i in workspace.snapshot.platform_installs if i.platform in platforms)


def show_platform_cell(workspace: Workspace, cell: str) -> None:
    own, name = split_platform(cell)
    (platform,) = platforms_named(workspace, name)
    known = {install.cell: install for install in installs_on(workspace, (platform,))}
    if cell not in known:
        hint = f"compat show {workspace.name} --platform {platform} shows all"
        raise UsageError.of(f"no plain install for cell {cell!r}", hint=hint)
    path = workspace.platforms.lock_path(platform, own)
    has_lock = known[cell].state == "resolves" and path.exists()
    lines = [f"lock: {_below_root(workspace, path)}"] if has_lock else []
    document = {"matrix": workspace.name, "installs": [known[cell].row]}
    answer(document, f"{cell}: {install_line(known[cell])}", lines)


def advised_installs(
    workspace: Workspace, request: Request, best: Version | None, platforms: Sequence[PlatformName]
) -> tuple[list[str], dict[PlatformName, list[str]], list[PlatformName]]:
    """Return the results of plain installs: here if one release is requested, and on each platform
    of the best release (else the newest requested). Then the platforms on which that does not
    install on a requested Python.
    """
    snapshot, package = workspace.snapshot, workspace.matrix.subject_axis.package
    subject, python = snapshot.matrix.subject, snapshot.matrix.interpreters.name
    wanted = wanted_coordinates(request, positions(snapshot), snapshot.catalogue)
    asked, own = wanted.get(python), list[str]()
    if subject in {want.axis.name for want in request.wants} and len(wanted[subject]) == 1:
        own = _lines(plain_installs(snapshot), wanted[subject], asked)
    if best is None and platforms:
        every = {Version(install.release) for install in snapshot.platform_installs}
        best = max(wanted.get(subject, frozenset(every)) & every, default=None)
    lines, without = {}, []
    for name in platforms:
        installs = installs_on(workspace, (name,))
        of_best = [i for i in installs if best is not None and Version(i.release) == best]
        known = _lines(of_best, {best} if best is not None else (), asked)
        lines[name] = [*known, installable_words(installs, name, package)]
        on_asked = (i for i in of_best if asked is None or Version(i.python) in asked)
        if not any(install.state in INSTALLABLE for install in on_asked):
            without.append(name)
    return own, lines, without


def jobs_of(workspace: Workspace, text: str) -> list[dict[str, str]]:
    """Return GitHub's jobs that try the locks of plain installs on other platforms."""
    if not workspace.matrix.platforms:
        note(f"matrix {workspace.name!r} declares no other platform, so no runner is needed")
        return []
    axis, include = workspace.matrix.subject_axis, list[dict[str, str]]()
    for name in platforms_named(workspace, text):
        locked = [i for i in installs_on(workspace, (name,)) if i.state == "resolves"]
        runner, title = PLATFORMS[name].runner, platform_title(name)
        if not runner:
            note(f"GitHub has no known runner for {title}")
            continue
        if not locked:
            note(f"no cell of {title} has a lock, so no runner is needed")
        for python in sorted({Version(install.python) for install in locked}):
            of_python = (install for install in locked if Version(install.python) == python)
            newest = sorted(of_python, key=lambda install: Version(install.release))[-MOST_TRIED:]
            cells = [install.cell for install in newest]
            paths = (workspace.platforms.lock_path(name, split_platform(c)[0]) for c in cells)
            include.append(
                {
                    "platform": name,
                    "runner": runner,
                    "python": str(python),
                    "cells": " ".join(cells),
                    "locks": " ".join(_below_root(workspace, path) for path in paths),
                    "module": workspace.matrix.suite.module or axis.package.replace("-", "_"),
                }
            )
    return include


def _below_root(workspace: Workspace, path: Path) -> str:
    return f"matrices/{workspace.name}/{path.relative_to(workspace.folder).as_posix()}"
