"""The files of a suite, as a cell gets them: their digest, and the tests that pytest has to collect
from them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from compat.declare.capabilities import with_table
from compat.declare.collectable import collectable_tests
from compat.declare.core_capabilities import core_ids, core_tests
from compat.declare.packaged_tests import MARK
from compat.declare.project_settings import noted_settings
from compat.declare.suite_plugins import OTHER_SETTINGS, SETTINGS
from compat.declare.suite_table import Suite
from compat.files import read_if_there
from compat.value import Value

_NOT_LOADED = {"pytest-cov", "pytest-xdist", "pytest-rerunfailures", "pytest-randomly", "flaky"}
_NOT_LOADED |= {"pytest-random-order", "pytest-retry", "pytest-testmon", "pytest-split"}


def _suite_files(folder: Path) -> Iterator[Path]:
    """Yield the files that belong to a suite, by name."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if (
            path.is_file()
            and "__pycache__" not in parts
            and not any(part.startswith(".") for part in parts)
        ):
            yield path


def python_texts(folder: Path) -> dict[str, str]:
    """Return the Python files of a suite, by their path below it."""
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
    return packages


def settings_texts(folder: Path) -> dict[str, str]:
    """Return the files of a suite's folder in which pytest's settings may stand, by name."""
    contents = {name: read_if_there(folder / name) for name in (SETTINGS, *OTHER_SETTINGS)}
    return {
        name: content.decode(errors="replace")
        for name, content in contents.items()
        if content is not None
    }


def suite_contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a suite, by their path below its folder."""
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


def suite_plugins(requirements: Iterable[str], subject: str) -> list[str]:
    """Return the packages that a cell asks for, its subject and coordinates among them, and whose
    plugins of pytest it loads; with `+` the subject, of which those of its dependencies are loaded,
    too; and with `!` those that it never loads.

    Those run tests side by side, again, in another order, or under another watch: what a cell says
    must not depend on them, unless it is one of them that is tested.
    """
    own = canonicalize_name(subject)
    names = {canonicalize_name(Requirement(text).name) for text in requirements}
    never = _NOT_LOADED - {own}
    return [f"+{own}", *sorted(names - never - {own}), *(f"!{name}" for name in sorted(never))]


def suite_notes(suite: Suite, folder: str) -> tuple[str, ...]:
    """Return what is left out of a suite in a cell, and what cannot be made sure of it."""
    if not folder or not suite.tests:
        return ()
    settings = read_if_there(Path(folder) / SETTINGS) or b""
    notes = noted_settings(settings.decode(errors="replace"))
    if suite_tests(Path(folder), suite.tests):
        return notes
    because = "the tests are chosen by conftest.py, by settings or by arguments"
    return (*notes, f"which tests must be collected is not known from the files alone: {because}")


class SuiteCore(Value, frozen=True):
    """What a smoke run asks for: the ids of the core, and the tests that must report under them."""

    ids: frozenset[str]
    tests: frozenset[str]


def suite_core(folder: Path, patterns: Sequence[str]) -> SuiteCore:
    """Return the core of the suite in a folder, as the patterns of its declaration name it."""
    texts = _texts(folder)
    ids = core_ids(patterns, texts)
    return SuiteCore(ids=ids, tests=core_tests(ids, texts))


def _texts(folder: Path) -> dict[str, str]:
    contents = suite_contents(folder)
    return {name: content.decode(errors="replace") for name, content in contents.items()}
