"""The one file of a matrix that keeps its clauses, and what resolvers said of single cells."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from compat.declare.matrix import Matrix
from compat.files import read_if_there, write
from compat.results.clauses import Clause, decode_clauses, encode_clauses
from compat.results.plain_answers import PlainAnswer, decode_answers, encode_answers

CLAUSES = "clauses.json"
PROBES = "probes.json"


def kept_clauses(folder: Path, matrix: Matrix) -> tuple[Clause, ...]:
    """Return the clauses of the matrix in that folder; raise DeclarationError for damage."""
    text = read_if_there(folder / CLAUSES)
    source = f"matrices/{folder.name}/{CLAUSES}"
    return () if text is None else decode_clauses(text.decode(errors="replace"), source, matrix)


def keep_clauses(folder: Path, matrix: Matrix, clauses: Iterable[Clause]) -> None:
    """Write the clauses in the place of those that are kept."""
    write(folder / CLAUSES, encode_clauses(clauses, matrix))


def kept_probes(folder: Path) -> dict[str, PlainAnswer]:
    """Return what a resolver last said of each cell that was asked about to learn of others."""
    text = read_if_there(folder / PROBES)
    source = f"matrices/{folder.name}/{PROBES}"
    if text is None:
        return {}
    return decode_answers(text.decode(errors="replace"), source, is_any_recipe=True)


def keep_probes(folder: Path, probes: Iterable[PlainAnswer]) -> None:
    """Keep answers, each in the place of the earlier one about its cell."""
    merged = kept_probes(folder) | {probe.cell: probe for probe in probes}
    write(folder / PROBES, encode_answers(merged.values()))


def newest_answers(
    plain: Mapping[str, PlainAnswer], probes: Mapping[str, PlainAnswer]
) -> dict[str, PlainAnswer]:
    """Return what a resolver last said of each cell, whoever asked."""
    newer = {c: probe for c, probe in probes.items() if c not in plain or plain[c].on <= probe.on}
    return {**plain, **newer}
