"""What is wrong with a matrix's suite, as far as it can be known without a cell."""

from functools import cache

import msgspec

from compat.errors import Fault
from compat.lock.kept_lock import kept_lock
from compat.plan.requirements import published_names
from compat.run.suitefiles import settings_texts
from compat.value import encode
from compat.workspace import Workspace


def faults_of_suite(workspace: Workspace) -> tuple[Fault, ...]:
    """Return the faults of the suite; they are kept as long as its files and what they are held
    against stay the same.
    """
    folder = workspace.suite_folder
    texts = workspace.suite_texts | settings_texts(folder) if folder.is_dir() else None

    def look() -> bytes:
        from compat.declare.suite import suite_faults
        from compat.declare.suite_imports import Brought

        @cache
        def brought() -> Brought:
            locks = (kept_lock(lock_path) for _, lock_path in workspace.lock_paths())
            pins = [{pin.name for pin in lock.pins} for lock in locks]
            catalogue = workspace.kept_catalogue
            published = published_names(() if catalogue is None else catalogue.packages)
            return Brought(names=published.union(*pins), locked=bool(pins))

        path = f"matrices/{workspace.name}/matrix.toml"
        return encode(suite_faults(workspace.matrix, texts, path, brought))

    body = workspace.keep(
        "suite-faults", (encode(texts), encode(workspace.lock_digests.states)), look
    )
    return msgspec.json.decode(body, type=tuple[Fault, ...])
