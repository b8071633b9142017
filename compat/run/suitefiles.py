"""The files of a suite, as a cell gets them: their digest, and the tests that pytest has to collect
from them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from compat.declare.capabilities import (
    MARK,
    SETTINGS,
    collectable_tests,
    core_ids,
    core_tests,
    owed_ids,
    with_table,
)
from compat.declare.project import noted_settings
from compat.declare.suite import OTHER_SETTINGS
from compat.declare.suite_table import Suite, Tier
from compat.files import read_if_there
from compat.value import Value

# Plugins of pytest that a plain run would load and a cell does not. A retry hides a failure, and a
# shuffled order gives equal cells different questions. All others are loaded; the options that make
# xdist, coverage and the like act are left out of the settings.
_LEFT_OUT = ("pytest-rerunfailures", "flaky", "pytest-retry", "pytest-randomly")


def _suite_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_hidden = "__pycache__" in parts or any(part.startswith(".") for part in parts)
        if path.is_file() and not is_hidden:
            yield path


def python_texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
    }


def packages_above(folder: Path, tests: str) -> dict[str, str]:
    """Return the packages above a project's own tests that the installed ones stand for, outermost
    first: the folder of each below the suite's, by its dotted name.
    """
    packages: dict[str, str] = {}
    parts: list[str] = []
    place = folder
    for part in tests.split("/"):
        place /= part
        if read_if_there(place / "__init__.py") == MARK:
            parts.append(part)
            packages[".".join(parts)] = place.relative_to(folder).as_posix()
    # Where the tests are a whole package, its parts hold them.
    for init in sorted(place.rglob("*/__init__.py")) if parts else ():
        if read_if_there(init) == MARK:
            below = init.parent.relative_to(place).parts
            packages[".".join((*parts, *below))] = init.parent.relative_to(folder).as_posix()
    return packages


def settings_texts(folder: Path) -> dict[str, str]:
    contents = {name: read_if_there(folder / name) for name in (SETTINGS, *OTHER_SETTINGS)}
    return {
        name: content.decode(errors="replace")
        for name, content in contents.items()
        if content is not None
    }


def suite_contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in _suite_files(folder)}


def suite_digest(folder: Path) -> str:
    """Return the sha256 over the names and contents of a suite's files.

    A table made from records, between its marks in a document, has no part in it: it is no question
    but the answers.
    """
    digest = hashlib.sha256()
    for path in _suite_files(folder):
        parts = path.relative_to(folder).parts
        digest.update("/".join(parts).encode() + b"\0" + hashlib.sha256(_asked(path)).digest())
    return digest.hexdigest()


def _asked(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".md":
        return content
    try:
        return with_table(content.decode(), "").encode()
    except ValueError:
        return content


def suite_tests(folder: Path, below: str = "") -> frozenset[str]:
    """Return the tests that pytest has to collect from the suite whatever is installed, as it names
    them; with `below`, those of that file or folder of it.
    """
    tests = collectable_tests(_texts(folder))
    return frozenset(
        test for test in tests if not below or test.startswith((f"{below}/", f"{below}::"))
    )


def left_out_plugins(subject: str) -> list[str]:
    """Return the packages whose plugins of pytest a cell does not load, unless one is tested."""
    return [name for name in _LEFT_OUT if name != canonicalize_name(subject)]


def left_out_tests(
    folder: Path, tests: Iterable[str], left_out: Iterable[tuple[str, str]], newer: Iterable[str]
) -> frozenset[str]:
    """Return those of the tests that a cell need not collect: those that are newer than the
    release, and those that it says it left out for a mark, where a file of the suite has that mark.
    """
    mark_of = {test: mark for mark, test in left_out}
    names = frozenset(newer)
    texts = python_texts(folder)
    shared = "".join(text for path, text in texts.items() if path.endswith("conftest.py"))
    return frozenset(
        test
        for test in tests
        if not names.isdisjoint((test, test.partition("::")[0]))
        or f"mark.{mark_of.get(test, ' ')}" in texts.get(test.partition("::")[0], "") + shared
    )


def suite_notes(
    suite: Suite, folder: str, left_out: Iterable[tuple[str, str]] = ()
) -> tuple[str, ...]:
    if not folder or not suite.tests:
        return ()
    settings = read_if_there(Path(folder) / SETTINGS) or b""
    notes = [*noted_settings(settings.decode(errors="replace"))]
    tests: dict[str, list[str]] = {}
    for why, test in dict.fromkeys(left_out):
        tests.setdefault(why, []).append(test)
    for why, names in tests.items():
        examples = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        because = (
            "they are newer than the release"
            if why == "newer"
            else f"they are marked {why}, and a cell has no network"
        )
        notes.append(f"not run: {len(names)} of the tests, as {because}: {examples}")
    if not suite_tests(Path(folder), suite.tests):
        because = "the tests are chosen by conftest.py, by settings or by arguments"
        notes.append(f"which tests must be collected is not known from the files alone: {because}")
    return tuple(notes)


class SuiteCore(Value, frozen=True):
    """What a smoke run asks for: the ids of the core, and the tests that must report under them."""

    ids: frozenset[str]
    tests: frozenset[str]


def suite_core(folder: Path, patterns: Sequence[str]) -> SuiteCore:
    texts = _texts(folder)
    ids = core_ids(patterns, texts)
    return SuiteCore(ids=ids, tests=core_tests(ids, texts))


def owed_capabilities(folder: Path, suite: Suite) -> dict[Tier, frozenset[str]]:
    """Return the ids that a run of each tier must report when it passed, as far as the files tell;
    of a project's own tests none, as a cell leaves the newer ones out.
    """
    if suite.tests:
        return {}
    texts = _texts(folder)
    owed = owed_ids(texts)
    return {"full": owed, "smoke": owed & core_ids(suite.core, texts)}


def _texts(folder: Path) -> dict[str, str]:
    contents = suite_contents(folder)
    return {name: content.decode(errors="replace") for name, content in contents.items()}
