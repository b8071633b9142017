"""Diagnoses an environment: whether a run proves it, its known problems, and the smallest change to
a proven set.

It uses only committed knowledge: runs, published metadata and the rules for messages. It needs no
index, and runs nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.doctor.facts import grammar, index, package_of, requirement_of
from compat.advise.doctor.infer import Case, Finding, case_of, finding_of, pythons_in
from compat.advise.package_list import (
    PackageList,
    base_of,
    lying_over_each_other,
    of_other_days,
    short_names,
    shows,
    signs,
    stand_ins,
)
from compat.declare.matrix import Axis, Matrix
from compat.declare.parsing import minor_series, parsed
from compat.index.release import Published, Release
from compat.lock.lockfile import locked_version, read_pins
from compat.lock.resolvers import PYTHON, Requires
from compat.plan.cell import RECIPES
from compat.plan.feasible import required_python
from compat.plan.platform import accepted_tags, active, admits, marker_values, published_names
from compat.results.answer import Answer, mostly_works, verdict_clause
from compat.results.learnt import StoredBlame
from compat.results.record import Record, involved
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, Outcome, parse_outcome
from compat.value import Value

State = Literal["proven", "unproven", "broken"]
# What `pip freeze` omits: https://pip.pypa.io/en/stable/cli/pip_freeze/ (--all), 2026-11-23.
_NOT_IN_FREEZE = frozenset(("pip", "setuptools", "wheel", "distribute"))
_OPPOSITE = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}


class ImportGuard(Value, frozen=True, array_like=True):
    """A release of `of` that needs `requirement` at import, by its error in the run of `cell`."""

    of: str
    version: str
    requirement: str
    cell: str


class KnownFacts(Value, frozen=True):
    """`pins` are those of each lock, by cell, and `words` explains an outcome. `guards` are the
    import-time requirements seen in releases, `blames` the failures that releases caused.
    """

    snapshot: Snapshot
    pins: Mapping[str, dict[str, Version]]
    words: Callable[[Outcome], str]
    guards: tuple[ImportGuard, ...] = ()
    blames: tuple[StoredBlame, ...] = ()


class DifferingPin(Value, frozen=True):
    """A package that an environment lacks or has in another version than a tested set."""

    package: str
    installed: Version | None
    tested: Version


class Neighbour(Value, frozen=True):
    """The nearest tested set that works: its cell, and the environment's differences."""

    entry: Answer
    differences: tuple[DifferingPin, ...]
    is_other_python: bool


class Diagnosis(Value, frozen=True):
    """`proof` is the cell whose run proves it. `problems` are its known problems, the root first;
    `notes` are remarks. `pins` are the fewest exact versions that fix the known problems; empty
    where versions alone cannot.
    """

    state: State
    proof: Answer | None
    problems: tuple[Finding, ...]
    notes: tuple[str, ...]
    pins: tuple[tuple[str, Version], ...]
    neighbour: Neighbour | None


def diagnosis(known: KnownFacts, packages: PackageList, message: Case | None = None) -> Diagnosis:
    return _Question(known, packages, message).answer()


def touches(matrix: Matrix, packages: PackageList, message: Case | None) -> bool:
    """Return whether a message mentions or blames the subject, or a list has it or a build."""
    package = matrix.subject_axis.normalised_name
    if message is not None:
        blamed = {name for finding in message.findings for name in finding.packages}
        return package in blamed or _speaks_of(matrix, message)
    instead = stand_ins(packages.versions, short_names(matrix))
    return package in {*packages.versions, *packages.ranges, *instead}


def concerns(matrix: Matrix, answer: "Diagnosis", packages: PackageList) -> bool:
    """Return whether the answer is about what a list is for: its subject fails, the very set was
    run, or no other package of the list brought the subject.
    """
    subject = str(matrix.subject_axis.normalised_name)
    if answer.proof is not None or any(subject in problem.packages for problem in answer.problems):
        return True
    return subject not in _NOT_IN_FREEZE and not any(
        (known := index(name)) is not None and known.requires(version, subject, packages.python)
        for name, version in packages.versions.items()
    )


