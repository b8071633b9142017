"""Floors are raised and lowered in texts of every kind, and no other byte moves."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.parsing import toml_document as parsed_toml
from compat.errors import DeclarationError, UsageError
from compat.rewrite.file import rewritten
from compat.rewrite.ranges import Move, Rewritten, Unsatisfiable, with_floor
from compat.rewrite.toml_values import rewritten_matrix

GRID = [
    Version(f"{major}.{minor}.{patch}")
    for major in range(5)
    for minor in range(7)
    for patch in range(3)
]


def move(package: str | None, floor: str) -> Move:
    return Move(package=package, floor=Version(floor))


def changed(path: str, text: str, package: str | None, floor: str) -> Rewritten:
    result = rewritten(path, text, move(package, floor))
    assert isinstance(result, Rewritten)
    return result


def read(text: str) -> dict[str, Any]:
    return parsed_toml(text.encode(), "text")


class TestARange:
    @pytest.mark.parametrize(
        ("before", "floor", "after"),
        [
            (">=2.8,<2.12", "2.9", ">=2.9,<2.12"),
            (">=2.8,<2.12", "2.7", ">=2.7,<2.12"),
            ("<2.12,>=2.8", "2.9", "<2.12,>=2.9"),
            (" >= 2.8 , < 2.12 ", "2.9", " >= 2.9 , < 2.12 "),
            (">2.7", "2.9", ">=2.9"),
            (">2.8", "2.8", ">=2.8"),
            (">=2.8.0", "2.8", ">=2.8.0"),
            ("~=2.8", "2.9", "~=2.9"),
            ("~=2.8", "2.9.1", ">=2.9.1,<3"),
            ("~=2.8", "1.5", ">=1.5,<3"),
            ("~=2.8.1", "2.8", "~=2.8.0"),
            ("~=2.8.1, !=2.8.3", "2.7.1", ">=2.7.1, <2.9, !=2.8.3"),
            ("~=1!2.8", "1!2.9", "~=1!2.9"),
            ("==2.8.*", "2.7", ">=2.7,<2.9"),
            ("==2.8.*", "2.8.3", ">=2.8.3,<2.9"),
            ("==2.14.1", "2.12", ">=2.12,<=2.14.1"),
            ("==2.14.1", "2.14.1", "==2.14.1"),
            ("", "1.20", ">=1.20"),
            ("<2", "1.20", ">=1.20,<2"),
            ("!=1.19.1, <2", "1.20", ">=1.20, !=1.19.1, <2"),
            (">=1.16,!=1.16.0", "1.15", ">=1.15,!=1.16.0"),
            (">=2.8,>=2.7", "2.9", ">=2.9,>=2.7"),
            (">=2.8,>=2.7", "2.6", ">=2.6,>=2.6"),
            (">=2.8,~=2.8", "2.9", ">=2.9,~=2.8"),
        ],
    )
    def test_gets_another_lower_bound_and_keeps_the_rest(
        self, before: str, floor: str, after: str
    ) -> None:
        assert with_floor(before, Version(floor)) == after

    @pytest.mark.parametrize(
        ("before", "floor"),
        [
            (">=2.8,<2.9", "2.9"),
            ("~=2.8", "3.1"),
            ("==2.8.*", "2.9"),
            ("==2.8.0", "2.9"),
            (">=2.7,!=2.8.*,<2.9", "2.8"),
            (">=2.9,!=2.8.1", "2.8.1"),
            (">=2.9,!=2.8.*", "2.8"),
        ],
    )
    def test_that_would_admit_nothing_or_not_the_floor_is_a_value_and_no_text(
        self, before: str, floor: str
    ) -> None:
        result = rewritten("requirements.txt", f"numpy{before}\n", move("numpy", floor))
        assert isinstance(result, Unsatisfiable)
        assert result.text == f"numpy{before}"
        assert result.because

    def test_has_no_floor_with_a_local_part(self) -> None:
        with pytest.raises(ValueError, match="local"):
            move("torch", "2.0+cpu")


versions = st.builds("{}.{}".format, st.integers(0, 4), st.integers(0, 6)) | st.builds(
    "{}.{}.{}".format, st.integers(0, 4), st.integers(0, 6), st.integers(0, 2)
)
spaces = st.sampled_from(["", " ", "  "])
lower = st.builds(
    "{}{}{}".format, st.sampled_from([">=", ">", "~=", "=="]), spaces, versions
) | versions.map("=={}.*".format)
others = st.builds(
    "{}{}{}".format, st.sampled_from(["<", "<=", "!="]), spaces, versions
) | versions.map("!={}.*".format)


@st.composite
def specifiers(draw: st.DrawFn) -> str:
    parts = draw(st.lists(lower, max_size=2)) + draw(st.lists(others, max_size=2))
    return draw(st.sampled_from([",", ", ", " , "])).join(draw(st.permutations(parts)))


def bound_of(specifier: str) -> Version:
    """The lowest version that the lower clauses alone admit, on the grid."""
    clauses = [part for part in SpecifierSet(specifier) if part.operator in (">=", ">", "~=", "==")]
    admitted = [version for version in GRID if all(_above(version, clause) for clause in clauses)]
    return min(admitted, default=Version("99"))


def _above(version: Version, clause: object) -> bool:
    named = Version(clause.version.removesuffix(".*"))
    return version > named if clause.operator == ">" else version >= named


class TestLawsOfARange:
    @given(specifiers(), versions)
    def test_the_second_time_changes_nothing(self, specifier: str, floor: str) -> None:
        once = with_floor(specifier, Version(floor))
        assert with_floor(once, Version(floor)) == once

    @given(specifiers(), versions)
    def test_nothing_below_the_floor_is_admitted_and_nothing_above_the_old_one_is_lost_or_won(
        self, specifier: str, floor: str
    ) -> None:
        before, after = SpecifierSet(specifier), SpecifierSet(with_floor(specifier, Version(floor)))
        old = bound_of(specifier)
        for version in GRID:
            if version < Version(floor):
                assert version not in after
            elif version >= old:
                assert (version in after) is (version in before)

    @given(versions, versions, versions)
    def test_between_a_lower_floor_and_the_old_one_only_what_is_excluded_is_missing(
        self, low: str, high: str, excluded: str
    ) -> None:
        low, high = sorted([low, high], key=Version)
        after = SpecifierSet(with_floor(f">={high},!={excluded},<9", Version(low)))
        for version in GRID:
            assert (version in after) is (version >= Version(low) and version != Version(excluded))

    @given(versions, versions, spaces, st.lists(others, max_size=2))
    def test_there_and_back_is_where_it_began(
        self, here: str, there: str, space: str, rest: list[str]
    ) -> None:
        specifier = ",".join([f">={space}{here}", *rest])
        gone = with_floor(specifier, Version(there))
        assert with_floor(gone, Version(here)) == (
            specifier if Version(here) != Version(there) else gone
        )


PYPROJECT = """\
# The build\r
[project]\r
name = "mine"\r
requires-python = '>=3.9'   # why not\r
dependencies = [\r
  "numpy >= 1.21 ; python_version < '3.11'",  # old\r
  'Numpy[x,y]>=1.23.2,<2;python_version>="3.11"',\r
\r
  "other>=1", \"\"\"numpy ~= 1.21\"\"\",\r
]\r
dynamic = ["version"]\r
[project.optional-dependencies]\r
gpu = ["numpy", "mine[test]"]\r
url = [ "numpy @ https://example.org/numpy.whl" ]\r
[dependency-groups]\r
lint = ["ruff"]\r
dev = [{include-group = "lint"}, "NUMPY>=1.21,!=1.22.0"]"""


class TestAPyproject:
    def test_is_raised_wherever_the_package_stands_and_nowhere_else(self) -> None:
        result = changed("a/pyproject.toml", PYPROJECT, "numpy", "1.22")
        expected = PYPROJECT.replace("numpy >= 1.21 ;", "numpy >= 1.22 ;").replace(
            "numpy ~= 1.21", "numpy ~= 1.22"
        )
        assert result.text == expected.replace("NUMPY>=1.21", "NUMPY>=1.22")

    def test_says_what_it_left_alone(self) -> None:
        left = {
            item.place: item.because
            for item in changed("pyproject.toml", PYPROJECT, "numpy", "1.22").left
        }
        assert set(left) == {
            "project.optional-dependencies.gpu[0]",
            "project.optional-dependencies.url[0]",
        }
        assert "direct reference" in left["project.optional-dependencies.url[0]"]

    def test_a_higher_bound_elsewhere_has_its_own_reason_and_stays_when_the_floor_goes_down(
        self,
    ) -> None:
        result = changed("pyproject.toml", PYPROJECT, "numpy", "1.20")
        assert result.text.count("1.20") == 3
        assert ">=1.23.2,<2" in result.text

    def test_moves_the_floor_of_python(self) -> None:
        result = changed("pyproject.toml", PYPROJECT, None, "3.10")
        assert result.text == PYPROJECT.replace("'>=3.9' ", "'>=3.10' ")

    def test_without_the_package_is_the_same_text(self) -> None:
        assert changed("pyproject.toml", PYPROJECT, "absent", "2") == Rewritten(text=PYPROJECT)

    def test_a_pin_below_the_new_floor_stops_the_whole_move(self) -> None:
        text = '[project]\ndependencies = ["a>=1"]\n[dependency-groups]\ntest = ["a==1.5"]\n'
        result = rewritten("pyproject.toml", text, move("a", "2"))
        assert isinstance(result, Unsatisfiable)
        assert result.place == "dependency-groups.test[0]"

    def test_the_ranges_of_poetry_keep_their_grammar(self) -> None:
        text = (
            '[tool.poetry.dependencies]\npython = "^3.9"\na_b = {version = "^1.2", extras = []}'
            '\nc = "^1 || ^2"\n[tool.poetry.group.dev.dependencies]\n'
            'A-B = ">=1.3, <2"\nd = "~1.2"\n'
        )
        for package, floor, pairs in (
            (None, "3.10", ['"^3.9"', '"^3.10"']),
            ("a-b", "1.4", ['"^1.2"', '"^1.4"', '">=1.3, <2"', '">=1.4, <2"']),
            ("d", "1.2.5", ['"~1.2"', '">=1.2.5,<1.3"']),
        ):
            wanted = text
            for before, after in zip(pairs[::2], pairs[1::2], strict=True):
                wanted = wanted.replace(before, after)
            assert changed("pyproject.toml", text, package, floor).text == wanted
        assert [each.text for each in changed("pyproject.toml", text, "c", "2").left] == [
            "^1 || ^2"
        ]
        assert isinstance(rewritten("pyproject.toml", text, move("d", "1.3")), Unsatisfiable)

    def test_tables_that_are_torn_apart_and_dotted_keys_are_found(self) -> None:
        text = '[project]\nrequires-python=">=3.8"\n[tool.x]\ny=1\n'
        text += '[project.optional-dependencies]\nz=["a>=1"]\n'
        assert changed("pyproject.toml", text, None, "3.9").text == text.replace("3.8", "3.9")
        assert changed("pyproject.toml", text, "a", "2").text == text.replace("a>=1", "a>=2")
        dotted = 'project.requires-python = ">=3.8"\nproject.dependencies = ["a"]'
        assert changed("pyproject.toml", dotted, None, "3.9").text == dotted.replace("3.8", "3.9")

    @pytest.mark.parametrize("text", ["project = [", "\x00", '[project]\nname = "a"\nname = "b"\n'])
    def test_that_is_no_toml_is_refused_in_one_line(self, text: str) -> None:
        with pytest.raises(DeclarationError) as refusal:
            rewritten("pyproject.toml", text, move("a", "2"))
        assert "\n" not in str(refusal.value)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "project = 3",
            "[project]\ndependencies = 'a>=1'",
            "[project]\ndependencies=[1]",
            "tool = 1",
        ],
    )
    def test_of_another_shape_is_left_as_it_is(self, text: str) -> None:
        assert changed("pyproject.toml", text, "a", "2").text == text
        assert changed("pyproject.toml", text, None, "2").text == text


names = st.sampled_from(["numpy", "Numpy", "scipy", "num-py", "numpy-extra"])
markers = st.sampled_from(["", " ; python_version < '3.11'", ";os_name=='posix'", " ;extra == 'x'"])
requirements = st.builds(
    "{}{}{}{}{}".format,
    names,
    st.sampled_from(["", "[x]", "[x, y]", " [x]"]),
    spaces,
    specifiers(),
    markers,
)
fillers = st.lists(
    st.sampled_from([" ", "\t", "\n", "# c, 'd', \"e\n", "# numpy>=1\n"]), max_size=3
).map("".join)
quotes = st.sampled_from(['"', '"""'])
newlines = st.sampled_from(["\n", "\r\n"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Requirements, and the text around them: one piece more than there are requirements."""
    items = draw(st.lists(requirements, min_size=1, max_size=6))
    newline = draw(newlines)
    around = [f"[project]\nname = 'x' # {draw(fillers)!r}\ndependencies = [{draw(fillers)}"]
    for _ in items:
        quote = draw(quotes)
        around[-1] += quote
        around.append(f"{quote}{draw(fillers)},{draw(fillers)}")
    around[-1] += draw(st.sampled_from(["]", "]\n", "]\n\n[tool.x]\ny = [1 ,2]   # z\n"]))
    return items, [piece.replace("\n", newline) for piece in around]


def rendered(items: list[str], around: list[str]) -> str:
    return around[0] + "".join(item + piece for item, piece in zip(items, around[1:], strict=True))


def assert_only_items_of_numpy_moved(items: list[str], around: list[str], text: str) -> None:
    """A text has the same pieces around its items, and other packages' items are the same."""
    match = re.fullmatch("(.*)".join(map(re.escape, around)), text)
    assert match is not None
    for before, after in zip(items, match.groups(), strict=True):
        name = re.split(r"[^\w-]", before)[0]
        assert after == before or name.lower() == "numpy"
        # Name, extras and marker stay.
        assert (after[:5], after.partition(";")[1:]) == (before[:5], before.partition(";")[1:])


class TestLawsOfAPyproject:
    @given(documents(), versions)
    def test_every_byte_outside_the_edits_stays(
        self, document: tuple[list[str], list[str]], floor: str
    ) -> None:
        items, around = document
        result = rewritten("pyproject.toml", rendered(items, around), move("numpy", floor))
        if isinstance(result, Unsatisfiable):
            return
        assert_only_items_of_numpy_moved(items, around, result.text)

    @given(documents(), versions)
    def test_the_second_time_changes_nothing(
        self, document: tuple[list[str], list[str]], floor: str
    ) -> None:
        result = rewritten("pyproject.toml", rendered(*document), move("numpy", floor))
        if isinstance(result, Rewritten):
            again = rewritten("pyproject.toml", result.text, move("numpy", floor))
            assert again == Rewritten(text=result.text, left=result.left)

    @given(documents(), versions)
    def test_what_comes_out_parses_and_no_other_package_moved(
        self, document: tuple[list[str], list[str]], floor: str
    ) -> None:
        result = rewritten("pyproject.toml", rendered(*document), move("numpy", floor))
        if isinstance(result, Unsatisfiable):
            return
        after = [Requirement(text) for text in read(result.text)["project"]["dependencies"]]
        for text, requirement in zip(document[0], after, strict=True):
            before = Requirement(text)
            assert (before.name, before.extras, before.marker) == (
                requirement.name,
                requirement.extras,
                requirement.marker,
            )
            assert before.name.lower() == "numpy" or before.specifier == requirement.specifier

    @given(documents(), versions)
    def test_afterwards_the_lowest_bound_is_the_floor(
        self, document: tuple[list[str], list[str]], floor: str
    ) -> None:
        result = rewritten("pyproject.toml", rendered(*document), move("numpy", floor))
        if isinstance(result, Unsatisfiable):
            return
        mine = [
            requirement.specifier
            for requirement in map(Requirement, read(result.text)["project"]["dependencies"])
            if requirement.name.lower() == "numpy"
        ]
        bounds = [bound for bound in map(bounds_named, mine) if bound is not None]
        assert not bounds or min(bounds) == (Version(floor), False)


def bounds_named(specifier: SpecifierSet) -> tuple[Version, bool] | None:
    """The highest of the lower bounds that a specifier names."""
    clauses = [part for part in specifier if part.operator in (">=", ">", "~=", "==")]
    return max(
        ((Version(part.version.removesuffix(".*")), part.operator == ">") for part in clauses),
        default=None,
    )


SETUP = """\
[metadata]
name = mine
description = numpy>=1.0 is wanted

[options]
python_requires = >=3.8, <4
install_requires =
    # numpy>=1.0 in a comment
    numpy >=1.21 ; python_version < "3.11"
    ; another comment numpy>=1.0

    other
tests_require = numpy>=1.0

[options.extras_require]
one = numpy>=1.21; other>=1
test =
  pytest
  NumPy[x]>=1.21
[tool:pytest]
addopts = numpy>=1.21"""


class TestASetupCfg:
    def test_is_raised_where_setuptools_reads_requirements(self) -> None:
        result = changed("setup.cfg", SETUP, "numpy", "1.22")
        assert result.text == (
            SETUP.replace("numpy >=1.21 ;", "numpy >=1.22 ;")
            .replace("one = numpy>=1.21;", "one = numpy>=1.22;")
            .replace("NumPy[x]>=1.21", "NumPy[x]>=1.22")
        )

    def test_moves_the_floor_of_python_and_keeps_line_endings(self) -> None:
        text = SETUP.replace("\n", "\r\n")
        assert changed("setup.cfg", text, None, "3.9").text == text.replace(">=3.8", ">=3.9")

    def test_that_reads_from_another_file_says_so(self) -> None:
        result = changed(
            "setup.cfg", "[options]\ninstall_requires = file: requirements.txt\n", "numpy", "2"
        )
        assert "another file" in result.left[0].because

    def test_with_a_range_over_several_lines_is_left_alone(self) -> None:
        text = "[options]\npython_requires =\n  >=3.8,\n  <4\n"
        assert changed("setup.cfg", text, None, "3.9").text == text
        assert changed("setup.cfg", text, None, "3.9").left

    def test_that_configparser_does_not_read_is_refused(self) -> None:
        with pytest.raises(DeclarationError, match=r"not a valid setup\.cfg"):
            rewritten("setup.cfg", "no header\n", move("a", "2"))

    @given(st.lists(requirements, min_size=1, max_size=5), newlines, versions)
    def test_keeps_every_byte_outside_its_edits(
        self, items: list[str], newline: str, floor: str
    ) -> None:
        items = [item.rstrip() for item in items]
        between = [f"  {newline}   "] * (len(items) - 1)
        around = [f"[options]{newline}install_requires={newline}   ", *between, f"  {newline}x=1"]
        result = rewritten("setup.cfg", rendered(items, around), move("numpy", floor))
        if isinstance(result, Unsatisfiable):
            return
        assert_only_items_of_numpy_moved(items, around, result.text)


REQUIREMENTS = """\
# numpy>=1.0
-r base.txt
-c numpy.txt
-e git+https://example.org/numpy.git#egg=numpy
numpy>=1.21  # numpy>=1.0
Numpy[x] ~= 1.21 ; python_version < "3.11"   # why
numpy_extra>=1
numpy==1.21.0 \\
    --hash=sha256:abc \\
    --hash=sha256:def
numpy \\
  >=1.21
numpy @ https://example.org/numpy.whl
https://example.org/numpy>=1.21"""


class TestARequirementsFile:
    def test_is_raised_line_by_line(self) -> None:
        result = changed("requirements/test.in", REQUIREMENTS, "numpy", "1.22")
        assert result.text == REQUIREMENTS.replace("numpy>=1.21  #", "numpy>=1.22  #").replace(
            "~= 1.21 ;", "~= 1.22 ;"
        )
        assert [item.place for item in result.left] == ["line 8", "line 11", "line 13"]

    def test_has_no_floor_of_python(self) -> None:
        assert changed("requirements.txt", REQUIREMENTS, None, "3.10") == Rewritten(
            text=REQUIREMENTS
        )

    def test_asks_for_one_build_or_for_no_range_at_all_and_is_left_alone(self) -> None:
        for line in ("torch===2.0", "torch==2.0+cpu", "torch>=2.0.*", "torch>=two", "torch>=1 <2"):
            result = changed("requirements.txt", line, "torch", "2.1")
            assert (result.text, len(result.left)) == (line, 1)

    def test_a_file_of_another_name_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"Makefile.*pyproject\.toml"):
            rewritten("Makefile", "", move("a", "2"))


MATRIX = """\
name = "m"   # the name
[[floors]]
axis = "python"
at = '3.9'  # literal
because = \"\"\"\\
two \\
lines\"\"\"

[[floors]]
axis = "tf"
at = "2.14"
because = "it pins"
"""


class TestAMatrix:
    def test_gets_another_floor_for_another_reason(self) -> None:
        text = rewritten_matrix(MATRIX, "tf", Version("2.15"), 'proven "green"')
        assert text == MATRIX.replace('"2.14"', '"2.15"').replace(
            '"it pins"', '"proven \\"green\\""'
        )

    @given(st.text(max_size=80))
    @example("\r\n")
    @example("two\r\nlines")
    def test_takes_any_reason_and_a_second_time_changes_nothing(self, because: str) -> None:
        text = rewritten_matrix(MATRIX, "python", Version("3.10"), because)
        assert read(text)["floors"][0] == {"axis": "python", "at": "3.10", "because": because}
        assert read(text)["floors"][1] == read(MATRIX)["floors"][1]
        assert rewritten_matrix(text, "python", Version("3.10"), because) == text
        assert text.startswith(
            'name = "m"   # the name\n[[floors]]\naxis = "python"\nat = \'3.10\'  # literal\n'
        )

    def test_the_floor_that_it_has_already_changes_nothing(self) -> None:
        assert rewritten_matrix(MATRIX, "tf", Version("2.14.0"), "it pins") == MATRIX

    def test_written_inline_and_with_crlf_is_kept(self) -> None:
        text = 'floors = [ {axis="a", at="1", because="b"} ]\r\n# end'
        assert rewritten_matrix(text, "a", Version("2"), "c") == text.replace('"1"', '"2"').replace(
            '"b"', '"c"'
        )

    def test_without_that_floor_is_refused_with_the_nearest_name(self) -> None:
        with pytest.raises(UsageError, match="python"):
            rewritten_matrix(MATRIX, "pyton", Version("3.10"), "x")


def test_a_move_that_leaves_only_an_excluded_version_admits_nothing() -> None:
    result = rewritten("requirements.txt", "a>=1,!=2,<=2\n", move("a", "2"))
    assert isinstance(result, Unsatisfiable)
    assert result.because == "nothing is left of >=2,!=2,<=2"
