"""The `declare` room's look at what a suite imports, and at what brings that into a cell."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from packaging.utils import canonicalize_name

from compat.declare.matrix import Matrix
from compat.declare.parsing import parse_requirement
from compat.errors import Fault
from compat.value import Value

# Modules of which it is known which distributions bring them, as indexes spell those (PEP 503). Of
# any other module nothing is said: its distribution may have any name.
_TEST_TOOLS = {
    "approvaltests": ("approvaltests",),
    "ddt": ("ddt",),
    "dirty_equals": ("dirty-equals",),
    "factory": ("factory-boy",),
    "faker": ("faker",),
    "freezegun": ("freezegun",),
    "hamcrest": ("pyhamcrest",),
    "httpretty": ("httpretty",),
    "hypothesis": ("hypothesis",),
    "inline_snapshot": ("inline-snapshot",),
    "mock": ("mock",),
    "moto": ("moto",),
    "nose": ("nose", "pynose"),
    "parameterized": ("parameterized",),
    "requests_mock": ("requests-mock",),
    "respx": ("respx",),
    "syrupy": ("syrupy",),
    "testfixtures": ("testfixtures",),
    "time_machine": ("time-machine",),
    "vcr": ("vcrpy",),
    "xdist": ("pytest-xdist",),
}
_LIBRARIES = {
    "PIL": ("pillow", "pillow-simd"),
    "aiohttp": ("aiohttp",),
    "attr": ("attrs",),
    "boto3": ("boto3",),
    "bs4": ("beautifulsoup4",),
    "dateutil": ("python-dateutil",),
    "django": ("django",),
    "flask": ("flask",),
    "grpc": ("grpcio",),
    "httpx": ("httpx",),
    "jinja2": ("jinja2",),
    "lxml": ("lxml",),
    "matplotlib": ("matplotlib",),
    "numpy": ("numpy",),
    "pandas": ("pandas",),
    "psutil": ("psutil",),
    "pydantic": ("pydantic",),
    "redis": ("redis",),
    "requests": ("requests",),
    "scipy": ("scipy",),
    "sklearn": ("scikit-learn", "scikit-learn-intelex"),
    "sqlalchemy": ("sqlalchemy",),
    "tqdm": ("tqdm",),
    "yaml": ("pyyaml",),
}
_KNOWN = {name for names in (_TEST_TOOLS | _LIBRARIES).values() for name in names}
# A file with one of these imports only under a condition, or brings modules in a way of its own.
_CONDITIONAL = ("importorskip", "allow_module_level", "sys.modules", "sys.meta_path")


class Brought(Value, frozen=True, kw_only=True):
    """The packages that cells are known to hold besides what the declaration names.

    `names` are normalised (PEP 503). `locked` says that kept locks tell it, whose pins are all that
    their cells hold; without locks only what releases publish is known.
    """

    names: frozenset[str] = frozenset()
    locked: bool = False


def asked_names(matrix: Matrix) -> frozenset[str]:
    texts = (*matrix.suite.requirements, *matrix.requirements)
    requirements = {canonicalize_name(parse_requirement(text).name) for text in texts}
    return frozenset(requirements | {axis.normalised_name for axis in matrix.packages})


def unrequired_imports(
    matrix: Matrix, texts: Mapping[str, str], folder: str, brought: Callable[[], Brought]
) -> Iterator[Fault]:
    """Yield the imports that no cell can do, because nothing brings their module.

    Only imports that the collection does in any case are looked at: those that stand free at the
    top of conftest.py, of a test file, or of a file of the suite that one of these imports so.
    `brought` is called where a module is in doubt. Nothing is said where that leaves a doubt.
    """
    asked = asked_names(matrix)
    for path, module, line in _imported(texts, _certain(texts)):
        tool = _TEST_TOOLS.get(module) or _plugin(module)
        distributions = tool or _LIBRARIES.get(module, ())
        if not distributions or not asked.isdisjoint(distributions) or module in _own(matrix):
            continue
        if not brought().locked and (not tool or _may_bring_tools(matrix, asked)):
            continue
        if brought().names.isdisjoint(distributions):
            yield Fault(
                code="suite",
                path=f"{folder}{path}:{line}",
                message=f"imports {module}, which suite.requirements do not bring",
                hint=f"add '{distributions[0]}' to suite.requirements",
            )


def _plugin(module: str) -> tuple[str, ...]:
    return (canonicalize_name(module),) if module.startswith("pytest_") else ()


def _own(matrix: Matrix) -> set[str]:
    names = {axis.normalised_name.replace("-", "_") for axis in matrix.packages}
    return names | {matrix.suite.module.partition(".")[0]}


def _may_bring_tools(matrix: Matrix, asked: Iterable[str]) -> bool:
    texts = (*matrix.suite.requirements, *matrix.requirements)
    extras = any(parse_requirement(text).extras for text in texts)
    packages = {str(axis.normalised_name) for axis in matrix.packages}
    tools = {name for names in _TEST_TOOLS.values() for name in names}
    plain = packages - tools | {"pytest"} | _KNOWN
    return extras or any("test" in name for name in packages) or not plain.issuperset(asked)


def modules_of(distribution: str) -> frozenset[str]:
    """Return the modules that a distribution brings, by its normalised name (PEP 503); of one that
    is not known, the module that is called like it.
    """
    tables = (_TEST_TOOLS | _LIBRARIES).items()
    known = frozenset(module for module, names in tables if distribution in names)
    return known or frozenset([distribution.replace("-", "_")])


def distribution_of(module: str) -> str:
    """Return the distribution that is known to bring a module; empty where none is."""
    return next(iter((_TEST_TOOLS | _LIBRARIES).get(module, _plugin(module))), "")


def _certain(texts: Mapping[str, str]) -> Iterator[str]:
    ignores = any("ignore" in text for path, text in texts.items() if path.endswith("conftest.py"))
    for path in filter(is_collected, texts):
        if not ignores or path.endswith("conftest.py"):
            yield path


def _imported(texts: Mapping[str, str], collected: Iterable[str]) -> Iterator[tuple[str, str, int]]:
    # Yield each import of what is not the suite's own, from files that are collected and those of
    # the suite that they import: file, module, line.
    own = {part.removesuffix(".py") for path in texts for part in path.split("/")}
    waiting = list(collected)
    read = set(waiting)
    while waiting:
        path = waiting.pop(0)
        for module, line in _free_imports(texts[path]):
            if module in own:
                helpers = {f"{module}.py", f"{module}/__init__.py"} & texts.keys() - read
                waiting += sorted(helpers)
                read |= helpers
            else:
                yield path, module, line


def is_collected(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name == "conftest.py" or (
        name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
    )


def _free_imports(text: str) -> Iterator[tuple[str, int]]:
    if any(word in text for word in _CONDITIONAL):
        return
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in body:
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], node.lineno
