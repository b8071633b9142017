"""The `declare` room's look at a suite's settings of pytest: which plugins they need."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from compat.declare.matrix import Matrix
from compat.declare.project_settings import settings_in
from compat.declare.suite_imports import Brought, asked_names
from compat.errors import Fault

SETTINGS = "pytest.ini"
# Where else pytest looks for its settings:
# https://docs.pytest.org/en/stable/reference/customize.html
OTHER_SETTINGS = ("pyproject.toml", "tox.ini", "setup.cfg")


class _Plugin(NamedTuple):
    """A plugin of pytest: what brings it, the module to load, and what only it understands."""

    distribution: str
    module: str
    options: re.Pattern[str]
    keys: re.Pattern[str]


def _plugin(distribution: str, module: str, options: str, keys: str = r"(?!)") -> _Plugin:
    return _Plugin(distribution, module, re.compile(options), re.compile(keys))


# Options and settings as their plugins' documentation had them on 2026-11-22. Of what is not here
# nothing is said.
_PLUGINS = (
    _plugin("pytest-asyncio", "pytest_asyncio", r"--asyncio-mode(=|$)", r"asyncio_(mode|default_)"),
    _plugin("pytest-benchmark", "pytest_benchmark", r"--benchmark-"),
    _plugin("pytest-cov", "pytest_cov", r"--(no-)?cov(-|=|$)"),
    _plugin("pytest-django", "pytest_django", r"--ds(=|$)", r"DJANGO_SETTINGS_MODULE$"),
    _plugin("pytest-html", "pytest_html", r"--(self-contained-)?html(=|$)"),
    _plugin("pytest-randomly", "pytest_randomly", r"--randomly-"),
    _plugin("pytest-rerunfailures", "pytest_rerunfailures", r"--reruns(-|=|$)", r"reruns(_|$)"),
    _plugin("pytest-timeout", "pytest_timeout", r"--timeout(-|=|$)", r"timeout(_|$)"),
    _plugin("pytest-xdist", "xdist", r"-n(\d+|=|auto|logical|$)|--(numprocesses|dist)(=|$)"),
)


def unloaded_plugins(
    matrix: Matrix, texts: Mapping[str, str], folder: str, brought: Callable[[], Brought]
) -> Iterator[Fault]:
    """Yield the settings of pytest that need a plugin which no cell has, or none loads.

    A cell reads pytest.ini alone, and loads only the plugins that the suite names: by `-p` in
    `addopts`, or by `pytest_plugins`. The other files count where the suite has no pytest.ini, as
    pytest itself would read them then. Of a project's own tests, cells load the plugins that are
    asked for.
    """
    python = "\n".join(text for path, text in texts.items() if path.endswith(".py"))
    files = [SETTINGS] if SETTINGS in texts else [name for name in OTHER_SETTINGS if name in texts]
    for name in files:
        settings = _settings(name, texts[name])
        options = _options(settings.get("addopts", ""))
        loaded = " ".join(_loaded(options)) + (python if "pytest_plugins" in python else "")
        for plugin in _PLUGINS:
            word = _needing(plugin, settings, options)
            # An option that the suite itself speaks of may be its own.
            if not word or word.partition("=")[0] in python:
                continue
            message, hint = f"{word} needs {plugin.distribution}", ""
            if plugin.distribution not in asked_names(matrix) | brought().names:
                message += ", which suite.requirements do not ask for"
                hint = f"add '{plugin.distribution}' there and '-p {plugin.module}' to addopts"
                hint += f" in {SETTINGS}, or delete {word}"
                if matrix.suite.tests:
                    hint = f"add '{plugin.distribution}' there, or a group that has it"
            elif matrix.suite.tests:
                continue
            elif name != SETTINGS:
                message += f", but a cell reads {SETTINGS} alone"
                hint = f"move the settings there, with '-p {plugin.module}' in addopts"
            elif plugin.module.removeprefix("pytest_") not in loaded:
                message += ", and a cell loads only the plugins that the suite names"
                hint = f"add '-p {plugin.module}' to addopts"
            if hint:
                place = f"{folder}{name}:{_line(texts[name], word)}"
                yield Fault(code="suite", path=place, message=message, hint=hint)


def _settings(name: str, text: str) -> dict[str, str]:
    settings = settings_in(name, text)
    return {
        key: shlex.join(map(str, value)) if isinstance(value, list) else str(value)
        for key, value in (settings.values if settings else {}).items()
    }


def _options(addopts: str) -> list[str]:
    try:
        return shlex.split(addopts)
    except ValueError:
        return []


def _loaded(options: list[str]) -> Iterator[str]:
    for position, option in enumerate(options):
        if option == "-p":
            yield from options[position + 1 : position + 2]
        elif option.startswith("-p"):
            yield option[2:]


def _needing(plugin: _Plugin, settings: Mapping[str, str], options: list[str]) -> str:
    words = (
        *(option for option in options if plugin.options.match(option)),
        *(key for key in settings if plugin.keys.match(key)),
    )
    return next(iter(words), "")


def _line(text: str, word: str) -> int:
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    numbered = enumerate(text.splitlines(), start=1)
    return next((number for number, line in numbered if pattern.search(line)), 1)
