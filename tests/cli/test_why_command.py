"""`compat find reason`: what keeps a floor where it is, from wheels that are made here and from
records."""

import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.fake_index import FakeIndex, File, body, in_json, metadata
from support.ran import Run

Remember = Callable[..., None]
ABOVE = "py3.11-dep1-demo1.0"
BELOW = "py3.8-dep1-demo1.0"
ANNOTATED = '"""Says."""\nfrom __future__ import division\n\n\ndef f(x: list[int]): ...\n'


def publish(
    index: FakeIndex, source: str, requires_python: str | None = None, tag: str = "py3-none-any"
) -> None:
    """Let the index have one release of demo, with that module."""
    lines = ["Requires-Dist: dep~=1.0"]
    if requires_python is not None:
        lines.append(f"Requires-Python: {requires_python}")
    text = metadata("demo", "1.0", *lines)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("demo/__init__.py", source)
        archive.writestr("demo-1.0.dist-info/METADATA", text)
    name, content = f"demo-1.0-{tag}.whl", packed.getvalue()
    index.answers(f"/files/{name}", body(content, "application/octet-stream"))
    index.answers(f"/files/{name}.metadata", body(text, "application/octet-stream"))
    digest = hashlib.sha256(content).hexdigest()
    file = File(name, "", digest, requires_python, "2024-01-01T12:00:00Z", metadata=True)
    index.page("demo", in_json([file]))


def read(run: Run, *words: str) -> None:
    assert run("matrix", "discover", "demo", "--write").code in (0, 1)
    assert run("find", "reason", "demo", "python", "--write", *words).code == 0


