"""Laws of the lock's text: decode after encode is identity, damage is told, equal locks are equal
bytes.
"""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.pylock import Pylock, PylockValidationError
from packaging.version import Version
from support.examples import examples

from compat.errors import DeclarationError
from compat.lock.lockfile import Cutoff, Inputs, Lock, Pin, decode_lock, decode_pins, encode_lock
from compat.lock.mixed import changed_inputs, changed_pins

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,4})?", fullmatch=True)
VERSIONS = st.from_regex(r"[0-9]{1,3}\.[0-9]{1,3}(rc1|\.post2)?", fullmatch=True).map(Version)
DIGESTS = st.lists(
    st.text("0123456789abcdef", min_size=64, max_size=64), min_size=1, max_size=3, unique=True
)
MOMENTS = st.none() | st.datetimes(
    datetime.datetime(2015, 1, 1),
    datetime.datetime(2030, 1, 1),
    timezones=st.just(datetime.timezone.utc),
).map(lambda moment: moment.replace(microsecond=0))
PINS = st.lists(
    st.builds(
        Pin, name=NAMES, version=VERSIONS, hashes=DIGESTS.map(lambda found: tuple(sorted(found)))
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda pin: pin.name,
).map(lambda pins: tuple(sorted(pins, key=lambda pin: pin.name)))


@st.composite
def locks(draw: st.DrawFn) -> Lock:
    pins = draw(PINS)
    cutoffs = draw(
        st.lists(
            st.builds(Cutoff, package=NAMES, until=MOMENTS),
            max_size=3,
            unique_by=lambda c: c.package,
        )
    )
    lines = st.lists(
        st.sampled_from(["pytest", "dep==2.*", "demo[x,y]>=1,<3"]), max_size=3, unique=True
    ).map(tuple)
    inputs = Inputs(
        cell="py3.9-dep2-demo1.0+relaxed",
        python=Version("3.9.18"),
        platform="x86_64-manylinux_2_28",
        requirements=draw(lines),
        no_prereleases=draw(lines),
        overrides=draw(lines),
        excludes=draw(lines),
        as_of=draw(MOMENTS),
        cutoffs=tuple(cutoffs),
        injected_pin=draw(st.none() | st.sampled_from(pins)),
        install_as_python=draw(st.none() | st.just(Version("3.10.13"))),
        suite=draw(lines),
    )
    names = [pin.name for pin in pins]
    only = draw(st.none() | st.lists(st.sampled_from(names), unique=True).map(tuple))
    return Lock(inputs=inputs, pins=pins, tool="uv 1.2.3", suite_only=only)


@given(locks())
@examples(40)
def test_decode_after_encode_is_identity(lock: Lock) -> None:
    assert decode_lock(encode_lock(lock), "x") == lock


@pytest.mark.parametrize("text", ["", "# lock-format: 2\n", "# lock-format: 1\n# cell: c\n"])
def test_what_is_no_lock_is_refused(text: str) -> None:
    with pytest.raises(DeclarationError, match="writes it anew"):
        decode_lock(text, "x")


@given(locks())
@examples(40)
def test_a_lock_has_not_drifted_from_itself(lock: Lock) -> None:
    assert changed_pins(lock, lock) == {}
    assert changed_inputs(lock.inputs, lock.inputs) == []


@given(locks(), locks())
@examples(40)
def test_drift_names_exactly_the_packages_whose_pins_differ(before: Lock, after: Lock) -> None:
    differing = {pin.name for pin in {*before.pins} ^ {*after.pins}}
    assert changed_pins(before, after).keys() == differing


def lock_of(*pins: str, as_of: datetime.datetime | None = None) -> Lock:
    made = tuple(
        Pin(name=name, version=Version(v), hashes=("0" * 64,))
        for name, _, v in (p.partition("==") for p in pins)
    )
    inputs = Inputs(
        cell="c", python=Version("3.9.18"), platform="p", requirements=("dep",), as_of=as_of
    )
    return Lock(inputs=inputs, pins=made, tool="uv 1")


def test_drift_tells_what_moved_and_why() -> None:
    day = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)
    before, after = lock_of("a==1", "b==1", "c==1"), lock_of("a==2", "c==1", "d==1", as_of=day)
    lines = [*changed_pins(before, after).values()]
    assert lines == ["~ a 1 -> 2", "- b 1", "+ d 1"]
    reasons = changed_inputs(before.inputs, after.inputs)
    assert reasons == ["as_of: now -> 2024-01-02 00:00:00+00:00"]


