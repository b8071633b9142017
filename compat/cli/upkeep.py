"""Commands for repositories that run unattended: keep what a run measured, watch that it ran."""

from typing import Annotated

import msgspec

from compat.cli.arguments import Argument, Exit, Option, given
from compat.cli.machine import now
from compat.cli.options import MatrixName, matrices_folder
from compat.cli.output import envelope, note, say
from compat.cli.pull_requests import github_of
from compat.errors import ServiceUnreachable
from compat.github.client import Again, overdue
from compat.github.measured import GitRepository, PushResult, push_measured

RepositoryName = Annotated[
    str, Option("--repository", help="owner/name on GitHub; else GITHUB_REPOSITORY.")
]


def keep_command(
    matrix: MatrixName,
    branch: Annotated[
        str,
        Option("--branch", help="Push to this branch of origin; without it, only commit."),
    ] = "",
    repository: RepositoryName = "",
) -> None:
    """Commit and push the catalogue, locks and records of a matrix.

    Commits that others pushed meanwhile stay. Where the branch does not accept the push (it is
    protected, or the commit conflicts with theirs), the commit becomes a branch of its own and a
    pull request, for which the environment needs GITHUB_TOKEN.

    Examples: compat ci push tff; compat ci push tff --branch main
    """
    folder = matrices_folder().parent

    def open_pull(head: str, base: str, title: str, body: str) -> str:
        try:
            return github_of(repository).open("pulls", title=title, body=body, head=head, base=base)
        except Again as trouble:
            raise ServiceUnreachable.of(str(trouble)) from trouble

    result = push_measured(GitRepository(folder), matrix, branch, open_pull)
    if given.as_json:
        envelope({"matrix": matrix, **msgspec.to_builtins(result)})
    else:
        _show(matrix, result)


def _show(matrix: str, result: PushResult) -> None:
    match result.outcome:
        case "nothing-new":
            note(f"nothing new to keep of {matrix}")
        case "committed":
            say(f"{matrix}: committed as {result.commit[:12]}")
            note(f"Next: compat ci push {matrix} --branch BRANCH pushes, or git push.")
        case "pushed":
            say(f"{matrix}: pushed to {result.branch} as {result.commit[:12]}")
        case "offered":
            note(result.because)
            say(f"{matrix}: pull request {result.url} from {result.head} to {result.branch}")


def watchdog_command(
    workflow: Annotated[
        str,
        Argument(metavar="WORKFLOW", help="A file of .github/workflows, for example matrix.yml."),
    ],
    days: Annotated[int, Option("--days", min=1, help="How old its newest success may be.")],
    repository: RepositoryName = "",
) -> None:
    """Check that a scheduled workflow still runs.

    Exit code 1 when it does not.

    GitHub disables schedules after 60 days without a commit, and a schedule that is off reports
    nothing. Run it from another workflow; GITHUB_TOKEN needs the permission actions=read.

    Example: compat ci watchdog matrix.yml --days 3
    """
    workflow_activity = github_of(repository).activity(workflow)
    findings = overdue(workflow_activity, now(), days)
    if given.as_json:
        envelope({**msgspec.to_builtins(workflow_activity), "findings": findings})
    elif findings:
        for finding in findings:
            note(f"{finding}")
    else:
        say(f"{workflow} last succeeded on {workflow_activity.succeeded:%Y-%m-%d}")
    raise Exit(1 if findings else 0)
