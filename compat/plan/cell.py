"""Cells and their ids: one coordinate on each axis and one recipe; and the product of the axes, in
declared order.
"""

import difflib
import itertools
import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Literal

import msgspec
from packaging.version import InvalidVersion, Version

from compat.declare.matrix import PLATFORM_NAMES, PLATFORMS, Axis, Matrix
from compat.declare.parsing import choice
from compat.errors import UsageError
from compat.index.release import Catalogue
from compat.value import Value

Recipe = Literal["fresh", "dated", "relaxed", "lowest", "prerelease"]
# The recipes that decide a combination's display and a floor.
RECIPES: tuple[Recipe, ...] = ("fresh", "dated", "relaxed")
# The recipes of the variants: their cells change no grid and move no floor.
VARIANTS: tuple[Recipe, ...] = ("lowest", "prerelease")
# The suffixes of their ids.
_VARIANTS = tuple(f"+{lane}" for lane in VARIANTS)
# What stands for the version of a checkout: its cells do not name it.
HEAD = "HEAD"


class Coordinate(Value, frozen=True, kw_only=True, dict=True):
    """A value on an axis: an exact version, or a series.

    `2.14` means `==2.14.*` where the axis uses series. With `is_local` it is the wheel of a
    checkout: no index has it.
    """

    axis: str
    short: str
    version: Version
    is_local: bool = False

    @cached_property
    def text(self) -> str:
        return f"{self.short}-local" if self.is_local else f"{self.short}{self.number}"

    @cached_property
    def number(self) -> str:
        return str(self.version)

    @property
    def label(self) -> str:
        return HEAD if self.is_local else self.number


class Cell(Value, frozen=True, kw_only=True, dict=True):
    """One question: do these versions work together, locked by this recipe?

    Coordinates are in axis order. `platform` is set only for another than the matrix's own: such a
    cell never runs here. `unread` is the id of a recorded cell whose axes have changed since: it
    has no coordinates.
    """

    matrix: str
    coordinates: tuple[Coordinate, ...]
    recipe: Recipe
    platform: str = ""
    unread: str = ""

    @cached_property
    def id(self) -> str:
        """`py3.11-tf2.14-tff0.87.0+relaxed`; without recipe `fresh` and its own platform."""
        recipe = "" if self.recipe == "fresh" else f"+{self.recipe}"
        platform = f"@{self.platform}" if self.platform else ""
        return self.unread or f"{self.place}{recipe}{platform}"

    @cached_property
    def place(self) -> str:
        """The coordinates as in the id; cells of one combination differ only in their recipe."""
        return "-".join([coordinate.text for coordinate in self.coordinates])

    @cached_property
    def versions(self) -> tuple[Version, ...]:
        return tuple(coordinate.version for coordinate in self.coordinates)

    @property
    def is_variant(self) -> bool:
        return self.recipe in VARIANTS

    @property
    def is_local(self) -> bool:
        return any(coordinate.is_local for coordinate in self.coordinates)

    @property
    def is_dated(self) -> bool:
        """Whether it is locked as of its coordinates' release dates, and not as of now."""
        return self.recipe in ("dated", "relaxed")

    def on(self, axis: str) -> Coordinate:
        for coordinate in self.coordinates:
            if coordinate.axis == axis:
                return coordinate
        raise KeyError(axis)


def is_variant(cell_id: str) -> bool:
    return cell_id.endswith(_VARIANTS)


def local_cell(cell: Cell, subject: str) -> Cell:
    replace = msgspec.structs.replace
    coordinates = tuple(replace(c, is_local=c.axis == subject) for c in cell.coordinates)
    return replace(cell, coordinates=coordinates)


def checkout_cell(text: str, matrix: Matrix) -> Cell | None:
    """Return the cell of a checkout with that id; None for the id of another cell."""
    short = matrix.subject_axis.short
    released = re.sub(rf"(^|-){short}-local(?![\w.])", rf"\g<1>{short}0", text)
    cell = None if released == text else readable_cell(released, matrix)
    return None if cell is None else local_cell(cell, matrix.subject)