def _speaks_of(matrix: Matrix, message: Case | None) -> bool:
    names = (matrix.subject_axis.package, matrix.suite.module)
    return message is not None and any(message.mentions(name) for name in names if name)


class TestedSet(NamedTuple):
    """The packages of a cell's lock, by normalised name, and what is known of the cell."""

    entry: Answer
    pins: dict[str, Version]

    @property
    def is_proof(self) -> bool:
        return self.entry.kind in ("works", "partial")

    @property
    def mostly_works(self) -> bool:
        failing = len(self.entry.failing("combination", "unexplained"))
        return self.entry.kind == "works" or (
            self.entry.score.finished and mostly_works(failing, len(self.entry.capabilities))
        )

    def can(self, capability: str) -> bool:
        known = self.entry.capabilities
        return any(each.id == capability and each.status == "yes" for each in known)


class _Question:
    """An environment, or a list with a message, compared with what is known of a matrix."""

    def __init__(self, known: KnownFacts, packages: PackageList, message: Case | None) -> None:
        self.known, self.packages, self.message = known, packages, message
        self.matrix, self.catalogue = known.snapshot.matrix, known.snapshot.catalogue
        self.python, self.versions = packages.python, packages.versions
        self.subject = str(self.matrix.subject_axis.normalised_name)
        self._interpreter = self.matrix.interpreters.name
        self.axes = {str(axis.normalised_name): axis for axis in self.matrix.packages}
        self.short = short_names(self.matrix)
        self.stand_ins = stand_ins(packages.versions, self.short)
        # The sets whose newest run was on the current lock of the cell.
        self.sets = [
            TestedSet(entry, known.pins[entry.cell.id])
            for entry in known.snapshot.known
            if entry.cell.id in known.pins and entry.tested
        ]
        self.proof = next((s for s in self.sets if s.is_proof and self._is_same(s)), None)
        self.findings = [] if message is None else list(self._findings(message))

    def answer(self) -> Diagnosis:
        proof, tried = self.proof, self._tested_versions()
        against = (
            *(() if proof else (*self._of_runs(), *self._of_blames())),
            *(() if proof else self._of_guards()),
            *self._of_message(),
            *(() if proof else (*self._of_builds(), *self._of_metadata())),
        )
        needs = [n for problem in against if (n := requirement_of(problem.needs)) is not None]
        # The problems, of each cause and package the first; one without a package only where no
        # other has its cause.
        placed = {problem.cause for problem in against if problem.packages}
        first: dict[tuple[str, ...], Finding] = {}
        for problem in against:
            if problem.packages or problem.cause not in placed:
                first.setdefault((problem.cause, *problem.packages[:1]), problem)
        problems = tuple(first.values())
        lost = {problem.capability for problem in problems} - {""}
        near = self._nearest({**tried, **self.versions}, needs, lost)
        beside = () if proof or problems else self._beside()
        return Diagnosis(
            state="broken" if problems else "proven" if proof else "unproven",
            proof=None if proof is None else proof.entry,
            problems=problems,
            notes=(*self._notes(), *beside),
            pins=tuple(self._pins(problems, needs, near)),
            neighbour=None
            if near is None
            else Neighbour(
                entry=near.entry,
                differences=tuple(self._differing(near, self.versions)),
                is_other_python=self._series not in (None, self._series_of(near)),
            ),
        )

    def _notes(self) -> Iterator[str]:
        for name, axis in self.axes.items():
            version, build = self.versions.get(name), self.stand_ins.get(name)
            last = self.catalogue.of(axis).releases[-1].version
            if build is not None:
                place = f"{build} stands in the place of {axis.package}"
                yield f"{place}; no release was tested with it."
            elif name in self.packages.ranges:
                wish = self.packages.ranges[name]
                yield f"{axis.package}{wish} is asked for; the list has no exact version of it."
            elif version is None and self.versions:
                yield f"{axis.package} is not in the list."
            elif version is not None and version > last:
                yield f"{axis.package} {version} is newer than any that this matrix knows ({last})."
        for finding in self.message.findings if self.message is not None else ():
            if not finding.is_fault:
                yield finding.sentence

    def _beside(self) -> Iterator[str]:
        """The results of runs with the same Python and axes' versions, and other packages."""
        alike = [each for each in self.sets if self._is_alike(each, self.axes)]
        if alike:
            entry = min(alike, key=lambda one: len(self._differing(one, self.versions))).entry
            outcome = entry.outcome
            why = f" {self.known.words(outcome)}" if isinstance(outcome, Failed) else ""
            yield (
                f"{entry.cell.id}, the same versions with other packages beside them,"
                f" {verdict_clause(entry)}.{why}"
            )

    def _pins(
        self, problems: Sequence[Finding], needs: Sequence[Requirement], near: TestedSet | None
    ) -> Iterator[tuple[str, Version]]:
        """The nearest tested versions of the packages at fault, if they fix all problems."""
        for problem in problems:
            # A message shows that the subject's release does not fit, and not which one does.
            fixed = (PYTHON, self.subject) if problem.ground == "message" else (PYTHON,)
            if not problem.needs or problem.packages[0] in fixed:
                return
        if near is None:
            return
        for name in dict.fromkeys(problem.packages[0] for problem in problems):
            version, own = near.pins.get(name), [need for need in needs if need.name == name]
            if version is None or not all(_admits(need, version) for need in own):
                return
            if self.versions.get(name) != version:
                yield name, version

    # ---- tested sets

    @cached_property
    def _series(self) -> Version | None:
        return None if self.python is None else Version(minor_series(self.python))

    def _series_of(self, tested: TestedSet) -> Version:
        return tested.entry.cell.on(self._interpreter).version

    @cached_property
    def _of_suites(self) -> frozenset[str]:
        of_pytest: frozenset[str] = grammar()["lists"]["of_pytest"]
        return of_pytest - published_names(self.catalogue.packages)

    def _differing(self, tested: TestedSet, versions: Mapping[str, Version]) -> list[DifferingPin]:
        """The differences of an environment from a tested set, sorted by name.

        Missing packages count, except those that only the suite needed (a lock does not mark the
        library's packages), and in a list what `pip freeze` omits.
        """
        left_out = self._of_suites if "pytest" in tested.pins else frozenset[str]()
        left_out |= frozenset() if self.packages.is_whole else _NOT_IN_FREEZE
        return [
            DifferingPin(package=name, installed=installed, tested=version)
            for name, version in sorted(tested.pins.items())
            if (installed := versions.get(name)) != version
            and (installed is not None or name not in left_out)
        ]

    def _is_alike(self, tested: TestedSet, names: Iterable[str]) -> bool:
        return (
            self.python is not None
            and self._series == self._series_of(tested)
            and all(self.versions.get(name) == tested.pins.get(name) for name in names)
        )

    def _is_same(self, tested: TestedSet) -> bool:
        is_alike = self._is_alike(tested, self.axes)
        return is_alike and not self._differing(tested, self.versions)

    def _fails_alike(self, tested: TestedSet) -> bool:
        """Whether it is a red set, or has the same Python and the same versions on each axis and of
        each package in the failure. A failure that names none holds for that set alone.
        """
        outcome, pins = tested.entry.outcome, tested.pins
        if tested.entry.kind != "broken" or not isinstance(outcome, Failed):
            return False
        if outcome.stage not in ("import", "collect", "test"):
            return False
        if self._is_same(tested):
            return True
        named = _named_packages(outcome)
        if not self._is_alike(tested, self.axes) or not named or outcome.stage == "test":
            return False
        # The run's own names of modules; it has fewer names where it did not know one.
        of_run = set(tested.entry.counted[-1].run.involved)
        if not named <= {PYTHON, *pins} and len(of_run) < len(named):
            return False
        return self._is_alike(tested, (named & pins.keys()) | of_run - {PYTHON})

    def _nearest(
        self, versions: Mapping[str, Version], needs: Sequence[Requirement], lost: Iterable[str]
    ) -> TestedSet | None:
        """Criteria in order: it would fix the problems; it has the `lost` capabilities; it mostly
        works; the same Python; the fewest and nearest other coordinates; the fewest differing
        packages; it works wholly; the fewest rules that change it; the newest.
        """
        matrix, snapshot = self.matrix, self.known.snapshot
        proven = [tested for tested in self.sets if tested.is_proof]
        places = {
            axis.name: sorted({tested.entry.cell.on(axis.name).version for tested in proven})
            for axis in matrix.axes
        }

        def off(tested: TestedSet, axis: Axis) -> int:
            """How many coordinates lie between; an unknown one has no distance."""
            own = tested.entry.cell.on(axis.name).version
            version = versions.get(axis.normalised_name) if axis.package else self.python
            wanted = None if version is None else axis.coordinate(version)
            if wanted is None or wanted == own:
                return 0
            low, high = sorted((own, wanted))
            return max(1, sum(low <= version <= high for version in places[axis.name]) - 1)

        def distance(tested: TestedSet) -> tuple[object, ...]:
            steps = [off(tested, axis) for axis in matrix.packages]
            differ = self._differing(tested, versions) if versions else []
            lacking = sum(difference.installed is None for difference in differ)
            return (
                sum(not self._meets(tested, need) for need in needs),
                sum(not tested.can(capability) for capability in lost),
                not tested.mostly_works,
                off(tested, matrix.interpreters),
                sum(map(bool, steps)),
                sum(steps),
                len(differ) - lacking,
                lacking,
                tested.entry.kind != "works",
                RECIPES.index(tested.entry.cell.recipe),
            )

        def rank(tested: TestedSet) -> tuple[object, ...]:
            cell = tested.entry.cell
            axes = sorted(matrix.axes, key=lambda axis: axis.name != matrix.subject)
            return (
                len(snapshot.feasibility.rules.relaxing(cell)),
                [-places[axis.name].index(cell.on(axis.name).version) for axis in axes],
            )

        distances = [(distance(tested), tested) for tested in proven]
        least = min((each for each, _ in distances), default=None)
        # The rules that change a cell are slow to compute, so only for equally near ones.
        return min((tested for each, tested in distances if each == least), key=rank, default=None)

    def _meets(self, tested: TestedSet, need: Requirement) -> bool:
        if need.name == PYTHON:
            return self._series_of(tested) in pythons_in(need.specifier)
        version = tested.pins.get(need.name)
        return version is None or _admits(need, version)

    # ---- problems from runs

    def _of_runs(self) -> Iterator[Finding]:
        """The failures of runs with the same Python and the same packages in question."""
        red = [tested for tested in self.sets if self._fails_alike(tested)]
        if red:
            entry = min(red, key=lambda alike: len(self._differing(alike, self.versions))).entry
            yield self._recorded(entry, f"tested as {entry.cell.id} on {entry.latest}: ")

    def _recorded(self, entry: Answer, where: str) -> Finding:
        outcome = entry.outcome
        assert isinstance(outcome, Failed), "what is red has failed"
        issue = self.known.snapshot.explained(entry)
        spoken_of = involved(outcome, self.known.pins.get(entry.cell.id, {}), {})
        # An explanation that holds below a version shows what fixes it.
        conditions = {} if issue is None else issue.when.as_table()
        simple = re.fullmatch(r"(<=|>=|<|>)([^,]+)", conditions.get(self._interpreter, ""))
        needs = f"python{_OPPOSITE[simple[1]]}{simple[2]}" if simple else ""
        return Finding(
            cause=outcome.cause,
            packages=(PYTHON, *spoken_of) if needs else spoken_of,
            sentence=f"{where}{self.known.words(outcome)}",
            ground="run",
            because="" if issue is None else issue.because,
            link="" if issue is None else issue.link or "",
            needs=needs,
            capability=outcome.subject if outcome.stage == "test" else "",
        )

    def _of_blames(self) -> Iterator[Finding]:
        for blame in self.known.blames:
            if self.python is None or not blame.includes(self.python, self.versions):
                continue
            outcome = parse_outcome(blame.failed)
            assert isinstance(outcome, Failed), "what is blamed has failed"
            names = " and ".join(f"{each.package} {each.fails}" for each in blame.packages)
            first = blame.packages[0]
            is_newer = Version(first.fails) > Version(first.works)
            needs = f"{first.package}{f'<{first.fails}' if is_newer else f'>={first.works}'}"
            words = {"names": names, "on": blame.on, "works": f"{first.package} {first.works}"}
            words |= {"cause": outcome.cause, "needs": needs, "why": self.known.words(outcome)}
            yield finding_of("blamed", [each.package for each in blame.packages], **words)

    def _of_guards(self) -> Iterator[Finding]:
        """The import-time requirements of installed releases that installed packages violate."""
        for guard in self.known.guards:
            need = requirement_of(guard.requirement)
            installed = None if need is None else self.versions.get(need.name)
            is_of = str(self.versions.get(guard.of)) == guard.version
            if (
                need is not None
                and installed is not None
                and is_of
                and not _admits(need, installed)
            ):
                words = {"who": f"{guard.of} {guard.version}", "needs": guard.requirement}
                words |= {"cell": guard.cell, "there": f"{need.name} {installed}"}
                yield finding_of("guarded", [need.name, guard.of], **words)

    # ---- problems from a message

    def _of_message(self) -> Iterator[Finding]:
        """Published causes whose signs are in the message, each by the run most like the
        environment, then the findings of the rules.

        A run with another version of the failure's packages does not count.
        """
        message, known = self.message, self.known
        if message is None:
            return

        def likeness(entry: Answer) -> int:
            pins = known.pins.get(entry.cell.id, {})
            return sum(self.versions.get(name) == version for name, version in pins.items())

        # In a list without the subject, a failure that does not mention the subject is another's.
        is_listed = not self.versions or self.subject in self.versions
        concerns = is_listed or _speaks_of(self.matrix, message)
        shown: dict[str, Answer] = {}
        for entry in sorted(known.snapshot.known if concerns else (), key=likeness, reverse=True):
            outcome, pins = entry.outcome, known.pins.get(entry.cell.id, {})
            if not isinstance(outcome, Failed) or not shows(message.text, signs(outcome)):
                continue
            named = _named_packages(outcome) & pins.keys() & self.versions.keys()
            if all(self.versions[name] == pins[name] for name in named):
                shown.setdefault(str(msgspec.structs.replace(outcome, at="")), entry)
        for entry in list(shown.values())[:2]:
            yield self._recorded(entry, f"known from a run of {entry.cell.id}: ")
        yield from self.findings

    @cached_property
    def _names(self) -> frozenset[str]:
        pinned = {name for pins in self.known.pins.values() for name in pins}
        required = {required.name for required in self.catalogue.required}
        named = (package.name for package in self.catalogue.packages)
        return frozenset({PYTHON, *pinned, *required, *named})

    def _findings(self, message: Case) -> Iterator[Finding]:
        """The doctor's findings about this matrix's packages, under their names here."""
        speaks = _speaks_of(self.matrix, message)
        # The subject's module may have another name than its package.
        module = str(canonicalize_name(self.matrix.suite.module or self.subject))

        def full(name: str) -> str:
            # Programs import packages by short names; inner modules are called `demo_core`.
            base = self.short.get(name, name.removesuffix("-core"))
            is_inner = name not in self._names and base in self._names
            return self.subject if name == module else base if is_inner else name

        for finding in message.findings:
            packages = tuple(dict.fromkeys(map(full, finding.packages)))
            bases = (base_of(name, self.short) for name in packages)
            if finding.is_fault and (speaks or not self._names.isdisjoint((*packages, *bases))):
                # An unavailable package is no need: a set without it is searched for.
                needs = "" if finding.cause in ("no-artifact", "build") else finding.needs
                yield msgspec.structs.replace(finding, packages=packages, needs=needs)

    def _tested_versions(self) -> dict[str, Version]:
        """The versions of axes in a message; the subject's may follow from what it requires."""
        if self.message is None:
            return {}
        mentioned = {n: v for n, v in self.message.versions.items() if n in self.axes}
        asked = {
            (need.name, need.specifier)
            for asks in self.message.all(Requires)
            if asks.who == self.subject
            and (need := requirement_of(f"{asks.what}{asks.range}")) is not None
        }
        if self.subject in mentioned or not asked:
            return mentioned
        fitting = [
            version
            for version, release in self._releases.get(self.subject, {}).items()
            if asked
            <= {
                (need.name, need.specifier)
                for need in filter(None, map(requirement_of, release.requires))
            }
        ]
        return mentioned | ({self.subject: fitting[-1]} if fitting else {})

    # ---- problems from names and dates of builds

    def _of_builds(self) -> Iterator[Finding]:
        """Overlapping builds of one package, and nightly builds of other weeks."""
        strangers = of_other_days(self.subject, self.versions, self.short)
        if strangers:
            nightly, *others = strangers
            names, listed = [build.name for build in others], ", ".join(map(str, others[:3]))
            yield finding_of("other-days", [self.subject, *names], nightly=nightly, listed=listed)
        for base, builds in lying_over_each_other(self.versions, self.short, self._names):
            names = [build.name for build in builds]
            yield finding_of("same-files", [base, *names], builds=" and ".join(map(str, builds)))

    # ---- problems from published metadata

    def _of_metadata(self) -> Iterator[Finding]:
        """The published requirements that installed versions violate, the subject's own first.

        Except those that a working tested set with the same coordinates violates alike. A list may
        be partial, so only versions that it names are compared with requirements.
        """
        for name, published in self._metadata.items():
            version = self.versions[name]
            who = f"{name} {version}"
            asked, lacks = self._of_python(name, published)
            if lacks and not self._is_broken_alike(name, PYTHON, self.python):
                words = {"who": who, "asked": asked, "ours": self.python}
                needs = f"{PYTHON}{asked}" if lacks == "requires-python" else ""
                yield finding_of(f"published-{lacks}", [PYTHON, name], needs=needs, **words)
            for package, specifier in self._asked(published):
                build = self.stand_ins.get(package)
                present = self.versions.get(package) if build is None else build.version
                if (
                    (present is None and not self.packages.is_whole)
                    or (present is not None and specifier.contains(present, prereleases=True))
                    or self._is_broken_alike(name, package, present)
                ):
                    continue
                stands = f"in its place {build}" if build is not None else f"{package} {present}"
                present_as = f"and {stands} is installed" if present else "which is not installed"
                kind = "published-and-missing" if present is None else "published-and-other"
                words = {"who": who, "needs": f"{package}{specifier}", "present": present_as}
                yield finding_of(kind, [package, name], **words)

    def _is_broken_alike(self, name: str, package: str, installed: Version | None) -> bool:
        """Whether a working set with these versions violates it as well."""
        axes = [(self.versions[n], axis) for n, axis in self.axes.items() if n in self.versions]
        return any(
            self._series == self._series_of(tested)
            if package == PYTHON
            else tested.pins.get(package) == installed
            for tested in self.sets
            if tested.is_proof
            and tested.pins.get(name) == self.versions[name]
            and all(
                axis.select.coordinate(version) == tested.entry.cell.on(axis.name).version
                for version, axis in axes
            )
        )

    def _of_python(
        self, name: str, published: Published | None
    ) -> tuple[str, Literal["", "requires-python", "no-artifact"]]:
        """The Python that a release requires, and its problem with this one."""
        if self.python is None:
            return "", ""
        asked = None if published is None else published.requires_python
        release = self._installed_release(name)
        tags = accepted_tags(self.python, self.matrix.platform)
        # A yanked file counts, as an exact pin installs it.
        lacks = release is not None and not any(
            admits(required_python(release, artifact), self.python)
            and (not artifact.is_wheel or not tags.isdisjoint(artifact.tags))
            for artifact in release.artifacts
        )
        if asked is None and release is not None and lacks:
            texts = {required_python(release, artifact) for artifact in release.artifacts}
            asked = next(iter(texts)) if len(texts) == 1 else None
        if not admits(asked, self.python):
            return str(asked or ""), "requires-python"
        return "", "no-artifact" if lacks and not self.packages.is_whole else ""

    @cached_property
    def _releases(self) -> dict[str, dict[Version, Release]]:
        return {
            package.name: {release.version: release for release in package.releases}
            for package in (*self.catalogue.packages, *self.catalogue.required)
        }

    @cached_property
    def _markers(self) -> dict[str, str]:
        return {} if self.python is None else marker_values(self.python, self.matrix.platform)

    @cached_property
    def _metadata(self) -> dict[str, Published | None]:
        """That of the subject's tree; of a list that of all its packages in the catalogue."""
        if not self.packages.is_whole:
            names = (self.subject, *(name for name in self._releases if name != self.subject))
            return {
                name: release.published
                for name in names
                if (release := self._installed_release(name)) is not None
            }
        metadata: dict[str, Published | None] = {}
        names_left = [self.subject] if self.subject in self.versions else []
        while names_left:
            name = names_left.pop(0)
            if name in metadata:
                continue
            published = metadata[name] = self.packages.metadata.get(name)
            asked = active(published, self._markers)
            names_left += [each.name for each in asked if each.name in self.versions]
        return metadata

    def _installed_release(self, name: str) -> Release | None:
        version = self.versions.get(name)
        return None if version is None else self._releases.get(name, {}).get(version)

    def _asked(self, published: Published | None) -> Iterator[tuple[str, SpecifierSet]]:
        """The requirements that hold; without a Python only those without a marker."""
        if published is not None and self.python is None:
            plain = filter(None, map(parsed, published.requires_dist))
            texts = tuple(str(requirement) for requirement in plain if requirement.marker is None)
            published = msgspec.structs.replace(published, requires_dist=texts)
        for asked in active(published, self._markers):
            if not asked.url:
                yield asked.name, asked.specifier


