"""The layers of a cell's packages: the library's, and those that only suite and pytest require."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

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

    The latter without a date, as a pytest of 2018 cannot run our plugin; or both together, where
    those pins leave no solution. If only the library alone resolves, it is a fault of the suite.
    """
    if not inputs.suite:
        return lock(inputs)
    alone = (text for text in inputs.requirements if text not in inputs.suite)
    library = lock(msgspec.structs.replace(inputs, requirements=tuple(alone), suite=()))
    if isinstance(library, Refusal):
        return library
    pins = (f"{pin.name}=={pin.version}" for pin in library.pins)
    beside = lock(
        Inputs(
            cell=inputs.cell,
            python=inputs.python,
            platform=inputs.platform,
            requirements=inputs.suite,
            no_prereleases=inputs.no_prereleases,
            overrides=inputs.overrides,
            excludes=inputs.excludes,
            constraints=(*inputs.constraints, *pins),
            index=inputs.index,
        )
    )
    if isinstance(beside, Lock):
        names = {pin.name for pin in library.pins}
        only = [pin for pin in beside.pins if pin.name not in names]
        return msgspec.structs.replace(
            library,
            inputs=inputs,
            pins=tuple(sorted((*library.pins, *only), key=lambda pin: pin.name)),
            builds=tuple(sorted({*library.builds, *(set(beside.builds) - names)})),
            suite_only=tuple(pin.name for pin in only),
        )
    together = lock(inputs)
    if isinstance(together, Lock) or together.cause in ("build", "build-tool", "unsupported"):
        return together
    words = {*together.named, *re.findall(r"[\w.-]+", canonicalize_name(together.because))}
    through = [t for t in inputs.suite if canonicalize_name(Requirement(t).name) in words]
    need = f"your tests need {together.subject}"
    if together.subject in inputs.requirements:
        need = f"your tests need another {Requirement(together.subject).name}"
    if through and together.subject not in through:
        need += f" through {', '.join(through)}"
    because = f"{together.because}; the combination itself resolves"
    return msgspec.structs.replace(together, cause="suite-fault", subject=need, because=because)


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
    make it. Which of the fitting versions a resolver would choose is not checked.
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
    if wrong := _unasked(lock, cell, facts) or unnamed or next(_unfit(lock, sources), ""):
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


def _unfit(lock: Lock, sources: Sequence[ReleaseSource]) -> Iterator[str]:
    """Why the index and its metadata do not give these pins; each check assumes those before it."""
    inputs, injected = lock.inputs, lock.inputs.injected_pin
    pins = {pin.name: pin for pin in lock.pins}
    if len(pins) < len(lock.pins):
        yield "pins a package twice"
    if injected is not None and pins.get(injected.name) != injected:
        yield f"does not pin {injected.name} {injected.version} as the cell does"
    tags = accepted_tags(inputs.python, inputs.platform)
    wheels: dict[str, Artifact] = {}
    for pin in lock.pins:
        what, is_built = f"pins {pin.name} {pin.version}", pin.name in lock.builds
        each = (release_of(source.package, pin.name, pin.version) for source in sources)
        files = [file for release in each if release for file in release.artifacts]
        if not (pin.hashes and {*pin.hashes} <= {file.sha256 for file in files}):
            yield f"{what} to files that the index does not list"
        if pin.version.is_prerelease and pin.name in inputs.no_prereleases:
            yield f"{what}, a pre-release, which the cell does not take"
        usable = [
            file
            for file in files
            if (is_built and not file.is_wheel)
            or (
                not (is_built or tags.isdisjoint(file.tags))
                and (pin == injected or admits(file.requires_python, inputs.python))
            )
        ]
        fitting = [file for file in usable if file.sha256 in pin.hashes]
        if not fitting:
            yield f"{what}, of which no file is for the cell"
        is_dated = pin.name not in (lock.suite_only or ()) and pin != injected
        until = inputs.cutoff(pin.name) if is_dated else None
        if until and not any(file.uploaded and file.uploaded < until for file in fitting):
            yield f"{what}, which came out after the cell's date"
        # The injected pin's own requirements are among the inputs; those of a build are known only
        # on its machine.
        if pin != injected and not is_built:
            wheels[pin.name] = usable[0]

    @cache
    def requires(name: str) -> tuple[str, ...]:
        published = sources[0].published(wheels[name]) if name in wheels else None
        return () if published is None else published.requires_dist

    yield from _unmet(lock, pins, requires)


def _unmet(
    lock: Lock, pins: Mapping[str, Pin], requires: Callable[[str], tuple[str, ...]]
) -> Iterator[str]:
    inputs, names = lock.inputs, pins.keys()
    injected = set() if inputs.injected_pin is None else {inputs.injected_pin.name}
    roots = (*inputs.requirements, *inputs.floors)
    further = names - {name for name, _ in asked_in(inputs, roots, requires)} - injected
    if further and not lock.builds:
        yield f"pins {min(further)}, which nothing asks for"
    # The dependencies of what a build brings are known here.
    bounds = asked_in(inputs, (*roots, *further), requires)
    for name, bound in sorted(bounds, key=str):
        if name not in names:
            yield f"pins no {name}, which is asked for"
        elif not bound.contains(pins[name].version, prereleases=True):
            yield f"pins {name} {pins[name].version}, and {name}{bound} is asked for"
    for text in inputs.constraints:
        pin = pins.get(name_of_line(text))
        if pin and not Requirement(text).specifier.contains(pin.version, prereleases=True):
            yield f"pins {pin.name} {pin.version} against {text}"
    own = [text for text in roots if text not in inputs.suite]
    library = {name for name, _ in asked_in(inputs, own, requires)} | injected
    only = lock.suite_only
    if only is not None and ({*only} & library or (names - library - further) - {*only}):
        yield "says of other packages than the metadata that only the suite brings them"
