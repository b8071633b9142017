"""The `site` room's home pages: the question what to install, coverage and the newest changes."""

from compat.advise.request import Request
from compat.site.edition import Edition, MatrixReport
from compat.site.pages.advice_view import Advice, Option, advice, by_python
from compat.site.pages.changes_view import News, newest
from compat.site.pages.menu import section_paths
from compat.site.pages.place_view import View
from compat.site.pages.question_view import QuestionForm, question
from compat.site.pages.reliability_view import Health, matrix_health
from compat.site.paths import page

_MOST_NEWS = 6


class HomeView(View, frozen=True):
    """The home of a matrix."""

    title: str
    subject: str
    name: str
    path: str
    question: QuestionForm
    advice: Advice
    pythons: tuple[Option, ...]
    health: Health
    news: tuple[News, ...]
    paths: dict[str, str]


class FrontView(View, frozen=True):
    """The home of all matrices: the first one's question, and the choice of another."""

    home: HomeView
    libraries: tuple[HomeView, ...]


def home(edition: Edition, report: MatrixReport) -> HomeView:
    matrix = report.snapshot.matrix
    return HomeView(
        title=matrix.title,
        subject=matrix.subject_axis.package,
        name=report.name,
        path=page(report.name),
        question=question(report),
        advice=advice(edition, report, Request()),
        pythons=by_python(edition, report),
        health=matrix_health(report),
        news=newest(report, _MOST_NEWS),
        paths=section_paths(report),
    )


def front(edition: Edition) -> FrontView:
    """Return the front page, which opens with the first report."""
    homes = tuple(home(edition, report) for report in edition.reports)
    return FrontView(home=homes[0], libraries=homes)
