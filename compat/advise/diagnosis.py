"""The `advise` room's diagnosis of an environment: whether a run proves it, what is known against
it, and the smallest change to something that is proven.

It rests on committed knowledge alone: runs, published metadata and the rules for messages. Nothing
is asked of an index, and nothing is run.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.message import Message
from compat.advise.named_builds import short_names, stand_ins
from compat.advise.package_list import PackageList
from compat.advise.problem import (
    KnownFacts,
    Problem,
    findings_about,
    problems_of_blames,
    problems_of_builds,
    problems_of_fallbacks,
    problems_of_guards,
    problems_of_message,
    problems_of_metadata,
    problems_of_runs,
    refutation,
    tried_versions,
)
from compat.advise.tested_set import (
    DifferingPin,
    TestedSet,
    are_alike,
    differing_pins,
    is_same,
    nearest_set,
    tested_sets,
)
from compat.advise.violation import Fallback, PublishedRules, series_of
from compat.declare.matrix import Matrix
from compat.plan.requirements import requirement_of
from compat.results.answer import Answer, verdict_clause
from compat.run.outcome import Failed
from compat.value import Value

State = Literal["proven", "unproven", "broken"]


class Neighbour(Value, frozen=True):
    """The nearest tested set that works: its cell, and what an environment has otherwise."""

    entry: Answer
    differences: tuple[DifferingPin, ...]
    is_other_python: bool


class Diagnosis(Value, frozen=True):
    """What is known of an environment, by one matrix.

    `proof` is the cell whose run proves it; `problems` are what is known against it, the root
    first; `notes` are what is worth a look. `pins` are the fewest exact versions that mend what is
    known; empty where no version alone does.
    """

    state: State
    proof: Answer | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    pins: tuple[tuple[str, Version], ...]
    neighbour: Neighbour | None


def diagnosis(
    known: KnownFacts, packages: PackageList, message: Message | None = None
) -> Diagnosis:
    matrix = known.snapshot.matrix
    sets = tested_sets(known.snapshot, known.pins)
    rules = PublishedRules(matrix, known.snapshot.catalogue, packages)
    proof = next((s for s in sets if s.is_proof and is_same(s, packages, matrix)), None)
    tried = {} if message is None else tried_versions(message, rules, matrix)
    fallbacks = () if proof else tuple(rules.fallbacks(tried))
    against = (
        *(() if proof else problems_of_runs(known, sets, packages)),
        *(() if proof else problems_of_blames(known, packages)),
        *problems_of_fallbacks(fallbacks),
        *(() if proof else problems_of_guards(known, packages)),
        *(() if message is None else problems_of_message(known, message, rules, packages)),
        *(() if proof else problems_of_builds(known, packages)),
        *(() if proof else problems_of_metadata(rules, sets, packages, matrix)),
    )
    needs = [need for problem in against if (need := requirement_of(problem.needs)) is not None]
    # The problems, of those of one cause about the same package the first; one that names none only
    # where no other of its cause does.
    placed = {problem.cause for problem in against if problem.packages}
    first: dict[tuple[str, ...], Problem] = {}
    for problem in against:
        if problem.packages or problem.cause not in placed:
            first.setdefault((problem.cause, *problem.packages[:1]), problem)
    problems = tuple(first.values())
    wanted = {**tried, **packages.versions}
    for fallback in fallbacks:
        # What a resolver went back to is not what was wanted.
        if fallback.is_outside:
            wanted.pop(canonicalize_name(fallback.package), None)
    near = nearest_set(
        sets,
        msgspec.structs.replace(packages, versions=wanted),
        known.snapshot,
        needs,
        {problem.capability for problem in problems} - {""},
    )
    return Diagnosis(
        state="broken" if problems else "proven" if proof else "unproven",
        proof=None if proof is None else proof.entry,
        problems=problems,
        notes=(
            *_notes(known, fallbacks, packages, message),
            *(() if proof or problems else _beside(known, sets, packages)),
        ),
        pins=tuple(_pins(problems, needs, near, packages)),
        neighbour=None if near is None else _neighbour(near, packages, matrix),
    )


def touches(matrix: Matrix, packages: PackageList, message: Message | None) -> bool:
    """Return whether an environment has a matrix's subject, also as a build under another name, or
    a message speaks of it.
    """
    package = matrix.subject_axis.package
    names = (package, matrix.suite.module or package)
    installed = {
        *packages.versions,
        *packages.ranges,
        *stand_ins(packages.versions, short_names(matrix)),
    }
    return canonicalize_name(package) in installed or (
        message is not None and any(map(message.names, names))
    )


def _notes(
    known: KnownFacts, fallbacks: Sequence[Fallback], packages: PackageList, message: Message | None
) -> Iterator[str]:
    matrix = known.snapshot.matrix
    if message is not None:
        refuted = (refutation(f, packages) for f in findings_about(known, message))
        yield from dict.fromkeys(filter(None, refuted))
    for fallback in fallbacks:
        newest = f"the newest that this Python can have is {fallback.newest}"
        if packages.python is None:
            newest = f"the newest is {fallback.newest}"
        if fallback.is_outside and not fallback.refusal:
            yield (
                f"{fallback.package} {fallback.version} is from before {fallback.first}, the first"
                f" release that this matrix looks at; {newest}."
            )
        elif fallback.years:
            yield (
                f"{fallback.package} {fallback.version} is {fallback.years} years older than"
                f" {fallback.newest}; {newest}. Did pip or uv go back to it?"
            )
    instead = stand_ins(packages.versions, short_names(matrix))
    for axis in matrix.packages:
        version = packages.versions.get(axis.normalised_name)
        last = known.snapshot.catalogue.of(axis).releases[-1].version
        build = instead.get(axis.normalised_name)
        if build is not None:
            yield f"{build} stands in the place of {axis.package}; no release was tested with it."
        elif axis.normalised_name in packages.ranges:
            wish = packages.ranges[axis.normalised_name]
            yield f"{axis.package}{wish} is asked for; the list has no exact version of it."
        elif version is None and packages.versions:
            yield f"{axis.package} is not in the list."
        elif version is not None and version > last:
            yield f"{axis.package} {version} is newer than any that this matrix knows ({last})."
    for finding in message.findings if message is not None else ():
        if not finding.is_fault:
            yield finding.sentence


def _beside(known: KnownFacts, sets: Sequence[TestedSet], packages: PackageList) -> Iterator[str]:
    """What a run of the same Python and the same versions on each axis showed, with other packages
    beside them.
    """
    matrix = known.snapshot.matrix
    axes = [axis.normalised_name for axis in matrix.packages]
    alike = [each for each in sets if are_alike(each, packages, matrix, axes)]
    if alike:
        entry = min(alike, key=lambda one: len(differing_pins(one, packages))).entry
        outcome = entry.outcome
        why = f" {known.words(outcome)}" if isinstance(outcome, Failed) else ""
        yield (
            f"{entry.cell.id}, the same versions with other packages beside them,"
            f" {verdict_clause(entry)}.{why}"
        )


def _pins(
    problems: Sequence[Problem],
    needs: Sequence[Requirement],
    near: TestedSet | None,
    packages: PackageList,
) -> Iterator[tuple[str, Version]]:
    """The version of each package at fault that the nearest tested set has, where another version
    mends it and all that is known.
    """
    if near is None or not all(problem.is_mended_by_version for problem in problems):
        return
    for name in dict.fromkeys(problem.packages[0] for problem in problems):
        version = near.pins.get(name)
        if version is None or not all(
            need.specifier.contains(version, prereleases=True)
            for need in needs
            if need.name == name
        ):
            return
        if packages.versions.get(name) != version:
            yield name, version


def _neighbour(near: TestedSet, packages: PackageList, matrix: Matrix) -> Neighbour:
    series = near.entry.cell.on(matrix.interpreters.name).version
    return Neighbour(
        entry=near.entry,
        differences=tuple(differing_pins(near, packages)),
        is_other_python=packages.python is not None and series_of(packages.python) != series,
    )
