"""The `site` room's printer: pages -> HTML with Jinja templates, and the static files."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from importlib import metadata, resources
from inspect import isfunction
from itertools import chain
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markupsafe import Markup

from compat import errors
from compat.advise import request
from compat.policy import calendar, propose
from compat.results import answer, table
from compat.results.answer import Answer
from compat.site import (
    documents,
    page_list,
    paths,
    pictures,
    reports,
    results,
    status,
    why_words,
    wording,
)
from compat.site.edition import Edition, MatrixReport, SiteFile, lock_commands
from compat.site.page_list import Page, pages, problem_link, section_paths
from compat.site.results import Doc

# What no HTML may hold becomes a replacement sign.
_UNPRINTABLE: dict[int, str] = {
    code: "\ufffd" for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if code not in (9, 10, 13)
}
# Marks that turn the reading direction are shown by their number, so that no name can style like
# another one.
_BIDI = {
    code: f"\\u{code:04x}"
    for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x061C)
}

_PREFORMATTED = re.compile(r"(<pre\b.*?</pre>|<textarea\b.*?</textarea>)", re.DOTALL)
_BETWEEN_TAGS = re.compile(r">[^<>]*&#3[49];[^<>]*<")
_INDENTATION = re.compile(r"\n\s+")
_HEADING = re.compile(r"<(h[23])>(.*?)</h[23]>", re.DOTALL)
_BETWEEN_FILES = re.compile(r'href="(?P<name>[A-Za-z][A-Za-z-]*\.md)"')


class _Kept(BytecodeCache):
    """Templates are compiled once in a process, which may print many editions."""

    codes: dict[str, CodeType | None] = {}  # noqa: RUF012

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self.codes.get(bucket.key + bucket.checksum)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.codes[bucket.key + bucket.checksum] = bucket.code


class Printer:
    """Writes the pages of an edition from its templates into a folder."""

    def __init__(self, edition: Edition, folder: Path) -> None:
        self.edition = edition
        self.folder = folder
        # The paths of the pages that came and whose content has no other address.
        self.own: list[str] = []
        self._environment = Environment(
            loader=FileSystemLoader(folder / "templates"),
            bytecode_cache=_Kept(),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=printable,
        )
        self._environment.filters |= _of_modules(_functions) | _FILTERS | _filters_of(edition)
        self._environment.tests["paged"] = results.entry_page
        self._environment.globals |= _of_modules(
            lambda module: filter(str.isupper, vars(module))
        ) | {
            "VERSION": metadata.version("compat-matrix"),
            "edition": edition,
            "paths": paths,
        }

    def files(self) -> Iterator[SiteFile]:
        for path in sorted((self.folder / "static").iterdir()):
            # Browsers ask for this one at the root, whatever a page says.
            folder = "" if path.name == "favicon.ico" else "static/"
            yield SiteFile(path=f"{folder}{path.name}", content=path.read_bytes())
        for page in chain(pages(self.edition), self._about()):
            if not page.canonical:
                self.own.append(page.path)
            yield SiteFile(path=page.path, content=self.html(page))
        # What a program can read here: https://llmstxt.org/
        yield SiteFile(path="llms.txt", content=self._print("llms.txt", "llms.txt"))

    def _about(self) -> Iterator[Page]:
        contents = (self.folder / "pages" / "README.md").read_text(encoding="utf-8")
        # The sidebar has the headings and links of the contents without their descriptions.
        contents = re.sub(r"\): .*$", ")", contents.partition("\n## ")[2], flags=re.MULTILINE)
        contents = f"## {contents}"
        for path in sorted((self.folder / "pages").glob("*.md")):
            first, _, text = path.read_text(encoding="utf-8").partition("\n")
            page_path = paths.about_path(path.name)
            yield Page(
                path=page_path,
                template="about.html",
                title=first.removeprefix("# "),
                view=SimpleNamespace(
                    text=documentation_html(text, page_path),
                    contents=Markup(
                        re.sub(r' id="[^"]*"', "", documentation_html(contents, page_path))
                    ),
                ),
            )

    def html(self, page: Page) -> bytes:
        # A page about no matrix uses the first one.
        report = self.edition.report(page.matrix or self.edition.reports[0].name)
        return self._print(
            page.template,
            page.path,
            page=page,
            view=page.view,
            report=report,
            menu=Doc(home=paths.page(report.name), paths=section_paths(report)),
            problem_link=problem_link(self.edition, page),
        )

    def moved(self, path: str, target: str) -> bytes:
        return self._print("moved.html", path, view=target)

    def _print(self, template: str, path: str, **shown: Any) -> bytes:
        text = self._environment.get_template(template).render(
            folders=None if path == paths.NOT_FOUND else path.split("/")[:-1],
            root=urlsplit(self.edition.base_url).path,
            **shown,
        )
        if not template.endswith(".html"):
            return text.encode()
        # Between tags a quotation mark needs no entity, and a line no indentation.
        parts = _PREFORMATTED.split(_BETWEEN_TAGS.sub(_bare, text))
        parts[::2] = (_INDENTATION.sub("\n", part) for part in parts[::2])
        return "".join(parts).encode(errors="replace")


def _bare(text: re.Match[str]) -> str:
    return text[0].replace("&#39;", "'").replace("&#34;", '"')


def printable(value: Any) -> Any:
    """Leave out what a page cannot hold and what lies about the order of characters."""
    if isinstance(value, Markup):
        return value
    # What is no text becomes one here, so that an outcome is cleaned, too.
    text = str(value)
    is_plain = text.isascii() and text.isprintable()
    return text if is_plain else text.translate(_UNPRINTABLE | _BIDI)


@lru_cache(maxsize=64)
def documentation_html(text: str, path: str) -> Markup:
    rendered = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    first, *rest = rendered.replace("</table>", "</table></section>").split("<table>")
    # Each region of a page needs a name of its own.
    # https://dequeuniversity.com/rules/axe/4.10/landmark-unique
    tables = (
        f'<section class="scroll" aria-label="Table {number}" tabindex="0"><table>{part}'
        for number, part in enumerate(rest, start=1)
    )
    prefix = "../" * path.count("/")

    def address(match: re.Match[str]) -> str:
        return f'href="{prefix}{paths.address(paths.about_path(match["name"]))}"'

    # Long lines scroll inside their block, and what scrolls must be reachable by keyboard.
    # https://dequeuniversity.com/rules/axe/4.10/scrollable-region-focusable
    rendered = "".join((first, *tables)).replace("<pre>", '<pre tabindex="0">')
    rendered = _HEADING.sub(
        lambda found: f'<{found[1]} id="{heading_id(found[2])}">{found[2]}</{found[1]}>', rendered
    )
    return Markup(_BETWEEN_FILES.sub(address, rendered))


def heading_id(heading: str) -> str:
    plain = re.sub(r"<[^>]*>|&\w+;|[^a-z0-9_ -]", "", heading.lower())
    return plain.strip().replace(" ", "-")


def assets() -> Path:
    # In the repository a link to `site/`, and `pages/` in it one to `docs/`; a wheel has the files.
    return Path(str(resources.files("compat.site"))) / "assets"


@pass_context
def _to(context: Context, path: str) -> str:
    folders, parts = context["folders"], paths.address(path).split("/")
    # A host shows this page at every address that it does not know, so its links begin at the root
    # of the host.
    if folders is None:
        return f"{context['root']}{'/'.join(parts)}"
    same = 0
    while same < min(len(folders), len(parts) - 1) and folders[same] == parts[same]:
        same += 1
    return "../" * (len(folders) - same) + "/".join(parts[same:]) or "./"


def ticked(text: str) -> Markup:
    parts = printable(wording.plain_dates(text)).split("`")
    if len(parts) % 2 == 0:
        return Markup.escape("`".join(parts))
    shown = (
        Markup("<code>{}</code>").format(part) if n % 2 else Markup.escape(part)
        for n, part in enumerate(parts)
    )
    return Markup("").join(shown)


def sentence(text: str) -> str:
    text = wording.plain_dates(text)
    first = text.partition(" ")[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() else text
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."


def _filters_of(edition: Edition) -> dict[str, Callable[..., Any]]:

    def shown(show: Callable[[MatrixReport, Answer], Any]) -> Callable[[Any], Any]:
        return lambda entry: show(edition.report(entry.cell.matrix), entry)

    return {
        "style": shown(lambda report, entry: results.look(entry, report.siblings(entry))),
        "place": shown(
            lambda report, entry: wording.combination_words(entry.cell, report.snapshot.matrix)
        ),
        "recipe": shown(lambda _, entry: results.recipe_words(entry)),
        "cell_path": shown(lambda _, entry: results.entry_page(entry)),
        "failing": shown(results.failing),
        "document": shown(partial(documents.last_cell_document, edition)),
        "card": shown(lambda report, e: report.advisor.card(e) if e.is_proof else None),
        "tiles": shown(reports.tiles),
        "words": shown(reports.words),
        "commands": lambda card, report: lock_commands(edition, report, card.lock, card.lifted),
    }


# What templates use of other modules, by its own name: functions are filters, constants are there
# as they are.
_MODULES = (
    *(errors, request, calendar, propose, answer, status, table, why_words),
    *(documents, page_list, reports, results, wording, pictures),
)


def _of_modules(names: Callable[[ModuleType], Iterable[str]]) -> dict[str, Any]:
    return {name: getattr(module, name) for module in _MODULES for name in names(module)}


def _functions(module: ModuleType) -> list[str]:
    own = vars(module).items()
    return [n for n, f in own if isfunction(f) and f.__module__ == module.__name__ and n[0] != "_"]


_FILTERS = {
    "tally": lambda values: Counter(values).most_common(),
    "to": _to,
    "lines": lambda text: "\n".join(line.rstrip() for line in text.split("\n")),
    "number": lambda value: f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}",
    "sentence": sentence,
    "ticked": ticked,
    "segment": paths.segment,
}
