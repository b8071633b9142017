"""Plain installs on the command line, on the matrix's own platform and on others: `compat matrix
lock --plain` and `--platform` ask a resolver and keep its answers, `compat show` prints them,
`compat plan` says which runners could try them, and `compat ci record` takes those of another
machine.
"""

import datetime
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace
from packaging.version import Version

from compat import files, pipeline
from compat.advise.proof import positions
from compat.advise.request import Request, wanted_coordinates
from compat.cli.arguments import given
from compat.cli.machine import without_places
from compat.cli.output import console, envelope, note, report, say
from compat.declare.faults import choice
from compat.declare.parsing import minor_series
from compat.declare.platforms import PLATFORMS, PlatformName, own_name, target_of
from compat.errors import CompatError, DeclarationError, Fault, NothingToDo, UsageError
from compat.lock.lockfile import Lock, Locker
from compat.lock.recipe import inputs_of, lock_cell
from compat.plan.cell import Cell, parse_cell, split_platform
from compat.plan.feasible import Feasibility
from compat.plan.installs import plain_questions
from compat.results.installs import (
    INSTALLABLE,
    PLATFORM_STATES,
    Install,
    InstallCause,
    install_causes,
    plain_installs,
)
from compat.results.learnt import LOCKED, PlainAnswer, answer_of, decode_answers, keep_plain
from compat.run.outcome import Failed, is_spurious
from compat.site.install_words import (
    INSTALL_STYLES,
    install_line,
    install_reason,
    installable_words,
    platform_title,
)
from compat.site.wording import count, listed, ranges
from compat.workspace import Workspace

T = TypeVar("T")
Asked = tuple[PlainAnswer, Lock | None]
ALL = "all"
# What a runner tries each night leaves no record, so of all releases only the newest are tried.
MOST_TRIED = 3
# Without --most: at two seconds a question, which uv takes with a warm cache, about half an hour.
# Chosen on 2026-11-23; the largest matrix here has 238 questions.
MOST_QUESTIONS = 1000
# Of another machine so many refusals are asked about again, at about a second each.
_MOST_AGAIN = 300
# Answers of another machine that are older are not of its run. The same as for records.
MOST_DAYS = 7


def ask_plain(workspace: Workspace, resolver: Locker, jobs: int, most: int, as_json: bool) -> int:
    cells = _plain_in_turn(workspace, _cells(workspace))[:most]
    if not cells:
        because = "no release admits a Python and coordinates of it"
        message = f"matrix {workspace.name!r} has no plain install to ask about: {because}"
        raise NothingToDo.of(message)
    answers: list[PlainAnswer] = []
    errors: list[CompatError] = []

    def keep(_: Cell, asked: Asked) -> None:
        answer, lock = asked
        if lock is not None and lock != workspace.lock(answer.cell):
            workspace.keep_lock(answer.cell, lock)
        keep_plain(workspace.folder, [answer])
        workspace.refresh()
        answers.append(answer)
        if not as_json:
            because = f": {answer.because}" if answer.because else ""
            say(f"{answer.cell}  {answer.outcome}{because}")

    # The facts about the plan are worked out before the threads share them.
    assert workspace.feasibility is not None
    ask = partial(_plainly_asked, workspace, resolver)
    faults = _asked_each(cells, ask, jobs, keep, errors)
    if as_json:
        envelope({"answers": answers}, faults)
    else:
        tally = Counter(answer.outcome for answer in answers)
        for outcome, number in tally.most_common():
            note(f"{number:>5,}  {outcome}")
        without = f", {len(errors):,} without an answer" if errors else ""
        note(f"{count(len(answers) + len(errors), 'plain install')} asked{without}")
    other = any(answer.refusal is not None for answer in answers)
    return max((error.exit_code for error in errors), default=1 if other else 0)


def ask_platforms(
    workspace: Workspace,
    platforms: Sequence[PlatformName],
    words: Collection[str],
    resolver: Locker,
    jobs: int,
    most: int,
    as_json: bool,
) -> int:
    from compat import questions

    open_installs = _open_in_turn(workspace, platforms, words)[:most]
    matrix, catalogue = workspace.matrix, workspace.kept_or_asked
    facts = {name: workspace.platforms.facts(matrix, catalogue, name) for name in platforms}
    errors: list[CompatError] = []
    cells: set[str] = set()

    def ask(install: Install) -> Asked:
        own = facts[_elsewhere(install)]
        return questions.asked_elsewhere(workspace, own, install, resolver, without_places)

    def keep(install: Install, asked: Asked) -> None:
        workspace.platforms.keep_answer(_elsewhere(install), *asked)
        cells.add(install.cell)

    faults = _asked_each(open_installs, ask, jobs, keep, errors)
    workspace.refresh()
    answers = [i for i in installs_on(workspace, platforms) if i.cell in cells]
    if as_json:
        envelope({"answers": [install.row for install in answers]}, faults)
    else:
        say(*(f"{install.cell}  {install_line(install)}" for install in answers))
        note(f"{count(len(answers), 'plain install')} asked, {len(errors)} without an answer")
    is_other = any(install.state != "resolves" for install in answers)
    return max((error.exit_code for error in errors), default=1 if is_other else 0)


