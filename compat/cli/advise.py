"""The command that recommends a tested combination: `compat advise`."""

from typing import Any

from compat.advise.answer import (
    Advisor,
    Card,
    Recommended,
    requested_pins,
    tested,
    tested_capabilities,
)
from compat.advise.commands import SCOPED_SINCE, commands
from compat.advise.request import Goal, Request, label, request_of
from compat.cli.arguments import Exit, argument, given, option
from compat.cli.installs import advised_installs, platforms_named
from compat.cli.options import MATRIX_NAME, OTHER_PLATFORM, workspace_of
from compat.cli.output import envelope, fields, note, say
from compat.cli.verdicts import verdict_words
from compat.site.status import platform_title
from compat.site.wording import failing_words, listed, lock_facts
from compat.value import LazyMapping
from compat.workspace import Workspace


def advise_command(
    matrix: str = MATRIX_NAME,
    words: list[str] | None = argument(
        "Versions you need, such as python==3.10 'numpy<2'.", metavar="[REQUIREMENT]..."
    ),
    goal: Goal = option(
        "Preference: best (fewest failures), newest, stable (most test days), closest (fewest "
        "changed pins), published (no changed pins) or minimum (oldest).",
        default="best",
    ),
    need: list[str] | None = option("Required capability; repeatable.", metavar="CAPABILITY"),
    platform: str = OTHER_PLATFORM,
) -> None:
    """Recommend a tested combination, with the command to install it.

    Works offline. Considers published releases whose capabilities mostly pass. Prefers combinations
    that install as published, then fewest failures, fewest changed pins, newest versions, most test
    days. Exits 0 if the request works (with --need: each needed capability), 1 if the best works in
    part or nothing tested matches. --platform adds the result there and exits 1 if it does not
    install.

    Examples: compat advise tff; compat advise tff python==3.10 'tf<2.14' --goal stable; compat
    advise tff 'numpy<2'; compat advise tff --need import; compat advise tff tff==0.87.0 --platform
    macos-arm64
    """
    workspace = workspace_of(matrix)
    declared = (capability.id for capability in workspace.described)
    known = {*declared, *tested_capabilities(workspace.snapshot)} - workspace.context.helpers
    advisor = advisor_of(workspace)
    asked = request_of(
        words or (), workspace.matrix, sorted(known), need or (), goal, advisor.locked_names
    )
    answer = advisor.answer(asked)
    recommended = answer if isinstance(answer, Recommended) else None
    best = answer.best if isinstance(answer, Recommended) else answer.nearest
    lacking = ""
    if recommended and recommended.best.proof.kind != "works" and not asked.needs:
        faults = recommended.best.proof.failing_here
        came_to = str(recommended.best.proof.outcome)
        what = f"{listed(faults)} {'fail' if faults[1:] else 'fails'}" if faults else came_to
        hint = "--need CAPABILITY limits the request to what you need"
        lacking = f"this works only in part: {what} ({hint})"
    release = None
    if recommended is not None:
        release = recommended.best.proof.version(workspace.matrix.subject)
    named = platforms_named(workspace, platform) if platform else ()
    lines, elsewhere, without = advised_installs(workspace, asked, release, named)
    titles = listed([platform_title(name) for name in without])
    alternatives = recommended.alternatives if recommended else ()
    card = None if best is None else _card(workspace, best)
    document: dict[str, Any] = {
        "matrix": workspace.snapshot.matrix.name,
        "request": {
            "wants": {want.axis.name: str(want.specifier) for want in asked.wants},
            "packages": {name: str(specifier) for name, specifier in asked.packages},
            "needs": asked.needs,
            "goal": asked.goal,
        },
        "proven": recommended is not None,
        "in_the_way": getattr(answer, "in_the_way", ()),
        "changes": getattr(answer, "changes", ()),
        "best": card,
        "because": getattr(answer, "because", ""),
        "alternatives": [
            {**_card(workspace, other.card), "trade_off": other.trade_off}
            for other in (alternatives if given.as_json else ())
        ],
    }
    envelope(document | {"plain": lines, "platforms": elsewhere, "not_on": without})
    if recommended is None:
        say("no tested combination matches:")
        say(*document["in_the_way"], indent=2)
        if best is None:
            note(f"no combination of {workspace.name} is proven so far")
        else:
            say(f"the nearest tested combination: {'; '.join(document['changes'])}", "")
    elif without:
        say(f"It does not install on {titles}. In a container, this does:", "")
    if best is not None and card is not None:
        _say_card(workspace, best, asked, card, document["because"])
    for other in alternatives:
        say("", f"or {_named(workspace, other.card, asked)}")
        say(other.trade_off, _evidence(workspace, other.card), indent=2)
    if lines:
        say("", "a plain install of that release:")
        say(*lines, indent=2)
    if elsewhere:
        say("")
    for name, sentences in elsewhere.items():
        say(f"on {platform_title(name)}, where nothing was run:")
        say(*sentences, indent=2)
    if without and recommended and card is not None:
        say(f"A container of {card['commands'].platform} for {titles}:")
        say(*card["commands"].docker, indent=4)
    if lacking:
        note(f"warning: {lacking}")
    raise Exit(0 if recommended and not lacking and not without else 1)


