"""The `site` room's menu: the sections of a volume."""

from compat.site.edition import Volume
from compat.site.edition import page as page_path
from compat.site.views_place import View

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
    entries: tuple[Link, ...]


def menu_of(volume: Volume) -> Menu:
    """Return the menu of a volume."""
    return Menu(
        title=volume.picture.matrix.title,
        entries=(
            Link(word=volume.picture.matrix.title, path=page_path(volume.name), section="home"),
            *(
                Link(word=word, path=page_path(volume.name, section), section=section)
                for section, word in SECTIONS.items()
            ),
        ),
    )