def _plainly_asked(workspace: Workspace, resolver: Locker, cell: Cell) -> Asked:
    return pipeline.asked_plain(workspace, cell, resolver, without_places)


def _asked_each(
    meant: Sequence[T],
    ask: Callable[[T], Asked],
    jobs: int,
    keep: Callable[[T, Asked], None],
    errors: list[CompatError],
) -> list[Fault]:
    def asked(question: T) -> Asked | CompatError:
        try:
            return ask(question)
        except CompatError as error:
            return error

    with ThreadPoolExecutor(jobs, thread_name_prefix="locker") as pool:
        for question, answer in zip(meant, pool.map(asked, meant), strict=True):
            if isinstance(answer, CompatError):
                errors.append(answer)
                report(answer.faults)
            else:
                keep(question, answer)
    return [fault for error in errors for fault in error.faults]


def _elsewhere(install: Install) -> PlatformName:
    assert install.platform, "this one is of another platform"
    return install.platform


def _cells(workspace: Workspace) -> list[Cell]:
    questions = plain_questions(workspace.feasibility)
    return [question.cell for question in questions if question.cell is not None]


def _plain_in_turn(workspace: Workspace, cells: Iterable[Cell]) -> list[Cell]:
    """The cells in the order in which they are asked: those never asked, newest release first, then
    the oldest answers.
    """
    answers = workspace.learnt.plain
    newest_first = list(cells)[::-1]
    unasked = [cell for cell in newest_first if cell.id not in answers]
    known = [cell for cell in newest_first if cell.id in answers]
    return [*unasked, *sorted(known, key=lambda cell: answers[cell.id].on)]


def show_plain(workspace: Workspace) -> None:
    installs = plain_installs(workspace.snapshot)
    causes = install_causes(installs)
    if given.as_json:
        _print_json(workspace, installs, causes)
        return
    releases = list(dict.fromkeys(install.release for install in installs))
    for cause in causes:
        on = "" if cause.on is None else f", as of {_days(cause.on)}"
        say(
            f"{count(cause.count, 'plain install')}: {INSTALL_STYLES[cause.state].word}{on}:"
            f" {install_reason(cause)}"
        )
        if "-fail:" in cause.outcome:
            say(f"  {cause.outcome}, such as: {cause.example.because}")
        for python, versions in cause.releases.items():
            say(f"  Python {python}: {ranges(versions, releases)}")


def _days(days: tuple[datetime.date, datetime.date]) -> str:
    first, last = days
    return str(last) if first == last else f"{first} to {last}"


def advised_plain(workspace: Workspace, request: Request) -> list[str]:
    snapshot = workspace.snapshot
    wanted = {want.axis.name for want in request.wants}
    subject, python = snapshot.matrix.subject, snapshot.matrix.interpreters.name
    if subject not in wanted:
        return []
    asked = wanted_coordinates(request, positions(snapshot), snapshot.catalogue)
    if len(asked[subject]) != 1:
        return []
    lines: dict[str, list[str]] = {}
    for install in plain_installs(snapshot):
        pair = (Version(install.release), Version(install.python))
        if pair[0] in asked[subject] and (python not in wanted or pair[1] in asked[python]):
            lines.setdefault(install_line(install), []).append(install.python)
    return [f"Python {listed(pythons)}: {line}" for line, pythons in lines.items()]


