"""The table `[suite]` of a matrix, and the tiers of a run."""

import re
from typing import Annotated, Literal, get_args

import msgspec

from compat.declare import parsing
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


# What compat itself passes to pytest, or what would keep the tests of a run from running.
_REFUSED = (
    (r"-c$|--config-file|--rootdir|--confcutdir|--basetemp", "compat says where the suite is"),
    (r"--co$|--collect-only|--fixtures|--version|--help|-h$", "with it no test runs"),
    (r"-[a-z]*x$|--maxfail|--exitfirst|--stepwise|--sw$", "it ends a run before its last test"),
    (r"--reruns", "a retry would hide a failure"),
    (r"--lf$|--ff$|--last-failed|--failed-first|--nf$", "a cell has no earlier run"),
    (r"-p$|-p.", "a cell loads the plugins that the requirements name"),
)


class MeasuredThing(StrictValue, frozen=True):
    """What a metric of the suite measures: a name and a title."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,99}$(?!\n)")]
    title: Annotated[str, msgspec.Meta(min_length=3, max_length=80)]


class Suite(StrictValue, frozen=True):
    """The tests that run inside each cell, what they need installed besides the subject, and the
    limits of a run.

    The tests are at `path`, a folder beside matrix.toml that is written for the matrix, or they are
    the project's own: `tests`, below the repository, which pytest runs with `arguments`. `groups`
    and `extras` are those of the repository's pyproject.toml: their requirements are installed like
    `requirements`.

    `module` must import before any test; empty means the package's name with underscores.
    `environment` holds variables that the cell gets besides compat's own short list. `writes` are
    folders below site-packages that the library itself writes into, such as those of files that it
    unpacks on first use; a cell gets its own copy of them. Limits: seconds of wall time and of
    silence for a step, MiB of memory and of disk. `metrics` are the titles of what it measures, for
    charts. `core` names the few quick capabilities that every release has, by id or glob: `--tier
    smoke` runs only these. Changing `core` does not make earlier results stale.
    """

    path: parsing.SuitePath = ""
    tests: parsing.TestsPath = ""
    arguments: Annotated[tuple[parsing.Argument, ...], msgspec.Meta(max_length=50)] = ()
    groups: parsing.Groups = ()
    extras: parsing.Groups = ()
    module: parsing.ModuleName = ""
    requirements: parsing.Requirements = ()
    environment: Annotated[tuple[parsing.Setting, ...], msgspec.Meta(max_length=20)] = ()
    writes: Annotated[tuple[parsing.InstalledFolder, ...], msgspec.Meta(max_length=20)] = ()
    seconds: Annotated[int, msgspec.Meta(ge=1, le=36_000)] = 600
    silence_seconds: Annotated[int, msgspec.Meta(ge=1, le=36_000)] = 240
    memory_mb: Annotated[int, msgspec.Meta(ge=64, le=1_000_000)] = 4096
    disk_mb: Annotated[int, msgspec.Meta(ge=64, le=1_000_000)] = 4096
    metrics: Annotated[tuple[MeasuredThing, ...], msgspec.Meta(max_length=50)] = ()
    core: Annotated[tuple[CapabilityPattern, ...], msgspec.Meta(max_length=50)] = ()

    def __post_init__(self) -> None:
        if bool(self.path) is bool(self.tests):
            raise ValueError(
                "needs either `path`, a folder beside matrix.toml, or `tests`, a folder or file of"
                " tests below the repository"
            )
        if self.arguments and not self.tests:
            raise ValueError("`arguments` go with `tests`; a suite at `path` has its pytest.ini")
        for argument in self.arguments:
            for pattern, why in _REFUSED:
                if re.match(pattern, argument):
                    raise ValueError(f"`arguments` have {argument!r}: {why}")
        for text in self.requirements:
            parsing.parse_requirement(text)
