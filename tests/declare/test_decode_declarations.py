"""Good declarations become the expected values; bad ones tell every fault at once, with its place
and its remedy.
"""

import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from support.documents import MATRIX, POLICY, Document, Path, changed, toml, without

from compat.declare.load import decode_matrix, decode_policy
from compat.declare.matrix import (
    OUTSIDE,
    Floor,
    Hold,
    InterpreterAxis,
    KnownBad,
    Matrix,
    PackageAxis,
    Policy,
    Relaxation,
    Rule,
    Selector,
    Suite,
    When,
    Window,
    parse_condition,
    parse_pin,
)
from compat.errors import DeclarationError, Fault
from compat.value import encode_hook

WRITTEN_MATRIX = b"""
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 30

[suite]
path = "suite"
requirements = ["pytest>=7"]

[[axes]]
kind = "interpreter"
name = "python"
short = "py"
releases = ["3.10.13", "3.11.7"]

[[axes]]
kind = "package"
name = "engine"
short = "en"
package = "demo-engine"
select = { specifier = ">=2.3", keep = "minor" }

[[axes]]
kind = "package"
name = "demo"
short = "demo"
package = "demo"

[[floors]]
axis = "engine"
at = "2.5"
because = "what the newest demo asks for"

[[rules]]
name = "engine-moved"
effect = "relax"
because = "another engine brings its own companions along"
until = 2027-01-31
when = { engine = "moved", demo = ">=0.2" }
relaxations = [{ package = "companion", to = "any", as_of = "engine" }]
"""

WRITTEN_POLICY = b"""
default_months = 24
cadence = "quarterly"
notice_days = 90
witnesses = 3

[[windows]]
axis = "engine"
months = 18
because = "engines are replaced quickly"

[[holds]]
axis = "engine"
at = "2.7"
because = "a large user cannot follow before winter"
until = 2026-12-31

[[known_bad]]
axis = "engine"
version = "2.6.1"
because = "its wheels lack a library"
link = "https://example.org/bad"
"""


def faults_of(document: Document | bytes, source: str = "matrix.toml") -> tuple[Fault, ...]:
    text = document if isinstance(document, bytes) else toml(document)
    with pytest.raises(DeclarationError) as caught:
        decode_policy(text, source) if source.startswith("policy") else decode_matrix(text, source)
    return caught.value.faults


def only(document: Document | bytes, source: str = "matrix.toml") -> Fault:
    (fault,) = faults_of(document, source)
    return fault


def test_a_good_matrix_decodes() -> None:
    assert decode_matrix(WRITTEN_MATRIX, "matrix.toml") == Matrix(
        name="demo",
        title="Demo",
        subject="demo",
        platform="x86_64-manylinux_2_28",
        margin_days=30,
        suite=Suite(path="suite", requirements=("pytest>=7",)),
        axes=(
            InterpreterAxis(
                name="python", short="py", releases=(Version("3.10.13"), Version("3.11.7"))
            ),
            PackageAxis(
                name="engine",
                short="en",
                package="demo-engine",
                select=Selector(specifier=SpecifierSet(">=2.3"), keep="minor"),
            ),
            PackageAxis(name="demo", short="demo", package="demo"),
        ),
        floors=(Floor(axis="engine", at=Version("2.5"), because="what the newest demo asks for"),),
        rules=(
            Rule(
                name="engine-moved",
                effect="relax",
                because="another engine brings its own companions along",
                until=datetime.date(2027, 1, 31),
                when=When((("demo", SpecifierSet(">=0.2")), ("engine", "moved"))),
                relaxations=(Relaxation(package="companion", to="any", as_of="engine"),),
            ),
        ),
    )


def test_a_good_policy_decodes() -> None:
    assert decode_policy(WRITTEN_POLICY, "policy.toml") == Policy(
        default_months=24,
        cadence="quarterly",
        notice_days=90,
        witnesses=3,
        windows=(Window(axis="engine", months=18, because="engines are replaced quickly"),),
        holds=(
            Hold(
                axis="engine",
                at=Version("2.7"),
                because="a large user cannot follow before winter",
                until=datetime.date(2026, 12, 31),
            ),
        ),
        known_bad=(
            KnownBad(
                axis="engine",
                version=Version("2.6.1"),
                because="its wheels lack a library",
                link="https://example.org/bad",
            ),
        ),
    )


