"""Every kind of page, in both schemes: axe finds nothing, narrow screens hold it, and it needs no
script.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import Open
from support.kinds import ONLY_REAL, REAL, STATES

WIDTHS = (320, 768, 1440)


# All rules, and of the dark scheme, which changes colours alone, the one about colours.
RULES = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast"]},
}


# The real site has the same templates and colours: of it only what the other one has not.
@pytest.mark.parametrize(
    ("site", "scheme"), [("states", "light"), ("states", "dark"), ("real", "light")]
)
def test_axe_finds_nothing(
    site: str, scheme: str, window: Open, request: pytest.FixtureRequest
) -> None:
    opened = window(request.getfixturevalue(site), color_scheme=scheme, reduced_motion="reduce")
    found = []
    for path in STATES if site == "states" else ONLY_REAL:
        page = opened.visit(path)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for violation in Axe().run(page, options=RULES[scheme]).response["violations"]:
            places = [node["html"][:120] for node in violation["nodes"][:3]]
            found.append(f"{path or '/'} {violation['id']}: {places}")
    assert found == []
    assert opened.seen.console == []


def test_no_page_is_wider_than_the_screen(window: Open, real: str, states: str) -> None:
    beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for base, paths in ((real, REAL), (states, STATES)):
        opened = window(base)
        for path in paths:
            page = opened.visit(path)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate(beyond) == 0, f"{path} at {width}"


def test_every_page_asks_its_own_host_for_little_and_others_for_nothing(
    window: Open, real: str
) -> None:
    opened = window(real)
    asked: list[str] = []
    opened.page.on("request", lambda one: asked.append(one.url))
    for path in REAL:
        # What the page before still asks for is not of this one.
        opened.page.wait_for_load_state("networkidle")
        asked.clear()
        opened.visit(path)
        assert len(asked) <= 6, f"{path}: {asked}"
    assert opened.seen.foreign == []


def test_without_script_every_answer_can_be_read(window: Open, states: str) -> None:
    opened = window(states, java_script_enabled=False)
    assert "pip install" in opened.visit("demo/").inner_text("main")
    assert (
        opened.visit("demo/grid/py3.8/")
        .locator("table.grid")
        .get_by_text("1.0", exact=True)
        .is_visible()
    )
    assert not opened.page.locator("form.filter").is_visible()
    advice = opened.visit("demo/advise/py3.8/").inner_text("main")
    assert "works" in advice
    assert "With each dep" in advice
    assert "ModuleNotFoundError" in opened.visit(
        "demo/cell/py3.8-dep2-demo2.0+relaxed/"
    ).inner_text("main")


def test_in_forced_colours_the_signs_remain(window: Open, states: str) -> None:
    opened = window(states, forced_colors="active")
    page = opened.visit("demo/grid/py3.8/")
    for sign in ("†", "✓+", "≈", "✗"):
        assert page.locator("table.grid td.place").get_by_text(sign, exact=True).is_visible()
    # Forced colours take a background away, and leave a border.
    mark = page.locator("table.grid .stale").first
    width = "stale => getComputedStyle(stale, '::after').borderTopWidth"
    assert float(mark.evaluate(width).removesuffix("px")) > 0


def test_on_a_narrow_screen_each_row_is_a_line_with_its_answer(window: Open, states: str) -> None:
    page = window(states, viewport={"width": 320, "height": 800}).visit("demo/grid/py3.8/")
    line = page.locator(".ranges li").last
    assert line.is_visible()
    assert "1.0" in line.inner_text()
    assert "2" in line.inner_text()
