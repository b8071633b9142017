"""Every published sentence that states a number, a range or a verdict is what the answers say."""

import re
from pathlib import Path

import pytest
from support.claims import Site, read
from support.editions import edition
from support.printed import every_state, put, whole

OWN = "demo/cell/py3.8-dep1-demo2.0+relaxed/index.html"
WORKS = "demo/cell/py3.9-dep2-demo2.0/index.html"
PART = "demo/cell/py3.9-dep2-demo1.0+relaxed/index.html"
DEP1 = "demo/advise/dep1/index.html"
# The page, what it says, and what it would say wrongly: 38 sentences of as many kinds.
WRONG = [
    ("index.html", "7 combinations tested", "8 combinations tested"),
    ("index.html", "20 November 2026", "19 November 2026"),
    ("demo/index.html", "13 ruled out", "12 ruled out"),
    ("demo/index.html", "7 tested", "6 tested"),
    ("demo/index.html", "1 flaky", "2 flaky"),
    ("demo/index.html", '2.0<span class="unseen">: works', '1.0<span class="unseen">: works'),
    (
        "demo/index.html",
        ": works only with packages of its time</span></a></td>",
        ": works</span></a></td>",
    ),
    ("demo/index.html", "1 run with exactly", "2 runs with exactly"),
    ("demo/index.html", "isolation level L3", "isolation level L2"),
    (DEP1, "Tested <time", "Last tested in 2025, <time"),
    (DEP1, "</span> works only with packages of its time</span>", "</span> works</span>"),
    (DEP1, "5 cells", "6 cells"),
    ("demo/advise/py3.9-dep1/index.html", "use dep 2.0", "use dep 3.0"),
    ("demo/grid/py3.9/index.html", "2 combinations tested", "3 combinations tested"),
    ("demo/grid/py3.9/index.html", "Python 3.9: works", "Python 3.9: broken"),
    ("demo/grid/py3.9/index.html", "partly works, with", "flaky, with"),
    ("demo/grid/py3.8/index.html", "tested 20 November 2026", "tested 21 November 2026"),
    ("demo/grid/py3.8/index.html", ", to be tested again", ""),
    ("demo/grid/py3.8/index.html", "demo 1.0 with dep 2 on", "demo 1.0 with dep 1 on"),
    ("demo/release/2.0/index.html", "All 2 work", "All 3 work"),
    ("demo/release/2.0/index.html", "Requires Python &gt;=3.9", "Requires Python &gt;=3.8"),
    ("demo/release/2.0/index.html", "4 cells: Python version", "5 cells: Python version"),
    ("demo/release/1.0/index.html", "4 cells have a page", "5 cells have a page"),
    ("demo/release/1.0/index.html", "⊗</span> refused", "⊗</span> no wheel"),
    (WORKS, "1 run with exactly", "2 runs with exactly"),
    ("demo/cap/mean/index.html", "2.0: not tested", "2.0: works"),
    ("demo/cap/index.html", "3 capabilities, each", "2 capabilities, each"),
    ("demo/causes/index.html", '<td class="number">1</td>', '<td class="number">2</td>'),
    ("demo/changes/index.html", "1 verdict changed", "2 verdicts changed"),
    ("demo/reliability/index.html", "<dd>8</dd>", "<dd>9</dd>"),
    ("demo/as-of/2026-05-04/index.html", "1 combination tested", "2 combinations tested"),
    (WORKS, "<strong>Works</strong>", "<strong>Flaky</strong>"),
    (WORKS, "1 attempt, the last", "2 attempts, the last"),
    (WORKS, "2 capabilities work", "3 capabilities work"),
    (WORKS, "Isolation level L3", "Isolation level L1"),
    (OWN, "1 passed", "2 passed"),
    (OWN, "1 package differs", "4 packages differ"),
    (PART, "1 fails in this combination", "2 fail in this combination"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("claims")
    put(folder, whole(edition(every_state())))
    return Site(folder, "demo")


def faults(site: Site, path: str, source: str) -> list[str]:
    return [
        f"{path}: {verdict} ({name}): {block.text[:200]}"
        for verdict, block, name in read(site, path, source)
        if verdict in ("wrong", "unread")
    ]


def pages(site: Site, kinds: str = "*") -> list[str]:
    of_matrix = (site.folder / site.matrix).glob(f"{kinds}/**/index.html")
    own = [site.folder / "index.html", site.folder / site.matrix / "index.html", *of_matrix]
    return sorted({path.relative_to(site.folder).as_posix() for path in own})


def test_every_claim_of_a_site_with_every_state_is_true(site: Site) -> None:
    for path in pages(site):
        assert faults(site, path, (site.folder / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(("path", "said", "instead"), WRONG)
def test_a_sentence_that_says_something_else_is_found(
    site: Site, path: str, said: str, instead: str
) -> None:
    source = (site.folder / path).read_text(encoding="utf-8")
    assert said in source
    assert faults(site, path, source.replace(said, instead)) != []


# Where the pages of a real matrix say something that the site of every state does not.
CHANGED = [
    ("scikit-learn/roadmap/index.html", r"(?<=months later is )\d+", "31"),
    ("scikit-learn/roadmap/index.html", r"(?<=first day of a quarter: 1 )[A-Z]\w+", "May"),
    ("scikit-learn/roadmap/index.html", r"(?<=asks for numpy &gt;=)\d+", "7"),
    ("tff/advise/py3.12/index.html", r"(?<= is not on the index: its main )branch", "folder"),
]
MATRICES = ("grpcio-tools", "mcp", "pip-tools", "scikit-learn", "setuptools", "tff")


@pytest.mark.slow
@pytest.mark.parametrize("matrix", MATRICES)
def test_every_claim_of_the_real_site_is_true(real_site: Path, matrix: str) -> None:
    site = Site(real_site / "public", matrix)
    found = list[str]()
    for path in pages(site):
        source = (site.folder / path).read_text(encoding="utf-8")
        found += faults(site, path, source)
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(("path", "said", "instead"), CHANGED)
def test_a_sentence_of_the_real_site_that_says_something_else_is_found(
    real_site: Path, path: str, said: str, instead: str
) -> None:
    site = Site(real_site / "public", path.split("/")[0])
    source = (site.folder / path).read_text(encoding="utf-8")
    wrong = re.sub(said, instead, source, count=1)
    assert wrong != source
    assert faults(site, path, wrong) != []
