"""Keeps one standing pull request and one standing issue up to date, idempotently, and leaves
people's changes alone.

Marks identify our part of a title and a body. The branch is ours while its head names its evidence
and its own tree.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import msgspec

from compat.errors import AuthenticationError, ServiceUnreachable, UsageError, count
from compat.files import rendered, unified_diff
from compat.github import markdown
from compat.github.client import Again, Commit, GitHub, Thread
from compat.github.markdown import block, code, inline, link, plain
from compat.policy.evaluation import Proposal
from compat.policy.propose import affected_words
from compat.rewrite.ranges import RepositoryFile
from compat.value import Value

_FILTERS: dict[str, Callable[..., str]] = {
    "inline": inline,
    "code": code,
    "link": link,
    "block": block,
    "affected": affected_words,
}


class Wanted(Value, frozen=True, kw_only=True):
    """The intended text, without unintended mentions or links; an equal digest has no news."""

    title: str
    body: str
    digest: str
    files: tuple[RepositoryFile, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,100}", self.digest) or "--" in self.digest:
            raise ValueError(f"no digest: {self.digest!r}")
        if not self.title or len(self.title) > 250 or len(self.body) > 60_000:
            raise ValueError("a title has 1 to 250 characters, a body at most 60,000")
        if alive := (*markdown.title_faults(self.title), *markdown.faults(self.body)):
            raise ValueError(f"the text holds {alive[0]}")

    @property
    def diff(self) -> str:
        return diff_of(self.files)


def requested(
    proposals: Sequence[Proposal],
    title: str,
    diff: str = "",
    cell_url: Callable[[str], str] | None = None,
) -> Wanted:
    moves = ", ".join(
        f"{p.package} {p.current} to {p.proposed}" for p in proposals if p.kind != "extend"
    )
    added = ", ".join(f"{p.package} {p.proposed}" for p in proposals if p.kind == "extend")
    parts = (moves and f"minimum {moves}", added and f"extend to {added}")
    shown = {"opening": "", "whole": proposals, "diff": diff, "cell_url": cell_url}
    return _wanted(proposals, f"{title}: {'; '.join(filter(None, parts))}", shown)


def waiting(
    proposals: Sequence[Proposal], title: str, cell_url: Callable[[str], str] | None = None
) -> Wanted:
    added = sum(proposal.kind == "extend" for proposal in proposals)
    moved = len(proposals) - added
    kinds = ((moved, "move of a minimum version", "moves of minimum versions"),)
    counts = [count(*kind) for kind in (*kinds, (added, "extension", "extensions")) if kind[0]]
    number = f"{' and '.join(counts)} {'wait' if len(proposals) > 1 else 'waits'}"
    what = "proposals" if added else "moves of minimum versions"
    opening = f"These {what} are not open; each lists its blockers."
    last = {proposal.axis: proposal for proposal in proposals}.values()
    shown = {"opening": opening, "whole": last, "diff": "", "cell_url": cell_url}
    return _wanted(proposals, f"{title}: {number}", shown)


def _wanted(proposals: Sequence[Proposal], title: str, shown: Mapping[str, Any]) -> Wanted:
    digest = hashlib.sha256("".join(p.digest for p in proposals).encode()).hexdigest()
    body = rendered("compat.github", "proposals.md", {"proposals": proposals, **shown}, _FILTERS)
    return Wanted(title=plain(title), body=body.rstrip("\n") + "\n", digest=digest)


ROUNDS = 6
KEY = "floors"
_BRANCH = r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*"
_NO_TOKEN = (
    "without a token nothing was read from GitHub; this is what would be written if there is"
    " nothing yet"
)


class Branches(Value, frozen=True, kw_only=True):
    """The branch of a standing pull request, which is compat's alone, and its base."""

    own: str
    base: str

    def __post_init__(self) -> None:
        for name in (self.own, self.base):
            if not re.fullmatch(_BRANCH, name) or ".." in name:
                raise ValueError(f"no name of a branch: {name!r}")
        if self.own == self.base:
            raise ValueError(f"the standing branch is its base: {self.own!r}")


