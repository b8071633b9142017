"""Hostile strings in published Markdown: shown, and nothing in them comes alive."""

import itertools
import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from compat.github import markdown

SEEDS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</script><svg/onload=alert(1)>",
    '"><a href="javascript:alert(1)">x</a>',
    "<!-- hidden -->",
    "--> <b>x</b> <!--",
    "<details open><summary>x</summary>",
    "<https://evil.example/>",
    "&lt;b&gt; &#64;user &commat;user &#35;1",
    "![x](https://evil.example/p.png)",
    "![][ref]\n\n[ref]: https://evil.example/p.png",
    "[x](javascript:alert(1))",
    "[x](https://evil.example 'title')",
    "[ref]: https://evil.example",
    "[^1]: note",
    "@user",
    "@org/team please",
    "mail x@example.org and @user",
    "é@user .@user _@user (@user)",
    "\\@user",
    "fixes #1",
    "Fixes: #12",
    "CLOSES\n#3",
    "resolved owner/repo#4",
    "close GH-5",
    "fix https://github.com/o/r/issues/6",
    "resolves http://github.com/o/r/pull/7",
    "fixed **#8**",
    "closes [#9](https://github.com/o/r/issues/9)",
    "fixes &#35;10",
    "`code` and ``more`` and ```fence",
    "```\n</code></pre><script>\n```",
    "~~~\nx\n~~~",
    "| a | b |\n|---|---|\n| `|` | \\| |",
    "`a|@user|b`",
    "# heading",
    "- item\n- [ ] task",
    "1. item",
    "1) item",
    "> quote",
    "    indented",
    "setext\n======",
    "---",
    "line  \nbreak\\\nbreak",
    "www.evil.example",
    "https://evil.example/@user/issues/1",
    "ftp://evil.example",
    "$x^2$ $$\\color{white}{hidden}$$",
    "$`x`$",
    "```mermaid\ngraph LR\n```",
    ":octocat: :+1: :100:",
    "{{7*7}} {% raw %} ${{ secrets.X }}",
    "$(id) `id` ; rm -rf / && true",
    "::error::x ::set-env name=A::b",
    "\x1b[31mred\x1b]8;;https://evil.example\x07link\x1b]8;;\x07",
    "\u202eevil\u202c \u2066x\u2069 \u200b@user",
    "a\u200d\ufeffb\u00adc\u2060d",
    "\u3164\u2800\u115f\uffa0",
    "x\ufe0f\U000e0101\U000e0041",
    "nul\x00 bell\x07 del\x7f c1\x9b",
    "\r\nSet-Cookie: x\r\nfixes #1",
    "lone \ud800 surrogate \udfff",
    "\u2028line\u2029paragraph\u0085next",
    "",
    " ",
    "\n\n\n",
    "`",
    "\\",
    "|",
    "x" * 1_000_000,
    "`" * 5_000,
    "[" * 2_000,
    "@a" * 2_000,
    "*_~" * 700,
    "compat:begin digest=x -->",
]
WRAPS: list[Callable[[str], str]] = [
    lambda text: text,
    lambda text: f"pkg {text} 1.0",
    lambda text: f"fixes {text}",
    lambda text: f"{text}\n{text}",
]
CORPUS = [wrap(seed) for seed, wrap in itertools.product(SEEDS, WRAPS)]
HARMLESS = {"p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "pre"}
FORMS = [markdown.inline, markdown.code, markdown.block]
hostile = st.lists(
    st.sampled_from(
        [
            *"@#`|\\<>&!$:[]()*_~-+=.\n\r\t \x00\u202e",
            "fixes ",
            "#1",
            "@user",
            "GH-2",
            "://",
            "www.",
            "a",
            "1",
        ]
    )
    | st.text(max_size=3),
    max_size=20,
).map("".join)


def document(form: Callable[[str], str], text: str) -> str:
    """A body as the proposals write them: at the start of a line, within one, in a list and in a
    table.
    """
    if form is markdown.block:
        return f"Log:\n\n{form(text)}\n\nEnd.\n"
    shown = form(text)
    return (
        f"{shown}\n\nThis says {shown} and more.\n\n- {shown}\n\n| a | b |\n|---|---|\n| {shown} |"
        " x |\n"
    )


def rendered(markdown: str) -> str:
    return (
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown)
    )


