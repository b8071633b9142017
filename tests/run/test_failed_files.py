"""When the tests of a file that could not be collected count as failed, and when the whole suite
stays uncollected.
"""

import msgspec
import pytest
from run.test_classify import GOOD, ran

from compat.run.classify import classify
from compat.run.events import with_failed_files
from compat.run.evidence import Evidence, Raised

LOST = Raised(
    type="ImportError",
    message="cannot import name 'later' from 'demo' (demo/__init__.py)",
    where="test_y.py:1",
    of_suite=True,
    file="test_y.py",
)
ASKED = ("test_x.py::test_a", "test_x.py::test_b", "test_y.py::test_c", "test_y.py::T::test_d")


def ended(**changes: object) -> Evidence:
    """A run that went on beside one file that could not be collected, to its end."""
    facts = {"collect_errors": (LOST,), "pytest_exit": 1, "tests": (ran("a"), ran("b"))}
    return msgspec.structs.replace(GOOD, **(facts | changes))


def test_each_test_of_the_file_fails_by_what_it_raised() -> None:
    evidence = with_failed_files(ended(), ASKED)
    assert evidence.collect_errors == ()
    assert evidence.collected == 4
    assert [(trial.test, trial.raised) for trial in evidence.tests if trial.status == "failed"] == [
        ("test_y.py::T::test_d", LOST),
        ("test_y.py::test_c", LOST),
    ]
    assert with_failed_files(evidence, ASKED) == evidence


def test_a_file_of_which_no_test_is_known_fails_itself() -> None:
    evidence = with_failed_files(ended(), ASKED[:2])
    assert [trial.test for trial in evidence.tests if trial.status == "failed"] == ["test_y.py"]


@pytest.mark.parametrize(
    "evidence",
    [
        ended(pytest_exit=None),
        ended(pytest_exit=2),
        ended(collected=None),
        ended(tests=()),
        ended(tests=(ran("a", "failed"), ran("b", "skipped"))),
        ended(tests=(ran("a"),)),
        ended(collect_errors=(LOST, msgspec.structs.replace(LOST, file=""))),
        ended(collect_errors=(msgspec.structs.replace(LOST, file="test_z.py"),)),
    ],
    ids=[
        "died",
        "interrupted",
        "not collected",
        "none ran",
        "none passed",
        "another test lacks",
        "no file",
        "another file",
    ],
)
def test_all_else_stays_uncollected(evidence: Evidence) -> None:
    assert with_failed_files(evidence, ASKED) == evidence
    told = str(classify(evidence))
    assert not told.startswith("pass")
