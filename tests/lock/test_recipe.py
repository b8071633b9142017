"""What each recipe asks the resolver, and how a relaxed lock frees what its date hides."""

import datetime
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from support.made_records import ran
from support.memory_locker import MemoryLocker
from support.world import catalogue_of, matrix_of, source_of, world

from compat.lock.demands import Demands
from compat.lock.lockfile import Cutoff, Inputs, Lock, Pin, Refusal
from compat.lock.recipe import (
    given_up,
    inputs_of,
    lock_cell,
    locked_cell,
    moment_after,
    requires_as_declared,
)
from compat.pipeline import failed_imports
from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility
from compat.run.evidence import Installed


def day(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)


def asked(cell: str, world_name: str = "published", rules: str | None = None) -> Inputs:
    document = world(world_name)
    if rules is not None:
        document["matrix"] = document["matrix"].split("rules = [")[0] + f"rules = [{rules}]\n"
    matrix = matrix_of(document)
    return inputs_of(Feasibility(matrix, catalogue_of(document)), parse_cell(cell, matrix))


def test_fresh_asks_for_the_release_as_published_as_of_now() -> None:
    inputs = asked("py3.8-dep1-demo1.0")
    assert inputs.requirements == ("demo==1.0", "dep==1.*", "pytest")
    assert inputs.as_of is None
    assert inputs.injected_pin is None
    assert inputs.python == Version("3.8.18")


def test_dated_asks_the_same_as_of_the_newest_coordinate_plus_the_margin() -> None:
    inputs = asked("py3.9-dep2-demo2.0+dated")
    # dep 2.0 came out sixty days after the beginning of the world, 2020-01-01 at noon; the margin
    # is ten days.
    assert inputs.requirements == ("demo==2.0", "dep==2.*", "pytest")
    assert inputs.as_of == day("2020-03-12")


def test_a_series_dates_from_its_first_release() -> None:
    # dep 1.0 came out on the first day, dep 1.1 and demo 2.0 thirty days later.
    assert asked("py3.8-dep1-demo1.0+dated").as_of == day("2020-01-12")


def test_relaxed_puts_the_subjects_requirements_in_its_place_and_gives_its_pin() -> None:
    inputs = asked("py3.8-dep2-demo1.0+relaxed")
    assert inputs.requirements == ("dep==2.*", "pytest")
    assert inputs.injected_pin is not None
    assert (inputs.injected_pin.name, inputs.injected_pin.version) == ("demo", Version("1.0"))
    assert len(inputs.injected_pin.hashes) == 1


def test_relaxed_names_a_python_that_the_subject_admits_when_it_does_not_admit_the_cells() -> None:
    assert asked("py3.8-dep2-demo2.0+relaxed").install_as_python == Version("3.9.18")
    assert asked("py3.9-dep2-demo2.0+relaxed").install_as_python is None


def test_relaxed_keeps_the_requirements_that_no_rule_changes() -> None:
    assert asked("py3.8-dep1-demo1.0+relaxed").requirements == ("dep==1.*", "dep~=1.0", "pytest")


@pytest.mark.parametrize(
    ("relaxation", "requirements", "overrides", "excludes"),
    [
        ('{ package = "dep", to = ">=2,<9" }', ("dep<9,>=2", "dep==2.*", "pytest"), (), ()),
        (
            '{ package = "dep", to = "any", everywhere = true }',
            ("dep==2.*", "pytest"),
            ("dep==2.*",),
            (),
        ),
        (
            '{ package = "deep", to = "~=3.0", everywhere = true }',
            ("dep==2.*", "pytest"),
            ("deep~=3.0",),
            (),
        ),
        (
            '{ package = "deep", to = "any", everywhere = true }',
            ("dep==2.*", "pytest"),
            ("deep",),
            (),
        ),
        (
            '{ package = "deep", to = "nothing", everywhere = true }',
            ("dep==2.*", "pytest"),
            (),
            ("deep",),
        ),
    ],
)
def test_a_relaxation_lifts_replaces_or_drops(
    relaxation: str,
    requirements: tuple[str, ...],
    overrides: tuple[str, ...],
    excludes: tuple[str, ...],
) -> None:
    tried = 'effect = "relax", because = "it is tried here"'
    lifted = f'{{ name = "a", {tried}, relaxations = [{{ package = "dep", to = "any" }}] }},'
    rule = f'{{ name = "b", {tried}, relaxations = [{relaxation}] }}'
    inputs = asked("py3.8-dep2-demo1.0+relaxed", rules=lifted + rule)
    assert (inputs.requirements, inputs.overrides, inputs.excludes) == (
        requirements,
        overrides,
        excludes,
    )