@pytest.mark.parametrize(
    ("rule", "window"),
    [
        ({"minors": 3}, Window(axis="engine", because="engines are replaced quickly", minors=3)),
        (
            {"end_of_life": True},
            Window(axis="engine", because="engines are replaced quickly", end_of_life=True),
        ),
    ],
)
def test_a_window_has_one_of_three_rules(rule: Document, window: Window) -> None:
    document = changed(
        POLICY,
        ("windows", 0),
        {"axis": "engine", "because": "engines are replaced quickly", **rule},
    )
    assert decode_policy(toml(document), "policy.toml").windows == (window,)


def test_declared_values_are_hashable() -> None:
    assert isinstance(hash(decode_matrix(toml(MATRIX), "")), int)
    assert isinstance(hash(decode_policy(toml(POLICY), "")), int)


def test_all_faults_come_at_once_each_with_its_place() -> None:
    document: Document = MATRIX
    changes: list[tuple[Path, object]] = [
        (("title",), 5),
        (("axes", 1, "select", "specifer"), ">=3"),
        (("axes", 1, "select", "keep"), "minr"),
        (("rules", 0, "when", "demo"), "=>1"),
        (("rules", 1, "relaxations"), [{"package": "a"}]),
        (("floors", 0, "at"), "two"),
    ]
    for path, value in changes:
        document = changed(document, path, value)
    document = without(document, ("suite", "path"))
    assert [(fault.code, fault.path) for fault in faults_of(document)] == [
        ("bad-value", "matrix.toml: axes[1].select.keep"),
        ("unknown-key", "matrix.toml: axes[1].select.specifer"),
        ("bad-version", "matrix.toml: floors[0].at"),
        ("bad-specifier", "matrix.toml: rules[0].when.demo"),
        ("bad-value", "matrix.toml: rules[1].relaxations[0]"),
        ("bad-value", "matrix.toml: suite"),
        ("wrong-type", "matrix.toml: title"),
    ]


def test_a_value_that_contradicts_itself_is_found_every_time() -> None:
    document = changed(MATRIX, ("rules", 0, "relaxations", 0), {"package": "a"})
    document = changed(
        document,
        ("rules", 0, "relaxations", 1),
        {"package": "b", "to": "nothing", "as_of": "engine"},
    )
    document = changed(document, ("rules", 1, "effect"), "relax")
    assert [fault.path for fault in faults_of(document)] == [
        "matrix.toml: rules[0].relaxations[0]",
        "matrix.toml: rules[0].relaxations[1]",
        "matrix.toml: rules[1]",
    ]


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (
            ("axes", 1, "select", "specifer"),
            "",
            (
                "unknown key 'specifer'; allowed: also, keep, patch, prereleases, specifier;"
                " did you mean 'specifier'?"
            ),
        ),
        (
            ("axes", 1, "kind"),
            "Package",
            "'Package' is not allowed; allowed: interpreter, package; did you mean 'package'?",
        ),
        (
            ("axes", 0, "package"),
            "python",
            "unknown key 'package'; allowed: kind, name, releases, short",
        ),
        (
            ("rules", 0, "effect"),
            "exlude",
            "'exlude' is not allowed; allowed: exclude, relax; did you mean 'exclude'?",
        ),
        (
            ("rules", 0, "when", "demo"),
            "Moved",
            "allowed: moved, older, newer; did you mean 'moved'?",
        ),
        (
            ("rules", 0, "relaxations", 0, "to"),
            "nothin",
            "allowed: any, nothing; did you mean 'nothing'?",
        ),
        (
            ("rules", 0, "relaxations", 0, "versions"),
            "",
            "allowed: always, as_of, everywhere, ignore_requires_python, package, to",
        ),
        (("margin_days",), 4000, "4000 is out of range; allowed: 0 to 3650"),
        (("margin_days",), 30.0, "expected an integer, got 30.0"),
        (("title",), "x" * 81, "has 81 characters; allowed: 1 to 80"),
        (
            ("axes", 1, "select", "specifier"),
            ">=1" + ",!=1.5" * 400,
            "has 2,403 characters; a version specifier may have at most 2,000",
        ),
        (("requirements",), ["a" * 301], "has 301 characters; a requirement may have at most 300"),
        (("requirements",), ["a"] * 51, "has 51 entries; allowed: at most 50"),
        (
            ("rules", 0, "until"),
            datetime.datetime(2027, 1, 1),
            "expected a date, got a date with a time",
        ),
        (("rules", 0, "until"), "2027-02-30", "'2027-02-30' is not a date such as 2027-01-31"),
    ],
)
def test_a_fault_names_what_is_allowed_and_what_is_near(
    path: Path, value: object, told: str
) -> None:
    fault = only(changed(MATRIX, path, value))
    assert told in fault.message
    assert fault.path.startswith("matrix.toml: ")


