"""A git repository on this machine and its `origin`: commit some of its files, and push them."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from compat.errors import ToolFailed
from compat.value import Value

# How often a push is tried again after somebody else's: two runs of one repository are rare.
PUSHES = 5
# A push of a night's records takes seconds; a remote that hangs must not hold a runner for hours.
GIT_SECONDS = 600


class PushAccepted(Value, frozen=True, kw_only=True):
    """The branch at the origin has the commit."""

    commit: str


class PushRefused(Value, frozen=True, kw_only=True):
    """The branch at the origin is as it was, and why."""

    because: str


class GitRepository:
    """The repository that holds a folder, by the command `git`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def commit(self, paths: Sequence[str], message: str) -> str | None:
        """Commit what changed below the paths and return the commit; None where nothing did.

        Raises ToolFailed where git cannot commit: outside of a repository, or without a
        name to commit under.
        """
        existing = [path for path in paths if (self._folder / path).exists()]
        if not existing:
            return None
        self._git("add", "--", *existing)
        if not self._git("diff", "--cached", "--name-only", "--", *existing):
            return None
        self._git("commit", "--quiet", "--message", message, "--", *existing)
        return self._git("rev-parse", "HEAD")

    def push(self, branch: str) -> PushAccepted | PushRefused:
        """Push the last commit onto whatever the branch has by then, so that no commit is lost.

        Raises ToolFailed where the origin does not answer.
        """
        for _ in range(PUSHES):
            tip = self._tip(branch)
            if self._run("rebase", "--quiet", tip).returncode:
                self._run("rebase", "--abort")
                return PushRefused(because=f"the commit conflicts with what {branch} has now")
            push = self._run("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
            if push.returncode == 0:
                return PushAccepted(commit=self._git("rev-parse", "HEAD"))
            if self._tip(branch) == tip:
                return PushRefused(
                    because=f"{branch} does not accept the push{_reason(push.stderr)}"
                )
        return PushRefused(because=f"somebody else pushed to {branch} first, {PUSHES} times")

    def push_new_branch(self, branch: str) -> None:
        """Push the last commit to a branch that the origin does not have; ToolFailed if it does."""
        self._git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")

    def _tip(self, branch: str) -> str:
        self._git("fetch", "--quiet", "origin", f"refs/heads/{branch}")
        return self._git("rev-parse", "FETCH_HEAD")

    def _git(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode:
            raise ToolFailed.of(f"git {words[0]} failed{_reason(done.stderr)}")
        return done.stdout.strip()

    def _run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run(
                ["git", *words],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=GIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ToolFailed.of(
                f"git {words[0]} did not end within {GIT_SECONDS} seconds"
            ) from None
        except OSError:
            raise ToolFailed.of("git cannot be started", hint="install git") from None


def _reason(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    remote = [line for line in lines if line.startswith("remote:")]
    line = next(iter(remote or lines[-1:]), "")
    return re.sub(r"//[^/\s]*@", "//", f": {line}") if line else ""
