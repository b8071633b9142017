"""A matrix.toml after a proposal: a floor at another version, or an axis with one more, touching
nothing else.
"""

from typing import Any

from packaging.version import Version

from compat.declare.extended import added_python, widened_specifier
from compat.declare.matrix import InterpreterAxis
from compat.errors import UsageError
from compat.policy.proposal import Proposal
from compat.rewrite.toml_values import parsed_document, rewritten_matrix


def matrix_after(text: str, proposal: Proposal, because: str) -> str:
    """Return a matrix.toml after a proposal; `because` is the reason of a floor.

    Raises DeclarationError for a text that is not valid TOML, and UsageError for an axis that the
    matrix does not declare so.
    """
    if proposal.kind == "extend":
        return _extended(text, proposal.axis, proposal.proposed)
    return rewritten_matrix(text, proposal.axis, proposal.proposed, because)


def _extended(text: str, name: str, version: Version) -> str:
    document = parsed_document(text)
    axis = next((axis for axis in document.get("axes", ()) if axis.get("name") == name), None)
    if axis is None:
        raise UsageError.of(f"declares no axis '{name}'", path="axes")
    if axis.get("kind") == "interpreter":
        _add_series(axis["releases"], name, version)
    else:
        _widen(axis["select"], version)
    return document.as_string()


def _add_series(releases: Any, name: str, version: Version) -> None:
    known = tuple(Version(str(release)) for release in releases)
    declared = InterpreterAxis(name=name, short="py", releases=known)
    added = added_python(declared, version)
    if added not in known:
        releases.append(str(added))


def _widen(select: Any, version: Version) -> None:
    before = str(select["specifier"])
    after = widened_specifier(before, version, str(select.get("keep", "each")))
    if after is not None and after != before:
        select["specifier"] = after
