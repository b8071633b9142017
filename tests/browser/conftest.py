"""What the tests in real browsers share: sites on the loopback, and Chromium, which may reach
nothing else.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, sync_playwright
from support.editions import edition
from support.many_releases import LongShelf, ever_changing, long_edition
from support.printed import every_state, put, whole

from compat.site.serve import Preview

CHROMIUM = shutil.which("chromium")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder; skip those whose browser is not here.

    In CI they run, and fail, instead.
    """
    for item in items:
        path = Path(item.path)
        if path.parent == Path(__file__).parent:
            item.add_marker("browser")
            program = "w3m" if path.name == "test_text_browser.py" else "chromium"
            if shutil.which(program) is None and not os.environ.get("CI"):
                item.add_marker(
                    pytest.mark.skip(reason=f"no {program} here: apt-get install {program}")
                )


@dataclass
class Seen:
    """What a page did that it should not: scripts that ran, requests to others, violations of its
    policy, errors.
    """

    foreign: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@dataclass
class Window:
    """A page in a browser, and what was seen of it."""

    page: Page
    base: str
    seen: Seen

    def visit(self, path: str) -> Page:
        """Go to a path of the site."""
        self.page.goto(self.base + path)
        return self.page


Open = Callable[..., Window]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium. It ends with its file: its event loop and its processes disturb other tests."""
    if CHROMIUM is None:
        pytest.fail("no chromium here: apt-get install chromium")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site of the shelf that has every state, on the loopback."""
    folder = tmp_path_factory.mktemp("states")
    put(folder, whole(edition(every_state())))
    with Preview(folder) as preview:
        yield preview.url


@pytest.fixture(scope="session")
def real(real_site: Path) -> Iterator[str]:
    """The site of the committed records, on the loopback."""
    with Preview(real_site / "public") as preview:
        yield preview.url


@pytest.fixture(scope="session", params=[68, 200])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site of a matrix with so many tested releases, no two neighbours alike."""
    folder = tmp_path_factory.mktemp("many")
    put(folder, whole(long_edition(LongShelf(request.param, ever_changing, smoked=[9, 33]))))
    with Preview(folder) as preview:
        yield preview.url


@pytest.fixture
def window(browser: Browser) -> Iterator[Open]:
    """Open a window on a site: `window(url, color_scheme="dark")`."""
    contexts: list[BrowserContext] = []

    def opened(base: str, **options: object) -> Window:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        contexts.append(context)
        seen = Seen()

        def guard(route: Route, request: Request) -> None:
            seen.foreign.append(request.url)
            route.abort()

        context.route(re.compile(f"^(?!{re.escape(base)})"), guard)
        page = context.new_page()
        page.on(
            "console",
            lambda message: seen.console.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: seen.console.append(str(error)))
        page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
        return Window(page=page, base=base, seen=seen)

    yield opened
    for context in contexts:
        context.close()