def test_a_relaxed_package_is_free_of_the_date_or_has_that_of_the_axis_it_follows() -> None:
    rule = """{ name = "a", effect = "relax", because = "it is tried here", relaxations = [
        { package = "dep", to = "any" }, { package = "deep", to = "any", as_of = "dep" } ] }"""
    inputs = asked("py3.8-dep2-demo1.0+relaxed", rules=rule)
    assert inputs.cutoffs == (
        Cutoff(package="deep", until=day("2020-03-12")),
        Cutoff(package="dep", until=None),
    )


def test_of_an_axis_package_only_finals_count_unless_the_axis_selects_more() -> None:
    assert asked("py3.8-dep1-demo1.0").no_prereleases == ("demo", "dep")


@pytest.mark.parametrize(
    ("uploaded", "days", "expected"),
    [
        ("2024-05-01T00:00:00", 0, "2024-05-01"),
        ("2024-05-01T00:00:01", 0, "2024-05-02"),
        ("2024-02-28T12:00:00", 1, "2024-03-01"),
        ("2023-12-31T23:59:59", 30, "2024-01-31"),
    ],
)
def test_a_moment_is_the_first_midnight_after_the_margin(
    uploaded: str, days: int, expected: str
) -> None:
    assert moment_after(day(uploaded), days) == day(expected)


class TestWidening:
    """`deep` began thirty days after the start of the world; `dep`, exact and free of the date,
    came out at sixty.
    """

    RELAXED = Inputs(
        cell="c",
        python=Version("3.9.18"),
        platform="x86_64-manylinux_2_28",
        requirements=("dep==2.0",),
        as_of=day("2020-01-05"),
        cutoffs=(Cutoff(package="dep", until=None),),
    )

    def answers(self, enough: datetime.datetime | None) -> MemoryLocker:
        """A resolver that needs a `deep` as it was at a certain moment."""

        def answer(inputs: Inputs) -> Lock | Refusal:
            until = inputs.cutoff("deep")
            if until is None or (enough is not None and until >= enough):
                return Lock(inputs=inputs, pins=(), tool="memory 1")
            return Refusal(cause="no-artifact", subject="deep>=1", because="none", hidden=("deep",))

        return MemoryLocker(answer)

    def lock(self, locker: MemoryLocker, inputs: Inputs = RELAXED) -> Lock | Refusal:
        document = world("published")
        document["packages"].append(
            {"name": "deep", "releases": [document["packages"][1]["releases"][0]]}
        )
        source = source_of(document)
        return lock_cell(locker, inputs, source.package, margin_days=5)

    def test_what_the_date_hides_is_shown_as_of_its_own_beginning(self) -> None:
        made = self.lock(self.answers(day("2020-01-06")))
        assert isinstance(made, Lock)
        assert made.inputs.cutoffs == (
            Cutoff(package="deep", until=day("2020-01-07")),
            Cutoff(package="dep", until=None),
        )

    def test_then_as_of_the_moment_at_which_a_replaced_pin_came_out(self) -> None:
        made = self.lock(self.answers(day("2020-02-01")))
        assert isinstance(made, Lock)
        assert made.inputs.cutoff("deep") == day("2020-03-07")

    def test_and_as_of_now_when_nothing_earlier_does(self) -> None:
        made = self.lock(self.answers(None))
        assert isinstance(made, Lock)
        assert made.inputs.cutoffs == (
            Cutoff(package="deep", until=None),
            Cutoff(package="dep", until=None),
        )

    def test_a_dated_lock_is_never_widened(self) -> None:
        locker = self.answers(None)
        dated = msgspec.structs.replace(self.RELAXED, cutoffs=())
        assert isinstance(self.lock(locker, dated), Refusal)
        assert len(locker.asked) == 1

    def test_a_refusal_that_no_date_explains_stands(self) -> None:
        locker = MemoryLocker(
            lambda _: Refusal(cause="conflict", subject="deep", because="two minds")
        )
        assert isinstance(self.lock(locker), Refusal)
        assert len(locker.asked) == 1

    def test_a_resolver_that_hides_something_new_each_time_is_asked_a_bounded_number_of_times(
        self,
    ) -> None:
        locker = MemoryLocker(
            lambda i: Refusal(cause="conflict", subject="x", because="y", hidden=("deep",))
        )
        assert isinstance(self.lock(locker), Refusal)
        assert len(locker.asked) < 10