def split_platform(cell_id: str) -> tuple[str, str]:
    """Return the id without its platform, and the platform; empty for that of the matrix."""
    own, _, platform = cell_id.partition("@")
    return own, platform


def refuse_elsewhere(text: str, matrix: Matrix) -> None:
    _, sign, name = text.partition("@")
    if not sign:
        return
    facts = next((PLATFORMS[known] for known in PLATFORM_NAMES if known == name), None)
    if facts is None:
        raise UsageError.of(f"cell {text!r}: {choice(name, PLATFORM_NAMES)} after '@'")
    none = "no runner of GitHub's is known that is one"
    where = f"GitHub's runner {facts.runner} is one" if facts.runner else none
    raise UsageError.of(
        f"cell {text!r} needs a machine with {facts.title}, and is never run here; {where}",
        hint=f"compat show {matrix.name} --platform {name} shows what is known without a run",
    )


def parse_cell(text: str, matrix: Matrix) -> Cell:
    """Raises UsageError naming the part of the id that does not fit the matrix."""
    refuse_elsewhere(text, matrix)
    place, plus, recipe = text.partition("+")
    suffixes = (*RECIPES[1:], *VARIANTS)
    if plus and recipe not in suffixes:
        near = difflib.get_close_matches(recipe, (*RECIPES, *VARIANTS), n=1)
        hint = f"did you mean '{near[0]}'?" if near else ""
        raise UsageError.of(
            f"cell {text!r}: recipe {recipe!r} is none of {', '.join(suffixes)}", hint=hint
        )
    parts = place.split("-")
    if len(parts) != len(matrix.axes):
        raise UsageError.of(f"cell {text!r} does not have the form {form(matrix)}")
    coordinates = []
    for part, axis in zip(parts, matrix.axes, strict=True):
        number = part.removeprefix(axis.short)
        version = _normal_version(number)
        if version is None or number == part:
            message = f"{part!r} is not {axis.short!r} and a version in its normal form"
            raise UsageError.of(f"cell {text!r}: {message}")
        coordinates.append(Coordinate(axis=axis.name, short=axis.short, version=version))
    return Cell(matrix=matrix.name, coordinates=tuple(coordinates), recipe=_recipe(recipe))


def readable_cell(text: str, matrix: Matrix) -> Cell | None:
    try:
        return parse_cell(text, matrix)
    except UsageError:
        return None


def unread_cell(text: str, matrix: Matrix) -> Cell:
    recipe = _recipe(text.partition("+")[2])
    return Cell(matrix=matrix.name, coordinates=(), recipe=recipe, unread=text)


def form(matrix: Matrix) -> str:
    lanes = f"{'|+lowest' * matrix.lowest}{'|+prerelease' * bool(matrix.prerelease_axes)}"
    return "-".join(f"{axis.short}<version>" for axis in matrix.axes) + f"[+dated|+relaxed{lanes}]"


@lru_cache(maxsize=10_000)
def _normal_version(text: str) -> Version | None:
    try:
        version = Version(text)
    except InvalidVersion:
        return None
    return version if str(version) == text else None


def _recipe(text: str) -> Recipe:
    return next((recipe for recipe in (*RECIPES, *VARIANTS) if recipe == text), "fresh")


def axis_coordinates(axis: Axis, catalogue: Catalogue) -> tuple[Coordinate, ...]:
    versions = catalogue.coordinates(axis)
    return tuple(Coordinate(axis=axis.name, short=axis.short, version=v) for v in versions)


def product(matrix: Matrix, catalogue: Catalogue) -> Iterator[tuple[Coordinate, ...]]:
    return itertools.product(*(axis_coordinates(axis, catalogue) for axis in matrix.axes))
