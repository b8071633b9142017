"""Other platforms than the matrix's own on the command line: what is known of plain installs there,
how a resolver is asked, and which runners could try them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from packaging.version import Version
from rich.table import Table

from compat import questions
from compat.advise.ranks import positions
from compat.advise.request import Request, wanted_coordinates
from compat.cli.machine import without_places
from compat.cli.output import console, envelope, note, report, say
from compat.declare.faults import choice
from compat.declare.parsing import minor_series
from compat.declare.platforms import PLATFORMS, PlatformName, own_name, target_of
from compat.errors import CompatError, NothingToDo, UsageError
from compat.lock.lockfile import Lock, Locker
from compat.plan.cell import parse_cell
from compat.results.plain_answers import PlainAnswer
from compat.results.platform_installs import (
    INSTALLABLE,
    PLATFORM_STATES,
    PlatformCause,
    PlatformInstall,
    platform_causes,
    split_platform,
)
from compat.site.platform_words import (
    PLATFORM_STYLES,
    installable_words,
    platform_line,
    platform_reason,
    platform_title,
)
from compat.site.wording import count, listed, ranges
from compat.workspace import Workspace

ALL = "all"
# What a runner tries each night leaves no record, so of all releases only the newest are tried.
MOST_TRIED = 3


def platforms_named(workspace: Workspace, text: str) -> tuple[PlatformName, ...]:
    """Return the platforms that an option names, or all that the matrix declares."""
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


def installs_on(
    workspace: Workspace, platforms: Collection[PlatformName]
) -> tuple[PlatformInstall, ...]:
    """Return what is known of plain installs on these platforms."""
    return tuple(i for i in workspace.snapshot.platform_installs if i.platform in platforms)


def show_platforms(workspace: Workspace, platforms: Sequence[PlatformName], as_json: bool) -> None:
    """Print each answer once, by platform; with JSON each install, too."""
    installs = installs_on(workspace, platforms)
    causes = platform_causes(installs)
    if as_json:
        envelope({"matrix": workspace.name, "installs": installs, "causes": causes})
        return
    package = workspace.matrix.subject_axis.package
    releases = list(dict.fromkeys(install.release for install in installs))
    for name in platforms:
        say(f"{platform_title(name)}: {installable_words(installs, name, package)}")
        for cause in causes:
            if cause.platform == name:
                _print_cause(cause, releases)


def show_platform_cell(workspace: Workspace, cell: str, as_json: bool) -> None:
    """Print what is known of one cell of another platform."""
    _, name = split_platform(cell)
    (platform,) = platforms_named(workspace, name)
    known = {install.cell: install for install in installs_on(workspace, (platform,))}
    if cell not in known:
        hint = f"compat show {workspace.name} --platform {platform} shows all"
        raise UsageError.of(f"nothing is asked about cell {cell!r}", hint=hint)
    if as_json:
        envelope({"matrix": workspace.name, "installs": [known[cell]]})
        return
    say(f"{cell}: {platform_line(known[cell])}")
    path = workspace.platforms.lock_path(platform, split_platform(cell)[0])
    if known[cell].state == "resolves" and path.exists():
        say(f"  lock: {_below_root(workspace, path)}")


def plan_platforms(
    workspace: Workspace, platforms: Sequence[PlatformName], as_json: bool, is_github: bool
) -> None:
    """Print how many plain installs have which answer, or the jobs for GitHub's runners."""
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
    if as_json:
        envelope({"matrix": workspace.name, "platforms": facts, "installs": installs})
        return
    tally = Counter((install.state, install.platform) for install in installs)
    table = Table("answer", *map(platform_title, platforms))
    for state in PLATFORM_STATES:
        numbers = [tally[state, name] for name in platforms]
        if any(numbers):
            table.add_row(PLATFORM_STYLES[state].word, *(f"{number:,}" for number in numbers))
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


