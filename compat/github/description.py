"""The `github` room's texts: Proposals -> the Markdown of their pull request, and of the issue
about the others.
"""

from collections.abc import Callable, Iterable, Sequence

from compat.github.markdown import block, code, inline, link, plain
from compat.policy.proposal import CellEvidence, FloorKind, Proposal
from compat.policy.propose import affected_words
from compat.value import StrictValue

MOST_ROWS = 40
VERBS: dict[FloorKind, str] = {
    "raise": "Raise",
    "lower": "Lower",
    "early": "Raise ahead of the calendar:",
}


class Text(StrictValue, frozen=True, kw_only=True):
    """A title, and a body in Markdown; nothing in them mentions, links or closes anything that they
    do not mean to.
    """

    title: str
    body: str


def requested(
    proposals: Sequence[Proposal],
    title: str,
    diff: str = "",
    cell_url: Callable[[str], str] | None = None,
) -> Text:
    """Return the text of the pull request that makes these moves at once; `title` is that of the
    matrix.

    `cell_url` returns the address of a cell's page; without it, cells are named and not linked.
    """
    sections = [section(proposal, cell_url) for proposal in proposals]
    if diff:
        sections.append(f"### The change\n\n{block(diff, 'diff')}\n")
    sections.append(
        "### If you do not want this\n\nClose this pull request without merging it: it stays closed"
        " until the evidence changes. To keep a floor for longer, declare a hold in `policy.toml`,"
        " with a reason and an end. Commits that you add here are kept.\n"
    )
    moves = ", ".join(f"{p.package} {p.current} to {p.proposed}" for p in _moves(proposals))
    added = ", ".join(f"{p.package} {p.proposed}" for p in _extensions(proposals))
    parts = (moves and f"minimum {moves}", added and f"extend to {added}")
    return Text(title=plain(f"{title}: {'; '.join(filter(None, parts))}"), body="\n".join(sections))


def waiting(
    proposals: Sequence[Proposal], title: str, cell_url: Callable[[str], str] | None = None
) -> Text:
    moves, added = len(_moves(proposals)), len(_extensions(proposals))
    counts = [
        f"{number} {singular if number == 1 else plural}"
        for number, singular, plural in (
            (moves, "move of a minimum version", "moves of minimum versions"),
            (added, "extension", "extensions"),
        )
        if number
    ]
    count = f"{' and '.join(counts)} {'wait' if len(proposals) > 1 else 'waits'}"
    what = "proposals" if added else "moves of minimum versions"
    opening = f"These {what} are not open; each says what speaks against it.\n"
    last = {proposal.axis: proposal for proposal in proposals}
    sections = [
        section(proposal, cell_url, proposal is last[proposal.axis]) for proposal in proposals
    ]
    return Text(title=plain(f"{title}: {count}"), body="\n".join([opening, *sections]))


def section(
    proposal: Proposal,
    cell_url: Callable[[str], str] | None = None,
    with_arithmetic: bool = True,
) -> str:
    """Return one proposal as a section of Markdown; several of one axis share their arithmetic but
    for its end.
    """
    what = _headline(proposal)
    when = ", at once" if proposal.is_open else ""
    when = (
        when if proposal.earliest is None else f", with the first release after {proposal.earliest}"
    )
    parts = [
        f"### {inline(what)}\n",
        f"For {inline(proposal.release)}{when}: {inline(_joined(proposal.grounds), limit=600)}.\n",
        *_bullets(
            "What speaks against it", (objection.because for objection in proposal.objections)
        ),
        *_bullets(
            "Who is affected",
            map(affected_words, (*proposal.lost, *proposal.gained)),
            _effect(proposal),
        ),
        *_table(proposal.evidence, cell_url),
        *_bullets("Cells that must run first", proposal.needs, as_code=True),
        *_bullets(
            "The arithmetic", proposal.arithmetic if with_arithmetic else proposal.arithmetic[-1:]
        ),
    ]
    return "\n".join(parts)


def _headline(proposal: Proposal) -> str:
    if proposal.kind == "extend":
        return (
            f"Extend the matrix from {proposal.package} {proposal.current} to {proposal.proposed}"
        )
    return (
        f"{VERBS[proposal.kind]} the minimum {proposal.package} from {proposal.current} to"
        f" {proposal.proposed}"
    )


def _moves(proposals: Sequence[Proposal]) -> list[Proposal]:
    return [proposal for proposal in proposals if proposal.kind != "extend"]


def _extensions(proposals: Sequence[Proposal]) -> list[Proposal]:
    return [proposal for proposal in proposals if proposal.kind == "extend"]


def _effect(proposal: Proposal) -> str:
    match proposal.kind:
        case "lower":
            return "Users gain:"
        case "extend":
            return "The matrix then asks about:"
        case _:
            return "A release with the new minimum no longer covers:"


def _bullets(
    heading: str, lines: Iterable[str], opening: str = "", as_code: bool = False
) -> list[str]:
    items = [f"- {code(line) if as_code else inline(line, limit=700)}" for line in lines]
    if not items:
        return []
    return [f"#### {heading}\n", *([f"{opening}\n"] if opening else []), *items, ""]


def _table(evidence: Sequence[CellEvidence], cell_url: Callable[[str], str] | None) -> list[str]:
    if not evidence:
        return []
    head = [
        "| cell | verdict | newest run that counts | days of such runs | what it says |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = [_line(cell, cell_url) for cell in evidence[:MOST_ROWS]]
    more = (
        [f"\n... and {len(evidence) - MOST_ROWS} more cells."] if len(evidence) > MOST_ROWS else []
    )
    return ["#### Test results\n", *head, *rows, *more, ""]


def _line(evidence: CellEvidence, cell_url: Callable[[str], str] | None) -> str:
    cell = link(evidence.cell, cell_url(evidence.cell)) if cell_url else code(evidence.cell)
    verdict = evidence.verdict
    result = verdict if evidence.outcome in ("", "pass") else f"{verdict}: {evidence.outcome}"
    days = ", ".join(map(str, evidence.days)) or "none"
    is_plain = evidence.supports or evidence.latest is None
    says = evidence.word if is_plain else f"{evidence.word}: {evidence.because}"
    newest = evidence.latest or "none"
    return f"| {cell} | {inline(result)} | {newest} | {days} | {inline(says, limit=400)} |"


def _joined(lines: Sequence[str]) -> str:
    return "; ".join(lines)
