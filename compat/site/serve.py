"""The `site` room's preview: a server on the loopback, and a watch over the files that a site is made from."""

from collections.abc import Callable, Iterable
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

from compat.loopback import Loopback

State = frozenset[tuple[str, int, int]]


class Preview(Loopback):
    """Serves a folder on the loopback until it is closed."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        """Take the folder; the port is bound at once, an OSError says that it is taken."""
        super().__init__(partial(_Answer, directory=str(folder)), port)


def watch(folders: Iterable[Path], rebuild: Callable[[], None], wait: Callable[[], bool]) -> None:
    """Call `rebuild` whenever a file below the folders changed; `wait` pauses, and says whether to go on."""
    roots = tuple(folders)
    before = state(roots)
    while wait():
        now = state(roots)
        if now != before:
            before = now
            rebuild()


def state(folders: Iterable[Path]) -> State:
    """Return what can be seen of the files below the folders: path, time of change in nanoseconds, size."""
    found = set()
    for folder in folders:
        for path in folder.rglob("*"):
            try:
                status = path.stat()
            except OSError:
                continue
            if path.is_file():
                found.add((str(path), status.st_mtime_ns, status.st_size))
    return frozenset(found)


class _Answer(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a preview is not a log."""
