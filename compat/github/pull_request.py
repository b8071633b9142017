"""What is to be done about the one standing pull request, decided from what is there: no request is
made here.
"""

import re
from collections.abc import Sequence
from typing import Literal

from compat.files import unified_diff
from compat.github import markdown
from compat.github.marker import Words, first_body, marked, new_words, short_digest, withdrawn
from compat.rewrite.repository_file import RepositoryFile
from compat.value import Value


class Branches(Value, frozen=True, kw_only=True):
    """Where a standing pull request lives: its own branch, which nobody else should use, and the
    branch it is for.
    """

    own: str
    base: str

    def __post_init__(self) -> None:
        for name in (self.own, self.base):
            if (
                not re.fullmatch(
                    r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*", name
                )
                or ".." in name
            ):
                raise ValueError(f"no name of a branch: {name!r}")
        if self.own == self.base:
            raise ValueError(
                f"the standing branch needs a name of its own, not that of its base: {self.own!r}"
            )


class DesiredPullRequest(Words, frozen=True, kw_only=True):
    """The pull request that should stand: its words and the files that it changes."""

    files: tuple[RepositoryFile, ...]

    @property
    def diff(self) -> str:
        return "".join(unified_diff(file.path, file.before, file.after) for file in self.files)


class Commit(Value, frozen=True, kw_only=True):
    """A commit as GitHub tells it."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: str
    author_email: str
    committer_email: str


class Sealed(Value, frozen=True, kw_only=True):
    """What the trailers of a commit of ours say."""

    evidence: str
    files: str


class Pull(Value, frozen=True, kw_only=True):
    """A pull request from the standing branch.

    `sealed` is the evidence that its commit names, if it is ours.
    """

    number: int
    url: str
    title: str
    body: str
    base: str
    head: str
    state: Literal["open", "closed", "merged"]
    sealed: str | None = None


class RepositoryState(Value, frozen=True, kw_only=True):
    """What is there: the base's head, the texts on it, the standing branch's head, and its pull
    requests.
    """

    base: Commit
    texts: tuple[str | None, ...]
    head: Commit | None
    pulls: tuple[Pull, ...]


class Open(Value, frozen=True, kw_only=True):
    """Open a pull request; first make the branch, or make it anew, unless it is as it should be."""

    title: str
    body: str
    recreate_branch: bool


class Update(Value, frozen=True, kw_only=True):
    """Bring the open pull request up to date; None leaves the title or the body as it is."""

    pull: Pull
    title: str | None
    body: str | None
    recreate_branch: bool


class Close(Value, frozen=True, kw_only=True):
    """Close the open pull request, which has nothing to propose any more, with a sentence."""

    pull: Pull
    body: str
    comment: str


class DeferToHuman(Value, frozen=True, kw_only=True):
    """Respect what a person did. `comment` is what to say, once, on the open pull request."""

    because: str
    pull: Pull | None = None
    comment: str | None = None


class NoChange(Value, frozen=True, kw_only=True):
    """All is as it should be."""

    because: str
    pull: Pull | None = None


Step = Open | Update | Close | DeferToHuman | NoChange
KEY = "floors"
_GITHUB = "noreply@"


def message(standing: DesiredPullRequest, tree: str, parent: str) -> str:
    """Return the message of our one commit; its last line seals the rest, so that an amended one is
    known.
    """
    lines = (
        f"{standing.title}\n\nCompat-Evidence: {standing.digest}\nCompat-Files:"
        f" {_files(standing.files)}"
    )
    return f"{lines}\nCompat-Seal: {_seal(lines, tree, parent)}"


def sealed(commit: Commit) -> Sealed | None:
    """Return what a commit of ours says, or None when a person made it, amended it, or moved it
    elsewhere.

    Ours is what carries the seal of its own words, tree and parent, and was committed by who wrote
    it, or by GitHub.
    """
    trailers = r"(.*\nCompat-Evidence: (\S+)\nCompat-Files: (\S+))\nCompat-Seal: (\S+)"
    match = re.fullmatch(trailers, commit.message.strip(), re.DOTALL)
    if match is None or len(commit.parents) != 1 or not _own_committer(commit):
        return None
    if match[4] != _seal(match[1], commit.tree, commit.parents[0]):
        return None
    return Sealed(evidence=match[2], files=match[3])


def _own_committer(commit: Commit) -> bool:
    return commit.committer_email == commit.author_email or commit.committer_email.startswith(
        _GITHUB
    )


def decision(wanted: DesiredPullRequest | None, branches: Branches, state: RepositoryState) -> Step:
    """Return the one thing to do.

    `state.texts` are those of the wanted files on the base, in their order.
    """
    pull = next((pull for pull in state.pulls if pull.state == "open"), None)
    needed = _needed(wanted, state)
    if needed is not None and pull is not None and pull.base != branches.base:
        return DeferToHuman(
            because=f"somebody pointed it at another branch than {branches.base}", pull=pull
        )
    if (needed is not None or pull is not None) and (person := _person(state)) is not None:
        return _left_to(person, needed, pull)
    if needed is None:
        return _over(pull)
    if (path := _astray(needed, state)) is not None:
        because = (
            f"{path} on {branches.base} is not the text that was read; run again on its newest"
            " commit"
        )
        return DeferToHuman(because=because, pull=pull)
    recreate_branch = not _planted(needed, state)
    if pull is None:
        return _opened(needed, state, recreate_branch)
    title, body = new_words(needed, pull.title, pull.body, KEY)
    if marked(pull.body, KEY) is None and pull.sealed == needed.digest:
        title = body = None
    if recreate_branch or title is not None or body is not None:
        return Update(pull=pull, title=title, body=body, recreate_branch=recreate_branch)
    return NoChange(because="it says what there is to say", pull=pull)


def _needed(wanted: DesiredPullRequest | None, state: RepositoryState) -> DesiredPullRequest | None:
    if wanted is None or all(
        text == file.after for file, text in zip(wanted.files, state.texts, strict=True)
    ):
        return None
    return wanted


def _person(state: RepositoryState) -> str | None:
    head = state.head
    if head is None or sealed(head) is not None or head.sha == state.base.sha:
        return None
    merged = any(pull.state == "merged" and pull.head == head.sha for pull in state.pulls)
    return None if merged else head.author or "somebody"


def _left_to(person: str, needed: DesiredPullRequest | None, pull: Pull | None) -> DeferToHuman:
    because = f"its branch holds a commit by {person}; compat overwrites only its own"
    then = (
        "Nothing is left to propose, so it can be closed."
        if needed is None
        else "Once the branch is deleted, compat opens a new one."
    )
    comment = f"compat leaves this pull request to you: {_sentence(person)}. {then}"
    return DeferToHuman(because=because, pull=pull, comment=comment if pull is not None else None)


def _sentence(person: str) -> str:
    return (
        f"its branch holds a commit by {markdown.inline(person, 60)}, and compat overwrites only"
        " its own"
    )


def _over(pull: Pull | None) -> Step:
    if pull is None:
        return NoChange(because="there is nothing to propose")
    marked_body = marked(pull.body, KEY)
    if marked_body is not None and marked_body.withdrawn:
        return DeferToHuman(because="compat closed it and a person opened it again", pull=pull)
    comment = (
        "No move of a minimum version is open any more. compat closes this pull request itself."
    )
    return Close(pull=pull, body=withdrawn(pull.body, KEY), comment=comment)


def _astray(needed: DesiredPullRequest, state: RepositoryState) -> str | None:
    for file, text in zip(needed.files, state.texts, strict=True):
        if text not in (file.before, file.after):
            return file.path
    return None


def _planted(needed: DesiredPullRequest, state: RepositoryState) -> bool:
    if state.head is None or state.head.parents != (state.base.sha,):
        return False
    return sealed(state.head) == Sealed(evidence=needed.digest, files=_files(needed.files))


def _opened(needed: DesiredPullRequest, state: RepositoryState, recreate_branch: bool) -> Step:
    for pull in state.pulls:
        marked_body = marked(pull.body, KEY)
        evidence = marked_body.digest if marked_body is not None else pull.sealed
        if evidence == needed.digest and not (marked_body is not None and marked_body.withdrawn):
            did = "merged and then taken back" if pull.state == "merged" else "closed by a person"
            return DeferToHuman(
                because=f"it was {did}; compat asks again when the evidence is another", pull=pull
            )
    return Open(title=needed.title, body=first_body(needed, KEY), recreate_branch=recreate_branch)


def _files(files: Sequence[RepositoryFile]) -> str:
    return short_digest("\0".join(part for file in files for part in (file.path, file.after)))


def _seal(*parts: str) -> str:
    return short_digest("\0".join(parts))
