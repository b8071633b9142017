"""The packages of an environment on this machine, read from its files."""

import contextlib
import platform
import re
import sys
from collections.abc import Iterable
from email.parser import HeaderParser
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.advise.package_list import PackageList
from compat.errors import UsageError
from compat.index.release import Published

# Metadata stands before the description, and needs a small part of this.
_MOST_HEAD = 200_000
_MOST_DISTRIBUTIONS = 5_000
_SERIES = re.compile(r"python(3\.\d{1,2})t?$")


def packages_of(path: Path | None) -> PackageList:
    """Return the packages of an interpreter or virtual environment, without one those of this
    command; raise UsageError for anything else.
    """
    if path is None:
        return _packages(filter(None, sys.path), Version(platform.python_version()))
    if not path.exists():
        raise UsageError.of("no such file or folder", path=str(path))
    prefix = path
    if not path.is_dir():
        # A virtual environment's python is a link: its own folder has the packages.
        beside = path.parent.parent
        prefix = beside if (beside / "pyvenv.cfg").exists() else path.resolve().parent.parent
    folders, text = _site_folders(prefix), ""
    # https://docs.python.org/3/library/venv.html
    with contextlib.suppress(OSError):
        text = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")[:_MOST_HEAD]
    pairs = (line.partition("=") for line in text.splitlines())
    config = {key.strip().lower(): value.strip() for key, _, value in pairs}
    if config.get("include-system-site-packages", "").lower() == "true" and "home" in config:
        folders += _site_folders(Path(config["home"]).parent)
    if not folders:
        raise UsageError.of(
            "is neither a Python interpreter nor a virtual environment",
            path=str(path),
            hint="name a folder that `python -m venv` made, or its bin/python",
        )
    stated = (config.get(key, "") for key in ("version_info", "version"))
    series = (re.match(r"\d+\.\d+(?:\.\d+)?", text) for text in stated)
    names = (folder.parent.name for folder in folders)
    links = (link.resolve().name for link in prefix.glob("bin/python3"))
    matches = (match and match[1] for match in map(_SERIES.search, (*names, *links)))
    versions = filter(None, (*(match and match[0] for match in series), *matches))
    return _packages(map(str, folders), next((Version(text) for text in versions), None))


def _site_folders(prefix: Path) -> list[Path]:
    patterns = (
        *("lib/python3.*/site-packages", "lib64/python3.*/site-packages", "Lib/site-packages"),
        *("local/lib/python3.*/dist-packages", "lib/python3/dist-packages"),
    )
    folders = (path for pattern in patterns for path in sorted(prefix.glob(pattern)))
    known = {folder.resolve(): folder for folder in folders if folder.is_dir()}
    return list(known.values())


def _packages(folders: Iterable[str], python: Version | None) -> PackageList:
    versions: dict[str, Version] = {}
    metadata: dict[str, Published] = {}
    unread: list[str] = []
    for number, distribution in enumerate(distributions(path=list(folders))):
        if number == _MOST_DISTRIBUTIONS:
            break
        package = _package(distribution)
        if package is None:
            unread.append(str(getattr(distribution, "_path", "a package")).rpartition("/")[2])
        elif package[0] not in versions:
            name, version, published = package
            versions[name], metadata[name] = version, published
    return PackageList(
        versions=versions,
        python=python,
        metadata=metadata,
        is_whole=True,
        unread=tuple(unread[:20]),
        unread_count=len(unread),
    )


def _package(distribution: Distribution) -> tuple[str, Version, Published] | None:
    # The name, the version and the requirements of a distribution; None where its metadata cannot
    # be read.
    try:
        text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    except (OSError, UnicodeDecodeError):
        return None
    # The description behind the first empty line is long and not needed.
    head = HeaderParser().parsestr(re.split(r"\r?\n\r?\n", text[:_MOST_HEAD], maxsplit=1)[0])
    try:
        name, version = canonicalize_name(head["Name"] or ""), Version(head["Version"] or "")
        asked = head["Requires-Python"]
        requires_python = None if asked is None else SpecifierSet(asked)
    except (InvalidVersion, InvalidSpecifier):
        return None
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,100}", name):
        return None
    requires = tuple(text for text in head.get_all("Requires-Dist") or () if len(text) < 500)
    return name, version, Published(requires_python=requires_python, requires_dist=requires)
