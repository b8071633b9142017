"""The plan of a kept catalogue, kept in the cache under the digest of what it was made from.

A whole plan takes a second and follows from two files and this code alone. Nothing is lost with
the folder, and nothing is believed of it that does not bear its own digest.
"""

import array
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import product as combinations

import msgspec
from packaging.version import Version

from compat.plan.cell import RECIPES, Cell
from compat.plan.feasible import Feasibility
from compat.plan.obstacle import Obstacle
from compat.plan.plain_cells import PlainQuestion, plain_questions
from compat.plan.plan import Fate, Feasible, Infeasible, fate_of, is_asked, plan
from compat.plan.product import axis_coordinates, product
from compat.value import Value

# What a slot says of a cell; a higher number is an obstacle's, counted from here.
_NO_CELL, _FEASIBLE, _FIRST_OBSTACLE = range(3)
# No slot has this number.
_UNASKED = -1
# The fates of so many cells take some 50 ms, the plan of 100,000 cells takes seconds.
_FEW = 500
# From the code of these rooms follows what is kept of a matrix with a catalogue.
DERIVING_ROOMS = ("declare", "index", "plan", "lock", "run", "results", "advise")


class _NotKept(Exception):
    """No plan is kept."""


class KeptPlan(Value, frozen=True, kw_only=True):
    """The fates of all cells in little room: `slots` has a number for each place and recipe, in
    the order of the plan, and the obstacles stand once.

    `questions` are those of `plain_questions`: the release, the Python, and the numbers of the
    cell's slot and of the obstacle, -1 where there is none.
    """

    slots: bytes
    obstacles: tuple[Obstacle, ...]
    questions: tuple[tuple[str, str, int, int], ...]


class PlannedFates:
    """The fate of every cell of a plan, in the order of the plan; each is made when it is asked
    for, by the number of its slot. Where no plan is kept, none is made for the fates of a few.
    """

    def __init__(self, facts: Feasibility, kept: Callable[[bool], KeptPlan | None]) -> None:
        matrix, catalogue = facts.matrix, facts.catalogue
        self.matrix = matrix
        self._facts = facts
        self._load = kept
        self._alone: dict[int, Fate | None] = {}
        self._numbers: dict[str, int | None] = {}
        self._is_whole = False
        self._axes = [axis_coordinates(axis, catalogue) for axis in matrix.axes]
        # How far apart the slots of two neighbours on each axis are.
        spans = [len(coordinates) for coordinates in self._axes[1:]]
        self._strides = [
            len(RECIPES) * math.prod(spans[number:]) for number in range(len(self._axes))
        ]
        self._places = [
            {coordinate.text: index * stride for index, coordinate in enumerate(coordinates)}
            for coordinates, stride in zip(self._axes, self._strides, strict=True)
        ]
        self._offsets = {
            "" if recipe == "fresh" else f"+{recipe}": offset
            for offset, recipe in enumerate(RECIPES)
        }

    @cached_property
    def _if_kept(self) -> KeptPlan | None:
        return self._load(False)

    @cached_property
    def _kept(self) -> KeptPlan:
        whole = self._if_kept or self._load(True)
        assert whole is not None, "it is made where it is not kept"
        return whole

    @cached_property
    def _slots(self) -> "array.array[int]":
        return array.array("I", self._kept.slots)

    def __iter__(self) -> Iterator[Fate]:
        return (fate for _, fate in self.numbered())

    def __len__(self) -> int:
        return len(self._slots) - self._slots.count(_NO_CELL)

    def numbered(
        self, versions: Mapping[str, Collection[Version]] | None = None
    ) -> Iterator[tuple[int, Fate]]:
        # Yield every fate with the number of its slot; with `versions`, by axis, those alone that
        # have one of them on each axis that is named.
        admitted = [
            [
                (index * stride, coordinate)
                for index, coordinate in enumerate(coordinates)
                if versions is None
                or axis.name not in versions
                or coordinate.version in versions[axis.name]
            ]
            for axis, coordinates, stride in zip(
                self.matrix.axes, self._axes, self._strides, strict=True
            )
        ]
        for numbered_place in combinations(*admitted):
            place = tuple(coordinate for _, coordinate in numbered_place)
            first = sum(slot for slot, _ in numbered_place)
            for offset, recipe in enumerate(RECIPES):
                slot = self._slots[first + offset]
                if slot != _NO_CELL:
                    cell = Cell(matrix=self.matrix.name, coordinates=place, recipe=recipe)
                    yield first + offset, self._fate(cell, slot)

    def number(self, cell_id: str) -> int | None:
        """Return the number of the slot of the cell with that id; None for one outside the plan."""
        number = self._numbers.get(cell_id, _UNASKED)
        if number == _UNASKED:
            number = self._numbers[cell_id] = self._number(cell_id)
        return number

    def place(self, cell_id: str) -> int | str:
        # Return the number of the slot of the cell with that id; the id of one outside the plan.
        number = self.number(cell_id)
        return cell_id if number is None else number

    def _number(self, cell_id: str) -> int | None:
        place, plus, suffix = cell_id.partition("+")
        number, parts = self._offsets.get(plus + suffix), place.split("-")
        if number is None or len(parts) != len(self._places):
            return None
        # By the texts: 2.14 equals 2.14.0, and yet only one of them stands in an id.
        for part, slots in zip(parts, self._places, strict=True):
            slot = slots.get(part)
            if slot is None:
                return None
            number += slot
        if self._is_answered_alone:
            return None if self._fate_alone(number) is None else number
        return number if self._slots[number] != _NO_CELL else None

    def fate(self, number: int) -> Fate:
        if self._is_answered_alone and (fate := self._fate_alone(number)) is not None:
            return fate
        return self._fate(self.cell(number), self._slots[number])

    @property
    def _is_answered_alone(self) -> bool:
        if not self._is_whole:
            is_at_hand = "_slots" in self.__dict__ or self._if_kept is not None
            self._is_whole = is_at_hand or len(self._alone) >= _FEW
        return not self._is_whole

    def _fate_alone(self, number: int) -> Fate | None:
        if number not in self._alone:
            cell = self.cell(number)
            is_planned = is_asked(self._facts, cell)
            self._alone[number] = fate_of(self._facts, cell) if is_planned else None
        return self._alone[number]

    def cell(self, number: int) -> Cell:
        rest, place = number, []
        for coordinates, stride in zip(self._axes, self._strides, strict=True):
            index, rest = divmod(rest, stride)
            place.append(coordinates[index])
        return Cell(matrix=self.matrix.name, coordinates=tuple(place), recipe=RECIPES[rest])

    @property
    def infeasible(self) -> int:
        return len(self) - self._slots.count(_FEASIBLE)

    @cached_property
    def questions(self) -> tuple[PlainQuestion, ...]:
        return tuple(
            PlainQuestion(
                release=Version(release),
                python=Version(python),
                cell=None if cell < 0 else self.fate(cell).cell,
                obstacle=None if obstacle < 0 else self._kept.obstacles[obstacle],
            )
            for release, python, cell, obstacle in self._kept.questions
        )

    def _fate(self, cell: Cell, slot: int) -> Fate:
        if slot == _FEASIBLE:
            return Feasible(cell=cell)
        return Infeasible(cell=cell, obstacle=self._kept.obstacles[slot - _FIRST_OBSTACLE])