def take_plain(workspace: Workspace, path: Path) -> int:
    """Keep the sound answers of a file that another machine made, name the others, and return the
    exit code.

    An answer is sound when it is about a plain install of this checkout, of today or at most
    MOST_DAYS days old, newer than the one that is kept, and, where it says that a resolver found
    packages, its lock is kept here, else a resolver refuses it here, too.
    """
    handed = decode_answers(files.read(path).decode(errors="replace"), path.name)
    planned = {cell.id: cell for cell in _cells(workspace)}
    again = AskedAgain(workspace)
    taken: list[PlainAnswer] = []
    faults: list[Fault] = []
    for answer in handed.values():
        before = workspace.learnt.plain.get(answer.cell)
        if answer == before:
            continue
        why = "" if answer.cell in planned else "is not a plain install of this matrix"
        why = why or untimely(answer, before, workspace.day)
        if not why and answer.refusal is None and answer.cell not in workspace.lock_digests:
            why = "says that packages were found, and its lock is not here"
        try:
            if why:
                raise DeclarationError.of(why)
            own = again.checked(answer, workspace.feasibility, planned[answer.cell])
            taken += [own] if own else []
        except DeclarationError as error:
            place = f"{path.name}: {answer.cell}"
            faults += (replace(fault, path=place) for fault in error.faults)
    if taken:
        keep_plain(workspace.folder, taken)
        workspace.refresh()
    if given.as_json:
        envelope({"kept": taken, "refused": [fault.path for fault in faults]}, faults)
    report(faults)
    again.tell()
    note(f"{count(len(taken), 'answer')} kept, {len(faults)} refused")
    return 1 if faults else 0


class AskedAgain:
    """What another machine says that a resolver refused, asked again here."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._asked = self._left = 0

    @cached_property
    def locker(self) -> Locker:
        """It builds nothing: other people's code has no business where records are kept."""
        from compat.cli.this_machine import refusing_locker

        return refusing_locker(self._workspace)

    def may_ask(self, questions: int = 1) -> bool:
        """Count questions; False when there are too many, and what they are about is left out."""
        if self._asked + questions > _MOST_AGAIN:
            self._left += 1
            return False
        self._asked += questions
        return True

    def checked(self, answer: PlainAnswer, facts: Feasibility, cell: Cell) -> PlainAnswer | None:
        """Return the answer in the words of this machine; None when there are too many to ask.

        What waits for a build says nothing about the versions, and a build that the matrix names is
        taken on its word. Raises DeclarationError for a refusal that is none here.
        """
        refusal, matrix = answer.refusal, facts.matrix
        if refusal is None or is_spurious(refusal) or refusal.subject in matrix.builds:
            return republished(answer)
        if refusal.cause in ("build", "unsupported"):
            raise DeclarationError.of("is refused for a build that the matrix does not name")
        if not self.may_ask():
            return None
        inputs = inputs_of(facts, cell, with_suite=False)
        package_of = self._workspace.source.package
        result = lock_cell(self.locker, inputs, package_of, matrix.margin_days)
        own = answer_of(cell.id, result, answer.on, without_places)
        if own.refusal is None:
            raise DeclarationError.of(f"is {refusal} there, and a resolver finds packages here")
        return own

    def tell(self) -> None:
        if self._left:
            note(f"compat: {self._left:,} more were not kept: too many to ask a resolver again")


def untimely(answer: PlainAnswer, before: PlainAnswer | None, day: datetime.date) -> str:
    """Return why an answer of another machine is not of its run; empty when it can be."""
    if not -1 <= (day - answer.on).days <= MOST_DAYS:
        return f"is of {answer.on}, and answers of the last {MOST_DAYS} days are taken"
    if before is not None and answer.on < before.on:
        return f"is of {answer.on}, and one of {before.on} is kept"
    return ""


def republished(answer: PlainAnswer) -> PlainAnswer:
    refusal = answer.refusal
    if refusal is None:
        return PlainAnswer(cell=answer.cell, on=answer.on, outcome=LOCKED)
    failed = Failed(stage="lock", cause=refusal.cause, subject=without_places(refusal.subject))
    because = without_places(answer.because)
    return PlainAnswer(cell=answer.cell, on=answer.on, outcome=str(failed), because=because)


def platforms_named(workspace: Workspace, text: str) -> tuple[PlatformName, ...]:
    declared = workspace.matrix.platforms
    if not declared:
        hint = f"`platforms = [...]` in matrices/{workspace.name}/matrix.toml declares some"
        raise NothingToDo.of(f"matrix {workspace.name!r} declares no other platform", hint=hint)
    if text == ALL:
        return declared
    if text == own_name(workspace.matrix.platform):
        raise UsageError.of(
            f"{text!r} is the matrix's own platform, where its cells run",
            path="--platform",
            hint="the same command without --platform is about it",
        )
    named = tuple(name for name in declared if name == text)
    if not named:
        known = choice(text, (*declared, ALL))
        raise UsageError.of(f"{text!r} is no platform of this matrix; {known}", path="--platform")
    return named


def installs_on(workspace: Workspace, platforms: Collection[PlatformName]) -> tuple[Install, ...]:
    return tuple(i for i in workspace.snapshot.platform_installs if i.platform in platforms)


