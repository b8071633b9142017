"""What a matrix could be extended by: with the evidence of a first run, and without."""

import datetime
from typing import Any

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from support.floors import (
    DAY,
    LOCK,
    MATRIX,
    OTHER_SUITE,
    SUITE,
    catalogue,
    cell,
    lacking,
    policy,
    ran,
    release,
)

from compat.declare.load import Declared, decode_matrix
from compat.declare.matrix import widened_specifier
from compat.github.standing import requested, waiting
from compat.index.release import Catalogue, Package, Published
from compat.plan.plan import plan
from compat.policy.evaluation import Proposal
from compat.policy.propose import proposed_extensions
from compat.results.judge import EvaluationContext
from compat.results.record import Record
from compat.results.snapshot import snapshot
from compat.rewrite.toml_values import matrix_after

FIRST = cell("3.12", "1.4")


def extended(
    runs: list[Record],
    text: str = MATRIX,
    known: Catalogue | None = None,
    day: datetime.date = DAY,
) -> dict[str, Proposal]:
    matrix, known = decode_matrix(text.encode(), "world"), known or catalogue()
    by_cell: dict[str, list[Record]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)
    present = EvaluationContext(suite_digest=SUITE, day=DAY, asked=frozenset(("demo", "dep")))
    locks = dict.fromkeys(by_cell, LOCK)
    fates = plan(matrix, known).fates
    seen = snapshot(Declared(matrix=matrix, policy=policy()), known, fates, locks, by_cell, present)
    return {proposal.id: proposal for proposal in proposed_extensions(seen, day)}


def against(proposal: Proposal) -> list[str]:
    return [objection.against for objection in proposal.objections]


def refusing(python: str) -> Catalogue:
    """The world, where the newest release asks for that Python."""
    known = catalogue()
    demo = known.package("demo")
    asks = Published(requires_python=SpecifierSet(python), requires_dist=("dep>=1.2,<1.5",))
    newest = release("demo", "2.0", "2024-05-05", asks)
    packages = (
        Package(name="demo", releases=(*demo.releases[:-1], newest)),
        *known.packages[1:],
    )
    return msgspec.structs.replace(known, packages=packages)


class TestANewPython:
    def test_each_series_that_came_out_waits_for_a_first_run_and_names_its_command(self) -> None:
        found = extended([])
        # 3.15 is planned for October, after the day of the world.
        assert list(found) == [f"extend-python-3.11-to-{s}" for s in ("3.12", "3.13", "3.14")]
        first = found["extend-python-3.11-to-3.12"]
        assert not first.is_open
        assert first.needs == (FIRST,)
        assert f"`compat run demo {FIRST}` makes the first" in first.objections[0].because
        [ground] = first.grounds
        assert "2023-10-02 (PEP 693)" in ground

    def test_a_run_of_the_core_opens_it(self) -> None:
        found = extended([ran(FIRST, tier="smoke")])["extend-python-3.11-to-3.12"]
        assert found.is_open
        assert not found.needs
        assert [(known.cell, known.evidence) for known in found.evidence] == [(FIRST, "smoke")]
        assert "core of the suite" in found.arithmetic[-1]

    def test_a_run_of_another_cell_with_it_opens_it_too(self) -> None:
        found = extended([ran(cell("3.13", "1.2", "relaxed"))])
        assert found["extend-python-3.11-to-3.13"].is_open
        assert "changed dependency pins" in found["extend-python-3.11-to-3.13"].because
        assert not found["extend-python-3.11-to-3.12"].is_open

    def test_a_run_of_an_older_release_does_not(self) -> None:
        found = extended([ran(cell("3.12", "1.2", demo="1.0"))])
        assert not found["extend-python-3.11-to-3.12"].is_open

    def test_what_works_in_part_opens_it(self) -> None:
        run = ran(FIRST, "test-fail:assertion(adding-up)", **lacking("adding-up"))
        assert extended([run])["extend-python-3.11-to-3.12"].is_open

    def test_what_does_not_work_waits_and_needs_no_further_run(self) -> None:
        run = ran(FIRST, "import-fail:missing-module(dep.old)")
        found = extended([run])["extend-python-3.11-to-3.12"]
        assert against(found) == ["red"]
        assert not found.needs

    def test_a_run_of_an_older_suite_must_be_made_again(self) -> None:
        run = ran(FIRST, suite_digest=OTHER_SUITE)
        found = extended([run])["extend-python-3.11-to-3.12"]
        assert against(found) == ["stale"]
        assert found.needs == (FIRST,)

    def test_what_the_plan_rules_out_says_why_and_needs_no_run(self) -> None:
        text = MATRIX.replace(
            '{ package = "demo", ignore_requires_python = true }',
            '{ package = "none", to = "any" }',
        )
        found = extended([], text, refusing(">=3.9,<3.12"))["extend-python-3.11-to-3.12"]
        assert not found.is_open
        assert not found.needs
        because = found.objections[0].because
        assert "rules out every cell" in because
        assert "Python <3.12,>=3.9, not 3.12" in because

    def test_of_a_day_in_the_past_nothing_is_said(self) -> None:
        assert extended([], day=DAY - datetime.timedelta(1)) == {}


