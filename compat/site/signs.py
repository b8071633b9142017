"""The `site` room's signs: what the output of pip or uv, or a traceback, holds when a published
cause is behind it.
"""

import re
from collections.abc import Iterable, Iterator

from packaging.version import Version

from compat.results.snapshot import Entry
from compat.run.outcome import Failed
from compat.site.wording import ranges
from compat.value import Value

Sign = tuple[str, ...]
_GONE = re.compile(r"requires (?P<name>\S+) (?P<pin>\S+), and the index has no such release")
_QUOTES = re.compile("[\"'`\u2018\u2019\u201c\u201d]")
_LINE = re.compile(r":\d+$")
# What a traceback of each cause has beside its subject; a cause that is not here leaves no words of
# its own.
_ERRORS = {
    "type-error": "typeerror",
    "syntax": "syntaxerror",
    "version-guard": "importerror",
    "assertion": "assertionerror",
}


class Gone(Value, frozen=True, kw_only=True):
    """A requirement that the package index no longer has a release for, and which releases of the
    subject have it, as ranges.
    """

    requirement: str
    releases: str
    is_of_one: bool


def flat(text: str) -> str:
    """Return a text as signs are looked for in it: in lower case, without quotes, with `-` for
    `_`, its blanks single. The script does the same.
    """
    return re.sub(r"\s+", " ", _QUOTES.sub("", text.lower()).replace("_", "-"))


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


def vanished(entries: Iterable[Entry], subject: str) -> tuple[Gone, ...]:
    """Return each requirement of releases that the index has nothing for, the newest release's
    first.
    """
    releases: dict[str, set[str]] = {}
    versions: set[Version] = set()
    for entry in entries:
        versions.add(entry.cell.on(subject).version)
        match = None if entry.obstacle is None else _GONE.search(entry.obstacle.because)
        if match is not None:
            requirement = f"{match['name']}{match['pin']}"
            releases.setdefault(requirement, set()).add(str(entry.cell.on(subject).version))
    every = [str(version) for version in sorted(versions)]
    newest_first = sorted(
        releases.items(), key=lambda item: -max(every.index(version) for version in item[1])
    )
    return tuple(
        Gone(
            requirement=requirement,
            releases=ranges(chosen, every),
            is_of_one=len(chosen) == 1,
        )
        for requirement, chosen in newest_first
    )