def show_platforms(workspace: Workspace, platforms: Sequence[PlatformName]) -> None:
    installs = installs_on(workspace, platforms)
    causes = install_causes(installs)
    if given.as_json:
        _print_json(workspace, installs, causes)
        return
    package = workspace.matrix.subject_axis.package
    releases = list(dict.fromkeys(install.release for install in installs))
    for name in platforms:
        say(f"{platform_title(name)}: {installable_words(installs, name, package)}")
        for cause in causes:
            if cause.platform == name:
                word = INSTALL_STYLES[cause.state].word
                evidence = cause.example.evidence
                reason = install_reason(cause.example)
                such = ", such as" if cause.is_example else ""
                say(f"  {count(cause.count, 'plain install')}: {word} ({evidence}){such}: {reason}")
                alike: dict[str, list[str]] = {}
                for python, versions in cause.releases.items():
                    alike.setdefault(ranges(versions, releases), []).append(python)
                for versions_said, pythons in alike.items():
                    say(f"    Python {listed(pythons)}: {versions_said}")


def show_platform_cell(workspace: Workspace, cell: str) -> None:
    _, name = split_platform(cell)
    (platform,) = platforms_named(workspace, name)
    known = {install.cell: install for install in installs_on(workspace, (platform,))}
    if cell not in known:
        hint = f"compat show {workspace.name} --platform {platform} shows all"
        raise UsageError.of(f"nothing is asked about cell {cell!r}", hint=hint)
    if given.as_json:
        envelope({"matrix": workspace.name, "installs": [known[cell].row]})
        return
    say(f"{cell}: {install_line(known[cell])}")
    path = workspace.platforms.lock_path(platform, split_platform(cell)[0])
    if known[cell].state == "resolves" and path.exists():
        say(f"  lock: {_below_root(workspace, path)}")


def plan_platforms(
    workspace: Workspace, platforms: Sequence[PlatformName], is_github: bool
) -> None:
    installs = installs_on(workspace, platforms)
    if is_github:
        _print_jobs(workspace, platforms, installs)
        return
    facts = [
        {
            "name": name,
            "title": platform_title(name),
            "target": target_of(name, workspace.matrix.platform),
            "runner": PLATFORMS[name].runner,
        }
        for name in platforms
    ]
    if given.as_json:
        rows = [install.row for install in installs]
        envelope({"matrix": workspace.name, "platforms": facts, "installs": rows})
        return
    from rich.table import Table

    tally = Counter((install.state, install.platform) for install in installs)
    table = Table("answer", *map(platform_title, platforms))
    for state in PLATFORM_STATES:
        numbers = [tally[state, name] for name in platforms]
        if any(numbers):
            table.add_row(INSTALL_STYLES[state].word, *(f"{number:,}" for number in numbers))
    evidence = Counter(install.evidence for install in installs)
    parts = [f"{number:,} {word}" for word, number in evidence.most_common()]
    say(
        f"{workspace.matrix.title}: {count(len(installs), 'plain install')} on other platforms, by"
        f" evidence: {listed(parts)}"
    )
    console().print(table)
    name = workspace.name
    note(
        f"Next: compat show {name} --platform {platforms[0]} says why; compat matrix lock {name}"
        f" --platform {platforms[0]} asks a resolver what metadata leaves open."
    )


def _open_in_turn(
    workspace: Workspace, platforms: Sequence[PlatformName], words: Collection[str]
) -> list[Install]:
    """What a resolver is asked: what is named, else all that metadata leaves open, first what was
    never asked, newest release first, then the oldest answers.
    """
    every = installs_on(workspace, platforms)
    left_open = [i for i in every if i.is_open]
    if words:
        wanted = {split_platform(word)[0] for word in words}
        chosen = [i for i in left_open if split_platform(i.cell)[0] in wanted]
        for cell in sorted(wanted - {split_platform(i.cell)[0] for i in chosen}):
            parse_cell(cell, workspace.matrix)
            raise UsageError.of(
                f"metadata leaves nothing open about {cell} on {listed(platforms)}",
                hint=f"compat show {workspace.name} --platform {platforms[0]} says what is known",
            )
        return chosen
    if not left_open:
        titles = listed([platform_title(name) for name in platforms])
        answered = f"metadata answers all {count(len(every), 'plain install')} on {titles}"
        hint = f"compat show {workspace.name} --platform {platforms[0]} shows them"
        raise NothingToDo.of(f"{answered}, so no resolver is asked", hint=hint)
    never = [install for install in left_open if install.on is None]
    asked = sorted((i for i in left_open if i.on is not None), key=lambda i: str(i.on))
    return [*never[::-1], *asked]


