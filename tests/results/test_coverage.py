"""How many cells there are of each kind: one count for the plan, the pages and the data."""

from test_known_answers import ANT_MOVES, FILE, picture, record

from compat.results.snapshot import CellCount, cell_count


def test_each_planned_cell_is_counted_once_and_no_refusal_as_installable() -> None:
    of = picture(
        record("py3.9-fr1-demo1.0"),
        record("py3.9-fr5-demo1.0"),
        record("py3.9-fr1-demo2.0", "import-fail:network"),
        files=[FILE],
        answers={
            "py3.9-fr2-demo2.0": "lock-fail:conflict(ant==1)",
            "py3.9-fr2-demo2.0+relaxed": "lock-fail:conflict(ant==1)",
        },
        rules=ANT_MOVES,
    )
    count = cell_count(of)
    assert count.planned == sum(entry.planned for entry in of.entries)
    by_state = {
        "tested": {"py3.9-fr1-demo1.0", "py3.9-fr5-demo1.0"},
        "undecided": {"py3.9-fr1-demo2.0"},
        "expected": {e.cell.id for e in of.entries if e.expected},
        "refused": {e.cell.id for e in of.entries if e.kind == "broken"},
        "ruled_out": {e.cell.id for e in of.entries if e.obstacle is not None},
    }
    open_cells = count.planned - sum(map(len, by_state.values()))
    assert count == CellCount(untried=open_cells, **{k: len(v) for k, v in by_state.items()})
    assert "py3.9-fr2-demo2.0" in by_state["refused"]
    assert "py3.9-fr2-demo2.0+relaxed" not in by_state["refused"]


def test_one_cell_is_no_plural() -> None:
    assert CellCount(tested=1).words.startswith("1 cell:")
    assert CellCount(tested=1, untried=1).words.startswith("2 cells:")
