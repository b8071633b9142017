"""The command about what to install: advise."""

from typing import Any

from compat.advise.answer import Advisor, Card, Recommended, Unproven, tested
from compat.advise.commands import Whereabouts, commands
from compat.advise.proof import tested_capabilities
from compat.advise.request import Goal, label, request_of
from compat.cli.arguments import Exit, argument, given, option
from compat.cli.installs import advised_plain
from compat.cli.options import MATRIX_NAME, OTHER_PLATFORM, workspace_of
from compat.cli.output import envelope, note, say
from compat.cli.verdicts import verdict_words
from compat.declare.platforms import PlatformName
from compat.lock.lock_text import LocksByCell
from compat.site.lock_facts import LockFacts, lock_facts
from compat.site.wording import failing_words, listed
from compat.workspace import Workspace


def advise_command(
    matrix: str = MATRIX_NAME,
    words: list[str] | None = argument(
        "What you have or must keep: python==3.10 'name<2.14'.", metavar="[REQUIREMENT]..."
    ),
    goal: Goal = option(
        "What counts first: fewest failures (best), the newest versions, the most days of "
        "runs (stable), the fewest changed pins (closest), none of them (published), the "
        "oldest versions (minimum).",
        default="best",
    ),
    need: list[str] | None = option("What must work; repeatable.", metavar="CAPABILITY"),
    platform: str = OTHER_PLATFORM,
) -> None:
    """Recommend a tested combination, with the command to install it.

    Asks no index.

    First come releases that are published for the versions and work for the most part. The best of
    them installs as published, then has the fewest failures of the combination, then the fewest
    changed pins, then the newest versions, then runs on the most days. With any goal no other
    combination is as good in all of these and better in one.

    Ends with 0 when what was asked for works: all of it, or with --need each capability that is
    needed; with 1 when the best works only in part, and what fails is said, or when nothing that
    fits is proven and the nearest is shown. --platform adds what is known of the release elsewhere,
    and ends with 1 where it does not install there.

    Examples: compat advise tff; compat advise tff python==3.10 'tf<2.14' --goal stable; compat
    advise tff --need import; compat advise tff tff==0.87.0 --platform macos-arm64
    """
    workspace = workspace_of(matrix)
    declared = (capability.id for capability in workspace.described)
    tested = tested_capabilities(workspace.snapshot)
    asked = request_of(
        words or (),
        workspace.matrix,
        sorted({*declared, *tested} - workspace.context.helpers),
        need or (),
        goal,
    )
    answer = advisor_of(workspace).answer(asked)
    lacking = _lacking(workspace, answer) if isinstance(answer, Recommended) else ""
    lines = advised_plain(workspace, asked)
    elsewhere, without = _elsewhere(workspace, answer, platform)
    if given.as_json:
        beside = {"plain": lines, "platforms": elsewhere, "not_on": without}
        envelope(_payload(workspace, answer) | beside)
    elif isinstance(answer, Recommended):
        _say_card(workspace, answer.best, answer.because)
        for alternative in answer.alternatives:
            proof = alternative.card.proof
            say("")
            say(f"or {_named(workspace, alternative.card)}")
            say(f"  {alternative.trade_off}")
            say(f"  {_evidence(workspace, alternative.card)}; {proof.id}")
    else:
        _explain(workspace, answer)
    if lines and not given.as_json:
        say("")
        say("a plain install of that release:")
        say(*lines, indent=2)
    if elsewhere and not given.as_json:
        from compat.cli.installs import say_elsewhere

        say("")
        say_elsewhere(elsewhere)
        if without and isinstance(answer, Recommended):
            _say_container(workspace, answer.best, without)
    if lacking:
        note(f"warning: {lacking}")
    raise Exit(0 if isinstance(answer, Recommended) and not lacking and not without else 1)


def _elsewhere(
    workspace: Workspace, answer: Recommended | Unproven, platform: str
) -> tuple[dict[PlatformName, list[str]], list[PlatformName]]:
    """What is known of the release on the platforms that an option names, and on which of them it
    does not install.
    """
    if not platform:
        return {}, []
    from compat.cli.installs import advised_elsewhere, platforms_named

    named = platforms_named(workspace, platform)
    best = answer.best.proof if isinstance(answer, Recommended) else None
    release = None if best is None else best.version(workspace.matrix.subject)
    return advised_elsewhere(workspace, answer.request, release, named)


def _say_container(workspace: Workspace, best: Card, without: list[PlatformName]) -> None:
    from compat.site.install_words import platform_title

    lines = commands(best.lock, _whereabouts(workspace, best), workspace.matrix)
    titles = listed([platform_title(name) for name in without])
    say(f"It does not install on {titles}. It is for {lines.platform}: run it in a container:")
    for line in lines.docker:
        print(f"    {line}")


def advisor_of(workspace: Workspace) -> Advisor:
    digests = workspace.lock_digests
    return Advisor(workspace.snapshot, LocksByCell(digests, workspace.lock), digests.versions)