TEXT = encode_lock(lock_of("a==1", "b==2"))


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        ("", "lacks the line '# lock-format: ...'"),
        (TEXT.replace("# python: 3.9.18\n", ""), "lacks the line '# python: ...'"),
        (TEXT.replace("lock-format: 1", "lock-format: 7"), "lock format '7' is not 1"),
        (TEXT.replace("a==1 ", "a==3 "), "the digest differs"),
        (TEXT.replace("a==1 ", "a>=1 "), "is not an exact pin"),
        (TEXT.replace("a==1 ", "a @ https://example.org/a.whl "), "is not an exact pin"),
        (TEXT[: -len("    --hash=sha256:" + "0" * 64 + "\n")], "b has no sha256 hash"),
        (TEXT.replace("as-of: now", "as-of: yesterday"), "yesterday"),
        (TEXT.replace("python: 3.9.18", "python: three"), "three"),
    ],
)
def test_a_damaged_lock_is_told_with_its_file_and_the_remedy(damaged: str, told: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        decode_lock(damaged, "locks/c.txt")
    line = str(caught.value)
    assert line.startswith("locks/c.txt: ")
    assert told in line
    assert "compat matrix lock" in line


def test_pins_are_read_from_the_resolvers_text_whatever_its_order() -> None:
    text = f"""\
# a comment
Zebra_Crossing==2.0 \\
    --hash=sha256:{"b" * 64} \\
    --hash=sha256:{"a" * 64}
ant==1 --hash=sha256:{"c" * 64}
"""
    assert decode_pins(text) == [
        Pin(name="ant", version=Version("1"), hashes=("c" * 64,)),
        Pin(name="zebra-crossing", version=Version("2.0"), hashes=("a" * 64, "b" * 64)),
    ]


def test_equal_versions_that_are_written_differently_are_different_locks() -> None:
    def lock_at(version: str) -> Lock:
        inputs = Inputs(
            cell="py3.9-demo1.0", python=Version("3.9.18"), platform="p", requirements=()
        )
        return Lock(
            inputs=inputs,
            pins=(Pin(name="dep", version=Version(version), hashes=("a" * 64,)),),
            tool="uv 1",
        )

    for version in ("1.0", "1.0.0"):
        assert str(decode_lock(encode_lock(lock_at(version)), "a test").pins[0].version) == version
    assert lock_at("1.0").digest != lock_at("1.0.0").digest


@pytest.mark.parametrize("place", [{}, {"url": "demo-1.0-py3-none-any.whl"}])
def test_a_pylock_needs_an_address_or_a_path_of_each_file(place: dict[str, str]) -> None:
    """Why locks are stored as requirements: those name hashes alone, and no index. A relative
    address passes here, but neither pip 26.3 nor uv 0.13.9 takes it (2026-11-27).
    """
    wheel = {"name": "demo-1.0-py3-none-any.whl", "hashes": {"sha256": "0" * 64}, **place}
    package = {"name": "demo", "version": "1.0", "wheels": [wheel]}
    document = {"lock-version": "1.0", "created-by": "compat", "packages": [package]}
    if place:
        Pylock.from_dict(document)
        return
    with pytest.raises(PylockValidationError, match="path or url must be provided"):
        Pylock.from_dict(document)
