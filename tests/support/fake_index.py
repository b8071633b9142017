"""A package index on this machine that answers as it is told: well, badly, slowly, or not at
all.
"""

import contextlib
import gzip
import hashlib
import html
import io
import json
import re
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON = "application/vnd.pypi.simple.v1+json"
HTML = "application/vnd.pypi.simple.v1+html"


@dataclass
class File:
    """A file on a project page."""

    filename: str
    url: str = ""
    sha256: str = ""
    requires_python: str | None = None
    uploaded: str | None = None
    yanked: bool | str = False
    metadata: bool | None = None


@dataclass
class Asked:
    """A request that came in."""

    path: str
    headers: Mapping[str, str]
    at: float


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: "Server"

    def do_GET(self) -> None:
        """Answer with the next reply laid out for the path; the last one is repeated."""
        fake = self.server.fake
        fake.asked.append(Asked(self.path, dict(self.headers.items()), time.monotonic()))
        replies = fake.replies.get(self.path, [status(404)])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            reply(self)
        self.close_connection = True

    def write(self, body: bytes) -> None:
        """Send a part of the body at once, and count it."""
        self.server.fake.sent += len(body)
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


Reply = Callable[[Handler], None]


class Server(ThreadingHTTPServer):
    """The server; its threads do not outlive the tests."""

    daemon_threads = True
    block_on_close = False
    fake: "FakeIndex"


@dataclass
class FakeIndex:
    """The index: what it was asked, how many bytes of bodies it sent, and what it answers on which
    path.
    """

    asked: list[Asked] = field(default_factory=list)
    sent: int = 0
    replies: dict[str, list[Reply]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.fake = self
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.url = f"{self.root}/simple/"

    def answers(self, path: str, *replies: Reply) -> None:
        """Lay out the replies for a path."""
        self.replies[path] = list(replies)

    def page(self, name: str, *replies: Reply) -> None:
        """Lay out the replies for a project page."""
        self.answers(f"/simple/{name}/", *replies)

    def paths(self) -> list[str]:
        """Return the paths asked for, in order."""
        return [asked.path for asked in self.asked]

    def stop(self) -> None:
        """Go down: from now on connections are refused."""
        self.server.shutdown()
        self.server.server_close()


def body(content: bytes, kind: str, **headers: str) -> Reply:
    """Answer 200 with the content."""

    def reply(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.write(content)

    return reply


def status(code: int, **headers: str) -> Reply:
    """Answer with the status and a body that means nothing."""

    def reply(handler: Handler) -> None:
        handler.send_response(code)
        handler.send_header("Content-Length", "2")
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.write(b"no")

    return reply


def in_json(files: Iterable[File]) -> Reply:
    """Answer with a project page in JSON (PEP 691)."""
    return body(json.dumps(json_page(files)).encode(), JSON)


def json_page(files: Iterable[File]) -> dict[str, object]:
    """Return a project page as PEP 691 has it."""
    listed = []
    for file in files:
        entry: dict[str, object] = {
            "filename": file.filename,
            "url": file.url or f"/files/{file.filename}",
            "hashes": {"sha256": file.sha256} if file.sha256 else {},
            "yanked": file.yanked,
        }
        optional = {
            "requires-python": file.requires_python,
            "upload-time": file.uploaded,
            "core-metadata": file.metadata,
        }
        listed.append(entry | {key: value for key, value in optional.items() if value is not None})
    return {"meta": {"api-version": "1.1"}, "name": "thing", "versions": [], "files": listed}


def in_html(files: Iterable[File], kind: str = "text/html") -> Reply:
    """Answer with a project page in HTML (PEP 503)."""
    links = []
    for file in files:
        href = (file.url or f"/files/{file.filename}") + (
            f"#sha256={file.sha256}" if file.sha256 else ""
        )
        attributes = {"href": href, "data-requires-python": file.requires_python}
        attributes["data-yanked"] = (
            None if file.yanked is False else "" if file.yanked is True else file.yanked
        )
        attributes["data-upload-time"] = file.uploaded
        attributes["data-core-metadata"] = (
            None if file.metadata is None else str(file.metadata).lower()
        )
        shown = " ".join(
            f'{key}="{html.escape(text)}"' for key, text in attributes.items() if text is not None
        )
        links.append(f"<a {shown}>{file.filename}</a>")
    return body(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), kind)


def drip(content: bytes, seconds: float, kind: str = JSON) -> Reply:
    """Answer a byte at a time, so that no single read takes long."""

    def reply(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        for byte in content:
            handler.write(bytes([byte]))
            time.sleep(seconds)

    return reply


def drip_headers(seconds: float) -> Reply:
    """Send a header line that never ends, a byte at a time."""

    def reply(handler: Handler) -> None:
        handler.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
        for _ in range(200):
            handler.write(b"x")
            time.sleep(seconds)

    return reply


def silent(seconds: float) -> Reply:
    """Take the request and say nothing."""
    return lambda handler: time.sleep(seconds)


def truncated(content: bytes, kind: str = JSON, code: int = 200) -> Reply:
    """Announce more than is sent."""

    def reply(handler: Handler) -> None:
        handler.send_response(code)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content) + 1000))
        handler.end_headers()
        handler.write(content)

    return reply


def bomb(size: int, kind: str = JSON) -> Reply:
    """Answer with zeros that compress well."""
    return body(gzip.compress(b"0" * size), kind, Content_Encoding="gzip")


def ranges(content: bytes) -> Reply:
    """Answer range requests (RFC 9110, 14.2), a suffix range too."""

    def reply(handler: Handler) -> None:
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", handler.headers.get("Range", ""))
        if found is None:
            body(content, "application/octet-stream")(handler)
            return
        first, last = found.groups()
        start = int(first) if first else max(0, len(content) - int(last))
        end = min(int(last), len(content) - 1) if first and last else len(content) - 1
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {start}-{end}/{len(content)}")
        handler.send_header("Content-Length", str(end - start + 1))
        handler.end_headers()
        handler.write(content[start : end + 1])

    return reply


def by_request(of_ranges: Reply, of_the_whole: Reply) -> Reply:
    """Answer requests for ranges one way and others another way."""
    return lambda handler: (of_ranges if "Range" in handler.headers else of_the_whole)(handler)


def metadata(name: str = "thing", version: str = "1.0", *lines: str) -> bytes:
    """Return the text of a METADATA."""
    return "\n".join(
        ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, "", "Text")
    ).encode()


def wheel(text: bytes | None, padding: int = 0, folder: str = "thing-1.0.dist-info") -> bytes:
    """Return a wheel with that METADATA (or none) and so many bytes of other contents, which do not
    compress.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("thing/__init__.py", "")
        block = b"".join(
            hashlib.sha256(str(number).encode()).digest() for number in range(padding // 32)
        )
        archive.writestr("thing/padding.bin", block)
        archive.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\n")
        if text is not None:
            archive.writestr(f"{folder}/METADATA", text)
        archive.writestr(f"{folder}/RECORD", "")
    return packed.getvalue()
