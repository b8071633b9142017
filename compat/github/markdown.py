"""Escapes untrusted text for GitHub's Markdown: it is shown as it is, and nothing becomes active.

Invisible characters are written as escapes. A space follows `@` before a name, `#` or `GH-` before
a number, and `$` and `:` before a formula or an emoji. Addresses are not linked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

# Letters and marks that count as printable and show nothing.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9_])")
_NUMBER = re.compile(r"(#|\bGH-)(?=\d)", re.I)
_ADDRESS = re.compile(r"(?<=[A-Za-z])://")
_ISSUE_ADDRESS = re.compile(
    r"://(?=[^\s/]+/[^\s/]+/[^\s/]+/(?:issues|pull|pulls|discussions)/\d)", re.I
)
_FORMULA = re.compile(r"\$(?=\S)")
_EMOJI = re.compile(r":(?=(?:[a-z0-9_+-]*[a-z_][a-z0-9_+-]*|100|1234|[+-]1):)", re.I)
_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?)\b[\W_]{0,40}?"
    r"(?:(?:[\w.-]+/[\w.-]+)?#|GH-|https?://\S{0,200}?/(?:issues|pull|pulls|discussions)/)\d",
    re.I,
)
_SPECIAL = re.compile(r"[\\`*_\[\]|~$]|&(?=#?\w+;)")
_LINE_START = re.compile(r"^([-+=#>]|\d{1,9}(?=[.)]))")
_KINDS = ("", "console", "diff", "text", "toml")


def visible(text: str) -> str:
    return "".join(c if _seen(c) else c.encode("unicode_escape").decode("ascii") for c in text)


def plain(text: str, limit: int = 200) -> str:
    """Return one line for a title or a commit message that links and closes nothing."""
    return _defused(_cut(visible(text[: limit + 1]), limit), _ADDRESS).strip()


def inline(text: str, limit: int = 200) -> str:
    line = _EMOJI.sub(": ", _FORMULA.sub("$ ", plain(text, limit)))
    line = _SPECIAL.sub(r"\\\g<0>", line).replace("<", "&lt;")
    line = re.sub(r"\bwww\.", r"www\\.", line, flags=re.I)
    return _LINE_START.sub(
        lambda match: f"\\{match[1]}" if not match[1].isdigit() else f"{match[1]}\\", line
    )


def code(text: str, limit: int = 200) -> str:
    """Return a code span; plain words where a `|` would end a table cell even in code."""
    shown = _defused(_cut(visible(text[: limit + 1]), limit))
    if not shown.strip():
        return "(nothing)"
    if "|" in shown:
        return inline(text, limit)
    fence = _fence(shown, 1)
    edge = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{edge}{shown}{edge}{fence}"


def block(text: str, kind: str = "text", limit: int = 20_000) -> str:
    """Return the text as a fenced code block of a kind of `_KINDS`, with its lines."""
    lines = text[: limit + 1].replace("\r\n", "\n").strip("\n").split("\n")
    shown = "\n".join("\t".join(visible(part) for part in line.split("\t")) for line in lines)
    shown = _defused(_cut(shown, limit))
    fence = _fence(shown, 3)
    return f"{fence}{kind}\n{shown}\n{fence}"


def link(text: str, address: str) -> str:
    if not re.fullmatch(r"https://[A-Za-z0-9.-]+(?::\d+)?(?:/[A-Za-z0-9._~/?&=%#+,:-]*)?", address):
        return inline(text)
    return f"[{inline(text)}]({address})"


def faults(markdown: str) -> tuple[str, ...]:
    """Return what in a whole Markdown text is active or hidden; empty when nothing is."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = list(_flat(reader.parse(markdown)))
    shown = "\n".join(token.content for token in tokens)
    alive: list[str] = []
    for token in tokens:
        kind, content, href = token.type, token.content, str(token.attrGet("href"))
        if kind in ("html_inline", "html_block"):
            alive.append(f"HTML: {content.strip()}")
        if kind == "image":
            alive.append(f"an image: {token.attrGet('src')}")
        if kind == "link_open" and not href.startswith("https://"):
            alive.append(f"a link to {href}")
        if kind == "fence" and token.info not in _KINDS:
            alive.append(f"a block of kind {token.info}")
        if kind == "text" and _FORMULA.search(content):
            alive.append(f"a formula: {content}")
        if kind == "text" and _EMOJI.search(content):
            alive.append(f"an emoji: {content}")
    return tuple(map(visible, (*alive, *_faults_anywhere(markdown), *_faults_anywhere(shown))))


def title_faults(title: str) -> tuple[str, ...]:
    return (*_faults_anywhere(title), *(["more than one line"] if "\n" in title else []))


def _faults_anywhere(text: str) -> Iterator[str]:
    for char in sorted(set(text)):
        if not _seen(char) and char not in "\n\t":
            yield f"a hidden character: {visible(char)}"
    for match in _MENTION.finditer(text):
        yield f"a mention: {text[match.start() : match.end() + 40]}"
    for match in _CLOSING.finditer(text):
        yield f"a closing keyword: {match[0]}"


def _flat(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type != "inline":
            yield token
        yield from _flat(token.children or ())


def _seen(char: str) -> bool:
    return char.isprintable() and not _BLANK.match(char)


def _defused(text: str, address: re.Pattern[str] = _ISSUE_ADDRESS) -> str:
    return address.sub(": //", _NUMBER.sub(r"\1 ", _MENTION.sub("@ ", text)))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _fence(text: str, least: int) -> str:
    return max(["`" * least, *(f"{run}`" for run in re.findall("`+", text))], key=len)
