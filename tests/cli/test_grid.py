"""The grid of a matrix on a terminal: the site's signs, within the width, in ASCII where need be;
and what a run taught, in sentences.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from support.known import DAY, SUITE, Shelf, lock_of, ran, repository, statuses
from support.printed import every_state

from compat.cli.grid import print_grid
from compat.cli.options import workspace_of
from compat.cli.reports import learnt
from compat.cli.verdicts import print_failures, print_verdicts
from compat.results.answer import representative
from compat.results.judge import EvaluationContext
from compat.results.snapshot import Snapshot
from compat.site.status import STYLES, place_style
from compat.workspace import Workspace

SIGNS = {style.symbol for style in STYLES.values()}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A repository with a cell in every state."""
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path / "cache"))
    with repository(every_state()) as root:
        yield _workspace(root)


def _workspace(root: Path) -> Workspace:
    workspace = workspace_of("demo", root)
    workspace.__dict__["context"] = EvaluationContext(suite_digest=SUITE, day=DAY)
    return workspace


def printed(known: Snapshot, width: int = 80, encoding: str = "utf-8", **more: bool) -> str:
    """Return what the grid of all known places looks like on such a terminal."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    out = Console(file=file, width=width, highlight=False, markup=False, emoji=False, **more)
    print_grid(out, known, known.entries)
    file.flush()
    return raw.getvalue().decode(encoding)


def test_rows_are_releases_columns_partners_and_each_python_has_a_grid(
    workspace: Workspace,
) -> None:
    text = printed(workspace.known_combinations)
    first, second = text.split("\n\n")[:2]
    assert first.splitlines() == [
        "Python 3.9: demo (rows) with dep (columns)",
        "       2",
        "  2.0  ✓",
        "  1.0  ◐",
    ]
    assert second.splitlines() == [
        "Python 3.8: demo (rows) with dep (columns)",
        "       1   2",
        "  2.0  ≈   ✗",
        "  1.0  †  ✓+◷",
    ]


def test_the_legend_has_only_the_signs_in_use_and_counts_them(workspace: Workspace) -> None:
    legend = printed(workspace.known_combinations, width=200).split("\n\n")[-1]
    assert legend.split("   ") == [
        "✓ works: 1",
        "† works only with packages of its time: 1",
        "✓+ works with changed dependency pins: 1",
        "◐ partly works: 1",
        "≈ flaky: 1",
        "✗ broken: 1",
        "◷ stale: 1",
        "of 6 combinations\n",
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_a_grid_stays_within_the_width_and_leaves_nothing_out(
    workspace: Workspace, width: int
) -> None:
    text = printed(workspace.known_combinations, width)
    assert max(map(len, text.splitlines())) <= width
    grids, _, _ = text.rpartition("\n\n")
    shown = [sign for sign in grids if sign in "✓†◐≈✗"]
    assert sorted(shown) == sorted("✓†✓◐≈✗")


def test_an_encoding_without_the_signs_gets_ascii(workspace: Workspace) -> None:
    text = printed(workspace.known_combinations, encoding="ascii")
    assert "  1.0  d  +c*" in text
    assert "+c works with changed dependency pins: 1" in text
    assert "* stale: 1" in text


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp437"])
def test_no_legacy_encoding_ends_the_command(workspace: Workspace, encoding: str) -> None:
    assert "demo (rows)" in printed(workspace.known_combinations, encoding=encoding)


def test_there_is_colour_on_a_terminal_only_and_no_color_is_obeyed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    known = workspace.known_combinations
    assert "\x1b[" not in printed(known)
    assert "\x1b[32m" in printed(known, force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in printed(known, force_terminal=True)


def test_each_place_has_the_sign_that_the_site_gives_it(workspace: Workspace) -> None:
    whole = workspace.snapshot
    for entry in workspace.known.entries:
        own, every = (
            [other for other in of.entries if other.cell.coordinates == entry.cell.coordinates]
            for of in (workspace.known_combinations, whole)
        )
        assert place_style(own) == place_style(every)
        assert representative(own).cell == representative(every).cell


def test_few_cells_have_a_line_each_and_many_a_grid(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [entry.cell.id for entry in workspace.known.entries if entry.runs]
    assert len(cells) == 7
    print_verdicts(workspace, cells)
    assert "of 6 combinations" in capsys.readouterr().out
    print_verdicts(workspace, cells[:3])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(cell in line for cell, line in zip(cells[:3], lines, strict=True))


def test_equal_causes_are_said_once_with_a_count(capsys: pytest.CaptureFixture[str]) -> None:
    print_failures(
        {
            "a": "pass",
            "b": "import-fail:missing-module(dep)",
            "c": "lock-fail:no-artifact(dep==1.0)",
            "d": "import-fail:missing-module(dep)",
            "e": "test-fail:assertion(\x1b[31mred)",
        }
    )
    text = capsys.readouterr().out
    assert text.startswith("2 cells: The import fails: the module dep is missing.\n  b and d\n")
    assert text.count("dep is missing") == 1
    assert "\n  a" not in text
    assert "\x1b" not in text


def outcomes_of(workspace: Workspace, *cells: str) -> dict[str, str]:
    return {cell: str(workspace.runs[cell][-1].outcome) for cell in cells}


def test_a_run_ends_with_a_sentence_for_each_place_by_what_ran(workspace: Workspace) -> None:
    outcomes = outcomes_of(
        workspace, "py3.8-dep1-demo1.0", "py3.8-dep1-demo1.0+dated", "py3.9-dep2-demo1.0+relaxed"
    )
    assert learnt(workspace, outcomes) == (
        "demo 1.0 with dep 1 on Python 3.8 works as published, with packages of its time; as"
        " published, it cannot be installed today: the package index has no dep==1.0.",
        "demo 1.0 with dep 2 on Python 3.9 partly works when the requirements on dep are changed"
        " (1 of 2 works; 1 fails in this combination).",
        "Next: compat advise demo recommends what to install; compat show demo"
        " py3.8-dep1-demo1.0+dated shows its test results and how to reproduce them.",
    )


def test_what_did_not_run_now_is_not_claimed(workspace: Workspace) -> None:
    fresh = outcomes_of(workspace, "py3.8-dep1-demo1.0")
    sentence, following = learnt(workspace, fresh)
    assert "works" not in sentence
    assert "advise" not in following
    (following,) = learnt(workspace, {})
    assert "compat show demo CELL" in following


@pytest.mark.parametrize(
    "outcome", ["install-fail:network", "test-fail:wall-time", "plan-fail:excluded(rule)"]
)
def test_an_earlier_success_is_not_sold_as_one_of_this_run(
    workspace: Workspace, outcome: str
) -> None:
    *sentences, following = learnt(workspace, {"py3.9-dep2-demo2.0": outcome})
    assert not any(" works" in sentence for sentence in sentences)
    assert "advise" not in following


def test_many_places_are_counted_and_the_best_is_named(workspace: Workspace) -> None:
    cells = [entry.cell.id for entry in workspace.known.entries if entry.runs]
    sentence, _ = learnt(workspace, outcomes_of(workspace, *cells))
    assert sentence == (
        "Of 6 combinations that ran, 3 work and 1 partly works. The best of them: demo 2.0 with"
        " dep 2 on Python 3.9 works as published."
    )


def test_the_packages_whose_pins_were_changed_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path / "cache"))
    cell = "py3.9-dep2-demo1.0+relaxed"
    lock = lock_of(cell)
    shelf = Shelf([ran(lock, capabilities=statuses(**{"import": "yes"}))], [lock])
    with repository(shelf) as root:
        sentence, _ = learnt(_workspace(root), {cell: "pass"})
    assert sentence == (
        "demo 1.0 with dep 2 on Python 3.9 works when the requirements on dep are changed."
    )
