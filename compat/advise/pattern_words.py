"""The `advise` room's reading of patterns: the words without which one cannot match.

Most messages hold the words of few rules, and to compile a pattern takes longer than to look.
"""

import re
from collections.abc import Iterator
from functools import cache

# A class, an escaped character, a repetition with its bound, or one character.
_PART = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.|\{\d+(?:,\d*)?\}|.")


def may_match(pattern: str, lower: str) -> bool:
    """Return whether a text in lower case has all the words of one alternative of a pattern; if
    not, the pattern cannot match it without regard to case.
    """
    return any(all(word in lower for word in words) for words in _necessary_words(pattern))


@cache
def _necessary_words(pattern: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(filter(None, _runs(branch))) for branch in _branches(pattern))


def _branches(pattern: str) -> Iterator[list[str]]:
    branch: list[str] = []
    depth = 0
    for part in _PART.findall(pattern):
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
            if depth == 0:
                branch.append("")
        elif depth == 0 and part == "|":
            yield branch
            branch = []
        elif depth == 0:
            branch.append(part)
    yield branch


def _runs(parts: list[str]) -> Iterator[str]:
    run = ""
    for part in parts:
        character = part[1:] if re.fullmatch(r"\\[^\w]", part) else part
        if part in ("?", "*") or part.startswith("{"):
            # What stands before it may be missing.
            yield run[:-1].lower()
            run = ""
        elif len(character) == 1 and part not in (".", "^", "$", "+"):
            run += character
        else:
            yield run.lower()
            run = ""
    yield run.lower()
