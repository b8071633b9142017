"""Each lint: a document that triggers exactly it, and the sound document beside it that does
not.
"""

import datetime
from typing import Any

import pytest
from support.documents import MATRIX, POLICY, TODAY, Document, Path, changed, toml, without

from compat.declare.load import decode_matrix, decode_policy, lint_matrix, lint_policy, load
from compat.errors import DeclarationError, Fault

RULE: Document = {
    "name": "a",
    "effect": "exclude",
    "because": "because it is so",
    "when": {"engine": "<2.4"},
}
RELAX: Document = {**MATRIX["rules"][0], "name": "another"}


ISSUE = {"because": "a wrong sign", "capability": "sum", "fault": "release"}


def added(path: Path, entry: Any) -> Document:
    """Return the sound matrix with one more entry in an array."""
    inner: Any = MATRIX
    for part in path:
        inner = inner[part]
    return changed(MATRIX, path, [*inner, entry])


def matrix_faults(document: Document, today: datetime.date = TODAY) -> tuple[Fault, ...]:
    return lint_matrix(decode_matrix(toml(document), "m"), "m", folder="demo", today=today)


def policy_faults(
    document: Document, matrix: Document = MATRIX, today: datetime.date = TODAY
) -> tuple[Fault, ...]:
    return lint_policy(
        decode_policy(toml(document), "p"), decode_matrix(toml(matrix), "m"), "p", today=today
    )


def test_a_sound_matrix_has_no_faults() -> None:
    assert matrix_faults(MATRIX) == ()


def test_a_sound_policy_has_no_faults() -> None:
    assert policy_faults(POLICY) == ()


