"""The question in a browser: answered in place in the words of the static pages, from a choice, an
address or a pasted text, with nothing sent; and search.
"""

from urllib.parse import urlsplit

import pytest
from conftest import Open, Window
from playwright.sync_api import Page, Request

SPOKEN = "[data-spoken]:not(:empty)"
GONE = (
    "ERROR: Could not find a version that satisfies the requirement jaxlib==0.4.14 (from"
    " tensorflow-federated)\nERROR: No matching distribution found for jaxlib==0.4.14"
)
OTHER_PYTHON = (
    "ERROR: Package 'tensorflow-federated' requires a different Python: 3.12.1 not in '<3.12,>=3.9'"
)
UV = (
    "Because the current Python version (3.12.3) does not satisfy Python>=3.9,<3.12 and"
    " tensorflow-federated==0.87.0 depends on Python>=3.9,<3.12, we can conclude that"
)
RENAMED = (
    '  File "/home/me/.venv/lib/python3.8/site-packages/jaxlib/xla_client.py", line 3\n'
    "AttributeError: module 'jaxlib.xla_client' has no attribute 'get_local_backend'"
)
FREEZE = "numpy==1.23.5\ntensorflow==2.9.3\ntensorflow-federated==0.20.0\n"


def answered(page: Page) -> str:
    """What the status says once there is an answer."""
    page.locator(SPOKEN).wait_for()
    return page.inner_text("[data-spoken]")


def answer(page: Page) -> str:
    return page.inner_text("[data-answer]")


def chosen(opened: Window, path: str, values: dict[str, str]) -> tuple[str, str]:
    """The status and the answer after these choices."""
    page = opened.visit(path)
    for name, value in values.items():
        page.evaluate("document.querySelector('[data-spoken]').textContent = ''")
        page.locator(f"select[name={name}]").select_option(value)
        answered(page)
    return page.inner_text("[data-spoken]"), answer(page)


def pasted(page: Page, text: str) -> str:
    """What is recognised in a text: what was read, and what was found."""
    page.locator("[data-paste] summary").click()
    page.locator("textarea").fill(text)
    answered(page)
    return f"{page.inner_text('[data-paste] summary')}\n{page.inner_text('[data-findings]')}"


@pytest.mark.parametrize("path", ["demo/", "demo/advise/"])
def test_each_choice_is_answered_in_the_words_of_its_page(
    path: str, window: Open, states: str
) -> None:
    opened, static = window(states), window(states)
    for series in ("3.8", "3.9"):
        for dep in ("", "1", "2"):
            values = {"python": series} | ({"dep": dep} if dep else {})
            place = f"py{series}" + (f"-dep{dep}" if dep else "")
            spoken, shown = chosen(opened, path, values)
            page = static.visit(f"demo/advise/{place}/")
            assert shown == answer(page), (path, values)
            assert spoken == page.locator("[data-answer]").get_attribute("data-says")
    assert opened.seen.console == []


def test_every_preset_of_the_real_site_is_answered_in_the_words_of_its_page(
    window: Open, real: str
) -> None:
    opened, static = window(real), window(real)
    for values, place in (
        ({"python": "3.10"}, "py3.10"),
        ({"python": "3.13"}, "py3.13"),
        ({"tf": "2.9"}, "tf2.9"),
        ({"python": "3.11", "tf": "2.9"}, "py3.11-tf2.9"),
    ):
        _, shown = chosen(opened, "tff/", values)
        assert shown == answer(static.visit(f"tff/advise/{place}/"))
        assert "pip install" in shown


def test_links_of_an_answer_lead_to_where_they_lead_on_its_page(window: Open, states: str) -> None:
    opened, static = window(states), window(states)
    chosen(opened, "demo/", {"python": "3.9"})
    static.visit("demo/advise/py3.9/")
    hrefs = "all => all.map((link) => link.href)"
    links = opened.page.locator("[data-answer] a").evaluate_all(hrefs)
    assert links
    assert links == static.page.locator("[data-answer] a").evaluate_all(hrefs)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "?python=3.14",
            "Python 3.14 is not in this matrix: the newest is 3.13, and no tested combination with"
            " it works.",
        ),
        ("?py=3.6", "Python 3.6 is not in this matrix: the oldest is 3.7."),
        ("?tensorflow=1.15", "tensorflow 1.15 is not in this matrix: the oldest is 2.3."),
        ("?tf=2.9.1", "tensorflow 2.9.1 is answered as tensorflow 2.9."),
        ("?python=new", "Python new is not in this matrix, which has 3.7 to 3.13."),
        ("?pytorch=2", "pytorch is not a part of this matrix"),
    ],
)
@pytest.mark.parametrize("path", ["tff/", "tff/advise/"])
def test_a_wrong_or_unknown_value_is_said_aloud(
    path: str, query: str, said: str, window: Open, real: str
) -> None:
    opened = window(real)
    assert answered(opened.visit(f"{path}{query}")).startswith(said)
    assert opened.page.locator("[role=status]").count() == 1
    assert opened.seen.console == []


@pytest.mark.parametrize("name", ["tf", "tensorflow", "TensorFlow"])
def test_an_axis_goes_by_each_of_its_names(name: str, window: Open, real: str) -> None:
    page = window(real).visit(f"tff/advise/?{name}=2.9")
    assert "tensorflow 2.9" in answered(page)
    assert page.locator("select[name=tf]").input_value() == "2.9"


