"""The `site` room's preview: a server on the loopback, and a watch over the files that a site is
made from.
"""

from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

from compat.loopback import Loopback
from compat.site.paths import NOT_FOUND

FileStates = frozenset[tuple[str, int, int]]
_OWN_NAMES = frozenset(("127.0.0.1", "localhost"))


class Preview(Loopback):
    """Serves a folder on the loopback until it is closed."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        super().__init__(partial(_Answer, directory=str(folder)), port)


def watch(folders: Iterable[Path], rebuild: Callable[[], None], wait: Callable[[], bool]) -> None:
    """Call `rebuild` whenever a file below the folders changed; `wait` pauses, and says whether to
    go on.
    """
    roots = tuple(folders)
    before = file_states(roots)
    while wait():
        now = file_states(roots)
        if now != before:
            before = now
            rebuild()


def file_states(folders: Iterable[Path]) -> FileStates:
    states = set()
    for folder in folders:
        for path in folder.rglob("*"):
            try:
                status = path.stat()
            except OSError:
                continue
            if path.is_file():
                states.add((str(path), status.st_mtime_ns, status.st_size))
    return frozenset(states)


class _Answer(SimpleHTTPRequestHandler):
    # A client that says nothing for so long is cut off, so that it does not hold one of the
    # connections.
    timeout = 10

    def parse_request(self) -> bool:
        """Refuse requests that do not name this machine.

        A page elsewhere can let its name point at 127.0.0.1 and read what stands here (DNS
        rebinding), but a browser sends that name in the header.
        """
        if not super().parse_request():
            return False
        name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if name.lower() in _OWN_NAMES:
            return True
        self.send_error(
            HTTPStatus.MISDIRECTED_REQUEST, f"ask for {' or '.join(sorted(_OWN_NAMES))}"
        )
        return False

    def send_head(self) -> Any:
        folder, path = (
            Path(self.directory).resolve(),
            Path(self.translate_path(self.path)).resolve(),
        )
        # A folder answers with its page, which may be such a link as well.
        if all(
            each.resolve().is_relative_to(folder)
            for each in (path, path / "index.html", path / "index.htm")
        ):
            return super().send_head()
        self.send_error(HTTPStatus.NOT_FOUND)
        return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = Path(self.directory, NOT_FOUND)
        if code != HTTPStatus.NOT_FOUND or page.is_symlink() or not page.is_file():
            super().send_error(code, message, explain)
            return
        content = page.read_bytes()
        self.send_response(HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
