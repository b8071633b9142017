"""Commits and pushes the measured files of a matrix with git, or opens a pull request if a branch
rejects pushes.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from compat.errors import CompatError, ToolFailed
from compat.lock.uv import Done, run_tool
from compat.value import Value

# The measured files of a matrix; people declare the rest of its folder.
MEASURED = (
    *("blames.json", "catalogue.json", "clauses.json", "locks", "plain.json", "platforms"),
    *("probes.json", "records"),
)
# How often a rejected push is retried: two runs of one repository at once are rare.
PUSHES = 5
# Seconds. A push of a night's records takes seconds; a hanging remote must not block a runner for
# hours.
GIT_SECONDS = 600

# Takes the branch, its base, a title and a body; returns the address.
OpenPull = Callable[[str, str, str, str], str]


class PushResult(Value, frozen=True, kw_only=True, omit_defaults=True):
    """Where the change is: nowhere, in a local commit, on the origin's branch, or in a pull request
    (`head`, `url`) `because` the branch rejected the push.
    """

    outcome: Literal["nothing-new", "committed", "pushed", "offered"]
    commit: str = ""
    branch: str = ""
    head: str = ""
    url: str = ""
    because: str = ""


def push_measured(
    repository: "GitRepository", matrix: str, branch: str, open_pull: OpenPull, apart: bool
) -> PushResult:
    """Commit the measured files of a matrix and push them; with an empty branch, only commit.

    If the branch is protected or the change conflicts, pushes a new branch and opens a pull
    request. Raises what `open_pull` raises, with that branch named. `apart`: the branch has
    measured files alone, so its commits are no others' and conflict with nothing.
    """
    title = f"Update catalogue, locks and records of {matrix}"
    paths = [f"matrices/{matrix}/{name}" for name in MEASURED]
    if apart:
        pushed = repository.push_separately(branch, paths, title)
        if not pushed:
            return PushResult(outcome="nothing-new")
        return PushResult(outcome="pushed", commit=pushed, branch=branch)
    commit = repository.commit(paths, title)
    if commit is None:
        return PushResult(outcome="nothing-new")
    if not branch:
        return PushResult(outcome="committed", commit=commit)
    because = repository.push(branch)
    if not because:
        return PushResult(outcome="pushed", commit=repository.tip(), branch=branch)
    # Named by its commit, so that it replaces no branch of another run.
    head = f"compat/kept-{matrix}-{commit[:12]}"
    repository.push_new_branch(head)
    body = (
        f"`{branch}` did not accept this push. The next run does not know these results before"
        " they are merged."
    )
    try:
        url = open_pull(head, branch, title, body)
    except CompatError as error:
        fault = error.faults[0]
        message = f"{head} is pushed, but no pull request could be opened: {fault.message}"
        hint = "; or ".join(filter(None, (fault.hint, f"open one from it to {branch}")))
        raise type(error).of(message, hint=hint) from error
    return PushResult(
        outcome="offered", commit=commit, branch=branch, head=head, url=url, because=because
    )


class GitRepository:
    """The repository that holds a folder, by the command `git`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def commit(self, paths: Sequence[str], message: str) -> str | None:
        """Commit the changes below the paths; return the commit, if any. Raises ToolFailed."""
        existing = [path for path in paths if (self._folder / path).exists()]
        if not existing:
            return None
        self._git("add", "--", *existing)
        if not self._git("diff", "--cached", "--name-only", "--", *existing):
            return None
        self._git("commit", "--quiet", "--message", message, "--", *existing)
        return self.tip()

    def tip(self) -> str:
        return self._git("rev-parse", "HEAD")

    def push(self, branch: str) -> str:
        """Push the last commit onto the branch's head; return why it was rejected, else ""."""
        for _ in range(PUSHES):
            tip = self._fetched(branch)
            if self._run("rebase", "--quiet", tip).returncode:
                self._run("rebase", "--abort")
                return f"the commit conflicts with what {branch} has now"
            push = self._run("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
            if push.returncode == 0:
                return ""
            if self._fetched(branch) == tip:
                return f"{branch} does not accept the push{_reason(push.stderr)}"
        return f"somebody else pushed to {branch} first, {PUSHES} times"

    def push_separately(self, branch: str, paths: Sequence[str], message: str) -> str:
        """Push a commit with these paths as they are here, and all others as the branch has them;
        return it, empty if nothing changed. A new branch has no other file.
        """
        existing = [path for path in paths if (self._folder / path).exists()]
        place, because = f"refs/heads/{branch}", ""
        # An index of its own leaves what a person has staged.
        index = self._git("rev-parse", "--git-path", "compat-index")
        own = partial(self._git, tool=("env", f"GIT_INDEX_FILE={index}", "git"))
        for _ in range(PUSHES):
            has_tip = bool(self._git("ls-remote", "origin", place))
            tip = [self._fetched(branch)] if has_tip else []
            own("read-tree", *(tip or ["--empty"]))
            own("rm", "-r", "-f", "--quiet", "--cached", "--ignore-unmatch", "--", *paths)
            if existing:
                own("add", "--force", "--", *existing)
            tree = own("write-tree")
            if tip and tree == self._git("rev-parse", f"{tip[0]}^{{tree}}"):
                return ""
            parents = [word for parent in tip for word in ("-p", parent)]
            commit = self._git("commit-tree", tree, *parents, "-m", message)
            push = self._run("push", "--quiet", "origin", f"{commit}:{place}")
            if push.returncode == 0:
                return commit
            because = _reason(push.stderr)
        raise ToolFailed.of(f"{branch} does not accept the push{because}")

    def push_new_branch(self, branch: str) -> None:
        self._git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")

    def _fetched(self, branch: str) -> str:
        self._git("fetch", "--quiet", "origin", f"refs/heads/{branch}")
        return self._git("rev-parse", "FETCH_HEAD")

    def _git(self, *words: str, tool: Sequence[str] = ("git",)) -> str:
        done = self._run(*words, tool=tool)
        if done.returncode:
            raise ToolFailed.of(f"git {words[0]} failed{_reason(done.stderr)}")
        return done.stdout.strip()

    def _run(self, *words: str, tool: Sequence[str] = ("git",)) -> Done:
        return run_tool([*tool, *words], self._folder, None, GIT_SECONDS)


def _reason(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    remote = [line for line in lines if line.startswith("remote:")]
    line = next(iter(remote or lines[-1:]), "")
    return re.sub(r"//[^/\s]*@", "//", f": {line}") if line else ""