class TestOffers:
    """A relaxing rule offers: what the resolver can keep as published is kept, whatever the rule
    would allow.
    """

    RULE = """{ name = "moved", effect = "relax", because = "dep is new", when = { dep = "moved" \
}, relaxations = [
        { package = "dep", to = "any" },
        { package = "deep", to = "any" },
        { package = "wide", to = "any", everywhere = true }] }"""

    def lock(
        self, refused: Callable[[Inputs], bool], rule: str = RULE
    ) -> tuple[Lock | Refusal, list[Inputs]]:
        document = world("published")
        document["packages"][1]["releases"][0]["requires"] += ["deep~=1.0", "wide<3"]
        document["packages"] += [
            {"name": name, "releases": document["packages"][0]["releases"]}
            for name in ("deep", "wide")
        ]
        document["matrix"] = document["matrix"].split("rules = [")[0] + f"rules = [{rule}]\n"
        matrix = matrix_of(document)
        facts = Feasibility(matrix, catalogue_of(document))

        def answer(inputs: Inputs) -> Lock | Refusal:
            if refused(inputs):
                return Refusal(
                    cause="conflict", subject="deep~=1.0", because="it asks for another dep"
                )
            return Lock(inputs=inputs, pins=(), tool="memory 1")

        locker = MemoryLocker(answer)
        cell = parse_cell("py3.8-dep2-demo1.0+relaxed", matrix)
        return locked_cell(facts, cell, locker, source_of(document).package), list(locker.asked)

    def test_a_published_pin_that_resolves_is_kept(self) -> None:
        answer, _ = self.lock(refused=lambda _: False)
        assert isinstance(answer, Lock)
        assert answer.inputs.requirements == ("deep~=1.0", "dep==2.*", "pytest", "wide<3")
        assert answer.inputs.overrides == ()
        assert [cutoff.package for cutoff in answer.inputs.cutoffs] == ["dep"]

    def test_an_offer_without_which_nothing_resolves_is_taken_and_no_other(self) -> None:
        answer, _ = self.lock(refused=lambda inputs: "deep~=1.0" in inputs.requirements)
        assert isinstance(answer, Lock)
        assert answer.inputs.requirements == ("deep", "dep==2.*", "pytest", "wide<3")

    def test_an_offer_that_is_to_be_taken_always_is(self) -> None:
        rule = self.RULE.replace(
            '{ package = "deep", to = "any" }', '{ package = "deep", to = "any", always = true }'
        )
        answer, _ = self.lock(refused=lambda _: False, rule=rule)
        assert isinstance(answer, Lock)
        assert "deep" in answer.inputs.requirements

    def test_what_no_offer_makes_possible_is_refused_after_two_questions(self) -> None:
        answer, asked = self.lock(refused=lambda _: True)
        assert isinstance(answer, Refusal)
        assert len(asked) == 2


NO_DEEP = '{ package = "deep", to = "nothing", everywhere = true'


