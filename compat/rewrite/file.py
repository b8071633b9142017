"""Raises or lowers a floor in a file's text, and only that; the file's name selects the format."""

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from packaging.version import Version

from compat.errors import UsageError
from compat.rewrite import text_files
from compat.rewrite.ranges import Move, Rewritten, Skipped, Unsatisfiable, plain_version
from compat.rewrite.toml_values import rewritten_pyproject

Rewrite = Callable[[str, Move], Rewritten | Unsatisfiable]
# By the name of the file; the first match wins.
_READERS: tuple[tuple[str, Rewrite], ...] = (
    (r"pyproject\.toml", rewritten_pyproject),
    (r"setup\.cfg", text_files.rewritten_setup_cfg),
    (r"setup\.py", text_files.rewritten_setup_py),
    (r"tox\.ini", text_files.rewritten_tox),
    (r"noxfile\.py", text_files.rewritten_noxfile),
    (r"README(?:\.\w+)?", text_files.rewritten_readme),
    (r".*\.ya?ml", text_files.rewritten_workflow),
    (r".*\.(?:txt|in)", text_files.rewritten_requirements),
)
# The files that declare a project's floors, below its folder. Of requirements files many are locks:
# one is taken if the build reads it, or if it is named explicitly.
PROJECT_FILES = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py"),
    *("README.md", "README.rst", ".github/workflows/*.yml", ".github/workflows/*.yaml"),
    *(".readthedocs.yml", ".readthedocs.yaml", "constraints.txt", "*/constraints.txt"),
)
_BUILD_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


def files_read_by(name: str, text: str) -> list[str]:
    return re.findall(r"[\w./-]*requir[\w./-]*\.(?:txt|in)\b", text) * (name in _BUILD_FILES)