class Outcome(Value, frozen=True, kw_only=True):
    """What was done or would be done; title, body and diff are those of a dry run."""

    did: Literal["done", "unchanged", "left-alone", "would-do"]
    url: str | None
    sentence: str
    title: str = ""
    body: str = ""
    diff: str = ""


class _Marked(Value, frozen=True, kw_only=True):
    """A body with our text between two marks.

    `title` is the digest of the title that we set, which detects an edited one; `withdrawn`: we
    closed it.
    """

    above: str = ""
    text: str = ""
    below: str = ""
    digest: str = "none"
    title: str = "0"
    withdrawn: bool = False

    def written(self, key: str) -> str:
        end = " withdrawn" if self.withdrawn else ""
        begin = f"<!-- compat:{key} digest={self.digest} title={self.title}{end} -->"
        return f"{self.above}{begin}\n{self.text}\n<!-- /compat:{key} -->{self.below}"

    def says(self, wanted: Wanted) -> bool:
        return self.digest == wanted.digest and not self.withdrawn


class _Step(Value, frozen=True, kw_only=True):
    """The one thing to do, in words that fit after "would be"; None leaves title or body."""

    does: Literal["open", "update", "close", "leave", "nothing"]
    says: str
    thread: Thread | None = None
    title: str | None = None
    body: str | None = None
    comment: str = ""
    plant: Callable[[], None] | None = None


def diff_of(files: Sequence[RepositoryFile]) -> str:
    return "".join(unified_diff(file.path, file.before, file.after) for file in files)


def sync_pull_request(
    github: GitHub, branches: Branches, wanted: Wanted | None, *, dry_run: bool = False
) -> Outcome:
    """Raises AuthenticationError, ServiceUnreachable, UsageError for a missing base or file."""
    ends = {"head": branches.own, "base": branches.base}
    look = partial(_pull_step, github, branches, wanted)
    return _settled(github, "pulls", wanted, dry_run, look, ends)


def sync_issue(
    github: GitHub, key: str, label: str, wanted: Wanted | None, *, dry_run: bool = False
) -> Outcome:
    """`key` is that of the mark; an issue without the label is a person's."""

    look = partial(_issue_step, github, label, key, wanted)
    return _settled(github, "issues", wanted, dry_run, look, {"labels": [label]})


def _settled(
    github: GitHub,
    kind: Literal["pulls", "issues"],
    wanted: Wanted | None,
    dry_run: bool,
    look: Callable[[], _Step],
    further: Mapping[str, Any],
) -> Outcome:
    diff = wanted.diff if wanted else ""
    if not github.signed:
        if not dry_run:
            hint = "give one in the environment, or ask for a dry run"
            raise AuthenticationError.of("there is no token to write to GitHub with", hint=hint)
        if wanted is None:
            return Outcome(did="unchanged", url=None, sentence="there is nothing to propose")
        words = {"title": wanted.title, "body": wanted.body, "diff": diff}
        return Outcome(did="would-do", url=None, sentence=_NO_TOKEN, **words)
    if dry_run:
        return _preview(look(), diff)
    done: list[str] = []
    url, trouble = "", "others keep writing to it"
    for number in range(ROUNDS):
        try:
            step = look()
            # A stale list must not open a second one.
            if step.does in ("leave", "nothing") or (step.does == "open" and done):
                return _ended(github, step, wanted, done, url)
            if step.plant:
                step.plant()
            if (known := step.thread) is None:
                url = github.open(kind, title=step.title, body=step.body, **further)
            else:
                url, state = known.html_url, None if known.is_open else "open"
                if step.does == "close":
                    github.say_once(known.number, step.comment, _digest(known.text))
                    state = "closed"
                github.edit(kind, known.number, title=step.title, body=step.body, state=state)
            done.append(step.says)
            # The next run closes the younger of two issues opened at once. GitHub itself rejects a
            # second pull request.
            if kind == "pulls":
                return Outcome(did="done", url=url, sentence=step.says)
        except Again as again:
            trouble = str(again)
            github.wait(2**number)
    raise ServiceUnreachable.of(
        f"GitHub did not settle after {ROUNDS} rounds: {trouble}", hint="try again later"
    )


