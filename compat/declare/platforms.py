"""The platforms that a matrix can declare beside its own."""

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
# The oldest supported macOS: that of GitHub's oldest runner for arm64 (2026-11-23).
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


def _platform(title: str, machine: str, tags: str, target: str, runner: str) -> PlatformFacts:
    markers = {"macOS": ("Darwin", "posix", "darwin"), "Windows": ("Windows", "nt", "win32")}
    system, os_name, sys_platform = markers.get(title.split()[0], ("Linux", "posix", "linux"))
    return PlatformFacts(
        title=title, target=target, tags=tuple(tags.split()), machine=machine, system=system,
        os_name=os_name, sys_platform=sys_platform, runner=runner,
    )  # fmt: skip


# Runners: https://docs.github.com/actions/reference/runners/github-hosted-runners (2026-11-23).
_ROWS = """
Linux x86-64|x86_64|manylinux*_x86_64 linux_x86_64||ubuntu-24.04
Linux aarch64|aarch64|manylinux*_aarch64 linux_aarch64||ubuntu-24.04-arm
Linux x86-64 with musl|x86_64|musllinux_*_x86_64 linux_x86_64|x86_64-unknown-linux-musl|
Linux aarch64 with musl|aarch64|musllinux_*_aarch64 linux_aarch64|aarch64-unknown-linux-musl|
macOS arm64|arm64|macosx_*_arm64 macosx_*_universal2|aarch64-apple-darwin|macos-14
macOS x86-64|x86_64|macosx_*_x86_64 macosx_*_universal2|x86_64-apple-darwin|macos-15-intel
Windows x86-64|AMD64|win_amd64|x86_64-pc-windows-msvc|windows-latest
Windows arm64|ARM64|win_arm64|aarch64-pc-windows-msvc|windows-11-arm
"""
PLATFORMS: dict[PlatformName, PlatformFacts] = {
    name: _platform(*row.split("|"))
    for name, row in zip(PLATFORM_NAMES, _ROWS.split("\n")[1:-1], strict=True)
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
