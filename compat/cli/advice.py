"""The command about what to install: advise."""

from typing import Annotated, Any

import typer

from compat import pipeline
from compat.advise.answer import Advisor, Card, Recommended, Unproven
from compat.advise.commands import Whereabouts, commands
from compat.advise.compared import tested
from compat.advise.request import Goal, label, request_of
from compat.cli.output import envelope, note, say
from compat.cli.setting import Json, MatrixName, Root, Setting
from compat.cli.stand import Stand
from compat.site.wording import listed

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[REQUIREMENT]...", help="What you have or must keep: python==3.10 'name<2.14'."
    ),
]
Needs = Annotated[
    list[str] | None,
    typer.Option("--need", metavar="CAPABILITY", help="What must work; repeatable."),
]
GoalOption = Annotated[
    Goal,
    typer.Option(
        "--goal", help="The newest, those tested on the most days, or the oldest versions."
    ),
]


def advise_command(
    matrix: MatrixName,
    words: Words = None,
    goal: GoalOption = "newest",
    need: Needs = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Tell which proven combination to install, and how. Asks no index.

    Ends with 0 when what was asked for works: all of it, or with --need each capability that is
    needed; with 1 when the best works only in part, and what fails is said, or when nothing that
    fits is proven and the nearest is shown.

    Examples: compat advise tff; compat advise tff python==3.10 'tf<2.14' --goal stable; compat
    advise tff --need import
    """
    stand = Stand(Setting(matrix, root))
    asked = request_of(
        words or (), stand.setting.ask.matrix, _capabilities(stand), need or (), goal
    )
    answer = advisor_of(stand).answer(asked)
    lacking = _lacking(stand, answer) if isinstance(answer, Recommended) else ""
    if as_json:
        envelope(_told(stand, answer))
    elif isinstance(answer, Recommended):
        _recommend(stand, answer)
    else:
        _explain(stand, answer)
    if lacking:
        note(f"compat: {lacking}")
    raise typer.Exit(0 if isinstance(answer, Recommended) and not lacking else 1)


def advisor_of(stand: Stand) -> Advisor:
    """Return the advisor about where a matrix stands."""
    ids = [
        entry.cell.id for entry in stand.picture.known if entry.verdict.kind in ("works", "partial")
    ]
    paths = {cell: pipeline.lock_path(stand.setting.folder, cell) for cell in ids}
    return Advisor(
        stand.picture,
        {cell: pipeline.kept_lock(path) for cell, path in paths.items() if path.exists()},
    )


def _capabilities(stand: Stand) -> list[str]:
    seen = (one.id for entry in stand.picture.known for one in entry.verdict.capabilities)
    return sorted({*(one.id for one in stand.described), *seen} - stand.present.helpers)


def _recommend(stand: Stand, answer: Recommended) -> None:
    _say_card(stand, answer.best)
    for alternative in answer.alternatives:
        proof = alternative.card.proof
        say()
        say(f"or {_named(stand, alternative.card)}")
        say(f"  {alternative.trade_off}")
        say(f"  {_evidence(alternative.card)}; {proof.id}")


def _lacking(stand: Stand, answer: Recommended) -> str:
    """What is not as asked of the best combination; empty when what was asked for works."""
    proof = answer.best.proof
    if proof.kind == "works" or answer.request.needs:
        return ""
    outcome = stand.picture.by_id[proof.id].verdict.outcome
    verb = "fail" if proof.fails[1:] else "fails"
    what = f"{listed(proof.fails)} {verb}" if proof.fails else f"it came to {outcome}"
    return f"this works only in part: {what} (--need CAPABILITY asks for no more than you need)"


def _explain(stand: Stand, answer: Unproven) -> None:
    say("no tested combination matches:")
    for sentence in answer.in_the_way:
        say(f"  {sentence}")
    if answer.nearest is None:
        note(f"compat: no combination of {stand.setting.folder.name} is proven so far")
        return
    say(f"the nearest tested combination: {'; '.join(answer.changes)}")
    say()
    _say_card(stand, answer.nearest)


def _say_card(stand: Stand, card: Card) -> None:
    say(_named(stand, card))
    say(f"  {_evidence(card)}; {card.proof.id}")
    for reason in card.proof.stale:
        say(f"  stale: {reason}")
    for one in card.lifted:
        say(f"  lifted: {one.sentence}")
        say(f"    {one.because}")
    if card.proof.cell.recipe != "fresh":
        say(f"  as published: {card.published.command}")
        say(f"    {card.published.sentence}")
    lines = commands(card.lock, _whereabouts(stand, card))
    for tool, steps in (("uv", lines.uv), ("pip", lines.pip)):
        say(f"  with {tool}:")
        for step in steps:
            print(f"    {step}")


def _named(stand: Stand, card: Card) -> str:
    return ", ".join(
        f"{label(axis)} {card.proof.version(axis.name)}" for axis in stand.picture.matrix.axes
    )


def _evidence(card: Card) -> str:
    proof = card.proof
    verb = "these fail" if proof.fails[1:] else "this fails"
    failing = f", but {verb}: {', '.join(proof.fails)}" if proof.fails else ""
    kind = "works" if proof.kind == "works" else "works in part"
    return f"{kind}{failing}; {tested(proof)}, last on {proof.last}, isolation {proof.isolation}"


def _whereabouts(stand: Stand, card: Card) -> Whereabouts:
    return Whereabouts(lock=f"matrices/{stand.setting.folder.name}/locks/{card.proof.id}.txt")


def _told(stand: Stand, answer: Recommended | Unproven) -> dict[str, Any]:
    """The answer as machines read it: the same keys whether or not something is proven."""
    best = answer.best if isinstance(answer, Recommended) else answer.nearest
    alternatives = answer.alternatives if isinstance(answer, Recommended) else ()
    unproven = isinstance(answer, Unproven)
    return {
        "matrix": stand.picture.matrix.name,
        "request": {
            "wants": {want.axis.name: str(want.specifier) for want in answer.request.wants},
            "needs": answer.request.needs,
            "goal": answer.request.goal,
        },
        "proven": not unproven,
        "in_the_way": answer.in_the_way if isinstance(answer, Unproven) else (),
        "changes": answer.changes if isinstance(answer, Unproven) else (),
        "best": None if best is None else _card(stand, best),
        "alternatives": [
            {**_card(stand, one.card), "trade_off": one.trade_off} for one in alternatives
        ],
    }


def _card(stand: Stand, card: Card) -> dict[str, Any]:
    proof, lines = card.proof, commands(card.lock, _whereabouts(stand, card))
    return {
        "id": proof.id,
        "recipe": proof.cell.recipe,
        "verdict": proof.kind,
        "coordinates": {one.axis: one.version for one in proof.cell.coordinates},
        "versions": dict(proof.versions),
        "fails": proof.fails,
        "tested": proof.tested,
        "days": proof.days,
        "last": proof.last,
        "isolation": proof.isolation,
        "stale": proof.stale,
        "lifted": [
            {"sentence": one.sentence, "rule": one.rule, "because": one.because}
            for one in card.lifted
        ],
        "as_published": card.published,
        "commands": lines,
    }
