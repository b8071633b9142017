"""Commands about the site: publish it into a folder, or look at it while it changes."""

import contextlib
import datetime
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from compat import files, pipeline
from compat.cli.output import envelope, note, report, say
from compat.cli.setting import Json, Root, Setting, environ, matrices_folder, matrix_names, today
from compat.cli.stand import Stand
from compat.declare.capabilities import described
from compat.errors import CompatError, UsageError, reason
from compat.github.rest import owner_and_name
from compat.results.record import Record
from compat.site.edition import DigestListing, Edition, Made, MatrixReport, SiteFile
from compat.site.pages.render import Printer, assets, generation
from compat.site.pages.weights import Weight, weights
from compat.site.producers import PRODUCERS
from compat.site.serve import Preview, watch
from compat.site.verify import verified
from compat.site.wording import count
from compat.site.writer import URLS, Written, read_urls, write_edition

PREVIEW_URL = "http://127.0.0.1:8000/"
Names = Annotated[
    list[str] | None, typer.Argument(metavar="[MATRIX...]", help="Without any, all; largest first.")
]
Out = Annotated[Path, typer.Option("--out", help="The folder that the site is written into.")]
Today = Annotated[
    str, typer.Option("--today", help="The day it speaks for; else SOURCE_DATE_EPOCH, else today.")
]
Repository = Annotated[
    str,
    typer.Option(
        "--repository", help="owner/name on GitHub that takes reports; else GITHUB_REPOSITORY."
    ),
]


class Shelf:
    """Where a published matrix is read from."""

    def __init__(self, stand: Stand) -> None:
        """Take where the matrix stands."""
        self._stand = stand

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first."""
        return self._stand.records(cell)

    def lock_text(self, cell: str) -> str | None:
        """Return the text of a cell's lock; None when it has none."""
        path = pipeline.lock_path(self._stand.setting.folder, cell)
        return path.read_text(encoding="utf-8") if path.exists() else None


