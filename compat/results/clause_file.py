"""The one file of a matrix that keeps its clauses, and what resolvers said of single cells."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from compat.declare.matrix import Matrix
from compat.files import read_if_there, write
from compat.results.audits import Audit, decode_audit, encode_audit
from compat.results.clauses import KeptClauses, decode_clauses, encode_clauses
from compat.results.plain_answers import PlainAnswer, decode_answers, encode_answers

CLAUSES = "clauses.json"
PROBES = "probes.json"
AUDIT = "audit.json"


def kept_clauses(folder: Path, matrix: Matrix) -> KeptClauses:
    """Return the clauses of the matrix in that folder; raise DeclarationError for damage."""
    text = read_if_there(folder / CLAUSES)
    source = f"matrices/{folder.name}/{CLAUSES}"
    if text is None:
        return KeptClauses()
    return decode_clauses(text.decode(errors="replace"), source, matrix)


def keep_clauses(folder: Path, matrix: Matrix, clauses: KeptClauses) -> None:
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


def kept_audit(folder: Path) -> Audit | None:
    """Return the newest audit of what is inferred; None when there was none."""
    text = read_if_there(folder / AUDIT)
    source = f"matrices/{folder.name}/{AUDIT}"
    return None if text is None else decode_audit(text.decode(errors="replace"), source)


def keep_audit(folder: Path, audit: Audit) -> None:
    """Write an audit in the place of the one before."""
    write(folder / AUDIT, encode_audit(audit))
