"""Reads a message: the doctor's findings, and whether it shows a published cause."""

import re
from collections.abc import Iterator, Mapping

from packaging.version import Version

from compat.advise.doctor.facts import Requires, Text
from compat.advise.doctor.infer import Finding, case_of, findings
from compat.run.outcome import Failed
from compat.value import Value

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


class Message(Value, frozen=True):
    """The content of a message: the doctor's findings, the surest first, the requirements of
    packages, the Python, and the versions by normalised name.
    """

    text: str
    findings: tuple[Finding, ...]
    requires: tuple[Requires, ...]
    python: Version | None
    versions: dict[str, Version]

    def names(self, name: str) -> bool:
        sign = rf"(?<![\w-]){re.escape(flat(name))}(?![\w-])"
        return re.search(sign, flat(self.text)) is not None

    def shows(self, signs_of_cause: tuple[Sign, ...]) -> bool:
        whole = flat(self.text)

        def is_there(part: str) -> bool:
            sign = rf"(?<![\w-]){re.escape(part)}(?![\w-]|\.\w)"
            return re.search(sign, whole, re.ASCII) is not None

        return any(all(map(is_there, sign)) for sign in signs_of_cause)


def read_message(
    text: str,
    python: Version | None = None,
    versions: Mapping[str, Version] | None = None,
    ranges: Mapping[str, str] | None = None,
) -> Message:
    """Parse a message; only the end of a long one is read.

    A given Python and given versions override those of the message.
    """
    case = case_of(text, python, versions, ranges)
    return Message(
        text=legible(text),
        findings=tuple(findings(case)),
        requires=tuple(case.all(Requires)),
        python=case.python,
        versions=case.versions,
    )


def legible(text: str) -> str:
    """Return a text for the search of signs: parsed, without quotes."""
    return Text(text).flat.replace("'", "")


def flat(text: str) -> str:
    """Return a text for the search of signs: legible, in lower case, with `-` for `_`."""
    return legible(text).lower().replace("_", "-")


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
