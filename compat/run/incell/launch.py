"""Starts pytest inside a cell, whatever an installed package has put into the environment.

`python launch.py ARGUMENT...`: pytest reads further options and plugins from the environment, and a
`.pth` file of any installed package may have set them:
https://docs.pytest.org/en/stable/reference/reference.html#environment-variables
"""

from __future__ import annotations

import importlib
import importlib.machinery
import json
import os
import re
import sys
from typing import Any


def run_pytest(arguments: list[str]) -> int:
    for name in ("ADDOPTS", "PLUGINS", "DEBUG", "DISABLE_PLUGIN_AUTOLOAD"):
        os.environ.pop("PYTEST_" + name, None)
    if not os.environ.get("COMPAT_LEFT_OUT"):
        # A plugin that another package requires can break an old pytest before anything runs.
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import probe  # type: ignore[import-not-found]

    try:
        # They lie beside this file. Once loaded, neither they nor their folder may hide the suite's
        # own modules.
        import compat_plugin  # type: ignore[import-not-found]  # noqa: F401
        import pytest
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "pytest":
            print("No module named pytest", file=sys.stderr)
            return 1
        report_broken_pytest(probe.describe(error))
        raise
    own = sys.path[0]
    del sys.path[0], sys.modules["probe"]
    if os.environ.get("COMPAT_PROCESSES"):
        # The workers of xdist import them, too, and get the path of this process's start.
        sys.path.append(own)
    join_packages()
    try:
        code = int(pytest.main([*plugin_options(), *arguments]))
    except Exception as error:
        # pytest itself reports errors of the suite; this is an error of pytest.
        raised = probe.describe(error)
        if raised["where"].startswith(("_pytest/", "pluggy/", "py/")):
            report_broken_pytest(raised)
        raise
    probe.write_facts(os.environ["COMPAT_EVENTS"] + ".modules", probe.loaded())
    return code


def report_broken_pytest(raised: dict[str, Any]) -> None:
    """An old pytest on a newer Python blocks the tests: no fault of the tested package."""
    event = {"event": "collect-error", "raised": {**raised, "of_runner": True}}
    with open(os.environ["COMPAT_EVENTS"], "a", encoding="ascii") as file:
        file.write(json.dumps(event) + "\n")


def join_packages() -> None:
    """Make folders of the suite a part of installed packages.

    Tests that import from their parents then work as in their repository. COMPAT_PACKAGES has
    NAME=FOLDER on each line. The tests report a package that does not import.
    """
    lines = os.environ.get("COMPAT_PACKAGES", "").splitlines()
    folders = {name: folder for name, _, folder in (line.partition("=") for line in lines)}
    try:
        # Import all first: a joined folder would hide the installed packages below.
        packages = {name: importlib.import_module(name) for name in folders}
    except Exception:
        return
    for name, package in packages.items():
        package.__path__ = [folders[name], *package.__path__]
        # Its own __init__.py is not where pytest expects it.
        os.environ["PY_IGNORE_IMPORTMISMATCH"] = "1"


def plugin_options() -> list[str]:
    """Return the options that stop pytest from loading some packages' plugins; their marks stay
    known.

    COMPAT_LEFT_OUT names the packages, separated by spaces; unset, the suite names its plugins
    itself and pytest discovers none. Runs that the tests of a plugin start discover them likewise.
    """
    left_out = os.environ.get("COMPAT_LEFT_OUT", "").split()
    if not left_out:
        return []
    from importlib import metadata  # not in Python 3.7, on which no such suite runs

    names = []
    for package in left_out:
        try:
            points = metadata.distribution(package).entry_points
        except metadata.PackageNotFoundError:
            continue
        for point in points:
            if point.group == "pytest11":
                names.append(point.name)
                sys.modules["compat_plugin"].MARKS.extend(marks_of(point.value))
    return [word for name in names for word in ("-p", "no:" + name)]


def marks_of(point: str) -> list[str]:
    """Return the marks that the module of a plugin registers, as far as its text shows."""
    place: Any = None
    path, parts = "", point.partition(":")[0].split(".")
    for number in range(len(parts)):
        # `importlib.util.find_spec` imports parents, and pytest warns of what was imported before.
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[: number + 1]), place)
        if spec is None:
            return []
        path, place = str(spec.origin), spec.submodule_search_locations or []
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return []
    return re.findall(r"""addinivalue_line\(\s*["']markers["'],\s*f?["'](\w+)""", text)


if __name__ == "__main__":
    sys.exit(run_pytest(sys.argv[1:]))
