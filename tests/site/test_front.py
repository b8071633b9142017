"""The front of the site: a question with its answers, pages of versions, search, what to build on,
and the page for addresses that do not exist.
"""

import json
import re
from html import unescape
from io import BytesIO
from xml.etree import ElementTree

import pytest
from PIL import Image
from support.editions import edition
from support.known import MATRIX, Shelf, proven
from support.printed import Addresses, every_state, printed, whole

from compat.advise.package_list import flat, signs
from compat.run.outcome import Failed, parse_outcome
from compat.site.edition import Edition
from compat.site.exports import vanished
from compat.site.pictures import HEIGHT, WIDTH

TAG = re.compile(r"<[^>]+>")


def words(html: str) -> str:
    return " ".join(unescape(TAG.sub(" ", html[html.index("<main") :])).split())


@pytest.fixture(scope="module")
def of() -> Edition:
    return edition(every_state())


@pytest.fixture(scope="module")
def content(of: Edition) -> dict[str, bytes]:
    return whole(of)


def text(content: dict[str, bytes], path: str) -> str:
    return content[path].decode()


class TestQuestion:
    def test_home_asks_for_everything_and_the_front_for_nothing(
        self, content: dict[str, bytes]
    ) -> None:
        for path in ("demo/index.html", "demo/advise/index.html"):
            names = re.findall(r'<select name="(\w+)"', text(content, path))
            assert names == ["python", "dep", "demo", "need", "goal"]
            assert "name" not in re.search(r"<textarea([^>]*)>", text(content, path))[1]
        assert "<select" not in text(content, "index.html")
        assert "works" in words(text(content, "index.html"))

    def test_the_command_comes_first_and_the_rest_is_folded(
        self, content: dict[str, bytes]
    ) -> None:
        card = text(content, "demo/index.html").partition("data-answer data-says")[2]
        assert card.index("<pre") < card.index('class="chip') < card.index("Details</summary>")
        assert "pip install 'dep==2.*' 'demo==2.0'" in unescape(card[: card.index("</pre>")])
        assert re.findall(r'type="radio" [^>]*value="(\w+)"', card)[:5] == [
            "pip", "uv", "project", "colab", "docker",
        ]  # fmt: skip

    def test_each_value_of_the_form_has_its_page(self, content: dict[str, bytes]) -> None:
        for series in ("py3.8", "py3.9", "dep1", "dep2", "py3.8-dep1", "py3.9-dep2"):
            html = text(content, f"demo/advise/{series}/index.html")
            assert html.count("data-answer data-says=") == 1

    def test_a_version_that_is_not_there_has_its_sentence(self, content: dict[str, bytes]) -> None:
        html = text(content, "demo/index.html")
        assert 'data-newer="Python $version ' in html
        assert 'data-older="Python $version ' in html

    def test_a_newest_version_that_nothing_works_with_says_so(self) -> None:
        html = printed(edition(proven("py3.8-dep2-demo2.0+relaxed")))["demo/index.html"]
        assert "the newest is 3.9, and" in html


class TestVersionPages:
    def test_what_works_what_does_not_and_until_when(self, content: dict[str, bytes]) -> None:
        shown = words(text(content, "demo/advise/py3.8/index.html"))
        assert "Each release of demo" in shown
        assert "What does not work, and why" in shown
        assert "ended on 7 October 2024." in shown
        html = text(content, "demo/advise/py3.8/index.html")
        assert re.search(r'href="../../cell/py3.8-dep\d-demo1.0\+\w+/">1.0</a>', html)

    def test_reasons_lead_to_their_place_among_the_causes(self, content: dict[str, bytes]) -> None:
        page = text(content, "demo/advise/py3.8/index.html")
        anchors = re.findall(r'causes/#(cause-\w+)"', page)
        assert anchors
        assert set(anchors) <= set(Addresses(text(content, "demo/causes/index.html")).ids)

    def test_a_version_without_a_tested_combination_says_so(self) -> None:
        pages = printed(edition(Shelf()))
        assert "no tested combination" not in words(pages["demo/advise/py3.8/index.html"])
        assert "No tested combination" in words(pages["demo/advise/py3.8/index.html"])


