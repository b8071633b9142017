"""What a resolver said of cells when it was last asked, above all of plain installs: as values, and
as the text of the file that keeps them.

One answer a cell, replaced when it is asked again: a record of each time would be hundreds of files
a week that say the same. Only resolvers speak here; what ran has records.
"""

import datetime
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

import msgspec

from compat.errors import DeclarationError
from compat.lock.lockfile import Lock, Refusal
from compat.results.involved import involved_in_refusal
from compat.results.record import is_cell_id
from compat.run.outcome import Failed, parse_outcome
from compat.value import StrictValue

FORMAT = 1
LOCKED = "locked"
MOST_ANSWERS_BYTES = 20_000_000  # 0.3 KB an answer: 60,000 plain installs

_Words = Annotated[str, msgspec.Meta(max_length=500)]


class PlainAnswer(StrictValue, frozen=True, kw_only=True):
    """What a resolver came to on a day: `locked`, or an outcome of stage lock and one sentence
    why.
    """

    cell: str
    on: datetime.date
    outcome: _Words
    because: _Words = ""

    @property
    def refusal(self) -> Failed | None:
        """The outcome of a refusal; None when the resolver found packages."""
        outcome = None if self.outcome == LOCKED else parse_outcome(self.outcome)
        return outcome if isinstance(outcome, Failed) else None


def answer_of(
    cell: str, result: Lock | Refusal, day: datetime.date, redacted: Callable[[str], str]
) -> PlainAnswer:
    # A plain install has no tests.
    if isinstance(result, Lock) or result.cause == "suite-fault":
        return PlainAnswer(cell=cell, on=day, outcome=LOCKED)
    failed = Failed(stage="lock", cause=result.cause, subject=redacted(result.subject))
    because = redacted(result.because)
    return PlainAnswer(cell=cell, on=day, outcome=str(failed), because=because)


class KnownRefusal(StrictValue, frozen=True, kw_only=True):
    """That a cell cannot be installed, though nothing of it ran, and from what that is known.

    `ground` is `asked` where a resolver refused this cell, `clause` where it refused another one,
    the `witness`, by `facts` that hold in this cell, too, and `file` where the witness failed by a
    file that this cell has, too: its path is the only one of `facts`.
    """

    outcome: Failed
    because: str
    on: datetime.date
    ground: Literal["asked", "clause", "file"]
    witness: str
    facts: tuple[str, ...] = ()

    @property
    def involved(self) -> tuple[str, ...]:
        """The packages that the resolver speaks of; none where a file of the subject fails."""
        if self.ground == "file":
            return ()
        return involved_in_refusal(self.outcome.subject, self.because)

    @property
    def sentence(self) -> str:
        if self.ground == "asked":
            return f"a resolver refused it on {self.on}: {self.because}"
        if self.ground == "file":
            return (
                f"inferred: its wheel holds the same {self.facts[0]} that fails in {self.witness}"
                f" at import, on this Python or a newer one, run on {self.on}: {self.outcome}"
            )
        together = "" if len(self.facts) == 1 else " together"
        return (
            f"inferred: it asks for {' and '.join(self.facts)}, for which{together} a resolver"
            f" refused {self.witness} on {self.on}: {self.because}"
        )


class _Kept(StrictValue, frozen=True, kw_only=True):
    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)]
    answers: tuple[PlainAnswer, ...]


def encode_answers(answers: Iterable[PlainAnswer]) -> str:
    """Return the text of the answers: one a line, sorted by cell."""
    ordered = sorted(answers, key=lambda answer: answer.cell)
    lines = ",\n".join(msgspec.json.encode(answer).decode() for answer in ordered)
    return f'{{"format": {FORMAT}, "answers": [\n{lines}\n]}}\n'


def decode_answers(
    text: str, source: str, *, is_any_recipe: bool = False
) -> dict[str, PlainAnswer]:
    """Return the answers of the text by cell; raise DeclarationError, naming `source`, when it has
    something else.

    They are about fresh cells, where not about those of any recipe.
    """
    try:
        document = msgspec.json.decode(text, type=_Kept)
        answers = {answer.cell: answer for answer in document.answers}
        if len(answers) < len(document.answers):
            raise ValueError("a cell stands there twice")
        for answer in document.answers:
            _refuse_unsound_answer(answer, is_any_recipe)
    except (ValueError, RecursionError) as fault:
        command = "run MATRIX --budget 20m" if is_any_recipe else "matrix lock MATRIX --plain"
        raise DeclarationError.of(
            f"has no answers of a resolver: {fault}",
            path=source,
            hint=f"compat {command} makes it again once it is deleted",
        ) from fault
    return answers


def _refuse_unsound_answer(answer: PlainAnswer, is_any_recipe: bool) -> None:
    """Raise ValueError for what the types cannot say."""
    if not is_cell_id(answer.cell) or ("+" in answer.cell and not is_any_recipe):
        kind = "" if is_any_recipe else "fresh "
        raise ValueError(f"{answer.cell[:80]!r} is not the id of a {kind}cell")
    if answer.outcome == LOCKED:
        return
    outcome = parse_outcome(answer.outcome)
    if not isinstance(outcome, Failed) or outcome.stage != "lock":
        raise ValueError(f"{answer.cell}: no resolver comes to {answer.outcome}")
