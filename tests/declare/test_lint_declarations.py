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


def place(path: Path) -> str:
    """Return a path as a fault writes it: `axes[0].name`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]


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
# A value at a path, which is where the fault stands.
VALUES: dict[str, tuple[Path, Any, str]] = {
    "the folder has another name": (("name",), "dem", "name"),
    "the subject is no axis": (("subject",), "demos", "unknown-axis"),
    "two axes have one short name": (("axes", 2, "short"), "en", "duplicate"),
    "an interpreter release is no final release": (
        ("axes", 0, "releases", 0),
        "3.9.0rc1",
        "bad-version",
    ),
    "an interpreter release names no series": (("axes", 0, "releases", 0), "3", "bad-version"),
    "an interpreter release has an epoch": (("axes", 0, "releases", 0), "1!3.9.1", "bad-version"),
    "no release can be selected": (("axes", 1, "select", "specifier"), ">3,<2", "unsatisfiable"),
    "a condition cannot be met": (("rules", 1, "when", "python"), ">3,<2", "unsatisfiable"),
    "a pin cannot be met": (("rules", 0, "relaxations", 0, "to"), ">3,<2", "unsatisfiable"),
    "a condition is on an unknown axis": (("rules", 1, "when", "engin"), "moved", "unknown-axis"),
    "the interpreter is moved": (("rules", 0, "when", "python"), "moved", "meaningless"),
    "the subject is moved": (("rules", 0, "when", "demo"), "moved", "meaningless"),
    "a condition holds for no series": (("rules", 1, "when", "python"), ">=3.12", "unneeded"),
    "a condition names a patch of the interpreter, which no series is": (
        ("rules", 1, "when", "python"),
        "==3.11.7",
        "unneeded",
    ),
    "a rule is expired": (("rules", 0, "until"), TODAY - datetime.timedelta(1), "expired"),
    "requires-python of another package is ignored": (
        ("rules", 0, "relaxations", 1, "package"),
        "other",
        "not-subject",
    ),
    "a relaxation is as of an unknown axis": (
        ("rules", 0, "relaxations", 0, "as_of"),
        "engin",
        "unknown-axis",
    ),
    "a relaxation is as of the interpreter": (
        ("rules", 0, "relaxations", 0, "as_of"),
        "python",
        "unknown-axis",
    ),
    "a floor is of an unknown axis": (("floors", 0, "axis"), "engin", "unknown-axis"),
}
CASES: dict[str, tuple[Document, str, str]] = {
    **{
        when: (changed(MATRIX, path, value), code, place(path))
        for when, (path, value, code) in VALUES.items()
    },
    "the subject is the interpreter": (
        changed(NO_RULES, ("subject",), "python"),
        "unknown-axis",
        "subject",
    ),
    "there is no interpreter": (without(NO_RULES, ("axes", 0)), "interpreter-axis", "axes"),
    "there are two interpreters": (
        added(("axes",), {**MATRIX["axes"][0], "name": "other", "short": "ot"}),
        "interpreter-axis",
        "axes",
    ),
    "two axes have one name": (
        added(("axes",), {"kind": "package", "name": "engine", "short": "x", "package": "x"}),
        "duplicate",
        "axes[3].name",
    ),
    "two axes have one package": (
        changed(MATRIX, ("axes", 1, "package"), "DEMO"),
        "duplicate",
        "axes[2].package",
    ),
    "a series stands twice, once with its patch": (
        added(("axes", 0, "releases"), "3.10"),
        "duplicate",
        "axes[0].releases[3]",
    ),
    "a series stands twice": (
        added(("axes", 0, "releases"), "3.10.2"),
        "duplicate",
        "axes[0].releases[3]",
    ),
    "an unpublished state declares an unknown axis": (
        changed(
            MATRIX,
            ("unpublished",),
            [{"state": "a tag", "because": "never built", "when": {"pythn": ">=3.9"}}],
        ),
        "unknown-axis",
        "unpublished[0].when.pythn",
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
    ),
    "its own platform is among the others": (
        changed(MATRIX, ("platforms",), ["macos-arm64", "linux-x86_64"]),
        "meaningless",
        "platforms[1]",
    ),
    "a platform is named twice": (
        changed(MATRIX, ("platforms",), ["macos-arm64", "macos-arm64"]),
        "duplicate",
        "platforms[1]",
    ),
    "an exclusion has no conditions": (
        without(MATRIX, ("rules", 1, "when")),
        "excludes-all",
        "rules[1].when",
    ),
    "two rules have one name": (
        added(("rules",), {**RULE, "name": "known-crash"}),
        "duplicate",
        "rules[2].name",
    ),
    "two exclusions are the same": (
        added(("rules",), {**RULE, "when": MATRIX["rules"][1]["when"]}),
        "unneeded",
        "rules[2]",
    ),
    "two relaxing rules are the same": (
        added(("rules",), {**RELAX, "relaxations": RELAX["relaxations"][::-1]}),
        "unneeded",
        "rules[2]",
    ),
    "a package is relaxed twice": (
        added(("rules", 0, "relaxations"), {"package": "Companion", "to": "any"}),
        "duplicate",
        "rules[0].relaxations[2].package",
    ),
    "an axis has two floors": (
        added(("floors",), MATRIX["floors"][0]),
        "duplicate",
        "floors[1].axis",
    ),
    "a floor is of the subject": (
        added(("floors",), {"axis": "demo", "at": "1.0", "because": "it was so once"}),
        "subject-floor",
        "floors[1].axis",
    ),
    "a floor is no series of the interpreter": (
        added(("floors",), {"axis": "python", "at": "3.8", "because": "it was so once"}),
        "unknown-series",
        "floors[1].at",
    ),
    "a requirement names the subject": (
        added(("requirements",), "Demo[fast]>=1"),
        "coordinate-package",
        "requirements[1]",
    ),
    "the suite requires an axis's package": (
        added(("suite", "requirements"), "demo_engine"),
        "coordinate-package",
        "suite.requirements[1]",
    ),
}
# What a fault tells beside its place, once for each kind.
TOLD = {
    "the folder has another name": "'dem' is not the name of the matrix's folder; allowed: demo",
    "the subject is no axis": "allowed: demo, engine; did you mean 'demo'?",
    "there are two interpreters": "has 2 axes",
    "two axes have one name": "'engine' stands at axes[1].name already",
    "an interpreter release names no series": "series of Python such as '3.11'",
    "a series stands twice": "'3.10' stands at axes[0].releases[1]",
    "no release can be selected": "<2,>3",
    "a fault of the release holds in some of its combinations": "every combination",
    "its own platform is among the others": "is the matrix's own platform",
    "a condition holds for no series": "3.9, 3.10, 3.11",
    "two relaxing rules are the same": "'engine-moved'",
    "a rule is expired": "after 2026-05-31",
    "a floor is of the subject": "(delete the floor; allowed: engine, python)",
    "a floor is no series of the interpreter": "allowed: 3.9, 3.10, 3.11",
    "a requirement names the subject": "axis 'demo'",
}


@pytest.mark.parametrize("when", CASES)
def test_it_is_a_fault_of_a_matrix_when(when: str) -> None:
    document, code, path = CASES[when]
    (fault,) = matrix_faults(document)
    assert (fault.code, fault.path) == (code, f"m: {path}")
    assert TOLD.get(when, "") in fault.line()


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


# A value at a path, which is where the fault stands.
POLICY_VALUES: dict[str, tuple[Path, Any, str]] = {
    "a window is of an unknown axis": (("windows", 0, "axis"), "engin", "unknown-axis"),
    "a hold is of an unknown axis": (("holds", 0, "axis"), "engin", "unknown-axis"),
    "a bad release is of an unknown axis": (("known_bad", 0, "axis"), "engin", "unknown-axis"),
    "a hold is expired": (("holds", 0, "until"), TODAY - datetime.timedelta(1), "expired"),
    "a hold has no floor to hold": (("holds", 0, "axis"), "demo", "dead-hold"),
    "a window has no floor to move": (("windows", 0, "axis"), "demo", "dead-window"),
}
POLICY_CASES: dict[str, tuple[Document, str, str]] = {
    **{
        when: (changed(POLICY, path, value), code, place(path))
        for when, (path, value, code) in POLICY_VALUES.items()
    },
    "an axis has two windows": (
        changed(POLICY, ("windows",), POLICY["windows"] * 2),
        "duplicate",
        "windows[1].axis",
    ),
    "a hold stands twice": (
        changed(POLICY, ("holds",), POLICY["holds"] * 2),
        "duplicate",
        "holds[1]",
    ),
    "a bad release stands twice": (
        changed(POLICY, ("known_bad",), POLICY["known_bad"] * 2),
        "duplicate",
        "known_bad[1]",
    ),
    "a window asks for the end of life of a package": (
        changed(
            POLICY,
            ("windows", 0),
            {"axis": "engine", "because": "upstream says so", "end_of_life": True},
        ),
        "no-end-of-life",
        "windows[0].end_of_life",
    ),
}
# What a fault tells beside its place, once for each kind.
POLICY_TOLD = {
    "a window is of an unknown axis": "did you mean 'engine'?",
    "a hold is of an unknown axis": "allowed: demo, engine, python",
    "an axis has two windows": "windows[0].axis",
    "a hold is expired": "after 2026-05-31",
    "a hold has no floor to hold": "declares no floor of axis 'demo'",
}


@pytest.mark.parametrize("when", POLICY_CASES)
def test_it_is_a_fault_of_a_policy_when(when: str) -> None:
    document, code, path = POLICY_CASES[when]
    (fault,) = policy_faults(document)
    assert (fault.code, fault.path) == (code, f"p: {path}")
    assert POLICY_TOLD.get(when, "") in fault.line()


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
