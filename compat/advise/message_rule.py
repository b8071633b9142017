"""The `advise` room's form of a rule for messages: a pattern with the sentence that it means.

The command and the site's script read the same rules: a pattern is of the syntax that Python's `re`
with `re.ASCII` and JavaScript's RegExp share, so groups have numbers, and each repetition has a
bound. All are matched without regard to case, in the text that `legible` returns.
"""

import msgspec

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
# A file of an installed package, which may be all of it.
_INSTALLED = r"(?:site|dist)-packages/(\w{1,80})(?:/|\.py)"
# What lies between a file of a package, as a traceback names it, and the error: no other file.
_SAME_FILE = r"[^ ]{0,300}(?:(?!-packages/|\.py, line \d).){0,400}?"
# Likewise, and not in what Python asks for names that an object does not have: who asks is above.
_OWN_FRAME = (
    r"[^ ]{0,300}(?:(?!-packages/|\.py, line \d|in __getattr)."
    r"|/lib(?:64)?/python[\d.]{1,6}/[\w/]{1,60}\.py, line \d){0,400}?"
)
# A package as sentences name one. What else has versions is none: the interpreter has rules of its
# own, and drivers and systems are not of pip.
_DIST = (
    r"(?!(?:python[23]?|pip|versions?|this|that|it|you|your|the|an?|at|to|of|or|is|and|with|using"
    r"|cuda|cudnn|gcc|g\+\+|drivers?|windows|macos|linux|ubuntu|glibc|protocol|format|file|model)"
    r"\b)[a-z][\w-]{0,60}"
)
_VERS = r"\d{1,6}(?:\.\d{1,6}){1,5}(?:[\w+-]{0,20}\w)?"
# With a point: what is at least 1 may be any number.
_DOTTED_SPEC = r"[<>=!~]=?=? ?\d{1,6}\.[\w.*+!-]{1,40}(?:, ?[<>=!~]=?=? ?[\w.*+!-]{1,60}){0,7}"
_NEWER = r"(?:newer|later|higher|above|greater|up)"
# The longer words first: each is replaced where it stands.
_WORDS = (
    ("DOTTEDSPEC", _DOTTED_SPEC),
    ("DIST", _DIST),
    ("NEWER", _NEWER),
    ("NAME", _NAME),
    ("SPEC", _SPEC),
    ("EXTRAS", _EXTRAS),
    ("RELEASE", _RELEASE),
    ("MARKER", _MARKER),
    ("BUILTIN", _BUILTIN),
    ("INSTALLED", _INSTALLED),
    ("SAMEFILE", _SAME_FILE),
    ("OWNFRAME", _OWN_FRAME),
    ("VERS", _VERS),
)


class MessageRule(Value, frozen=True):
    """What a text shows that has the pattern.

    `$1` to `$9` in the other texts stand for its groups. `package` is at fault (`python` for the
    interpreter), `of` is who asks for it; both are empty where the message does not say. `needs` is
    a requirement that would mend it. Not `is_fault` is what says nothing about versions, or is
    information only. `is_certain` is what tells itself that packages do not fit, so that none of
    them need be known; `is_part` is what Python says of a part that a package lacks, so that the
    package itself was found.
    """

    pattern: str
    cause: Cause
    sentence: str
    package: str = ""
    of: str = ""
    needs: str = ""
    is_fault: bool = True
    is_certain: bool = False
    is_part: bool = False


def fault(
    cause: Cause,
    pattern: str,
    sentence: str,
    *,
    package: str,
    of: str = "",
    needs: str = "",
) -> MessageRule:
    """Return a rule for what is at fault. In its pattern the words of _WORDS stand for what they
    say.
    """
    for word, meaning in _WORDS:
        pattern = pattern.replace(word, meaning)
    return MessageRule(
        pattern=pattern, cause=cause, sentence=sentence, package=package, of=of, needs=needs
    )


def part_of_found(rule: MessageRule) -> MessageRule:
    return msgspec.structs.replace(rule, is_part=True)


def information(cause: Cause, pattern: str, sentence: str, *, package: str = "") -> MessageRule:
    """Return a rule for what says nothing about versions; what later rules say of that cause and
    `package` is left to it.
    """
    return MessageRule(
        pattern=pattern, cause=cause, sentence=sentence, package=package, is_fault=False
    )
