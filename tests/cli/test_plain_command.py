"""`compat matrix lock --plain` asks what plain installs come to; `show`, `advise`, `record` know
of it."""

import json
from pathlib import Path

import pytest
from support.fake_index import FakeIndex, status
from support.local_index import DEMO, fill
from support.ran import Run

from compat.results.learnt import decode_answers, encode_answers

FIRST, SECOND = "py3.8-dep1-demo1.0", "py3.11-dep1-demo1.0"
GONE = "py3.11-dep2-demo2.0"
REFUSED = "lock-fail:no-artifact(gone==4.1)"


def answers(root: Path) -> dict[str, str]:
    text = (root / "matrices" / "demo" / "plain.json").read_text(encoding="utf-8")
    return {cell: one.outcome for cell, one in decode_answers(text, "plain.json").items()}


def locks(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / "matrices" / "demo").glob("locks/*"))


def test_each_release_is_asked_on_each_python_that_it_admits_and_the_answers_are_kept(
    run: Run, root: Path
) -> None:
    ran = run("matrix", "lock", "demo", "--plain")
    assert ran.code == 1, ran.err
    assert answers(root) == {FIRST: "locked", SECOND: "locked", GONE: REFUSED}
    assert locks(root) == sorted([FIRST, SECOND])
    assert f"{GONE}  {REFUSED}: there is no version of gone==4.1" in ran.out
    assert "3 plain installs resolved" in ran.err


def test_the_answers_name_no_index_and_no_folder(
    run: Run, root: Path, demo_index: FakeIndex
) -> None:
    run("matrix", "lock", "demo", "--plain")
    text = (root / "matrices" / "demo" / "plain.json").read_text(encoding="utf-8")
    assert demo_index.url.split("/")[2] not in text
    assert str(root) not in text


def test_what_was_never_asked_comes_first_and_then_the_oldest_answer(run: Run, root: Path) -> None:
    assert run("matrix", "lock", "demo", "--plain", "--most", "1").code == 1
    assert list(answers(root)) == [GONE]
    assert run("matrix", "lock", "demo", "--plain", "--most", "2").code == 0
    path = root / "matrices" / "demo" / "plain.json"
    text = path.read_text(encoding="utf-8")
    kept = decode_answers(text, "plain.json")
    old = text.replace(
        f'{{"cell":"{FIRST}","on":"{kept[FIRST].on}"', f'{{"cell":"{FIRST}","on":"2020-01-01"'
    )
    assert old != text
    path.write_text(old, encoding="utf-8")
    again = run("matrix", "lock", "demo", "--plain", "--most", "1", "--json").json["data"][
        "answers"
    ]
    assert [one["cell"] for one in again] == [FIRST]
    assert decode_answers(path.read_text(encoding="utf-8"), "plain.json") == kept


def test_what_the_index_has_again_is_answered_anew(
    run: Run, root: Path, demo_index: FakeIndex
) -> None:
    run("matrix", "lock", "demo", "--plain")
    fill(demo_index, {"gone": [("4.1", 3, None, []), *DEMO["gone"]]})
    assert run("matrix", "lock", "demo", "--plain", "--refresh").code == 0
    assert answers(root)[GONE] == "locked"


def test_trouble_of_the_index_is_no_answer(run: Run, root: Path, demo_index: FakeIndex) -> None:
    run("matrix", "lock", "demo", "--plain", "--most", "1")
    demo_index.page("pytest", status(503))
    ran = run("matrix", "lock", "demo", "--plain")
    assert ran.code == 3
    assert answers(root) == {GONE: REFUSED}


@pytest.mark.parametrize("words", [(FIRST,), ("--check",)])
def test_it_is_about_every_release(run: Run, words: tuple[str, ...]) -> None:
    ran = run("matrix", "lock", "demo", "--plain", *words)
    assert ran.code == 2
    assert "--plain covers every release" in ran.err


def test_show_tells_each_cause_once(run: Run) -> None:
    run("matrix", "discover", "demo", "--write")
    run("matrix", "lock", "demo", "--plain")
    said = run("show", "demo", "--plain").out
    assert "1 plain install: refused, as of " in said
    assert "no gone==4.1" in said
    assert "2 plain installs: resolves, not run, as of " in said
    assert "1 plain install: Python not supported" in said
    data = run("show", "demo", "--plain", "--json").json["data"]
    assert sum(cause["count"] for cause in data["causes"]) == len(data["installs"]) == 4


