"""Publishing at size: a site of 10,200 cells; after one more run only what differs is written.

Figures are printed, bounds generous.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.benchmark
SCRIPT = Path(__file__).parent / "synthetic_site.py"


@pytest.mark.parametrize("known", [1_020, 10_200])
def test_a_site_of_ten_thousand_cells_is_written_and_then_only_what_differs(
    known: int, tmp_path: Path
) -> None:
    words = [sys.executable, str(SCRIPT), str(tmp_path / "site"), str(known)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(ran.stdout)
    print(f"\n{figures}")
    assert figures["known"] == known
    assert figures["whole"]["cpu"] < 180
    assert figures["peak_mb"] < 1024
    assert figures["idle"]["written"] == 0
    assert figures["again"]["written"] < 100
