"""The `policy` room's extensions: new Pythons, and new series of packages, that a matrix does not
ask about yet, each with what a first run of it came to.

One run of one cell with the newest release opens such a proposal, whole or of the core: it asks
whether the version is worth a place in the matrix, and not for the proof that a floor needs. What
the plan rules out waits with its reason, and what no run answered with the command that does.
"""

import datetime
from collections.abc import Iterator

import msgspec
from packaging.version import Version

from compat.declare.matrix import Axis, InterpreterAxis
from compat.plan.extension import Extension, extensions
from compat.policy.arithmetic import package_and_version
from compat.policy.as_of import AsOf, package_words
from compat.policy.cell_evidence import cell_evidence
from compat.policy.eol import PYTHONS
from compat.policy.evaluation import evaluation_on
from compat.policy.proposal import Affected, CellEvidence, Objection, Proposal
from compat.results.answer import Answer
from compat.results.representative import representative
from compat.results.snapshot import Snapshot


def proposed_extensions(snapshot: Snapshot, day: datetime.date) -> tuple[Proposal, ...]:
    # Return what the axes of a matrix could be extended by on that day, open and objected ones, in
    # the order of the axes; none without a policy or a release, and none for a day in the past.
    evaluation = evaluation_on(snapshot, day)
    if evaluation is None or evaluation.as_of.newest is None or evaluation.as_of.looks_back:
        return ()
    as_of = evaluation.as_of
    return tuple(
        _proposal(as_of, extension, release_words)
        for extension in extensions(snapshot.feasibility)
        if (release_words := _release_words(as_of, extension)) is not None
    )


def _release_words(as_of: AsOf, extension: Extension) -> str | None:
    if isinstance(extension.axis, InterpreterAxis):
        series = next((s for s in PYTHONS if s.version == extension.version), None)
        if series is None or series.released > as_of.day:
            return None
        verb = "was due" if series.planned else "came out"
        return f"{verb} on {series.released} ({series.source})"
    select = extension.axis.select
    releases = [
        release
        for release in as_of.snapshot.catalogue.newer_than(extension.axis)
        if select.series(release.version) == extension.version
    ]
    uploaded = min((r.uploaded.date() for r in releases if r.uploaded is not None), default=None)
    if uploaded is None:
        return "came out on a day that the index does not give"
    words = f"came out on {uploaded} (upload time on the package index)"
    return words if uploaded <= as_of.day else None


def _proposal(as_of: AsOf, extension: Extension, release_words: str) -> Proposal:
    axis, version = extension.axis, extension.version
    what = package_and_version(axis, version)
    newest = f"the newest that the matrix asks about is {extension.newest}"
    evidence = tuple(_evidence(as_of, extension))
    objections = tuple(_objections(as_of, extension, evidence))
    because = f"So the matrix could be extended to {version} if nothing spoke against it."
    if not objections:
        extent = "the core of the suite" if evidence[0].evidence == "smoke" else "the whole suite"
        because = f"So the matrix can be extended to {version}: a run of {extent} supports it."
    return Proposal(
        matrix=as_of.matrix.name,
        axis=axis.name,
        package=package_words(axis),
        kind="extend",
        release=as_of.called,
        current=extension.newest,
        proposed=version,
        earliest=None,
        grounds=(f"{what} {release_words}, and {newest}",),
        objections=objections,
        arithmetic=(because,),
        evidence=evidence,
        gained=(
            Affected(
                axis=axis.name,
                package=package_words(axis),
                versions=tuple(_taken_in(as_of, axis, version)),
            ),
        ),
        needs=_needs(extension, objections),
    )


def _taken_in(as_of: AsOf, axis: Axis, version: Version) -> list[Version]:
    if isinstance(axis, InterpreterAxis):
        return [version]
    releases = as_of.snapshot.catalogue.newer_than(axis)
    return sorted({axis.select.series(release.version) for release in releases})


def _evidence(as_of: AsOf, extension: Extension) -> Iterator[CellEvidence]:
    # What is known of the cells of the newest release with the version that were run, the best of
    # them first.
    assert as_of.newest is not None, "without a release nothing is extended"
    subject = as_of.matrix.subject
    tried = [
        entry
        for entry in as_of.snapshot.known_on(extension.axis.name, extension.version)
        if entry.cell.on(subject).version == as_of.newest[0] and entry.latest is not None
    ]
    best = representative(tried) if tried else None
    for entry in sorted(tried, key=lambda entry: entry is not best):
        yield _known(entry, as_of)


def _known(entry: Answer, as_of: AsOf) -> CellEvidence:
    known = cell_evidence(entry, as_of)
    works = known.verdict in ("works", "partial") and not known.stale
    days = () if known.latest is None else (known.latest,)
    return msgspec.structs.replace(known, supports=works, days=known.days or days)


def _objections(
    as_of: AsOf, extension: Extension, evidence: tuple[CellEvidence, ...]
) -> Iterator[Objection]:
    if any(known.supports for known in evidence):
        return
    for known in evidence[:1]:
        cell, because = known.cell, known.because
        if known.stale or known.verdict == "unknown":
            yield Objection(
                against="stale" if known.stale else "missing",
                because=f"{cell} must run again: {because}",
                cells=(cell,),
            )
        elif known.verdict == "flaky":
            yield Objection(against="flaky", because=f"{cell} is flaky: {because}", cells=(cell,))
        else:
            words = f"{cell} does not work: {because}"
            yield Objection(against="red", because=words, cells=(cell,))
    if not evidence and extension.trial is not None:
        cell = extension.trial.id
        command = f"`compat run {as_of.matrix.name} {cell}` makes the first"
        because = f"no run of {cell} counts yet; {command}"
        yield Objection(against="missing", because=because, cells=(cell,))
    elif not evidence:
        yield Objection(against="missing", because=_ruled_out(as_of, extension))


def _ruled_out(as_of: AsOf, extension: Extension) -> str:
    what = f"{as_of.called} with {package_and_version(extension.axis, extension.version)}"
    reasons = "; ".join(
        f"{'with changed pins' if recipe == 'relaxed' else 'as published'}, such as {cell}:"
        f" {obstacle.because}"
        for recipe, (cell, obstacle) in extension.obstacles.items()
    )
    return f"there is nothing to extend yet: the plan rules out every cell of {what}; {reasons}"


def _needs(extension: Extension, objections: tuple[Objection, ...]) -> tuple[str, ...]:
    asked = [objection for objection in objections if objection.against != "red"]
    cells = [cell for objection in asked for cell in objection.cells]
    return tuple(cells[:1]) if objections else ()
