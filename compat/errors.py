"""The one hierarchy of errors: each class has its exit code, each fault its one helpful line; and
how any room words a number, a list and a foreign text in such a line.
"""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from compat.value import Value


class Fault(Value, frozen=True, kw_only=True):
    """One error, reported in one line.

    `code` is stable and meant for programs. `path` is the place: a file, and after a colon the key
    inside it. `hint` is the remedy; empty when the message says it all.
    """

    code: str
    path: str
    message: str
    hint: str = ""

    def line(self) -> str:
        text = ": ".join(part for part in (self.path, self.message) if part)
        return one_line(f"{text} ({self.hint})" if self.hint else text)


E = TypeVar("E", bound="CompatError")


class CompatError(Exception):
    """What the caller did wrong, or machinery that broke.

    Expected trouble is a value, not an exception.
    """

    exit_code: ClassVar[int] = 3
    code: ClassVar[str] = "broken"

    def __init__(self, *faults: Fault) -> None:
        super().__init__("\n".join(fault.line() for fault in faults))
        self.faults = faults

    @classmethod
    def of(cls: type[E], message: str, *, path: str = "", hint: str = "") -> E:
        """Return an error of this class with a single fault under the class's own code."""
        return cls(Fault(code=cls.code, path=path, message=message, hint=hint))


class UsageError(CompatError):
    """A command was given something that it cannot take."""

    exit_code = 2
    code = "usage"


class NothingToDo(CompatError):
    """There is nothing that the command could be done on; its hint says what to type instead."""

    exit_code = 1
    code = "nothing-to-do"


class EmptyVariant(CompatError):
    """What a lane tries is not there today, which is no fault."""

    exit_code = 0
    code = "empty-lane"


class DeclarationError(CompatError):
    """A declaration is wrong. Carries every fault of its document, not only the first."""

    exit_code = 2
    code = "declaration"


class RecordError(CompatError):
    """A record cannot be stored, or a text is not a record: it is damaged, forged, or of a format
    that is not known.
    """

    exit_code = 2
    code = "record"


class IndexUnreachable(CompatError):
    """The package index gave no usable answer. Never to be read as "there is no such release"."""

    code = "index-unreachable"


class NoPage(IndexUnreachable):
    """The index has no page for a package: its name is wrong, or the index's address is; both look
    the same.
    """

    code = "no-page"


class UnsoundFile(IndexUnreachable):
    """A file of the index is not what its name says.

    Where other files will do, it is set aside with this reason.
    """

    code = "unsound-file"


class ToolFailed(CompatError):
    """A tool that compat starts (a resolver, an interpreter) is missing or broke down without an
    answer.
    """

    code = "tool-failed"


class BuildFailed(CompatError):
    """The project's own build back end made no wheel of its source: nothing of it can be run."""

    exit_code = 1
    code = "build-failed"


class AuthenticationError(CompatError):
    """A service needs a token, refuses the one that it got, or the token may not do what was
    asked.
    """

    exit_code = 4
    code = "authentication"


class ServiceUnreachable(CompatError):
    """A service that compat writes to gave no usable answer, or asks to wait longer than a run
    should.
    """

    code = "service-unreachable"


def reason(fault: OSError) -> str:
    return (fault.strerror or "unknown fault").lower()


def visible(text: str) -> str:
    """Escape every control character, line breaks included.

    Text from files and indexes is hostile: escape sequences and bidirectional overrides must not
    reach a terminal.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def one_line(text: str) -> str:
    """Escape control characters, and cut the text at 500 characters."""
    shown = visible(text)
    return shown if len(shown) <= 500 else f"{shown[:497]}..."


def count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def listed(words: Sequence[str], most: int = 6) -> str:
    """Return words as a list in a sentence: `a`, `a and b`, `a, b and 4 more`."""
    shown = list(words[:most])
    if len(words) > most:
        return f"{', '.join(shown)} and {len(words) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
