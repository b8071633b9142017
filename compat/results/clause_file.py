"""The files of a matrix that keep its clauses, and what resolvers said of single cells."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from compat.declare.matrix import Matrix
from compat.errors import DeclarationError
from compat.files import read_if_there, write
from compat.results.audits import Audit, decode_audit, encode_audit
from compat.results.blames import KeptBlame, decode_blames, with_blames
from compat.results.clauses import KeptClauses, decode_clauses, encode_clauses
from compat.results.plain_answers import PlainAnswer, decode_answers, encode_answers

PLAIN = "plain.json"
CLAUSES = "clauses.json"
PROBES = "probes.json"
AUDIT = "audit.json"
BLAMES = "blames.json"


class LearntFiles:
    """What resolvers said and refusals taught of a matrix, from its files as they were at one
    moment. Each part raises DeclarationError for damage.
    """

    def __init__(self, folder: Path, matrix: Matrix) -> None:
        self._folder = folder
        self._matrix = matrix
        self._texts = {name: read_if_there(folder / name) for name in (PLAIN, PROBES, CLAUSES)}

    @property
    def texts(self) -> tuple[bytes, ...]:
        """What stood in the files; of one that is not there, nothing."""
        return tuple(text or b"" for text in self._texts.values())

    @cached_property
    def plain(self) -> dict[str, PlainAnswer]:
        return _answers(self._folder, PLAIN, self._texts[PLAIN])

    @cached_property
    def asked(self) -> dict[str, PlainAnswer]:
        """What a resolver last said of each cell, by its id; the newer of answer and probe."""
        return newest_answers(self.plain, _answers(self._folder, PROBES, self._texts[PROBES]))

    @cached_property
    def clauses(self) -> KeptClauses:
        return _clauses(self._folder, self._matrix, self._texts[CLAUSES])


def kept_clauses(folder: Path, matrix: Matrix) -> KeptClauses:
    """Return the clauses of the matrix in that folder; raise DeclarationError for damage."""
    return _clauses(folder, matrix, read_if_there(folder / CLAUSES))


def _clauses(folder: Path, matrix: Matrix, text: bytes | None) -> KeptClauses:
    source = f"matrices/{folder.name}/{CLAUSES}"
    if text is None:
        return KeptClauses()
    return decode_clauses(text.decode(errors="replace"), source, matrix)


def keep_clauses(folder: Path, matrix: Matrix, clauses: KeptClauses) -> None:
    write(folder / CLAUSES, encode_clauses(clauses, matrix))


def kept_blames(folder: Path) -> tuple[KeptBlame, ...]:
    """Return what blame found in the matrix of that folder; raise DeclarationError for damage."""
    text = read_if_there(folder / BLAMES)
    try:
        return () if text is None else decode_blames(text)
    except (msgspec.MsgspecError, ValueError) as fault:
        raise DeclarationError.of(str(fault), path=f"matrices/{folder.name}/{BLAMES}") from fault


def keep_blames(folder: Path, blames: Sequence[KeptBlame]) -> None:
    write(folder / BLAMES, with_blames(kept_blames(folder), blames))


def kept_probes(folder: Path) -> dict[str, PlainAnswer]:
    return _answers(folder, PROBES, read_if_there(folder / PROBES))


def _answers(folder: Path, name: str, text: bytes | None) -> dict[str, PlainAnswer]:
    if text is None:
        return {}
    source = f"matrices/{folder.name}/{name}"
    return decode_answers(text.decode(errors="replace"), source, is_any_recipe=name == PROBES)


def keep_probes(folder: Path, probes: Iterable[PlainAnswer]) -> None:
    """Keep answers, each in the place of the earlier one about its cell."""
    merged = kept_probes(folder) | {probe.cell: probe for probe in probes}
    write(folder / PROBES, encode_answers(merged.values()))


def newest_answers(
    plain: Mapping[str, PlainAnswer], probes: Mapping[str, PlainAnswer]
) -> dict[str, PlainAnswer]:
    newer = {c: probe for c, probe in probes.items() if c not in plain or plain[c].on <= probe.on}
    return {**plain, **newer}


def keep_plain(folder: Path, answers: Iterable[PlainAnswer]) -> None:
    """Keep answers about plain installs, each in the place of the earlier one about its cell."""
    merged = _answers(folder, PLAIN, read_if_there(folder / PLAIN))
    merged |= {answer.cell: answer for answer in answers}
    write(folder / PLAIN, encode_answers(merged.values()))


def kept_audit(folder: Path) -> Audit | None:
    """Return the newest audit of what is inferred; None when there was none."""
    text = read_if_there(folder / AUDIT)
    source = f"matrices/{folder.name}/{AUDIT}"
    return None if text is None else decode_audit(text.decode(errors="replace"), source)


def keep_audit(folder: Path, audit: Audit) -> None:
    write(folder / AUDIT, encode_audit(audit))
