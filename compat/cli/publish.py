"""`compat publish` and the commands of `compat site`."""

import datetime
import io
import json
import time
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import requests

from compat import files, pipeline
from compat.cli.arguments import Exit, argument, matrices_folder, matrix_names, option
from compat.cli.machine import environ, today
from compat.cli.options import day_of, needs_extra, workspace_of
from compat.cli.output import answer, note, say
from compat.errors import CompatError, IndexUnreachable, UsageError
from compat.github.client import owner_and_name
from compat.site.edition import Edition
from compat.site.paths import ADVISORIES
from compat.site.publication import URLS, Written, verified, weights
from compat.site.serve import AdvisoryService, Answers, Preview
from compat.site.wording import count

PREVIEW_URL = "http://127.0.0.1:8000/"
NAMES = argument("Default: all, largest first.", metavar="[MATRIX...]")
OUT = option("Output folder.", metavar="FOLDER", default=Path("public"))
PUBLISH_DAY = option(
    "Publication date (default: SOURCE_DATE_EPOCH, then today).", "--today", metavar="DATE"
)


def publish_command(
    matrix: list[str] | None = NAMES,
    out: Path = OUT,
    base_url: str = option("Base URL of the site.", metavar="URL", default=PREVIEW_URL),
    day: str = PUBLISH_DAY,
    repository: str = option("owner/name on GitHub for reports (default: GITHUB_REPOSITORY)."),
    keep_urls: bool = option("Store all page addresses in matrices/urls.json."),
) -> None:
    """Write the site as static files.

    Works offline. Does not rewrite unchanged files.

    Examples: compat publish --out public --base-url https://example.org/compat/; compat publish tff
    --out public
    """
    began = time.monotonic()
    written = publish_site(matrix, out, base_url, _day(day), None, repository)
    seconds = time.monotonic() - began
    kinds = weights(written.gzipped)
    heavy = [kind for kind in kinds if kind.is_over]
    if keep_urls:
        files.write(matrices_folder() / URLS, (out / URLS).read_text(encoding="utf-8"))
    changed, moved = count(len(written.changed), "file"), count(len(written.moved), "redirect")
    document = {"changed": list(written.changed), "unchanged": written.unchanged}
    document |= {"moved": list(written.moved), "weights": kinds}
    answer(document, f"{out}: {changed} written, {written.unchanged} unchanged, {moved}", ())
    note(f"{count(len(written.files), 'file')} in {seconds:.1f} s")
    for kind in heavy:
        weighs = f"{kind.heaviest} weighs {kind.size} bytes gzipped"
        note(f"warning: {weighs}, more than the {kind.most} of its kind")
    raise Exit(1 if heavy else 0)


def serve_command(
    matrix: list[str] | None = NAMES,
    out: Path = OUT,
    port: int = option("Local port.", default=8000),
    day: str = PUBLISH_DAY,
) -> None:
    """Publish, and serve the site on this machine.

    Examples: compat site serve; compat site serve tff --port 8080
    """
    publish_site(matrix, out, PREVIEW_URL, _day(day), None)
    with Preview(out, port) as preview:
        say(f"{preview.url} shows {out}; Ctrl+C ends it")
        preview.wait()


def publish_site(
    names: list[str] | None,
    out: Path,
    base_url: str,
    day: datetime.date,
    root: Path | None,
    repository: str = "",
) -> Written:
    """Write the site of these matrices in their order; without names, of all, largest first."""
    needs_extra("site", "PIL")
    # Where neither the option nor the environment names a repository, no issues take reports.
    repository = repository or environ().get("GITHUB_REPOSITORY", "")
    repository = owner_and_name(repository) if repository else ""
    matrices = matrices_folder(root)
    workspaces = [workspace_of(name, root, day=day) for name in names or matrix_names(matrices)]
    if not workspaces:
        raise UsageError.of("no matrix is declared here")

    def edition() -> Edition:
        if not names:
            workspaces.sort(key=lambda place: (-len(place.snapshot.entries), place.matrix.name))
        return pipeline.edition_of(workspaces, base_url, day, repository)

    return pipeline.published(edition, matrices, out, (names, base_url, day, today(), repository))


def _day(text: str) -> datetime.date:
    if text:
        return day_of(text)
    epoch = environ().get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return today()
    try:
        return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).date()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError.of(
            f"SOURCE_DATE_EPOCH: {epoch[:40]!r} is not a number of seconds"
        ) from error


def verify_command(
    folder: Path = argument("A published site, or a copy of it.", metavar="FOLDER"),
) -> None:
    """Check that a published site is complete and unchanged.

    Exits 1 if not. Reports changed, missing and extra files against files.json.

    Examples: compat site check public
    """
    if not folder.is_dir():
        raise UsageError.of("is not a directory", path=str(folder))
    listed, faults = verified(folder)
    words = f"{count(listed, 'file')} listed, {count(len(faults), 'fault')}"
    answer({"listed": listed}, f"{folder}: {words}", (), faults)
    raise Exit(1 if faults else 0)


# What other programs ask a published site: MCP clients, and audits of environments.

SITE = argument("Folder or URL of a published site (default: public).", metavar="[SITE]")


class _Site:
    """The files of a published site, each read once."""

    def __init__(self, place: str) -> None:
        self._place, self._session = place or "public", requests.Session()
        self.json = cache(self._json)

    def bytes(self, path: str) -> bytes | None:
        if "://" not in self._place:
            return files.read_if_present(Path(self._place, path))
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
