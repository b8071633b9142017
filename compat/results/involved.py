"""The `results` room's reading of a failure: its packages, and which is in the way."""

import re
from collections.abc import Iterable, Iterator, Mapping

from packaging.utils import canonicalize_name

from compat.run.outcome import Failed, Outcome

# What a place in the standard library, and a refused interpreter, speak of.
PYTHON = "python"
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
# A requirement or an exact version inside a resolver's sentence, and a package that it says
# something about.
_REQUIREMENT = re.compile(rf"({_NAME})(?:\[[^\]]*\])?\s*(?:[<>=!~]=|[<>])")
_SPOKEN_OF = re.compile(
    rf"({_NAME}) (?:depends? on|(?:was|were) yanked|was not found|(?:has|have) no)"
    rf"|depends? on ({_NAME})"
)
# In "demo==1.0 depends on dep" the version stands where a name could.
_VERSION = re.compile(r"\d+(?:\.\w+)*")
_LIBRARY = re.compile(r"python3\.\d+/")


def involved(
    outcome: Outcome, installed: Iterable[str], modules: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the packages that a failure speaks of, by normalised name.

    First stands the one it names, then whose code it is.

    `modules` has the package of each top-level module whose name is not its package's own, and of
    each module in a namespace that several packages share, by its dotted name.
    """
    if not isinstance(outcome, Failed):
        return ()
    if outcome.stage in ("plan", "lock", "install"):
        return tuple(dict.fromkeys(_of_requirements(outcome.subject)))
    known = {PYTHON, *installed, *modules.values()}
    texts = _of_thing(outcome, modules), _of_place(outcome.place, modules)
    return tuple(dict.fromkeys(name for names in texts for name in names if name in known))


def involved_in_refusal(subject: str, because: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*_of_requirements(subject), *_of_requirements(because)]))


def third_package(packages: Iterable[str], asked: frozenset[str]) -> str:
    return next((name for name in packages if asked and name not in asked | {PYTHON}), "")


def blocked_import(outcome: Outcome, packages: Iterable[str], asked: frozenset[str]) -> str:
    is_import = isinstance(outcome, Failed) and outcome.stage == "import"
    return third_package(packages, asked) if is_import else ""


def _of_requirements(text: str) -> Iterator[str]:
    plain = re.fullmatch(_NAME, text)
    if plain is not None:
        yield canonicalize_name(text)
    for pattern in (_REQUIREMENT, _SPOKEN_OF):
        for match in pattern.finditer(text):
            name = next(name for name in match.groups() if name is not None)
            if not _VERSION.fullmatch(name):
                yield canonicalize_name(name)


def _of_thing(outcome: Failed, modules: Mapping[str, str]) -> Iterator[str]:
    """The package of what the failure names: an attribute, a module, or a product as people write
    its name.
    """
    if outcome.thing:
        yield _package(outcome.thing.split("."), modules)


def _of_place(place: str, modules: Mapping[str, str]) -> Iterator[str]:
    if _LIBRARY.match(place):
        yield PYTHON
    elif place:
        yield _package(re.split(r"[/:]", re.sub(r"\.\w+(?=:|$)", "", place)), modules)


def _package(parts: list[str], modules: Mapping[str, str]) -> str:
    """The package of a dotted name: of the longest beginning that is known, else of its top."""
    for length in range(len(parts), 0, -1):
        package = modules.get(".".join(parts[:length]))
        if package is not None:
            return package
    return canonicalize_name(re.sub(r"\s+", "-", parts[0]))
