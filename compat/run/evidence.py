"""The facts of a run, which can be judged again: a folder with `evidence.json` and other files."""

import datetime
from typing import Annotated, Literal

import msgspec

from compat.declare.matrix import Tier
from compat.value import Value, decode

StepName = Literal["install", "import", "suite"]
EndedBy = Literal[
    "exit", "wall-time", "silence", "memory", "processes", "output", "disk", "cancelled", "sandbox"
]
TestStatus = Literal["passed", "failed", "skipped", "absent"]
Isolation = Literal["L3", "L2", "L1", "L0"]
MemoryMeans = Literal["group", "counted", "sizes"]


class Limits(Value, frozen=True):
    """The limits of one step; memory, output and disk in MiB."""

    wall_seconds: float
    silence_seconds: float
    memory_mb: int
    processes: int
    output_mb: float
    disk_mb: int


class DeadChild(Value, frozen=True):
    """A crashed process that nobody had reaped: the program's name, and the signal's number."""

    program: str
    signal: int


class Ended(Value, frozen=True):
    """How a supervised process tree ended.

    Exactly one of exit code and signal is set when it ended by itself. `dead_child` is the oldest
    crashed child when the tree was ended for its silence. `memory` names what limited memory: the
    kernel's control group, the supervisor that counted, or the sizes of file systems in memory.
    """

    by: EndedBy
    exit_code: int | None
    signal: int | None
    seconds: float
    peak_memory_mb: int
    survivors: int
    isolation: Isolation
    dead_child: DeadChild | None = None
    memory: tuple[MemoryMeans, ...] = ()


class Step(Value, frozen=True):
    """One step of a cell, with the end of its log, redacted."""

    name: StepName
    ended: Ended
    log: str


class Raised(Value, frozen=True):
    """An exception inside a cell: its type, first line, and the innermost `file:line` outside
    tests.

    `of_suite` means that there is no such place: the suite's own code raised it, by a `raise`
    statement where it `is_own`. `of_runner` means that the import of pytest raised it. `file` is
    the file of the suite that pytest could not collect because of it; else empty. `child` is what
    ended a process that the suite had started, where the exception holds that process's traceback.
    """

    type: str
    message: str
    where: str
    of_suite: bool = False
    is_own: bool = False
    of_runner: bool = False
    file: str = ""
    child: "Raised | None" = None

    @property
    def origin(self) -> "Raised":
        return self.child or self


class Trial(Value, frozen=True):
    """One test inside a cell.

    `missing` names the API that an absent capability looked for, in order. `helper` means that it
    only tests a file of the suite and nothing of the subject.
    """

    test: str
    capability: str
    status: TestStatus
    seconds: float
    raised: Raised | None = None
    missing: tuple[str, ...] = ()
    spelling: str = ""
    helper: bool = False

    @property
    def function(self) -> str:
        return self.test.partition("[")[0]


MOST_METRIC = 1e15  # what sums and charts of it can hold


class Metric(Value, frozen=True):
    """A number that a suite reports."""

    name: str
    value: Annotated[float, msgspec.Meta(ge=-MOST_METRIC, le=MOST_METRIC)]
    unit: str
    better: Literal["lower", "higher"]


class Installed(Value, frozen=True):
    """A distribution installed in the cell. `name` is normalised."""

    name: str
    version: str


class Evidence(Value, frozen=True):
    """Everything that one run of a cell left behind. A part that was not reached is None or empty.

    `started_test` is the test that had started and not ended when the suite stopped: the killer of
    a crashed cell. `finished` means that the suite's own last event arrived; without it no test
    counts as complete. `installed_mb` is the size of the installed files in MiB. `lent` is how many
    modules used cached bytecode: without any, an import takes several times as long.
    `modified_files` names files of the environment, the suite or the plugin that the run changed.
    `misrecorded` names files that differ from the RECORD of their freshly downloaded wheel.
    `startup` names files that the interpreter runs at its start, each as `package: file`. `refused`
    are files of wheels that belong to the interpreter and were removed. `plugins` are the pytest
    plugins of the packages. `damaged` names packages whose cached files differ from the index's.
    `uncollected` are tests of the suite that pytest did not collect. `pytest_exit` is the exit code
    that pytest announced, and `report_fault` what cannot be in a report. `module` is the import
    that was tested; `modules` are the top-level modules of the subject's distribution. `owners` has
    the package of each top-level module that is not named like its package; only where something
    failed. `processor` is the processor's instruction level. `tier` is the part of the suite that
    was run; `unasked` are tests outside the core that ran though only the core was wanted.
    `suite_notes` are sentences about what could not be verified of this suite. `internal_error` is
    what ended pytest itself while tests ran. `left_out` has each skipped test, after the mark that
    says why, or `newer`. With `postponed` files, which releases of compat before December 2026
    wrote, it is evidence of a changed copy, and says nothing of the release.
    """

    cell: str
    matrix: str
    subject: str
    lock_digest: str
    suite_digest: str
    started: datetime.datetime
    seconds: float
    host: str
    isolation: Isolation
    steps: tuple[Step, ...]
    expected: tuple[Installed, ...]
    installed: tuple[Installed, ...] = ()
    installed_after: tuple[Installed, ...] = ()
    module: str = ""
    modules: tuple[str, ...] = ()
    installed_mb: float | None = None
    lent: int = 0
    modified_files: tuple[str, ...] = ()
    misrecorded: tuple[str, ...] = ()
    startup: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    postponed: tuple[str, ...] = ()
    uncollected: tuple[str, ...] = ()
    owners: tuple[tuple[str, str], ...] = ()
    imported: Raised | None = None
    import_seconds: float | None = None
    collected: int | None = None
    finished: bool = False
    pytest_exit: int | None = None
    report_fault: str = ""
    collect_errors: tuple[Raised, ...] = ()
    internal_error: Raised | None = None
    left_out: tuple[tuple[str, str], ...] = ()
    tests: tuple[Trial, ...] = ()
    started_test: str = ""
    metrics: tuple[Metric, ...] = ()
    processor: str = ""
    tier: Tier = "full"
    unasked: tuple[str, ...] = ()
    suite_notes: tuple[str, ...] = ()


def decode_evidence(text: bytes) -> Evidence:
    return decode(text, Evidence)
