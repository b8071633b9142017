"""A worker's input: the job (what to run) and the bench (what to run it with)."""

from compat.declare.suite_table import Suite, Tier
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Lock
from compat.run.evidence import Isolation
from compat.value import Value


class Job(Value, frozen=True, kw_only=True):
    """What to run: a lock, the suite and its folder, and the subject's package and module.

    Without a suite folder the run ends after the import. With `links`, a folder of wheels, no index
    is used. The source distributions of `builds`, each `name==version`, are built where the lock
    requires it; everything else installs as wheels. A pin is installed from a local file where
    `wheels` has one of its hashes: the (sha256, path) of a checkout's wheels. Tier `smoke` runs
    only the suite's core capabilities. `newer` are the ids of tests and files that are newer than
    the release; they are skipped.
    """

    matrix: str
    cell: str
    subject: str
    module: str
    lock: Lock
    suite: Suite
    suite_folder: str
    links: str = ""
    builds: tuple[str, ...] = ()
    wheels: tuple[tuple[str, str], ...] = ()
    tier: Tier = "full"
    newer: tuple[str, ...] = ()


class Bench(Value, frozen=True, kw_only=True):
    """What a worker runs cells with: folders, interpreter, isolation level, and access to the
    index.

    `tag` and `magic` name the interpreter's bytecode. `variables` are what an install may see of
    the caller's environment; a suite sees none of it. An install writes into `sandbox`, which holds
    uv's cache and the cells, so that one mount serves both and files are hard links. A suite writes
    only into its cell's home. At L3 cells see only the system's folders and `readable`. `keep`
    leaves the cell's folder on disk. `canaries` is the folder that stores the days on which a
    canary passed; empty stores none.
    """

    worker: str
    evidence: str
    bytecode: str
    sandbox: str
    python: str
    tag: str
    magic: bytes
    level: Isolation
    index: IndexSettings
    variables: tuple[tuple[str, str], ...]
    host: str
    readable: tuple[str, ...] = ()
    keep: bool = False
    canaries: str = ""
