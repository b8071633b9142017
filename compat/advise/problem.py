"""The `advise` room's problems of an environment: what runs, published metadata, an index or a
message say against it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.doctor.infer import Finding
from compat.advise.message import Message, read_message, signs
from compat.advise.named_builds import base_of, lying_over_each_other, of_other_days, short_names
from compat.advise.package_list import PackageList
from compat.advise.tested_set import TestedSet, differing_pins, fails_alike, named_packages
from compat.advise.violation import Fallback, PublishedRules, Violation, series_of
from compat.declare.matrix import Matrix
from compat.lock.lock_text import locked_version, read_pins
from compat.plan.requirements import requirement_of
from compat.results.answer import Answer
from compat.results.learnt import KeptBlame
from compat.results.record import PYTHON, Record, involved
from compat.results.snapshot import Snapshot
from compat.run.outcome import Cause, Failed, Outcome, parse_outcome
from compat.value import Value


class ImportGuard(Value, frozen=True):
    """A release that asks for `requirement` when it is imported, as it said in the run of `cell`.

    `of` is its package, by normalised name.
    """

    of: str
    version: Version
    requirement: str
    cell: str


def is_guard(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.cause == "version-guard"


def refused_by(
    guards: Iterable[ImportGuard], packages: PackageList
) -> Iterator[tuple[ImportGuard, str, Version]]:
    """Yield the guards of installed releases that refuse an installed package, with its name and
    version.
    """
    for guard in guards:
        need = requirement_of(guard.requirement)
        installed = None if need is None else packages.versions.get(need.name)
        if (
            need is not None
            and installed is not None
            and packages.versions.get(guard.of) == guard.version
            and not need.specifier.contains(installed, prereleases=True)
        ):
            yield guard, need.name, installed


def _guards(record: Record) -> Iterator[ImportGuard]:
    versions: dict[str, str] = {
        canonicalize_name(pin.name): pin.version for pin in record.installed
    }
    for asks in read_message(record.log).requires:
        if not asks.is_check or asks.who not in versions:
            continue
        need = requirement_of(f"{asks.what}{asks.range}")
        if need is not None:
            yield ImportGuard(
                of=asks.who,
                version=Version(versions[asks.who]),
                requirement=str(need),
                cell=record.cell,
            )


# Where a problem is known from: a run, published metadata, a release that only a resolver chooses
# that finds no other, the index as it is now, or a message that was pasted.
Ground = Literal["run", "metadata", "fallback", "index", "message"]
# Causes that one other version of the package at fault mends; of the others a resolver, an
# interpreter or code is in the way.
_MENDED_BY_VERSION: frozenset[Cause] = frozenset(
    ("conflict", "version-guard", "binary-incompatible", "missing-module")
)


class Problem(Value, frozen=True):
    """Something that is known against an environment.

    `packages` are at fault, the first most, by normalised name, `python` for the interpreter.
    `because` and `link` are the declared explanation, where there is one. `needs` is a requirement
    that would mend it, and `capability` what fails; empty where none is known.
    """

    cause: Cause
    packages: tuple[str, ...]
    sentence: str
    ground: Ground
    because: str = ""
    link: str = ""
    needs: str = ""
    capability: str = ""
    is_mended_by_version: bool = False


class KnownFacts(Value, frozen=True):
    """What is known of a matrix: its snapshot, and the pins of each lock, by cell. `words` says
    what an outcome means; `guards` are what releases were seen to ask for when imported, `blames`
    what releases were seen to break.
    """

    snapshot: Snapshot
    pins: Mapping[str, dict[str, Version]]
    words: Callable[[Outcome], str]
    guards: tuple[ImportGuard, ...] = ()
    blames: tuple[KeptBlame, ...] = ()


def problems_of_runs(
    known: KnownFacts, sets: Sequence[TestedSet], packages: PackageList
) -> Iterator[Problem]:
    """What failed where it was run with the same Python and the same packages in question."""
    matrix = known.snapshot.matrix
    red = [tested_set for tested_set in sets if fails_alike(tested_set, packages, matrix)]
    if red:
        entry = min(red, key=lambda alike: len(differing_pins(alike, packages))).entry
        yield _recorded(known, entry, f"tested as {entry.cell.id} on {entry.latest}: ")


def problems_of_blames(known: KnownFacts, packages: PackageList) -> Iterator[Problem]:
    for blame in known.blames:
        if packages.python is None or not blame.includes(packages.python, packages.versions):
            continue
        outcome = parse_outcome(blame.failed)
        assert isinstance(outcome, Failed), "what is blamed has failed"
        names = " and ".join(f"{each.package} {each.fails}" for each in blame.packages)
        first = blame.packages[0]
        is_newer = Version(first.fails) > Version(first.works)
        yield Problem(
            cause=outcome.cause,
            packages=tuple(each.package for each in blame.packages),
            sentence=(
                f"broken by {names}, as runs showed on {blame.on}; {first.package} {first.works}"
                f" works: {known.words(outcome)}"
            ),
            ground="run",
            needs=f"{first.package}{f'<{first.fails}' if is_newer else f'>={first.works}'}",
            is_mended_by_version=True,
        )


def _recorded(known: KnownFacts, entry: Answer, where: str) -> Problem:
    outcome = entry.outcome
    assert isinstance(outcome, Failed), "what is red has failed"
    issue = known.snapshot.explained(entry)
    spoken_of = involved(outcome, known.pins.get(entry.cell.id, {}), {})
    needs = ""
    if issue is not None:
        python = known.snapshot.matrix.interpreters.name
        conditions = dict(issue.when.as_table())
        # An explanation that holds below a version tells what mends it.
        needs = f"python{_opposite(conditions.get(python, ''))}".removesuffix(PYTHON)
    return Problem(
        cause=outcome.cause,
        packages=(PYTHON, *spoken_of) if needs else spoken_of,
        sentence=f"{where}{known.words(outcome)}",
        ground="run",
        because="" if issue is None else issue.because,
        link="" if issue is None else issue.link or "",
        needs=needs,
        capability=outcome.subject if outcome.stage == "test" else "",
    )


def _opposite(condition: str) -> str:
    """The specifier that excludes all of a simple one: `>=3.9` for `<3.9`."""
    for operator, other in (("<=", ">"), (">=", "<"), ("<", ">="), (">", "<=")):
        if condition.startswith(operator) and "," not in condition:
            return f"{other}{condition.removeprefix(operator)}"
    return ""


def problems_of_fallbacks(fallbacks: Sequence[Fallback]) -> Iterator[Problem]:
    for fallback in fallbacks:
        if fallback.refusal:
            yield Problem(
                cause="conflict",
                packages=(canonicalize_name(fallback.package),),
                sentence=(
                    f"{fallback.package} {fallback.version} is older than {fallback.first}, the"
                    " first release that this matrix looks at, and no later one accepts what is"
                    f" installed beside it: {fallback.refusal}. pip or uv may have fallen back to"
                    " it."
                ),
                ground="fallback",
                needs=f"{fallback.package}>={fallback.first}",
            )


def problems_of_message(
    known: KnownFacts, message: Message, rules: PublishedRules, packages: PackageList
) -> Iterator[Problem]:
    """Published causes whose signs the message shows, each by the run that is most like what is
    installed, then what the rules find in it. A run of another version of what the failure names
    says nothing.
    """

    def likeness(entry: Answer) -> int:
        pins = known.pins.get(entry.cell.id, {})
        return sum(packages.versions.get(name) == version for name, version in pins.items())

    def is_other(entry: Answer, outcome: Failed) -> bool:
        pins = known.pins.get(entry.cell.id, {})
        named = named_packages(outcome) & pins.keys() & packages.versions.keys()
        return any(packages.versions[name] != pins[name] for name in named)

    matrix = known.snapshot.matrix
    # In a list without the subject, what is not said of the subject is another package's failure.
    subject, listed = str(matrix.subject_axis.normalised_name), packages.versions
    concerns = not listed or subject in listed or _speaks_of_subject(known, message)
    shown: dict[str, Answer] = {}
    for entry in sorted(known.snapshot.known if concerns else (), key=likeness, reverse=True):
        outcome = entry.outcome
        if not isinstance(outcome, Failed) or not message.shows(signs(outcome)):
            continue
        if not is_other(entry, outcome):
            shown.setdefault(str(msgspec.structs.replace(outcome, at="")), entry)
    for entry in list(shown.values())[:2]:
        yield _recorded(known, entry, f"known from a run of {entry.cell.id}: ")
    for finding in findings_about(known, message):
        if not refutation(finding, packages):
            yield _found(finding, known.snapshot.matrix, rules)


def _speaks_of_subject(known: KnownFacts, message: Message) -> bool:
    matrix = known.snapshot.matrix
    return any(map(message.names, (matrix.subject_axis.package, matrix.suite.module or "-")))


def findings_about(known: KnownFacts, message: Message) -> Iterator[Finding]:
    """What the doctor finds in a message that is about a matrix, under the names that it knows: the
    message speaks of its subject, or the matrix knows a package in question.
    """
    speaks = _speaks_of_subject(known, message)
    is_known = _recogniser(known)
    # Programs import its subjects by their short names; inner modules are called `demo_core`.
    matrix = known.snapshot.matrix
    names, short = _names(known), short_names(matrix)
    subject = str(matrix.subject_axis.normalised_name)
    # The subject's module may have another name than its package.
    modules: dict[str, str] = {canonicalize_name(matrix.suite.module or subject): subject}

    def full(name: str) -> str:
        base = short.get(name, name.removesuffix("-core"))
        return modules.get(name, base if name not in names and base in names else name)

    for finding in message.findings:
        placed = msgspec.structs.replace(
            finding, packages=tuple(dict.fromkeys(map(full, finding.packages)))
        )
        if finding.is_fault and (speaks or any(map(is_known, placed.packages))):
            yield placed


def refutation(finding: Finding, packages: PackageList) -> str:
    """Why a finding cannot be the cause: what would mend it is installed; else empty."""
    need = requirement_of(finding.needs)
    # What a resolver says is about what it was asked for, not about what is installed.
    if need is None or finding.cause in ("conflict", "no-artifact", "build"):
        return ""
    is_python = need.name == PYTHON
    installed = packages.python if is_python else packages.versions.get(need.name)
    if installed is None or not need.specifier.contains(installed, prereleases=True):
        return ""
    name = "Python" if is_python else need.name
    return (
        f"Such a message mostly means that {name}{need.specifier} is needed. {name} {installed} is"
        " installed, so its cause is another one."
    )


def _recogniser(known: KnownFacts) -> Callable[[str], bool]:
    matrix = known.snapshot.matrix
    names = _names(known) | {canonicalize_name(matrix.suite.module or PYTHON)}
    short = short_names(matrix)
    return lambda name: name in names or base_of(name, short) in names


def problems_of_builds(known: KnownFacts, packages: PackageList) -> Iterator[Problem]:
    """Yield builds of one package that lie over each other, and nightly builds that are of another
    time than the subject's.
    """
    subject = str(known.snapshot.matrix.subject_axis.normalised_name)
    short = short_names(known.snapshot.matrix)
    strangers = of_other_days(subject, packages.versions, short)
    if strangers:
        nightly, *others = strangers
        yield Problem(
            cause="conflict",
            packages=(subject, *(build.name for build in others)),
            sentence=(
                f"{nightly} is a nightly build beside nightly builds of other weeks"
                f" ({', '.join(map(str, others[:3]))}): such builds are made for those of their own"
                " day."
            ),
            ground="metadata",
        )
    for base, builds in lying_over_each_other(packages.versions, short, _names(known)):
        yield Problem(
            cause="conflict",
            packages=(base, *(build.name for build in builds if build.name != base)),
            sentence=(
                f"{' and '.join(map(str, builds))} are installed side by side: they are builds of"
                " one package and hold the same files, so that parts of both are mixed."
            ),
            ground="metadata",
        )


def problems_of_guards(known: KnownFacts, packages: PackageList) -> Iterator[Problem]:
    for guard, name, installed in refused_by(known.guards, packages):
        yield Problem(
            cause="version-guard",
            packages=(name, guard.of),
            sentence=(
                f"{guard.of} {guard.version} requires {guard.requirement} when it is imported, as a"
                f" run of {guard.cell} showed, and {name} {installed} is installed."
            ),
            ground="run",
            needs=guard.requirement,
            is_mended_by_version=True,
        )


def _names(known: KnownFacts) -> frozenset[str]:
    pinned = {name for pins in known.pins.values() for name in pins}
    catalogue = known.snapshot.catalogue
    required = {required.package.name for required in catalogue.required}
    return frozenset({PYTHON, *pinned, *required, *(p.name for p in catalogue.packages)})


def _found(finding: Finding, matrix: Matrix, rules: PublishedRules) -> Problem:
    subject = str(matrix.subject_axis.normalised_name)
    package = finding.packages[0] if finding.packages else ""
    gone = _gone(finding, rules) if finding.cause == "no-artifact" else ""
    is_of_files = finding.cause in ("no-artifact", "build")
    return Problem(
        cause=finding.cause,
        packages=finding.packages,
        sentence=f"{finding.sentence} {gone}".strip(),
        ground="index" if gone else "message",
        # What cannot be had is no need: a set without it is looked for.
        needs="" if is_of_files else finding.needs,
        is_mended_by_version=bool(finding.needs)
        and package not in (PYTHON, subject)
        and not is_of_files,
    )


def _gone(finding: Finding, rules: PublishedRules) -> str:
    need = requirement_of(finding.absent)
    if need is None or not rules.covers(need):
        return ""
    fitting = [
        release
        for version, release in rules.releases[need.name].items()
        if need.specifier.contains(version, prereleases=True)
    ]
    if not fitting:
        return f"The index has no {finding.absent} any more."
    if rules.python is not None and rules.has_file(fitting[-1]):
        return (
            f"The index has it for {rules.platform} on this Python: this machine is of another"
            " platform, or its pip is too old."
        )
    return ""


def problems_of_metadata(
    rules: PublishedRules, sets: Sequence[TestedSet], packages: PackageList, matrix: Matrix
) -> Iterator[Problem]:
    """Published requirements that are not met, but for those that a tested set with the same
    coordinates breaks alike and works.
    """
    for violation in rules.violations():
        if any(
            tested_set.is_proof and _breaks_alike(tested_set, violation, packages, matrix)
            for tested_set in sets
        ):
            continue
        needs = (
            "" if violation.cause == "no-artifact" else violation.package + violation.requirement
        )
        yield Problem(
            cause=violation.cause,
            packages=(violation.package, violation.of),
            sentence=violation.sentence,
            ground="metadata",
            needs=needs,
            is_mended_by_version=violation.cause in _MENDED_BY_VERSION,
        )


def _breaks_alike(
    tested_set: TestedSet, violation: Violation, packages: PackageList, matrix: Matrix
) -> bool:
    cell = tested_set.entry.cell
    if tested_set.pins.get(violation.of) != violation.version or any(
        (version := packages.versions.get(axis.normalised_name)) is not None
        and axis.select.coordinate(version) != cell.on(axis.name).version
        for axis in matrix.packages
    ):
        return False
    if violation.package == PYTHON:
        series = cell.on(matrix.interpreters.name).version
        return packages.python is not None and series_of(packages.python) == series
    return tested_set.pins.get(violation.package) == violation.installed


def tried_versions(message: Message, rules: PublishedRules, matrix: Matrix) -> dict[str, Version]:
    """The versions of the axes' packages that a message mentions; of a subject that it names
    without a version, the newest that asks what pip was getting for it.
    """
    names = {axis.normalised_name for axis in matrix.packages}
    mentioned = {name: v for name, v in message.versions.items() if name in names}
    subject = matrix.subject_axis.normalised_name
    asked = {
        (need.name, need.specifier)
        for asks in message.requires
        if asks.who == subject and (need := requirement_of(f"{asks.what}{asks.range}")) is not None
    }
    if subject not in mentioned and asked:
        fitting = [
            version
            for version, release in rules.releases.get(subject, {}).items()
            if release.published is not None
            and asked
            <= {
                (canonicalize_name(need.name), need.specifier)
                for text in release.published.requires_dist
                if (need := requirement_of(text)) is not None
            }
        ]
        mentioned |= {subject: fitting[-1]} if fitting else {}
    return mentioned


class KnownFiles(NamedTuple):
    """The pins of each lock, by its cell, and what releases were seen to ask for when imported."""

    pins: dict[str, dict[str, Version]]
    guards: tuple[ImportGuard, ...]


class _Texts(Value, frozen=True, array_like=True):
    """The same as texts."""

    pins: dict[str, dict[str, str]]
    guards: tuple[tuple[str, str, str, str], ...]


def files_of_known(
    known: Snapshot,
    cells: Iterable[str],
    text_of: Callable[[str], str | None],
    records_of: Callable[[str], Iterable[Record]],
) -> KnownFiles:
    """Return what the files of a matrix say: `cells` are those with a lock, of which `text_of`
    returns the text and `records_of` the runs. They are read only where that is not kept.
    """

    def read() -> _Texts:
        texts = {cell: text for cell in cells if (text := text_of(cell)) is not None}
        # Only what the files of these few records say in words is not in the table.
        guarded = [
            entry.cell.id
            for entry in known.known
            if any(is_guard(outcome) for run in entry.runs for outcome in run.outcomes)
        ]
        records = (record for cell in guarded for record in records_of(cell))
        guards = tuple(dict.fromkeys(guard for record in records for guard in _guards(record)))
        return _Texts(
            {
                cell: {name: str(version) for name, version in read_pins(text).items()}
                for cell, text in texts.items()
            },
            tuple((g.of, str(g.version), g.requirement, g.cell) for g in guards),
        )

    files = known.kept("files", _Texts, read)
    return KnownFiles(
        pins={
            cell: {name: locked_version(text) for name, text in own.items()}
            for cell, own in files.pins.items()
        },
        guards=tuple(
            ImportGuard(of=of, version=locked_version(text), requirement=requirement, cell=cell)
            for of, text, requirement, cell in files.guards
        ),
    )
