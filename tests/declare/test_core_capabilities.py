"""The core of a suite: which ids and tests the patterns of `[suite] core` name."""

import msgspec
import pytest
from support.world import matrix_of, world

from compat.declare.capabilities import core_findings, core_ids, core_tests, suite_faults

TEXTS = {
    "test_sums.py": """\
import pytest

pytestmark = pytest.mark.capability("sums")


@pytest.mark.capability("sum.plain")
def test_plain():
    pass


@pytest.mark.capability("sum.queue", of="helper")
def test_queue():
    pass


def test_of_the_module():
    pass


@pytest.mark.capability("means")
class TestMeans:
    def test_mean(self):
        pass

    @pytest.mark.capability("means.weighted")
    def test_weighted(self):
        pass
""",
    "test_bare.py": "def test_bare():\n    pass\n",
    "test_made.py": "import pytest\n@pytest.mark.capability(NAME)\ndef test_made():\n    pass\n",
}


def named_tests(*patterns: str) -> set[str]:
    return set(core_tests(core_ids(patterns, TEXTS), TEXTS))


def test_patterns_name_ids_but_not_those_of_helpers() -> None:
    assert core_ids(("sum.*", "means"), TEXTS) == {"sum.plain", "means"}
    assert core_ids((), TEXTS) == frozenset()


def test_a_test_without_a_marker_is_named_by_itself() -> None:
    assert core_ids(("test_bare.py::*",), TEXTS) == {"test_bare.py::test_bare"}
    assert named_tests("test_bare.py::test_bare") == {"test_bare.py::test_bare"}


def test_a_test_reports_under_its_nearest_marker() -> None:
    assert named_tests("means") == {"test_sums.py::TestMeans::test_mean"}
    assert named_tests("means.weighted") == {"test_sums.py::TestMeans::test_weighted"}
    assert named_tests("sums") == {"test_sums.py::test_of_the_module"}


def test_a_test_whose_id_is_no_literal_is_promised_by_nothing() -> None:
    assert "test_made.py::test_made" not in named_tests("*")


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("sum.plan", "did you mean 'sum.plain'?"),
        ("sum.queue", ""),
        ("nothing.*", ""),
    ],
)
def test_a_pattern_that_names_nothing_is_one_finding(pattern: str, hint: str) -> None:
    (finding,) = core_findings(("sum.plain", pattern), TEXTS)
    assert finding.path == ("suite", "core", 1)
    assert finding.message == f"{pattern!r} names no capability of the suite"
    assert finding.hint.startswith(hint)


def test_an_unknown_id_is_a_fault_of_the_declaration_in_one_line() -> None:
    matrix = matrix_of(world("platforms"))
    suite = msgspec.structs.replace(matrix.suite, requirements=("pytest",), core=("gone",))
    (fault,) = suite_faults(
        msgspec.structs.replace(matrix, suite=suite),
        {"test_bare.py": TEXTS["test_bare.py"]},
        "matrices/demo/matrix.toml",
    )
    assert "suite.core[0]: 'gone' names no" in fault.line()
