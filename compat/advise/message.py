"""The `advise` room's reading of messages: what the doctor finds in one, and whether it shows a
published cause.
"""

import re
from collections.abc import Iterator, Mapping

from packaging.version import Version

from compat.advise.doctor.answer import case_of
from compat.advise.doctor.facts import MOST_READ, Requires
from compat.advise.doctor.infer import Finding, findings
from compat.run.outcome import Failed
from compat.value import Value

# A text shows a cause when it holds all parts of one of its signs, as `flat` writes them.
Sign = tuple[str, ...]
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_MARGINS = re.compile("[\u2500-\u257f\u25b6\u00d7\u276f\u2501\"'`\u2018\u2019\u201c\u201d]")
# A line that only notes something: a warning of Python, a notice of a library's log.
_NOTICES = re.compile(
    r"^(?![^\n]*Error)(?:[^\n]*\b(?!Import)[A-Z][a-z]+Warning: "
    r"|[^\n]{0,80}?\b[IW]\d{0,4}\b[^\n]{0,120}?\.(?:cc|py):\d{1,6}\] )[^\n]*$",
    re.MULTILINE,
)
_LINE = re.compile(r":\d+$")
# What a traceback of each cause has beside its subject; a cause that is not here leaves no words of
# its own.
_ERRORS = {
    "type-error": "typeerror",
    "syntax": "syntaxerror",
    "version-guard": "importerror",
    "assertion": "assertionerror",
}


class Message(Value, frozen=True):
    """What a message says: the doctor's findings, the surest first, what it says that packages
    require, the Python, and the versions by normalised name.
    """

    text: str
    findings: tuple[Finding, ...]
    requires: tuple[Requires, ...]
    python: Version | None
    versions: dict[str, Version]

    def names(self, name: str) -> bool:
        """Return whether the text speaks of a package or its module."""
        return (
            re.search(rf"(?<![\w-]){re.escape(flat(name))}(?![\w-])", flat(self.text)) is not None
        )

    def shows(self, signs_of_cause: tuple[Sign, ...]) -> bool:
        """Return whether the text holds all parts of one of the signs."""
        whole = flat(self.text)
        return any(all(_has(whole, part) for part in sign) for sign in signs_of_cause)


def read_message(
    text: str,
    python: Version | None = None,
    versions: Mapping[str, Version] | None = None,
    ranges: Mapping[str, str] | None = None,
) -> Message:
    """Return what a message says; of a long one its end is read. A Python and versions that are
    known from elsewhere beat what it says of them.
    """
    case = case_of(text, python, versions, ranges)
    return Message(
        text=legible(text[-MOST_READ:]),
        findings=tuple(findings(case)),
        requires=tuple(case.all(Requires)),
        python=case.python,
        versions=case.versions,
    )


def legible(text: str) -> str:
    """Return a text as rules are matched in it: without notices, colours, quotes and the frames
    that tools draw, its blanks single, its paths with slashes as on Linux.
    """
    plain = _MARGINS.sub("", _NOTICES.sub("", _ESCAPES.sub("", text)))
    return re.sub(r"\s+", " ", re.sub(r"\\+", "/", plain)).strip()


def flat(text: str) -> str:
    """Return a text as signs are looked for in it: legible, in lower case, with `-` for `_`."""
    return legible(text).lower().replace("_", "-")


def signs(failed: Failed) -> tuple[Sign, ...]:
    """Return the signs of a cause: a text shows it when it holds all parts of one of them."""
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


def _has(whole: str, part: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(part)}(?![\w-]|\.\w)", whole, re.ASCII) is not None
