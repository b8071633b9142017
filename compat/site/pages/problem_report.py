"""The `site` room's prefilled issues, in which a reader reports a problem with a page's data."""

from collections.abc import Iterator
from urllib.parse import quote, urlencode

from compat.github.markdown import code, link, plain
from compat.site.edition import Edition
from compat.value import Value

ASKED = "What is wrong, and how do you know?"


class ProblemReport(Value, frozen=True, kw_only=True):
    """What a report about a page names: facts such as ("cell", its id), and the paths of the data
    that it is about.
    """

    facts: tuple[tuple[str, str], ...]
    data: tuple[str, ...]


def problem_link(edition: Edition, title: str, path: str, problem: ProblemReport) -> str:
    """Return the address of a new issue about a page; empty where the site belongs to no
    repository.

    Nothing in its title and text mentions, shows or closes anything: names and outcomes come from
    outside.
    """
    if not edition.repository:
        return ""
    body = "\n".join((ASKED, "", "", "", *_lines(edition, path, problem)))
    asked = {"title": plain(f"Wrong data? {title}"), "body": body}
    return f"https://github.com/{edition.repository}/issues/new?{urlencode(asked, quote_via=quote)}"


def _lines(edition: Edition, path: str, problem: ProblemReport) -> Iterator[str]:
    yield from (f"- {name}: {code(value)}" for name, value in problem.facts)
    for name, place in (("page", path), *(("data", data_path) for data_path in problem.data)):
        yield f"- {name}: {link(place.removesuffix('index.html'), edition.url(place))}"
