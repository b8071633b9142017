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
from compat.results.lifted import Lifted
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


class Whereabouts(Value, frozen=True):
    """Where a lock file is: a path or an address."""

    lock: str

    @property
    def is_address(self) -> bool:
        return "://" in self.lock


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


def commands(
    lock: Lock, at: Whereabouts, matrix: Matrix, changed: Sequence[Lifted] = ()
) -> Commands:
    """Return the commands that install a lock; of a given one, without its suite's pins.

    `changed` are the published requirements that the lock violates.
    """
    is_parted = bool(lock.suite_only) and not at.is_address
    first = (_part(lock, at, "!", _LIBRARY),) if is_parted else ()
    place = Whereabouts(lock=_LIBRARY) if is_parted else at
    target, smoke = folder(lock.inputs), smoke_test(lock.inputs, matrix)
    uv, pip = shell_lines(lock.inputs, place, matrix)
    return Commands(
        folder=target,
        platform=platform_words(lock.inputs),
        uv=(*first, *uv),
        pip=(*first, *pip),
        pyproject=tuple(_pyproject(lock, changed)),
        project=(*first, *_project(lock, place, matrix, smoke)),
        colab=tuple(
            f"!{line}"
            for line in (
                "pip install --quiet uv",
                *first,
                *_uv_lines(lock.inputs, place),
                f"{target}/bin/python -c {quote(smoke)}",
            )
        ),
        docker=(*(f"# {line}" for line in first), *_docker(lock, place, smoke)),
    )


def suite_lines(lock: Lock, at: Whereabouts) -> tuple[str, ...]:
    if not lock.suite_only:
        return ()
    return _part(lock, at, "", _SUITE), f"{_uv_install(lock.inputs)} -r {_SUITE}"


def _part(lock: Lock, at: Whereabouts, sign: str, name: str) -> str:
    only = "|".join(lock.suite_only or ())
    return f"awk '/^[a-z0-9]/ {{ own = {sign}/^({only})==/ }} own' {quote(at.lock)} > {name}"


def _uv_install(inputs: Inputs) -> str:
    return f"uv pip install --python {folder(inputs)} --no-deps --require-hashes"


