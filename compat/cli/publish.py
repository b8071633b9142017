"""`compat publish`, `compat site serve` and `compat site check`."""

import datetime
import time
from pathlib import Path

from compat import files, pipeline
from compat.cli.arguments import Exit, argument, matrices_folder, matrix_names, option
from compat.cli.machine import environ, today
from compat.cli.options import day_of, needs_extra, workspace_of
from compat.cli.output import answer, note, say
from compat.errors import UsageError
from compat.github.client import owner_and_name
from compat.site.edition import Edition
from compat.site.serve import Preview
from compat.site.wording import count
from compat.site.writer import URLS, Written, verified, weights

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
