"""The published requirements that the lock of a relaxed cell violates, and why."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.declare.matrix import NOTHING, Rule
from compat.declare.parsing import minor_series
from compat.errors import listed
from compat.lock.lockfile import Lock
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.requirements import named
from compat.value import Value, derive


class Lifted(Value, frozen=True):
    """Packages whose published requirement is violated, the replacement, and why.

    `rule` is empty where no rule requires it and the resolver found no other way. `published` is
    empty where another package than the subject requires it; `instead` where the package is left
    out. `sentence` says it without the reason: `one and two 0.4.20 instead of 0.4.14`.
    """

    packages: tuple[str, ...]
    published: str
    instead: str
    rule: str
    because: str
    sentence: str = ""

    def __post_init__(self) -> None:
        words = f"{self.instead} instead of {self.published}"
        if not self.published:
            words = f"{self.instead}, whatever other packages ask of it"
        names = listed(self.packages, len(self.packages))
        derive(self, sentence=f"{names} {words if self.instead else 'left out'}")


def lifted(facts: Feasibility, cell: Cell, lock: Lock) -> tuple[Lifted, ...]:
    singles = sorted(
        [*_python(facts, cell, lock), *_packages(facts, cell, lock)],
        key=lambda one: (one.packages[0] != "Python", one.rule, one.instead, one.packages),
    )
    groups = groupby(singles, key=lambda one: replace(one, packages=()))
    return tuple(
        replace(kind, packages=tuple(n for s in alike for n in s.packages))
        for kind, alike in groups
    )


def _python(facts: Feasibility, cell: Cell, lock: Lock) -> Iterator[Lifted]:
    injected = lock.inputs.injected_pin
    published = None if injected is None else facts.published(injected.version)
    asked = None if published is None else published.requires_python
    if lock.inputs.install_as_python is None or asked is None:
        return
    for rule in facts.rules.relaxing(cell):
        if any(relaxation.ignore_requires_python for relaxation in rule.relaxations):
            series = minor_series(lock.inputs.python)
            yield Lifted(("Python",), _shown([asked]), series, rule.name, rule.because)
            return


def _packages(facts: Feasibility, cell: Cell, lock: Lock) -> Iterator[Lifted]:
    pins = lock.versions
    if lock.inputs.injected_pin is None:
        return
    python = cell.on(facts.matrix.interpreters.name).version
    asked = facts.requirements(lock.inputs.injected_pin.version, python)
    reasons: dict[str, Rule] = {
        canonicalize_name(relaxation.package): rule
        for rule in facts.rules.relaxing(cell)
        for relaxation in rule.relaxations
        if not relaxation.ignore_requires_python
    }
    relaxations = facts.relaxations(cell)
    # A rule that replaced a package throughout the tree may have been removed since.
    replaced: dict[str, SpecifierSet] = {
        canonicalize_name(Requirement(text).name): Requirement(text).specifier
        for text in lock.inputs.overrides
    }
    for package in sorted({*relaxations, *replaced}):
        requirements, locked = named(asked, package), pins.get(package)
        rule = reasons.get(package)
        name, because = (rule.name, rule.because) if rule else ("", _GIVEN_UP)
        published = _shown(requirement.specifier for requirement in requirements)
        if package in relaxations and relaxations[package].to == NOTHING:
            if requirements and locked is None:
                yield Lifted((package,), published, "", name, because)
        elif locked is not None and any(
            not requirement.specifier.contains(locked, prereleases=True)
            for requirement in requirements
        ):
            yield Lifted((package,), published, str(locked), name, because)
        elif locked is not None and not requirements and replaced.get(package):
            yield Lifted((package,), "", str(locked), name, because)


_GIVEN_UP = "the resolver finds no packages with the published requirement"


def _shown(specifiers: Iterable[SpecifierSet]) -> str:
    texts = sorted({str(clause) for specifier in specifiers for clause in specifier})
    if len(texts) == 1 and texts[0].startswith("==") and not texts[0].endswith("*"):
        return texts[0].removeprefix("==")
    return ",".join(texts)