def _ended(
    github: GitHub, step: _Step, wanted: Wanted | None, done: list[str], url: str
) -> Outcome:
    if step.thread is not None:
        url = step.thread.html_url
        if step.comment:
            about = _digest(wanted.digest if wanted else "over")
            github.say_once(step.thread.number, step.comment, about)
    if done and step.does != "leave":
        return Outcome(did="done", url=url, sentence=", ".join(done))
    return _preview(step, "")


def _preview(step: _Step, diff: str) -> Outcome:
    url = None if step.thread is None else step.thread.html_url
    if step.does in ("leave", "nothing"):
        is_left = step.does == "leave"
        return Outcome(did="left-alone" if is_left else "unchanged", url=url, sentence=step.says)
    body = step.comment if step.does == "close" else step.body or ""
    words = {"title": step.title or "", "body": body, "diff": "" if step.does == "close" else diff}
    return Outcome(did="would-do", url=url, sentence=f"would be {step.says}", **words)


def _pull_step(github: GitHub, branches: Branches, wanted: Wanted | None) -> _Step:
    base, head = github.head(branches.base), github.head(branches.own)
    if base is None:
        hint = "check the names, and that the token may read the repository"
        raise UsageError.of(f"has no branch {branches.base}", path=github.repository, hint=hint)
    texts = [github.text(file.path, base.sha) for file in wanted.files] if wanted else []
    if wanted and texts == [file.after for file in wanted.files]:
        wanted = None
    pulls = github.pulls(branches.own)
    pull = next((pull for pull in pulls if pull.is_open), None)
    if wanted and pull and pull.base_ref != branches.base:
        says = f"somebody pointed it at another branch than {branches.base}"
        return _Step(does="leave", says=says, thread=pull)
    merged = {pull.head_sha for pull in pulls if pull.is_merged}
    is_known = head is None or _evidence(head) is not None or head.sha in {base.sha, *merged}
    if head and (wanted or pull) and not is_known:
        person = head.author or "somebody"
        says = f"its branch holds a commit by {person}; compat overwrites only its own"
        comment = (
            "compat leaves this pull request to you: its branch holds a commit by"
            f" {inline(person, 60)}, and compat overwrites only its own."
        )
        closing = "Once the branch is deleted, compat opens a new one."
        closing = closing if wanted else "Nothing is left to propose, so it can be closed."
        comment = f"{comment} {closing}" if pull else ""
        return _Step(does="leave", says=says, thread=pull, comment=comment)
    if wanted is None:
        comment = "No move of a minimum version is open any more."
        return _over(pull, KEY, "pull request", comment, "closed: nothing is left to propose")
    for file, text in zip(wanted.files, texts, strict=True):
        if text not in (file.before, file.after):
            says = f"{file.path} on {branches.base} is not the text that was read; run again on"
            return _Step(does="leave", says=f"{says} its newest commit", thread=pull)
    plant = None
    if _evidence(head) != wanted.digest or not head or head.parents[0] != base.sha:
        files = {file.path: file.after for file in wanted.files}
        message = f"{wanted.title}\n\nCompat-Evidence: {wanted.digest}\nCompat-Tree: "
        plant = partial(github.plant, branches.own, files, message, base, head)
    if pull is None:
        for old in pulls:
            if _has_said(github, old, wanted):
                did = "merged and then taken back" if old.is_merged else "closed by a person"
                says = f"it was {did}; compat asks again when the evidence is another"
                return _Step(does="leave", says=says, thread=old)
        body = _remarked(wanted, _Marked()).written(KEY)
        return _Step(does="open", says="opened", title=wanted.title, body=body, plant=plant)
    title, new = _new_words(wanted, pull, KEY)
    if marked(pull.text, KEY) is None and _has_said(github, pull, wanted):
        title = new = None
    changes = ((plant, "its commit"), (title, "its title"), (new, "its text"))
    if words := ", ".join(word for change, word in changes if change is not None):
        says = f"updated: {words}"
        return _Step(does="update", says=says, thread=pull, title=title, body=new, plant=plant)
    return _Step(does="nothing", says="it is up to date", thread=pull)


