"""Words of ours on GitHub: a title and a body whose part is known again between two marks, whatever
people add.
"""

import hashlib
import re

import msgspec

from compat.github import markdown
from compat.value import Value


class Words(Value, frozen=True, kw_only=True):
    """A title, a Markdown body, and the digest of the evidence behind them; the same digest has
    nothing new to say.
    """

    title: str
    body: str
    digest: str

    def __post_init__(self) -> None:
        """Refuse what GitHub would not take and what would come alive there; `prose` makes texts
        harmless.
        """
        if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,100}", self.digest) or "--" in self.digest:
            raise ValueError(f"no digest: {self.digest!r}")
        if not self.title or len(self.title) > 250 or len(self.body) > 60_000:
            raise ValueError("a title has 1 to 250 characters, a body at most 60,000")
        if alive := (*markdown.title_faults(self.title), *markdown.faults(self.body)):
            raise ValueError(f"the text holds {alive[0]}")


class Marked(Value, frozen=True, kw_only=True):
    """A body with our text in it, between two marks; what people wrote around it is theirs.

    `title` is the digest of the title that we set, so that an edited one is known. `withdrawn` says
    that we closed it.
    """

    above: str
    text: str
    below: str
    digest: str
    title: str
    withdrawn: bool = False

    def written(self, key: str) -> str:
        end = " withdrawn" if self.withdrawn else ""
        begin = f"<!-- compat:{key} digest={self.digest} title={self.title}{end} -->"
        return f"{self.above}{begin}\n{self.text}\n<!-- /compat:{key} -->{self.below}"


def marked(body: str, key: str) -> Marked | None:
    """Return the body's parts, or None when nobody left our mark in it.

    Without its end, our text is all the rest.
    """
    body = body.replace("\r\n", "\n")
    begin = re.search(
        rf"<!-- compat:{re.escape(key)} digest=(\S+) title=([0-9a-f]+)( withdrawn)? -->\n?", body
    )
    if begin is None:
        return None
    text, _, below = body[begin.end() :].partition(f"\n<!-- /compat:{key} -->")
    return Marked(
        above=body[: begin.start()],
        text=text,
        below=below,
        digest=begin[1],
        title=begin[2],
        withdrawn=begin[3] is not None,
    )


def first_body(words: Words, key: str) -> str:
    return _remarked(words, Marked(above="", text="", below="", digest="", title="")).written(key)


def new_words(words: Words, title: str, body: str, key: str) -> tuple[str | None, str | None]:
    """Return the title and the body to write over those that are there; None where they stay.

    The same evidence changes nothing, whatever people did to the text. Other evidence replaces our
    part of the body, and the title unless somebody gave it another one.
    """
    marked_body = marked(body, key)
    if marked_body is not None and marked_body.digest == words.digest and not marked_body.withdrawn:
        return None, None
    if marked_body is None:
        above = f"{body.rstrip()}\n\n" if body.strip() else ""
        marked_body = Marked(above=above, text="", below="", digest="", title="")
    ours = marked_body.title == short_digest(title) and title != words.title
    return words.title if ours else None, _remarked(words, marked_body).written(key)


def withdrawn(body: str, key: str) -> str:
    marked_body = marked(body, key) or Marked(
        above=f"{body.rstrip()}\n\n", text="", below="", digest="none", title="0"
    )
    return msgspec.structs.replace(marked_body, withdrawn=True).written(key)


def short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _remarked(words: Words, marked_body: Marked) -> Marked:
    return msgspec.structs.replace(
        marked_body,
        text=words.body.strip("\n"),
        digest=words.digest,
        title=short_digest(words.title),
        withdrawn=False,
    )