NO_RULES = without(MATRIX, ("rules",))
CASES: dict[str, tuple[Document, str, str, str]] = {
    "the folder has another name": (
        changed(MATRIX, ("name",), "dem"),
        "name",
        "name",
        "'dem' is not the name of the matrix's folder; allowed: demo",
    ),
    "the subject is no axis": (
        changed(MATRIX, ("subject",), "demos"),
        "unknown-axis",
        "subject",
        "allowed: demo, engine; did you mean 'demo'?",
    ),
    "the subject is the interpreter": (
        changed(NO_RULES, ("subject",), "python"),
        "unknown-axis",
        "subject",
        "'python' is no package axis",
    ),
    "there is no interpreter": (
        without(NO_RULES, ("axes", 0)),
        "interpreter-axis",
        "axes",
        "has 0 axes of kind 'interpreter'",
    ),
    "there are two interpreters": (
        added(("axes",), {**MATRIX["axes"][0], "name": "other", "short": "ot"}),
        "interpreter-axis",
        "axes",
        "has 2 axes",
    ),
    "two axes have one name": (
        added(("axes",), {"kind": "package", "name": "engine", "short": "x", "package": "x"}),
        "duplicate",
        "axes[3].name",
        "'engine' stands at axes[1].name already",
    ),
    "two axes have one short name": (
        changed(MATRIX, ("axes", 2, "short"), "en"),
        "duplicate",
        "axes[2].short",
        "axes[1].short",
    ),
    "two axes have one package": (
        changed(MATRIX, ("axes", 1, "package"), "DEMO"),
        "duplicate",
        "axes[2].package",
        "axes[1].package",
    ),
    "an interpreter release is no final release": (
        changed(MATRIX, ("axes", 0, "releases", 0), "3.9.0rc1"),
        "bad-version",
        "axes[0].releases[0]",
        "'3.9.0rc1'",
    ),
    "an interpreter release names no series": (
        changed(MATRIX, ("axes", 0, "releases", 0), "3"),
        "bad-version",
        "axes[0].releases[0]",
        "not a series of Python such as '3.11', or a final patch such as '3.11.4'",
    ),
    "a series stands twice, once with its patch": (
        added(("axes", 0, "releases"), "3.10"),
        "duplicate",
        "axes[0].releases[3]",
        "'3.10' stands at axes[0].releases[1]",
    ),
    "an interpreter release has an epoch": (
        changed(MATRIX, ("axes", 0, "releases", 0), "1!3.9.1"),
        "bad-version",
        "axes[0].releases[0]",
        "'1!3.9.1'",
    ),
    "a series stands twice": (
        added(("axes", 0, "releases"), "3.10.2"),
        "duplicate",
        "axes[0].releases[3]",
        "'3.10' stands at axes[0].releases[1]",
    ),
    "no release can be selected": (
        changed(MATRIX, ("axes", 1, "select", "specifier"), ">3,<2"),
        "unsatisfiable",
        "axes[1].select.specifier",
        "<2,>3",
    ),
    "a condition cannot be met": (
        changed(MATRIX, ("rules", 1, "when", "python"), ">3,<2"),
        "unsatisfiable",
        "rules[1].when.python",
        "<2,>3",
    ),
    "a pin cannot be met": (
        changed(MATRIX, ("rules", 0, "relaxations", 0, "to"), ">3,<2"),
        "unsatisfiable",
        "rules[0].relaxations[0].to",
        "<2,>3",
    ),
    "a condition is on an unknown axis": (
        changed(MATRIX, ("rules", 1, "when", "engin"), "moved"),
        "unknown-axis",
        "rules[1].when.engin",
        "did you mean 'engine'?",
    ),
    "an unpublished state declares an unknown axis": (
        changed(
            MATRIX,
            ("unpublished",),
            [{"state": "a tag", "because": "never built", "when": {"pythn": ">=3.9"}}],
        ),
        "unknown-axis",
        "unpublished[0].when.pythn",
        "did you mean 'python'?",
    ),
    "a fault of the release holds in some of its combinations": (
        changed(
            MATRIX,
            ("known",),
            [
                {
                    "because": "a wrong sign",
                    "capability": "x",
                    "fault": "release",
                    "when": {"python": ">=3.9"},
                }
            ],
        ),
        "meaningless",
        "known[0].when.python",
        "a fault of the release holds in every combination of a release",
    ),
    "its own platform is among the others": (
        changed(MATRIX, ("platforms",), ["macos-arm64", "linux-x86_64"]),
        "meaningless",
        "platforms[1]",
        "is the matrix's own platform",
    ),
    "a platform is named twice": (
        changed(MATRIX, ("platforms",), ["macos-arm64", "macos-arm64"]),
        "duplicate",
        "platforms[1]",
        "macos-arm64",
    ),
    "the interpreter is moved": (
        changed(MATRIX, ("rules", 0, "when", "python"), "moved"),
        "meaningless",
        "rules[0].when.python",
        "allowed: engine",
    ),
    "the subject is moved": (
        changed(MATRIX, ("rules", 0, "when", "demo"), "moved"),
        "meaningless",
        "rules[0].when.demo",
        "allowed: engine",
    ),
    "a condition holds for no series": (
        changed(MATRIX, ("rules", 1, "when", "python"), ">=3.12"),
        "unneeded",
        "rules[1].when.python",
        "3.9, 3.10, 3.11",
    ),
    "a condition names a patch of the interpreter, which no series is": (
        changed(MATRIX, ("rules", 1, "when", "python"), "==3.11.7"),
        "unneeded",
        "rules[1].when.python",
        "==3.11.7",
    ),
    "an exclusion has no conditions": (
        without(MATRIX, ("rules", 1, "when")),
        "excludes-all",
        "rules[1].when",
        "excludes every cell",
    ),
    "two rules have one name": (
        added(("rules",), {**RULE, "name": "known-crash"}),
        "duplicate",
        "rules[2].name",
        "rules[1].name",
    ),
    "two exclusions are the same": (
        added(("rules",), {**RULE, "when": MATRIX["rules"][1]["when"]}),
        "unneeded",
        "rules[2]",
        "rule 'known-crash'",
    ),
    "two relaxing rules are the same": (
        added(("rules",), {**RELAX, "relaxations": RELAX["relaxations"][::-1]}),
        "unneeded",
        "rules[2]",
        "'engine-moved'",
    ),
    "a rule is expired": (
        changed(MATRIX, ("rules", 0, "until"), TODAY - datetime.timedelta(1)),
        "expired",
        "rules[0].until",
        "after 2026-05-31",
    ),
    "a package is relaxed twice": (
        added(("rules", 0, "relaxations"), {"package": "Companion", "to": "any"}),
        "duplicate",
        "rules[0].relaxations[2].package",
        "rules[0].relaxations[0].package",
    ),
    "requires-python of another package is ignored": (
        changed(MATRIX, ("rules", 0, "relaxations", 1, "package"), "other"),
        "not-subject",
        "rules[0].relaxations[1].package",
        "allowed: demo",
    ),
    "a relaxation is as of an unknown axis": (
        changed(MATRIX, ("rules", 0, "relaxations", 0, "as_of"), "engin"),
        "unknown-axis",
        "rules[0].relaxations[0].as_of",
        "did you mean 'engine'?",
    ),
    "a relaxation is as of the interpreter": (
        changed(MATRIX, ("rules", 0, "relaxations", 0, "as_of"), "python"),
        "unknown-axis",
        "rules[0].relaxations[0].as_of",
        "no package axis",
    ),
    "a floor is of an unknown axis": (
        changed(MATRIX, ("floors", 0, "axis"), "engin"),
        "unknown-axis",
        "floors[0].axis",
        "did you mean 'engine'?",
    ),
    "an axis has two floors": (
        added(("floors",), MATRIX["floors"][0]),
        "duplicate",
        "floors[1].axis",
        "floors[0].axis",
    ),
    "a floor is of the subject": (
        added(("floors",), {"axis": "demo", "at": "1.0", "because": "it was so once"}),
        "subject-floor",
        "floors[1].axis",
        "(delete the floor; allowed: engine, python)",
    ),
    "a floor is no series of the interpreter": (
        added(("floors",), {"axis": "python", "at": "3.8", "because": "it was so once"}),
        "unknown-series",
        "floors[1].at",
        "allowed: 3.9, 3.10, 3.11",
    ),
    "a requirement names the subject": (
        added(("requirements",), "Demo[fast]>=1"),
        "coordinate-package",
        "requirements[1]",
        "axis 'demo'",
    ),
    "the suite requires an axis's package": (
        added(("suite", "requirements"), "demo_engine"),
        "coordinate-package",
        "suite.requirements[1]",
        "axis 'engine'",
    ),
}