def test_show_of_a_cell_says_what_a_plain_install_comes_to(run: Run) -> None:
    run("matrix", "discover", "demo", "--write")
    run("matrix", "lock", "demo", "--plain")
    assert "today: resolves, not run" in run("show", "demo", FIRST).out


def test_show_knows_a_cell_that_was_asked_about_and_never_run(run: Run) -> None:
    run("matrix", "discover", "demo", "--write")
    run("matrix", "lock", "demo", "--plain")
    ran = run("show", "demo", GONE)
    assert (ran.code, ran.out.splitlines()[0].split(",")[0]) == (0, f"{GONE}: ruled out")
    assert "install today: refused (" in ran.out
    (row,) = run("show", "demo", GONE, "--json").json["data"]["cells"]
    assert row["verdict"] == "infeasible"


def test_the_advisor_tells_it_of_the_release_that_is_asked_for(run: Run) -> None:
    run("matrix", "discover", "demo", "--write")
    run("matrix", "lock", "demo", "--plain")
    said = run("advise", "demo", "demo==2.0").out
    assert "Python 3.11: refused (" in said
    assert "3.8: Python not supported" in said
    assert "plain install" not in run("advise", "demo", "demo>=1.0").out


def test_sound_answers_of_another_machine_are_kept(run: Run, root: Path, tmp_path: Path) -> None:
    run("matrix", "lock", "demo", "--plain")
    path = root / "matrices" / "demo" / "plain.json"
    handed = tmp_path / "handed" / "plain.json"
    handed.parent.mkdir()
    path.rename(handed)
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, path.read_bytes()) == (0, handed.read_bytes()), ran.err


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (GONE, "py3.11-dep9-demo9.0", "is not a plain install of this matrix"),
        (GONE, "py3.8-dep2-demo2.0", "is not a plain install of this matrix"),
        ('"on":"2', '"on":"1', "not of the last 7 days"),
        ('"on":"2', '"on":"3', "not of the last 7 days"),
        (f'"{REFUSED}"', '"locked"', "its lock is not here"),
    ],
)
def test_an_answer_that_cannot_be_of_this_checkout_is_refused(
    run: Run, root: Path, tmp_path: Path, before: str, after: str, why: str
) -> None:
    run("matrix", "lock", "demo", "--plain", "--most", "1")
    path = root / "matrices" / "demo" / "plain.json"
    handed = tmp_path / "handed" / "plain.json"
    handed.parent.mkdir()
    text = path.read_text(encoding="utf-8")
    assert before in text
    handed.write_text(text.replace(before, after), encoding="utf-8")
    path.unlink()
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, path.exists()) == (1, False)
    assert why in ran.err


def test_an_older_answer_replaces_no_newer_one(run: Run, root: Path, tmp_path: Path) -> None:
    run("matrix", "lock", "demo", "--plain", "--most", "1")
    path = root / "matrices" / "demo" / "plain.json"
    text = path.read_text(encoding="utf-8")
    (kept,) = decode_answers(text, "plain.json").values()
    handed = tmp_path / "handed" / "plain.json"
    handed.parent.mkdir()
    yesterday = kept.on.fromordinal(kept.on.toordinal() - 1)
    handed.write_text(text.replace(str(kept.on), str(yesterday)), encoding="utf-8")
    ran = run("ci", "record", "demo", "--from", str(handed.parent))
    assert (ran.code, path.read_text(encoding="utf-8")) == (1, text)
    assert f"one of {kept.on}" in ran.err


def test_the_words_of_another_machine_are_redacted(run: Run, root: Path, tmp_path: Path) -> None:
    run("matrix", "lock", "demo", "--plain", "--most", "1")
    path = root / "matrices" / "demo" / "plain.json"
    (kept,) = decode_answers(path.read_text(encoding="utf-8"), "plain.json").values()
    path.unlink()
    handed = tmp_path / "handed" / "plain.json"
    handed.parent.mkdir()
    raw = json.loads(encode_answers([kept]))
    raw["answers"][0]["because"] = "see https://user:secret@index.example/simple"
    handed.write_text(json.dumps(raw), encoding="utf-8")
    assert run("ci", "record", "demo", "--from", str(handed.parent)).code == 0
    text = path.read_text(encoding="utf-8")
    assert "secret" not in text
    assert "index.example" not in text
