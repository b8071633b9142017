"""The few calls that standing pull requests and issues need of GitHub, and what is there as
values.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from compat.errors import ServiceUnreachable, UsageError
from compat.github.issue import Issue
from compat.github.marker import marked
from compat.github.pull_request import (
    KEY,
    Branches,
    Commit,
    DesiredPullRequest,
    Pull,
    RepositoryState,
    message,
    sealed,
)
from compat.github.rest import Again, Reply, Rest
from compat.rewrite.repository_file import RepositoryFile

T = TypeVar("T")


class _Sha(msgspec.Struct):
    sha: str


class _Ref(msgspec.Struct):
    object: _Sha


class _Who(msgspec.Struct):
    name: str
    email: str


class _Commit(msgspec.Struct):
    sha: str
    tree: _Sha
    parents: tuple[_Sha, ...]
    message: str
    author: _Who
    committer: _Who


class _Content(msgspec.Struct):
    type: str
    content: str = ""
    encoding: str = ""


class _Repo(msgspec.Struct):
    full_name: str


class _End(msgspec.Struct):
    ref: str
    sha: str
    repo: _Repo | None


class _Pull(msgspec.Struct):
    number: int
    html_url: str
    title: str
    state: str
    head: _End
    base: _End
    body: str | None = None
    merged_at: str | None = None


class _Issue(msgspec.Struct):
    number: int
    html_url: str
    title: str
    state: str
    body: str | None = None
    pull_request: dict[str, Any] | None = None


class _Comment(msgspec.Struct):
    body: str = ""


class _New(msgspec.Struct):
    html_url: str


class GitHub:
    """A repository on GitHub, as far as standing pull requests and issues need it."""

    def __init__(self, rest: Rest) -> None:
        self.rest = rest

    def state(self, branches: Branches, wanted: DesiredPullRequest | None) -> RepositoryState:
        """Return what is there.

        Raises UsageError when there is no base branch, or none that the token may see.
        """
        base = self._head(branches.base)
        if base is None:
            hint = "check the names, and that the token may read the repository"
            raise UsageError.of(
                f"has no branch {branches.base}", path=self.rest.repository, hint=hint
            )
        files = wanted.files if wanted is not None else ()
        return RepositoryState(
            base=base,
            texts=tuple(self._text(file.path, base.sha) for file in files),
            head=self._head(branches.own),
            pulls=tuple(self._pulls(branches.own)),
        )

    def plant(
        self, branches: Branches, standing: DesiredPullRequest, state: RepositoryState
    ) -> None:
        """Make the branch: one commit with the files on the base's head.

        Raises Again when somebody else moved it.
        """
        tree = self._written("git/trees", _tree(state.base.tree, standing.files), _Sha).sha
        words = message(standing, tree, state.base.sha)
        commit = {"message": words, "tree": tree, "parents": [state.base.sha]}
        sha = self._written("git/commits", commit, _Sha).sha
        if state.head is None:
            self._written("git/refs", {"ref": f"refs/heads/{branches.own}", "sha": sha}, _Ref)
            return
        # GitHub's REST API has no "move it only if it is still there": this look leaves a gap of
        # one request.
        now = self._head(branches.own)
        if now is None or now.sha != state.head.sha:
            raise Again("the branch moved")
        self._edited(f"git/refs/heads/{quote(branches.own)}", {"sha": sha, "force": True})

    def open_pull(self, branches: Branches, title: str, body: str) -> str:
        """Open a pull request and return its address. Raises Again when there is one."""
        return self._written(
            "pulls",
            {"title": title, "body": body, "head": branches.own, "base": branches.base},
            _New,
        ).html_url

    def edit_pull(self, number: int, **changes: str | None) -> None:
        """Change the title, body or state of a pull request; what is None stays."""
        self._edited(f"pulls/{number}", changes)

    def issues(self, label: str) -> tuple[Issue, ...]:
        return tuple(
            Issue(
                number=issue.number,
                url=issue.html_url,
                title=issue.title,
                body=issue.body or "",
                open=issue.state == "open",
            )
            for answer in self.rest.pages("issues", labels=label, state="all")
            for issue in decoded(answer, list[_Issue])
            if issue.pull_request is None
        )

    def open_issue(self, title: str, body: str, label: str) -> str:
        """Open an issue with a label, which GitHub makes if it is new, and return its address."""
        return self._written(
            "issues", {"title": title, "body": body, "labels": [label]}, _New
        ).html_url

    def edit_issue(self, number: int, **changes: str | None) -> None:
        """Change the title, body or state of an issue; what is None stays."""
        self._edited(f"issues/{number}", changes)

    def say_once(self, number: int, text: str, key: str) -> bool:
        """Comment on a pull request or an issue, unless that was said before; return whether it was
        said now.
        """
        mark = f"<!-- compat:said {key} -->"
        for answer in self.rest.pages(f"issues/{number}/comments"):
            if any(mark in comment.body for comment in decoded(answer, list[_Comment])):
                return False
        self._written(f"issues/{number}/comments", {"body": f"{text}\n\n{mark}"}, msgspec.Raw)
        return True

    def _head(self, branch: str) -> Commit | None:
        answer = self.rest.read(f"git/ref/heads/{quote(branch)}")
        return None if answer.status == 404 else self._commit(decoded(answer, _Ref).object.sha)

    def _commit(self, sha: str) -> Commit | None:
        answer = self.rest.read(f"git/commits/{quote(sha)}")
        if answer.status == 404:
            return None
        commit = decoded(answer, _Commit)
        return Commit(
            sha=commit.sha,
            tree=commit.tree.sha,
            parents=tuple(parent.sha for parent in commit.parents),
            message=commit.message,
            author=commit.author.name,
            author_email=commit.author.email,
            committer_email=commit.committer.email,
        )

    def _text(self, path: str, sha: str) -> str | None:
        answer = self.rest.read(f"contents/{quote(path)}", ref=sha)
        if answer.status == 404:
            return None
        content = decoded(answer, _Content)
        if content.type != "file" or content.encoding != "base64":
            raise UsageError.of("is not a file of at most 1 MB on GitHub", path=path)
        try:
            return base64.b64decode(content.content).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            raise UsageError.of("is not UTF-8 text on GitHub", path=path) from None

    def _pulls(self, branch: str) -> Iterator[Pull]:
        """Yield the pull requests from the branch of this repository, newest first, whatever they
        are for.
        """
        for answer in self.rest.pages("pulls", head=f"{self.rest.owner}:{branch}", state="all"):
            for pull in decoded(answer, list[_Pull]):
                if pull.head.ref == branch and pull.head.repo == pull.base.repo:
                    yield self._pull(pull)

    def _pull(self, pull: _Pull) -> Pull:
        body = pull.body or ""
        commit = None if marked(body, KEY) else self._commit(pull.head.sha)
        seal = sealed(commit) if commit is not None else None
        return Pull(
            number=pull.number,
            url=pull.html_url,
            title=pull.title,
            body=body,
            base=pull.base.ref,
            head=pull.head.sha,
            state="merged" if pull.merged_at else "open" if pull.state == "open" else "closed",
            sealed=seal.evidence if seal is not None else None,
        )

    def _written(self, path: str, body: dict[str, Any], kind: type[T]) -> T:
        answer = self.rest.write("POST", path, body)
        if answer.status == 422:
            raise _refused(path, answer)
        return decoded(answer, kind)

    def _edited(self, path: str, changes: dict[str, Any]) -> None:
        changes = {key: value for key, value in changes.items() if value is not None}
        answer = self.rest.write("PATCH", path, changes)
        if answer.status == 422:
            raise _refused(path, answer)


def _refused(path: str, answer: Reply) -> Exception:
    """Return what a 422 means: another writer was first, or the repository's rules forbid it."""
    refusal = answer.message
    if "already exists" in refusal or "does not exist" in refusal:
        return Again(refusal)
    return ServiceUnreachable.of(
        f"GitHub refuses to write {path}: {refusal}", hint="look at the repository's rules"
    )


def decoded(answer: Reply, kind: type[T]) -> T:
    """Return the answer as a value; ServiceUnreachable where it is not what GitHub describes."""
    try:
        return msgspec.json.decode(answer.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise ServiceUnreachable.of(
            f"GitHub's answer is not what its description says: {fault}"
        ) from None


def _tree(base: str, files: Sequence[RepositoryFile]) -> dict[str, Any]:
    entries = [
        {"path": file.path, "mode": "100644", "type": "blob", "content": file.after}
        for file in files
    ]
    return {"base_tree": base, "tree": entries}