@pytest.mark.parametrize(("document", "code", "path", "told"), CASES.values(), ids=CASES)
def test_it_is_a_fault_of_a_matrix_when(
    document: Document, code: str, path: str, told: str
) -> None:
    (fault,) = matrix_faults(document)
    assert (fault.code, fault.path) == (code, f"m: {path}")
    assert told in fault.line()


@pytest.mark.parametrize(
    "specifier",
    [">=3,<3", "==1,==2", ">3,<=3", "==1.*,>=2", "!=0.*,<1,>=0", "~=1.2,<1", "<0", "==1,!=1"],
)
def test_a_contradiction_is_satisfied_by_no_version(specifier: str) -> None:
    (fault,) = matrix_faults(changed(MATRIX, ("axes", 1, "select", "specifier"), specifier))
    assert fault.code == "unsatisfiable"


# The last two admit 0.dev1 only.
@pytest.mark.parametrize(
    "specifier", ["", ">3,<3.0.1", "!=3.*,!=4.*,>3", ">2.9,<3", "!=0,<=0", "!=0,<0.0.0.post1"]
)
def test_a_narrow_specifier_can_be_satisfied(specifier: str) -> None:
    assert matrix_faults(changed(MATRIX, ("axes", 1, "select", "specifier"), specifier)) == ()


def test_a_rule_holds_on_its_last_day() -> None:
    assert matrix_faults(changed(MATRIX, ("rules", 0, "until"), TODAY)) == ()


def test_a_package_whose_requires_python_is_ignored_may_be_relaxed_too() -> None:
    assert matrix_faults(added(("rules", 0, "relaxations"), {"package": "demo", "to": "any"})) == ()


def test_rules_that_relax_differently_under_the_same_conditions_are_both_needed() -> None:
    other = {**RELAX, "relaxations": [{"package": "other", "to": "any"}]}
    assert matrix_faults(added(("rules",), other)) == ()


