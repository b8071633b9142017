"""The `advise` room's form of a rule for messages: a pattern with the sentence that it means.

The command and the site's script read the same rules: a pattern is of the syntax that Python's `re`
with `re.ASCII` and JavaScript's RegExp share, so groups have numbers, and each repetition has a
bound. All are matched without regard to case, in the text that `legible` returns.
"""

from compat.run.outcome import Cause
from compat.value import Value

_NAME = r"[a-z0-9][\w.-]{0,100}?"
_SPEC = r"[<>=!~]=?=? ?[\w.*+!-]{1,60}(?:, ?[<>=!~]=?=? ?[\w.*+!-]{1,60}){0,7}"
_EXTRAS = r"(?:\[[\w.,-]{1,80}\])?"
_BUILTIN = (
    "(?:nonetype|str|bytes|int|float|bool|list|tuple|dict|set|function|method|module|generator|type"
    "|object)"
)
_RELEASE = r"[\w.+!-]{1,60}"
# What limits a requirement to some environments.
_MARKER = r"(?: ?; [^()]{1,200}?)?"
# What lies between a file of a package, as a traceback names it, and the error: no other file.
_SAME_FILE = r"[^ ]{0,300}(?:(?!-packages/|\.py, line \d).){0,400}?"
_WORDS = (
    ("NAME", _NAME),
    ("SPEC", _SPEC),
    ("EXTRAS", _EXTRAS),
    ("RELEASE", _RELEASE),
    ("MARKER", _MARKER),
    ("BUILTIN", _BUILTIN),
    ("SAMEFILE", _SAME_FILE),
)


class MessageRule(Value, frozen=True):
    """What a text shows that has the pattern.

    `$1` to `$9` in the other texts stand for its groups. `package` is at fault (`python` for the
    interpreter), `of` is who asks for it; both are empty where the message does not say. `needs` is
    a requirement that would mend it. Not `is_fault` is what says nothing about versions, or is
    information only. `ends_installation` is what nothing was installed after.
    """

    pattern: str
    cause: Cause
    sentence: str
    package: str = ""
    of: str = ""
    needs: str = ""
    is_fault: bool = True
    ends_installation: bool = False


def fault(
    cause: Cause, pattern: str, sentence: str, *, package: str, of: str = "", needs: str = ""
) -> MessageRule:
    """Return a rule for what is at fault. In its pattern the words of _WORDS stand for what they
    say.
    """
    for word, meaning in _WORDS:
        pattern = pattern.replace(word, meaning)
    return MessageRule(
        pattern=pattern, cause=cause, sentence=sentence, package=package, of=of, needs=needs
    )


def information(cause: Cause, pattern: str, sentence: str) -> MessageRule:
    """Return a rule for what says nothing about versions."""
    return MessageRule(pattern=pattern, cause=cause, sentence=sentence, is_fault=False)
