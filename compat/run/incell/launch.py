"""Starts pytest inside a cell as it was asked, whatever an installed package has put into the
environment before.

`python launch.py ARGUMENT...`: pytest reads further options and plugins from the environment, and a
`.pth` file of any installed package may have set them:
https://docs.pytest.org/en/stable/reference/reference.html#environment-variables
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import sys
from typing import Any


def run_pytest(arguments: list[str]) -> int:
    """Run pytest with these arguments, and return its exit code."""
    for name in ("ADDOPTS", "PLUGINS", "DEBUG", "DISABLE_PLUGIN_AUTOLOAD"):
        os.environ.pop("PYTEST_" + name, None)
    if not os.environ.get("COMPAT_PLUGINS"):
        # A plugin that is installed for another's sake can break an old pytest before anything
        # runs.
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import probe  # type: ignore[import-not-found]

    try:
        # They lie beside this file. Once they are loaded, neither they nor their folder must hide
        # the suite's own modules.
        import compat_plugin  # type: ignore[import-not-found]  # noqa: F401
        import pytest
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "pytest":
            print("No module named pytest", file=sys.stderr)
            return 1
        tell_broken_pytest(probe.describe(error))
        raise
    del sys.path[0], sys.modules["probe"]
    join_packages()
    try:
        code = int(pytest.main([*plugin_options(arguments), *arguments]))
    except Exception as error:
        # pytest itself tells of what it met in the suite; this it met in itself.
        raised = probe.describe(error)
        if raised["where"].startswith(("_pytest/", "pluggy/", "py/")):
            tell_broken_pytest(raised)
        raise
    probe.write_facts(os.environ["COMPAT_EVENTS"] + ".modules", probe.loaded())
    return code


def tell_broken_pytest(raised: dict[str, Any]) -> None:
    """Report what pytest raised as it was imported or started: an old pytest on a newer Python is a
    package in the way of the tests, and no fault of what they test.
    """
    event = {"event": "collect-error", "raised": {**raised, "of_runner": True}}
    with open(os.environ["COMPAT_EVENTS"], "a", encoding="ascii") as file:
        file.write(json.dumps(event) + "\n")


def join_packages() -> None:
    """Make folders of the suite a part of installed packages: tests that import from above
    themselves are then what they are in their repository.

    COMPAT_PACKAGES has NAME=FOLDER on each line. A package that does not import is left to the
    tests, which say so.
    """
    lines = os.environ.get("COMPAT_PACKAGES", "").splitlines()
    folders = {name: folder for name, _, folder in (line.partition("=") for line in lines)}
    try:
        # All of them first: a folder that was joined would hide the installed packages below.
        packages = {name: importlib.import_module(name) for name in folders}
    except Exception:
        return
    for name, package in packages.items():
        package.__path__ = [folders[name], *package.__path__]
        # Its own __init__.py is elsewhere than pytest expects it.
        os.environ["PY_IGNORE_IMPORTMISMATCH"] = "1"


def plugin_options(arguments: list[str]) -> list[str]:
    """Return the options that keep pytest from loading all plugins but those of the packages that
    are asked for, those that these need themselves, and those that the suite names.

    COMPAT_PLUGINS names the packages, by spaces, with `+` one whose dependencies are asked for,
    too, and with `!` those that are not to be loaded; unset, the suite names its plugins itself,
    and pytest looks for none. Here it does: the tests of a plugin start pytest again, and expect it
    to find what is installed.
    """
    waiting = os.environ.get("COMPAT_PLUGINS", "").split()
    if not waiting:
        return []
    from importlib import metadata  # not in Python 3.7, on which no such suite runs

    passed_over = {name[1:] for name in waiting if name.startswith("!")}
    loaded = named_plugins(arguments)
    while waiting:
        word = waiting.pop(0)
        name = word.lstrip("+")
        if name.startswith("!") or name in passed_over:
            continue
        passed_over.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        points = plugins_of(distribution)
        loaded.update(points)
        for text in distribution.requires or () if points or word != name else ():
            match = re.match("[A-Za-z0-9._-]+", text)
            waiting += [re.sub("[-_.]+", "-", match[0]).lower()] if match else []
    every = {name for distribution in metadata.distributions() for name in plugins_of(distribution)}
    # A plugin that is called like one of these is passed over by pytest itself.
    loaded.update(("compat_plugin", *importlib.import_module("_pytest.config").default_plugins))
    return [word for name in sorted(every - loaded) for word in ("-p", "no:" + name)]


def plugins_of(distribution: Any) -> list[str]:
    """Return the names of the plugins of pytest that an installed distribution has."""
    return [point.name for point in distribution.entry_points if point.group == "pytest11"]


def named_plugins(arguments: list[str]) -> set[str]:
    """Return the plugins that the suite names itself: by `-p` in the file of settings that the
    arguments name by `-c`, or by `pytest_plugins` in a file beside or below it.
    """
    if "-c" not in arguments:
        return set()
    settings = arguments[arguments.index("-c") + 1]
    named = set(re.findall(r"(?<!\S)-p[ =]*([\w.]+)", text_of(settings)))
    for folder, _, names in os.walk(os.path.dirname(settings)):
        for name in names:
            if name.endswith(".py"):
                named |= declared_plugins(text_of(os.path.join(folder, name)))
    return named


def declared_plugins(text: str) -> set[str]:
    """Return what `pytest_plugins` names in a file of Python; nothing where it is no literal."""
    if "pytest_plugins" not in text:
        return set()
    declared: set[str] = set()
    try:
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign) and any(map(is_plugin_list, node.targets)):
                value = ast.literal_eval(node.value)
                declared.update(value.split(",") if isinstance(value, str) else map(str, value))
    except (SyntaxError, ValueError, TypeError):
        return set()
    return declared


def is_plugin_list(target: ast.expr) -> bool:
    """Return whether an assignment's target is the list of plugins that pytest reads."""
    return isinstance(target, ast.Name) and target.id == "pytest_plugins"


def text_of(path: str) -> str:
    """Return the text of a file; nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


if __name__ == "__main__":
    sys.exit(run_pytest(sys.argv[1:]))
