"""What is to be done about the one standing issue, decided from what is there: no request is made
here.
"""

import re

from compat.github.marker import Marked, Words, first_body, marked, new_words, withdrawn
from compat.value import Value


class IssueKey(Value, frozen=True, kw_only=True):
    """By what a standing issue is known: the key in its mark, and its label.

    Without the label it is a person's own.
    """

    key: str
    label: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.key) or not re.fullmatch(
            r"[^\s,][^,\n]{0,49}", self.label
        ):
            raise ValueError(f"no key and label of a thread: {self.key!r}, {self.label!r}")


class DesiredIssue(Words, frozen=True, kw_only=True):
    """The issue that should stand."""


class Issue(Value, frozen=True, kw_only=True):
    """An issue with the label of the thread."""

    number: int
    url: str
    title: str
    body: str
    open: bool


class OpenIssue(Value, frozen=True, kw_only=True):
    """Open an issue; there is none of this thread."""

    title: str
    body: str


class UpdateIssue(Value, frozen=True, kw_only=True):
    """Bring an issue up to date, and open it again if it was closed; None leaves the title or the
    body as it is.
    """

    issue: Issue
    title: str | None
    body: str | None


class CloseIssue(Value, frozen=True, kw_only=True):
    """Close an issue with a sentence."""

    issue: Issue
    body: str
    comment: str


class LeaveIssue(Value, frozen=True, kw_only=True):
    """Respect that a person closed it, or opened it again."""

    because: str
    issue: Issue


class NoIssue(Value, frozen=True, kw_only=True):
    """All is as it should be."""

    because: str
    issue: Issue | None = None


IssueStep = OpenIssue | UpdateIssue | CloseIssue | LeaveIssue | NoIssue


def issue_decision(
    wanted: DesiredIssue | None, thread: IssueKey, labelled: tuple[Issue, ...]
) -> IssueStep:
    """Return the next thing to do.

    The oldest open issue of the thread stands; younger open ones are closed first.
    """
    ours = sorted(
        (
            (issue, marked_body)
            for issue in labelled
            if (marked_body := marked(issue.body, thread.key)) is not None
        ),
        key=lambda pair: pair[0].number,
    )
    standing = [pair for pair in ours if pair[0].open]
    if len(standing) > 1:
        return _closed(
            standing[-1][0],
            thread,
            f"#{standing[0][0].number} says the same; compat keeps the older one.",
        )
    if wanted is None:
        return _over(standing, thread)
    if standing:
        return _updated(wanted, standing[0][0], thread)
    for issue, marked_body in ours:
        if marked_body.digest == wanted.digest and not marked_body.withdrawn:
            return LeaveIssue(
                because="a person closed it; compat asks again when the evidence is another",
                issue=issue,
            )
    return (
        _updated(wanted, ours[0][0], thread)
        if ours
        else OpenIssue(title=wanted.title, body=first_body(wanted, thread.key))
    )


def _over(standing: list[tuple[Issue, Marked]], thread: IssueKey) -> IssueStep:
    if not standing:
        return NoIssue(because="there is nothing to say")
    issue, marked_body = standing[0]
    if marked_body.withdrawn:
        return LeaveIssue(because="compat closed it and a person opened it again", issue=issue)
    return _closed(
        issue,
        thread,
        "Nothing is left to report here. compat closes this issue itself.",
    )


def _closed(issue: Issue, thread: IssueKey, comment: str) -> CloseIssue:
    return CloseIssue(issue=issue, body=withdrawn(issue.body, thread.key), comment=comment)


def _updated(wanted: DesiredIssue, issue: Issue, thread: IssueKey) -> IssueStep:
    title, body = new_words(wanted, issue.title, issue.body, thread.key)
    if issue.open and title is None and body is None:
        return NoIssue(because="it says what there is to say", issue=issue)
    return UpdateIssue(issue=issue, title=title, body=body)