def rewritten(path: str, text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Raises UsageError for an unknown name, DeclarationError for a text in another format."""
    name = path.rsplit("/", 1)[-1]
    for pattern, rewrite in _READERS:
        if re.fullmatch(pattern, name):
            outcome = rewrite(text, move)
            if isinstance(outcome, Unsatisfiable):
                return outcome
            if name.startswith(("pyproject.", "setup.")):
                outcome = text_files.with_classifiers(outcome, move)
            lines = text.splitlines()
            named = {
                (lines[int(s.place[5:]) - 1] if s.place.startswith("line ") else s.text).strip()
                for s in outcome.left
            }
            more = (m for m in mentions(name, outcome.text, move) if m.text not in named)
            return msgspec.structs.replace(outcome, left=(*outcome.left, *more))
    hint = (
        "it can in pyproject.toml, setup.cfg, setup.py, tox.ini, noxfile.py, a README, a CI's YAML,"
        " and requirements files ending in .txt or .in"
    )
    raise UsageError.of("compat cannot move a floor in this file", path=path, hint=hint)


def nearest_floor(path: str, text: str, move: Move) -> Version | None:
    before = move.before
    if before is None:
        return None
    low, high = sorted((before, move.floor))
    on_the_way = sorted(v for v in move.known if low <= v <= high and v not in (before, move.floor))
    candidates: Sequence[Version] = on_the_way[::-1] if move.floor > before else on_the_way
    for version in candidates:
        shorter = msgspec.structs.replace(move, floor=version)
        if isinstance(rewritten(path, text, shorter), Rewritten):
            return version
    return None


_LOCKS = {
    "uv.lock": "uv lock",
    "poetry.lock": "poetry lock",
    "pdm.lock": "pdm lock",
    "pixi.lock": "pixi lock",
    "Pipfile.lock": "pipenv lock",
    "pylock.toml": "the command that wrote it",
}
# These describe the past, and stay true.
_HISTORY = re.compile(r"(?i)(?:change(?:s|log)|history|news|release[-_]?notes|authors)\b.*")
_SETTINGS = re.compile(r"(?i).*\.(?:toml|ini|cfg|ya?ml)|justfile|makefile|\.python-versions?")
_NUMBER = re.compile(r"(?<![\w.])v?(?P<version>\d+(?:\.\d+)*)(?!\w)")
_NEVER = (
    re.compile(
        r"python_(?:full_)?version\s*(?P<operator><=?)\s*\\?['\"](?P<version>\d+(?:\.\d+)+)"
    ),
    re.compile(r"version_info\s*(?P<operator><=?)\s*\((?P<version>\d+\s*,\s*\d+)"),
)
# The minimum of another package: `PyYAML>=3.10`.
_OTHERS = re.compile(
    r"(?i)(?<![\w.-])(?!py\b|[\w.-]*(?:python|version)\b)[a-z][\w.-]*\s*[<>=!~]=\s*\Z"
)
_LONGEST = 120


def mentions(path: str, text: str, move: Move) -> Iterator[Skipped]:
    """If a floor goes down, only lines that still require the old one count."""
    name = path.rsplit("/", 1)[-1]
    is_history = any(map(_HISTORY.fullmatch, path.split("/")))
    if move.added is not None or move.before in (None, move.floor) or is_history:
        return
    if name in _LOCKS:
        if move.package is None or re.search(_spelled(move.package), text):
            yield Skipped(place="", text="", because=f"it is a lock: run `{_LOCKS[name]}`")
        return
    text = re.sub(r".{1000,}", "", text)  # such as a minified file
    named = _python_lines(name, text, move) if move.package is None else _lines(text, move)
    for number, line, because in named:
        yield Skipped(place=f"line {number}", text=line.strip()[:_LONGEST], because=because)


def _lines(text: str, move: Move) -> Iterator[tuple[int, str, str]]:
    name = re.compile(_spelled(move.package or ""))
    for number, line in enumerate(text.splitlines(), start=1):
        if (known := name.search(line)) is None:
            continue
        for match in _NUMBER.finditer(line, known.end()):
            # A bare number is a version only in certain notations.
            is_one = "." in match["version"] or line[match.start() - 1] in "=<>~\"'"
            version = plain_version(match["version"]) if is_one else None
            if version is not None and _is_left(line[: match.start()], version, move):
                yield number, line, f"mentions {move.package} {version}"
                break


def _spelled(package: str) -> str:
    words = map(re.escape, re.split(r"[-_.]+", package))
    return rf"(?i)(?<![a-z0-9]){'[-_.]*'.join(words)}(?![a-z0-9])"


def _python_lines(name: str, text: str, move: Move) -> Iterator[tuple[int, str, str]]:
    series = [v for v in {*move.known, move.before} if v is not None and len(v.release) == 2]
    minors = "|".join(str(v.minor) for v in sorted(series, reverse=True))
    mention = re.compile(
        rf"(?i)(?:(?<![\d.])3\.(?P<dotted>{minors})(?P<patch>\.(?:\d+|x|\*))?"
        rf"|(?:py|cp|pypy|python)-?3(?P<joined>{minors})|3,\s*(?P<pair>{minors}))(?!\d)"
    )
    for number, line in enumerate(text.splitlines(), start=1):
        is_about = re.search(r"(?i)py|version_info", line) is not None
        if any(_never_holds(match, move) for never in _NEVER for match in never.finditer(line)):
            yield number, line, f"never holds from Python {move.floor} on"
            continue
        for match in mention.finditer(line):
            if _OTHERS.search(line[: match.start()]):
                continue
            if not is_about and (match["patch"] or not _SETTINGS.fullmatch(name)):
                continue
            if match["pair"] and "version_info" not in line:
                continue
            version = Version(f"3.{match['dotted'] or match['joined'] or match['pair']}")
            if _is_left(line[: match.start()], version, move):
                yield number, line, f"mentions Python {version}"
                break


def _is_left(head: str, version: Version, move: Move) -> bool:
    assert move.before is not None
    if move.floor < move.before:
        return version == move.before and re.search(r"[>~]=\s*['\"]?\Z", head) is not None
    return move.before <= version < move.floor


def _never_holds(match: re.Match[str], move: Move) -> bool:
    assert move.before is not None
    version = Version(re.sub(r"\s*,\s*", ".", match["version"]))
    is_new = move.before < version if match["operator"] == "<" else move.before <= version
    bound = version <= move.floor if match["operator"] == "<" else version < move.floor
    return bound and is_new