def test_a_fault_goes_with_a_capability_only() -> None:
    issue = {"because": "a wrong sign", "outcome": "import-fail:error(x", "fault": "release"}
    fault = only(changed(MATRIX, ("known",), [issue]))
    assert fault.message == "`fault` goes with `capability`: what an outcome stops, nothing excuses"
    assert fault.path == "matrix.toml: known[0]"


@pytest.mark.parametrize(
    ("path", "value", "hint"),
    [
        (("floors", 0, "at"), 2.14, 'put it in quotes: "2.14"'),
        (("floors",), MATRIX["floors"][0], "write [[floors]] instead of [floors]"),
        (("suite",), [MATRIX["suite"]], "write [suite] instead of [[suite]]"),
    ],
)
def test_a_wrong_kind_comes_with_its_remedy(path: Path, value: object, hint: str) -> None:
    assert only(changed(MATRIX, path, value)).hint == hint


@pytest.mark.parametrize(
    ("content", "code", "told"),
    [
        (b"a = 1\na = 2\n", "toml-syntax", "line 2, column 6"),
        (b"a = [1,\n", "toml-syntax", "line 2"),
        (b"", "empty", "is empty"),
        (b"\xef\xbb\xbfa = 1", "encoding", "byte order mark"),
        ("a = 1".encode("utf-16"), "encoding", "UTF-16"),
        (b"a = 1\nb = '\xff'", "encoding", "byte 0xff in line 2"),
        (b"a" * (256 * 1024 + 1), "too-large", "allowed: at most 262144"),
        (b"a = " + b"[" * 100_000, "too-deep", "nested deeper than 16"),
        (b"a." * 17 + b"a = 1", "too-deep", "more than 16 parts"),
        (b"a = " + b"1" * 5000, "bad-value", "too many digits"),
        (b"[a]\nb = [1, 0x8000000000000000]", "bad-value", "beyond 64 bits"),
    ],
)
def test_what_is_no_document_is_one_fault(content: bytes, code: str, told: str) -> None:
    fault = only(content)
    assert fault.code == code
    assert told in fault.line()


@pytest.mark.parametrize("number", ["1" * 101, "1" * 5000])
def test_a_version_of_absurd_length_is_refused_for_its_length(number: str) -> None:
    told = only(changed(MATRIX, ("floors", 0, "at"), number)).message
    assert told.endswith(f"...' has {len(number):,} characters; a version may have at most 100")


def test_entries_beyond_the_allowed_number_are_not_looked_at() -> None:
    faults = faults_of(changed(MATRIX, ("requirements",), ["a"] * 50 + ["no requirement"]))
    assert [fault.path for fault in faults] == ["matrix.toml: requirements"]
    assert "has 51 entries" in faults[0].message


def test_dots_in_texts_and_comments_are_no_deep_keys() -> None:
    dotted = b".".join([b"a"] * 40)
    good = toml(changed(MATRIX, ("title",), dotted.decode()))
    assert decode_matrix(good, "").title == dotted.decode()
    assert decode_matrix(b"# don't ....................\n" + good, "")


def test_a_document_of_thousands_of_faults_tells_fifty_and_that_there_are_more() -> None:
    faults = faults_of(b"".join(b"k%d = 1\n" % i for i in range(5000)))
    assert len(faults) == 51
    assert faults[-1].line().endswith(" at least 450 more")


def test_a_document_of_sixty_faults_tells_how_many_are_left() -> None:
    faults = faults_of({**POLICY, **{f"k{i}": 1 for i in range(60)}}, "policy.toml")
    assert len(faults) == 51
    assert faults[-1].line().endswith(" and 10 more")


def test_strange_keys_are_quoted_in_a_fault_s_place() -> None:
    fault = only({**POLICY, "a b\x1b": 1}, "policy.toml")
    assert fault.path == 'policy.toml: "a b\\u001b"'