def platform_lines(
    workspace: Workspace,
    platform: PlatformName,
    releases: Collection[Version],
    pythons: Collection[Version] | None = None,
) -> list[str]:
    installs = installs_on(workspace, (platform,))
    lines: dict[str, list[str]] = {}
    for install in installs:
        is_python = pythons is None or Version(install.python) in pythons
        if is_python and Version(install.release) in releases:
            # The line of an install with its Python left open, so that those alike are told once.
            line = install_line(install)
            for tail in (f", not {install.python}", f" for Python {install.python}"):
                line = line.replace(tail, "", 1)
            lines.setdefault(line, []).append(install.python)
    package = workspace.matrix.subject_axis.package
    return [
        *(f"Python {listed(alike)}: {line}" for line, alike in lines.items()),
        installable_words(installs, platform, package),
    ]


def advised_elsewhere(
    workspace: Workspace, request: Request, best: Version | None, platforms: Sequence[PlatformName]
) -> tuple[dict[PlatformName, list[str]], list[PlatformName]]:
    """Return what is known on each platform of the best release, else of the newest that is asked
    for, and on which of them it does not install on a Python that is asked for.
    """
    snapshot = workspace.snapshot
    subject, python = snapshot.matrix.subject, snapshot.matrix.interpreters.name
    wanted = wanted_coordinates(request, positions(snapshot), snapshot.catalogue)
    asked = wanted.get(python)
    every = {Version(install.release) for install in snapshot.platform_installs}
    newest = max(wanted.get(subject, frozenset(every)) & every, default=None)
    best = newest if best is None else best
    installing = {
        install.platform
        for install in installs_on(workspace, platforms)
        if install.state in INSTALLABLE
        and Version(install.release) == best
        and (asked is None or Version(install.python) in asked)
    }
    releases = set() if best is None else {best}
    lines = {name: platform_lines(workspace, name, releases, asked) for name in platforms}
    return lines, [name for name in platforms if name not in installing]


def known_elsewhere(
    workspace: Workspace, release: Version | None, python: Version | None, text: str
) -> dict[PlatformName, list[str]]:
    known = {Version(install.release) for install in workspace.snapshot.platform_installs}
    newest = max(known, default=None)
    releases = {release} & known if release is not None else {newest} - {None}
    series = None if python is None else {Version(minor_series(python))}
    return {
        name: platform_lines(workspace, name, {r for r in releases if r is not None}, series)
        for name in platforms_named(workspace, text)
    }


def say_elsewhere(lines: dict[PlatformName, list[str]]) -> None:
    for name, sentences in lines.items():
        say(f"on {platform_title(name)}, where nothing was run:")
        say(*sentences, indent=2)


def _print_jobs(
    workspace: Workspace, platforms: Iterable[PlatformName], installs: Sequence[Install]
) -> None:
    """Print one line for a GitHub job's matrix: a job for each platform that has a runner and each
    Python of which a cell has a lock there, with the newest releases.
    """
    include: list[dict[str, str]] = []
    for name in platforms:
        locked = [i for i in installs if i.platform == name and i.state == "resolves"]
        runner, title = PLATFORMS[name].runner, platform_title(name)
        if not runner:
            note(f"no runner of GitHub's is known for {title}")
        elif not locked:
            note(f"no cell of {title} has a lock, so no runner is asked for")
        else:
            include += _jobs(workspace, name, locked)
    print(msgspec.json.encode({"include": include}).decode())


def _jobs(
    workspace: Workspace, platform: PlatformName, locked: Sequence[Install]
) -> Iterator[dict[str, str]]:
    axis = workspace.matrix.subject_axis
    for python in sorted({Version(install.python) for install in locked}):
        of_python = (install for install in locked if Version(install.python) == python)
        newest = sorted(of_python, key=lambda install: Version(install.release))[-MOST_TRIED:]
        cells = [install.cell for install in newest]
        paths = (workspace.platforms.lock_path(platform, split_platform(c)[0]) for c in cells)
        yield {
            "platform": platform,
            "runner": PLATFORMS[platform].runner,
            "python": str(python),
            "cells": " ".join(cells),
            "locks": " ".join(_below_root(workspace, path) for path in paths),
            "module": workspace.matrix.suite.module or axis.package.replace("-", "_"),
        }


def _below_root(workspace: Workspace, path: Path) -> str:
    return f"matrices/{workspace.name}/{path.relative_to(workspace.folder).as_posix()}"


def _print_json(
    workspace: Workspace, installs: Iterable[Install], causes: Iterable[InstallCause]
) -> None:
    rows = {"installs": [i.row for i in installs], "causes": [cause.row for cause in causes]}
    envelope({"matrix": workspace.name, **rows})
