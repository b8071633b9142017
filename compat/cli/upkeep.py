"""`compat ci push`, `compat ci watchdog`, and the pull request and issue of `compat propose
--open`.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence

import msgspec
import requests

from compat.cli.arguments import Exit, argument, matrices_folder, option
from compat.cli.machine import environ, now
from compat.cli.options import MATRIX_NAME, REPOSITORY_NAME
from compat.cli.output import envelope, note, say
from compat.declare.matrix import Matrix
from compat.errors import ServiceUnreachable, UsageError
from compat.github import markdown, standing
from compat.github.client import Again, GitHub, overdue
from compat.github.measured import GitRepository, push_measured
from compat.pipeline import ProposedMoves
from compat.site.paths import segment

API = "https://api.github.com"
LABEL, ALERTS = "minimum versions", "variants"


def github_of(repository: str) -> GitHub:
    """Return the repository (default: GITHUB_REPOSITORY), signed with GITHUB_TOKEN."""
    repository = repository or environ().get("GITHUB_REPOSITORY", "")
    if not repository:
        hint = "name it with --repository owner/name, or in the environment as GITHUB_REPOSITORY"
        raise UsageError.of("no repository given", hint=hint)
    address = environ().get("GITHUB_API_URL") or API
    return GitHub(address, repository, (environ().get("GITHUB_TOKEN") or None), requests.Session())


def sync(
    moves: ProposedMoves, repository: str, base: str, site: str, dry_run: bool
) -> dict[str, standing.Outcome]:
    """Bring the pull request and the issue up to date; `site` is the base URL of published pages,
    if any.
    """
    github, title = github_of(repository), moves.snapshot.matrix.title
    key = re.sub("[^a-z0-9]+", "-", f"floors-{moves.snapshot.matrix.name}").strip("-")
    base = base or environ().get("GITHUB_REF_NAME") or "main"
    changed = tuple(file for file in moves.changed if file.before != file.after)
    opened = [proposal for proposal in moves.proposals if proposal.is_open]
    others = [proposal for proposal in moves.proposals if not proposal.is_open]

    cell_url = (lambda cell: f"{site}cell/{segment(cell)}/") if site else None
    pull, issue = None, None
    if opened and changed:
        pull = standing.requested(opened, title, standing.diff_of(changed), cell_url)
        pull = msgspec.structs.replace(pull, files=changed)
    if others:
        issue = standing.waiting(others, title, cell_url)
    branches = standing.Branches(own=f"compat/{key}", base=base)
    return {
        "pull request": standing.sync_pull_request(github, branches, pull, dry_run=dry_run),
        "issue": standing.sync_issue(github, key, LABEL, issue, dry_run=dry_run),
    }


def sync_alerts(
    matrix: Matrix, text: str, evidence: Sequence[str], repository: str, dry_run: bool
) -> None:
    """Open, update or close the one issue about failing variants; without a text, close it."""
    key, issue = f"variants-{matrix.name}", None
    if text:
        digest = hashlib.sha256("\n".join(evidence).encode()).hexdigest()
        title = markdown.plain(f"{matrix.title}: variants fail")
        issue = standing.Wanted(title=title, body=text, digest=digest)
    github = github_of(repository)
    report_outcomes({"issue": standing.sync_issue(github, key, ALERTS, issue, dry_run=dry_run)})


def report_outcomes(outcomes: Mapping[str, standing.Outcome]) -> None:
    for what, outcome in outcomes.items():
        left = "left alone: " if outcome.did == "left-alone" else ""
        say(f"{what}: {left}{outcome.sentence}{f'  {outcome.url}' if outcome.url else ''}")
        if outcome.did == "would-do":
            for part in (outcome.title, outcome.body, outcome.diff):
                say(*part.splitlines())


def keep_command(
    matrix: str = MATRIX_NAME,
    branch: str = option("Push to this branch of origin (default: only commit)."),
    apart: bool = option("The branch has such files alone; it is created."),
    repository: str = REPOSITORY_NAME,
) -> None:
    """Commit and push the catalogue, locks and records of a matrix.

    Others' commits stay. If the branch rejects the push, opens a pull request (needs GITHUB_TOKEN).
    With --apart commits nothing here: `git checkout origin/BRANCH -- matrices` gets the files.

    Examples: compat ci push tff; compat ci push tff --branch main; compat ci push tff --apart
    --branch compat-records
    """
    if apart and not branch:
        raise UsageError.of("needs the name of its branch", path="--apart", hint="--branch NAME")
    folder = matrices_folder().parent

    def open_pull(head: str, base: str, title: str, body: str) -> str:
        try:
            return github_of(repository).open("pulls", title=title, body=body, head=head, base=base)
        except Again as trouble:
            raise ServiceUnreachable.of(str(trouble)) from trouble

    result = push_measured(GitRepository(folder), matrix, branch, open_pull, apart)
    envelope({"matrix": matrix, **msgspec.to_builtins(result)})
    match result.outcome:
        case "nothing-new":
            note(f"nothing new to commit for {matrix}")
        case "committed":
            say(f"{matrix}: committed as {result.commit[:12]}")
            note(f"Next: compat ci push {matrix} --branch BRANCH pushes, or git push.")
        case "pushed":
            say(f"{matrix}: pushed to {result.branch} as {result.commit[:12]}")
        case "offered":
            note(result.because)
            say(f"{matrix}: pull request {result.url} from {result.head} to {result.branch}")


def watchdog_command(
    workflow: str = argument("File in .github/workflows, such as matrix.yml.", metavar="WORKFLOW"),
    days: int = option("Maximum age of the last success, in days.", min=1),
    repository: str = REPOSITORY_NAME,
) -> None:
    """Check that a scheduled workflow still runs.

    Exits 1 if not. GitHub disables schedules after 60 days without a commit, and a disabled
    schedule reports nothing. Run it from another workflow; GITHUB_TOKEN needs the permission
    actions=read.

    Example: compat ci watchdog matrix.yml --days 3
    """
    workflow_activity = github_of(repository).activity(workflow)
    findings = overdue(workflow_activity, now(), days)
    envelope({**msgspec.to_builtins(workflow_activity), "findings": findings})
    for finding in findings:
        note(finding)
    if not findings:
        say(f"{workflow} last succeeded on {workflow_activity.succeeded:%Y-%m-%d}")
    raise Exit(1 if findings else 0)
