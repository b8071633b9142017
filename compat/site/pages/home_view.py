"""The `site` room's home pages: what to install, coverage and the newest changes."""

from compat.advise.request import Request
from compat.site.edition import Edition, MatrixReport
from compat.site.pages.advice_view import Advice, Option, advice, by_python
from compat.site.pages.changes_view import News, newest
from compat.site.pages.menu import section_paths
from compat.site.pages.place_view import View
from compat.site.pages.reliability_view import Health, matrix_health
from compat.site.paths import page


class HomeView(View, frozen=True):
    """The home of a matrix."""

    title: str
    subject: str
    name: str
    path: str
    advice: Advice
    pythons: tuple[Option, ...]
    health: Health
    news: tuple[News, ...]
    paths: dict[str, str]


def home(edition: Edition, report: MatrixReport, most_news: int = 6) -> HomeView:
    """Return the home of a matrix."""
    matrix = report.snapshot.matrix
    return HomeView(
        title=matrix.title,
        subject=matrix.subject_axis.package,
        name=report.name,
        path=page(report.name),
        advice=advice(edition, report, Request()),
        pythons=by_python(edition, report),
        health=matrix_health(report),
        news=newest(report, most_news),
        paths=section_paths(report),
    )


def home_views(edition: Edition) -> tuple[HomeView, ...]:
    """Return the homes of all matrices, for the front page."""
    return tuple(home(edition, report, 3) for report in edition.reports)
