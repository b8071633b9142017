"""The `advise` room's reading of messages: what the output of pip or uv, or a traceback, says about
versions, by the rules that the site's script has, too.
"""

import re
from collections.abc import Iterator
from functools import cache

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.advise.message_patterns import PYTHON_PATTERNS, VERSION_PATTERN
from compat.advise.message_rule import MessageRule
from compat.advise.message_rules import MESSAGE_RULES, MOST_READ
from compat.advise.module_names import module_package
from compat.advise.pattern_words import may_match
from compat.run.outcome import Cause, Failed
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
_FLAGS = re.IGNORECASE | re.ASCII
# Where installed packages and Python's library lie, and what its image has of Home Assistant.
_OF_NOBODY = re.compile(r"-packages/|/lib(?:64)?/(?:python)?|/usr/src/homeassistant/", _FLAGS)
# Of these the names are those of an index, in which a point is no end of a module.
_OF_INDEX: tuple[Cause, ...] = ("no-artifact", "build", "conflict", "requires-python", "yanked")
# Trouble of the machine or the network, in which nothing is found or built.
_MACHINE: tuple[Cause, ...] = ("network", "disk", "memory", "worker")
# So many complaints of one rule are told apart; pip lists one for each conflict.
_MOST_OF_A_RULE = 20
# What a traceback of each cause has beside its subject; a cause that is not here leaves no words of
# its own.
_ERRORS = {
    "type-error": "typeerror",
    "syntax": "syntaxerror",
    "version-guard": "importerror",
    "assertion": "assertionerror",
}


class Complaint(Value, frozen=True):
    """What a rule finds in a message: `package` is at fault, `of` asks for it, by normalised name;
    `needs` would mend it. `is_certain` and `is_part` are as of the rule.
    """

    cause: Cause
    sentence: str
    package: str
    of: str
    needs: str
    is_fault: bool
    is_certain: bool
    is_part: bool


class Message(Value, frozen=True):
    """What a message tells: its complaints, the most certain first, the Python and the versions
    that it mentions, by normalised name.
    """

    text: str
    complaints: tuple[Complaint, ...]
    python: Version | None
    versions: dict[str, Version]

    @property
    def installed(self) -> frozenset[str]:
        """The packages of which the text names a file below site-packages, by normalised name."""
        files = re.findall(r"-packages/(\w{1,80})", self.text)
        return frozenset(canonicalize_name(module_package(module)) for module in files)

    @property
    def own_files(self) -> frozenset[str]:
        """The packages whose name a file has that is neither installed nor of Python itself."""
        stems = (
            folder.rstrip("/").rpartition("/")[2] if stem == "__init__" else stem
            for folder, stem in self._own_places()
        )
        return frozenset(canonicalize_name(module_package(stem)) for stem in stems if stem)

    @property
    def own_folders(self) -> frozenset[str]:
        """The packages whose name a folder has in which such a file lies."""
        folders = (part for folder, _ in self._own_places() for part in folder.split("/") if part)
        return frozenset(canonicalize_name(module_package(folder)) for folder in folders)

    def _own_places(self) -> list[tuple[str, str]]:
        files = re.findall(
            r"(?:\bfile |\()((?:[^ ()]{0,200}/)?)(\w{1,80})\.py(?=, line \d|\))", self.text, _FLAGS
        )
        return [(folder, stem) for folder, stem in files if not _OF_NOBODY.search(folder)]

    def names(self, name: str) -> bool:
        """Return whether the text speaks of a package or its module."""
        return (
            re.search(rf"(?<![\w-]){re.escape(flat(name))}(?![\w-])", flat(self.text)) is not None
        )

    def shows(self, signs_of_cause: tuple[Sign, ...]) -> bool:
        """Return whether the text holds all parts of one of the signs."""
        whole = flat(self.text)
        return any(all(_has(whole, part) for part in sign) for sign in signs_of_cause)


def read_message(text: str) -> Message:
    """Return what a message tells; of a long one its end is read."""
    text = legible(text[-MOST_READ:])
    complaints = tuple(_complaints(text))
    if any(complaint.cause in _MACHINE for complaint in complaints):
        # An index that was not reached has no file of anything, and nothing builds on a full disk.
        complaints = tuple(c for c in complaints if c.cause not in ("no-artifact", "build"))
    return Message(
        text=text,
        complaints=complaints,
        python=_python(text),
        versions=_versions(text),
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


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, _FLAGS)


def _complaints(text: str) -> Iterator[Complaint]:
    """Each complaint once; a name that a more certain rule explains is left to that rule, and what
    names no package to one that does.
    """
    earlier: set[tuple[str, str, str]] = set()
    lower = text.lower()
    for rule in MESSAGE_RULES:
        if not may_match(rule.pattern, lower):
            continue
        for number, match in enumerate(_compiled(rule.pattern).finditer(text)):
            complaint = _complaint(rule, match)
            key = (complaint.cause, complaint.package, complaint.of)
            general = (complaint.cause, complaint.package, "")
            is_told = not complaint.package and any(
                cause == complaint.cause for cause, *_ in earlier
            )
            if (
                is_told
                or number >= _MOST_OF_A_RULE
                or key in earlier
                or (not complaint.of and general in earlier)
            ):
                continue
            earlier |= {key, general}
            yield complaint


def _complaint(rule: MessageRule, match: re.Match[str]) -> Complaint:
    def filled(template: str) -> str:
        return re.sub(r"\$(\d)", lambda group: match[int(group[1])] or "", template)

    return Complaint(
        cause=rule.cause,
        sentence=re.sub(r" +", " ", filled(rule.sentence)),
        package=_package(filled(rule.package), rule.cause),
        of=_package(filled(rule.of), rule.cause),
        needs=re.sub(r"^[\w ]+ (?=[\w-]+[<>=])|\s", _joined, filled(rule.needs)).rstrip("."),
        is_fault=rule.is_fault,
        is_certain=rule.is_certain,
        is_part=rule.is_part,
    )


def _joined(match: re.Match[str]) -> str:
    return "-".join(match[0].split()) + ("-" if match[0].strip() else "")


def _package(text: str, cause: Cause) -> str:
    """The package of a name, of a module (its top one), or of a product as people write it."""
    is_name = "-" in text or ("." in text and cause in _OF_INDEX)
    name = text.strip() if is_name else module_package(text.strip())
    return canonicalize_name(name.replace(" ", "-")) if name else ""


def _python(text: str) -> Version | None:
    for pattern in PYTHON_PATTERNS:
        match = _compiled(pattern).search(text)
        if match is not None:
            try:
                return Version(".".join(group for group in match.groups() if group).rstrip("."))
            except InvalidVersion:
                continue
    return None


def _versions(text: str) -> dict[str, Version]:
    versions: dict[str, Version] = {}
    for match in _compiled(VERSION_PATTERN).finditer(text):
        try:
            versions.setdefault(canonicalize_name(match[1]), Version(match[2]))
        except InvalidVersion:
            continue
    return versions
