"""Make the standing pull request and the standing issue what they should be, however often and by
however many.
"""

from collections.abc import Callable

from compat.errors import AuthenticationError, ServiceUnreachable
from compat.github.client import GitHub
from compat.github.issue import (
    CloseIssue,
    DesiredIssue,
    Issue,
    IssueKey,
    LeaveIssue,
    NoIssue,
    OpenIssue,
    UpdateIssue,
    issue_decision,
)
from compat.github.marker import Words, short_digest
from compat.github.pull_request import (
    Branches,
    Close,
    DeferToHuman,
    DesiredPullRequest,
    NoChange,
    Open,
    Pull,
    RepositoryState,
    Update,
    decision,
)
from compat.github.rest import Again
from compat.value import Value

ROUNDS = 6
_NO_TOKEN = (
    "without a token nothing was read from GitHub; this is what would be written if there is"
    " nothing yet"
)


class Done(Value, frozen=True, kw_only=True):
    """Something was written, and what."""

    url: str | None
    sentence: str


class Unchanged(Value, frozen=True, kw_only=True):
    """Nothing was to be done, and why."""

    url: str | None
    sentence: str


class LeftAlone(Value, frozen=True, kw_only=True):
    """What a person did was respected, and why that stops compat."""

    url: str | None
    sentence: str


class WouldDo(Value, frozen=True, kw_only=True):
    """What a run that writes would do: the exact title and body (empty where they stay), and the
    diff.
    """

    url: str | None
    sentence: str
    title: str = ""
    body: str = ""
    diff: str = ""


Outcome = Done | Unchanged | LeftAlone | WouldDo


def sync_pull_request(
    github: GitHub, branches: Branches, wanted: DesiredPullRequest | None, *, dry_run: bool = False
) -> Outcome:
    """Open, update or close the one pull request from the branch; with `dry_run`, read and say what
    would be done.

    None wants no pull request. Raises AuthenticationError without a token that suffices,
    ServiceUnreachable when GitHub does not answer or others keep writing, UsageError when there is
    no such repository, base or file.
    """
    if not github.rest.signed:
        return _unsigned(wanted, dry_run, wanted.diff if wanted else "")
    if dry_run:
        return _pull_preview(wanted, branches, github.state(branches, wanted))
    return _in_rounds(github, lambda: _pull_round(github, branches, wanted))


def sync_issue(
    github: GitHub, thread: IssueKey, wanted: DesiredIssue | None, *, dry_run: bool = False
) -> Outcome:
    """Open, update, open again or close the one issue of the thread. As for `stand`."""
    if not github.rest.signed:
        return _unsigned(wanted, dry_run, "")
    if dry_run:
        return _issue_preview(issue_decision(wanted, thread, github.issues(thread.label)))
    did: list[Done] = []
    return _in_rounds(github, lambda: _issue_round(github, thread, wanted, did))


def _unsigned(wanted: Words | None, dry_run: bool, diff: str) -> Outcome:
    if not dry_run:
        raise AuthenticationError.of(
            "there is no token to write to GitHub with",
            hint="give one in the environment, or ask for a dry run",
        )
    if wanted is None:
        return Unchanged(url=None, sentence="there is nothing to propose")
    return WouldDo(url=None, sentence=_NO_TOKEN, title=wanted.title, body=wanted.body, diff=diff)


def _in_rounds(github: GitHub, attempt: Callable[[], Outcome | None]) -> Outcome:
    trouble = "others keep writing to it"
    for number in range(ROUNDS):
        try:
            outcome = attempt()
        except Again as again:
            trouble = str(again)
            github.rest.wait(2**number)
        else:
            if outcome is not None:
                return outcome
    raise ServiceUnreachable.of(
        f"GitHub did not settle after {ROUNDS} rounds: {trouble}", hint="try again later"
    )