def _lacking(workspace: Workspace, answer: Recommended) -> str:
    proof = answer.best.proof
    if proof.kind == "works" or answer.request.needs:
        return ""
    outcome = workspace.snapshot.by_id[proof.id].outcome
    verb = "fail" if proof.faults[1:] else "fails"
    what = f"{listed(proof.faults)} {verb}" if proof.faults else f"it came to {outcome}"
    return f"this works only in part: {what} (--need CAPABILITY asks for no more than you need)"


def _explain(workspace: Workspace, answer: Unproven) -> None:
    say("no tested combination matches:")
    say(*answer.in_the_way, indent=2)
    if answer.nearest is None:
        note(f"no combination of {workspace.name} is proven so far")
        return
    say(f"the nearest tested combination: {'; '.join(answer.changes)}")
    say("")
    _say_card(workspace, answer.nearest)


def _say_card(workspace: Workspace, card: Card, because: str = "") -> None:
    say(_named(workspace, card))
    if because:
        say(f"  {because}")
    say(f"  {_evidence(workspace, card)}; {card.proof.id}")
    if card.proof.score.words:
        say(f"  {card.proof.score.words}")
    if card.proof.fails:
        say(f"  Does not work: {', '.join(_failing(workspace, card))}")
    say(*(f"stale: {reason}" for reason in card.proof.stale), indent=2)
    say(*(f"caution: {caution}" for caution in card.cautions), indent=2)
    for requirement in card.lifted:
        say(f"  lifted: {requirement.sentence}")
        say(f"    {requirement.because}")
    if card.proof.cell.recipe != "fresh":
        say(f"  as published: {card.published.command}")
        say(f"    {card.published.sentence}")
    say(f"  {'; '.join(_facts(workspace, card).words)}")
    lines = commands(card.lock, _whereabouts(workspace, card), workspace.matrix)
    for tool, steps in (("uv", lines.uv), ("pip", lines.pip)):
        say(f"  with {tool}:")
        say(*steps, indent=4)


def _named(workspace: Workspace, card: Card) -> str:
    return ", ".join(
        f"{label(axis)} {card.proof.version(axis.name)}" for axis in workspace.snapshot.matrix.axes
    )


def _evidence(workspace: Workspace, card: Card) -> str:
    proof = card.proof
    words = verdict_words(workspace, proof.id)
    return f"{words}; {tested(proof)}, last on {proof.last}, isolation {proof.isolation}"


def _failing(workspace: Workspace, card: Card) -> tuple[str, ...]:
    titles = {capability.id: capability.title for capability in workspace.described}
    verdict = workspace.snapshot.by_id[card.proof.id]
    return failing_words(verdict, lambda name: titles.get(name, name))


def _whereabouts(workspace: Workspace, card: Card) -> Whereabouts:
    return Whereabouts(lock=f"matrices/{workspace.name}/locks/{card.proof.id}.txt")


def _payload(workspace: Workspace, answer: Recommended | Unproven) -> dict[str, Any]:
    """The answer as machines read it: the same keys whether or not something is proven."""
    best = answer.best if isinstance(answer, Recommended) else answer.nearest
    alternatives = answer.alternatives if isinstance(answer, Recommended) else ()
    unproven = isinstance(answer, Unproven)
    return {
        "matrix": workspace.snapshot.matrix.name,
        "request": {
            "wants": {want.axis.name: str(want.specifier) for want in answer.request.wants},
            "needs": answer.request.needs,
            "goal": answer.request.goal,
        },
        "proven": not unproven,
        "in_the_way": answer.in_the_way if isinstance(answer, Unproven) else (),
        "changes": answer.changes if isinstance(answer, Unproven) else (),
        "best": None if best is None else _card(workspace, best),
        "because": answer.because if isinstance(answer, Recommended) else "",
        "alternatives": [
            {**_card(workspace, alternative.card), "trade_off": alternative.trade_off}
            for alternative in alternatives
        ],
    }


def _card(workspace: Workspace, card: Card) -> dict[str, Any]:
    proof, lines = card.proof, commands(card.lock, _whereabouts(workspace, card), workspace.matrix)
    return {
        "id": proof.id,
        "recipe": proof.cell.recipe,
        "verdict": proof.kind,
        "coordinates": {
            coordinate.axis: coordinate.version for coordinate in proof.cell.coordinates
        },
        "versions": dict(proof.versions),
        "words": verdict_words(workspace, proof.id),
        "score": proof.score,
        "fails": proof.fails,
        "faults": proof.faults,
        "changed": proof.changed,
        "tested": proof.tested,
        "days": proof.days,
        "last": proof.last,
        "isolation": proof.isolation,
        "stale": proof.stale,
        "cautions": card.cautions,
        "lifted": [
            {
                "sentence": requirement.sentence,
                "rule": requirement.rule,
                "because": requirement.because,
            }
            for requirement in card.lifted
        ],
        "as_published": card.published,
        "facts": _facts(workspace, card),
        "commands": lines,
    }


def _facts(workspace: Workspace, card: Card) -> LockFacts:
    records = workspace.newest_records(card.proof.id, card.lock.digest)
    return lock_facts(card.lock, workspace.runs.get(card.proof.id, ()), records)
