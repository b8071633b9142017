"""A workflow of GitHub Actions: whether it is switched on, and when it last succeeded."""

from datetime import datetime, timedelta
from urllib.parse import quote

import msgspec

from compat.errors import UsageError
from compat.github.client import decoded
from compat.github.rest import Rest
from compat.value import Value


class WorkflowActivity(Value, frozen=True, kw_only=True):
    """What GitHub says of a workflow; `succeeded` is when its newest success was created."""

    workflow: str
    state: str
    succeeded: datetime | None


class _Workflow(msgspec.Struct):
    state: str


class _Run(msgspec.Struct):
    created_at: datetime


class _Runs(msgspec.Struct):
    workflow_runs: list[_Run]


def activity(rest: Rest, workflow: str) -> WorkflowActivity:
    """Ask GitHub about a workflow by the name of its file.

    Raises UsageError where the repository has none such.

    https://docs.github.com/en/rest/actions/workflows and
    https://docs.github.com/en/rest/actions/workflow-runs
    """
    path = f"actions/workflows/{quote(workflow, safe='')}"
    answer = rest.read(path)
    if answer.status == 404:
        hint = "name its file, such as matrix.yml; the token needs the permission actions=read"
        raise UsageError.of(f"{rest.repository} has no workflow {workflow!r}", hint=hint)
    runs = decoded(rest.read(f"{path}/runs", status="success", per_page=1), _Runs).workflow_runs
    return WorkflowActivity(
        workflow=workflow,
        state=decoded(answer, _Workflow).state,
        succeeded=runs[0].created_at if runs else None,
    )


def overdue(workflow: WorkflowActivity, now: datetime, days: int) -> tuple[str, ...]:
    name, succeeded = workflow.workflow, workflow.succeeded
    findings: list[str] = []
    if workflow.state != "active":
        findings.append(f"{name} is {workflow.state}; `gh workflow enable {name}` enables it again")
    if succeeded is None:
        findings.append(f"{name} has never succeeded")
    elif now - succeeded > timedelta(days=days):
        findings.append(
            f"{name} last succeeded on {succeeded:%Y-%m-%d}, which is more than {days} days ago"
        )
    return tuple(findings)
