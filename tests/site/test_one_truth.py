"""No two files of a site say different things of a cell, a release, a move or a plain install."""

from pathlib import Path

import pytest
from support.editions import edition
from support.known import Shelf
from support.one_truth import differences
from support.printed import every_state, put, whole

from compat.site.edition import Edition

CELL = "py3.9-dep2-demo2.0"


def published(folder: Path, of: Edition) -> Path:
    put(folder, whole(of))
    return folder


def test_a_site_with_every_state_says_one_thing(tmp_path: Path) -> None:
    compared, different = differences(published(tmp_path, edition(every_state())), "demo")
    assert different == []
    assert compared > 100


def test_a_site_without_a_run_says_one_thing(tmp_path: Path) -> None:
    assert differences(published(tmp_path, edition(Shelf())), "demo")[1] == []


@pytest.mark.parametrize(
    ("path", "said", "instead"),
    [
        ("download/demo.csv", f"{CELL},3.9,2,2.0,fresh,works", f"{CELL},3.9,2,2.0,fresh,flaky"),
        (f"api/v1/demo/cells/{CELL}.json", '"verdict":"works"', '"verdict":"broken"'),
        (f"demo/cell/{CELL}/index.html", "<strong>Works</strong>", "<strong>Flaky</strong>"),
        ("badge/demo/release/2.0.json", '"message":"works"', '"message":"broken"'),
        ("feed/demo/all.atom", "<title>works: demo 2.0", "<title>flaky: demo 2.0"),
        ("api/v1/demo/advise.json", '"works"', '"flaky"'),
        ("embed/demo/index.html", "2.0: works<", "2.0: broken<"),
    ],
)
def test_each_kind_of_file_that_says_something_else_is_named(
    tmp_path: Path, path: str, said: str, instead: str
) -> None:
    folder = published(tmp_path, edition(every_state()))
    text = (folder / path).read_text(encoding="utf-8")
    assert said in text
    (folder / path).write_text(text.replace(said, instead), encoding="utf-8")
    assert differences(folder, "demo")[1] != []
