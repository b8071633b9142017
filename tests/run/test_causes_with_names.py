"""What a failure names, and where it happened: texts of real cells, each with the thing at fault
and the place.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_classify import GOOD, but, ran

from compat.results.judge import judged, record_of
from compat.run.classify import classify
from compat.run.evidence import Raised
from compat.run.outcome import (
    CAUSES,
    EXCEPTIONS,
    STAGES,
    Failed,
    Passed,
    brief,
    match_signature,
    parse_outcome,
)

# Parts of labels and of escapes come up often, so that a wrong escape is found.
PARTS = st.lists(
    st.sampled_from(["; by ", "; at ", ";", "\\", " by ", " at ", "(", ")", "x"])
    | st.text(max_size=5)
).map("".join)
OUTCOMES = st.just(Passed()) | st.builds(
    Failed,
    stage=st.sampled_from(STAGES),
    cause=st.sampled_from(CAUSES),
    subject=PARTS,
    by=PARTS,
    at=PARTS,
)
# From pandas 1.5.3 and 2.0.3, Flask 2.0.3, Flask 2.2.5 and Jinja2 2.11.3, each in a cell with a
# newer partner.
REAL = [
    (
        "ValueError",
        (
            "numpy.dtype size changed, may indicate binary incompatibility. Expected 96 "
            "from C header, got 88 from PyObject"
        ),
        "binary-incompatible",
        "numpy",
    ),
    (
        "ValueError",
        "numpy.ufunc has the wrong size, try recompiling. Expected 192, got 216",
        "binary-incompatible",
        "numpy",
    ),
    (
        "ImportError",
        "numpy.core.multiarray failed to import",
        "binary-incompatible",
        "numpy",
    ),
    (
        "ImportError",
        "numpy._core.multiarray failed to import",
        "binary-incompatible",
        "numpy",
    ),
    (
        "ImportError",
        "A module that was compiled using NumPy 1.x cannot be run in",
        "binary-incompatible",
        "numpy",
    ),
    (
        "AttributeError",
        "_ARRAY_API not found",
        "binary-incompatible",
        "numpy",
    ),
    (
        "RuntimeError",
        "module compiled against API version 0xe but this version of numpy is 0xd",
        "binary-incompatible",
        "numpy",
    ),
    (
        "ImportError",
        (
            "/tmp/c7/venv/lib/python3.9/site-packages/_demo.cpython-39-x86_64-linux-gnu.so:"
            " undefined symbol: _ZN4demo"
        ),
        "binary-incompatible",
        "_demo",
    ),
    (
        "NotFoundError",
        "/tmp/c7/venv/lib/python3.9/site-packages/demo_text/ops/_k.so: undefined symbol: _ZN4demo",
        "binary-incompatible",
        "demo_text",
    ),
    (
        "ImportError",
        (
            "cannot import name 'url_quote' from 'werkzeug.urls'"
            " (/tmp/c/site-packages/werkzeug/urls.py)"
        ),
        "missing-attribute",
        "werkzeug.urls.url_quote",
    ),
    (
        "ImportError",
        (
            "cannot import name 'a' from partially initialized module 'b.c' (most likely "
            "due to a circular import) (/tmp/b/c.py)"
        ),
        "missing-attribute",
        "b.c.a",
    ),
    (
        "ImportError",
        "cannot import name 'a'",
        "missing-attribute",
        "a",
    ),
    (
        "AttributeError",
        "module 'werkzeug' has no attribute '__version__'",
        "missing-attribute",
        "werkzeug.__version__",
    ),
    (
        "AttributeError",
        (
            "partially initialized module 'a.b' has no attribute 'c' (most likely due to a circular"
            " import)"
        ),
        "missing-attribute",
        "a.b.c",
    ),
    (
        "AttributeError",
        "type object 'Model' has no attribute 'dict'",
        "missing-attribute",
        "Model.dict",
    ),
    (
        "AttributeError",
        "'Model' object has no attribute 'dict'",
        "missing-attribute",
        "Model.dict",
    ),
    (
        "AttributeError",
        "`np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.",
        "missing-attribute",
        "np.float_",
    ),
]


@given(OUTCOMES)
def test_an_outcome_with_a_thing_and_a_place_parses_back(outcome: Passed | Failed) -> None:
    assert parse_outcome(str(outcome)) == outcome


@pytest.mark.parametrize(
    "text",
    [
        "import-fail:type-error(demo/types.py:12)",
        "test-fail:assertion(learning.fed-prox)",
        "test-fail:cancelled(test_privacy.py::test_private[a, (b); c\\d])",
        "lock-fail:conflict",
    ],
)
def test_an_outcome_from_before_there_were_labels_means_what_it_meant(text: str) -> None:
    outcome = parse_outcome(text)
    assert str(outcome) == text
    assert isinstance(outcome, Failed)
    assert (outcome.by, outcome.at) == ("", "")
    assert outcome.subject == text.partition("(")[2].removesuffix(")")


@pytest.mark.parametrize(
    ("kind", "message", "cause", "thing"), REAL, ids=[f"{n}-{r[3]}" for n, r in enumerate(REAL)]
)
def test_an_exception_names_what_is_missing_or_incompatible(
    kind: str, message: str, cause: str, thing: str
) -> None:
    assert match_signature(EXCEPTIONS, f"{kind}: {message}") == (cause, thing)
    raised = Raised(type=kind, message=message, where="dep/core.py:3")
    at_import = classify(but(imported=raised))
    assert isinstance(at_import, Failed)
    assert str(at_import) == f"import-fail:{cause}({thing}; at dep/core.py:3)"
    in_test = classify(but(tests=(ran("a"), ran("b", "failed", raised))))
    assert isinstance(in_test, Failed)
    assert str(in_test) == f"test-fail:{cause}(b; by {thing}; at dep/core.py:3)"
    for outcome in (at_import, in_test):
        assert (outcome.thing, outcome.place) == (thing, "dep/core.py:3")


def test_a_failure_without_a_thing_has_a_place_all_the_same() -> None:
    raised = Raised(type="TypeError", message="no", where="dep/core.py:3")
    at_import, in_test = (
        classify(but(imported=raised)),
        classify(but(tests=(ran("a"), ran("b", "failed", raised)))),
    )
    assert isinstance(at_import, Failed)
    assert isinstance(in_test, Failed)
    assert (at_import.subject, at_import.place, at_import.thing) == (
        "dep/core.py:3",
        "dep/core.py:3",
        "",
    )
    assert (in_test.subject, in_test.place, in_test.thing) == ("b", "dep/core.py:3", "")


def test_each_failed_capability_names_its_thing_and_its_place() -> None:
    raised = Raised(
        type="AttributeError",
        message="module 'numpy' has no attribute 'bool' (why?)",
        where="dep/core.py:3",
    )
    wrong = Raised(type="AssertionError", message="(1) != (2)", where="test_x.py:9")
    tests = (ran("a", "failed", wrong), ran("b", "failed", raised), ran("c"))
    found = record_of([judged(but(tests=tests, collected=3))], tool="made").capabilities
    assert [one.failed for one in found] == [
        Failed(stage="test", cause="assertion", subject="a", at="test_x.py:9"),
        Failed(
            stage="test",
            cause="missing-attribute",
            subject="b",
            by="numpy.bool",
            at="dep/core.py:3",
        ),
        None,
    ]


def test_runs_that_differ_by_a_place_only_are_equal_in_brief() -> None:
    before = Failed(stage="test", cause="assertion", subject="b")
    after = Failed(stage="test", cause="assertion", subject="b", at="test_x.py:9")
    assert brief(before) == brief(after)
    assert brief(Passed()) == Passed()
    assert classify(GOOD) == Passed()
