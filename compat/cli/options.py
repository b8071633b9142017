"""The options that several commands share, and the workspace that they name."""

import contextlib
import datetime
import importlib.util
from pathlib import Path
from typing import Literal

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.cli.arguments import argument, given, matrices_folder, matrix_names, nearest, option
from compat.cli.machine import cache_folder, today
from compat.cli.output import note
from compat.declare.parsing import parse_version
from compat.errors import DeclarationError, Fault, UsageError
from compat.index.settings import IndexOptions, IndexSettings, settings
from compat.run.suitefiles import settings_texts
from compat.value import encode
from compat.workspace import Workspace


def faults_of_suite(workspace: Workspace) -> tuple[Fault, ...]:
    folder = workspace.suite_folder
    texts = workspace.suite_texts | settings_texts(folder) if folder.is_dir() else None

    def look() -> bytes:
        from compat.declare.capabilities import suite_faults

        path = f"matrices/{workspace.name}/matrix.toml"
        return encode(suite_faults(workspace.matrix, texts, path))

    body = workspace.keep("suite-faults", (encode(texts),), look)
    return msgspec.json.decode(body, type=tuple[Fault, ...])


LockerName = Literal["uv", "pip-tools"]
MATRIX_NAME = argument("A matrix: folder name, title or package.", metavar="MATRIX")
CELL_NAMES = argument("Cell ids or globs.", metavar="[CELL]...")
ISOLATION_LEVEL = option("L3, L2, L1 or L0 (default: highest available).")
KEEP_RECORDS = option("Store the checkout's locks and records by commit.")
POLICY_DAY = option("Evaluate as of this day, such as 2027-04-01.", "--today", metavar="DATE")
OTHER_PLATFORM = option("Declared platform, such as macos-arm64, or all.", metavar="PLATFORM")
QUICK = option("Run only the matrix's smoke cells.")
JOBS = option("Cells at once (default: one a core), limited by memory and disk.", "-j", min=0)
JUNIT_FILE = option("Write the results as JUnit XML.", metavar="FILE")
SUMMARY_FILE = option("Append a Markdown summary, for $GITHUB_STEP_SUMMARY.", metavar="FILE")
REPOSITORY_NAME = option("owner/name on GitHub (default: GITHUB_REPOSITORY).")
DRY_RUN = option("With --open: print requests, send nothing.")
AT = option("Fix the version of another axis; repeatable.", metavar="AXIS=VERSION")


def needs_extra(extra: str, module: str) -> None:
    """Raise UsageError, with the command that installs it, for a missing optional dependency."""
    if importlib.util.find_spec(module) is None:
        hint = f"pip install 'compat-matrix[{extra}]'"
        raise UsageError.of(f"this command needs {module}, which is not installed", hint=hint)


def index_options() -> IndexOptions:
    return IndexOptions(
        index_url=given.index_url,
        extra_index_urls=tuple(given.extra_index_url or ()),
        refresh=given.refresh,
    )


def index_settings() -> IndexSettings:
    return settings(index_url=given.index_url, extra_index_urls=tuple(given.extra_index_url or ()))


def workspace_of(
    name: str, root: Path | None = None, day: datetime.date | None = None
) -> Workspace:
    matrices, index = matrices_folder(root), index_options()
    known = matrix_names(matrices)

    def made(name: str) -> Workspace:
        return Workspace(matrices / name, today(), cache_folder, day=day, index=index, notify=note)

    if name in known:
        return made(name)
    called: dict[str, set[str]] = {}
    for each in known:
        spellings = {each}
        with contextlib.suppress(DeclarationError):  # reported when it is named
            matrix = made(each).matrix
            spellings |= {matrix.title, matrix.subject, matrix.subject_axis.package}
        for spelling in spellings:
            called.setdefault(canonicalize_name(spelling.replace(" ", "-")), set()).add(each)
    asked = canonicalize_name(name.replace(" ", "-"))
    if len(called.get(asked, ())) == 1:
        return made(*called[asked])
    message = f"no matrix {name!r}; declared here: {', '.join(known) or 'none'}"
    raise UsageError.of(message, hint=nearest(asked, sorted(called)))


def refuse_faulty_suite(workspace: Workspace) -> None:
    trouble = faults_of_suite(workspace)
    if trouble:
        raise DeclarationError(*trouble)


def policy_day(text: str, workspace: Workspace) -> datetime.date:
    """Return the day that `--today` names, else today; raise UsageError without a policy."""
    if workspace.declared.policy is None:
        path = f"matrices/{workspace.name}/policy.toml"
        raise UsageError.of("this matrix declares no policy, so its floors do not move", path=path)
    return day_of(text) if text else workspace.day


def day_of(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise UsageError.of(f"{text!r} is not a date such as 2027-04-01", path="--today") from error


def kept_version(text: str) -> tuple[str, Version]:
    name, sign, version = text.partition("=")
    if not sign or not name:
        raise UsageError.of(f"{text!r} is not AXIS=VERSION", path="--at", hint="--at python=3.9")
    try:
        return name, parse_version(version.removeprefix("="))
    except ValueError as error:
        raise UsageError.of(str(error), path="--at") from error
