"""The measured files of a matrix: commit and push them, or open a pull request where a branch
accepts no push.
"""

from collections.abc import Callable

from compat.errors import CompatError
from compat.github.repository import GitRepository, PushAccepted
from compat.value import Value

# What a run measures of a matrix; the rest of its folder is declared by people.
MEASURED = (
    *(
        "blames.json",
        "catalogue.json",
        "clauses.json",
        "locks",
        "plain.json",
        "platforms",
        "probes.json",
    ),
    "records",
)

# Takes the branch, the branch that it is for, a title and a body; returns the address.
OpenPull = Callable[[str, str, str, str], str]


class NothingNew(Value, frozen=True, kw_only=True, tag_field="outcome", tag="nothing-new"):
    """No measured file changed."""


class Committed(Value, frozen=True, kw_only=True, tag_field="outcome", tag="committed"):
    """The change is a commit on this machine only."""

    commit: str


class Pushed(Value, frozen=True, kw_only=True, tag_field="outcome", tag="pushed"):
    """The branch at the origin has the commit."""

    commit: str
    branch: str


class Offered(Value, frozen=True, kw_only=True, tag_field="outcome", tag="offered"):
    """The branch did not accept the push, for the reason given; the commit is a pull request."""

    commit: str
    branch: str
    head: str
    url: str
    because: str


PushResult = NothingNew | Committed | Pushed | Offered


def push_measured(
    repository: GitRepository, matrix: str, branch: str, open_pull: OpenPull
) -> PushResult:
    """Commit the measured files of a matrix and push them; with an empty branch, only commit.

    Where the branch accepts no push, as a protected one, or the change conflicts with what others
    pushed meanwhile, the commit becomes a branch of its own and a pull request. Raises what
    `open_pull` raises, with that branch named.
    """
    title = f"Update catalogue, locks and records of {matrix}"
    commit = repository.commit([f"matrices/{matrix}/{name}" for name in MEASURED], title)
    if commit is None:
        return NothingNew()
    if not branch:
        return Committed(commit=commit)
    push = repository.push(branch)
    if isinstance(push, PushAccepted):
        return Pushed(commit=push.commit, branch=branch)
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
        raise _named(error, head, branch) from None
    return Offered(commit=commit, branch=branch, head=head, url=url, because=push.because)


def _named(error: CompatError, head: str, base: str) -> CompatError:
    fault = error.faults[0]
    message = f"{head} is pushed, but no pull request could be opened: {fault.message}"
    remedy = f"open one from it to {base}"
    return type(error).of(message, hint=f"{fault.hint}; or {remedy}" if fault.hint else remedy)
