"""The `site` room's front door: what to install, how the matrix does, what changed."""

from compat.advise.request import Request
from compat.site.edition import Edition, MatrixReport
from compat.site.pages.advice_view import Advice, Option, advice, by_python
from compat.site.pages.changes_view import News, newest
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


def home(edition: Edition, volume: MatrixReport, most_news: int = 6) -> HomeView:
    """Return the home of a matrix."""
    matrix = volume.snapshot.matrix
    sections = (
        "advise",
        "grid",
        "cap",
        "causes",
        "charts",
        "changes",
        "schedule",
        "proposals",
        "reliability",
    )
    return HomeView(
        title=matrix.title,
        subject=matrix.subject_axis.package,
        name=volume.name,
        path=page(volume.name),
        advice=advice(edition, volume, Request()),
        pythons=by_python(edition, volume),
        health=matrix_health(volume),
        news=newest(volume, most_news),
        paths={section: page(volume.name, section) for section in sections},
    )


def home_views(edition: Edition) -> tuple[HomeView, ...]:
    """Return the homes of all matrices, for the front page."""
    return tuple(home(edition, volume, 3) for volume in edition.reports)