def _issue_step(github: GitHub, label: str, key: str, wanted: Wanted | None) -> _Step:
    """The oldest open issue of the thread remains; younger open ones are closed first."""
    marked_so = (issue for issue in github.issues(label) if marked(issue.text, key))
    ours = sorted(marked_so, key=lambda issue: issue.number)
    standing = [issue for issue in ours if issue.is_open]
    if len(standing) > 1:
        comment = f"#{standing[0].number} says the same; compat keeps the older one."
        return _closed(standing[-1], key, comment, "closed")
    if wanted is None:
        comment = "Nothing is left to report here."
        return _over(standing[0] if standing else None, key, "issue", comment, "closed")
    for issue in () if standing else ours:
        old = marked(issue.text, key)
        if old is not None and old.says(wanted):
            says = "a person closed it; compat asks again when the evidence is another"
            return _Step(does="leave", says=says, thread=issue)
    if not ours:
        body = _remarked(wanted, _Marked()).written(key)
        return _Step(does="open", says="opened", title=wanted.title, body=body)
    issue = (standing or ours)[0]
    title, new = _new_words(wanted, issue, key)
    if issue.is_open and title is None and new is None:
        return _Step(does="nothing", says="it is up to date", thread=issue)
    says = "updated" if issue.is_open else "opened again"
    return _Step(does="update", says=says, thread=issue, title=title, body=new)


def _over(thread: Thread | None, key: str, what: str, comment: str, says: str) -> _Step:
    if thread is None:
        return _Step(does="nothing", says="there is nothing to propose")
    old = marked(thread.text, key)
    if old is not None and old.withdrawn:
        says = "compat closed it and a person opened it again"
        return _Step(does="leave", says=says, thread=thread)
    return _closed(thread, key, f"{comment} compat closes this {what} itself.", says)


def _closed(thread: Thread, key: str, comment: str, says: str) -> _Step:
    old = marked(thread.text, key) or _Marked(above=f"{thread.text.rstrip()}\n\n")
    body = msgspec.structs.replace(old, withdrawn=True).written(key)
    return _Step(does="close", says=says, thread=thread, body=body, comment=comment)


def _evidence(commit: Commit | None) -> str | None:
    if commit is None or len(commit.parents) != 1:
        return None
    trailers = re.search(r"\nCompat-Evidence: (\S+)\nCompat-Tree: (\w+)\s*$", commit.message)
    return trailers[1] if trailers and trailers[2] == commit.tree else None


def _has_said(github: GitHub, pull: Thread, wanted: Wanted) -> bool:
    old = marked(pull.text, KEY)
    if old is not None:
        return old.says(wanted)
    return _evidence(github.commit(pull.head_sha)) == wanted.digest


def marked(body: str, key: str) -> _Marked | None:
    """Return the body's parts; None without our mark. Without an end mark, all the rest is ours."""
    body = body.replace("\r\n", "\n")
    mark = rf"<!-- compat:{re.escape(key)} digest=(\S+) title=([0-9a-f]+)( withdrawn)? -->\n?"
    if (begin := re.search(mark, body)) is None:
        return None
    text, _, below = body[begin.end() :].partition(f"\n<!-- /compat:{key} -->")
    above, digest, title = body[: begin.start()], begin[1], begin[2]
    return _Marked(
        above=above, text=text, below=below, digest=digest, title=title, withdrawn=bool(begin[3])
    )


def _new_words(wanted: Wanted, thread: Thread, key: str) -> tuple[str | None, str | None]:
    """Equal evidence changes nothing; other evidence leaves a title that somebody edited."""
    old = marked(thread.text, key)
    if old is not None and old.says(wanted):
        return None, None
    if old is None:
        old = _Marked(above=f"{thread.text.rstrip()}\n\n" if thread.text.strip() else "")
    is_ours = old.title == _digest(thread.title) and thread.title != wanted.title
    return wanted.title if is_ours else None, _remarked(wanted, old).written(key)


def _remarked(wanted: Wanted, old: _Marked) -> _Marked:
    own = {"text": wanted.body.strip("\n"), "digest": wanted.digest}
    return msgspec.structs.replace(old, **own, title=_digest(wanted.title), withdrawn=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
