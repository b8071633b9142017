"""`compat init`: from a project or a name to a matrix that can be run, and nothing overwritten."""

import hashlib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from support.fake_index import FakeIndex, File, in_json, ranges
from support.local_index import WHEN, fill
from support.ran import Run
from support.zoo import wheel

from compat.cli.init import with_builds, without_neighbour_files
from compat.cli.options import workspace_of
from compat.draft.draft import (
    SuiteDraft,
    Target,
    axis_name,
    imported_alone,
    module_of,
    newest_series,
    short_name,
    weighed,
)
from compat.index.release import Artifact, Package, Release
from compat.lock.lockfile import Pin, Refusal
from compat.lock.resolvers import needs_builds, requested_builds
from compat.results.record import Capability

LIBRARY = {
    "my-lib": [
        *((f"0.{minor}", minor, ">=3.9", ["dep>=1,<2", "deep"]) for minor in range(1, 6)),
        (
            "1.0",
            9,
            ">=3.9",
            ["dep>=1,<2", "deep>=1", "late; python_version<'3.8'", "tool; extra == 'x'", "pin==1"],
        ),
        ("1.1rc1", 10, ">=3.9", []),
    ],
    "dep": [("1.0", 1, None, []), ("1.1", 5, None, []), ("2.0", 15, None, [])],
    "pin": [("1", 1, None, []), ("2", 2, None, [])],
    "deep": [("1.0", 2, None, [])],
    "late": [("1.0", 29, None, [])],
    "pytest": [("8.0", 1, None, [])],
}


@pytest.fixture
def run(run: Run) -> Run:
    """The command, whose `init` runs no cell: what the index has here is nothing to run."""
    return lambda *words: run(*words, *(["--no-run"] if words[0] == "init" else []))


@pytest.fixture
def empty(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo_index: FakeIndex) -> Path:
    """A folder with nothing in it, in which commands run; the index has `my-lib`."""
    spelt = {name.replace("-", "_"): releases for name, releases in LIBRARY.items()}
    fill(demo_index, spelt)
    demo_index.replies["/simple/my-lib/"] = demo_index.replies["/simple/my_lib/"]
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_in_an_empty_folder_a_name_is_enough(run: Run, empty: Path) -> None:
    drafted = run("init", "my-lib")
    assert drafted.code == 0, drafted.err
    assert drafted.err.splitlines()[-1] == "Next: compat run my-lib --quick"
    assert drafted.out.splitlines()[:4] == [
        "wrote matrices/my-lib/matrix.toml",
        "wrote matrices/my-lib/policy.toml",
        "wrote matrices/my-lib/suite/test_import.py",
        "wrote matrices/my-lib/catalogue.json",
    ]
    for sentence in (
        "my-lib 1.0 requires Python >=3.9.",
        "dep: 2.0 is excluded by the declared range, 2 major versions since 1.0.",
        "my-lib: its newest series, 0.4 to 1.0.",
        "deep: only one series of it meets what is declared",
        'late: it is required only if python_version < "3.8", which is true in no cell',
        "pin: it is pinned to one version",
    ):
        assert sentence in drafted.out
    assert "tool" not in drafted.out
    assert run("check").out == "valid: my-lib\n"
    matrix = workspace_of("my-lib", None).matrix
    assert matrix.lowest
    assert [axis.short for axis in matrix.axes] == ["py", "dep", "mylib"]
    assert [(floor.axis, str(floor.at)) for floor in matrix.floors] == [
        ("python", "3.9"),
        ("dep", "1.0"),
    ]
    assert [rule.name for rule in matrix.rules] == ["newer-dep"]
    assert run("plan", "my-lib").code == 0
    assert [
        c["id"]
        for c in run("run", "my-lib", "--dry-run", "--json", "--quick").json["data"]["cells"]
    ]


def test_every_dependency_has_an_axis_where_the_number_of_cells_allows_it(
    run: Run, empty: Path, demo_index: FakeIndex
) -> None:
    names = ("alpha", "beta", "delta", "gamma", "omega")
    series = [(f"{number}.0", number, None, []) for number in range(1, 7)]
    own = [("1.0", 9, ">=3.14", [f"{name}>=1" for name in names])]
    fill(demo_index, {**dict.fromkeys(names, series), "wide": own})
    drafted = run("init", "wide")
    assert drafted.code == 0, drafted.err
    matrix = workspace_of("wide", None).matrix
    assert [axis.name for axis in matrix.packages] == [*names[:4], "wide"]
    cells = run("plan", "wide", "--json").json["data"]
    assert cells
    assert "omega" in drafted.out.partition("Without an axis:")[2]
    proposed = run("propose", "wide")
    assert "No axis, so no moves: omega>=1" in proposed.out
    assert run("propose", "wide", "--json").json["data"]["without_axis"] == ["omega>=1"]


