"""The `site` room's menu: the sections of a matrix."""

from compat.site.edition import MatrixReport
from compat.site.pages.place_view import View
from compat.site.paths import page as page_path

SECTIONS: dict[str, str] = {
    "advise": "What to install",
    "grid": "Grid",
    "plain": "Plain install",
    "platforms": "Platforms",
    "cap": "Capabilities",
    "causes": "Causes",
    "charts": "Charts",
    "changes": "Changes",
    "schedule": "Schedule",
    "proposals": "Proposals",
    "lanes": "Lanes",
    "reliability": "Reliability",
}


class Link(View, frozen=True):
    """An entry of the menu."""

    word: str
    path: str
    section: str


class Menu(View, frozen=True):
    """The menu of a matrix; `paths` has the path of each section by its name."""

    title: str
    home: str
    entries: tuple[Link, ...]
    paths: dict[str, str]


def menu_of(report: MatrixReport) -> Menu:
    paths = section_paths(report)
    return Menu(
        title=report.snapshot.matrix.title,
        home=page_path(report.name),
        entries=tuple(
            Link(word=word, path=paths[section], section=section)
            for section, word in SECTIONS.items()
            if section in paths
        ),
        paths=paths,
    )


def section_paths(report: MatrixReport) -> dict[str, str]:
    """Return the path of each section of a matrix; lanes and platforms have one where it declares
    any.
    """
    matrix = report.snapshot.matrix
    declared = {"lanes": matrix.has_lanes, "platforms": bool(matrix.platforms)}
    return {
        section: page_path(report.name, section)
        for section in SECTIONS
        if declared.get(section, True)
    }
