"""A student, an engineer and a reader of a release on a phone: how many clicks and words it takes
until they have their answer. The maintainer's are in test_maintainer.py.
"""

import pytest
from conftest import Open
from playwright.sync_api import Page, expect

PHONE = {"width": 360, "height": 740}
MOST_CLICKS, MOST_WORDS = 2, 110


class Reader:
    """Counts what is clicked or chosen, and the words from the heading to the end of an answer."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def choose(self, name: str, value: str) -> None:
        """Choose from a list, which is answered in place."""
        self.clicks += 1
        self.page.locator(f"select[name={name}]").select_option(value)
        self.page.locator("[data-spoken]:not(:empty)").wait_for()

    def follow(self, name: str) -> None:
        """Follow a link."""
        self.clicks += 1
        self.page.get_by_role("link", name=name, exact=True).first.click()

    def follow_to(self, end: str) -> None:
        """Follow the link whose address ends so."""
        self.clicks += 1
        self.page.locator(f"a[href$='{end}']").click()

    def words(self, last: str) -> int:
        """How many words there are from the first of the content to the end of an element."""
        read = self.page.evaluate(
            """(last) => {
              const range = document.createRange();
              range.setStartBefore(document.querySelector("main h1"));
              range.setEndAfter(document.querySelector(last));
              const seen = document.createElement("div");
              const unread = "[hidden], select, .unseen, .tip, noscript,"
                + "details:not([open]) > :not(summary)";
              seen.append(range.cloneContents());
              seen.querySelectorAll(unread).forEach((part) => part.remove());
              return seen.textContent;
            }""",
            last,
        )
        return len(read.split())


@pytest.mark.parametrize(
    ("choices", "command"),
    [
        ({"python": "3.10"}, "pip install"),
        ({"tf": "2.9"}, "pip install"),
        ({"python": "3.9", "tf": "2.10"}, "python3.9 -m venv"),
    ],
)
def test_a_command_is_reached_within_two_choices_and_150_words(
    window: Open, real: str, choices: dict[str, str], command: str
) -> None:
    page = window(real, viewport=PHONE).visit("tff/")
    reader = Reader(page)
    for name, value in choices.items():
        reader.choose(name, value)
    shown = page.locator("[data-answer] pre.command").first
    expect(shown).to_contain_text(command)
    assert reader.clicks <= MOST_CLICKS
    words = reader.words("[data-answer] pre.command")
    print(choices, reader.clicks, "clicks", words, "words")
    assert words <= MOST_WORDS


def test_two_versions_are_answered_with_one_click_and_60_words(window: Open, real: str) -> None:
    page = window(real, viewport=PHONE).visit("tff/")
    reader = Reader(page)
    reader.follow_to("advise/py3.9-tf2.9/")
    page.wait_for_url("**/tff/advise/py3.9-tf2.9/")
    assert "python3.9 -m venv" in page.locator("pre.command:visible").first.inner_text()
    assert reader.clicks == 1
    assert reader.words("[data-answer] .combination") <= 60


def test_the_failed_command_is_answered_within_two_clicks_and_150_words(
    window: Open, real: str
) -> None:
    page = window(real, viewport=PHONE).visit("tff/")
    reader = Reader(page)
    reader.follow("Plain pip install, and other platforms")
    page.wait_for_url("**/tff/plain/")
    reader.follow("0.64.0 to 0.87.0")
    page.wait_for_url("**/tff/release/**")
    told = page.locator("section[aria-labelledby=plain] tbody tr").first
    assert "refused" in told.inner_text()
    assert reader.clicks <= MOST_CLICKS
    words = reader.words("section[aria-labelledby=plain] tbody tr")
    print("plain install", reader.clicks, "clicks", words, "words")
    assert words <= MOST_WORDS


@pytest.mark.parametrize("asked", ["", "py3.12/", "macos-arm64/", "py3.9-tf2.9/"])
def test_the_first_command_is_on_the_first_screen(window: Open, real: str, asked: str) -> None:
    path = f"tff/advise/{asked}" if asked else "tff/"
    for width, most in ((1440, 500), (360, 600)):
        page = window(real, viewport={"width": width, "height": 900}).visit(path)
        command = page.locator("pre.command:visible").first.bounding_box()
        assert command is not None
        assert command["y"] <= most


def test_a_release_fits_a_phone_and_opens_with_its_answer(window: Open, real: str) -> None:
    page = window(real, viewport=PHONE).visit("tff/release/0.61.0/")
    assert page.evaluate("document.documentElement.scrollHeight") <= 3600
    answer = page.get_by_role("link", name="How to install it").bounding_box()
    assert answer is not None
    assert answer["y"] + answer["height"] <= PHONE["height"]
