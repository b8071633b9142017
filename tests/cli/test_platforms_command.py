"""Other platforms on the command line: metadata answers first, a resolver what it leaves open, and
nothing of it runs here.
"""

import hashlib
import json
from pathlib import Path

import pytest
from support.fake_index import FakeIndex, File, body, in_json, metadata, wheel
from support.ran import Run

CELL = "py3.11-dep1-demo1.0"
DECLARED = 'platforms = ["macos-arm64", "windows-x86_64", "linux-musl-x86_64"]\n'


@pytest.fixture
def mac(root: Path, demo_index: FakeIndex, run: Run) -> Run:
    """A matrix whose newest release has a wheel for Linux alone, and its kept catalogue."""
    path = root / "matrices" / "demo" / "matrix.toml"
    text = path.read_text(encoding="utf-8")
    platform = 'platform = "x86_64-manylinux_2_28"\n'
    path.write_text(text.replace(platform, platform + DECLARED), encoding="utf-8")
    lay_out(
        demo_index, "demo", {"1.0": ["py3-none-any"], "2.0": ["py3-none-manylinux_2_17_x86_64"]}
    )
    assert run("matrix", "discover", "demo", "--write").code == 0
    return run


def lay_out(index: FakeIndex, name: str, releases: dict[str, list[str]]) -> None:
    """Lay out wheels with these tags; each release of demo asks for a dep."""
    files = []
    for version, tags in releases.items():
        text = metadata(name, version, "Requires-Dist: dep<2")
        content = wheel(text, folder=f"{name}-{version}.dist-info")
        for tag in tags:
            filename = f"{name}-{version}-{tag}.whl"
            index.answers(f"/files/{filename}", body(content, "application/octet-stream"))
            index.answers(f"/files/{filename}.metadata", body(text, "application/octet-stream"))
            digest = hashlib.sha256(content).hexdigest()
            files.append(File(filename, "", digest, None, "2024-01-02T12:00:00Z", metadata=True))
    index.page(name, in_json(files))


def test_metadata_answers_without_a_resolver(mac: Run, demo_index: FakeIndex) -> None:
    demo_index.stop()
    said = mac("show", "demo", "--platform", "macos-arm64")
    assert said.code == 0, said.err
    assert "installs on macOS arm64" in said.out
    assert "1.0, on Python 3.8 and 3.11 (installs by metadata, declared)" in said.out
    assert "2 plain installs: no wheel (declared), such as: demo 2.0 has no file" in said.out
    assert "is 1.0, for Python" in said.out


def test_json_has_each_plain_install_with_its_evidence(mac: Run) -> None:
    installs = mac("show", "demo", "--platform", "all", "--json").json["data"]["installs"]
    assert len(installs) == 12
    assert {one["evidence"] for one in installs} == {"declared"}


def test_a_resolver_answers_what_metadata_leaves_open_and_its_lock_is_for_the_platform(
    mac: Run, root: Path
) -> None:
    locked = mac("matrix", "lock", "demo", "--platform", "macos-arm64")
    assert locked.code == 0, locked.err
    assert f"{CELL}@macos-arm64  resolves, not run (locked on " in locked.out
    folder = root / "matrices" / "demo" / "platforms" / "macos-arm64"
    lock = (folder / "locks" / f"{CELL}.txt").read_text(encoding="utf-8")
    assert "platform: aarch64-apple-darwin" in lock
    said = mac("show", "demo", f"{CELL}@macos-arm64")
    assert "resolves, not run (" in said.out
    assert f"lock: matrices/demo/platforms/macos-arm64/locks/{CELL}.txt" in said.out
    assert not list((root / "matrices" / "demo").glob("locks/*"))


def test_a_refusal_is_kept_with_its_day_and_takes_the_lock_away(
    mac: Run, root: Path, demo_index: FakeIndex
) -> None:
    assert mac("matrix", "lock", "demo", "--platform", "macos-arm64").code == 0
    demo_index.page("dep", in_json([]))
    again = mac("matrix", "lock", "demo", CELL, "--platform", "macos-arm64", "--refresh")
    assert again.code == 1
    assert f"{CELL}@macos-arm64  refused (checked on " in again.out
    folder = root / "matrices" / "demo" / "platforms" / "macos-arm64"
    assert [path.stem for path in folder.glob("locks/*")] == ["py3.8-dep1-demo1.0"]
    assert len(json.loads((folder / "answers.json").read_text(encoding="utf-8"))["answers"]) == 2


def test_answers_name_no_index_and_change_no_cell_of_the_own_platform(
    mac: Run, root: Path, demo_index: FakeIndex
) -> None:
    before = mac("plan", "demo", "--json").json["data"]
    mac("matrix", "lock", "demo", "--platform", "all")
    folder = root / "matrices" / "demo" / "platforms"
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()]
    assert texts
    assert not [text for text in texts if demo_index.url.split("/")[2] in text]
    assert mac("plan", "demo", "--json").json["data"] == before


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("show", "demo", "--platform", "macos"), "did you mean 'macos-arm64'"),
        (("show", "demo", "--platform", "linux-x86_64"), "is the matrix's own platform"),
        (("show", "demo", "--platform", "all", "--plain"), "no other option"),
        (("plan", "demo", "--platform", "all", "--budget", "9m"), "takes no other option"),
        (
            ("matrix", "lock", "demo", "--platform", "all", "--check"),
            "excludes --plain and --check",
        ),
        (
            ("matrix", "lock", "demo", "--platform", "all", "--locker", "pip-tools"),
            "--locker uv does",
        ),
        (
            ("matrix", "lock", "demo", "--platform", "all", "py3.8-dep1-demo2.0"),
            "metadata already answers",
        ),
        (("run", "demo", f"{CELL}@macos-arm64"), "is never run here; GitHub's runner macos-14"),
        (("run", "demo", "*@linux-musl-x86_64"), "no runner of GitHub's is known"),
        (("show", "demo", "py3.8-dep1-demo9.0@macos-arm64"), "no plain install for cell"),
    ],
)
def test_what_cannot_be_asked_is_told_in_one_line(
    mac: Run, words: tuple[str, ...], why: str
) -> None:
    ran = mac(*words)
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert why in ran.err


