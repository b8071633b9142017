"""The layers of a cell's packages: the library's, and those that only suite and pytest require."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.declare.parsing import name_of_line, parse_release, parsed
from compat.errors import DeclarationError
from compat.index.release import Artifact, ReleaseSource, release_of
from compat.lock.lock_text import decode_lock
from compat.lock.lockfile import Inputs, Lock, Pin, Refusal
from compat.lock.recipe import asks_as_declared, inputs_of, soft_packages
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import facts_for
from compat.plan.platform import accepted_tags, admits, marker_values


def locked_in_layers(lock: Callable[[Inputs], Lock | Refusal], inputs: Inputs) -> Lock | Refusal:
    """Resolve the library alone, as a user would; then the suite and pytest beside those pins.

    The second resolution has no date: the age of pytest is irrelevant, and one of 2018 cannot run
    our plugin. Where the library's pins leave the suite no solution, both are resolved together. If
    that fails though the library alone resolves, it is a fault of the suite.
    """
    if not inputs.suite:
        return lock(inputs)
    alone = (text for text in inputs.requirements if text not in inputs.suite)
    library = lock(msgspec.structs.replace(inputs, requirements=tuple(alone), suite=()))
    if isinstance(library, Refusal):
        return library
    beside = lock(_beside(inputs, library))
    if isinstance(beside, Refusal):
        together = lock(inputs)
        return together if isinstance(together, Lock) else _of_suite(inputs, together)
    names = {pin.name for pin in library.pins}
    only = [pin for pin in beside.pins if pin.name not in names]
    return msgspec.structs.replace(
        library,
        inputs=inputs,
        pins=tuple(sorted((*library.pins, *only), key=lambda pin: pin.name)),
        builds=tuple(sorted({*library.builds, *(set(beside.builds) - names)})),
        suite_only=tuple(pin.name for pin in only),
    )


def _of_suite(inputs: Inputs, refusal: Refusal) -> Refusal:
    if refusal.cause in ("build", "build-tool", "unsupported"):
        return refusal
    words = {*refusal.named, *re.findall(r"[\w.-]+", canonicalize_name(refusal.because))}
    through = [t for t in inputs.suite if canonicalize_name(Requirement(t).name) in words]
    need = f"your tests need {refusal.subject}"
    if refusal.subject in inputs.requirements:
        need = f"your tests need another {Requirement(refusal.subject).name}"
    if through and refusal.subject not in through:
        need += f" through {', '.join(through)}"
    because = f"{refusal.because}; the combination itself resolves"
    return msgspec.structs.replace(refusal, cause="suite-fault", subject=need, because=because)


def _beside(inputs: Inputs, library: Lock) -> Inputs:
    pins = (f"{pin.name}=={pin.version}" for pin in library.pins)
    return msgspec.structs.replace(
        inputs,
        requirements=inputs.suite,
        constraints=(*inputs.constraints, *pins),
        as_of=None,
        cutoffs=(),
        injected_pin=None,
        install_as_python=None,
        floors=(),
        suite=(),
    )


def suite_only_of(
    lock: Lock, subject: str, suite: Collection[str], requires: Mapping[str, Iterable[str]]
) -> tuple[str, ...]:
    """Return the pins that only the suite needs, by the metadata of each installed package."""
    if lock.suite_only is not None:
        return lock.suite_only
    roots = (subject, *(text for text in lock.inputs.requirements if text not in suite))
    library = {name for name, _ in asked_in(lock.inputs, roots, lambda n: requires.get(n, ()))}
    return tuple(pin.name for pin in lock.pins if pin.name not in library)


def asked_in(
    inputs: Inputs, roots: Iterable[str], requires: Callable[[str], Iterable[str]]
) -> set[tuple[str, SpecifierSet]]:
    """By normalised name, with the inputs' overrides and excludes applied."""
    markers = marker_values(inputs.python, inputs.platform)
    replaced = {canonicalize_name(r.name): r for r in filter(None, map(parsed, inputs.overrides))}
    extras: dict[str, set[str]] = {}
    needs: set[tuple[str, SpecifierSet]] = set()
    waiting = [(root, {""}) for root in filter(None, map(parsed, roots))]
    while waiting:
        asked, under = waiting.pop()
        name, marker = canonicalize_name(asked.name), asked.marker
        if name in inputs.excludes or (
            marker is not None
            and not any(marker.evaluate(markers | {"extra": extra}) for extra in under)
        ):
            continue
        asked = replaced.get(name, asked)
        needs.add((name, asked.specifier))
        if name in extras and asked.extras <= extras[name]:
            continue
        known = extras.setdefault(name, {""})
        known |= asked.extras
        waiting += [(needed, set(known)) for needed in filter(None, map(parsed, requires(name)))]
    return needs


