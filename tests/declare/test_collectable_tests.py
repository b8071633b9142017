"""The tests that pytest has to collect from a suite are read from its files; what could be left out
is not named.
"""

import pytest

from compat.declare.capabilities import collectable_tests

PLAIN = """
import pytest

def test_one():
    pass

async def test_two():
    pass

@pytest.mark.parametrize("x", [1, 2])
def test_three(x):
    pass

def helper():
    pass

class TestClass:
    def test_inner(self):
        pass

    def other(self):
        pass
"""


def test_plain_tests_are_named_as_pytest_names_them() -> None:
    tests = collectable_tests(
        {"test_a.py": PLAIN, "helpers.py": PLAIN, "folder/b_test.py": "def test_b(): pass"}
    )
    names = {"test_one", "test_two", "test_three", "TestClass::test_inner"}
    assert tests == {f"test_a.py::{name}" for name in names} | {"folder/b_test.py::test_b"}


@pytest.mark.parametrize(
    "text",
    [
        "if True:\n    def test_a(): pass",
        "@decorated\ndef test_a(): pass",
        "import pytest\n@pytest.fixture\ndef test_a(): pass",
        "def test_a(): pass\ndel test_a",
        "class TestA(Base):\n    def test_a(self): pass",
        "class TestA:\n    def __init__(self): pass\n    def test_a(self): pass",
        "import pytest\npytest.importorskip('x')\ndef test_a(): pass",
        "__test__ = False\ndef test_a(): pass",
        "def (",
        "\0",
    ],
)
def test_what_could_be_left_out_is_not_named(text: str) -> None:
    assert collectable_tests({"test_a.py": text}) == frozenset()


@pytest.mark.parametrize(
    "line",
    [
        "addopts = -k green",
        "addopts = -q -m quick",
        "addopts = -xq",
        "python_files = check_*.py",
        "addopts = --lf",
    ],
)
def test_a_suite_whose_settings_choose_promises_nothing(line: str) -> None:
    assert (
        collectable_tests({"test_a.py": PLAIN, "pytest.ini": f"[pytest]\n{line}\n"}) == frozenset()
    )


@pytest.mark.parametrize(
    "line", ["addopts = -p no:typeguard --strict-markers", "markers =\n    quick: -- not slow"]
)
def test_settings_that_choose_nothing_change_nothing(line: str) -> None:
    assert collectable_tests({"test_a.py": PLAIN, "pytest.ini": f"[pytest]\n{line}\n"})


def test_a_hook_that_chooses_is_taken_at_its_word() -> None:
    texts = {"test_a.py": PLAIN, "conftest.py": "collect_ignore = ['test_a.py']"}
    assert collectable_tests(texts) == frozenset()
