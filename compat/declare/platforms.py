"""The platforms that a matrix can ask about beside its own."""

from typing import Annotated, Literal, get_args

import msgspec

from compat.value import Value

PlatformName = Literal[
    "linux-x86_64",
    "linux-aarch64",
    "linux-musl-x86_64",
    "linux-musl-aarch64",
    "macos-arm64",
    "macos-x86_64",
    "windows-x86_64",
    "windows-arm64",
]
PLATFORM_NAMES: tuple[PlatformName, ...] = get_args(PlatformName)
PlatformNames = Annotated[tuple[PlatformName, ...], msgspec.Meta(max_length=len(PLATFORM_NAMES))]
# The oldest macOS that is asked about: that of GitHub's oldest runner for arm64 (2026-11-23).
MACOS = (14, 0)


class PlatformFacts(Value, frozen=True, kw_only=True):
    """A platform. `target` is its name in uv, locks and `Matrix.platform`; empty if the matrix's
    glibc decides. `tags` are patterns of platform tags of its wheels. The other fields are its
    markers (PEP 508); `runner` is GitHub's label, if any.
    """

    title: str
    target: str = ""
    tags: tuple[str, ...]
    machine: str
    system: str = "Linux"
    os_name: str = "posix"
    sys_platform: str = "linux"
    runner: str = ""


def _linux(machine: str, runner: str) -> PlatformFacts:
    return PlatformFacts(
        title=f"Linux {_SPELLED[machine]}",
        tags=(f"manylinux*_{machine}", f"linux_{machine}"),
        machine=machine,
        runner=runner,
    )


def _musl(machine: str) -> PlatformFacts:
    return PlatformFacts(
        title=f"Linux {_SPELLED[machine]} with musl",
        target=f"{machine}-unknown-linux-musl",
        tags=(f"musllinux_*_{machine}", f"linux_{machine}"),
        machine=machine,
    )


def _macos(machine: str, target: str, runner: str) -> PlatformFacts:
    return PlatformFacts(
        title=f"macOS {_SPELLED[machine]}",
        target=target,
        tags=(f"macosx_*_{machine}", "macosx_*_universal2"),
        machine=machine,
        system="Darwin",
        sys_platform="darwin",
        runner=runner,
    )


def _windows(machine: str, target: str, runner: str) -> PlatformFacts:
    return PlatformFacts(
        title=f"Windows {_SPELLED[machine]}",
        target=target,
        tags=(f"win_{machine.lower()}",),
        machine=machine,
        system="Windows",
        os_name="nt",
        sys_platform="win32",
        runner=runner,
    )


_SPELLED = {
    "x86_64": "x86-64",
    "AMD64": "x86-64",
    "aarch64": "aarch64",
    "arm64": "arm64",
    "ARM64": "arm64",
}
# Runners: https://docs.github.com/actions/reference/runners/github-hosted-runners (2026-11-23).
PLATFORMS: dict[PlatformName, PlatformFacts] = {
    "linux-x86_64": _linux("x86_64", "ubuntu-24.04"),
    "linux-aarch64": _linux("aarch64", "ubuntu-24.04-arm"),
    "linux-musl-x86_64": _musl("x86_64"),
    "linux-musl-aarch64": _musl("aarch64"),
    "macos-arm64": _macos("arm64", "aarch64-apple-darwin", "macos-14"),
    "macos-x86_64": _macos("x86_64", "x86_64-apple-darwin", "macos-15-intel"),
    "windows-x86_64": _windows("AMD64", "x86_64-pc-windows-msvc", "windows-latest"),
    "windows-arm64": _windows("ARM64", "aarch64-pc-windows-msvc", "windows-11-arm"),
}


def target_of(name: PlatformName, own: str) -> str:
    """Return a platform as locks name it; Linux with glibc with that of `own`, the matrix's."""
    facts = PLATFORMS[name]
    return facts.target or f"{facts.machine}-{own.partition('-')[2]}"


def own_name(own: str) -> PlatformName:
    return next(name for name in PLATFORM_NAMES if target_of(name, own) == own)


def facts_of_target(target: str) -> PlatformFacts | None:
    return next((facts for facts in PLATFORMS.values() if facts.target == target), None)


def target_words(target: str) -> str:
    """Return a platform's title, `macOS arm64`; Linux with a glibc as locks name it."""
    facts = facts_of_target(target)
    return target if facts is None else facts.title
