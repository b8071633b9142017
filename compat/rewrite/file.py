"""Raise or lower a floor in a file's text, touching nothing else: which file is read in which
way.
"""

import re
from collections.abc import Callable, Sequence

import msgspec
from packaging.version import Version

from compat.errors import UsageError
from compat.rewrite.classifiers import classifier_changes
from compat.rewrite.mentions import mentions
from compat.rewrite.python_file import rewritten_noxfile, rewritten_setup_py
from compat.rewrite.ranges import Move, Skipped, Unsatisfiable
from compat.rewrite.readme_badges import rewritten_readme
from compat.rewrite.requirement_lines import rewritten_requirements, rewritten_setup_cfg
from compat.rewrite.toml_values import Rewritten, rewritten_pyproject
from compat.rewrite.tox_file import rewritten_tox
from compat.rewrite.version_lists import applied_changes
from compat.rewrite.workflow_file import rewritten_workflow

Rewrite = Callable[[str, Move], Rewritten | Unsatisfiable]
# By the name of the file, the first that fits.
_READERS: tuple[tuple[str, Rewrite], ...] = (
    (r"pyproject\.toml", lambda text, move: _classified(rewritten_pyproject(text, move), move)),
    (r"setup\.cfg", lambda text, move: _classified(rewritten_setup_cfg(text, move), move)),
    (r"setup\.py", rewritten_setup_py),
    (r"tox\.ini", rewritten_tox),
    (r"noxfile\.py", rewritten_noxfile),
    (r"README(?:\.\w+)?", rewritten_readme),
    (r".*\.ya?ml", rewritten_workflow),
    (r".*\.(?:txt|in)", rewritten_requirements),
)
# What a project states its floors in, below its folder; a requirements file is named by itself, as
# many are locks.
PROJECT_FILES = (
    *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py"),
    *("README.md", "README.rst", ".github/workflows/*.yml", ".github/workflows/*.yaml"),
    *(".readthedocs.yml", ".readthedocs.yaml", "constraints.txt", "*/constraints.txt"),
)


def rewritten(path: str, text: str, move: Move) -> Rewritten | Unsatisfiable:
    """Return a library's own file after a move, read by what its name says.

    A second time changes nothing. What is left alone are also the other lines that mention what the
    move leaves. Raises UsageError for a name that says nothing, DeclarationError for a text that is
    not what the name says.
    """
    name = path.rsplit("/", 1)[-1]
    for pattern, rewrite in _READERS:
        if re.fullmatch(pattern, name):
            outcome = rewrite(text, move)
            if isinstance(outcome, Unsatisfiable):
                return outcome
            lines = text.splitlines()
            named = {lines[int(s.place[5:]) - 1].strip() for s in outcome.left if _is_line(s)}
            named |= {s.text.strip() for s in outcome.left if not _is_line(s)}
            more = (m for m in mentions(path, outcome.text, move) if m.text not in named)
            return msgspec.structs.replace(outcome, left=(*outcome.left, *more))
    hint = (
        "it can in pyproject.toml, setup.cfg, setup.py, tox.ini, noxfile.py, a README, a CI's YAML,"
        " and requirements files ending in .txt or .in"
    )
    raise UsageError.of("compat cannot move a floor in this file", path=path, hint=hint)


def nearest_floor(path: str, text: str, move: Move) -> Version | None:
    # Return the version of the axis nearest to the floor of a move that a file cannot follow, on
    # the way there, with which it can; None where there is none.
    before = move.before
    if before is None:
        return None
    low, high = sorted((before, move.floor))
    on_the_way = sorted(v for v in move.known if low <= v <= high and v not in (before, move.floor))
    candidates: Sequence[Version] = on_the_way[::-1] if move.floor > before else on_the_way
    for version in candidates:
        shorter = msgspec.structs.replace(move, floor=version)
        if isinstance(rewritten(path, text, shorter), Rewritten):
            return version
    return None


def _is_line(skipped: Skipped) -> bool:
    return skipped.place.startswith("line ")


def _classified(outcome: Rewritten | Unsatisfiable, move: Move) -> Rewritten | Unsatisfiable:
    if isinstance(outcome, Unsatisfiable):
        return outcome
    changes = classifier_changes(outcome.text, move)
    after, edits = applied_changes(outcome.text, changes, "classifiers")
    return Rewritten(text=after, edits=(*outcome.edits, *edits), left=outcome.left)
