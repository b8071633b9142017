"""The `declare` room's suite: the table `[suite]` of a matrix, and the tiers of a run."""

from typing import Annotated, Literal, get_args

import msgspec

from compat.declare.parsing import (
    ModuleName,
    Requirements,
    Setting,
    SuitePath,
    parse_requirement,
)
from compat.value import StrictValue

# How much of a suite a run asks for: its core capabilities, or all of it.
Tier = Literal["smoke", "full"]
TIERS: tuple[Tier, ...] = get_args(Tier)

CapabilityPattern = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[!-~]{1,200}$(?!\n)",
        description="the id of a capability, or a glob of ids such as 'federated.*'",
    ),
]


class MeasuredThing(StrictValue, frozen=True):
    """What a metric of the suite measures, in words that begin a sentence."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,99}$(?!\n)")]
    title: Annotated[str, msgspec.Meta(min_length=3, max_length=80)]


class Suite(StrictValue, frozen=True):
    """The tests that run inside each cell, what they need installed besides the subject, and what a
    run may take.

    `module` is what must import before any test; empty means the package's name with underscores.
    `environment` holds variables that the cell sees besides compat's own short list. Limits:
    seconds of wall time and of silence for a step, MiB of memory and of disk. `metrics` are the
    titles of what it measures, for charts. `core` names the few quick capabilities that every
    release has, by id or glob: a run of tier `smoke` asks for no others. It stands here and not in
    the suite, so that choosing them leaves the suite, and what was run of it, as they are.
    """

    path: SuitePath
    module: ModuleName = ""
    requirements: Requirements = ()
    environment: Annotated[tuple[Setting, ...], msgspec.Meta(max_length=20)] = ()
    seconds: Annotated[int, msgspec.Meta(ge=1, le=36_000)] = 600
    silence_seconds: Annotated[int, msgspec.Meta(ge=1, le=36_000)] = 240
    memory_mb: Annotated[int, msgspec.Meta(ge=64, le=1_000_000)] = 4096
    disk_mb: Annotated[int, msgspec.Meta(ge=64, le=1_000_000)] = 4096
    metrics: Annotated[tuple[MeasuredThing, ...], msgspec.Meta(max_length=50)] = ()
    core: Annotated[tuple[CapabilityPattern, ...], msgspec.Meta(max_length=50)] = ()

    def __post_init__(self) -> None:
        """Refuse what is no requirement."""
        for text in self.requirements:
            parse_requirement(text)
