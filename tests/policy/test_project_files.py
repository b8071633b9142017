"""A floor moves in all that states it: classifiers, tox, nox, CI matrices, badges; every other byte
stays.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from compat.declare.parsing import toml_document
from compat.errors import DeclarationError
from compat.rewrite.file import mentions, nearest_floor, rewritten
from compat.rewrite.ranges import Move, Rewritten, Unsatisfiable

KNOWN = tuple(map(Version, ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")))
NUMPY = tuple(map(Version, ("1.22", "1.24", "1.26", "2.0", "2.1")))


def python(before: str, floor: str) -> Move:
    return Move(package=None, floor=Version(floor), before=Version(before), known=KNOWN)


def numpy(before: str, floor: str) -> Move:
    return Move(package="numpy", floor=Version(floor), before=Version(before), known=NUMPY)


def after(path: str, text: str, move: Move) -> str:
    result = rewritten(path, text, move)
    assert isinstance(result, Rewritten)
    again = rewritten(path, result.text, move)
    assert isinstance(again, Rewritten)
    assert again.text == result.text, "a second time changes nothing"
    return result.text


class TestClassifiers:
    PYPROJECT = """\
[project]
name = "a"
requires-python = ">=3.9"  # see the policy
classifiers = [
  "Programming Language :: Python :: 3",
  "Programming Language :: Python :: 3.9",   # until October
  # the newest ones
  "Programming Language :: Python :: 3.10",
  'Programming Language :: Python :: 3.11',
  "Programming Language :: Python :: 3 :: Only",
]

[tool.ruff]
target-version = "py39"

[tool.mypy]
python_version = '3.9'
"""

    def test_go_with_requires_python_and_what_tools_are_told(self) -> None:
        expected = (
            self.PYPROJECT.replace(">=3.9", ">=3.10")
            .replace('  "Programming Language :: Python :: 3.9",   # until October\n', "")
            .replace("py39", "py310")
            .replace("'3.9'", "'3.10'")
        )
        assert after("pyproject.toml", self.PYPROJECT, python("3.9", "3.10")) == expected

    def test_below_the_floor_of_the_matrix_go_too(self) -> None:
        older = '  "Programming Language :: Python :: 3.8",\n'
        text = self.PYPROJECT.replace("classifiers = [\n", f"classifiers = [\n{older}")
        assert text != self.PYPROJECT
        wanted = after("pyproject.toml", self.PYPROJECT, python("3.9", "3.10"))
        assert after("pyproject.toml", text, python("3.9", "3.10")) == wanted

    def test_come_back_with_a_lower_floor(self) -> None:
        text = after("pyproject.toml", self.PYPROJECT, python("3.9", "3.7"))
        listed = toml_document(text.encode(), "text")["project"]["classifiers"]
        prefix = "Programming Language :: Python :: "
        series = ["3", "3.7", "3.8", "3.9", "3.10", "3.11", "3 :: Only"]
        assert listed == [prefix + name for name in series]
        assert '"Programming Language :: Python :: 3.9",   # until October\n' in text

    def test_of_a_setup_cfg_stand_one_to_a_line(self) -> None:
        text = (
            "[metadata]\nclassifiers =\n"
            "    Programming Language :: Python :: 3.9\n"
            "    Programming Language :: Python :: 3.10\n\n"
            "[options]\npython_requires = >=3.9\n"
        )
        assert after("setup.cfg", text, python("3.9", "3.10")) == text.replace(
            "    Programming Language :: Python :: 3.9\n", ""
        ).replace(">=3.9", ">=3.10")

    def test_and_ranges_of_a_setup_py_are_read_as_python(self) -> None:
        text = """\
from setuptools import setup

