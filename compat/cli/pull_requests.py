"""What `compat propose --open` does: the one pull request and the one issue, from proposals and
changed files.
"""

import hashlib
import re
from collections.abc import Sequence

import requests

from compat.cli.machine import environ
from compat.cli.output import say
from compat.errors import UsageError
from compat.github.client import GitHub
from compat.github.description import requested, waiting
from compat.github.standing import (
    Branches,
    IssueKey,
    Outcome,
    Wanted,
    diff_of,
    sync_issue,
    sync_pull_request,
)
from compat.policy.proposal import Proposal
from compat.results.snapshot import Snapshot
from compat.rewrite.repository_file import RepositoryFile
from compat.site.paths import segment
from compat.value import Value

API = "https://api.github.com"
LABEL = "minimum versions"


class GitHubTarget(Value, frozen=True, kw_only=True):
    """Where the pull request and the issue go; `site` is the address of the published pages, if
    there are any.
    """

    repository: str
    base: str
    site: str
    dry_run: bool

    def github(self) -> GitHub:
        return github_of(self.repository)


def github_of(repository: str) -> GitHub:
    """Return a repository on GitHub, signed with the token of the environment.

    Where no name is given, GITHUB_REPOSITORY names it.
    """
    repository = repository or environ().get("GITHUB_REPOSITORY", "")
    if not repository:
        hint = "name it with --repository owner/name, or in the environment as GITHUB_REPOSITORY"
        raise UsageError.of("no repository given", hint=hint)
    address = environ().get("GITHUB_API_URL") or API
    token = environ().get("GITHUB_TOKEN") or None
    return GitHub(address, repository, token, requests.Session())


def sync(
    desk: GitHubTarget,
    snapshot: Snapshot,
    proposals: Sequence[Proposal],
    files: Sequence[RepositoryFile],
) -> tuple[Outcome, Outcome]:
    """Open, update or close the pull request of the open moves, then the issue of the others."""
    github = desk.github()
    key = re.sub("[^a-z0-9]+", "-", f"floors-{snapshot.matrix.name}").strip("-")
    branches = Branches(
        own=f"compat/{key}", base=desk.base or environ().get("GITHUB_REF_NAME") or "main"
    )
    pull, issue = desired(snapshot.matrix.title, proposals, files, desk.site)
    thread = IssueKey(key=key, label=LABEL)
    return (
        sync_pull_request(github, branches, pull, dry_run=desk.dry_run),
        sync_issue(github, thread, issue, dry_run=desk.dry_run),
    )


def desired(
    title: str, proposals: Sequence[Proposal], files: Sequence[RepositoryFile], site: str
) -> tuple[Wanted | None, Wanted | None]:
    """Return the pull request and the issue that should stand; None where there is nothing to
    say.
    """
    opened = [proposal for proposal in proposals if proposal.is_open]
    others = [proposal for proposal in proposals if not proposal.is_open]
    changed = tuple(file for file in files if file.before != file.after)

    def page_of(cell: str) -> str:
        return f"{site}cell/{segment(cell)}/"

    cell_url = page_of if site else None
    pull, issue = None, None
    if opened and changed:
        text = requested(opened, title, diff_of(changed), cell_url)
        pull = Wanted(title=text.title, body=text.body, digest=_digest(opened), files=changed)
    if others:
        text = waiting(others, title, cell_url)
        issue = Wanted(title=text.title, body=text.body, digest=_digest(others))
    return pull, issue


def print_outcome(what: str, outcome: Outcome) -> None:
    left = "left alone: " if outcome.did == "left-alone" else ""
    say(f"{what}: {left}{outcome.sentence}{f'  {outcome.url}' if outcome.url else ''}")
    if outcome.did == "would-do":
        for part in (outcome.title, outcome.body, outcome.diff):
            for line in part.splitlines():
                say(line)


def _digest(proposals: Sequence[Proposal]) -> str:
    return hashlib.sha256("".join(proposal.digest for proposal in proposals).encode()).hexdigest()
