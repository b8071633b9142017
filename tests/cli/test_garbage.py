"""How often a question looks for garbage."""

import subprocess
import sys
from pathlib import Path

from support.known import proven, repository

COUNTED = """
import gc, sys
seen = []
gc.callbacks.append(lambda phase, about: seen.append(about["generation"]))
from compat.cli.app import main
sys.argv = ["compat", *sys.argv[1:]]
del seen[:]
try:
    main()
except SystemExit as left:
    assert left.code == 0, left.code
print(len(seen) // 2, file=sys.stderr)
"""
# Python's own bound: it looks after so many values more than it has let go.
OF_PYTHON = "import gc; gc.set_threshold = lambda *most: None\n"


def searches(root: Path, before: str = "") -> int:
    """Return how often garbage was looked for while a question was answered."""
    words = ["show", "demo", "--root", str(root)]
    done = subprocess.run(
        [sys.executable, "-c", before + COUNTED, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={"PATH": "/usr/bin:/bin", "COMPAT_CACHE_DIR": str(root / "cache")},
    )
    return int(done.stderr.splitlines()[-1])


def test_a_question_looks_for_garbage_seldom() -> None:
    with repository(proven("py3.9-dep2-demo2.0")) as root:
        assert searches(root) * 10 < searches(root, OF_PYTHON)