def publish_command(
    matrix: Names = None,
    out: Out = Path("public"),
    base_url: Annotated[
        str, typer.Option("--base-url", help="The address under which it will stand.")
    ] = PREVIEW_URL,
    day: Today = "",
    repository: Repository = "",
    keep_urls: Annotated[
        bool, typer.Option("--keep-urls", help="Note all addresses in matrices/urls.json.")
    ] = False,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Write the site of matrices as static files. Asks no index. What is as before is left alone.

    Examples: compat publish --out public --base-url https://example.org/compat/; compat publish tff
    --out public
    """
    began = time.monotonic()
    written = write_site(matrix, out, base_url, _day(day), root, _repository(repository))
    found = weights({path: known.gzipped for path, known in written.files.items() if known.gzipped})
    heavy = [one for one in found if one.is_over]
    if keep_urls:
        files.write(matrices_folder(root) / URLS, (out / URLS).read_text(encoding="utf-8"))
    if as_json:
        changed = list(written.changed)
        envelope(
            {
                "changed": changed,
                "unchanged": written.unchanged,
                "moved": list(written.moved),
                "weights": found,
            }
        )
    else:
        told = (
            f"{len(written.changed)} files written, {written.unchanged} as before,"
            f" {len(written.moved)} redirects"
        )
        say(f"{out}: {told}")
    for one in found:
        note(_figure(one))
    note(f"compat: {len(written.files)} files in {time.monotonic() - began:.1f} s")
    for one in heavy:
        note(
            f"compat: {one.heaviest} weighs {one.size} bytes gzipped, more than the {one.most} of"
            " its kind"
        )
    raise typer.Exit(1 if heavy else 0)


def serve_command(
    matrix: Names = None,
    out: Out = Path("public"),
    port: Annotated[int, typer.Option("--port", help="The port on the loopback.")] = 8000,
    day: Today = "",
    root: Root = None,
) -> None:
    """Publish into a folder, show it on this machine's loopback, and publish again whenever
    something changes.

    Examples: compat serve; compat serve tff --port 8080
    """

    def rebuild() -> None:
        began = time.monotonic()
        try:
            written = write_site(matrix, out, PREVIEW_URL, _day(day), root, _repository(""))
        except CompatError as error:
            note(f"compat: {error}")
            return
        note(f"compat: {len(written.changed)} files written in {time.monotonic() - began:.1f} s")

    rebuild()
    try:
        preview = Preview(out, port)
    except OSError:
        raise UsageError.of(f"port {port} is taken", hint="--port takes another one") from None
    with preview:
        say(f"{preview.url} shows {out}; Ctrl+C ends it")
        # In the repository the pages are a link, which a walk of the folder above it does not
        # follow.
        watch((matrices_folder(root), assets(), assets() / "pages"), rebuild, _a_second_later)


def edition_of(
    names: list[str] | None,
    root: Path | None,
    base_url: str,
    day: datetime.date,
    repository: str = "",
) -> Edition:
    """Return the edition of these matrices, in their order; without names of all, the largest
    first.
    """
    known = names or list(matrix_names(matrices_folder(root)))
    volumes = [_volume(Stand(Setting(name, root), day)) for name in known]
    if not volumes:
        raise UsageError.of("no matrix is declared here")
    if not names:
        volumes.sort(key=lambda one: (-len(one.snapshot.entries), one.name))
    return Edition(volumes, base_url, day, repository)


def verify_command(
    folder: Annotated[Path, typer.Argument(help="A published site, or a copy of it.")],
    as_json: Json = False,
) -> None:
    """Tell whether a published site is one edition and whole, by the digests in its own list.

    Exit code 1 when not.

    The list, files.json, has every page, badge, feed and document; what is changed, missing or
    added is named.

    Examples: compat verify public
    """
    if not folder.is_dir():
        raise UsageError.of("is not a directory", path=str(folder))
    checked = verified(folder)
    if as_json:
        envelope({"listed": checked.listed}, checked.faults)
    else:
        say(
            f"{folder}: {count(checked.listed, 'file')} listed,"
            f" {count(len(checked.faults), 'fault')}"
        )
        report(checked.faults)
    raise typer.Exit(1 if checked.faults else 0)


def _volume(stand: Stand) -> MatrixReport:
    suite = pipeline.suite_texts(stand.setting.folder, stand.setting.ask.matrix)
    return MatrixReport(stand.picture, Shelf(stand), suite, described(suite))


def write_site(
    names: list[str] | None,
    out: Path,
    base_url: str,
    day: datetime.date,
    root: Path | None,
    repository: str = "",
) -> Written:
    """Write the site of these matrices into a folder; see `edition_of`."""
    edition = edition_of(names, root, base_url, day, repository)
    printer = Printer(edition, assets())
    earlier = _kept_urls(matrices_folder(root) / URLS)
    with _alone(out):
        return write_edition(out, _files(edition, printer), generation(), earlier, printer.moved)


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Write the folder with nobody else: two editions in one folder are neither of them."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = files.lock(out)
    except OSError as fault:
        raise CompatError.of(f"cannot be written: {reason(fault)}", path=str(out)) from None
    if lock is None:
        remedy = "wait until it has ended, or name another folder with --out"
        raise CompatError.of(
            "another compat writes into this folder now", path=str(out), hint=remedy
        )
    try:
        yield
    finally:
        os.close(lock)


def _kept_urls(path: Path) -> tuple[str, ...]:
    """The addresses that the owner of the matrices keeps beside them: those of every edition,
    wherever it was made.
    """
    content = files.read_if_there(path)
    try:
        return () if content is None else read_urls(content)
    except ValueError as fault:
        raise UsageError.of(
            str(fault), path=str(path), hint="compat publish --keep-urls writes this file"
        ) from None


def _files(edition: Edition, printer: Printer) -> Iterator[SiteFile | Made | DigestListing]:
    yield from printer.files()
    for producer in PRODUCERS:
        yield from producer(edition)


def _day(text: str) -> datetime.date:
    if text:
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            raise UsageError.of(
                f"--today: {text!r} is no date", hint="a date looks like 2026-11-22"
            ) from None
    epoch = environ().get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return today()
    try:
        return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).date()
    except (ValueError, OverflowError, OSError):
        raise UsageError.of(f"SOURCE_DATE_EPOCH: {epoch[:40]!r} is no number of seconds") from None


def _repository(text: str) -> str:
    """The repository whose issues take reports; empty where neither the option nor the environment
    names one.
    """
    named = text or environ().get("GITHUB_REPOSITORY", "")
    return owner_and_name(named) if named else ""


def _figure(one: Weight) -> str:
    return (
        f"compat: {one.kind}: {one.count}, heaviest {one.size / 1024:.1f} of {one.most // 1024} KiB"
        " gzipped"
    )


def _a_second_later() -> bool:
    time.sleep(1)
    return True