def ask_platforms(
    workspace: Workspace,
    platforms: Sequence[PlatformName],
    words: Collection[str],
    resolver: Locker,
    jobs: int,
    most: int,
    as_json: bool,
) -> int:
    """Ask a resolver what metadata leaves open, keep and print each answer, and return the exit
    code.
    """
    open_installs = _in_turn(workspace, platforms, words)[:most]
    matrix, catalogue = workspace.matrix, workspace.kept_or_asked
    facts = {name: workspace.platforms.facts(matrix, catalogue, name) for name in platforms}

    def asked(install: PlatformInstall) -> tuple[PlainAnswer, Lock | None] | CompatError:
        try:
            return questions.asked_elsewhere(
                workspace, facts[install.platform], install, resolver, without_places
            )
        except CompatError as error:
            return error

    errors: list[CompatError] = []
    cells: set[str] = set()
    with ThreadPoolExecutor(jobs, thread_name_prefix="locker") as pool:
        for install, answer in zip(open_installs, pool.map(asked, open_installs), strict=True):
            if isinstance(answer, CompatError):
                errors.append(answer)
                report(answer.faults)
                continue
            workspace.platforms.keep_answer(install.platform, *answer)
            cells.add(install.cell)
    workspace.refresh()
    answers = [i for i in installs_on(workspace, platforms) if i.cell in cells]
    faults = [fault for error in errors for fault in error.faults]
    if as_json:
        envelope({"answers": answers}, faults)
    else:
        for install in answers:
            say(f"{install.cell}  {platform_line(install)}")
        note(f"{count(len(answers), 'plain install')} asked, {len(errors)} without an answer")
    is_other = any(install.state != "resolves" for install in answers)
    return max((error.exit_code for error in errors), default=1 if is_other else 0)


def _in_turn(
    workspace: Workspace, platforms: Sequence[PlatformName], words: Collection[str]
) -> list[PlatformInstall]:
    """What a resolver is asked: what is named, else all that metadata leaves open, first what was
    never asked, newest release first, then the oldest answers.
    """
    every = installs_on(workspace, platforms)
    left_open = [i for i in every if i.evidence != "declared" or i.state == "by-metadata"]
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
    """Return what releases come to on a platform, a line for each answer, then the newest release
    that installs there.
    """
    installs = installs_on(workspace, (platform,))
    lines: dict[str, list[str]] = {}
    for install in installs:
        is_python = pythons is None or Version(install.python) in pythons
        if is_python and Version(install.release) in releases:
            lines.setdefault(_without_python(install), []).append(install.python)
    package = workspace.matrix.subject_axis.package
    return [
        *(f"Python {listed(alike)}: {line}" for line, alike in lines.items()),
        installable_words(installs, platform, package),
    ]


def advised_elsewhere(
    workspace: Workspace,
    request: Request,
    best: Version | None,
    platforms: Sequence[PlatformName],
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
    """Return what is known of an installed release, else of the newest, on platforms by name."""
    known = {Version(install.release) for install in workspace.snapshot.platform_installs}
    newest = max(known, default=None)
    releases = {release} & known if release is not None else {newest} - {None}
    series = None if python is None else {Version(minor_series(python))}
    return {
        name: platform_lines(workspace, name, {r for r in releases if r is not None}, series)
        for name in platforms_named(workspace, text)
    }


def say_elsewhere(lines: dict[PlatformName, list[str]]) -> None:
    """Print what is known of a release on other platforms."""
    for name, sentences in lines.items():
        say(f"on {platform_title(name)}, where nothing was run:")
        for line in sentences:
            say(f"  {line}")


def _without_python(install: PlatformInstall) -> str:
    """The line of an install with its Python left open, so that those alike are told once."""
    line = platform_line(install)
    for tail in (f", not {install.python}", f" for Python {install.python}"):
        line = line.replace(tail, "", 1)
    return line


def _print_cause(cause: PlatformCause, releases: Sequence[str]) -> None:
    word = PLATFORM_STYLES[cause.state].word
    evidence = cause.example.evidence
    reason = platform_reason(cause.example)
    such = ", such as" if cause.is_example else ""
    say(f"  {count(cause.count, 'plain install')}: {word} ({evidence}){such}: {reason}")
    alike: dict[str, list[str]] = {}
    for python, versions in cause.releases.items():
        alike.setdefault(ranges(versions, releases), []).append(python)
    for versions_said, pythons in alike.items():
        say(f"    Python {listed(pythons)}: {versions_said}")


def _print_jobs(
    workspace: Workspace, platforms: Iterable[PlatformName], installs: Sequence[PlatformInstall]
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
    workspace: Workspace, platform: PlatformName, locked: Sequence[PlatformInstall]
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