def advisor_of(workspace: Workspace) -> Advisor:
    return Advisor(workspace.snapshot, LazyMapping(lambda: workspace.lock_digests, workspace.lock))


def _say_card(
    workspace: Workspace, card: Card, request: Request, document: dict[str, Any], because: str
) -> None:
    proof, lines = card.proof, document["commands"]
    say(_named(workspace, card, request))
    say(*filter(None, (because, _evidence(workspace, card), proof.score.words)), indent=2)
    if proof.fails:
        titles = {capability.id: capability.title for capability in workspace.described}
        failing = failing_words(proof, lambda name: titles.get(name, name))
        say(f"  Does not work: {', '.join(failing)}")
    say(*(f"stale: {reason}" for reason in proof.outdated), indent=2)
    say(*(f"caution: {caution}" for caution in card.cautions), indent=2)
    for requirement in card.lifted:
        say(f"  lifted: {requirement.sentence}", f"    {requirement.because}")
    if proof.cell.recipe != "fresh":
        say(f"  as published: {card.published.command}", f"    {card.published.sentence}")
    say(f"  {'; '.join(document['facts'].words)}")
    for tool, steps in (("uv", lines.uv), ("pip", lines.pip)):
        say(f"  with {tool}:")
        say(*steps, indent=4)
    if card.lifted:
        say(f"  in a project of uv {SCOPED_SINCE} or newer, first in its pyproject.toml:")
        say(*lines.pyproject, "", *lines.project, indent=4)


def _evidence(workspace: Workspace, card: Card) -> str:
    proof, words = card.proof, verdict_words(workspace, card.proof.id)
    return (
        f"{words}; {tested(proof)}, last on {proof.latest}, isolation {proof.isolation}; {proof.id}"
    )


def _named(workspace: Workspace, card: Card, request: Request) -> str:
    axes = workspace.snapshot.matrix.axes
    versions = {label(axis): card.proof.version(axis.name) for axis in axes}
    return ", ".join(f"{n} {v}" for n, v in (versions | requested_pins(card.lock, request)).items())


def _card(workspace: Workspace, card: Card) -> dict[str, Any]:
    proof, digest = card.proof, card.lock.digest
    records = workspace.newest_records(proof.id, digest)
    place = f"matrices/{workspace.name}/locks/{proof.id}.txt"
    return {
        "id": proof.id,
        "recipe": proof.cell.recipe,
        "verdict": proof.kind,
        "coordinates": {place.axis: place.version for place in proof.cell.coordinates},
        "versions": {c.axis: proof.version(c.axis) for c in proof.cell.coordinates},
        "words": verdict_words(workspace, proof.id),
        **fields(proof, "score fails changed tested days isolation"),
        "faults": proof.failing_here,
        "last": proof.latest,
        "stale": proof.outdated,
        "cautions": card.cautions,
        "lifted": card.lifted,
        "as_published": card.published,
        "facts": lock_facts(card.lock, workspace.runs.get(proof.id, ()), records),
        "commands": commands(card.lock, place, workspace.matrix, card.lifted),
    }
