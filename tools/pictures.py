"""Draw the two pictures of README.md from the real terminal and the real grid.

    python tools/pictures.py SITE

SITE is a published site (`compat publish --out SITE`). The grid needs Chromium and
Playwright (dependency group `test`).
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
COMMAND = ("advise", "tff", "python==3.10", "tensorflow<2.14")
LINES = 9


def terminal() -> None:
    environ = os.environ | {"FORCE_COLOR": "1", "COLUMNS": "100"}
    run = (sys.executable, "-m", "compat", *COMMAND)
    printed = subprocess.run(run, cwd=ROOT, env=environ, check=True, capture_output=True, text=True)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=100, file=nowhere)
        console.print(
            "$ compat " + " ".join(f'"{w}"' if "<" in w or "=" in w else w for w in COMMAND)
        )
        for line in printed.stdout.splitlines()[:LINES]:
            console.print(Text.from_ansi(line), overflow="ellipsis", no_wrap=True)
        console.print("...")
        drawn = console.export_svg(title="compat", unique_id="terminal")
    # The fonts of the template are fetched from elsewhere; the reader's own will do.
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    (PICTURES / "terminal.svg").write_text(drawn, encoding="utf-8")


def grid(site: Path) -> None:
    page_file = site.resolve() / "tff" / "grid" / "py3.9" / "index.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1000, "height": 420})
        page.goto(page_file.as_uri())
        # The table from its head on, with as many rows as fit.
        page.eval_on_selector(
            "table.grid", "table => document.querySelector('main').replaceChildren(table)"
        )
        page.eval_on_selector("header", "header => header.remove()")
        page.screenshot(path=PICTURES / "grid.png")
        browser.close()


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    terminal()
    grid(Path(sys.argv[1]))
