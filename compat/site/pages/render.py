"""The `site` room's printer: pages -> HTML with Jinja templates, and the static files."""

import datetime
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from importlib import metadata, resources
from itertools import chain
from pathlib import Path
from types import CodeType
from typing import Any
from urllib.parse import urlsplit

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.bccache import Bucket
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markupsafe import Markup

from compat.advise.request import label
from compat.policy.calendar import missing_command
from compat.policy.propose import affected_words
from compat.results.answer import STATE_WORDS, Answer, representative
from compat.results.record import Capability
from compat.results.table import SIGNS
from compat.site import paths, status, wording
from compat.site.api.documents import python_document
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.install_words import (
    INSTALL_STYLES,
    LANE_QUESTIONS,
    LANE_TITLES,
    floor_words,
    install_reason,
    lane_blame,
    no_prerelease_words,
    platform_title,
)
from compat.site.pages.advice import GOAL_WORDS, lock_commands, proven, tiles, words
from compat.site.pages.page_list import (
    TABS,
    Page,
    badge_markdown,
    badges,
    pages,
    problem_link,
    section_paths,
    titled,
)
from compat.site.pages.reports import proposal_diff, title_of
from compat.site.pages.results import (
    SHORT,
    Doc,
    entry_page,
    failing,
    install_evidence,
    look,
    matrix_health,
    recipe_words,
)
from compat.site.why_words import BLIND_SPOTS, place_lines, unreached_sentence

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
        self._environment.filters |= {**_FILTERS, **_filters_of(edition)}
        self._environment.globals |= {
            "NAMES_RECIPE": status.NAMES_RECIPE,
            "RECIPE_WORDS": wording.RECIPE_WORDS,
            "BLIND_SPOTS": BLIND_SPOTS,
            "TABS": TABS,
            "GOAL_WORDS": GOAL_WORDS,
            "SHORT": SHORT,
            "SIGNS": SIGNS,
            "KINDS": status.KIND_WORDS,
            "STATES": STATE_WORDS,
            "STYLE_OF_INSTALL": INSTALL_STYLES,
            "LANE_TITLES": LANE_TITLES,
            "LANE_QUESTIONS": LANE_QUESTIONS,
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
                document=partial(_about_view, text, contents, page_path),
            )

    def html(self, page: Page) -> bytes:
        # A page about no matrix uses the first one.
        report = self.edition.report(page.matrix or self.edition.reports[0].name)
        return self._print(
            page.template,
            page.path,
            page=page,
            view=page.document(),
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
def html_of_markdown(text: str) -> Markup:
    rendered = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    first, *rest = rendered.replace("</table>", "</table></section>").split("<table>")
    # Each region of a page needs a name of its own.
    # https://dequeuniversity.com/rules/axe/4.10/landmark-unique
    tables = (
        f'<section class="scroll" aria-label="Table {number}" tabindex="0"><table>{part}'
        for number, part in enumerate(rest, start=1)
    )
    return Markup("".join((first, *tables)))


def documentation_html(text: str, path: str) -> Markup:
    prefix = "../" * path.count("/")

    def address(match: re.Match[str]) -> str:
        return f'href="{prefix}{paths.address(paths.about_path(match["name"]))}"'

    # Long lines scroll inside their block, and what scrolls must be reachable by keyboard.
    # https://dequeuniversity.com/rules/axe/4.10/scrollable-region-focusable
    # A Markup would escape what is put in.
    rendered = str(html_of_markdown(text)).replace("<pre>", '<pre tabindex="0">')
    rendered = _HEADING.sub(
        lambda found: f'<{found[1]} id="{heading_id(found[2])}">{found[2]}</{found[1]}>', rendered
    )
    return Markup(_BETWEEN_FILES.sub(address, rendered))


def _about_view(text: str, contents: str, path: str) -> dict[str, Markup]:
    sidebar = re.sub(r' id="[^"]*"', "", documentation_html(contents, path))
    return {"text": documentation_html(text, path), "contents": Markup(sidebar)}


def heading_id(heading: str) -> str:
    plain = re.sub(r"<[^>]*>|&\w+;|[^a-z0-9_ -]", "", heading.lower())
    return plain.strip().replace(" ", "-")


def assets() -> Path:
    # In the repository a link to `site/`, and `pages/` in it one to `docs/`; a wheel has the files.
    return Path(str(resources.files("compat.site"))) / "assets"


def generation() -> str:
    """Return a digest of the installed code and templates: a change renders every file again."""
    package = Path(str(resources.files("compat")))
    total = hashlib.sha256()
    sources = {path.relative_to(package): path for path in package.rglob("*.py")}
    # Listed by itself: rglob goes through a link only where it begins at it (until Python 3.13,
    # which has an option).
    sources |= {path.relative_to(package): path for path in assets().rglob("*") if path.is_file()}
    for name, path in sorted(sources.items()):
        total.update(name.as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


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


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def sentence(text: str) -> str:
    text = wording.plain_dates(text)
    first = text.partition(" ")[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() else text
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."


def _day(value: datetime.date | datetime.datetime) -> str:
    return wording.day(value.date() if isinstance(value, datetime.datetime) else value)


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _why(capability: Capability) -> str:
    if capability.cause:
        return f"{wording.cause_words(capability.cause)}: {capability.subject}"
    return capability.subject


def _filters_of(edition: Edition) -> dict[str, Callable[..., Any]]:

    def shown(show: Callable[[MatrixReport, Answer], Any]) -> Callable[[Any], Any]:
        return lambda entry: show(edition.report(entry.cell.matrix), entry)

    return {
        "style": shown(lambda report, entry: look(entry, report.siblings(entry))),
        "place": shown(
            lambda report, entry: wording.place_words(entry.cell, report.snapshot.matrix)
        ),
        "recipe": shown(lambda _, entry: recipe_words(entry)),
        "cell_path": shown(lambda _, entry: entry_page(entry)),
        "failing": shown(failing),
        "advice": shown(
            lambda report, entry: (
                proven(report, report.advisor.card(entry)) if entry.is_proof else None
            )
        ),
        "tiles": shown(tiles),
        "words": shown(words),
        "markdown": partial(badge_markdown, edition),
        "commands": lambda lock, report: lock_commands(edition, report, lock),
    }


_FILTERS = {
    "why": _why,
    "label": label,
    "fault": wording.fault_words,
    "cause": wording.cause_sentence,
    "without_path": wording.without_path,
    "kind": wording.cause_words,
    "reason": install_reason,
    "evidence": install_evidence,
    "affected": affected_words,
    "title_of": title_of,
    "diff": proposal_diff,
    "command": lambda needs, matrix: missing_command(matrix, needs),
    "health": matrix_health,
    "badges": badges,
    "tally": lambda values: Counter(values).most_common(),
    "absent": no_prerelease_words,
    "platform": platform_title,
    "python": python_document,
    "places": place_lines,
    "unreached": unreached_sentence,
    "floor": floor_words,
    "blame": lambda cell, matrix: lane_blame(matrix, cell),
    "to": _to,
    "dates": wording.plain_dates,
    "titled": titled,
    "lines": _lines,
    "day": _day,
    "seconds": wording.seconds,
    "count": wording.count,
    "number": _number,
    "sentence": sentence,
    "ticked": ticked,
    "segment": paths.segment,
    "representative": representative,
}
