"""Raise or lower a floor in a file's text, touching nothing else: which file is read in which
way.
"""

from compat.errors import UsageError
from compat.rewrite.ranges import Move, Unsatisfiable
from compat.rewrite.requirement_lines import rewritten_requirements, rewritten_setup_cfg
from compat.rewrite.toml_values import Rewritten, rewritten_pyproject


def rewritten(path: str, text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Return a library's own file after a move, read by what its name says.

    A second time changes nothing. Raises UsageError for a name that says nothing, DeclarationError
    for a text that is not what the name says.
    """
    name = path.rsplit("/", 1)[-1]
    if name == "pyproject.toml":
        return rewritten_pyproject(text, move)
    if name == "setup.cfg":
        return rewritten_setup_cfg(text, move)
    if name.endswith((".txt", ".in")):
        return rewritten_requirements(text, move)
    hint = "it can in pyproject.toml, setup.cfg, and requirements files ending in .txt or .in"
    raise UsageError.of("compat cannot move a floor in this file", path=path, hint=hint)