def test_a_checkout_says_more_than_its_newest_release(run: Run, empty: Path) -> None:
    (empty / "pyproject.toml").write_text(
        '[project]\nname = "My_Lib"\nrequires-python = ">=3.11"\ndependencies = ["dep>=1.1"]\n'
    )
    drafted = run("init")
    assert drafted.code == 0, drafted.err
    assert "pyproject.toml requires Python >=3.11." in drafted.out
    matrix = workspace_of("my-lib", None).matrix
    assert str(matrix.interpreters.releases[0]) == "3.11"
    dep = next(axis for axis in matrix.packages if axis.name == "dep")
    assert str(dep.select.specifier) == ">=1.1"
    assert not matrix.rules


def test_a_checkout_of_another_package_has_no_say(run: Run, empty: Path) -> None:
    (empty / "pyproject.toml").write_text('[project]\nname = "other"\nrequires-python = ">=3.13"\n')
    assert "requires Python >=3.9." in run("init", "my-lib").out


def test_tests_without_a_project_that_is_named_are_not_taken_for_its_own(
    run: Run, empty: Path
) -> None:
    # As google-auth 2.63.0 is, which has a setup.py alone.
    (empty / "tests").mkdir()
    (empty / "tests" / "test_a.py").write_text("def test_a(): ...\n")
    why = "no pyproject.toml names the project of the tests in tests"
    assert f", as {why}." in run("init", "my-lib").out


def test_what_is_left_to_the_build_backend_is_asked_of_the_index(run: Run, empty: Path) -> None:
    (empty / "pyproject.toml").write_text(
        '[project]\nname = "my-lib"\ndynamic = ["dependencies"]\n'
    )
    assert "dep: 2.0 is excluded" in run("init").out


@pytest.mark.parametrize(
    ("pyproject", "lines", "said"),
    [
        (
            '[dependency-groups]\nlint = ["ruff"]\ntest = ["pytest"]\n',
            'groups = ["test"]',
            "with what the dependency group test asks for",
        ),
        (
            '[project.optional-dependencies]\nTests = ["pytest-cov"]\n',
            'extras = ["Tests"]',
            "with what the extra Tests asks for",
        ),
        ('[dependency-groups]\ntest = ["nose"]\n', 'requirements = ["pytest"]', "tests in tests."),
        (
            '[project.optional-dependencies]\ntest = ["my-lib[bare]"]\nbare = ["pytest"]\n',
            'extras = ["test"]',
            "with what the extra test asks for",
        ),
        (
            '[tool.poetry.group.test.dependencies]\npytest = "^8"\n',
            'groups = ["test"]',
            "with what the dependency group test asks for",
        ),
        (
            '[tool.pytest]\ntestpaths = ["checks", "tests/unit"]\n',
            'tests = "tests/unit"',
            "the project's own tests in tests/unit",
        ),
    ],
)
def test_the_projects_own_tests_are_the_suite(
    run: Run, empty: Path, pyproject: str, lines: str, said: str
) -> None:
    (empty / "pyproject.toml").write_text(f'[project]\nname = "my-lib"\n{pyproject}')
    (empty / "tests" / "unit").mkdir(parents=True)
    (empty / "tests" / "unit" / "test_a.py").write_text("def test_a(): pass\n")
    drafted = run("init")
    assert drafted.code == 0, drafted.err
    assert said in drafted.out
    # The tests are those of the newest release.
    assert "newest series, 1.0." in drafted.out
    text = (empty / "matrices" / "my-lib" / "matrix.toml").read_text()
    assert 'tests = "tests' in text
    assert lines in text
    assert not (empty / "matrices" / "my-lib" / "suite").exists()
    if "nose" not in pyproject:
        assert run("check").out == "valid: my-lib\n"


