"""The `site` room's page: its path, its template and the view that it shows."""

from collections.abc import Callable
from typing import Any

from markupsafe import escape

from compat.site.pages.problem_report import ProblemReport
from compat.site.tokens import digest
from compat.site.wording import cut_text
from compat.value import Value

# Longer ones are cut in lists of results; html-validate's rule long-title asks for the same.
LONGEST_TITLE = 70


class Page(Value, frozen=True, kw_only=True):
    """A page: its path, its template, its title, a sentence for search engines, and its view, made
    when needed.

    `matrix` is the report that it is of, None for a page of the whole site; `section` its entry in
    the menu. `inputs` is a digest of all that the view is made from. `canonical` is another path
    that has the same content, or to which this page sends its reader. `problem` is what an issue
    about its data names, None where it shows no data of one thing.
    """

    path: str
    template: str
    title: str
    about: str
    view: Callable[[], Any]
    inputs: str
    matrix: str | None = None
    section: str = ""
    canonical: str = ""
    problem: ProblemReport | None = None


class LatePage(Value, frozen=True, kw_only=True):
    """A page whose title, too, is worked out only when its file must be made: `inputs` is a digest
    of all that `page` reads. `is_elsewhere` says that its content has another address.
    """

    path: str
    inputs: str
    page: Callable[[], Page]
    is_elsewhere: bool = False


def titled(*forms: str) -> str:
    """Return the first form that a tab or a list of results shows whole, else the last one, cut."""
    whole = next((form for form in forms if len(escape(form)) <= LONGEST_TITLE), None)
    if whole is not None:
        return whole
    # An apostrophe is five characters of HTML, and those are what is counted.
    spare = len(escape(forms[-1])) - len(forms[-1])
    return cut_text(forms[-1], LONGEST_TITLE - spare)


def alias(path: str, target: str) -> Page:
    return Page(
        path=path,
        template="moved.html",
        title="",
        about="",
        view=lambda: target,
        inputs=digest(path, target),
        canonical=target,
    )
