"""The maintainer's question, "which floor can move, and when?", from the home page."""

from conftest import Open


def test_it_is_answered_in_two_clicks_and_150_words_on_a_phone(window: Open, real: str) -> None:
    page = window(real, viewport={"width": 360, "height": 740}).visit("")
    page.get_by_role("link", name="TensorFlow Federated").first.click()
    page.get_by_role("link", name="Roadmap", exact=True).click()
    page.wait_for_url("**/tff/roadmap/")
    floors = page.locator("main .verdicts").first.locator("li").all_inner_texts()
    assert [floor.split()[0] for floor in floors] == ["Python", "tensorflow"]
    assert len(" ".join(floors).split()) <= 150


def test_the_forms_of_a_command_are_reached_by_keyboard_without_a_script(
    window: Open, real: str
) -> None:
    opened = window(real, java_script_enabled=False, viewport={"width": 360, "height": 740})
    page = opened.visit("tff/cell/py3.11-tf2.14-tff0.87.0+relaxed/")
    pip, docker = (page.locator(f"[data-way={way}]") for way in ("pip", "Docker"))
    assert pip.is_visible()
    assert not docker.is_visible()
    page.locator(".tabs [value=pip]").focus()
    page.keyboard.press("ArrowLeft")
    assert docker.is_visible()
    assert not pip.is_visible()


def test_a_cell_is_short(window: Open, real: str) -> None:
    for width, most in ((360, 5500), (1440, 3500)):
        page = window(real, viewport={"width": width, "height": 900}).visit(
            "tff/cell/py3.8-tf2.10-tff0.36.0+relaxed/"
        )
        assert page.evaluate("document.documentElement.scrollHeight") < most
