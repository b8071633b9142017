"""What a resolver said of plain installs when it was last asked: as values, and as the text of the
one file that keeps them.

One answer a cell, replaced when it is asked again: a record of each time would be hundreds of files
a week that say the same. Only resolvers speak here; what ran has records.
"""

import datetime
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from compat.errors import DeclarationError
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


class KnownRefusal(StrictValue, frozen=True, kw_only=True):
    """That a plain install is refused, though nothing of it ran, and from what that is known.

    `ground` is `asked` where a resolver refused this cell, and `same-pin` where it refused another
    one, the `witness`, by an exact pin that the release of this cell requires, too.
    """

    outcome: Failed
    because: str
    on: datetime.date
    ground: Literal["asked", "same-pin"]
    witness: str

    @property
    def sentence(self) -> str:
        """What is known, in one sentence."""
        if self.ground == "asked":
            return f"a resolver refused it on {self.on}: {self.because}"
        return (
            f"it requires {self.outcome.subject}, for which a resolver refused {self.witness} on"
            f" {self.on}: {self.because}"
        )


class _Kept(StrictValue, frozen=True, kw_only=True):
    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)]
    answers: tuple[PlainAnswer, ...]


def encode_answers(answers: Iterable[PlainAnswer]) -> str:
    """Return the text of the answers: one a line, sorted by cell."""
    ordered = sorted(answers, key=lambda answer: answer.cell)
    lines = ",\n".join(msgspec.json.encode(answer).decode() for answer in ordered)
    return f'{{"format": {FORMAT}, "answers": [\n{lines}\n]}}\n'


def decode_answers(text: str, source: str) -> dict[str, PlainAnswer]:
    """Return the answers of the text by cell; raise DeclarationError, naming `source`, when it has
    something else.
    """
    try:
        document = msgspec.json.decode(text, type=_Kept)
        answers = {answer.cell: answer for answer in document.answers}
        if len(answers) < len(document.answers):
            raise ValueError("a cell stands there twice")
        for answer in document.answers:
            _refuse_unsound_answer(answer)
    except (ValueError, RecursionError) as fault:
        hint = "compat lock MATRIX --plain makes it anew once it is deleted"
        raise DeclarationError.of(
            f"has no plain installs: {fault}", path=source, hint=hint
        ) from None
    return answers


def _refuse_unsound_answer(answer: PlainAnswer) -> None:
    """Raise ValueError for what the types cannot say."""
    if not is_cell_id(answer.cell) or "+" in answer.cell:
        raise ValueError(f"{answer.cell[:80]!r} is not the id of a fresh cell")
    if answer.outcome == LOCKED:
        return
    outcome = parse_outcome(answer.outcome)
    if not isinstance(outcome, Failed) or outcome.stage != "lock":
        raise ValueError(f"{answer.cell}: no resolver comes to {answer.outcome}")