@pytest.mark.parametrize(
    ("paths", "tests"),
    [
        (("src/my_lib/tests/test_a.py", "packages/other/deep/tests/test_b.py"), "src/my_lib/tests"),
        (("my_lib/test/unit/a_test.py",), "my_lib/test"),
        (("my_lib/tests/test_a.py", "tests/data/readme.md", "test/test_b.py"), "test"),
        ((".tox/tests/test_a.py", "build/lib/tests/test_a.py", "a/b/c/d/tests/test_a.py"), ""),
    ],
)
def test_the_folder_of_tests_nearest_to_the_top_is_taken(
    run: Run, empty: Path, paths: tuple[str, ...], tests: str
) -> None:
    (empty / "pyproject.toml").write_text('[project]\nname = "my-lib"\n')
    for path in map(empty.joinpath, paths):
        path.parent.mkdir(parents=True)
        path.write_text("def test_a(): pass\n")
    assert run("init").code == 0
    text = (empty / "matrices" / "my-lib" / "matrix.toml").read_text()
    assert (f'tests = "{tests}"\n' if tests else 'path = "suite"\n') in text


def test_of_several_lists_the_source_of_that_for_tests_is_taken(run: Run, empty: Path) -> None:
    (empty / "pyproject.toml").write_text('[project]\nname = "my-lib"\n')
    lists = {
        "dev.txt": "pytest==8.1\nmarkupsafe==2.1.5\n",
        "tests.in": "pytest\nfreezegun\n",
        "tests.txt": "pytest==8.1\nfreezegun==1.4\n",
    }
    for folder, files in (
        ("tests", {"test_a.py": "def test_a(): pass\n"}),
        ("requirements", lists),
    ):
        (empty / folder).mkdir()
        for name, text in files.items():
            (empty / folder / name).write_text(text)
    assert run("init").code == 0
    text = (empty / "matrices" / "my-lib" / "matrix.toml").read_text()
    assert 'requirements = ["pytest", "freezegun"]' in text


