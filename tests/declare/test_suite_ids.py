"""The ids under which a suite can report, read without running it."""

import pytest

from compat.declare.capabilities import suite_ids

MARKED = """
from pytest import param
@pytest.mark.capability("a.decorator", title="A")
def test_a(): ...
@pytest.mark.capability("a.class")
class TestAll:
    @pytest.mark.parametrize("x", [param(1, marks=pytest.mark.capability("a.parameter"))])
    async def test_b(self, x): ...
pytestmark = [pytest.mark.capability("a.module"), pytest.mark.quick]
"""


def test_a_marker_gives_its_id_wherever_it_stands() -> None:
    ids = suite_ids({"test_a.py": MARKED})
    assert ids.ids == {"a.decorator", "a.class", "a.parameter", "a.module"}
    assert ids.unreadable == ""


def test_a_test_without_a_marker_has_its_place_as_id() -> None:
    ids = suite_ids({"test_a.py": MARKED, "deep/test_c.py": "def test_c(): ..."})
    assert ids.has("test_a.py::TestAll::test_b[1]")
    assert ids.has("deep/test_c.py::test_c")
    assert not ids.has("test_d.py::test_c")
    assert not ids.has("deep/test_c.py")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("@pytest.mark.capability(name)\ndef test_a(): ...", 1),
        ("x = 1\npytestmark = pytest.mark.capability(f'{x}')", 2),
        ("x = 1\n\nmark = getattr(pytest.mark, x)", 3),
        ("def pytest_itemcollected(item):\n    item.add_marker(mark)", 2),
        ("def pytest_collect_file(file_path, parent): ...", 1),
        ("def test_a(:", 1),
    ],
)
def test_where_only_a_run_can_tell_the_place_is_named_and_every_id_is_possible(
    text: str, line: int
) -> None:
    ids = suite_ids({"test_a.py": text})
    assert ids.unreadable == f"test_a.py:{line}"
    assert ids.has("anything")
