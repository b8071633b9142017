"""The `declare` room's dependency groups and extras of a suite: what the repository's
pyproject.toml makes of them.
"""

import re
from collections.abc import Iterator

import msgspec
from packaging.utils import canonicalize_name

from compat.declare.faults import Finding, Path, faults_of
from compat.declare.matrix import Matrix
from compat.declare.parsing import parse_requirement
from compat.declare.project import PYPROJECT, project_of
from compat.errors import DeclarationError, Fault


def with_groups(matrix: Matrix, content: bytes | None, source: str) -> Matrix:
    """Return the matrix with what the suite's groups and extras ask for among its requirements.

    `content` is the repository's pyproject.toml, None without one. A requirement of the project on
    itself stands for the extras that it names, and one of a package that has an axis is left out,
    as its version is the cell's to choose. Raises DeclarationError for what is not there, and for
    what no lock can hold.
    """
    suite = matrix.suite
    if not suite.groups and not suite.extras:
        return matrix
    if content is None:
        key = "groups" if suite.groups else "extras"
        message = f"there is no {PYPROJECT} in the repository, beside the folder matrices/"
        raise DeclarationError(*_faults(source, ("suite", key), message))
    project = project_of(content)
    texts = list(suite.requirements)
    for key, names in (("groups", suite.groups), ("extras", suite.extras)):
        for number, name in enumerate(names):
            try:
                asked = project.of_group(name) if key == "groups" else project.of_extra(name)
                texts += _without_axes(matrix, asked)
            except ValueError as error:
                path = ("suite", key, number)
                raise DeclarationError(*_faults(source, path, str(error))) from error
    asked_for = msgspec.structs.replace(suite, requirements=tuple(dict.fromkeys(texts)))
    return msgspec.structs.replace(matrix, suite=asked_for)


def _without_axes(matrix: Matrix, texts: tuple[str, ...]) -> Iterator[str]:
    axes = {axis.normalised_name for axis in matrix.packages}
    for text in texts:
        name = canonicalize_name(re.split(r"[^\w.-]", text.strip(), maxsplit=1)[0])
        if name not in axes:
            parse_requirement(text)
            yield text


def _faults(source: str, path: Path, message: str) -> tuple[Fault, ...]:
    return faults_of(source, [Finding("suite", path, message)])
