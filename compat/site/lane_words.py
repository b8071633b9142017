"""What is said of lanes, on their page, in a summary and by `compat matrix variants`."""

from compat.lock.recipe import LockedFloor
from compat.plan.cell import Recipe
from compat.results.compare import LaneCell

LANE_TITLES: dict[Recipe, str] = {
    "lowest": "Lowest declared versions",
    "prerelease": "Dependencies that are not out yet",
}
LANE_QUESTIONS: dict[Recipe, str] = {
    "lowest": (
        "Each release with the lowest versions that it declares of its dependencies, to see whether"
        " what it declares is true"
    ),
    "prerelease": (
        "The newest pre-release of a dependency in the place of its final releases, to see what it"
        " will break"
    ),
}


def floor_words(floor: LockedFloor) -> str:
    if floor.is_exact:
        return f"{floor.installed} installed"
    if floor.installed is None:
        return "nothing installed"
    because = f" ({floor.because})" if floor.because else ""
    return f"{floor.installed} installed, {floor.lowest} is not tested{because}"


def lane_blame(matrix: str, cell: LaneCell) -> str:
    return f"compat blame {matrix} {cell.against} {cell.cell}"


def no_prerelease_words(package: str) -> str:
    return f"no pre-release of {package} is newer than its final releases"
