"""What an interpreter series on a platform accepts: wheel tags and marker values."""

from collections.abc import Iterator
from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, generic_tags, mac_platforms
from packaging.version import Version

from compat.declare.parsing import minor_series
from compat.declare.platforms import MACOS, facts_of_target
from compat.index.release import Artifact

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
