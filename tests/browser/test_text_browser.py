"""The grid in a text browser, which knows no style: signs, sentences and their order are all
there.
"""

import os
import subprocess
from pathlib import Path

from support.printed import every_state, page_of

GOLDEN = Path(__file__).parent / "golden" / "grid.txt"
# Wide enough that no row of the table is broken, so that a line is a row in every version of the
# browser.
W3M = ("w3m", "-dump", "-T", "text/html", "-cols", "400", "-I", "UTF-8", "-O", "UTF-8")


def dumped(html: str) -> str:
    """The page as the text browser prints it, without the blanks that only lay it out."""
    told = subprocess.run(
        W3M, input=html.encode(), capture_output=True, check=True, timeout=60
    ).stdout.decode()
    return (
        "\n".join(shown for line in told.splitlines() if (shown := " ".join(line.split()))) + "\n"
    )


def test_the_grid_as_text() -> None:
    text = dumped(page_of(every_state(), "demo/grid/py3.8/index.html"))
    if os.environ.get("ACCEPT_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    kept = GOLDEN.read_text(encoding="utf-8") if GOLDEN.exists() else ""
    assert text == kept, (
        f"if this is right: ACCEPT_GOLDEN=1 pytest {Path(__file__).name}, and look at the diff"
    )
