"""Generates the commands that install exactly a lock's pins, and test the result.

Site, API and command line print these lines: with uv, with pip, in an existing project, in a
notebook of Colab, and in a Dockerfile.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.lock.lockfile import Inputs, Lock
from compat.plan.platform import python_name, without_build
from compat.results.answer import Lifted
from compat.value import Value

# The first with importlib.metadata in the standard library:
# https://docs.python.org/3/library/importlib.metadata.html
_WITH_METADATA = Version("3.8")
# The parts of a lock that marks the suite's pins.
_LIBRARY, _SUITE = "library.txt", "suite.txt"
# A marker that never holds: uv removes the package from the tree.
# https://docs.astral.sh/uv/concepts/resolution/#dependency-overrides
_NOWHERE = "python_version < '0'"
# The first uv that reads an override of one package version: astral-sh/uv#19970.
SCOPED_SINCE = "0.11.25"


class Commands(Value, frozen=True):
    """Lines that make the virtual environment `folder`, install the lock, activate it, and print
    the subject's version.

    `uv`, `pip` and `project` are for a shell; `colab` is a cell of a notebook, `docker` a
    Dockerfile. `pyproject` is what `project` needs in a pyproject.toml of uv. `platform` is where
    the lock installs.
    """

    folder: str
    platform: str
    uv: tuple[str, ...]
    pip: tuple[str, ...]
    pyproject: tuple[str, ...]
    project: tuple[str, ...]
    colab: tuple[str, ...]
    docker: tuple[str, ...]


class _Shell:
    """What the lines that install a lock at a place have in common."""

    def __init__(self, inputs: Inputs, at: str, matrix: Matrix) -> None:
        self.inputs, self.at = inputs, at
        self.package = matrix.subject_axis.package
        self.folder = _folder(inputs)
        self.python = python_name(inputs.python, inputs.platform)
        # One that is given to the installer as if for another Python is installed by itself.
        self.given = None if inputs.install_as_python is None else inputs.injected_pin
        module = matrix.suite.module or canonicalize_name(self.package).replace("-", "_")
        self.smoke = f'import {module}; print("{module} imported")'
        if inputs.python >= _WITH_METADATA:
            shown = f'from importlib.metadata import version; print(version("{self.package}"))'
            self.smoke = f"import {module}; {shown}"
        ignoring = " --ignore-requires-python" if self.given else ""
        self.pip = f"pip install --no-deps --require-hashes{ignoring}"

    def downloaded(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return where the lock is as a file, and the line that fetches one with an address."""
        if "://" not in self.at:
            return self.at, ()
        return name, (f"curl -fsSL -o {name} {quote(self.at)}",)

    def uv(self) -> tuple[str, ...]:
        first, install = f"uv venv --python {self.python} {self.folder}", _uv_install(self.folder)
        if self.given is None:
            return first, f"{install} -r {quote(self.at)}"
        # uv takes one Python for a whole file: the subject comes as if for another one.
        path, fetched = self.downloaded("lock.txt")
        mark = f"/^[a-z0-9]/ {{ given = /^{self.given.name}==/ }}"
        return (
            first,
            *fetched,
            f"awk '{mark} given' {quote(path)} > given.txt",
            f"awk '{mark} !given' {quote(path)} > pins.txt",
            f"{install} -r pins.txt",
            f"{install} --python-version {self.inputs.install_as_python} -r given.txt",
        )

    def lines(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return those with uv and those with pip, to the test of the result."""
        used = f"source {self.folder}/bin/activate", f"python -c {quote(self.smoke)}"
        own = f"{self.folder}/bin/python -m {self.pip} -r {quote(self.at)}"
        return (*self.uv(), *used), (f"python{self.python} -m venv {self.folder}", own, *used)

    def project(self, lock: Lock) -> Iterator[str]:
        pin = next(pin for pin in lock.pins if pin.name == canonicalize_name(self.package))
        constraints, fetched = self.downloaded("constraints.txt")
        yield from fetched
        yield f"uv add --constraints {quote(constraints)} {quote(f'{self.package}=={pin.version}')}"
        yield f"uv run python -c {quote(self.smoke)}"

    def docker(self, lock: Lock) -> Iterator[str]:
        # The slim images have no compiler: https://hub.docker.com/_/python
        image = f"python:{self.python}" + ("" if lock.builds else "-slim")
        own = self.inputs.platform.partition("-")[0]
        architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(own, own)
        yield f"FROM --platform=linux/{architecture} {image}"
        place = self.at
        if "://" not in place:
            place = "lock.txt"
            yield f"COPY {self.at} {place}"
        yield f"RUN {self.pip} --no-cache-dir -r {quote(place)}"
        yield f"RUN python -c {quote(self.smoke)}"

    def pyproject(self, lock: Lock, changed: Sequence[Lifted]) -> Iterator[str]:
        """uv's settings: one Python and platform, and overrides of violated requirements."""
        inputs, pins, subject = self.inputs, lock.versions, self.inputs.injected_pin
        machine = f"platform_machine == '{inputs.platform.partition('-')[0]}'"
        yield from ("[project]", f'requires-python = "=={self.python}.*"', "", "[tool.uv]")
        yield f"environments = [\"sys_platform == 'linux' and {machine}\"]"
        overrides = list[str]()
        published = {
            name: f"{name}=={lifted.instead}" if lifted.instead else f"{name} ; {_NOWHERE}"
            for lifted in changed
            for name in lifted.packages
            if lifted.published and name != "Python"
        }
        if subject is not None and published and self.given is None:
            overrides.append(scoped(subject.name, subject.version, published.values()))
        # Rules that replace a package throughout the tree.
        names = (canonicalize_name(Requirement(text).name) for text in inputs.overrides)
        overrides += (json.dumps(f"{name}=={pins[name]}") for name in names if name in pins)
        overrides += (json.dumps(f"{name} ; {_NOWHERE}") for name in inputs.excludes)
        if overrides:
            yield "override-dependencies = ["
            yield from (f"  {override}," for override in overrides)
            yield "]"
        if self.given is not None:
            # uv reads this instead of the release's metadata, which does not admit the Python:
            # https://docs.astral.sh/uv/reference/settings/#dependency-metadata
            yield from ("", "[[tool.uv.dependency-metadata]]", f'name = "{self.given.name}"')
            yield from (f'version = "{self.given.version}"', "requires-dist = [")
            asked = (text for text in inputs.requirements if text not in inputs.suite)
            yield from (f"  {json.dumps(text)}," for text in asked)
            yield "]"


def commands(lock: Lock, at: str, matrix: Matrix, changed: Sequence[Lifted] = ()) -> Commands:
    """Return the commands that install a lock at a path or an address; of a path, without its
    suite's pins.

    `changed` are the published requirements that the lock violates.
    """
    is_parted = bool(lock.suite_only) and "://" not in at
    first = (_part(lock, at, "!", _LIBRARY),) if is_parted else ()
    shell = _Shell(lock.inputs, _LIBRARY if is_parted else at, matrix)
    uv, pip = shell.lines()
    smoke = f"{shell.folder}/bin/python -c {quote(shell.smoke)}"
    colab = ("pip install --quiet uv", *first, *shell.uv(), smoke)
    return Commands(
        folder=shell.folder,
        platform=platform_words(lock.inputs),
        uv=(*first, *uv),
        pip=(*first, *pip),
        pyproject=tuple(shell.pyproject(lock, changed)),
        project=(*first, *shell.project(lock)),
        colab=tuple(f"!{line}" for line in colab),
        docker=(*(f"# {line}" for line in first), *shell.docker(lock)),
    )


def shell_lines(inputs: Inputs, at: str, matrix: Matrix) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return _Shell(inputs, at, matrix).lines()


def suite_lines(lock: Lock, at: str) -> tuple[str, ...]:
    if not lock.suite_only:
        return ()
    return _part(lock, at, "", _SUITE), f"{_uv_install(_folder(lock.inputs))} -r {_SUITE}"


def _folder(inputs: Inputs) -> str:
    return "-".join(reversed(inputs.cell.partition("+")[0].split("-")))


def _uv_install(folder: str) -> str:
    return f"uv pip install --python {folder} --no-deps --require-hashes"


def _part(lock: Lock, at: str, sign: str, name: str) -> str:
    only = "|".join(lock.suite_only or ())
    return f"awk '/^[a-z0-9]/ {{ own = {sign}/^({only})==/ }} own' {quote(at)} > {name}"


def platform_words(inputs: Inputs) -> str:
    architecture, _, system = without_build(inputs.platform).partition("-")
    glibc = system.removeprefix("manylinux_").replace("_", ".")
    return f"Linux {architecture.replace('_', '-')}, glibc {glibc} or newer"


def scoped(package: str, version: Version, requirements: Iterable[str]) -> str:
    """Return uv's override of the requirements of only one package version."""
    replaced = ", ".join(map(json.dumps, requirements))
    target = f'{{ name = "{package}", version = "{version}" }}'
    return f"{{ package = {target}, dependencies = [{replaced}] }}"