def handed_lock(
    text: str, name: str, planned: Mapping[str, Cell], facts: Feasibility, source: ReleaseSource
) -> Lock:
    """Return the lock of a file `<cell>.txt`; raise DeclarationError if this checkout would not
    make it.

    Its cell is planned and feasible, its inputs are those of the cell's recipe, its builds are
    named. The index lists each of its hashes for that version. Its pins are exactly what the inputs
    and the pins' metadata require, and the cell's date hides none of them. Which of the fitting
    versions a resolver would choose is not checked.
    """
    lock = decode_lock(text, name)
    refuse = partial(DeclarationError.of, path=name, hint="`compat matrix lock` makes it again")
    cell = planned.get(lock.inputs.cell)
    if cell is None or name != f"{cell.id}.txt":
        raise refuse("is not the lock of a planned cell of that name")
    facts = facts_for(facts, cell)
    obstacle = facts.obstacle(cell)
    if obstacle is not None:
        raise refuse(f"is of a cell that cannot work: {obstacle.because}")
    inputs = lock.inputs
    sources = [source, *([source.elsewhere(inputs.index)] if inputs.index else [])]
    named, pins = set(map(parse_release, facts.matrix.builds)), lock.versions
    strange = [name for name in lock.builds if (name, pins.get(name)) not in named]
    unnamed = f"builds {strange[0]}, and the matrix names no such build" if strange else ""
    if wrong := _unasked(lock, cell, facts) or unnamed or _Pins(lock, sources).unfit:
        raise refuse(wrong)
    return lock


def _unasked(lock: Lock, cell: Cell, facts: Feasibility) -> str:
    inputs, asked = lock.inputs, inputs_of(facts, cell)
    if cell.recipe != "relaxed":
        return "" if inputs == asked else "asks for something else than the cell does"
    fields = "python platform no_prereleases as_of injected_pin install_as_python index"
    for field in fields.split():
        if getattr(inputs, field) != getattr(asked, field):
            return f"has another `{field}` than the cell"
    held = inputs_of(facts, cell, soft_packages(facts, cell))
    # The search itself adds only one version, or a bound that its lock marks as withdrawn.
    loose = [
        line
        for line in {*inputs.requirements}.difference(asked.requirements, held.requirements)
        if "==" not in line and name_of_line(line) not in inputs.constraints
    ]
    # A floor requires its package, too; only packages that may give way have one.
    firm = {*map(name_of_line, inputs.floors)} - facts.relaxations(cell).keys()
    if loose or firm or not asks_as_declared(facts, cell, lock):
        return "asks for something that the cell does not"
    if not {*inputs.suite} <= {*facts.matrix.suite.requirements}:
        return "says of other requirements than the cell that only the suite has them"
    dated = {axis.normalised_name for axis in facts.matrix.packages}
    dated -= {cutoff.package for cutoff in (*asked.cutoffs, *held.cutoffs)}
    return next(
        (f"frees {c.package} from the cell's date" for c in inputs.cutoffs if c.package in dated),
        "",
    )