class TestSearch:
    def test_everything_that_can_be_found_is_there(self, content: dict[str, bytes]) -> None:
        entries = json.loads(content["search/entries.json"])["entries"]
        assert {entry["kind"] for entry in entries} == {
            "library", "release", "version", "capability", "cause", "package", "page",
            "documentation",
        }  # fmt: skip
        for entry in entries:
            path, _, anchor = entry["path"].partition("#")
            target = text(content, f"{path}index.html")
            assert not anchor or anchor in Addresses(target).ids, entry

    def test_every_page_has_the_form(self, content: dict[str, bytes]) -> None:
        for path in content:
            html = text(content, path) if path.endswith(".html") else ""
            if html and "embed/" not in path and 'http-equiv="refresh"' not in html:
                assert html.count('role="search"') == 1, path
                assert 'name="q"' in html


class TestSigns:
    @pytest.mark.parametrize(
        ("outcome", "pasted"),
        [
            ("lock-fail:no-artifact(dep_x==1.0)", "ERROR: No matching distribution for dep-x==1.0"),
            ("import-fail:missing-module(dep)", "ModuleNotFoundError: No module named 'dep'"),
            (
                "import-fail:missing-attribute(dep.core.Thing)",
                "AttributeError: module 'dep.core' has no attribute 'Thing'",
            ),
            (
                "import-fail:missing-attribute(dep.core.Thing)",
                "ImportError: cannot import name \u2018Thing\u2019 from 'dep.core' (core.py)",
            ),
            ("import-fail:type-error(dep/a_b.py:7)", 'File "/x/dep/a_b.py", line 9\nTypeError: no'),
            ("lock-fail:conflict(dep)", "ERROR: ResolutionImpossible: dep"),
        ],
    )
    def test_a_text_shows_its_cause(self, outcome: str, pasted: str) -> None:
        failed = parse_outcome(outcome)
        assert isinstance(failed, Failed)
        assert any(all(part in flat(pasted) for part in sign) for sign in signs(failed))

    def test_what_has_no_sign_is_never_recognised(self) -> None:
        assert signs(Failed(stage="test", cause="error", subject="x")) == ()

    def test_nothing_vanished_where_nothing_is_asked_for(self, of: Edition) -> None:
        assert vanished(of.reports[0].snapshot.entries, MATRIX.subject) == []


class TestBuildOnIt:
    def test_every_badge_feed_and_calendar_is_named_by_its_address(
        self, content: dict[str, bytes]
    ) -> None:
        page = unescape(text(content, "build/index.html"))
        files = [
            path
            for path in content
            if path.startswith(("feed/", "cal/", "download/", "embed/"))
            or (path.startswith("badge/") and path.endswith(".svg"))
        ]
        assert len(files) > 10
        for path in files:
            link = f'href="../{path.removesuffix("index.html")}"'
            is_badge = path.startswith("badge/")
            assert (f'value="{path.removesuffix(".svg")}"' if is_badge else link) in page, path
        assert page.count("<figure") < 8
        for html in (text(content, "index.html"), text(content, "demo/grid/index.html")):
            assert "Build on it" in html

    def test_the_box_says_what_it_shows(self, content: dict[str, bytes]) -> None:
        root = ElementTree.fromstring(content["embed/demo.svg"])
        told = {element.tag.rpartition("}")[2]: element.text or "" for element in root}
        assert "Python 3.9: demo 2.0," in told["desc"]
        assert "works" in words(text(content, "embed/demo/index.html"))

    def test_a_spreadsheet_takes_no_text_for_a_formula(self) -> None:
        from compat.site.exports import harmless

        assert harmless("=1+1") == "'=1+1"
        assert harmless("works") == "works"


class TestBesideThePages:
    def test_the_missing_page_works_at_any_address(self) -> None:
        html = whole(edition(Shelf(), base_url="https://compat.example/below/"))[
            "404.html"
        ].decode()
        local = re.findall(r'(?:href|src|action)="([^"]+)"', html)
        assert all(link.startswith(("/below/", "https://", "#")) for link in local)
        assert 'role="search"' in html

    def test_posts_show_a_bitmap(self, content: dict[str, bytes]) -> None:
        html = text(content, "demo/grid/index.html")
        assert 'property="og:image" content="https://compat.example/card/demo.png"' in html
        with Image.open(BytesIO(content["card/demo.png"])) as image:
            assert (image.format, image.size) == ("PNG", (WIDTH, HEIGHT))
            assert len(image.getcolors() or ()) > 2
        assert len(content["card/demo.png"]) < 40_000

    def test_the_icon_is_where_browsers_look(self, content: dict[str, bytes]) -> None:
        with Image.open(BytesIO(content["favicon.ico"])) as image:
            assert image.format == "ICO"
            assert (32, 32) in image.info["sizes"]
