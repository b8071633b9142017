"""A suite's capabilities are read from its source, without importing it."""

from compat.declare.capabilities import described, helper_ids

SUITE = """
import pytest
import not_installed_here

@pytest.mark.quick
@pytest.mark.capability(
    "sum.two",
    title="Sum of two",
    says="Two numbers are added.",
    looks_for=[("lib.add", "lib.plus"), "lib.number"],
    helper="adding.py",
)
def test_a_sum():
    assert True


class TestMore:
    @pytest.mark.capability(id="sum.many")
    def test_many(self):
        pass

@pytest.mark.capability(f"not {1} literal")
def test_unreadable():
    pass

def test_without():
    pass
"""


def test_a_marker_tells_all_that_a_page_needs() -> None:
    _, two = described({"test_sum.py": SUITE})
    assert (two.id, two.title, two.says, two.group) == (
        "sum.two",
        "Sum of two",
        "Two numbers are added.",
        "sum",
    )
    assert two.looks_for == (("lib.add", "lib.plus"), ("lib.number",))
    assert (two.file, two.helper, two.quick) == ("test_sum.py", "adding.py", True)
    assert two.code == "def test_a_sum():\n    assert True\n"
    assert SUITE.splitlines()[two.line - 1] == "def test_a_sum():"


def test_a_marker_tells_which_tests_look_at_a_helper_of_the_suite_alone() -> None:
    own = SUITE.replace('helper="adding.py"', 'helper="adding.py", of="helper"')
    assert helper_ids(described({"test_sum.py": SUITE})) == set()
    assert helper_ids(described({"test_sum.py": own})) == {"sum.two"}


def test_a_bare_marker_has_its_id_for_a_title() -> None:
    many, _ = described({"test_sum.py": SUITE})
    assert (many.id, many.title, many.says, many.quick) == ("sum.many", "sum.many", "", False)


def test_a_file_that_is_not_python_declares_nothing() -> None:
    assert (
        described({"test_a.py": "def (", "test_b.py": "x = '\0'", "notes.py": "1 +" * 50_000}) == ()
    )


def test_the_first_test_of_an_id_speaks_for_it() -> None:
    twice = '@pytest.mark.capability("a", title="{}")\ndef test_a(): pass\n'
    (one,) = described({"test_2.py": twice.format("second"), "test_1.py": twice.format("first")})
    assert one.title == "first"