POLICY_CASES: dict[str, tuple[Document, str, str, str]] = {
    "a window is of an unknown axis": (
        changed(POLICY, ("windows", 0, "axis"), "engin"),
        "unknown-axis",
        "windows[0].axis",
        "did you mean 'engine'?",
    ),
    "a hold is of an unknown axis": (
        changed(POLICY, ("holds", 0, "axis"), "engin"),
        "unknown-axis",
        "holds[0].axis",
        "allowed: demo, engine, python",
    ),
    "a bad release is of an unknown axis": (
        changed(POLICY, ("known_bad", 0, "axis"), "engin"),
        "unknown-axis",
        "known_bad[0].axis",
        "no axis",
    ),
    "an axis has two windows": (
        changed(POLICY, ("windows",), POLICY["windows"] * 2),
        "duplicate",
        "windows[1].axis",
        "windows[0].axis",
    ),
    "a hold stands twice": (
        changed(POLICY, ("holds",), POLICY["holds"] * 2),
        "duplicate",
        "holds[1]",
        "holds[0]",
    ),
    "a bad release stands twice": (
        changed(POLICY, ("known_bad",), POLICY["known_bad"] * 2),
        "duplicate",
        "known_bad[1]",
        "known_bad[0]",
    ),
    "a hold is expired": (
        changed(POLICY, ("holds", 0, "until"), TODAY - datetime.timedelta(1)),
        "expired",
        "holds[0].until",
        "after 2026-05-31",
    ),
    "a hold has no floor to hold": (
        changed(POLICY, ("holds", 0, "axis"), "demo"),
        "dead-hold",
        "holds[0].axis",
        "declares no floor of axis 'demo'",
    ),
    "a window has no floor to move": (
        changed(POLICY, ("windows", 0, "axis"), "demo"),
        "dead-window",
        "windows[0].axis",
        "declares no floor of axis 'demo'",
    ),
    "a window asks for the end of life of a package": (
        changed(
            POLICY,
            ("windows", 0),
            {"axis": "engine", "because": "upstream says so", "end_of_life": True},
        ),
        "no-end-of-life",
        "windows[0].end_of_life",
        "only of interpreters",
    ),
}


@pytest.mark.parametrize(
    ("document", "code", "path", "told"), POLICY_CASES.values(), ids=POLICY_CASES
)
def test_it_is_a_fault_of_a_policy_when(
    document: Document, code: str, path: str, told: str
) -> None:
    (fault,) = policy_faults(document)
    assert (fault.code, fault.path) == (code, f"p: {path}")
    assert told in fault.line()


def test_a_hold_holds_on_its_last_day() -> None:
    assert policy_faults(changed(POLICY, ("holds", 0, "until"), TODAY)) == ()


@pytest.mark.parametrize("at", ["2.5", "2.4"])
def test_a_hold_at_the_floor_or_below_it_is_alive(at: str) -> None:
    assert policy_faults(changed(POLICY, ("holds", 0, "at"), at)) == ()


def loading_faults(matrix: Document, policy: Document | None) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        load(toml(matrix), None if policy is None else toml(policy), folder="demo", today=TODAY)
    return [fault.path for fault in caught.value.faults]


def test_the_faults_of_both_documents_come_together() -> None:
    expired = changed(MATRIX, ("rules", 0, "until"), datetime.date(2020, 1, 1))
    assert loading_faults(expired, changed(POLICY, ("witnesses",), 0)) == [
        "matrices/demo/matrix.toml: rules[0].until",
        "matrices/demo/policy.toml: witnesses",
    ]


def test_a_policy_beside_a_matrix_that_does_not_decode_is_still_decoded() -> None:
    assert loading_faults(
        without(MATRIX, ("title",)), changed(POLICY, ("windows", 0, "axis"), "none")
    ) == ["matrices/demo/matrix.toml: title"]
    assert loading_faults(without(MATRIX, ("title",)), changed(POLICY, ("witnesses",), 0)) == [
        "matrices/demo/matrix.toml: title",
        "matrices/demo/policy.toml: witnesses",
    ]


def test_a_policy_is_looked_at_beside_its_matrix() -> None:
    assert loading_faults(MATRIX, changed(POLICY, ("windows", 0, "axis"), "none")) == [
        "matrices/demo/policy.toml: windows[0].axis"
    ]


def test_a_matrix_needs_no_policy() -> None:
    assert load(toml(MATRIX), None, folder="demo", today=TODAY).policy is None
