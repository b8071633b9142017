"""The `site` room's preview: a server on the loopback, and a watch over the files that a site is made from."""

import threading
from collections.abc import Callable, Iterable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

State = frozenset[tuple[str, int, int]]


class Preview:
    """Serves a folder on the loopback until it is closed; port 0 takes any free one. Use it as a context."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        """Take the folder; the port is bound at once, an OSError says that it is taken."""
        self._server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Answer, directory=str(folder)))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> "Preview":
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


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