def _without_nothing(value: Any) -> Any:
    """Return the value without keys that hold None, which TOML cannot write."""
    if isinstance(value, dict):
        return {key: _without_nothing(inner) for key, inner in value.items() if inner is not None}
    return (
        [_without_nothing(inner) for inner in value] if isinstance(value, list | tuple) else value
    )


def encoded(value: Matrix | Policy) -> bytes:
    def as_written(inner: object) -> object:
        return inner.as_table() if isinstance(inner, When) else encode_hook(inner)

    return toml(_without_nothing(msgspec.to_builtins(value, enc_hook=as_written)))


VERSIONS = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(
    lambda parts: Version(".".join(map(str, parts)))
)
SPECIFIERS = st.lists(
    st.tuples(st.sampled_from([">=", "<", "==", "!=", ">"]), VERSIONS), min_size=1, max_size=3
).map(lambda parts: SpecifierSet(",".join(f"{sign}{version}" for sign, version in parts)))
REASONS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=10, max_size=60)
NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
DATES = st.dates() | st.none()
RELAXATIONS = st.builds(
    Relaxation,
    package=NAMES.map(lambda name: name.strip("-_")),
    to=st.just("any") | SPECIFIERS.map(str),
    as_of=NAMES | st.none(),
    everywhere=st.booleans(),
) | st.builds(Relaxation, package=st.just("demo"), ignore_requires_python=st.just(True))
RULES = st.builds(
    Rule,
    name=NAMES,
    effect=st.just("relax"),
    because=REASONS,
    until=DATES,
    when=st.dictionaries(NAMES, SPECIFIERS | st.sampled_from(OUTSIDE)).map(
        lambda table: When(tuple(sorted(table.items())))
    ),
    relaxations=st.lists(RELAXATIONS, min_size=1, max_size=3).map(tuple),
)
MATRICES = st.builds(
    Matrix,
    name=NAMES,
    title=REASONS,
    subject=NAMES,
    platform=st.sampled_from(["x86_64-manylinux_2_17", "aarch64-manylinux_2_28"]),
    margin_days=st.integers(0, 3650),
    axes=st.tuples(
        st.builds(InterpreterAxis, name=NAMES, short=st.just("py"), releases=st.tuples(VERSIONS)),
        st.builds(
            PackageAxis,
            name=NAMES,
            short=st.just("demo"),
            package=st.just("demo"),
            select=st.builds(
                Selector, specifier=SPECIFIERS, keep=st.sampled_from(["each", "minor", "major"])
            ),
        ),
    ),
    suite=st.builds(Suite, path=st.just("suite"), requirements=st.just(("pytest>=7",))),
    floors=st.lists(st.builds(Floor, axis=NAMES, at=VERSIONS, because=REASONS), max_size=2).map(
        tuple
    ),
    rules=st.lists(RULES, max_size=2).map(tuple),
)
POLICIES = st.builds(
    Policy,
    default_months=st.integers(1, 240),
    cadence=st.sampled_from(["monthly", "quarterly", "half-yearly", "yearly"]),
    notice_days=st.integers(0, 365),
    witnesses=st.integers(1, 50),
    windows=st.lists(
        st.builds(Window, axis=NAMES, because=REASONS, months=st.integers(1, 240))
        | st.builds(Window, axis=NAMES, because=REASONS, minors=st.integers(1, 50))
        | st.builds(Window, axis=NAMES, because=REASONS, end_of_life=st.just(True)),
        max_size=2,
    ).map(tuple),
    holds=st.lists(
        st.builds(Hold, axis=NAMES, at=VERSIONS, because=REASONS, until=st.dates()), max_size=2
    ).map(tuple),
)


@given(MATRICES)
def test_decoding_an_encoded_matrix_gives_the_matrix(matrix: Matrix) -> None:
    assert decode_matrix(encoded(matrix), "") == matrix


@given(POLICIES)
def test_decoding_an_encoded_policy_gives_the_policy(policy: Policy) -> None:
    assert decode_policy(encoded(policy), "") == policy


def test_a_specifier_that_leaves_out_many_releases_is_taken() -> None:
    text = ">=1," + ",".join(f"!=1.{number}.*" for number in range(60))
    assert len(text) > 200
    assert str(parse_pin(text)) == str(SpecifierSet(text))
    assert parse_condition(text) == SpecifierSet(text)
