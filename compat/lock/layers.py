"""The layers of a cell's packages: what the library brings, and what only its suite and pytest
bring.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.lock.lockfile import Inputs, Lock, Refusal
from compat.plan.platform import marker_values
from compat.plan.requirements import parsed


def locked_in_layers(lock: Callable[[Inputs], Lock | Refusal], inputs: Inputs) -> Lock | Refusal:
    """Resolve the library alone, as a user would; then the suite and pytest beside those pins.

    The second question has no date: nobody asks how old pytest is, and one of 2018 does not run our
    plugin. Where the library's pins leave nothing that the suite can use, both are resolved
    together. What cannot be locked then, though the library alone can, is a fault of the suite.
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
    """The refusal, named by those requirements of the suite that the resolver speaks of."""
    if refusal.cause in ("build", "build-tool", "unsupported"):
        return refusal
    words = {*refusal.named, *re.findall(r"[\w.-]+", canonicalize_name(refusal.because))}
    through = [t for t in inputs.suite if canonicalize_name(Requirement(t).name) in words]
    need = f"your tests need {refusal.subject}"
    if refusal.subject in inputs.requirements:
        need = f"your tests need another {refusal.subject.partition('=')[0]}"
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
    """The pins that only the suite's requirements bring: of a lock that does not say so, by what
    each installed package requires (its Requires-Dist, by normalised name).
    """
    if lock.suite_only is not None:
        return lock.suite_only
    roots = (subject, *(text for text in lock.inputs.requirements if text not in suite))
    library = {name for name, _ in asked_in(lock.inputs, roots, lambda n: requires.get(n, ()))}
    return tuple(pin.name for pin in lock.pins if pin.name not in library)


def asked_in(
    inputs: Inputs, roots: Iterable[str], requires: Callable[[str], Iterable[str]]
) -> set[tuple[str, SpecifierSet]]:
    """Return each package that these roots or what they bring asks for, by normalised name, with
    its bound, as the inputs' overrides and excludes change it.

    `requires` returns what a package's own metadata asks for.
    """
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
