"""The `policy` room's texts: Proposals -> the Markdown of their pull request, and of the issue
about the others.
"""

from collections.abc import Iterable, Sequence

from compat.github.markdown import block, code, inline, link, plain
from compat.policy.proposal import Affected, CellEvidence, Proposal
from compat.value import StrictValue

MOST_ROWS = 40
VERBS = {"raise": "Raise", "lower": "Lower", "early": "Raise ahead of the calendar:"}


class Text(StrictValue, frozen=True, kw_only=True):
    """A title, and a body in Markdown; nothing in them mentions, links or closes anything that they
    do not mean to.
    """

    title: str
    body: str


def requested(
    proposals: Sequence[Proposal], title: str, diff: str = "", base_url: str = ""
) -> Text:
    """Return the text of the pull request that makes these moves at once; `title` is that of the
    matrix.

    `base_url` is the site's root, with the slash at its end; without it, cells are named and not
    linked.
    """
    sections = [section(proposal, base_url) for proposal in proposals]
    if diff:
        sections.append(f"### The change\n\n{block(diff, 'diff')}\n")
    sections.append(
        "### If you do not want this\n\nClose this pull request without merging it: it stays closed"
        " until the evidence changes. To keep a floor for longer, declare a hold in `policy.toml`,"
        " with a reason and an end. Commits that you add here are kept.\n"
    )
    moves = ", ".join(f"{p.package} {p.current} to {p.proposed}" for p in proposals)
    return Text(title=plain(f"{title}: minimum {moves}"), body="\n".join(sections))


def waiting(proposals: Sequence[Proposal], title: str, base_url: str = "") -> Text:
    """Return the text of the issue about moves that something speaks against."""
    count = f"{len(proposals)} moves of minimum versions wait"
    count = count if len(proposals) != 1 else "1 move of a minimum version waits"
    opening = "These moves of minimum versions are not open; each says what speaks against it.\n"
    last = {proposal.axis: proposal for proposal in proposals}
    sections = [
        section(proposal, base_url, proposal is last[proposal.axis]) for proposal in proposals
    ]
    return Text(title=plain(f"{title}: {count}"), body="\n".join([opening, *sections]))


def section(proposal: Proposal, base_url: str = "", with_arithmetic: bool = True) -> str:
    """Return one proposal as a section of Markdown; several of one axis share their arithmetic but
    for its end.
    """
    what = (
        f"{VERBS[proposal.kind]} the minimum {proposal.package} from {proposal.current} to"
        f" {proposal.proposed}"
    )
    when = ", at once" if proposal.is_open else ""
    when = (
        when if proposal.earliest is None else f", with the first release after {proposal.earliest}"
    )
    parts = [
        f"### {inline(what)}\n",
        f"For {inline(proposal.release)}{when}: {inline(_joined(proposal.grounds), limit=600)}.\n",
        *_bullets("What speaks against it", (one.because for one in proposal.objections)),
        *_bullets(
            "Who is affected", map(affected, (*proposal.lost, *proposal.gained)), _effect(proposal)
        ),
        *_table(proposal.evidence, base_url),
        *_bullets("Cells that must run first", proposal.needs, as_code=True),
        *_bullets(
            "The arithmetic", proposal.arithmetic if with_arithmetic else proposal.arithmetic[-1:]
        ),
    ]
    return "\n".join(parts)


def affected(one: Affected) -> str:
    """Return what a move drops or adds of one axis, in words."""
    versions = f"{one.package} {', '.join(map(str, one.versions))}"
    return (
        f"{versions} (releases {', '.join(map(str, one.releases))})" if one.releases else versions
    )


def _effect(proposal: Proposal) -> str:
    return (
        "Users gain:"
        if proposal.kind == "lower"
        else "A release with the new minimum no longer covers:"
    )


def _bullets(
    heading: str, lines: Iterable[str], opening: str = "", as_code: bool = False
) -> list[str]:
    told = [f"- {code(line) if as_code else inline(line, limit=700)}" for line in lines]
    if not told:
        return []
    return [f"#### {heading}\n", *([f"{opening}\n"] if opening else []), *told, ""]


def _table(evidence: Sequence[CellEvidence], base_url: str) -> list[str]:
    if not evidence:
        return []
    head = [
        "| cell | verdict | newest run that counts | days of such runs | what it says |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = [_line(one, base_url) for one in evidence[:MOST_ROWS]]
    more = (
        [f"\n... and {len(evidence) - MOST_ROWS} more cells."] if len(evidence) > MOST_ROWS else []
    )
    return ["#### Test results\n", *head, *rows, *more, ""]


def _line(one: CellEvidence, base_url: str) -> str:
    cell = link(one.cell, base_url + one.link) if base_url else code(one.cell)
    came = one.verdict if one.outcome in ("", "pass") else f"{one.verdict}: {one.outcome}"
    days = ", ".join(map(str, one.days)) or "none"
    says = one.word if one.supports or one.latest is None else f"{one.word}: {one.because}"
    return (
        f"| {cell} | {inline(came)} | {one.latest or 'none'} | {days} | {inline(says, limit=400)} |"
    )


def _joined(lines: Sequence[str]) -> str:
    return "; ".join(lines)