def test_a_matrix_without_other_platforms_says_how_to_declare_some(run: Run) -> None:
    ran = run("show", "demo", "--platform", "macos-arm64")
    assert ran.code == 1
    assert "`platforms = [...]` in matrices/demo/matrix.toml declares some" in ran.err
    jobs = run("plan", "demo", "--platform", "all")
    assert (jobs.code, json.loads(jobs.out)) == (0, {"include": []})


def test_the_runners_of_github_get_what_has_a_lock(mac: Run, root: Path) -> None:
    nothing = mac("plan", "demo", "--platform", "all")
    assert json.loads(nothing.out) == {"include": []}
    assert "has a lock" in nothing.err
    mac("matrix", "lock", "demo", "--platform", "all")
    jobs = mac("plan", "demo", "--platform", "all")
    rows = json.loads(jobs.out)["include"]
    assert [(row["runner"], row["python"]) for row in rows] == [
        ("macos-14", "3.8"),
        ("macos-14", "3.11"),
        ("windows-latest", "3.8"),
        ("windows-latest", "3.11"),
    ]
    assert rows[1]["cells"] == f"{CELL}@macos-arm64"
    assert rows[1]["module"] == "demo"
    assert (root / rows[1]["locks"]).is_file()
    assert "Linux x86-64 with musl" in jobs.err


def test_the_advisor_says_why_not_and_what_does(mac: Run) -> None:
    said = mac("advise", "demo", "demo==2.0", "--platform", "macos-arm64").out
    assert "on macOS arm64, where" in said
    assert "Python 3.8 and 3.11: no wheel (declared): demo 2.0 has no file on macOS arm64" in said
    assert "installs on macOS arm64" in said
    data = mac("advise", "demo", "demo==2.0", "--platform", "all", "--json").json["data"]
    assert list(data["platforms"]) == ["macos-arm64", "windows-x86_64", "linux-musl-x86_64"]


def test_metadata_answers_everything_and_no_resolver_is_asked(
    mac: Run, root: Path, demo_index: FakeIndex
) -> None:
    lay_out(demo_index, "demo", {"2.0": ["py3-none-manylinux_2_17_x86_64"]})
    assert mac("matrix", "discover", "demo", "--write", "--refresh").code == 0
    ran = mac("matrix", "lock", "demo", "--platform", "all")
    assert ran.code == 1
    assert "all 6 plain installs" in ran.err


@pytest.fixture
def handed(mac: Run, root: Path, tmp_path: Path) -> Path:
    """The folder of answers that another machine made, and none of them here."""
    assert mac("matrix", "lock", "demo", "--platform", "macos-arm64").code == 0
    folder = tmp_path / "handed" / "platforms"
    folder.mkdir(parents=True)
    (root / "matrices" / "demo" / "platforms" / "macos-arm64").rename(folder / "macos-arm64")
    return folder


def kept(root: Path) -> list[str]:
    folder = root / "matrices" / "demo" / "platforms" / "macos-arm64"
    return sorted(path.stem for path in folder.glob("locks/*"))


def test_sound_answers_of_another_machine_are_kept_with_their_locks(
    mac: Run, root: Path, handed: Path
) -> None:
    ran = mac("ci", "record", "demo", "--from", str(handed.parent))
    assert ran.code == 0, ran.err
    assert "2 answers imported, 0 already here, 0 rejected" in ran.err
    assert kept(root) == [CELL, "py3.8-dep1-demo1.0"]
    again = mac("ci", "record", "demo", "--from", str(handed.parent))
    assert (again.code, "nothing imported, 2 already here, 0 rejected" in again.err) == (0, True)


@pytest.mark.parametrize(
    ("name", "before", "after", "why"),
    [
        ("answers.json", CELL, "py3.11-dep1-demo2.0", "already answered by metadata"),
        ("answers.json", '"on":"2', '"on":"1', "not of the last 7 days"),
        (f"locks/{CELL}.txt", "aarch64-apple-darwin", "x86_64-apple-darwin", "asks for something"),
        (f"locks/{CELL}.txt", "demo==1.0", "demo==1.1", f"{CELL}.txt"),
        (f"locks/{CELL}.txt", "# cell", "# call", f"{CELL}.txt"),
    ],
)
def test_an_answer_or_a_lock_that_this_checkout_does_not_ask_for_is_refused(
    mac: Run, root: Path, handed: Path, name: str, before: str, after: str, why: str
) -> None:
    path = handed / "macos-arm64" / name
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    ran = mac("ci", "record", "demo", "--from", str(handed.parent))
    assert ran.code == 1
    assert why in ran.err
    assert CELL not in kept(root)


def test_a_lock_that_was_not_handed_over_is_missed(mac: Run, root: Path, handed: Path) -> None:
    (handed / "macos-arm64" / "locks" / f"{CELL}.txt").unlink()
    assert mac("ci", "record", "demo", "--from", str(handed.parent)).code == 1
    assert kept(root) == ["py3.8-dep1-demo1.0"]
