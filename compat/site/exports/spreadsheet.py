"""The `site` room's table of cells as CSV (RFC 4180), for spreadsheets and data frames."""

import csv
import io
from collections.abc import Iterator

from compat.site.api.cell_documents import cell_summary
from compat.site.edition import Edition, MatrixReport, SiteFile, place_of
from compat.site.encode import fit
from compat.site.paths import cell_page, download_path
from compat.site.status import style_of

# A spreadsheet takes a text that begins so for a formula:
# https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def spreadsheets(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        content = spreadsheet(edition, report)
        yield SiteFile(path=download_path(report.name, "csv"), content=content)


def spreadsheet(edition: Edition, report: MatrixReport) -> bytes:
    """Return every known cell as a line: its versions, its verdict in words, and its page."""
    axes = [axis.name for axis in report.snapshot.matrix.axes]
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(
        ("cell", *axes, "recipe", "words", "state", "outcome", "latest", "runs", "stale", "page")
    )
    for entry in report.snapshot.known:
        summary = cell_summary(report, entry)
        cells = (
            summary.id,
            *(entry.cell.on(axis).number for axis in axes),
            summary.recipe,
            style_of(entry, report.places[place_of(entry.cell)]).word,
            summary.state,
            summary.outcome or "",
            summary.latest or "",
            summary.tested,
            "yes" if summary.stale else "no",
            edition.url(cell_page(entry.cell)),
        )
        table.writerow([harmless(fit(str(cell))) for cell in cells])
    return text.getvalue().encode()


def harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