def test_a_group_that_no_lock_can_hold_is_said_at_once(run: Run, empty: Path) -> None:
    pyproject = (
        '[project]\nname = "my-lib"\n[dependency-groups]\ntest = ["pytest", "a @ file:///a"]\n'
    )
    (empty / "pyproject.toml").write_text(pyproject)
    (empty / "tests").mkdir()
    (empty / "tests" / "test_a.py").write_text("def test_a(): pass\n")
    drafted = run("init")
    assert drafted.code == 0, drafted.err
    (line,) = [line for line in drafted.err.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: matrices/my-lib/matrix.toml: suite.groups")
    assert "a @ file:///a" in line


def test_nothing_is_overwritten(run: Run, empty: Path) -> None:
    assert run("init", "my-lib").code == 0
    path = empty / "matrices" / "my-lib" / "matrix.toml"
    path.write_text("mine = 1\n")
    again = run("init", "my-lib")
    assert again.code == 2
    assert "matrices/my-lib: already exists" in again.err
    assert path.read_text() == "mine = 1\n"


def test_what_is_drafted_is_told_to_programs(run: Run, empty: Path) -> None:
    data = run("init", "my-lib", "--json").json["data"]
    assert data["matrix"] == "my-lib"
    assert data["next"] == "compat run my-lib --quick"
    assert data["quick"]
    assert data["files"][0] == "matrices/my-lib/matrix.toml"


@pytest.mark.parametrize(
    ("words", "pyproject", "said"),
    [
        ((), None, "no package given, and no pyproject.toml with a project name here"),
        ((), "[tool.x]\n", "no package given, and no pyproject.toml with a project name here"),
        (("no-such",), None, "the package index has no package 'no-such' (check the name;"),
        (("my-lib", "--root", "gone"), None, "error: gone: is not a directory"),
        ((), "[project\n", "pyproject.toml: is not TOML: "),
        ((), "project = 1\n", "pyproject.toml: Expected `object | null`, got `int`"),
        (
            (),
            "[project]\nname = 1\n",
            "pyproject.toml: Expected `str`, got `int` - at `$.project.name`",
        ),
        (
            (),
            '[project]\nname = "my-lib"\nrequires-python = "3.9+"\n',
            "pyproject.toml: '3.9+' is not a version specifier such as '>=2.3,<3'",
        ),
        (
            (),
            '[project]\nname = "my-lib"\ndependencies = "dep"\n',
            "pyproject.toml: Expected `array | null`, got `str` - at `$.project.dependencies`",
        ),
        (
            (),
            '[project]\nname = "my-lib"\nrequires-python = "<3"\n',
            "pyproject.toml requires Python <3, and no series of today is that",
        ),
    ],
)
def test_what_cannot_be_drafted_is_one_line_and_leaves_nothing(
    run: Run, empty: Path, words: tuple[str, ...], pyproject: str | None, said: str
) -> None:
    if pyproject is not None:
        (empty / "pyproject.toml").write_text(pyproject)
    refused = run("init", *words)
    assert refused.code == 2
    (line,) = refused.err.splitlines()
    assert said in line
    assert not (empty / "matrices").exists()


def test_what_brings_no_module_is_refused(run: Run, empty: Path, demo_index: FakeIndex) -> None:
    # As types-requests 2.33.0.20261030 and jupyter 1.1.1 are.
    content = wheel("dep_stubs", "1.0", {"dep-stubs/__init__.pyi": ""}, [])
    name = "dep_stubs-1.0-py3-none-any.whl"
    demo_index.answers(f"/files/{name}", ranges(content))
    digest = hashlib.sha256(content).hexdigest()
    demo_index.page("dep-stubs", in_json([File(name, "", digest, None, WHEN.format(day=1))]))
    refused = run("init", "dep-stubs")
    assert refused.code == 2
    (line,) = refused.err.splitlines()
    assert "dep-stubs 1.0 brings" in line
    assert not (empty / "matrices").exists()


def test_of_what_has_no_wheel_it_is_said_how_it_can_be_built(
    run: Run, empty: Path, demo_index: FakeIndex
) -> None:
    # As python-ldap 3.4.8 is.
    when = WHEN.format(day=1)
    demo_index.page("source", in_json([File("source-1.0.tar.gz", "", "0" * 64, None, when)]))
    drafted = run("init", "source")
    assert drafted.code == 0, drafted.err
    assert "no cell has" in drafted.err
    assert "as published" not in drafted.err


@pytest.mark.parametrize("package", ["plugin", "pytest"])
def test_pytest_itself_can_be_what_is_asked_about(
    run: Run, empty: Path, demo_index: FakeIndex, package: str
) -> None:
    releases = [(f"{major}.0", major, ">=3.9", []) for major in range(6, 10)]
    fill(demo_index, {"pytest": releases, "plugin": [("1.0", 9, ">=3.9", ["pytest>=6"])]})
    drafted = run("init", package)
    assert drafted.code == 0, drafted.err
    matrix = workspace_of(package, None).matrix
    assert "pytest" in [axis.package for axis in matrix.packages]
    assert not matrix.suite.requirements
    assert run("check").out == f"valid: {package}\n"


# Choices

TARGET = Target(series=(Version("3.11"),), platform="x86_64-manylinux_2_28")


def package(*versions: str, compiled: bool = False) -> Package:
    def release(version: str) -> Release:
        from packaging.tags import Tag

        tag = (
            Tag("cp311", "cp311", "manylinux_2_17_x86_64")
            if compiled
            else Tag("py3", "none", "any")
        )
        artifact = Artifact(filename="x.whl", url="", tags=frozenset([tag]))
        return Release(version=Version(version), artifacts=(artifact,))

    return Package(name="dep", releases=tuple(map(release, versions)))


@pytest.mark.parametrize(
    ("versions", "selected"),
    [
        (("1.0", "1.1", "2.0"), (">=1.0", "minor", ["1.0", "1.1", "2.0"])),
        (("1.0", "1.1", "1.2", "2.0", "2.1"), (">=1", "major", ["1", "2"])),
        (tuple(f"1.{n}" for n in range(9)), (">=1.5", "minor", ["1.5", "1.6", "1.7", "1.8"])),
        (tuple(f"{n}.0" for n in range(1, 9)), (">=5", "major", ["5", "6", "7", "8"])),
    ],
)
def test_a_few_series_are_asked_about(
    versions: tuple[str, ...], selected: tuple[str, str, list[str]]
) -> None:
    chosen = newest_series([Version(text) for text in versions])
    kept = {chosen.coordinate(v) for v in map(Version, versions) if chosen.keeps(v)}
    assert (str(chosen.specifier), chosen.keep, [str(v) for v in sorted(kept)]) == selected


def test_what_may_break_a_library_weighs_more() -> None:
    def weight(text: str, *versions: str, compiled: bool = False) -> int:
        return weighed(Requirement(text), package(*versions, compiled=compiled), TARGET).weight

    bounded = weight("dep<2", "1.0", "2.0")
    majors, compiled = weight("dep", "1.0", "2.0"), weight("dep", "1.0", "1.1", compiled=True)
    assert bounded > majors > compiled > weight("dep", "1.0", "1.1") > 0
    assert "does not have it" in weighed(Requirement("dep"), None, TARGET).left_out
    assert weighed(Requirement("dep @ https://a.example/b.whl"), None, TARGET).left_out


def test_a_release_without_a_wheel_for_the_pythons_is_passed_over() -> None:
    late = Target(series=(Version("3.13"),), platform=TARGET.platform)
    compiled = package("1.0", "1.1", compiled=True)
    assert len(weighed(Requirement("dep"), compiled, TARGET).coordinates) == 2
    assert weighed(Requirement("dep"), compiled, late).left_out


def test_names_fit_what_a_matrix_takes() -> None:
    assert axis_name("2captcha.Python") == "p2captcha-python"
    assert axis_name("demo", {"demo"}) == "demo-2"
    assert short_name("jsonschema", set()) == "jsonschema"
    assert short_name("py", {"py"}) == "pyx"
    assert short_name("py", {"py", "pyx"}) == "pyxx"
    assert short_name("7", set()) == "dep"
    assert short_name("pydantic-settings", {"py"}) == "pydantic"
    assert short_name("pydantic-settings", {"pydantic"}) == "pydanticsettings"
    assert short_name("beautifulsoup4", set()) == "beautifulsoup"


def test_what_only_people_run_is_left_out_of_tests() -> None:
    asked = ("pytest>=8", "pytest-cov", "tox-uv", "pyyaml", "ruff==1.0", "webtest")
    texts = {"tests/test_a.py": "import yaml\n\ndef test_a():\n    from webtest import App\n"}
    assert imported_alone(asked, texts) == ("pytest>=8", "pytest-cov", "pyyaml", "webtest")


@pytest.mark.parametrize(
    ("paths", "module"),
    [
        (["yaml/__init__.py", "_yaml/__init__.py", "x-1.dist-info/RECORD"], "yaml"),
        (["attr/__init__.py", "attrs/__init__.py"], "attr"),
        (["six.py", "six-1.dist-info/METADATA"], "six"),
        (["my_lib/__init__.py", "a/__init__.py"], "my_lib"),
        (["_x.cpython-311.so"], "_x"),
        (["old/__init__.py", "newer/__init__.py", "newer/core.py"], "newer"),
        (["my/lib/__init__.py", "my/lib_v2/__init__.py", "my/lib_v2/types.py"], "my.lib"),
        (["my/__init__.py", "my/lib/__init__.py", "my/core.py"], "my.lib"),
        (["my/_lib.py", "_my_lib/__init__.py", "my/lib.py"], "my.lib"),
        (["space/name/__init__.py", "space/name/inner/__init__.py", "tests/a.py"], "space.name"),
        (["my_lib-stubs/__init__.pyi", "my_lib-1.dist-info/METADATA"], ""),
        (["my_lib-1.data/scripts/my_lib.py", "__init__.py"], ""),
        ([], ""),
    ],
)
def test_the_module_is_that_of_the_wheel(paths: list[str], module: str) -> None:
    assert module_of("My-Lib", paths) == module


def test_what_the_tests_need_and_only_a_build_makes_is_built() -> None:
    suite = SuiteDraft(module="my_lib", title="my-lib", because="")
    need = "lock-fail:suite-fault(your tests need plugin==2 through plugin~=2: {})"
    pins = [Pin(name, Version("2"), ()) for name in ("plugin", "other")]
    refused = needs_builds(Refusal(cause="conflict", subject="", because=""), pins)
    fault = need.format(refused.because)
    assert requested_builds("import-fail:suite-fault(no module)") == ()
    built = with_builds(suite, requested_builds(fault) * 2)
    assert built.builds == ("plugin==2", "other==2")
    assert with_builds(built, requested_builds(fault)) == built


def test_a_test_that_reads_files_beside_the_tests_is_left_out_and_another_failure_is_not() -> None:
    suite = SuiteDraft(module="my_lib", title="my-lib", because="")

    def failing(name: str, subject: str) -> Capability:
        return Capability(
            id=f"tests/test_a.py::{name}", status="no", cause="error", subject=subject
        )

    lost = "FileNotFoundError: [Errno 2] No such file or directory: "
    tests = [
        failing("test_beside", f"{lost}'suite/src/lib/de.po' (python3.13/shutil.py:260)"),
        failing("test_own", f"{lost}'site-packages/lib/de.po' (lib/core.py:3)"),
        failing("test_sum", "AssertionError: 'suite/' (test_a.py:3)"),
    ]
    assert without_neighbour_files(suite, tests[1:]) == suite
    assert without_neighbour_files(suite, tests).arguments == ("-k", "not (test_beside)")
