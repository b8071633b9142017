"""What an interpreter on a platform accepts, and what a release requires there."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, generic_tags, mac_platforms
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import MACOS, facts_of_target
from compat.declare.parsing import minor_series, parsed
from compat.index.release import Artifact, Package, Published
from compat.value import Value

# PEP 513, 571 and 599 named these policies before PEP 600 named them by their glibc.
_LEGACY = {
    17: ("manylinux2014", ("x86_64", "aarch64")),
    12: ("manylinux2010", ("x86_64",)),
    5: ("manylinux1", ("x86_64",)),
}

# The ABI of PyPy and its marker values have been these since 2020:
# https://doc.pypy.org/en/latest/release-v7.3.0.html
_PYPY_ABI, _PYPY = "pp73", "7.3"
_BUILDS = ("free-threaded", "pypy")


@cache
def accepted_tags(version: Version, platform: str) -> frozenset[Tag]:
    """Of a series or of one of its patches: they are the same."""
    python, build = (version.major, version.minor), build_of(platform)
    platforms = tuple(_platforms(platform))
    number = f"{version.major}{version.minor}"
    if build == "pypy":
        interpreter = f"pp{number}"
        tags = set(generic_tags(interpreter, [f"pypy{number}_{_PYPY_ABI}"], platforms))
    else:
        interpreter = f"cp{number}"
        flag = "t" if build == "free-threaded" else "m" if python < (3, 8) else ""
        tags = set(cpython_tags(python, abis=[f"{interpreter}{flag}"], platforms=platforms))
    tags.update(compatible_tags(python, interpreter=interpreter, platforms=platforms))
    return frozenset(tags)


def build_of(platform: str) -> str:
    # Return a platform's build of Python: `free-threaded`, `pypy`, or empty for CPython's usual
    # one.
    return next((build for build in _BUILDS if platform.endswith(f"-{build}")), "")


def without_build(platform: str) -> str:
    return platform.removesuffix(f"-{build_of(platform)}")


def python_name(version: Version, platform: str) -> str:
    series = minor_series(version)
    match build_of(platform):
        case "pypy":
            return f"pypy{series}"
        case "free-threaded":
            return f"{series}t"
        case _:
            return series


def python_remedy(name: str) -> str:
    return f"`uv python install {name}` gets one"


def marker_values(patch: Version, platform: str) -> dict[str, str]:
    facts, is_pypy = facts_of_target(platform), build_of(platform) == "pypy"
    machine, system, os_name, sys_platform = (
        (platform.partition("-")[0], "Linux", "posix", "linux")
        if facts is None
        else (facts.machine, facts.system, facts.os_name, facts.sys_platform)
    )
    return {
        "implementation_name": "pypy" if is_pypy else "cpython",
        "implementation_version": _PYPY if is_pypy else str(patch),
        "os_name": os_name,
        "platform_machine": machine,
        "platform_python_implementation": "PyPy" if is_pypy else "CPython",
        "platform_release": "",
        "platform_system": system,
        "platform_version": "",
        "python_full_version": str(patch),
        "python_version": minor_series(patch),
        "sys_platform": sys_platform,
        "extra": "",
    }


def admits(requires_python: SpecifierSet | None, patch: Version) -> bool:
    return requires_python is None or requires_python.contains(patch, prereleases=True)


def fits(artifact: Artifact, python: Version, platform: str) -> bool:
    tags = accepted_tags(python, platform)
    return admits(artifact.requires_python, python) and not tags.isdisjoint(artifact.tags)


def is_too_old(requires_python: SpecifierSet | None, patch: Version) -> bool:
    """Return whether the interpreter is below the lower bound of a `Requires-Python`.

    Deep in the tree uv checks only this: https://docs.astral.sh/uv/concepts/resolution/
    (2026-11-22).
    """
    return any(
        part.operator in (">=", ">", "~=", "==")
        and patch < Version(part.version.removesuffix(".*"))
        for part in requires_python or ()
    )


def _platforms(platform: str) -> Iterator[str]:
    facts = facts_of_target(platform)
    if facts is None:
        architecture, _, policy = without_build(platform).partition("-")
        for minor in range(int(policy.rpartition("_")[2]), 4, -1):
            yield f"manylinux_2_{minor}_{architecture}"
            legacy, architectures = _LEGACY.get(minor, ("", ()))
            if architecture in architectures:
                yield f"{legacy}_{architecture}"
        yield f"linux_{architecture}"
    elif facts.system == "Darwin":
        yield from mac_platforms(MACOS, facts.machine)
    elif facts.system == "Windows":
        yield f"win_{facts.machine.lower()}"
    else:
        # PEP 656; uv uses musl 1.2 for such a platform.
        yield from (f"musllinux_1_{minor}_{facts.machine}" for minor in (2, 1, 0))
        yield f"linux_{facts.machine}"


# What a subject's release requires of other packages, by its own metadata.


class Asked(Value, frozen=True, kw_only=True):
    """A requirement that holds: `name` is normalised (PEP 503), `url` is empty for a release."""

    name: str
    specifier: SpecifierSet
    extras: tuple[str, ...]
    url: str


def active(
    published: Published | None, markers: dict[str, str], extras: Sequence[str] = ()
) -> tuple[Asked, ...]:
    """Unreadable requirements are omitted: a resolver ignores them, too."""
    if published is None:
        return ()
    return tuple(
        Asked(
            name=canonicalize_name(r.name),
            specifier=r.specifier,
            extras=tuple(sorted(r.extras)),
            url=r.url or "",
        )
        for r in filter(None, map(parsed, published.requires_dist))
        if r.marker is None
        or any(r.marker.evaluate(markers | {"extra": extra}) for extra in ("", *extras))
    )


def published_names(packages: Iterable[Package]) -> frozenset[str]:
    releases = (release for package in packages for release in package.releases)
    texts = {text for release in releases for text in release.requires}
    asked = (r for r in map(parsed, texts) if r is not None and "extra" not in str(r.marker))
    return frozenset(canonicalize_name(r.name) for r in asked)


def named(asked: tuple[Asked, ...], package: str) -> tuple[Asked, ...]:
    return tuple(requirement for requirement in asked if requirement.name == package)
