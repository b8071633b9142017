"""The lockers of a matrix: uv, whose named builds are isolated, or pip-tools."""

from collections.abc import Sequence
from functools import partial

from packaging.version import Version

from compat.cli.machine import (
    cache_folder,
    environ,
    install_variables,
    interpreter,
    level_folder,
    level_of,
    readable_places,
    sandbox_folder,
)
from compat.cli.options import LockerName
from compat.declare.parsing import minor_series, parse_release
from compat.errors import ToolFailed, UsageError
from compat.index.release import Published
from compat.lock.lockfile import Inputs, Locker, Pin, Refusal
from compat.lock.piptools import PipToolsLocker
from compat.lock.sources import Build, NamedBuilds, SourceRelease
from compat.lock.uv import UvLocker
from compat.plan.platform import python_name, python_remedy
from compat.run.builds import BUILD_SECONDS, Builder, Workshop
from compat.run.evidence import Isolation, Limits
from compat.workspace import Workspace


def locker_of(
    workspace: Workspace,
    name: LockerName,
    level: Isolation | None = None,
    shown: Sequence[SourceRelease] = (),
) -> Locker:
    """Return the locker of that name; builds run at the isolation level, else at the highest that
    there is. uv is `shown` releases that no index has.
    """
    if name == "pip-tools":
        return PipToolsLocker(
            workspace.index, workspace.source, environ(), interpreter, cache_folder()
        )
    builder = Builder(lambda python: workshop_of(workspace, python, level or level_of("")))
    return _uv(workspace, builder, shown)


def probing_locker(workspace: Workspace) -> Locker:
    """Return a locker that says whether there are packages for a cell.

    What a source distribution requires it learns from one build for each Python, whatever the date:
    that decides the tools of a build, seldom what comes of it. Its locks are none to install.
    """
    builder = Builder(lambda python: workshop_of(workspace, python, level_of("")))
    known: dict[tuple[Pin, str], Published] = {}

    def build(inputs: Inputs, pin: Pin) -> Published | Refusal:
        key = (pin, minor_series(inputs.python))
        if key not in known:
            asks = builder(inputs, pin)
            if isinstance(asks, Refusal):
                return asks
            known[key] = asks
        return known[key]

    return _uv(workspace, build)


def refusing_locker(workspace: Workspace) -> Locker:
    """Return a locker that builds nothing: what a build would have to tell it takes for nothing.

    So its refusals hold whatever the builds would tell; its locks are none to install.
    """
    return _uv(workspace, None)


def wheels_locker(workspace: Workspace, name: LockerName) -> Locker:
    """Return a locker for other platforms, which builds nothing: what would have to be built there
    it takes for such that requires nothing, and says so.

    Raises UsageError for pip-tools, which cannot resolve for another platform.
    """
    if name == "pip-tools":
        raise UsageError.of(
            "pip-tools resolves for the machine that it runs on alone, not for another platform",
            path="--locker",
            hint="--locker uv does",
        )
    return refusing_locker(workspace)


def _uv(workspace: Workspace, build: Build | None, shown: Sequence[SourceRelease] = ()) -> Locker:
    environment = {"UV_CACHE_DIR": str(sandbox_folder() / "uv"), **environ()}
    named = tuple(map(parse_release, workspace.matrix.builds))
    builds = NamedBuilds(named, workspace.source, build)
    find_python = partial(interpreter, platform=workspace.matrix.platform)
    return UvLocker(workspace.index, environment, find_python, builds, shown)


def workshop_of(workspace: Workspace, patch: Version, level: Isolation) -> Workshop:
    python = interpreter(patch, workspace.matrix.platform)
    suite = workspace.matrix.suite
    if python is None:
        series = python_name(patch, workspace.matrix.platform)
        hint = python_remedy(series)
        raise ToolFailed.of(
            f"a build for Python {series} needs that Python, and this machine has none", hint=hint
        )
    return Workshop(
        python=python,
        level=level,
        index=workspace.index,
        variables=install_variables(workspace.index, level),
        limits=Limits(
            wall_seconds=BUILD_SECONDS,
            silence_seconds=BUILD_SECONDS,
            memory_mb=suite.memory_mb,
            processes=500,
            output_mb=5,
            disk_mb=suite.disk_mb,
        ),
        shelf=str(level_folder(level) / "builds"),
        readable=readable_places(python),
    )
