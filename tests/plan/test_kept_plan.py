"""A kept plan is the plan, whatever happens to the folder in which it is kept."""

import datetime
from pathlib import Path

import pytest

from compat.declare.load import load
from compat.files import DerivedFiles
from compat.index.kept import decode_catalogue
from compat.plan import kept_plan
from compat.plan.feasible import Feasibility
from compat.plan.kept_plan import PlannedFates, planned_fates
from compat.plan.named import planned_cell
from compat.plan.plain_cells import plain_question_of, plain_questions
from compat.plan.plan import Fate, Infeasible, every_cell, fate_of, plan

ROOT = Path(__file__).parents[2]
TODAY = datetime.date(2026, 11, 23)
NAME = "pip-tools"


@pytest.fixture(scope="module")
def facts() -> Feasibility:
    folder = ROOT / "matrices" / NAME
    matrix = load((folder / "matrix.toml").read_bytes(), None, folder=NAME, today=TODAY).matrix
    catalogue = decode_catalogue((folder / "catalogue.json").read_text(), NAME)
    return Feasibility(matrix, catalogue)


@pytest.fixture(scope="module")
def fates(facts: Feasibility) -> tuple[Fate, ...]:
    return plan(facts.matrix, facts.catalogue).fates


def kept(facts: Feasibility, folder: Path, source: bytes = b"") -> PlannedFates:
    files = DerivedFiles(lambda: folder)
    return planned_fates(facts, lambda make: files.of("plans", [source], make))


def test_it_is_the_plan(facts: Feasibility, fates: tuple[Fate, ...], tmp_path: Path) -> None:
    for _ in range(2):
        known = kept(facts, tmp_path)
        assert tuple(known) == fates
        assert len(known) == len(fates)
        assert known.infeasible == sum(isinstance(fate, Infeasible) for fate in fates)
        assert known.questions == plain_questions(facts)


def test_one_cell_has_the_fate_that_it_has_in_the_plan(
    facts: Feasibility, fates: tuple[Fate, ...], tmp_path: Path
) -> None:
    known = kept(facts, tmp_path)
    for fate in fates[:: max(1, len(fates) // 50)]:
        number = known.number(fate.cell.id)
        assert number is not None
        assert known.fate(number) == fate == fate_of(facts, fate.cell)
        assert planned_cell(facts, fate.cell.id) == fate.cell


def test_those_with_some_versions_stand_in_the_order_of_the_plan(
    facts: Feasibility, fates: tuple[Fate, ...], tmp_path: Path
) -> None:
    subject = facts.matrix.subject
    versions = {fates[0].cell.on(subject).version, fates[-1].cell.on(subject).version}
    asked = {subject: versions}
    assert [fate for _, fate in kept(facts, tmp_path).numbered(asked)] == [
        fate for fate in fates if fate.cell.on(subject).version in versions
    ]


def test_it_is_made_once_for_the_same_sources(
    facts: Feasibility, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tuple(kept(facts, tmp_path, b"one"))
    monkeypatch.setattr(kept_plan, "plan", None)
    assert tuple(kept(facts, tmp_path, b"one")) == first
    with pytest.raises(TypeError):
        tuple(kept(facts, tmp_path, b"two"))


@pytest.mark.parametrize("damage", [b"", b"no plan at all", b"\0" * 4000], ids=len)
def test_a_damaged_one_is_made_anew(
    facts: Feasibility, fates: tuple[Fate, ...], tmp_path: Path, damage: bytes
) -> None:
    assert tuple(kept(facts, tmp_path)) == fates
    (path,) = (tmp_path / "plans").iterdir()
    sound = path.read_bytes()
    path.write_bytes(damage)
    assert tuple(kept(facts, tmp_path)) == fates
    assert path.read_bytes() == sound
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    assert tuple(kept(facts, tmp_path)) == fates


def test_without_a_folder_nothing_is_kept_and_nothing_lost(
    facts: Feasibility, fates: tuple[Fate, ...], tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert tuple(kept(facts, blocked)) == fates
    assert blocked.read_text() == "in the way"


def test_few_are_kept(tmp_path: Path) -> None:
    files = DerivedFiles(lambda: tmp_path)
    for number in range(40):
        assert files.of("plans", [bytes([number])], lambda: b"made") == b"made"
    assert len(list((tmp_path / "plans").iterdir())) == 32


def test_the_fates_of_a_few_cells_are_those_of_the_plan_and_make_none(
    facts: Feasibility,
    fates: tuple[Fate, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Feasibility] = []
    make = kept_plan._made
    monkeypatch.setattr(kept_plan, "_made", lambda facts: made.append(facts) or make(facts))
    known, few = kept(facts, tmp_path), fates[:: max(1, len(fates) // 50)]
    assert [known.fate(known.number(fate.cell.id) or 0) for fate in few] == list(few)
    ids = {fate.cell.id for fate in fates}
    relaxed = [f"{fate.cell.place}+relaxed" for fate in few]
    assert [known.number(cell) is not None for cell in relaxed] == [c in ids for c in relaxed]
    assert made == []
    monkeypatch.setattr(kept_plan, "_FEW", 0)
    known = kept(facts, tmp_path)
    assert known.fate(known.number(few[-1].cell.id) or 0) == few[-1]
    assert made == [facts]


def test_the_plain_question_of_a_cell_is_that_of_its_release_and_python(facts: Feasibility) -> None:
    questions = plain_questions(facts)
    subject, python = facts.matrix.subject, facts.matrix.interpreters.name
    by_pair = {(question.release, question.python): question for question in questions}
    for cell in every_cell(facts):
        pair = cell.on(subject).version, cell.on(python).version
        assert plain_question_of(facts, cell) == by_pair[pair]
