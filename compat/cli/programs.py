"""What other programs ask a published site: MCP clients, and audits of environments."""

import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import requests

from compat import files
from compat.cli.arguments import argument, option
from compat.cli.options import needs_extra
from compat.cli.output import note, say
from compat.errors import CompatError, IndexUnreachable, UsageError
from compat.site.answers import Answers
from compat.site.paths import ADVISORIES
from compat.site.serve import AdvisoryService

SITE = argument("Folder or URL of a published site (default: public).", metavar="[SITE]")


class _Site:
    """The files of a published site, each read once."""

    def __init__(self, place: str) -> None:
        self._place, self._session = place or "public", requests.Session()
        self.json = cache(self._json)

    def bytes(self, path: str) -> bytes | None:
        if "://" not in self._place:
            return files.read_if_there(Path(self._place, path))
        address = f"{self._place.rstrip('/')}/{path}"
        try:
            answer = self._session.get(address, timeout=30)
            if answer.status_code == requests.codes.not_found:
                return None
            answer.raise_for_status()
        except requests.RequestException as error:
            raise IndexUnreachable.of(f"{address} did not answer: {error}") from error
        return answer.content

    def _json(self, path: str) -> Any:
        content = self.bytes(path)
        return None if content is None else json.loads(content)


def mcp_command(site: str = SITE) -> None:
    """Answer programs over MCP, from a published site.

    Four tools over stdin and stdout: what works, why not, how to install it, and where an API
    begins and ends. Each answer has its record and day.

    Examples: compat site mcp public; compat site mcp https://example.org/compat/
    """
    needs_extra("mcp", "mcp")
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    source = _Site(site)
    known = cache(lambda package: Answers(source.json, package))
    server = MCPServer("compat", instructions="Which versions work together, proven by runs.")

    def told(package: str, tool: str, text: str) -> str:
        try:
            return str(getattr(known(package), tool)(text))
        except CompatError as error:
            # A client shows what a tool raises; a fault has its remedy in the same line.
            raise ToolError(error.faults[0].line()) from error

    @server.tool(structured_output=False)
    def what_works(package: str, versions: str = "") -> str:
        """Return the best tested combinations; `versions` as in `python==3.11 numpy<2`."""
        return told(package, "what_works", versions)

    @server.tool(structured_output=False)
    def why_not(package: str, versions: str = "") -> str:
        """Explain why these versions do not work together."""
        return told(package, "why_not", versions)

    @server.tool(structured_output=False)
    def install(package: str, versions: str = "") -> str:
        """Return the commands that install the best tested combination."""
        return told(package, "install", versions)

    @server.tool(structured_output=False)
    def boundary(package: str, api: str) -> str:
        """Return in which releases a capability or a name of an API works, fails, or is missing."""
        return told(package, "boundary", api)

    server.run("stdio")


def advisories_command(site: str = SITE, port: int = option("Local port.", default=8001)) -> None:
    """Serve the advisories of a site to `uv audit` and `pip-audit`.

    Audits use POST, which a static site does not support. A conflict is reported if all its
    packages are in one audit. The URL contains the Python version, as audits do not send theirs.

    Examples: compat site advisories public; uv audit --no-cache --service-url
    http://127.0.0.1:8001/3.11/; pip-audit -s osv --osv-url http://127.0.0.1:8001/3.11/v1/query
    """
    content = _Site(site).bytes(ADVISORIES)
    if content is None:
        raise UsageError.of("no advisories are published there", hint="compat publish writes some")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        documents = [json.loads(archive.read(name)) for name in archive.namelist()]
    with AdvisoryService(documents, port) as service:
        say(f"{service.url}3.11/ serves {len(documents)} advisories for Python 3.11")
        note("Ctrl+C ends it")
        service.wait()