_decoded = msgspec.msgpack.Decoder(KeptPlan)


def planned_fates(facts: Feasibility, kept: Callable[[Callable[[], bytes]], bytes]) -> PlannedFates:
    # Return the fates of all cells. `kept` returns what the function that it is given would, from
    # where it is kept.
    def plan_of(is_made: bool) -> KeptPlan | None:
        def encoded() -> bytes:
            if not is_made:
                raise _NotKept
            return msgspec.msgpack.encode(_made(facts))

        with suppress(_NotKept):
            return _decoded.decode(kept(encoded))
        return None

    return PlannedFates(facts, plan_of)


def _made(facts: Feasibility) -> KeptPlan:
    fates = iter(plan(facts.matrix, facts.catalogue).fates)
    fate = next(fates, None)
    obstacles: dict[Obstacle, int] = {}
    numbers: dict[Cell, int] = {}
    slots = array.array("I")
    for place, recipe in combinations(product(facts.matrix, facts.catalogue), RECIPES):
        if fate is None or (fate.cell.recipe, fate.cell.coordinates) != (recipe, place):
            slots.append(_NO_CELL)
            continue
        numbers[fate.cell] = len(slots)
        if isinstance(fate, Infeasible):
            number = obstacles.setdefault(fate.obstacle, len(obstacles))
            slots.append(_FIRST_OBSTACLE + number)
        else:
            slots.append(_FEASIBLE)
        fate = next(fates, None)
    questions = tuple(
        (
            str(question.release),
            str(question.python),
            -1 if question.cell is None else numbers[question.cell],
            -1
            if question.obstacle is None
            else obstacles.setdefault(question.obstacle, len(obstacles)),
        )
        for question in plain_questions(facts)
    )
    return KeptPlan(slots=slots.tobytes(), obstacles=tuple(obstacles), questions=questions)
