"""What a plain install of each release on each Python comes to on a platform that is not the
matrix's own, and from what that is known.

Nothing of it ran: that metadata or a resolver lets it in is never `works`.
"""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, get_args

import msgspec
from msgspec.structs import replace
from packaging.version import Version

from compat.declare.platforms import PlatformName
from compat.plan.feasible import Feasibility
from compat.plan.other_platforms import PlatformQuestion, WheelThere, platform_questions
from compat.results.plain_answers import PlainAnswer
from compat.run.outcome import Failed, is_spurious
from compat.value import StrictValue

PlatformState = Literal[
    "resolves",
    "by-metadata",
    "needs-build",
    "refused",
    "ruled-out",
    "no-wheel",
    "not-admitted",
]
PLATFORM_STATES: tuple[PlatformState, ...] = get_args(PlatformState)
# As verdicts have it; `locked` is what a resolver found packages for.
PlatformEvidence = Literal["locked", "asked", "declared"]
# What installs, as far as metadata or a resolver tell.
INSTALLABLE: tuple[PlatformState, ...] = ("resolves", "by-metadata")
_SIGN = "@"


class PlatformInstall(StrictValue, frozen=True, kw_only=True):
    """What `pip install subject==release` comes to on a Python of another platform.

    `cell` is the id of the fresh cell that stands for it, with `@` and the platform; empty where
    the release itself cannot be installed there. `evidence` is `declared` where metadata says it,
    `asked` where a resolver refused it, and `locked` where it found packages; `on` is its day.
    `lacking` is the package that has no file there; `newest` its newest version that has one, and
    `newest_pythons` for which Pythons, both empty where none is known.
    """

    platform: PlatformName
    release: str
    python: str
    cell: str
    state: PlatformState
    evidence: PlatformEvidence
    outcome: str = ""
    because: str = ""
    on: datetime.date | None = None
    lacking: str = ""
    newest: str = ""
    newest_pythons: tuple[str, ...] = ()


class PlatformCause(StrictValue, frozen=True, kw_only=True):
    """One answer on a platform, with all plain installs that came to it: the releases by Python,
    oldest first. `example` is the one that tells most, of a new release.
    """

    platform: PlatformName
    state: PlatformState
    outcome: str
    example: PlatformInstall
    count: int
    releases: dict[str, tuple[str, ...]]

    @property
    def is_example(self) -> bool:
        return self.count > 1 and bool(self.example.because)


class OnPlatform(StrictValue, frozen=True, kw_only=True):
    """What a release comes to on a platform: the best of its Pythons, which they are, and one
    install of them.
    """

    platform: PlatformName
    release: str
    state: PlatformState
    pythons: tuple[str, ...]
    install: PlatformInstall


def platform_cell(cell: str, platform: PlatformName) -> str:
    return f"{cell}{_SIGN}{platform}"


def split_platform(cell: str) -> tuple[str, str]:
    """Return the id without its platform, and the platform; empty for that of the matrix."""
    own, _, platform = cell.partition(_SIGN)
    return own, platform


def declared_installs(facts: Feasibility, platform: PlatformName) -> Iterator[PlatformInstall]:
    return (_declared(question, platform) for question in platform_questions(facts))


def with_platform_answers(
    installs: Iterable[PlatformInstall], answers: Mapping[str, PlainAnswer]
) -> Iterator[PlatformInstall]:
    """Yield the installs of a platform with what a resolver said where metadata leaves it open.

    Metadata is newer than an answer that it contradicts: it is read each time that the index is.
    """
    for install in installs:
        answer = answers.get(split_platform(install.cell)[0])
        is_open = install.state == "by-metadata"
        yield install if answer is None or not is_open else _answered(install, answer)


def platform_causes(installs: Iterable[PlatformInstall]) -> tuple[PlatformCause, ...]:
    """Return each answer once: by platform, in the order of the states, the most common first."""
    groups: dict[tuple[PlatformName, PlatformState, str], list[PlatformInstall]] = {}
    for install in installs:
        groups.setdefault((install.platform, install.state, install.outcome), []).append(install)
    platforms = list(dict.fromkeys(platform for platform, _, _ in groups))

    def order(cause: PlatformCause) -> tuple[int, int, int, str]:
        rank = PLATFORM_STATES.index(cause.state)
        return platforms.index(cause.platform), rank, -cause.count, cause.outcome

    return tuple(sorted(map(_cause, groups.values()), key=order))


