"""Whether a message shows a published cause of a failure."""

import re
from collections.abc import Iterator

from compat.advise.doctor.facts import Text
from compat.run.outcome import Failed

# A text shows a cause when it has all parts of one of its signs, as `flat` writes them.
Sign = tuple[str, ...]
_LINE = re.compile(r":\d+$")
# The text of a traceback of each cause besides its subject; other causes have no typical text.
_ERRORS = {
    "type-error": "typeerror",
    "syntax": "syntaxerror",
    "version-guard": "importerror",
    "assertion": "assertionerror",
}


def shows(text: Text, signs_of_cause: tuple[Sign, ...]) -> bool:
    whole = _flat(text)

    def is_there(part: str) -> bool:
        sign = rf"(?<![\w-]){re.escape(part)}(?![\w-]|\.\w)"
        return re.search(sign, whole, re.ASCII) is not None

    return any(all(map(is_there, sign)) for sign in signs_of_cause)


def flat(text: str) -> str:
    """Return a text for the search of signs: without quotes, in lower case, with `-` for `_`."""
    return _flat(Text(text))


def _flat(text: Text) -> str:
    return text.flat.replace("'", "").lower().replace("_", "-")


def signs(failed: Failed) -> tuple[Sign, ...]:
    return tuple(tuple(map(flat, sign)) for sign in _signs(failed))


def _signs(failed: Failed) -> Iterator[Sign]:
    subject = failed.by or failed.subject
    if not subject:
        return
    tail = subject.rpartition(".")[2]
    match failed.cause:
        case "no-artifact" | "hash-mismatch" | "build" | "source-only":
            yield (subject,)
        case "missing-module":
            yield (f"no module named {subject}",)
        case "missing-attribute":
            yield (f"has no attribute {tail}", subject.partition(".")[0])
            yield (f"cannot import name {tail}",)
        case "conflict":
            yield ("conflict", subject)
            yield ("resolutionimpossible", subject)
        case cause if cause in _ERRORS:
            yield (_LINE.sub("", subject), _ERRORS[cause])
