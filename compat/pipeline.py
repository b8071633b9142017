"""The journey on one page: declare -> discover -> plan -> lock.

Each step takes what the step before it made.
"""

import datetime
import difflib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from packaging.version import Version

from compat.declare.load import Declared, load
from compat.declare.matrix import Matrix
from compat.declare.suite import SETTINGS, suite_faults
from compat.errors import DeclarationError, Fault, NothingToDo, UsageError
from compat.files import read, read_if_there
from compat.index.discover import discover
from compat.index.kept import decode_catalogue
from compat.index.release import Catalogue
from compat.index.source import ReleaseSource
from compat.lock.locker import Locker
from compat.lock.lockfile import Lock, Refusal
from compat.lock.recipe import locked_cell
from compat.lock.text import decode_lock
from compat.plan.cell import Cell, form, parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import Fate, Infeasible, Plan, every_cell, fate_of, plan
from compat.plan.product import axis_coordinates
from compat.value import Value

CATALOGUE = "catalogue.json"


class LockAnswer(Value, frozen=True, kw_only=True):
    """What locking a cell came to: a Lock, the resolver's Refusal, or the plan's Infeasible."""

    cell: Cell
    result: Lock | Refusal | Infeasible


def declared(folder: Path, today: datetime.date) -> Declared:
    """Declare: read a matrix's folder."""
    matrix = read(folder / "matrix.toml")
    return load(matrix, read_if_there(folder / "policy.toml"), folder=folder.name, today=today)


def discovered(ask: Declared, source: ReleaseSource, kept: Catalogue | None = None) -> Catalogue:
    """Discover: ask the index for what the matrix speaks of; what the subject pins is taken from
    `kept`, if given.
    """
    return discover(ask.matrix, source, None if kept is None else kept.required)


def kept_catalogue(folder: Path, matrix: Matrix) -> Catalogue | None:
    """Return the catalogue that is kept beside the matrix; None when there is none.

    Raises DeclarationError when it was written before the matrix got one of its axes.
    """
    text, source = read_if_there(catalogue_path(folder)), f"matrices/{folder.name}/{CATALOGUE}"
    if text is None:
        return None
    catalogue = decode_catalogue(text.decode(errors="replace"), source)
    known = {package.name for package in catalogue.packages}
    lacking = [axis.package for axis in matrix.packages if axis.normalised_name not in known]
    if lacking:
        hint = f"compat discover {folder.name} --write asks the index for it"
        raise DeclarationError.of(f"lacks {', '.join(lacking)}", path=source, hint=hint)
    return catalogue


def catalogue_path(folder: Path) -> Path:
    """Return where a matrix's kept catalogue stands."""
    return folder / CATALOGUE


def suite_texts(folder: Path, matrix: Matrix) -> dict[str, str]:
    """Return the Python files of a matrix's suite, by their path below it."""
    suite = folder / matrix.suite.path
    return {
        path.relative_to(suite).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(suite.rglob("*.py"))
    }


def suite_trouble(folder: Path, matrix: Matrix) -> tuple[Fault, ...]:
    """Return what is wrong with a matrix's suite, as far as it can be known without a cell."""
    suite = folder / matrix.suite.path
    texts = None
    if suite.is_dir():
        settings = read_if_there(suite / SETTINGS)
        texts = suite_texts(folder, matrix)
        if settings is not None:
            texts[SETTINGS] = settings.decode(errors="replace")
    return suite_faults(matrix, texts, f"matrices/{folder.name}/matrix.toml")


def planned(ask: Declared, catalogue: Catalogue, here: frozenset[Version] | None = None) -> Plan:
    """Plan: give every cell its fate."""
    return plan(ask.matrix, catalogue, here)


def product_of(ask: Declared, catalogue: Catalogue) -> tuple[Cell, ...]:
    """Return every cell of the matrix, feasible or not. Raises NothingToDo when there is none."""
    refuse_empty(ask, catalogue)
    return tuple(every_cell(Feasibility(ask.matrix, catalogue)))


def refuse_empty(ask: Declared, catalogue: Catalogue) -> None:
    """Raise NothingToDo when an axis selects no release, so that the matrix has no cells."""
    for axis in ask.matrix.packages:
        if not axis_coordinates(axis, catalogue):
            because = f"no release of {axis.package} is one that axis {axis.name!r} selects"
            where = f"change `select` of the axis in matrices/{ask.matrix.name}/matrix.toml"
            raise NothingToDo.of(f"matrix {ask.matrix.name!r} has no cells: {because}", hint=where)


def chosen(ask: Declared, catalogue: Catalogue, patterns: Iterable[str]) -> tuple[Cell, ...]:
    """Return the cells that ids and globs name, each once, in the order of the words, then of the
    plan.

    Raises UsageError for an id outside the product, and for a glob that matches nothing;
    NothingToDo when the matrix has no cells at all.
    """
    found: dict[str, Cell] = {}
    every = {cell.id: cell for cell in product_of(ask, catalogue)}
    for pattern in patterns:
        if pattern in every:
            found[pattern] = every[pattern]
            continue
        matching = [cell_id for cell_id in every if fnmatchcase(cell_id, pattern)]
        if not matching:
            raise _no_cell(Feasibility(ask.matrix, catalogue), every, pattern)
        found.update((cell_id, every[cell_id]) for cell_id in matching)
    return tuple(found.values())


def locked(facts: Feasibility, cell: Cell, locker: Locker, source: ReleaseSource) -> LockAnswer:
    """Lock: turn one cell into exact pins, or say why not."""
    fate: Fate = fate_of(facts, cell)
    if isinstance(fate, Infeasible):
        return LockAnswer(cell=cell, result=fate)
    return LockAnswer(cell=cell, result=locked_cell(facts, cell, locker, source.package))


def lock_path(folder: Path, cell_id: str) -> Path:
    """Return where a cell's lock stands."""
    return folder / "locks" / f"{cell_id}.txt"


def kept_locks(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the id and the path of every lock of a matrix, sorted by id."""
    for path in sorted((folder / "locks").glob("*.txt")):
        yield path.stem, path


def kept_lock(path: Path) -> Lock:
    """Return the lock of that file; raise DeclarationError when it is damaged."""
    return decode_lock(read(path).decode(errors="replace"), "/".join(path.parts[-4:]))


def _no_cell(facts: Feasibility, every: dict[str, Cell], pattern: str) -> UsageError:
    matrix = facts.matrix
    if not any(sign in pattern for sign in "*?["):
        dated = msgspec.structs.replace(parse_cell(pattern, matrix), recipe="dated").id
        if pattern.endswith("+relaxed") and dated in every:
            return UsageError.of(
                f"no cell of matrix {matrix.name!r} is {pattern!r}: no rule relaxes anything there",
                hint=f"{dated} asks the same",
            )
    near = difflib.get_close_matches(pattern, every, n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}?" if near else f"ids have the form {form(matrix)}"
    return UsageError.of(f"no cell of matrix {matrix.name!r} is {pattern!r}", hint=hint)
