"""The keyboard: a grid is one stop of the Tab key, arrows move in it, filters and the advisor keep
their address.
"""

from conftest import Open
from playwright.sync_api import Page

FOCUS = "document.activeElement.closest('table.grid') !== null"


def in_grid(page: Page) -> bool:
    found: bool = page.evaluate(FOCUS)
    return found


def asked(page: Page) -> str:
    found: str = page.evaluate("location.search")
    return found


def place(page: Page) -> str:
    found: str = page.evaluate("document.activeElement.textContent.trim()")
    return found


def test_tab_enters_and_leaves_a_grid_with_one_stop(window: Open, real: str) -> None:
    page = window(real).visit("tff/grid/py3.9/")
    stops = 0
    for _ in range(60):
        page.keyboard.press("Tab")
        if in_grid(page):
            stops += 1
        elif stops:
            break
    assert stops == 1
    page.keyboard.press("Shift+Tab")
    assert in_grid(page)
    page.keyboard.press("Shift+Tab")
    assert not in_grid(page)


def test_arrows_home_and_end_move_in_a_grid(window: Open, states: str) -> None:
    page = window(states).visit("demo/grid/py3.8/")
    page.locator("table.grid tbody th a").first.focus()
    assert place(page) == "2.0"
    page.keyboard.press("ArrowDown")
    assert place(page) == "1.0"
    page.keyboard.press("End")
    assert place(page).startswith("†")
    page.keyboard.press("ArrowLeft")
    assert place(page).startswith("✓+")
    page.keyboard.press("Control+Home")
    assert place(page) == "demo"
    page.keyboard.press("Control+End")
    assert place(page).startswith("†")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_url("**/demo/cell/py3.8-dep2-demo1.0+relaxed/")


def test_a_grid_has_its_role_only_with_a_script(window: Open, states: str) -> None:
    assert window(states).visit("demo/grid/py3.8/").locator("[role=grid]").count() == 1
    assert (
        window(states, java_script_enabled=False)
        .visit("demo/grid/py3.8/")
        .locator("[role=grid]")
        .count()
        == 0
    )


def test_a_filter_is_kept_in_the_address(window: Open, states: str) -> None:
    page = window(states).visit("demo/grid/py3.8/")
    page.get_by_label("My demo", exact=True).fill("1")
    assert asked(page) == "?release=1"
    assert page.locator("table.grid tbody tr:visible").count() == 1
    assert "1 row" in page.inner_text("[data-count]")
    page.reload()
    assert page.locator("table.grid tbody tr:visible").count() == 1
    page.get_by_label("My demo", exact=True).fill("")
    page.get_by_label("failing").check()
    assert asked(page) == "?show=failing"
    assert page.locator("table.grid tbody tr:visible").count() == 1


def test_the_advisor_answers_in_the_page_and_keeps_the_question_in_the_address(
    window: Open, states: str
) -> None:
    opened = window(states)
    page = opened.visit("demo/advise/")
    page.locator("select[name=python]").select_option("3.8")
    page.locator("[data-spoken]:not(:empty)").wait_for()
    assert asked(page) == "?python=3.8&goal=best"
    told = page.inner_text("[data-answer]")
    assert "1.0" in told
    assert "python3.8 -m venv" in told
    page.locator("[data-answer] .card > details > summary").click()
    page.get_by_role("link", name="Test results").first.click()
    page.wait_for_url("**/demo/cell/py3.8-*/")
    assert opened.seen.console == []


def test_as_published_admits_no_changed_pins(window: Open, states: str) -> None:
    opened = window(states)
    page = opened.visit("demo/advise/?goal=published")
    page.locator("[data-spoken]:not(:empty)").wait_for()
    assert "+relaxed" not in page.inner_text("[data-answer]")
    assert opened.seen.console == []


def test_the_advisor_tells_the_smallest_change_when_nothing_fits(window: Open, states: str) -> None:
    page = window(states).visit("demo/advise/?python=3.9&dep=1")
    page.locator("[data-spoken]:not(:empty)").wait_for()
    assert page.inner_text("[data-spoken]").startswith("No tested combination")
    page.locator("[data-answer] > details:not(.alternatives) > summary").click()
    answer = page.inner_text("[data-answer]")
    assert "The nearest tested combination:" in answer
    assert "smallest change" in answer


def test_a_command_can_be_copied(window: Open, states: str) -> None:
    page = window(states, permissions=["clipboard-read", "clipboard-write"]).visit("demo/")
    page.locator("[data-answer] .tabs [value=uv]").check(force=True)
    page.get_by_role("button", name="Copy: uv").first.click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("uv venv --python 3.9 ")
