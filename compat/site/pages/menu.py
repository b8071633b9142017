"""The `site` room's menu: the sections of a volume."""

from compat.site.edition import MatrixReport
from compat.site.pages.place_view import View
from compat.site.paths import page as page_path

SECTIONS: dict[str, str] = {
    "advise": "What to install",
    "grid": "Grid",
    "cap": "Capabilities",
    "causes": "Causes",
    "charts": "Charts",
    "changes": "Changes",
    "schedule": "Schedule",
    "proposals": "Proposals",
    "reliability": "Reliability",
}


class Link(View, frozen=True):
    """An entry of the menu."""

    word: str
    path: str
    section: str


class Menu(View, frozen=True):
    """The menu of a volume."""

    title: str
    home: str
    entries: tuple[Link, ...]


def menu_of(volume: MatrixReport) -> Menu:
    """Return the menu of a volume."""
    links = (
        Link(word=word, path=page_path(volume.name, name), section=name)
        for name, word in SECTIONS.items()
    )
    return Menu(
        title=volume.snapshot.matrix.title, home=page_path(volume.name), entries=tuple(links)
    )