@pytest.mark.parametrize(
    ("text", "found", "python"),
    [
        (GONE, "The package index has no jaxlib==0.4.14, which tensorflow-federated 0.63.0", ""),
        (OTHER_PYTHON, "Read: Python 3.12.1", "3.12"),
        (UV, "Read: Python 3.12.3, tensorflow-federated 0.87.0", "3.12"),
        (RENAMED, "jaxlib.xla_client.get_local_backend is missing", "3.8"),
        (FREEZE, "What works with tensorflow-federated 0.20.0", ""),
        ("hello", "No version and no published cause was recognised.", ""),
    ],
)
def test_a_pasted_text_is_answered_with_its_cause_and_a_command(
    text: str, found: str, python: str, window: Open, real: str
) -> None:
    opened = window(real)
    page = opened.visit("tff/")
    assert found in pasted(page, text)
    assert page.locator("select[name=python]").input_value() == python
    assert "pip install" in answer(page)
    assert opened.seen.console == []


def test_one_click_a_paste_and_the_command_stands_in_the_first_500_pixels(
    window: Open, real: str
) -> None:
    page = window(real).visit("tff/")
    page.locator("[data-paste] summary").click()
    page.locator("textarea:focus").wait_for()
    page.keyboard.insert_text(FREEZE)
    answered(page)
    assert page.locator("[data-paste]").get_attribute("open") is None
    box = page.locator("[data-answer] pre").first.bounding_box()
    assert box is not None
    assert box["y"] < 500


def test_a_recognised_cause_leads_to_its_place(window: Open, real: str) -> None:
    page = window(real).visit("tff/")
    pasted(page, GONE)
    page.locator("[data-findings] a").first.click()
    page.wait_for_url("**/tff/causes/cause-*/")
    assert page.locator("h1").is_visible()


def test_a_pasted_text_is_sent_to_nobody_and_never_becomes_markup(window: Open, real: str) -> None:
    opened = window(real)
    page = opened.visit("tff/")
    requests: list[Request] = []
    page.on("request", lambda request: requests.extend([request]))
    secret = "token-5f3c <img src=x onerror=alert(1)> tensorflow==2.9.3"
    pasted(page, f"{secret}\n{OTHER_PYTHON}")
    assert opened.seen.foreign == []
    assert opened.seen.dialogs == []
    assert requests
    for request in requests:
        assert request.method == "GET"
        assert request.post_data is None
        assert urlsplit(request.url).query == ""
        assert "5f3c" not in request.url
    assert "5f3c" not in page.url
    assert page.locator("main img").count() == 0
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_without_a_script_links_lead_to_the_answers(window: Open, states: str) -> None:
    page = window(states, java_script_enabled=False).visit("demo/")
    assert not page.locator("form[data-question]").is_visible()
    page.get_by_role("link", name="Python 3.8", exact=True).click()
    page.wait_for_url("**/demo/advise/py3.8/")
    assert "python3.8 -m venv" in answer(page)


def test_search_by_keyboard_from_any_page(window: Open, states: str) -> None:
    opened = window(states)
    page = opened.visit("demo/grid/py3.8/")
    page.locator("#seek").focus()
    page.keyboard.type("means")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/?q=means")
    assert "result" in answered(page)
    page.locator("main input[name=q]").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "Means"
    page.keyboard.press("Enter")
    page.wait_for_url("**/demo/cap/mean/")
    assert opened.seen.console == []


def test_search_says_when_there_is_nothing_and_shows_everything(window: Open, states: str) -> None:
    page = window(states).visit("search/?q=zebra")
    assert answered(page).startswith("Nothing has these words.")
    assert page.locator("[data-everything]").is_visible()
    page = window(states, java_script_enabled=False).visit("search/?q=zebra")
    assert page.get_by_role("link", name="Releases").first.is_visible()


def test_search_knows_other_words_and_guesses_at_a_slip(window: Open, real: str) -> None:
    page = window(real).visit("search/?q=m1")
    answered(page)
    assert "on macOS arm64" in page.inner_text("[data-results]")
    page = window(real).visit("search/?q=tensorflw")
    answered(page)
    assert "Did you mean tensorflow?" in page.inner_text("[data-results]")


def test_a_visitor_with_another_machine_is_told_first_and_can_change_it(
    window: Open, real: str
) -> None:
    opened = window(real)
    opened.page.add_init_script(
        "Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' });"
        "Object.defineProperty(navigator, 'userAgentData', { get: () => undefined });"
    )
    page = opened.visit("tff/")
    page.locator("[data-elsewhere]").wait_for()
    assert "installs on macOS arm64" in page.inner_text("main")
    assert "FROM --platform=linux/amd64" in answer(page)
    page.locator("select[data-platform]").select_option("")
    answered(page)
    assert page.locator("[data-elsewhere]").count() == 0
    assert opened.seen.console == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_at_360_the_answer_and_the_findings_fit(scheme: str, window: Open, real: str) -> None:
    opened = window(real, viewport={"width": 360, "height": 800}, color_scheme=scheme)
    page = opened.visit("tff/")
    pasted(page, f"{GONE}\n{RENAMED}\n{'x' * 500}==1.0")
    width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(width) == 0