def shell_lines(
    inputs: Inputs, at: Whereabouts, matrix: Matrix
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    activate = f"source {folder(inputs)}/bin/activate"
    used = (activate, f"python -c {quote(smoke_test(inputs, matrix))}")
    target = folder(inputs)
    return (*_uv_lines(inputs, at), *used), (
        *(
            f"python{series(inputs)} -m venv {target}",
            f"{target}/bin/python -m {_pip_install(inputs)} -r {quote(at.lock)}",
        ),
        *used,
    )


def folder(inputs: Inputs) -> str:
    return "-".join(reversed(inputs.cell.partition("+")[0].split("-")))


def smoke_test(inputs: Inputs, matrix: Matrix) -> str:
    package = matrix.subject_axis.package
    module = matrix.suite.module or canonicalize_name(package).replace("-", "_")
    if inputs.python < _WITH_METADATA:
        return f'import {module}; print("{module} imported")'
    return f'import {module}; from importlib.metadata import version; print(version("{package}"))'


def platform_words(inputs: Inputs) -> str:
    architecture, _, system = without_build(inputs.platform).partition("-")
    glibc = system.removeprefix("manylinux_").replace("_", ".")
    return f"Linux {architecture.replace('_', '-')}, glibc {glibc} or newer"


def series(inputs: Inputs) -> str:
    return python_name(inputs.python, inputs.platform)


def in_two_steps(inputs: Inputs) -> bool:
    return inputs.injected_pin is not None and inputs.install_as_python is not None


def _uv_lines(inputs: Inputs, at: Whereabouts) -> tuple[str, ...]:
    target = folder(inputs)
    install = _uv_install(inputs)
    first = f"uv venv --python {series(inputs)} {target}"
    if not in_two_steps(inputs):
        return first, f"{install} -r {quote(at.lock)}"
    # uv takes one Python for a whole file: the subject comes as if for another one.
    return (
        first,
        *_split(inputs, at),
        f"{install} -r pins.txt",
        f"{install} --python-version {inputs.install_as_python} -r given.txt",
    )


def _pip_install(inputs: Inputs) -> str:
    ignoring = " --ignore-requires-python" if in_two_steps(inputs) else ""
    return f"pip install --no-deps --require-hashes{ignoring}"


def _pyproject(lock: Lock, changed: Sequence[Lifted]) -> Iterator[str]:
    """uv's settings for a project: the lock's one Python and platform, and the overrides of
    requirements that the lock violates.
    """
    inputs, pins = lock.inputs, lock.versions
    yield "[project]"
    yield f'requires-python = "=={series(inputs)}.*"'
    yield ""
    yield "[tool.uv]"
    machine = f"platform_machine == '{inputs.platform.partition('-')[0]}'"
    yield f"environments = [\"sys_platform == 'linux' and {machine}\"]"
    overrides, subject = list[str](), inputs.injected_pin
    published = {
        name: f"{name}=={lifted.instead}" if lifted.instead else f"{name} ; {_NOWHERE}"
        for lifted in changed
        for name in lifted.packages
        if lifted.published and name != "Python"
    }
    if subject is not None and published and not in_two_steps(inputs):
        overrides.append(scoped(subject.name, subject.version, published.values()))
    # Rules that replace a package throughout the tree.
    names = (canonicalize_name(Requirement(text).name) for text in inputs.overrides)
    overrides += (json.dumps(f"{name}=={pins[name]}") for name in names if name in pins)
    overrides += (json.dumps(f"{name} ; {_NOWHERE}") for name in inputs.excludes)
    if overrides:
        yield "override-dependencies = ["
        yield from (f"  {override}," for override in overrides)
        yield "]"
    if subject is not None and in_two_steps(inputs):
        # uv reads this instead of the release's metadata, which does not admit the Python:
        # https://docs.astral.sh/uv/reference/settings/#dependency-metadata
        yield ""
        yield "[[tool.uv.dependency-metadata]]"
        yield f'name = "{subject.name}"'
        yield f'version = "{subject.version}"'
        yield "requires-dist = ["
        for text in inputs.requirements:
            if text not in inputs.suite:
                yield f"  {json.dumps(text)},"
        yield "]"


def scoped(package: str, version: Version, requirements: Iterable[str]) -> str:
    """Return uv's override of the requirements of only one package version."""
    replaced = ", ".join(map(json.dumps, requirements))
    target = f'{{ name = "{package}", version = "{version}" }}'
    return f"{{ package = {target}, dependencies = [{replaced}] }}"


def _project(lock: Lock, at: Whereabouts, matrix: Matrix, smoke: str) -> Iterator[str]:
    package = matrix.subject_axis.package
    pin = next(pin for pin in lock.pins if pin.name == canonicalize_name(package))
    constraints = at.lock
    if at.is_address:
        constraints = "constraints.txt"
        yield f"curl -fsSL -o {constraints} {quote(at.lock)}"
    yield f"uv add --constraints {quote(constraints)} {quote(f'{package}=={pin.version}')}"
    yield f"uv run python -c {quote(smoke)}"


def _docker(lock: Lock, at: Whereabouts, smoke: str) -> Iterator[str]:
    # The slim images have no compiler: https://hub.docker.com/_/python
    image = f"python:{series(lock.inputs)}" + ("" if lock.builds else "-slim")
    own = lock.inputs.platform.partition("-")[0]
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(own, own)
    yield f"FROM --platform=linux/{architecture} {image}"
    place = at.lock
    if not at.is_address:
        place = "lock.txt"
        yield f"COPY {at.lock} {place}"
    yield f"RUN {_pip_install(lock.inputs)} --no-cache-dir -r {quote(place)}"
    yield f"RUN python -c {quote(smoke)}"


def _split(inputs: Inputs, at: Whereabouts) -> tuple[str, ...]:
    name = "" if inputs.injected_pin is None else inputs.injected_pin.name
    mark, path = f"/^[a-z0-9]/ {{ given = /^{name}==/ }}", "lock.txt" if at.is_address else at.lock
    return (
        *((f"curl -fsSL -o {path} {quote(at.lock)}",) if at.is_address else ()),
        f"awk '{mark} given' {quote(path)} > given.txt",
        f"awk '{mark} !given' {quote(path)} > pins.txt",
    )