def elements(html: str) -> set[str]:
    return set(re.findall(r"<(\w+)", html))


class TestTwoHundredHostileStrings:
    def test_are_two_hundred(self) -> None:
        assert len(set(CORPUS)) >= 200

    @pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
    def test_bring_nothing_to_life(self, form: Callable[[str], str]) -> None:
        for text in CORPUS:
            body = document(form, text)
            assert markdown.faults(body) == (), text[:100]
            assert elements(rendered(body)) <= HARMLESS, text[:100]

    @pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
    def test_hide_nothing(self, form: Callable[[str], str]) -> None:
        for text in CORPUS:
            for char in document(form, text):
                assert char in "\n\t" or unicodedata.category(char)[0] not in "CZ" or char == " ", (
                    text[:100]
                )

    @pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
    def test_leave_the_table_and_the_text_around_them_whole(
        self, form: Callable[[str], str]
    ) -> None:
        for text in CORPUS:
            html = rendered(document(form, text))
            assert html.count("<td>") == (0 if form is markdown.block else 2), text[:100]
            assert html.endswith("<p>End.</p>\n" if form is markdown.block else "</table>\n"), text[
                :100
            ]

    def test_make_harmless_titles(self) -> None:
        for text in CORPUS:
            title = markdown.plain(text)
            assert markdown.title_faults(title) == (), text[:100]
            assert len(title) <= 400

    def test_make_no_link(self) -> None:
        for text in CORPUS:
            assert "<a" not in rendered(markdown.link(text, "javascript:alert(1)"))
            assert rendered(markdown.link(text, "https://x.example/a_b?c=d")).count("<a ") == 1

    @given(hostile, st.sampled_from(FORMS))
    def test_of_any_making_bring_nothing_to_life(
        self, text: str, form: Callable[[str], str]
    ) -> None:
        body = document(form, text)
        assert markdown.faults(body) == ()
        assert elements(rendered(body)) <= HARMLESS
        assert markdown.title_faults(markdown.plain(text)) == ()


class TestHarmlessText:
    @pytest.mark.parametrize(
        "text", ["2.14.1", "numpy>=1.21,<2", "py3.9-tf2.10-tff0.36.0+relaxed", "a_b [x] *y* #z"]
    )
    def test_is_shown_as_it_is(self, text: str) -> None:
        for form in (markdown.inline, markdown.code):
            html = rendered(form(text)).replace("<code>", "").replace("</code>", "")
            escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            assert html == f"<p>{escaped}</p>\n"

    def test_keeps_its_lines_and_tabs_in_a_block(self) -> None:
        assert markdown.block("a\n\tb@c.org\n", "diff") == "```diff\na\n\tb@c.org\n```"

    def test_that_is_long_is_cut_visibly(self) -> None:
        assert markdown.plain("x" * 300).endswith("x…")
        assert len(markdown.inline("x" * 300)) == 200


class TestTheGuard:
    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ("hello @user", "a mention: @user"),
            ("fixes #1", "a closing keyword: fixes #1"),
            ("It closes:\n**o/r#12**.", "a closing keyword"),
            ("fixes &#35;12", "a closing keyword"),
            ("resolve https://github.com/o/r/issues/1", "a closing keyword"),
            ("a <b>b</b>", "HTML: <b>"),
            ("<!-- x -->", "HTML"),
            ("![x](https://e.example/x.png)", "an image"),
            ("[x](http://e.example)", "a link to http"),
            ("a\u202eb", r"a hidden character: \u202e"),
            ("$x$", "a formula"),
            (":octocat:", "an emoji"),
            ("```mermaid\nx\n```", "a block of kind mermaid"),
        ],
    )
    def test_finds_what_would_come_alive(self, text: str, fault: str) -> None:
        faults = markdown.faults(text)
        assert any(found.startswith(fault) for found in faults), faults

    def test_is_silent_about_ordinary_text(self) -> None:
        body = (
            "# A title\n\nSee [cell](https://x.example/a) `a@b`, 12:30:45:\n\n```diff\n@@ -1 +1"
            " @@\n-a\n+b\n```\n"
        )
        assert markdown.faults(body) == ()
        assert markdown.title_faults("Raise the floor of python to 3.10") == ()