OLD = "Programming Language :: Python :: 3.8"
setup(
    name="ä",
    python_requires=">=3.9",
    install_requires=["numpy>=1.22,<3", 'six'],
    extras_require={"fast": ["numpy>=1.22"]},
    classifiers=["Programming Language :: Python :: 3.9", "Programming Language :: Python :: 3.10"],
)
"""
        assert after("setup.py", text, python("3.9", "3.10")) == text.replace(
            '"Programming Language :: Python :: 3.9", ', ""
        ).replace(">=3.9", ">=3.10")
        assert after("setup.py", text, numpy("1.22", "1.26")) == text.replace("1.22", "1.26")


class TestTox:
    @pytest.mark.parametrize(
        ("before", "expected"),
        [
            ("envlist = py39,py310,lint\n", "envlist = py310,lint\n"),
            ("envlist = lint, py310, py39\n", "envlist = lint, py310\n"),
            ("env_list =\n    3.9\n    3.10\n", "env_list =\n    3.10\n"),
            ("envlist = py{39,310,311}-x\n", "envlist = py{310,311}-x\n"),
            ("envlist = py3{9,10,11}\n", "envlist = py3{10,11}\n"),
            ("envlist = {py39,py310}-dj{32,42}\n", "envlist = {py310}-dj{32,42}\n"),
            ("envlist = py{39,311}\n", "envlist = py{310,311}\n"),
            ("envlist = py39-min, py311\n", "envlist = py310-min, py311\n"),
            ("env_list =\n  py{39-313}\n", "env_list =\n  py{310-313}\n"),
            ("env_list = py3{9-13}t\n", "env_list = py3{10-13}t\n"),
            ("env_list = py{310-313}\n", "env_list = py{310-313}\n"),
            ("envlist = py38, py310\n", "envlist = py38, py310\n"),
            ("envlist = pypy39, py310\n", "envlist = py310\n"),
            ("envlist = py3{11,10,9,8}\n", "envlist = py3{11,10}\n"),
            ("envlist = py39-{a,b}\n  py39\n", "envlist = py310-{a,b}\n  py310\n"),
            ("envlist = py{39,310,py39}\n", "envlist = py{310}\n"),
            ("envlist =\n  py39\n  # py39 is old\n  py310\n", None),
        ],
    )
    def test_environments_below_the_floor_go(self, before: str, expected: str | None) -> None:
        head, tail = "# py39\n[tox]\n", "isolated_build = py39\n\n[testenv]\ncommands = py39\n"
        wanted = before.replace("  py39\n  #", "  #") if expected is None else expected
        text = after("tox.ini", head + before + tail, python("3.9", "3.10"))
        assert text == head + wanted + tail

    def test_environments_come_back_with_a_lower_floor(self) -> None:
        text = "[tox]\nenvlist = py{39,310}, lint\n"
        assert "py{38,39,310}, lint" in after("tox.ini", text, python("3.9", "3.8"))
        text = "[tox]\nenvlist = py{39-310}, lint\n"
        assert "py{38-310}, lint" in after("tox.ini", text, python("3.9", "3.8"))

    def test_lines_for_a_ci_go_with_their_python(self) -> None:
        text = "[gh-actions]\npython =\n    3.9: py39\n    3.10: py310\n\n[testenv]\nx = 3.9: y\n"
        assert after("tox.ini", text, python("3.9", "3.10")) == text.replace("    3.9: py39\n", "")

    def test_requirements_of_environments_follow_a_package(self) -> None:
        text = "[testenv]\ndeps =\n    pytest\n    numpy>=1.22,<3\n\n[other]\ndeps = numpy>=1.22\n"
        assert after("tox.ini", text, numpy("1.22", "2.0")) == text.replace(
            "    numpy>=1.22,<3", "    numpy>=2.0,<3"
        )


class TestNox:
    TEXT = """\
import nox

PYTHONS = ["3.9", "3.10", "3.11"]
versions: list[str] = ["3.9", "3.12"]
OTHERS = ["3.9", "3.10"]


@nox.session(python=["3.9", "pypy3.9", "3.10"])
@nox.parametrize("numpy", ["1.22", "1.24", "2.0"])
def tests(session): ...


@nox.session(python=versions)
def more(session): ...


@nox.session(python="3.9")
def oldest(session): ...
"""

    def test_lists_of_pythons_begin_at_the_floor(self) -> None:
        text = after("noxfile.py", self.TEXT, python("3.9", "3.10"))
        assert 'PYTHONS = ["3.10", "3.11"]\n' in text
        assert 'versions: list[str] = ["3.10", "3.12"]\n' in text
        assert 'OTHERS = ["3.9", "3.10"]\n' in text, "nobody says that these are Pythons"
        assert 'session(python=["3.10"])' in text
        assert 'session(python="3.10")' in text

    def test_what_is_parametrized_by_a_package_follows_it(self) -> None:
        text = after("noxfile.py", self.TEXT, numpy("1.22", "1.26"))
        assert text == self.TEXT.replace('["1.22", "1.24", "2.0"]', '["1.26", "2.0"]')

    def test_that_is_no_python_is_refused(self) -> None:
        with pytest.raises(DeclarationError, match="is not valid Python"):
            rewritten("noxfile.py", "def (", python("3.9", "3.10"))


class TestAWorkflow:
    TEXT = """\
