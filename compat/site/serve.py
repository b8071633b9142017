"""The `site` room's servers on the loopback: of a site, and of advisories."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.loopback import Answering, Loopback
from compat.site.exports.advisories import met
from compat.site.paths import NOT_FOUND

# A lock of a thousand packages asks with some 100 kB.
_MOST_ASKED = 2**22
_OWN_NAMES = frozenset(("127.0.0.1", "localhost"))


class Preview(Loopback):
    """Serves a folder on the loopback until it is closed."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        super().__init__(partial(_Answer, directory=str(folder)), port)


class AdvisoryService(Loopback):
    """Answers audits as the service of the Open Source Vulnerability database does:
    https://google.github.io/osv.dev/api/. An address may begin with a series of Python.
    """

    def __init__(self, documents: Sequence[Mapping[str, Any]], port: int = 0) -> None:
        handler = type("_Audited", (_Audit,), {"documents": documents})
        super().__init__(handler, port)


class _OwnNames(Answering):
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


class _Audit(_OwnNames):
    # pip-audit asks about one package at a time, over one connection: what it asked about before is
    # remembered as long as that lasts.
    protocol_version = "HTTP/1.1"
    documents: Sequence[Mapping[str, Any]] = ()

    def setup(self) -> None:
        super().setup()
        self.asked: dict[str, Version] = {}
        self.told: set[str] = set()

    def do_GET(self) -> None:
        name = self.path.rpartition("/v1/vulns/")[2]
        matching = [document for document in self.documents if document["id"] == name]
        self._send(matching[0] if matching else None)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        place, _, what = self.path.strip("/").rpartition("v1/")
        if length > _MOST_ASKED or what not in ("query", "querybatch"):
            self.close_connection = True
            self._send(None)
            return
        try:
            asked = json.loads(self.rfile.read(length))
            queries = asked["queries"] if what == "querybatch" else [asked]
            names = [canonicalize_name(query["package"]["name"]) for query in queries]
            versions = [Version(query["version"]) for query in queries]
        except (ValueError, KeyError, TypeError):
            self.send_error(HTTPStatus.BAD_REQUEST, "no query of a package and its version")
            return
        own: dict[str, Version] = dict(zip(names, versions, strict=True))
        environment = own if what == "querybatch" else self.asked | own
        hits = {d["id"]: (met(d, environment, place.strip("/")), d) for d in self.documents}
        if what == "querybatch":
            ids = [[{"id": key} for key in hits if hits[key][0] == name] for name in names]
            self._send({"results": [{"vulns": each} if each else {} for each in ids]})
            return
        self.asked = environment
        # Reported with the package that completes the conflict.
        new = [d for key, (subject, d) in hits.items() if subject and key not in self.told]
        self.told |= {document["id"] for document in new}
        self._send({"vulns": new} if new else {})

    def _send(self, document: Any) -> None:
        content = json.dumps({} if document is None else document).encode()
        status = HTTPStatus.NOT_FOUND if document is None else HTTPStatus.OK
        self.answer(status, "application/json", content)


class _Answer(_OwnNames, SimpleHTTPRequestHandler):
    def send_head(self) -> Any:
        folder = Path(self.directory).resolve()
        path = Path(self.translate_path(self.path)).resolve()
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
        self.answer(HTTPStatus.NOT_FOUND, "text/html; charset=utf-8", page.read_bytes())
