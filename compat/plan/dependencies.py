"""What the subject's own pins leave to install: dead ends one level below the subject.

Only hard facts count, which no resolver could mend: a pin that no release satisfies, or whose
releases all lack a file, need a newer Python, or refuse a coordinate or what else is pinned. What
is not known rules nothing out. Dates are left aside, a yanked release counts as there, because an
exact pin may take it, and no release is refused because a Python is too new for it: pip would, uv
would not.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import chain

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import NOTHING, Matrix, Relaxation
from compat.index.release import Catalogue
from compat.plan.installable import Installable, required_python
from compat.plan.obstacle import Kind, Obstacle, by_reason
from compat.plan.platform import is_too_old, marker_values
from compat.plan.requirements import Asked, active, parsed
from compat.value import Value

Versions = tuple[Version, ...]
_KINDS: tuple[Kind, ...] = ("conflicting-pin", "no-artifact", "requires-python")


class Pinned(Value, frozen=True, kw_only=True):
    """A requirement of which every admitted release is known; `text` as an obstacle has it."""

    name: str
    specifier: SpecifierSet
    text: str
    releases: Versions

    def required_by(self, subject: str) -> str:
        return f"{subject} requires {self.name} {self.specifier}".rstrip()


class Question(Value, frozen=True, kw_only=True):
    """What one release of the subject asks in one cell.

    `relaxations` are those of the cell, each without a bound; `coordinates` the releases that it
    can have of each axis's package, and `texts` those of its id, both by package.
    """

    subject: str
    version: Version
    python: Version
    relaxations: Mapping[str, Relaxation]
    coordinates: Mapping[str, Versions]
    texts: Mapping[str, str]

    @property
    def deep(self) -> frozenset[str]:
        """The packages of which no requirement in the tree stands: a rule replaces them all."""
        return frozenset(name for name, r in self.relaxations.items() if r.everywhere)


class _Refusal(Value, frozen=True, kw_only=True):
    """Why a release cannot be taken: the kind, the end of a sentence about it, and the other
    side.
    """

    kind: Kind
    reason: str
    other: str


_Refusals = dict[Version, _Refusal]


class Dependencies:
    """What the catalogue knows of the packages that the subject pins, computed once."""

    def __init__(
        self,
        matrix: Matrix,
        catalogue: Catalogue,
        installable: Installable,
        requirements: Callable[[Version, Version], tuple[Asked, ...]],
    ) -> None:
        self._archives = {str(canonicalize_name(s.package)): s for s in matrix.sources}
        self._platform, self._short = matrix.platform, matrix.interpreters.short
        self._subject = matrix.subject_axis.normalised_name
        self._installable = installable
        self._of_subject = requirements
        self._required = {required.package.name: required for required in catalogue.required}
        self._releases = {
            name: {r.version: r for r in required.package.releases}
            for name, required in self._required.items()
        }
        self._asks = cache(self._requirements)
        self._file = cache(self._without_file)
        self._names = cache(self._asked_names)
        self._admitted = cache(self._admit)
        self._pins: dict[tuple[object, ...], tuple[Pinned, ...]] = {}
        self._first: dict[tuple[object, ...], tuple[Versions, _Refusals]] = {}
        self._second: dict[tuple[object, ...], Versions] = {}

    def obstacle(self, question: Question) -> Obstacle | None:
        left: dict[str, Pinned] = {}
        for pinned in self._pinned(question):
            alive, refusals = self._by_itself(pinned, question)
            if not alive:
                return self._dead(pinned, question, refusals)
            left[pinned.name] = msgspec.structs.replace(pinned, releases=alive)
        return self._between(left, question)

    def _pinned(self, question: Question) -> tuple[Pinned, ...]:
        moved = ((name, r.to == NOTHING) for name, r in question.relaxations.items())
        key = (question.version, question.python, *sorted(moved))
        if key not in self._pins:
            by_name: dict[str, list[Asked]] = {}
            for asked in self._of_subject(question.version, question.python):
                if asked.name in self._required:
                    by_name.setdefault(asked.name, []).append(asked)
            pins = (self._pin(name, asked, question) for name, asked in by_name.items())
            self._pins[key] = tuple(pinned for pinned in pins if pinned is not None)
        return self._pins[key]

    def _pin(self, name: str, requirements: list[Asked], question: Question) -> Pinned | None:
        relaxation, required = question.relaxations.get(name), self._required[name]
        if any(asked.url for asked in requirements) or (relaxation and relaxation.to == NOTHING):
            return None
        texts = [str(asked.specifier) for asked in requirements] if relaxation is None else [""]
        if not required.whole and not any(text in required.pins for text in texts):
            return None
        pin, admitted = self._admitted(name, ",".join(sorted({text for text in texts if text})))
        return Pinned(name=name, specifier=pin, text=f"{name}{pin}", releases=admitted)

    def _admit(self, name: str, specifier: str) -> tuple[SpecifierSet, Versions]:
        pin = SpecifierSet(specifier)
        return pin, tuple(v for v in self._releases[name] if pin.contains(v, prereleases=True))

    def _by_itself(self, pinned: Pinned, question: Question) -> tuple[Versions, _Refusals]:
        # What the Python and the coordinates leave of a pin; when that is nothing, why each release
        # falls away.
        names = self._names(pinned.name)
        coordinates = {n: question.coordinates[n] for n in names & question.coordinates.keys()}
        deep = names & question.deep
        key = (pinned.text, question.python, deep, *coordinates.items())
        if key not in self._first:
            refusal = partial(self._refusal, pinned.name, question.python, coordinates, deep)
            alive = tuple(version for version in pinned.releases if refusal(version) is None)
            refusals = (
                {} if alive else {v: refused for v in pinned.releases if (refused := refusal(v))}
            )
            self._first[key] = alive, refusals
        return self._first[key]

    def _dead(self, pinned: Pinned, question: Question, refusals: _Refusals) -> Obstacle:
        asks = pinned.required_by(question.subject)
        archive = self._archives.get(pinned.name)
        beside = f" (--find-links {archive.find_links})" if archive else ""
        if not refusals:
            because = f"{asks}, and the index has no such release{beside}"
            return Obstacle(
                kind="no-artifact", between=(pinned.text,), because=because, package=pinned.name
            )
        first = next(r for kind in _KINDS for r in refusals.values() if r.kind == kind)
        each = by_reason({version: refusal.reason for version, refusal in refusals.items()})
        other = question.texts.get(first.other, first.other)
        because = f"{asks}: {each}{beside if first.kind == 'no-artifact' else ''}"
        between = (pinned.text, other)
        return Obstacle(kind=first.kind, between=between, because=because, package=pinned.name)

    def _refusal(
        self,
        name: str,
        python: Version,
        coordinates: Mapping[str, Versions],
        deep: frozenset[str],
        version: Version,
    ) -> _Refusal | None:
        missing = self._file(name, version, python)
        if missing is not None:
            return missing
        for asked in self._asks(name, version, python):
            versions = coordinates.get(asked.name)
            if versions is None or asked.name in deep or _meet(asked.specifier, versions):
                continue
            reason = f"requires {asked.name} {asked.specifier}, not {_shown(versions)}"
            return _Refusal(kind="conflicting-pin", reason=reason, other=asked.name)
        return None

    def _between(self, left: dict[str, Pinned], question: Question) -> Obstacle | None:
        deep = question.deep
        pairs = [(a, b) for a in left for b in self._names(a) if b in left and b not in deep]
        pairs.sort()
        fell = True
        while fell:
            fell = False
            for name, other in pairs:
                pinned, two = left[name], left[other]
                # Each tuple of releases is kept, so its identity is a key; hashing its versions
                # takes long.
                key = (name, id(pinned.releases), other, id(two.releases), question.python)
                if key not in self._second:
                    meets = partial(self._meets, name, other, question.python, two.releases)
                    versions = tuple(filter(meets, pinned.releases))
                    self._second[key] = pinned.releases if versions == pinned.releases else versions
                if not self._second[key]:
                    return self._apart(pinned, two, question)
                if self._second[key] is not pinned.releases:
                    fell = True
                    left[name] = msgspec.structs.replace(pinned, releases=self._second[key])
        return None

    def _meets(
        self, name: str, other: str, python: Version, others: Versions, version: Version
    ) -> bool:
        asks = self._asks(name, version, python)
        return all(_meet(asked.specifier, others) for asked in asks if asked.name == other)

    def _apart(self, pinned: Pinned, two: Pinned, question: Question) -> Obstacle:
        asks = {
            version: " and ".join(
                f"requires {asked.name} {asked.specifier}"
                for asked in self._asks(pinned.name, version, question.python)
                if asked.name == two.name and not _meet(asked.specifier, two.releases)
            )
            for version in pinned.releases
        }
        first, second = pinned.required_by(question.subject), two.required_by(question.subject)
        because = f"{first}: {by_reason(asks)}; {second}"
        between = (pinned.text, two.text)
        return Obstacle(
            kind="conflicting-pin", between=between, because=because, package=pinned.name
        )

    def _asked_names(self, name: str) -> frozenset[str]:
        releases = self._releases[name].values()
        texts = chain.from_iterable(r.published.requires_dist for r in releases if r.published)
        asked = (canonicalize_name(r.name) for r in map(parsed, texts) if r is not None)
        return frozenset(asked)

    def _requirements(self, name: str, version: Version, python: Version) -> tuple[Asked, ...]:
        markers = marker_values(self._installable.patches[python], self._platform)
        return active(self._releases[name][version].published, markers)

    def _without_file(self, name: str, version: Version, python: Version) -> _Refusal | None:
        release = self._releases[name][version]
        patch = self._installable.patches[python]
        young = bool(release.artifacts) and all(
            is_too_old(required_python(release, artifact), patch) for artifact in release.artifacts
        )
        if not young and self._installable.can_install(release, python, True, True):
            return None
        kind, reason = self._installable.reason(release, python, not young, True)
        reason += f", not {python}" if kind == "requires-python" else ""
        return _Refusal(kind=kind, reason=reason, other=f"{self._short}{python}")


def _meet(specifier: SpecifierSet, versions: Versions) -> bool:
    return any(specifier.contains(version, prereleases=True) for version in versions)


def _shown(versions: Versions) -> str:
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"