@pytest.mark.parametrize(
    ("rules", "is_as_declared"),
    [
        ("", True),
        # An offer may have been withdrawn, a rule that holds always is never.
        (NO_DEEP + " }", True),
        (NO_DEEP + ", always = true }", False),
    ],
)
def test_a_lock_asks_as_declared_unless_a_rule_changes_what_it_asked(
    rules: str, is_as_declared: bool
) -> None:
    cell, document = "py3.8-dep2-demo1.0+relaxed", world("published")
    tried = 'name = "a", effect = "relax", because = "it is tried here"'
    relaxations = ",".join(['{ package = "dep", to = "any" }', *([rules] if rules else [])])
    inputs = asked(cell, rules=f'{{ {tried}, relaxations = [{{ package = "dep", to = "any" }}] }}')
    lock = Lock(inputs=inputs, pins=(), tool="uv")
    changed = f"{{ {tried}, relaxations = [{relaxations}] }}"
    document["matrix"] = document["matrix"].split("rules = [")[0] + f"rules = [{changed}]\n"
    matrix = matrix_of(document)
    facts = Feasibility(matrix, catalogue_of(document))
    assert requires_as_declared(facts, parse_cell(cell, matrix), lock) == is_as_declared


class TestSearch:
    """Requirements on packages that are on no axis give way without a rule, as few as can be."""

    OTHERS = tuple(f"third{letter}" for letter in "abcdefghijklmnop")
    MOVED = """{ name = "moved", effect = "relax", because = "dep is moved", \
when = { dep = "moved" }, relaxations = [{ package = "dep", to = "any" }] }"""

    def document(self, rules: str = MOVED) -> dict[str, Any]:
        document = world("published")
        document["packages"][1]["releases"][0]["requires"] += [f"{n}==1.0" for n in self.OTHERS]
        document["packages"] += [
            {
                "name": name,
                "releases": [
                    {"version": v, "files": [f"{name}-{v}-py3-none-any.whl"]}
                    for v in ("1.0", "1.1", "2.0")
                ],
            }
            for name in self.OTHERS
        ]
        document["matrix"] = document["matrix"].split("rules = [")[0] + f"rules = [{rules}]\n"
        return document

    def lock(
        self,
        refused: Callable[[dict[str, str]], str],
        near: tuple[frozenset[str], ...] = (),
        rules: str = MOVED,
        failed: tuple[dict[str, Version], ...] = (),
    ) -> tuple[Lock | Refusal, list[Inputs]]:
        """Lock with a resolver that takes the newest, of floors the oldest; `refused` names the
        package over which it refuses these pins.
        """
        document = self.document(rules)
        matrix = matrix_of(document)

        def answer(inputs: Inputs) -> Lock | Refusal:
            floors = {Requirement(line).name: Requirement(line) for line in inputs.floors}
            for step in range(3):
                pins: dict[str, str] = {}
                for requirement in map(Requirement, inputs.requirements):
                    name = requirement.name
                    if name in self.OTHERS:
                        also = [c for c in map(Requirement, inputs.constraints) if c.name == name]
                        fitting = [
                            v
                            for v in ("1.0", "1.1", "2.0")
                            if all(v in asked.specifier for asked in (requirement, *also))
                        ]
                        if not fitting:
                            return Refusal(cause="conflict", subject=name, because="no")
                        above = [
                            v for v in fitting if name in floors and v in floors[name].specifier
                        ]
                        pins[name] = above[step:][0] if above[step:] else fitting[-1]
                if not refused(pins):
                    break
            blocking = refused(pins)
            if blocking:
                return Refusal(
                    cause="conflict", subject="dep<2", because="no", named=("dep", blocking)
                )
            made = tuple(
                Pin(name=n, version=Version(v), hashes=("0" * 64,)) for n, v in pins.items()
            )
            return Lock(inputs=inputs, pins=made, tool="memory 1")

        locker = MemoryLocker(answer)
        cell = parse_cell("py3.8-dep2-demo1.0+relaxed", matrix)
        facts = Feasibility(matrix, catalogue_of(document))
        package_of = source_of(document).package
        return locked_cell(facts, cell, locker, package_of, near, failed), list(locker.asked)

    @staticmethod
    def of_two(pins: dict[str, str]) -> str:
        """Refuse two of the published pins; of one of them 1.1 does as well."""
        old = [n for n in ("thirdc", "thirdk") if pins.get(n) == "1.0"]
        return old[0] if old else ""

    def test_what_stands_in_no_ones_way_is_asked_as_published_after_one_question(self) -> None:
        answer, asked = self.lock(lambda pins: "")
        assert isinstance(answer, Lock)
        # The library alone, and the suite once at the end.
        assert [inputs.suite for inputs in asked] == [(), ("pytest",)]
        assert {f"{name}==1.0" for name in self.OTHERS} <= {*answer.inputs.requirements}

    def test_only_what_is_needed_gives_way_and_no_farther_than_needed(self) -> None:
        answer, asked = self.lock(self.of_two)
        assert isinstance(answer, Lock)
        lines = {*answer.inputs.requirements}
        assert {"thirdc", "thirdk"} <= lines
        assert {f"{n}==1.0" for n in self.OTHERS if n not in ("thirdc", "thirdk")} <= lines
        pins = {pin.name: str(pin.version) for pin in answer.pins}
        assert (pins["thirdc"], pins["thirdk"]) == ("1.1", "1.1")
        assert len(asked) <= 13

    def test_packages_that_are_pinned_to_one_version_move_to_one_version(self) -> None:
        def apart(pins: dict[str, str]) -> str:
            old = pins.get("thirdc") == "1.0" or pins.get("thirdk") in ("1.0", "1.1")
            return "thirdc" if old else ""

        answer, _ = self.lock(apart)
        assert isinstance(answer, Lock)
        pins = {pin.name: str(pin.version) for pin in answer.pins}
        assert (pins["thirdc"], pins["thirdk"]) == ("2.0", "2.0")

    def test_what_a_neighbour_gave_up_is_tried_first(self) -> None:
        near = (frozenset(("thirdc", "thirdk", "thirdz")),)
        answer, asked = self.lock(self.of_two, near)
        assert isinstance(answer, Lock)
        assert {"thirdc", "thirdk", "thirda==1.0"} <= {*answer.inputs.requirements}
        assert [bool(inputs.suite) for inputs in asked] == [False] * 5 + [True]

    def test_a_version_with_which_the_import_failed_is_avoided_and_the_newest_taken(self) -> None:
        failed = ({"deep": Version("3"), "thirdc": Version("1.0"), "thirde": Version("1.0")},)
        answer, _ = self.lock(self.of_two, failed=failed)
        assert isinstance(answer, Lock)
        pins = {pin.name: str(pin.version) for pin in answer.pins}
        assert (pins["thirdc"], pins["thirdk"], pins["thirde"]) == ("2.0", "2.0", "1.0")
        assert answer.inputs.constraints == ("thirdc==2.0", "thirdc>1.0")

    def test_where_no_other_version_can_be_locked_the_next_package_is_moved(self) -> None:
        failed = ({"thirdc": Version("2.0"), "thirde": Version("1.0")},)
        answer, _ = self.lock(lambda pins: "", failed=failed)
        assert isinstance(answer, Lock)
        assert answer.inputs.constraints == ("thirde==2.0", "thirde>1.0")
        assert "thirdc==1.0" in answer.inputs.requirements

    def test_a_rule_bounds_a_third_package_only_where_that_can_be_locked(self) -> None:
        bounds = ", ".join(
            f'{{ package = "{name}", to = "==1.1", everywhere = true, always = true }}'
            for name in ("thirdc", "thirdk")
        )
        rules = self.MOVED.replace('to = "any" }', f'to = "any" }}, {bounds}')
        answer, _ = self.lock(lambda pins: "thirdc" if pins["thirdc"] != "2.0" else "", rules=rules)
        assert isinstance(answer, Lock)
        assert {"thirdc", "thirdk==1.1", "thirda==1.0"} <= {*answer.inputs.requirements}
        assert answer.inputs.overrides == ("thirdk==1.1",)
        document = self.document(rules)
        matrix = matrix_of(document)
        facts = Feasibility(matrix, catalogue_of(document))
        cell = parse_cell("py3.8-dep2-demo1.0+relaxed", matrix)
        assert requires_as_declared(facts, cell, answer)

    def test_what_cannot_be_locked_with_all_freed_names_the_package_that_blocks_it(self) -> None:
        answer, _ = self.lock(lambda pins: "thirde" if "thirde" in pins else "")
        assert isinstance(answer, Refusal)
        assert answer.subject == "thirde"

    def test_an_axis_alone_that_cannot_be_locked_blames_no_other_package(self) -> None:
        answer, _ = self.lock(lambda pins: "unheard-of")
        assert isinstance(answer, Refusal)
        assert answer.subject == "dep<2"

    @pytest.mark.parametrize(
        ("change", "is_as_declared"),
        [
            ({}, True),
            ({"overrides": ("deep<2",)}, True),  # of a rule that is gone
            ({"overrides": ("dep==1.*",)}, False),
            ({"requirements": ("dep==2.*", "pytest")}, True),
            ({"requirements": ("dep==1.*", "pytest")}, False),
            ({"requirements": ("dep==2.*", "pytest", "unheard-of")}, False),
            ({"constraints": ("deep<2",)}, False),
        ],
    )
    def test_a_lock_that_gave_up_more_or_less_still_asks_as_declared(
        self, change: dict[str, Any], is_as_declared: bool
    ) -> None:
        answer, _ = self.lock(self.of_two)
        assert isinstance(answer, Lock)
        lock = msgspec.structs.replace(
            answer, inputs=msgspec.structs.replace(answer.inputs, **change)
        )
        document = self.document()
        matrix = matrix_of(document)
        facts = Feasibility(matrix, catalogue_of(document))
        cell = parse_cell("py3.8-dep2-demo1.0+relaxed", matrix)
        assert requires_as_declared(facts, cell, lock) == is_as_declared
        assert given_up(facts, cell, answer) == {"thirdc", "thirdk"}

    def test_the_facts_of_a_relaxed_cell_hold_no_pin_of_a_third_package(self) -> None:
        document = self.document()
        matrix = matrix_of(document)
        demands = Demands(Feasibility(matrix, catalogue_of(document)))
        [facts] = demands.of(parse_cell("py3.8-dep2-demo1.0+relaxed", matrix))
        assert facts == {"dep==2.*", *self.OTHERS}

    @pytest.mark.parametrize(
        ("other", "involved", "is_told"),
        [
            ("py3.8-dep2-demo1.0+relaxed", ("thirdc", "demo"), True),
            ("py3.9-dep2-demo1.0+relaxed", ("thirdc", "demo"), True),
            ("py3.8-dep2-demo1.1+relaxed", ("thirdc", "dep"), True),
            ("py3.8-dep2-demo1.1+relaxed", ("thirdc", "demo"), False),  # by another release's code
            ("py3.8-dep1-demo1.0+relaxed", ("thirdc", "demo"), False),  # beside another dep
            ("py3.8-dep2-demo1.0", ("thirdc", "demo"), False),
            ("py3.8-dep2-demo1.0+relaxed", ("demo", "dep"), False),
        ],
    )
    def test_an_import_that_a_third_package_broke_is_told_to_cells_like_it(
        self, other: str, involved: tuple[str, ...], is_told: bool
    ) -> None:
        matrix = matrix_of(self.document())
        facts = Feasibility(matrix, catalogue_of(self.document()))
        installed = (Installed("thirdc", "1.0"), Installed("demo", "1.0"))
        failed = ran(
            "import-fail:missing-attribute(x)", cell=other, involved=involved, installed=installed
        )
        works = ran("pass", cell=other, involved=involved, installed=installed)
        context = SimpleNamespace(asked=frozenset(("demo", "dep")))
        for record, is_failed in ((failed, True), (works, False)):
            workspace: Any = SimpleNamespace(
                context=context, runs=[other], records=lambda _, found=record: [found]
            )
            cell = parse_cell("py3.8-dep2-demo1.0+relaxed", matrix)
            told = [*failed_imports(workspace, facts, cell)]
            assert told == [{"thirdc": Version("1.0")}] * (is_told and is_failed)
