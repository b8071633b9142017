"""What is wrong with a suite before any cell exists, and which packages bring which modules."""

import ast
import configparser
import sys
from collections.abc import Iterator, Mapping

from packaging.utils import canonicalize_name

from compat.declare.capabilities import SETTINGS, core_findings, is_test_file
from compat.declare.faults import faults_of, shown, suite_faults_at
from compat.declare.matrix import Matrix
from compat.declare.parsing import parse_requirement
from compat.errors import Fault


# Modules with a known distribution, normalised (PEP 503). The distribution of any other module may
# have any name.
def _brought(modules: str) -> dict[str, tuple[str, ...]]:
    pairs = (word.partition("=") for word in modules.split())
    return {name: tuple((brought or name).split(",")) for name, _, brought in pairs}


_MODULES = _brought(
    "approvaltests ddt dirty_equals=dirty-equals factory=factory-boy faker freezegun httpretty"
    " hamcrest=pyhamcrest hypothesis inline_snapshot=inline-snapshot mock moto nose=nose,pynose"
    " parameterized requests_mock=requests-mock respx syrupy testfixtures vcr=vcrpy"
    " time_machine=time-machine xdist=pytest-xdist"
    " PIL=pillow,pillow-simd aiohttp attr=attrs boto3 bs4=beautifulsoup4 dateutil=python-dateutil"
    " django flask grpc=grpcio httpx jinja2 lxml matplotlib numpy pandas psutil pydantic redis"
    " requests scipy sklearn=scikit-learn,scikit-learn-intelex sqlalchemy tqdm yaml=pyyaml"
)


def asked_names(matrix: Matrix) -> frozenset[str]:
    texts = (*matrix.suite.requirements, *matrix.requirements)
    requirements = {canonicalize_name(parse_requirement(text).name) for text in texts}
    return frozenset(requirements | {axis.normalised_name for axis in matrix.packages})


def modules_of(distribution: str) -> frozenset[str]:
    """Return the modules of a distribution; of an unknown one, the module with its name."""
    known = frozenset(module for module, names in _MODULES.items() if distribution in names)
    return known or frozenset([distribution.replace("-", "_")])


def distribution_of(module: str) -> str:
    """Return the known distribution of a module, else ""."""
    plugin = (canonicalize_name(module),) if module.startswith("pytest_") else ()
    return next(iter(_MODULES.get(module, plugin)), "")


def is_collected(path: str) -> bool:
    return path.rpartition("/")[2] == "conftest.py" or is_test_file(path)


def suite_faults(matrix: Matrix, texts: Mapping[str, str] | None, source: str) -> tuple[Fault, ...]:
    """`texts` are its Python files and settings of pytest by path; None without a folder."""
    if texts is None:
        message = f"{shown(matrix.suite.path)} is not a directory"
        return suite_faults_at(source, ("path",), message, "make it, with at least one test_*.py")
    is_there = matrix.suite.tests in texts or "python_files" in texts.get(SETTINGS, "")
    if not is_there and not any(map(is_test_file, texts)):
        if matrix.suite.tests:
            message = f"{shown(matrix.suite.tests)} has no file of tests that pytest collects"
            return suite_faults_at(
                source, ("tests",), message, "name a folder with a test_*.py, or a file"
            )
        message = f"{shown(matrix.suite.path)} has no file of tests"
        return suite_faults_at(source, ("path",), message, "add at least one test_*.py")
    folder = "" if matrix.suite.tests else f"{source.rpartition('/')[0]}/{matrix.suite.path}/"
    without_pytest: tuple[Fault, ...] = ()
    if "pytest" not in asked_names(matrix):
        message = "do not ask for pytest, which runs the suite in each cell"
        without_pytest = suite_faults_at(source, ("requirements",), message, "add 'pytest'")
    settings: tuple[Fault, ...] = ()
    try:
        parser = configparser.RawConfigParser(allow_no_value=True)
        parser.read_string(texts.get(SETTINGS, ""))
    except configparser.Error as fault:
        reason = str(fault).replace("\n", " ").replace("'<string>', ", "")
        message = f"is not valid INI: {reason}"
        settings = (Fault(code="suite", path=f"{folder}{SETTINGS}", message=message),)
    return (
        *without_pytest,
        *_unparsable(matrix, texts, folder),
        *settings,
        *faults_of(source, core_findings(matrix.suite.core, texts)),
    )


def _unparsable(matrix: Matrix, texts: Mapping[str, str], folder: str) -> Iterator[Fault]:
    # Yield the files that the matrix's oldest interpreter cannot parse, as far as this one can
    # check.
    oldest = min(release.release[:2] for release in matrix.interpreters.releases)
    running = sys.version_info[:2]
    if oldest > running or any("collect_ignore" in text for text in texts.values()):
        return
    for name, text in sorted(texts.items()):
        if not name.endswith(".py") or (matrix.suite.tests and not is_collected(name)):
            continue
        try:
            ast.parse(text, feature_version=(oldest[0], oldest[1]))
        except (SyntaxError, ValueError) as fault:
            line = f":{fault.lineno}" if isinstance(fault, SyntaxError) and fault.lineno else ""
            reason = fault.msg if isinstance(fault, SyntaxError) else str(fault)
            message = (
                f"does not parse on Python {oldest[0]}.{oldest[1]}, the matrix's oldest: {reason}"
            )
            yield Fault(code="suite", path=f"{folder}{name}{line}", message=message)
