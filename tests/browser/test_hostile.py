"""Two hundred hostile texts in all that comes from outside: no script runs, nobody else is asked,
all is shown.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from conftest import Open
from playwright.sync_api import Error
from support.editions import URL, matrix_report
from support.hostile_texts import STRINGS
from support.known import DAY, MATRIX, Shelf, lock_of, proven, ran
from support.printed import put, whole

from compat.declare.capabilities import Described
from compat.declare.matrix import KnownIssue
from compat.results.record import Capability, Record, encode_record
from compat.run.evidence import Installed, Metric
from compat.site.edition import Edition
from compat.site.serve import Preview

CELLS = (
    "py3.9-dep2-demo2.0",
    "py3.8-dep2-demo1.0+relaxed",
    "py3.8-dep1-demo2.0+relaxed",
    "py3.8-dep2-demo2.0+relaxed",
)
PLACES = 4
MOVED = b"<title>This page has moved</title>"
COUNT = "() => window.struck || 0"
# How often a script ran, how many elements a text could have brought, where the forms lead.
LOOK = """() => [window.struck || 0,
  document.querySelectorAll('iframe, object, embed, base, [srcdoc], [style]').length,
  [...document.forms].map((form) => form.action)]"""


def storable(text: str, most: int = 200) -> str:
    """The text as a record can hold it."""
    return text.encode(errors="replace").decode()[:most] or "empty"


def record(cell: str, texts: list[str]) -> Record:
    """A record with a hostile text wherever one fits."""
    kept = [storable(text) for text in texts]
    capabilities = tuple(
        Capability(
            id=text,
            status=("yes", "no", "absent")[number % 3],  # type: ignore[arg-type]
            cause="assertion" if number % 3 == 1 else "",
            subject=text,
            missing=(text,),
            spelling=text,
        )
        for number, text in enumerate(dict.fromkeys(kept))
    )
    found = ran(
        lock_of(cell),
        f"test-fail:assertion({kept[0]})",
        capabilities=capabilities,
        installed=tuple(Installed(name=text, version=text) for text in dict.fromkeys(kept)),
        metrics=tuple(Metric(name=text, value=1.0, unit=text, better="lower") for text in kept[:5]),
        log="\n".join(kept)[:1200],
        tool=kept[1],
        run_url="https://ci.example/runs/1",
    )
    encode_record(found)
    return found


def hostile_edition() -> Edition:
    """An edition whose names, titles, reasons, tests, packages, logs and helpers are hostile."""
    share = len(STRINGS) // PLACES + 1
    parts = [list(STRINGS[begin : begin + share]) for begin in range(0, len(STRINGS), share)]
    told = [
        Described(
            id=storable(text),
            title=storable(text),
            says=storable(text, 900),
            file=storable(text),
            line=1,
            code=storable(text, 900),
            looks_for=((storable(text),),),
            helper="helper.py",
        )
        for text in STRINGS
    ]
    issues = tuple(
        KnownIssue(because=storable(text), capability=storable(text), link="https://evil.example/")
        for text in STRINGS
    )
    matrix = msgspec.structs.replace(MATRIX, title=storable(STRINGS[0]), known=issues)
    locks = [lock_of(cell) for cell in CELLS]
    green = proven("py3.9-dep2-demo1.0+relaxed")
    records = [record(cell, texts) for cell, texts in zip(CELLS, parts, strict=True)]
    shelf = Shelf(
        [*records, *green.records("py3.9-dep2-demo1.0+relaxed")], [*locks, *green.locks.values()]
    )
    made = matrix_report(shelf, shelf.picture(DAY, matrix), told)
    made.suite["helper.py"] = "\n".join(storable(text, 900) for text in STRINGS)
    return Edition([made], URL, DAY)


@pytest.fixture(scope="module")
def content() -> dict[str, bytes]:
    return whole(hostile_edition())


@pytest.fixture(scope="module")
def site(content: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    put(folder, content)
    with Preview(folder) as preview:
        yield preview.url


def test_over_all_pages_no_script_runs_and_nobody_else_is_asked(
    site: str, content: dict[str, bytes], window: Open
) -> None:
    opened = window(site)
    opened.page.add_init_script(
        "for (const name of ['alert', 'confirm', 'prompt']) window[name] = () => { window.struck ="
        " 1; };addEventListener('securitypolicyviolation', (event) => console.error(`policy"
        " ${event.blockedURI}`));"
    )
    pages = [p for p, text in content.items() if p.endswith(".html") and MOVED not in text]
    assert len([path for path in pages if "/cap/" in path]) >= 190
    for path in pages:
        page = opened.visit(path.removesuffix("index.html"))
        struck, forbidden, actions = page.evaluate(LOOK)
        assert (struck, forbidden) == (0, 0), path
        assert all(action.startswith(site) for action in actions), path
    assert opened.seen.foreign == []
    assert opened.seen.dialogs == []
    assert opened.seen.console == []


def test_a_request_to_somebody_else_is_stopped_and_noted(site: str, window: Open) -> None:
    for other in ("https://evil.example/", site.replace("127.0.0.1", "127.0.0.2")):
        opened = window(site)
        opened.visit("")
        assert opened.seen.foreign == []
        with pytest.raises(Error, match="ERR_FAILED"):
            opened.page.goto(other)
        assert opened.seen.foreign == [other]


def test_what_is_hostile_is_shown_as_it_is(site: str, window: Open) -> None:
    page = window(site).visit(f"demo/cell/{CELLS[0]}/")
    page.locator("details:has(pre.log) > summary").click()
    shown = page.inner_text("pre.log")
    # The page shows the log around the first error, so not all of them.
    assert sum(storable(text) in shown for text in STRINGS) >= 8


def test_the_advisor_shows_hostile_texts_too(site: str, window: Open) -> None:
    opened = window(site)
    page = opened.visit("demo/advise/?python=3.9&need=%3Cscript%3Ealert(1)%3C/script%3E")
    page.locator("[data-spoken]:not(:empty)").wait_for()
    assert page.evaluate(COUNT) == 0
    assert opened.seen.console == []


def test_no_page_holds_a_sign_that_turns_or_hides_text(content: dict[str, bytes]) -> None:
    hidden = re.compile(
        "[\u202a-\u202e\u2066-\u2069\u200e\u200f\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    )
    for path, text in content.items():
        if path.endswith(".html"):
            found = hidden.search(text.decode())
            assert not found, (
                path,
                found and text.decode()[found.start() - 400 : found.end() + 60],
            )