def _pull_round(github: GitHub, branches: Branches, wanted: DesiredPullRequest | None) -> Outcome:
    state = github.state(branches, wanted)
    match decision(wanted, branches, state):
        case Open() as step:
            _plant(github, branches, wanted, state, step.recreate_branch)
            return Done(url=github.open_pull(branches, step.title, step.body), sentence="opened")
        case Update() as step:
            _plant(github, branches, wanted, state, step.recreate_branch)
            if step.title is not None or step.body is not None:
                github.edit_pull(step.pull.number, title=step.title, body=step.body)
            return Done(url=step.pull.url, sentence=f"updated: {_updated(step)}")
        case Close() as step:
            github.say_once(step.pull.number, step.comment, short_digest(step.pull.body))
            github.edit_pull(step.pull.number, body=step.body, state="closed")
            return Done(url=step.pull.url, sentence="closed: nothing is left to propose")
        case DeferToHuman() as step:
            if step.pull is not None and step.comment is not None:
                github.say_once(
                    step.pull.number,
                    step.comment,
                    short_digest(wanted.digest if wanted else "over"),
                )
            return LeftAlone(url=_url(step.pull), sentence=step.because)
        case NoChange() as step:
            return Unchanged(url=_url(step.pull), sentence=step.because)


def _plant(
    github: GitHub,
    branches: Branches,
    wanted: DesiredPullRequest | None,
    state: RepositoryState,
    recreate_branch: bool,
) -> None:
    if recreate_branch and wanted is not None:
        github.plant(branches, wanted, state)


def _updated(step: Update) -> str:
    parts = (
        step.recreate_branch and "its commit",
        step.title is not None and "its title",
        step.body is not None and "its text",
    )
    return ", ".join(part for part in parts if part)


def _pull_preview(
    wanted: DesiredPullRequest | None, branches: Branches, state: RepositoryState
) -> Outcome:
    diff = wanted.diff if wanted is not None else ""
    match decision(wanted, branches, state):
        case Open() as step:
            return WouldDo(
                url=None, sentence="would be opened", title=step.title, body=step.body, diff=diff
            )
        case Update() as step:
            sentence = f"would be updated: {_updated(step)}"
            return WouldDo(
                url=step.pull.url,
                sentence=sentence,
                title=step.title or "",
                body=step.body or "",
                diff=diff,
            )
        case Close() as step:
            return WouldDo(
                url=step.pull.url,
                sentence="would be closed, saying the body's words",
                body=step.comment,
            )
        case DeferToHuman() as step:
            return LeftAlone(url=_url(step.pull), sentence=step.because)
        case NoChange() as step:
            return Unchanged(url=_url(step.pull), sentence=step.because)


def _issue_round(
    github: GitHub, thread: IssueKey, wanted: DesiredIssue | None, did: list[Done]
) -> Outcome | None:
    # Do one thing and return None, to look again: of two that open an issue at once, the younger is
    # then closed.
    match issue_decision(wanted, thread, github.issues(thread.label)):
        case OpenIssue() as step:
            # A list that lags behind must not open a second one.
            if did:
                return did[0]
            did.append(
                Done(url=github.open_issue(step.title, step.body, thread.label), sentence="opened")
            )
        case UpdateIssue() as step:
            github.edit_issue(step.issue.number, title=step.title, body=step.body, state="open")
            did.append(
                Done(url=step.issue.url, sentence="updated" if step.issue.open else "opened again")
            )
        case CloseIssue() as step:
            github.say_once(step.issue.number, step.comment, short_digest(step.issue.body))
            github.edit_issue(step.issue.number, body=step.body, state="closed")
            did.append(Done(url=step.issue.url, sentence="closed"))
        case LeaveIssue() as step:
            return LeftAlone(url=step.issue.url, sentence=step.because)
        case NoIssue() as step:
            return _settled(step, did)
    return None


def _settled(step: NoIssue, did: list[Done]) -> Outcome:
    if not did:
        return Unchanged(url=_url(step.issue), sentence=step.because)
    url = step.issue.url if step.issue is not None else did[-1].url
    return Done(url=url, sentence=", ".join(done.sentence for done in did))


def _issue_preview(step: OpenIssue | UpdateIssue | CloseIssue | LeaveIssue | NoIssue) -> Outcome:
    match step:
        case OpenIssue():
            return WouldDo(url=None, sentence="would be opened", title=step.title, body=step.body)
        case UpdateIssue():
            sentence = "would be updated" if step.issue.open else "would be opened again"
            return WouldDo(
                url=step.issue.url, sentence=sentence, title=step.title or "", body=step.body or ""
            )
        case CloseIssue():
            return WouldDo(
                url=step.issue.url,
                sentence="would be closed, saying the body's words",
                body=step.comment,
            )
        case LeaveIssue():
            return LeftAlone(url=step.issue.url, sentence=step.because)
        case NoIssue():
            return Unchanged(url=_url(step.issue), sentence=step.because)


def _url(item: Pull | Issue | None) -> str | None:
    return item.url if item is not None else None