def on_platforms(installs: Iterable[PlatformInstall]) -> tuple[OnPlatform, ...]:
    """Return what each release comes to on each platform, in the order of the installs."""
    groups: dict[tuple[str, PlatformName], list[PlatformInstall]] = {}
    for install in installs:
        groups.setdefault((install.release, install.platform), []).append(install)
    return tuple(map(_best, groups.values()))


def newest_on(
    installs: Iterable[PlatformInstall],
    platform: PlatformName,
    states: Collection[PlatformState],
) -> OnPlatform | None:
    """Return the newest release that comes to one of these states on a platform; None without
    one.
    """
    return max(
        (
            release
            for release in on_platforms(i for i in installs if i.platform == platform)
            if release.state in states
        ),
        key=lambda release: Version(release.release),
        default=None,
    )


def encode_installs(installs: Iterable[PlatformInstall]) -> bytes:
    return msgspec.msgpack.encode(tuple(installs))


def decode_installs(content: bytes) -> tuple[PlatformInstall, ...]:
    return _decoder.decode(content)


_decoder = msgspec.msgpack.Decoder(tuple[PlatformInstall, ...])


def _declared(question: PlatformQuestion, platform: PlatformName) -> PlatformInstall:
    cell, obstacle, newest = question.cell, question.obstacle, question.newest
    install = PlatformInstall(
        platform=platform,
        release=str(question.release),
        python=str(question.python),
        cell="" if cell is None else platform_cell(cell.id, platform),
        state="by-metadata",
        evidence="declared",
    )
    if obstacle is None:
        return install
    # A release is told by itself; a Python, or a package that cannot be had, once for all releases.
    subject = question.lacking or ("" if cell is None else obstacle.between[0])
    return replace(
        install,
        state=_state(question),
        outcome=str(Failed(stage="plan", cause=obstacle.kind, subject=subject)),
        because=obstacle.because,
        lacking=question.lacking,
        newest="" if newest is None else str(newest.version),
        newest_pythons=_pythons(newest),
    )


def _state(question: PlatformQuestion) -> PlatformState:
    assert question.obstacle is not None
    if question.lacking:
        return "no-wheel"
    is_python = question.cell is None and question.obstacle.kind == "requires-python"
    return "not-admitted" if is_python else "ruled-out"


def _pythons(newest: WheelThere | None) -> tuple[str, ...]:
    return () if newest is None else tuple(map(str, newest.pythons))


def _answered(install: PlatformInstall, answer: PlainAnswer) -> PlatformInstall:
    refusal = answer.refusal
    state: PlatformState = "resolves"
    if refusal is not None:
        state = "needs-build" if is_spurious(refusal) else "refused"
    return replace(
        install,
        state=state,
        evidence="locked" if refusal is None else "asked",
        outcome=answer.outcome,
        because=answer.because,
        on=answer.on,
    )


def _cause(group: list[PlatformInstall]) -> PlatformCause:
    releases: dict[str, list[str]] = {}
    for install in sorted(group, key=_by_python):
        releases.setdefault(install.python, []).append(install.release)
    example = _telling(group)
    return PlatformCause(
        platform=example.platform,
        state=example.state,
        outcome=example.outcome,
        example=example,
        count=len(group),
        releases={python: tuple(versions) for python, versions in releases.items()},
    )


def _best(group: list[PlatformInstall]) -> OnPlatform:
    state = next(s for s in PLATFORM_STATES if any(install.state == s for install in group))
    same = sorted((install for install in group if install.state == state), key=_by_python)
    install = _telling(same)
    return OnPlatform(
        platform=install.platform,
        release=install.release,
        state=state,
        pythons=tuple(install.python for install in same),
        install=install,
    )


def _telling(installs: Iterable[PlatformInstall]) -> PlatformInstall:
    """The install of the newest release, where it can be on a Python for which another version of
    what lacks a wheel there has one: so it is the platform's doing, not the Python's.
    """

    def telling(install: PlatformInstall) -> tuple[bool, Version, Version]:
        is_of_platform = install.python in install.newest_pythons
        return is_of_platform, Version(install.release), _by_python(install)

    return max(installs, key=telling)


def _by_python(install: PlatformInstall) -> Version:
    return Version(install.python)