on: [push]
jobs:
  test:
    strategy:
      matrix:
        python-version: ["3.9", '3.10', 3.11, "pypy-3.9"]  # all
        numpy: [ "1.22", "2.0" ]
        exclude:
          - { python-version: "3.9", os: windows }
        include:
          - python-version: 3.9
            os: macos
    steps:
      - run: echo 3.9
      - uses: actions/setup-python@v6
        with:
          python-version: ${{ matrix.python-version }}
  block:
    strategy:
      matrix:
        python-version:
          - "3.9"   # the oldest
          - "3.10"
"""

    def test_matrices_begin_at_the_floor_and_versions_stay_texts(self) -> None:
        text = after("ci.yml", self.TEXT, python("3.9", "3.10"))
        assert text == (
            self.TEXT.replace('["3.9", \'3.10\', 3.11, "pypy-3.9"]', "['3.10', 3.11]").replace(
                '          - "3.9"   # the oldest\n', ""
            )
        )

    def test_entries_of_a_matrix_are_told_and_left(self) -> None:
        result = rewritten("ci.yml", self.TEXT, python("3.9", "3.10"))
        assert isinstance(result, Rewritten)
        places = [(left.place, left.text) for left in result.left if "entry" in left.because]
        assert places == [("line 9", '"3.9"'), ("line 11", "3.9")]
        others = [left.text for left in result.left if "entry" not in left.because]
        assert others == [', "pypy-3.9"', "- run: echo 3.9"]

    def test_one_version_for_a_step_follows(self) -> None:
        text = "steps:\n  - uses: actions/setup-python@v6\n    with: {python-version: 3.9}\n"
        assert after("ci.yml", text, python("3.9", "3.10")) == text.replace("3.9", '"3.10"')

    def test_a_lower_floor_opens_lists_that_began_at_the_old_one(self) -> None:
        text = after("ci.yml", self.TEXT, python("3.9", "3.8"))
        assert '["3.8", "3.9", \'3.10\', 3.11, "pypy-3.9"]' in text
        assert '          - "3.8"\n          - "3.9"   # the oldest\n' in text

    def test_versions_of_a_package_follow_it_under_its_name(self) -> None:
        assert after("ci.yaml", self.TEXT, numpy("1.22", "1.26")) == self.TEXT.replace(
            '[ "1.22", "2.0" ]', '[ "1.26", "2.0" ]'
        )

    def test_that_is_no_yaml_is_refused(self) -> None:
        with pytest.raises(DeclarationError, match="is not valid YAML"):
            rewritten("ci.yml", "a: [", python("3.9", "3.10"))


class TestWhatIsKnownToBeAVersion:
    """Only that moves; other lines that mention the old floor are named and left."""

    UP = Move(package=None, floor=Version("3.11"), before=Version("3.10"), known=KNOWN)

    @pytest.mark.parametrize(
        ("path", "text", "expected", "left"),
        [
            # A variable may hold the tag of a clone.
            (
                "ci.yml",
                "jobs:\n  t:\n    env:\n      NUMPY_VERSION: v1.24.1\n",
                None,
                [("line 4", "mentions numpy 1.24.1")],
            ),
            (
                "ci.yml",
                "t:\n  matrix:\n    numpy: [v1.22, v2.0]\n",
                None,
                [("line 3", "numpy 1.22")],
            ),
            (
                "ci.yml",
                't:\n  matrix:\n    args: "numpy==1.22"\n',
                None,
                [("line 3", "mentions numpy 1.22")],
            ),
            # The constraints of a job with the lowest versions are the floor.
            (
                "tests/constraints.txt",
                "numpy == 1.22  # min\npytest==7\n",
                "numpy == 1.26  # min\npytest==7\n",
                [],
            ),
            (
                "constraints.txt",
                "numpy==1.24.3\nnumpy==1.22.0\n",
                "numpy==1.24.3\nnumpy==1.26\n",
                [("line 1", "pinned below")],
            ),
        ],
    )
    def test_of_a_package(
        self, path: str, text: str, expected: str | None, left: list[tuple[str, str]]
    ) -> None:
        move = numpy("1.22", "1.26")
        assert after(path, text, move) == (text if expected is None else expected)
        self.said(rewritten(path, text, move), left)

    @pytest.mark.parametrize(
        ("path", "text", "expected", "left"),
        [
            (
                "ci.yml",
                't:\n  matrix:\n    py: ["3.10", "3.11", pypy3.10-v7.3]\n',
                't:\n  matrix:\n    py: ["3.11"]\n',
                [("line 3", "only PyPy")],
            ),
            (
                "ci.yml",
                "t:\n  steps:\n    - if: matrix.py == '3.10'\n      run: tox\n",
                None,
                [("line 3", "mentions Python 3.10")],
            ),
            (
                ".readthedocs.yml",
                'build:\n  tools:\n    python: "3.10"\n',
                'build:\n  tools:\n    python: "3.11"\n',
                [],
            ),
            (
                "pyproject.toml",
                "[project]\ndependencies = [\"a; python_version < '3.11'\"]\n",
                None,
                [("line 2", "never holds from Python 3.11 on")],
            ),
            (
                "pyproject.toml",
                "[project]\ndependencies = [\"a; python_version < '3.12'\"]\n",
                None,
                [],
            ),
            (
                "README.md",
                "[![Python 3.10\u20133.14](https://img.shields.io/badge/x-3.10%E2%80%933.14-b)](x)\n",
                None,
                [("line 1", "mentions Python 3.10")],
            ),
            (
                "tox.ini",
                "[testenv]\ndeps =\n  3.10-linux: -r x.txt\n  a==3.10.2\n",
                None,
                [("line 3", "mentions Python 3.10")],
            ),
            (
                "tox.ini",
                "[tox]\nenvlist = py{310,311,py310}\n",
                "[tox]\nenvlist = py{311}\n",
                [("envlist", "only PyPy")],
            ),
            (
                "tox.ini",
                "[tox]\nenvlist = py{310,311,py310,py311}\n",
                "[tox]\nenvlist = py{311,py311}\n",
                [],
            ),
            # The minimum of another package is none of Python.
            (
                "pyproject.toml",
                '[x]\na = ["PyYAML>=3.10", "pycryptodomex >= 3.10,<4"]\nbasepython = "py310"\n',
                None,
                [("line 3", "mentions Python 3.10")],
            ),
            # A comment goes with the classifier that it is about.
            (
                "pyproject.toml",
                '[project]\nclassifiers = [\n  # until 3.10\n  "Programming Language :: Python ::'
                ' 3.10",\n  # until 3.11\n  "Programming Language :: Python :: 3.11",\n]\n',
                "[project]\nclassifiers = [\n"
                '  # until 3.11\n  "Programming Language :: Python :: 3.11",\n]\n',
                [],
            ),
        ],
    )
    def test_of_python(
        self, path: str, text: str, expected: str | None, left: list[tuple[str, str]]
    ) -> None:
        assert after(path, text, self.UP) == (text if expected is None else expected)
        self.said(rewritten(path, text, self.UP), left)

    @staticmethod
    def said(outcome: Rewritten | Unsatisfiable, expected: list[tuple[str, str]]) -> None:
        assert isinstance(outcome, Rewritten)
        pairs = zip(outcome.left, expected, strict=True)
        assert all(s.place == place and words in s.because for s, (place, words) in pairs)


class TestAReadme:
    def test_badges_and_their_words_follow(self) -> None:
        text = (
            "# A\n![Python 3.9+](https://img.shields.io/badge/python-3.9%2B-blue) since 3.9\n"
            "[![v](https://img.shields.io/badge/numpy-%3E%3D1.22-green.svg)](x)\n"
            "![3.9](https://img.shields.io/badge/python-3.9-blue)\n"
        )
        moved = after("README.md", text, python("3.9", "3.10"))
        assert moved == text.replace("[Python 3.9+]", "[Python 3.10+]").replace(
            "python-3.9%2B", "python-3.10%2B"
        )
        assert after("README.md", text, numpy("1.22", "2.0")) == text.replace("D1.22-", "D2.0-")

    def test_alternative_text_of_rst_follows(self) -> None:
        text = (
            ".. image:: https://img.shields.io/badge/Python-3.9+-blue.svg\n"
            "   :target: https://a.example\n   :alt: Python 3.9 or newer\n"
        )
        assert after("README.rst", text, python("3.9", "3.11")) == text.replace("3.9", "3.11")


def test_a_file_that_cannot_follow_names_the_nearest_version_that_it_could() -> None:
    text = '[project]\ndependencies = ["numpy>=1.22,<2"]\n'
    move = numpy("1.22", "2.1")
    assert isinstance(rewritten("pyproject.toml", text, move), Unsatisfiable)
    assert nearest_floor("pyproject.toml", text, move) == Version("1.26")
    tight = text.replace("<2", "<1.23")
    assert nearest_floor("pyproject.toml", tight, move) is None


# Every byte outside of the lists stays, whatever stands around them: a template with the list's
# place is written out before and after.
around = st.lists(
    st.sampled_from(["", "# 3.9 and py39", "x: '3.9'", "  # numpy 1.22", 'name: "a"', "é: ü"]),
    max_size=4,
)
newlines = st.sampled_from(["\n", "\r\n"])
chosen = st.lists(st.sampled_from(KNOWN), min_size=2, unique=True).map(sorted)


def begun(versions: list[Version], move: Move) -> list[Version]:
    """The oracle: what a list of Pythons is from the new floor on."""
    assert move.before is not None
    if move.floor < move.before:
        opened = [v for v in KNOWN if move.floor <= v < move.before]
        return [*opened, *versions] if versions[0] == move.before else versions
    if not any(move.before <= v < move.floor for v in versions):
        return versions
    kept = [v for v in versions if v > move.floor]
    return [move.floor, *kept]


@given(
    around, around, newlines, chosen, st.sampled_from(KNOWN), st.sampled_from(KNOWN), st.booleans()
)
def test_no_other_byte_moves_in_any_style(
    before: list[str],
    behind: list[str],
    newline: str,
    versions: list[Version],
    old: Version,
    new: Version,
    is_descending: bool,
) -> None:
    move = Move(package=None, floor=new, before=old, known=KNOWN)
    wanted = begun(versions, move) if old != new else versions
    if is_descending:
        versions, wanted = versions[::-1], wanted[::-1]
    head = "".join(f"{line}{newline}" for line in before)
    tail = "".join(f"{line}{newline}" for line in behind)

    def flow(listed: list[Version]) -> str:
        values = ", ".join(f'"{version}"' for version in listed)
        return f"{head}m:{newline}  python-version: [{values}]  # 3.9{newline}{tail}"

    def block(listed: list[Version]) -> str:
        values = "".join(f"    - '{version}'{newline}" for version in listed)
        return f"{head}m:{newline}  python-version:{newline}{values}{tail}"

    def tox(listed: list[Version]) -> str:
        values = ",".join(f"{version.major}{version.minor}" for version in listed)
        return f"[a]{newline}x = py39{newline}[tox]{newline}envlist = py{{{values}}}-b{newline}"

    def nox(listed: list[Version]) -> str:
        values = ", ".join(f"'{version}'" for version in listed)
        return f"# é 3.9{newline}PYTHONS = [{values}]{newline}B = '3.9'{newline}"

    def classified(listed: list[Version]) -> str:
        prefix = "Programming Language :: Python :: "
        values = "".join(f'  "{prefix}{version}",{newline}' for version in listed)
        return f"# 3.9{newline}[project]{newline}classifiers = [{newline}{values}]{newline}"

    files = {"ci.yml": flow, "b.yaml": block, "tox.ini": tox, "noxfile.py": nox}
    for path, write in (*files.items(), ("pyproject.toml", classified)):
        result = rewritten(path, write(versions), move)
        assert isinstance(result, Rewritten)
        assert result.text == write(wanted), path


def test_the_past_and_what_tools_wrote_mention_nothing() -> None:
    move = TestWhatIsKnownToBeAVersion.UP
    assert [*mentions("CHANGELOG/2.0.md", "Runs on Python 3.10\n", move)] == []
    named = [*mentions("a.py", "x = 1\nif sys.version_info >= (3, 10):\n", move)]
    assert [s.because for s in named] == ["mentions Python 3.10"]
    long = f"/* python */ {'x' * 2000} 3.10"
    assert [s.place for s in mentions("a.css", f"{long}\n/* python 3.10 */\n", move)] == ["line 2"]


def test_a_folder_stands_for_all_that_state_a_floor(tmp_path: Path) -> None:
    from compat.cli.propose import project_files

    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    stated = ["pyproject.toml", "tox.ini", ".github/workflows/ci.yml", ".readthedocs.yml"]
    for name in (*stated, "requirements.txt"):
        (tmp_path / name).write_text("")
    assert [path.relative_to(tmp_path).as_posix() for path in project_files([tmp_path])] == stated
    # One that the build reads declares the minimums; any other may be a lock.
    (tmp_path / "setup.py").write_text("setup(install_requires=list(open('requirements.txt')))")
    assert tmp_path / "requirements.txt" in project_files([tmp_path])


def added(version: str) -> Move:
    """Python 3.14, beside all that the lists name so far."""
    floor = Version("3.9")
    return Move(package=None, floor=floor, before=floor, known=KNOWN, added=Version(version))


class TestAnAddedPython:
    """Lists that end at the newest Python get the one after it; ranges, tools and badges stay."""

    @pytest.mark.parametrize(
        ("path", "text", "expected"),
        [
            (
                "pyproject.toml",
                '[project]\nrequires-python = ">=3.8"\nclassifiers = [\n'
                '  "Programming Language :: Python :: 3.12",\n'
                '  "Programming Language :: Python :: 3.13",  # new\n]\n'
                '[tool.ruff]\ntarget-version = "py39"\n',
                '[project]\nrequires-python = ">=3.8"\nclassifiers = [\n'
                '  "Programming Language :: Python :: 3.12",\n'
                '  "Programming Language :: Python :: 3.13",\n'
                '  "Programming Language :: Python :: 3.14",  # new\n]\n'
                '[tool.ruff]\ntarget-version = "py39"\n',
            ),
            (
                "setup.cfg",
                "[metadata]\nclassifiers =\n"
                "    Programming Language :: Python :: 3.13\n"
                "    Programming Language :: Python :: 3.12\n",
                "[metadata]\nclassifiers =\n"
                "    Programming Language :: Python :: 3.14\n"
                "    Programming Language :: Python :: 3.13\n"
                "    Programming Language :: Python :: 3.12\n",
            ),
            (
                "tox.ini",
                "[tox]\nenvlist = py312, py313\n",
                "[tox]\nenvlist = py312, py313, py314\n",
            ),
            (
                "pyproject.toml",
                "[project]\nclassifiers = [\n"
                '  "Programming Language :: Python :: 3.12",\n\n  # new\n'
                '  "Programming Language :: Python :: 3.13",\n]\n',
                "[project]\nclassifiers = [\n"
                '  "Programming Language :: Python :: 3.12",\n\n  # new\n'
                '  "Programming Language :: Python :: 3.13",\n'
                '  "Programming Language :: Python :: 3.14",\n]\n',
            ),
            ("tox.ini", "[tox]\nenvlist = py{39-313}\n", "[tox]\nenvlist = py{39-314}\n"),
            ("tox.ini", "[tox]\nenv_list = py3{9-13}\n", "[tox]\nenv_list = py3{9-14}\n"),
            (
                "tox.ini",
                "[tox]\nenvlist = py{312,313}-{a,b}\n[gh]\npython =\n    3.13 = py313\n",
                "[tox]\nenvlist = py{312,313,314}-{a,b}\n[gh]\npython =\n"
                "    3.13 = py313\n    3.14 = py314\n",
            ),
            (
                "noxfile.py",
                'PYTHONS = ["3.12", "3.13"]\n',
                'PYTHONS = ["3.12", "3.13", "3.14"]\n',
            ),
            (
                "ci.yml",
                "jobs:\n  a:\n    strategy:\n      matrix:\n        python-version:\n"
                '          - "3.12"\n          - "3.13"\n',
                "jobs:\n  a:\n    strategy:\n      matrix:\n        python-version:\n"
                '          - "3.12"\n          - "3.13"\n          - "3.14"\n',
            ),
        ],
    )
    def test_comes_beside_the_newest(self, path: str, text: str, expected: str) -> None:
        assert after(path, text, added("3.14")) == expected

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            # It ends elsewhere for a reason of its own.
            ("noxfile.py", 'PYTHONS = ["3.11", "3.12"]\n'),
            ("tox.ini", "[tox]\nenvlist = py{39-312}\n"),
            # It names that one already, before it is out.
            ("ci.yml", 'm:\n  python-version: ["3.12", "3.13", "3.14-dev"]\n'),
            # One that stands alone is a choice.
            ("noxfile.py", '@nox.session(python="3.13")\ndef lint(session): pass\n'),
            ("ci.yml", "steps:\n  - with:\n      python-version: '3.13'\n"),
            ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.9"\n'),
            ("setup.py", 'setup(python_requires=">=3.7,<3.14")\n'),
            ("README.md", "![Python 3.9+](https://img.shields.io/badge/python-3.9+-blue)\n"),
        ],
    )
    def test_leaves_all_else_alone(self, path: str, text: str) -> None:
        outcome = rewritten(path, text, added("3.14"))
        assert outcome == Rewritten(text=text)