CASES = {
    "annotations": (ANNOTATED, None, "py3-none-any", "needed by annotations only: 1 annotation"),
    "types": ("Pair = list[int]\n", None, "py3-none-any", "needed by 1 type that runs in 1 file"),
    "code": (
        f"import graphlib\n{ANNOTATED.split('division')[1]}",
        ">=3.9",
        "py3-none-any",
        "needed by 1 place in the code in 1 file and 1 annotation in 1 file",
    ),
    "declared": ("x: int = 1\n", ">=3.9", "py3-none-any", "Python 3.9 is declared only"),
    "wheel": ("x = 1\n", ">=3.8", "cp39-abi3-manylinux_2_17_x86_64", "there is no wheel below"),
    "nothing": ("x = 1\n", None, "py3-none-any", "Nothing in its code or its metadata"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_release_says_what_keeps_its_python(run: Run, demo_index: FakeIndex, case: str) -> None:
    source, requires_python, tag, sentence = CASES[case]
    publish(demo_index, source, requires_python, tag)
    read(run)
    ran = run("find", "reason", "demo", "python", "--at", "demo=1.0")
    assert ran.code == 0, ran.err
    assert sentence in ran.out
    assert "vermin" in ran.err
    assert "runs nothing" in ran.err


@pytest.mark.parametrize("words", [["python"], ["dep"], ["python", "--write"]])
def test_without_a_kept_catalogue_it_says_how_to_get_one(
    run: Run, demo_index: FakeIndex, words: list[str]
) -> None:
    ran = run("find", "reason", "demo", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "compat matrix discover demo --write" in ran.err


def test_the_lines_are_named_and_need_neither_index_nor_run(
    run: Run, demo_index: FakeIndex
) -> None:
    publish(demo_index, ANNOTATED)
    read(run)
    demo_index.stop()
    ran = run("find", "reason", "demo", "python", "--at", "demo=1.0")
    assert "  demo/__init__.py:5: builtin generic type (list[..])" in ran.out.splitlines()
    assert "declares no minimum" in ran.out
    assert "a Python older than" in ran.out


def test_the_table_has_every_release(run: Run) -> None:
    read(run)
    rows = run("find", "reason", "demo", "python").out.splitlines()
    assert [row.split()[0] for row in rows] == ["1.0", "2.0"]
    assert "declared only" in rows[1]


def test_what_was_not_read_is_said_with_the_command_that_reads_it(run: Run) -> None:
    run("matrix", "discover", "demo", "--write")
    ran = run("find", "reason", "demo", "python")
    assert ran.code == 0
    assert "2 releases not read yet; `compat find reason demo python --write`" in ran.err


def test_what_ran_below_and_above_is_told(
    run: Run, demo_index: FakeIndex, remember: Remember
) -> None:
    publish(demo_index, ANNOTATED)
    read(run)
    remember(ABOVE)
    remember(BELOW, outcome="import-fail:type-error(demo/__init__.py:5)")
    assert "3.8: no (type-error)" in run("find", "reason", "demo", "python").out
    [release] = run("find", "reason", "demo", "python", "--json").json["data"]["releases"]
    assert release["keepers"] == ["annotation"]
    assert release["bounds"] == {"annotation": "3.9"}
    assert release["works_on"] == "3.11"
    [below] = release["below"]
    assert below["cell"] == BELOW
    assert "demo/__init__.py:5" in below["sentence"]


def test_what_is_not_reached_keeps_nothing(
    run: Run, demo_index: FakeIndex, remember: Remember
) -> None:
    publish(demo_index, "def late():\n    import graphlib\n")
    read(run)
    remember(BELOW)
    ran = run("find", "reason", "demo", "python", "--at", "demo=1.0")
    assert "more than Python 3.8." in ran.out
    assert "3.9 (demo/__init__.py:2: 'graphlib' module)" in ran.out
    assert "works on Python 3.8" in ran.out


def test_a_dependency_that_cannot_be_had_below_is_named(
    run: Run, demo_index: FakeIndex, remember: Remember
) -> None:
    publish(demo_index, "x = 1\n")
    read(run)
    remember(ABOVE)
    remember(BELOW, outcome="lock-fail:requires-python(dep==1.1)")
    ran = run("find", "reason", "demo", "python", "--at", "demo=1.0")
    assert "it at Python 3.11" in ran.out
    assert "dep==1.1" in ran.out


def test_a_package_that_a_rule_lets_in_keeps_no_release(
    run: Run, demo_index: FakeIndex, remember: Remember, root: Path
) -> None:
    path = root / "matrices" / "demo" / "matrix.toml"
    rule = (
        'rules = [\n  { name = "dep-here", effect = "relax", because = "it keeps its promises",'
        ' relaxations = [{ package = "dep", to = "==1.1" }] },'
    )
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("rules = [", rule), encoding="utf-8")
    publish(demo_index, "x = 1\n")
    read(run)
    remember(ABOVE)
    remember(f"{BELOW}+relaxed", outcome="lock-fail:requires-python(dep==1.1)")
    ran = run("find", "reason", "demo", "python", "--at", "demo=1.0")
    assert "A dependency keeps it" not in ran.out
    assert "not tested: dep==1.1, which" in ran.out
    [release] = run("find", "reason", "demo", "python", "--json").json["data"]["releases"]
    assert release["keepers"] == []


def test_a_package_axis_names_the_requirement(run: Run, remember: Remember) -> None:
    run("matrix", "discover", "demo", "--write")
    ran = run("find", "reason", "demo", "dep", "--at", "demo=2.0")
    assert ran.code == 0, ran.err
    assert "2.0 requires `dep==2.*`: dep 2 or newer." in ran.out
    assert "No cell below dep" in ran.out
    remember("py3.11-dep1-demo2.0", outcome="import-fail:missing-attribute(dep.new)")
    [release] = run("find", "reason", "demo", "dep", "--at", "demo=2.0", "--json").json["data"][
        "releases"
    ]
    [below] = release["below"]
    assert below["api_missing"] == ["dep.new"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("find", "reason", "demo", "pyton"), "did you mean"),
        (("find", "reason", "demo", "demo"), "the library under test"),
        (("find", "reason", "demo", "python", "--at", "demo=9.9"), "it has 1.0 to 2.0"),
        (("find", "reason", "demo", "python", "--at", "nothing=1"), "no axis 'nothing'"),
        (("find", "reason", "demo", "python", "--at", "demo"), "AXIS=VERSION"),
        (("find", "reason", "demo", "dep", "--write"), "for the Python axis"),
    ],
)
def test_what_cannot_be_asked_is_one_line(run: Run, words: tuple[str, ...], told: str) -> None:
    run("matrix", "discover", "demo", "--write")
    ran = run(*words)
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 1
    assert told in ran.err


def test_damaged_needs_are_one_line_with_the_remedy(run: Run, root: Path) -> None:
    run("matrix", "discover", "demo", "--write")
    (root / "matrices" / "demo" / "needs.json").write_text("{}x")
    ran = run("find", "reason", "demo", "python")
    assert ran.code == 2
    assert "matrices/demo/needs.json: has no needs" in ran.err
    assert len(ran.err.strip().splitlines()) == 1