BOUNDED = MATRIX.replace(
    'package = "dep", select = { keep = "minor" }',
    'package = "dep", select = { specifier = ">=1.0,<1.3", keep = "minor" }',
)


def bounded() -> Catalogue:
    """The world, of whose newer releases the catalogue knows that they are there."""
    known = catalogue()
    releases = known.package("dep").releases
    return msgspec.structs.replace(
        known,
        packages=(known.packages[0], Package(name="dep", releases=releases[:3])),
        newer=(Package(name="dep", releases=releases[3:]),),
    )


class TestANewSeries:
    def test_the_newest_series_above_a_bound_waits_for_its_first_run(self) -> None:
        found = extended([], BOUNDED, bounded())["extend-dep-1.2-to-1.4"]
        assert found.needs == (cell("3.11", "1.4"),)
        assert [str(version) for version in found.gained[0].versions] == ["1.3", "1.4"]

    def test_once_run_the_bound_moves_and_nothing_else(self) -> None:
        run = ran(cell("3.11", "1.4"))
        found = extended([run], BOUNDED, bounded())["extend-dep-1.2-to-1.4"]
        assert found.is_open
        after = matrix_after(BOUNDED, found, found.because)
        assert after == BOUNDED.replace("<1.3", "<1.5")

    def test_an_axis_without_a_bound_has_its_series_already(self) -> None:
        assert not [name for name in extended([]) if "dep" in name]


class TestTheDeclaration:
    def test_a_series_is_added_with_its_first_patch_where_all_have_one(self) -> None:
        found = extended([ran(FIRST)])["extend-python-3.11-to-3.12"]
        before = (
            'axes = [\n  { kind = "interpreter", name = "python", releases = [%s] }, # old\n]\n'
        )
        assert matrix_after(before % '"3.10.1", "3.11.7"', found, "") == (
            before % '"3.10.1", "3.11.7", "3.12.0"'
        )
        assert matrix_after(before % '"3.10", "3.11.7"', found, "") == (
            before % '"3.10", "3.11.7", "3.12"'
        )

    def test_comments_and_lines_of_the_list_stay(self) -> None:
        found = extended([ran(FIRST)])["extend-python-3.11-to-3.12"]
        before = (
            '[[axes]]\nkind = "interpreter"\nname = "python"\nreleases = [\n'
            '  "3.10",  # the oldest\n  "3.11",\n] # more to come\n'
        )
        assert matrix_after(before, found, "") == before.replace('"3.11",', '"3.11",\n  "3.12",')

    def test_only_upper_bounds_move(self) -> None:
        def wider(text: str, release: str, keep: str) -> str | None:
            return widened_specifier(text, Version(release), keep)

        assert wider(">=2.3, <3", "3.1.2", "minor") == ">=2.3,<3.2"
        assert wider(">=2.3,<=3.0", "3.1.2", "each") == ">=2.3,<=3.1.2"
        assert wider("~=2.3", "4.1", "major") == ">=2.3,<5"
        assert wider(">=2.3,!=3.1.*,<3", "3.1.2", "minor") is None
        assert wider("==2.*", "3.1.2", "minor") is None


def texts(proposals: dict[str, Proposal]) -> Any:
    opened = [proposal for proposal in proposals.values() if proposal.is_open]
    others = [proposal for proposal in proposals.values() if not proposal.is_open]
    return requested(opened, "Demo"), waiting(others, "Demo")


def test_pull_request_and_issue_speak_of_extensions() -> None:
    pull, issue = texts(extended([ran(FIRST)]))
    assert pull.title.endswith(" Python 3.12")
    assert "### Extend the matrix from Python 3.11 to 3.12" in pull.body
    assert "then asks about:" in pull.body
    assert issue.title == "Demo: 2 extensions wait"
    assert cell("3.14", "1.4") in issue.body
