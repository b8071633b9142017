"""A package index on this machine's loopback that shows the real one as the inputs of a lock see
it.
"""

import datetime
import html
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from packaging.utils import canonicalize_name

from compat.errors import IndexUnreachable, NoPage
from compat.index.release import Artifact, Package
from compat.index.source import ReleaseSource
from compat.loopback import Loopback

Until = Callable[[str], datetime.datetime | None]


class IndexView(Loopback):
    """A Simple index (PEP 503) over a ReleaseSource, without the files that came out after each
    package's date.

    pip has no dates of its own for the interpreters that we serve, so the index must have them. Use
    it as a context; `hidden` names the packages that lost files, `unreachable` holds the first
    fault that is not a missing page.
    """

    def __init__(self, source: ReleaseSource, until: Until) -> None:
        self._source = source
        self._until = until
        self.hidden: set[str] = set()
        self.unreachable: IndexUnreachable | None = None
        view = self

        class Answer(BaseHTTPRequestHandler):
            """One request."""

            def do_GET(self) -> None:
                """Answer with the page of a package."""
                status, text = view.page(self.path.strip("/").rpartition("/")[2])
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the resolver tells what matters."""

        super().__init__(Answer)

    @property
    def url(self) -> str:
        return f"{super().url}simple/"

    def page(self, name: str) -> tuple[HTTPStatus, str]:
        package = canonicalize_name(name)
        try:
            known = self._source.package(package)
        except NoPage:
            return HTTPStatus.NOT_FOUND, ""
        except IndexUnreachable as fault:
            self.unreachable = self.unreachable or fault
            return HTTPStatus.SERVICE_UNAVAILABLE, ""
        return HTTPStatus.OK, self._shown(known)

    def _shown(self, package: Package) -> str:
        until = self._until(package.name)
        lines = []
        for release in package.releases:
            for artifact in release.artifacts:
                if until is None or (artifact.uploaded is not None and artifact.uploaded < until):
                    lines.append(_anchor(artifact))
                else:
                    self.hidden.add(package.name)
        return "<!DOCTYPE html>\n<html><body>\n" + "\n".join(lines) + "\n</body></html>\n"


def _anchor(artifact: Artifact) -> str:
    address = f"{artifact.url}#sha256={artifact.sha256}" if artifact.sha256 else artifact.url
    attributes = [f'href="{html.escape(address)}"']
    if artifact.requires_python is not None:
        attributes.append(f'data-requires-python="{html.escape(str(artifact.requires_python))}"')
    if artifact.yanked:
        attributes.append('data-yanked=""')
    return f"<a {' '.join(attributes)}>{html.escape(artifact.filename)}</a>"
