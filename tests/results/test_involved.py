"""Which packages a failure speaks of, and which of them is in the way of what was asked."""

import pytest

from compat.results.record import involved, involved_in_failure, third_package
from compat.run.outcome import parse_outcome

INSTALLED = ("demo", "dep", "scikit-learn", "demo-extras")
MODULES = {
    "sklearn": "scikit-learn",
    "google": "google",
    "google.protobuf": "protobuf",
    "google.rpc": "googleapis-common-protos",
}


@pytest.mark.parametrize(
    ("outcome", "packages"),
    [
        ("pass", ()),
        ("import-fail:missing-attribute(dep.gone; at demo/core.py:3)", ("dep", "demo")),
        ("import-fail:missing-attribute(Namespace.gone; at demo/core.py:3)", ("demo",)),
        ("import-fail:binary-incompatible(dep; at sklearn/base.pyx:1)", ("dep", "scikit-learn")),
        ("import-fail:type-error(sklearn/base.py:30)", ("scikit-learn",)),
        ("import-fail:type-error(google/auth/x.py:30)", ("google",)),
        ("import-fail:type-error(google/protobuf/descriptor.py:561)", ("protobuf",)),
        (
            "import-fail:missing-attribute(google.protobuf.service; at google/rpc/code_pb2.py:4)",
            ("protobuf", "googleapis-common-protos"),
        ),
        ("import-fail:version-guard(Demo Extras)", ("demo-extras",)),
        ("import-fail:type-error(python3.8/typing.py:149)", ("python",)),
        ("test-fail:missing-attribute(sum; by dep.gone; at demo.py:3)", ("dep", "demo")),
        ("test-fail:assertion(demo.sum)", ()),
        ("install-fail:build(absl-py==0.9.0)", ("absl-py",)),
        ("plan-fail:excluded", ()),
    ],
)
def test_a_failure_speaks_of_what_it_names_and_of_whose_code_it_is(
    outcome: str, packages: tuple[str, ...]
) -> None:
    assert involved(parse_outcome(outcome), INSTALLED, MODULES) == packages


def test_a_refusal_speaks_of_each_package_in_its_sentence() -> None:
    because = (
        "Because tensorflow==2.9.3 depends on Keras>=2.9.0rc0,<2.10.0 and you require"
        " keras[x]==2.8.0"
    )
    assert involved_in_failure("tensorflow==2.9.*", because) == ("tensorflow", "keras")


def test_the_first_package_that_was_not_asked_about_is_in_the_way() -> None:
    asked = frozenset(("demo", "dep"))
    assert third_package(("dep", "third", "fourth"), asked) == "third"
    assert third_package(("dep", "python"), asked) == ""
    assert third_package(("third",), frozenset()) == ""
