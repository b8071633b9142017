"""What this repository keeps under matrices/ is sound, without asking any index."""

from pathlib import Path

import pytest

from compat.workspace import kept_lock

MATRICES = Path(__file__).parent.parent / "matrices"
LOCKS = [
    path for name in ("pip-tools", "tff") for path in sorted(MATRICES.glob(f"{name}/locks/*.txt"))
]


def test_there_are_locks_for_each_era_of_the_first_matrix() -> None:
    eras = ("tff0.20.0", "tff0.33.0", "tff0.48.0", "tff0.63.0", "tff0.87.0")
    assert all(any(f"-{era}+relaxed" in path.name for path in LOCKS) for era in eras)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_a_kept_lock_is_whole_and_names_neither_host_nor_path(path: Path) -> None:
    assert kept_lock(path).inputs.cell == path.stem
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    assert " /" not in text
