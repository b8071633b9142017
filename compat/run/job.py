"""What a worker is given: the job, which says what to run, and the bench, which says with what."""

from compat.declare.suite_table import Suite, Tier
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Lock
from compat.run.evidence import Isolation
from compat.value import Value


class Job(Value, frozen=True, kw_only=True):
    """What is to be run: a lock, the suite, the subject's package and module, and where the suite
    stands.

    Without a suite folder the run ends after the import. With `links`, a folder of wheels, no index
    is asked. Of `builds`, each `name==version`, the source distribution is built where the lock
    says so; all else comes as wheels. A pin comes from this machine where `wheels`, the (sha256,
    path) of a checkout's, has a file for one of its hashes. Of tier `smoke`, only the suite's core
    capabilities run. Of the subject's files, those of `postponed`, paths below site-packages, are
    changed before anything is imported, see `run/postpone.py`: what comes of that says nothing
    about the release as it is. Tests and files of the suite that are `newer` than the subject's
    release, by their ids, are left out.
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
    postponed: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()


class Bench(Value, frozen=True, kw_only=True):
    """What a worker runs cells with: its folders, the interpreter, the isolation level, and how it
    reaches the index.

    `tag` and `magic` name the interpreter's bytecode. `variables` are what an install may see of
    the caller's environment; a suite sees nothing of it. An install writes into `sandbox`, which
    holds uv's cache and the cells, so that one mount serves both and files are hard links; a suite
    writes into its cell's home only. At L3 cells see no more of the machine than the system's own
    folders and what is `readable`. `keep` leaves the cell's folder in place.
    `canaries` is where is kept on which day a canary passed; empty to keep none.
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