class _Pins:
    def __init__(self, lock: Lock, sources: Sequence[ReleaseSource]) -> None:
        self._lock, self._sources = lock, sources
        self._pins = {pin.name: pin for pin in lock.pins}
        injected = lock.inputs.injected_pin
        # Its own requirements are among the inputs.
        self._injected = "" if injected is None else injected.name
        self._files = cache(
            lambda pin: [
                file
                for source in sources
                if (release := release_of(source.package, pin.name, pin.version))
                for file in release.artifacts
            ]
        )

    @property
    def unfit(self) -> str:
        if len(self._pins) < len(self._lock.pins):
            return "pins a package twice"
        injected = self._lock.inputs.injected_pin
        if injected is not None and self._pins.get(injected.name) != injected:
            return f"does not pin {injected.name} {injected.version} as the cell does"
        return next(
            (t for t in chain(map(self._unlisted, self._lock.pins), self._unmet()) if t), ""
        )

    def _unlisted(self, pin: Pin) -> str:
        inputs, files = self._lock.inputs, self._files(pin)
        if not (pin.hashes and {*pin.hashes} <= {file.sha256 for file in files}):
            return f"pins {pin.name} {pin.version} to files that the index does not list"
        if pin.version.is_prerelease and pin.name in inputs.no_prereleases:
            return f"pins {pin.name} {pin.version}, a pre-release, which the cell does not take"
        fitting = [file for file in files if file.sha256 in pin.hashes and self._fits(pin, file)]
        if not fitting:
            return f"pins {pin.name} {pin.version}, of which no file is for the cell"
        until = None if pin.name in (self._lock.suite_only or ()) else inputs.cutoff(pin.name)
        if until is None or pin.name == self._injected:
            return ""
        if any(file.uploaded is not None and file.uploaded < until for file in fitting):
            return ""
        return f"pins {pin.name} {pin.version}, which came out after the cell's date"

    def _fits(self, pin: Pin, file: Artifact) -> bool:
        inputs = self._lock.inputs
        if pin.name in self._lock.builds:
            return not file.is_wheel
        is_admitted = pin.name == self._injected or admits(file.requires_python, inputs.python)
        return is_admitted and not accepted_tags(inputs.python, inputs.platform).isdisjoint(
            file.tags
        )

    def _requires(self, name: str) -> tuple[str, ...]:
        pin = self._pins.get(name)
        if pin is None or name == self._injected or name in self._lock.builds:
            return ()
        wheel = next(file for file in self._files(pin) if self._fits(pin, file))
        published = self._sources[0].published(wheel)
        return () if published is None else published.requires_dist

    def _unmet(self) -> Iterator[str]:
        inputs, names = self._lock.inputs, self._pins.keys()
        roots = (*inputs.requirements, *inputs.floors)
        requires = cache(self._requires)
        further = names - {name for name, _ in asked_in(inputs, roots, requires)} - {self._injected}
        if further and not self._lock.builds:
            yield f"pins {min(further)}, which nothing asks for"
        # A build's requirements are known only on its machine; their dependencies are known here.
        bounds = asked_in(inputs, (*roots, *further), requires)
        for name, bound in sorted(bounds, key=str):
            if name not in names:
                yield f"pins no {name}, which is asked for"
            elif not bound.contains(self._pins[name].version, prereleases=True):
                yield f"pins {name} {self._pins[name].version}, and {name}{bound} is asked for"
        for text in inputs.constraints:
            constrained = self._pins.get(name_of_line(text))
            if constrained and not Requirement(text).specifier.contains(
                constrained.version, prereleases=True
            ):
                yield f"pins {constrained.name} {constrained.version} against {text}"
        own = [text for text in roots if text not in inputs.suite]
        library = {name for name, _ in asked_in(inputs, own, requires)} | {self._injected}
        only = self._lock.suite_only
        if only is not None and ({*only} & library or (names - library - further) - {*only}):
            yield "says of other packages than the metadata that only the suite brings them"