def _admits(need: Requirement, version: Version) -> bool:
    return need.specifier.contains(version, prereleases=True)


def _named_packages(outcome: Failed) -> set[str]:
    """The packages of a failure's thing and place, as far as their names show."""
    place = re.sub(r"(\.\w+)?(:\d+)?$", "", outcome.place).replace("/", ".")
    return {
        PYTHON if re.match(r"python3\.\d", text) else package_of(text)
        for text in (outcome.thing, place)
        if text
    }


# ---- problems from the files of a matrix


class KnownFiles(Value, frozen=True, array_like=True):
    """The pins of each lock, by its cell, and the import-time requirements seen in releases."""

    pins: dict[str, dict[str, str]]
    guards: tuple[ImportGuard, ...]

    @property
    def versions(self) -> dict[str, dict[str, Version]]:
        return {
            cell: {name: locked_version(text) for name, text in own.items()}
            for cell, own in self.pins.items()
        }


def files_of_known(
    known: Snapshot,
    cells: Iterable[str],
    text_of: Callable[[str], str | None],
    records_of: Callable[[str], Iterable[Record]],
) -> KnownFiles:
    """`cells` have a lock. Texts and runs are read only if their content is not cached."""

    def read() -> KnownFiles:
        texts = {cell: text for cell in cells if (text := text_of(cell)) is not None}
        pins = {cell: {n: str(v) for n, v in read_pins(t).items()} for cell, t in texts.items()}
        # Only the texts in these few records are not in the table.
        guarded = [
            entry.cell.id
            for entry in known.known
            if "version-guard" in {getattr(o, "cause", "") for r in entry.runs for o in r.outcomes}
        ]
        records = (record for cell in guarded for record in records_of(cell))
        guards = dict.fromkeys(guard for record in records for guard in _guards(record))
        return KnownFiles(pins, tuple(guards))

    return known.kept("files", KnownFiles, read)


def _guards(record: Record) -> Iterator[ImportGuard]:
    versions = {canonicalize_name(pin.name): pin.version for pin in record.installed}
    for asks in case_of(record.log).all(Requires):
        need = requirement_of(f"{asks.what}{asks.range}")
        if asks.is_check and asks.who in versions and need is not None:
            version = str(Version(versions[canonicalize_name(asks.who)]))
            yield ImportGuard(asks.who, version, str(need), record.cell)
