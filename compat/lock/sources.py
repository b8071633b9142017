"""Which pins belong to library or suite, and releases that have only a source distribution.

The resolver itself builds nothing, because a build runs other people's code with the resolver's
rights. For each release with a named build it gets an empty wheel. That wheel's requirements come
from an isolated build of the release.
"""

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.parsing import name_of_line, parse_release, parsed
from compat.errors import DeclarationError
from compat.index.release import (
    Artifact,
    Published,
    Release,
    ReleaseSource,
    release_of,
    releases_of,
)
from compat.lock.lockfile import Inputs, Lock, Pin, Refusal, decode_lock
from compat.lock.recipe import inputs_of, requires_as_declared, soft_packages
from compat.lock.resolvers import needs_builds
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import facts_for
from compat.plan.platform import accepted_tags, admits, fits, marker_values
from compat.value import Value

# The layers of a cell's packages: the library's, and those that only suite and pytest require.


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
    library = {name for name, _ in requested_in(lock.inputs, roots, lambda n: requires.get(n, ()))}
    return tuple(pin.name for pin in lock.pins if pin.name not in library)


def requested_in(
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


def imported_lock(
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
    if loose or firm or not requires_as_declared(facts, cell, lock):
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
    further = names - {name for name, _ in requested_in(inputs, roots, requires)} - injected
    if further and not lock.builds:
        yield f"pins {min(further)}, which nothing asks for"
    # The dependencies of what a build brings are known here.
    bounds = requested_in(inputs, (*roots, *further), requires)
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
    library = {name for name, _ in requested_in(inputs, own, requires)} | injected
    only = lock.suite_only
    if only is not None and ({*only} & library or (names - library - further) - {*only}):
        yield "says of other packages than the metadata that only the suite brings them"


Build = Callable[[Inputs, Pin], Published | Refusal]


class SourceRelease(Value, frozen=True, kw_only=True):
    """A release that a cell has only by a build; `asks` are its known requirements."""

    pin: Pin
    asks: Published


class NamedBuilds:
    """The builds that a matrix names, resolved when a lock needs them."""

    def __init__(
        self, named: tuple[tuple[str, Version], ...], source: ReleaseSource, build: Build | None
    ) -> None:
        """Without a builder the releases are assumed to require nothing."""
        self._named = named
        # An index page takes tenths of a second to read, and every lock needs the same ones.
        self._releases = cache(partial(releases_of, source.package))
        self.build = build

    def names(self, pin: Pin) -> bool:
        return (pin.name, pin.version) in self._named

    def offered(self, inputs: Inputs) -> Iterator[SourceRelease]:
        for name, version in self._named:
            for release in self._releases(name):
                if release.version == version:
                    item = _source_release(name, release, inputs)
                    if item is not None:
                        yield item

    def sources(self, inputs: Inputs, name: str, *, newest: bool) -> Iterator[SourceRelease]:
        """Releases that only a build gives, newest first; `newest`: only those above any wheel."""
        for release in reversed(self._releases(name)):
            item = _source_release(name, release, inputs)
            if item is not None:
                yield item
            elif newest and any(fits_cell(a, inputs) for a in _shown(name, release, inputs)):
                return


def for_want_of_builds(
    refusal: Refusal,
    inputs: Inputs,
    builds: NamedBuilds,
    resolve: Callable[[Sequence[SourceRelease]], Sequence[Pin] | Refusal],
) -> Refusal:
    """A resolver backtracks over releases without a wheel, and names only the end. So it runs
    again, first with the newest source-only releases, then with all of them. Their requirements are
    unknown and assumed empty, so a failure even then holds for any requirements.
    """
    is_source_only = refusal.cause == "source-only"
    for newest in (True, False) if is_source_only else (True,):
        answer: Sequence[Pin] | Refusal = refusal
        names: set[str] = set()
        sources: list[SourceRelease] = []
        while isinstance(answer, Refusal) and not names.issuperset(answer.wheelless):
            names.update(answer.wheelless)
            each = (builds.sources(inputs, name, newest=newest) for name in sorted(names))
            sources = list(chain.from_iterable(each))
            if sources:
                answer = resolve(sources)
        if not isinstance(answer, Refusal):
            taken = {(pin.name, pin.version) for pin in answer}
            pins = [s.pin for s in sources if (s.pin.name, s.pin.version) in taken]
            pins = [pin for pin in pins if not builds.names(pin)]
            return needs_builds(refusal, pins) if pins else refusal
        if is_source_only and not newest and answer.cause != "source-only":
            return answer
    return refusal


def _source_release(name: str, release: Release, inputs: Inputs) -> SourceRelease | None:
    files = _shown(name, release, inputs)
    sources = [artifact for artifact in files if not (artifact.is_wheel or artifact.yanked)]
    if not sources or any(fits_cell(artifact, inputs) for artifact in files):
        return None
    hashes = tuple(sorted({a.sha256 for a in files if a.sha256 is not None}))
    asks = Published(requires_python=sources[0].requires_python, requires_dist=())
    return SourceRelease(pin=Pin(name=name, version=release.version, hashes=hashes), asks=asks)


def _shown(name: str, release: Release, inputs: Inputs) -> list[Artifact]:
    until = inputs.cutoff(name)
    return [artifact for artifact in release.artifacts if artifact.is_seen(until)]


def shelved(releases: Sequence[SourceRelease], folder: Path) -> None:
    for release in releases:
        asks, lines = release.asks, list[str]()
        if asks.requires_python is not None:
            lines.append(f"Requires-Python: {asks.requires_python}")
        lines += (f"Requires-Dist: {' '.join(text.split())}" for text in asks.requires_dist)
        name, content = pure_wheel(release.pin.name, str(release.pin.version), lines)
        (folder / name).write_bytes(content)


def pure_wheel(
    name: str, version: str, headers: Iterable[str] = (), modules: Mapping[str, str] | None = None
) -> tuple[str, bytes]:
    """Return file name and content of a wheel for any Python; equal wheels are equal bytes."""
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    texts = {f"{stem}.dist-info/METADATA": "\n".join(metadata) + "\n"}
    texts = {**(modules or {}), **texts, f"{stem}.dist-info/WHEEL": tags}
    packed, record = io.BytesIO(), ""
    with zipfile.ZipFile(packed, "w") as archive:
        # A ZipInfo without a time has a fixed one.
        for path, text in texts.items():
            archive.writestr(zipfile.ZipInfo(path), text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
            record += f"{path},sha256={digest.decode()},{len(text)}\n"
        archive.writestr(zipfile.ZipInfo(f"{stem}.dist-info/RECORD"), record)
    return f"{stem}-py3-none-any.whl", packed.getvalue()


def fits_cell(artifact: Artifact, inputs: Inputs) -> bool:
    return not artifact.yanked and fits(artifact, inputs.python, inputs.platform)
