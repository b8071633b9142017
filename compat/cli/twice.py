"""What `compat check` says of packages that stand on two package indexes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.errors import IndexUnreachable
from compat.index.discover import THREADS
from compat.lock.kept_lock import kept_lock
from compat.workspace import Workspace

Places = tuple[tuple[int, Version], ...]


def twice(workspace: Workspace) -> Iterator[str]:
    """Yield one line for each package of the matrix or its locks that several indexes have, and
    none without extras.

    An index that does not answer is a line, too: the declarations are sound whatever it says.
    """
    urls = workspace.index.urls
    if len(urls) < 2:
        return
    names = sorted(_names(workspace))

    def places(name: str) -> Places | IndexUnreachable:
        try:
            return workspace.source.places(name)
        except IndexUnreachable as fault:
            return fault

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(zip(names, pool.map(places, names), strict=True))
    for name, answer in answers:
        if isinstance(answer, IndexUnreachable):
            yield f"whether {name} stands on two indexes is not known: {answer.faults[0].message}"
        elif len(answer) > 1:
            listed = ", ".join(
                f"{version} on {_place(number, len(urls))}" for number, version in answer
            )
            merged = (
                'the newest version of all of them counts, because of indexes = "all" in'
                " matrix.toml"
            )
            rule = merged if workspace.index.merged else f"{_place(answer[0][0], len(urls))} counts"
            yield f"{name} stands on {len(answer)} indexes (newest: {listed}); {rule}"


def _names(workspace: Workspace) -> set[str]:
    matrix = workspace.matrix
    requirements = (*matrix.requirements, *matrix.suite.requirements)
    locks = (kept_lock(path) for _, path in workspace.lock_paths())
    return {
        *(axis.normalised_name for axis in matrix.packages),
        *(canonicalize_name(Requirement(text).name) for text in requirements),
        *(pin.name for lock in locks for pin in lock.pins),
    }


def _place(number: int, count: int) -> str:
    # An index by its place: its address may hold a password, or a name that is nobody's business.
    return "the main index" if number == count - 1 else f"extra index {number + 1}"
