"""A record's text: what it keeps, what it detects, and what it refuses to be."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from support.corpus import each
from support.examples import examples
from support.made_records import (
    NOW,
    START,
    UTC,
    capabilities,
    full,
    moments,
    outcome,
    ran,
    raw_of,
    read_back,
    records,
    signed,
)

from compat.errors import RecordError
from compat.results.record import (
    MOST_BYTES,
    Record,
    decisive,
    decode_record,
    encode_record,
    is_cell_id,
    record_digest,
)
from compat.run.evidence import Installed, Metric


class TestText:
    def test_keeps_every_field(self) -> None:
        assert read_back(full()) == full()

    def test_has_sorted_keys_and_ends_its_last_line(self) -> None:
        text = encode_record(full())
        assert list(json.loads(text)) == sorted(json.loads(text))
        assert text.endswith("}\n")
        assert '\n  "format": 5,\n' in text

    @examples(200)
    @given(records())
    def test_decode_after_encode_is_identity(self, record: Record) -> None:
        text = encode_record(record)
        assert decode_record(text, "a test") == record
        assert encode_record(decode_record(text, "a test")) == text

    def test_says_outcomes_as_they_are_printed_everywhere(self) -> None:
        raw = raw_of(ran("install-fail:network", "import-fail:missing-module(jax)"))
        assert raw["outcome"] == "import-fail:missing-module(jax)"
        assert [one["outcome"] for one in raw["attempts"]] == [
            "install-fail:network",
            "import-fail:missing-module(jax)",
        ]

    def test_writes_an_integer_of_seconds_as_it_is_read_back(self) -> None:
        assert encode_record(ran("pass", seconds=5)) == encode_record(ran("pass", seconds=5.0))


class TestDamage:
    def test_every_flipped_bit_is_detected(self) -> None:
        whole = encode_record(ran("pass")).encode()
        for at in range(len(whole)):
            for bit in range(8):
                spoilt = bytearray(whole)
                spoilt[at] ^= 1 << bit
                try:
                    text = spoilt.decode()
                except UnicodeDecodeError:
                    continue
                with pytest.raises(RecordError):
                    decode_record(text, "f.json")

    def test_every_truncation_is_detected(self) -> None:
        whole = encode_record(full())
        for end in range(len(whole)):
            with pytest.raises(RecordError):
                decode_record(whole[:end], "f.json")

    def test_another_spelling_of_the_same_content_is_not_what_was_written(self) -> None:
        with pytest.raises(RecordError, match="not as it was written"):
            decode_record(json.dumps(raw_of(full())), "f.json")

    def test_a_key_twice_is_refused_even_with_a_digest_that_fits(self) -> None:
        text = encode_record(full())
        twice = text.replace('  "cell":', '  "cell": "py3.7-tf2.3-tff0.17.0",\n  "cell":', 1)
        twice = twice.replace(raw_of(full())["digest"], record_digest(twice))
        with pytest.raises(RecordError, match="the key 'cell' twice"):
            decode_record(twice, "f.json")


class TestFormat:
    @pytest.mark.parametrize("number", [0, 4, 6, "5", None, True, 5.0])
    def test_a_format_that_is_not_known_is_refused(self, number: object) -> None:
        with pytest.raises(RecordError, match="this version of compat reads 5"):
            decode_record(signed({**raw_of(full()), "format": number}), "f.json")


class TestWhatCannotBeARecord:
    @pytest.mark.parametrize(
        ("more", "told"),
        [
            ({"seconds": float("nan")}, "float"),
            ({"seconds": float("inf")}, "float"),
            ({"seconds": -1.0}, ">= 0"),
            ({"started": NOW.replace(tzinfo=None)}, "timezone"),
            ({"started": NOW.replace(year=1970)}, "since 2000"),
            ({"cell": "../../etc"}, "cannot be a cell id"),
            ({"log": "é" * 2049}, "longer than 4096 bytes"),
            ({"log": "\ud800"}, "surrogates"),
            ({"host": "build-7.example.org"}, "regex"),
            ({"run_url": "javascript:alert(1)"}, "regex"),
            ({"matrix": "../tff"}, "regex"),
            ({"lock_digest": "abc"}, "regex"),
            ({"outcome": outcome("test-fail:error(other)")}, "its attempts do not result in"),
            ({"capabilities": capabilities(sum="no")}, "cannot pass"),
            ({"capabilities": (*capabilities(sum="yes"), *capabilities(sum="yes"))}, "twice"),
            ({"installed": (Installed(name="dep", version="1.0"),) * 2}, "installed: .* twice"),
            (
                {"metrics": (Metric(name="peak", value=1e16, unit="MiB", better="lower"),)},
                "<= 1000000000000000.0",
            ),
        ],
    )
    def test_is_refused_before_it_is_written(self, more: dict[str, Any], told: str) -> None:
        with pytest.raises(RecordError, match=told):
            encode_record(ran("pass", **more))

    @examples(50)
    @given(moments)
    def test_any_moment_in_utc_can_be_a_start(self, moment: Any) -> None:
        assert read_back(ran("pass", started=moment)).started.tzinfo == UTC


@pytest.mark.parametrize(
    "name",
    [
        "py3.11-tf2.14-tff0.87.0",
        "py3.11-tf2.14rc1-tff0.87.0+relaxed",
        "py3.11-x1!2.0.post1",
        "py3-a1_b",
        "a" * 200,
    ],
)
def test_a_cell_id_can_be_the_name_of_a_folder(name: str) -> None:
    assert is_cell_id(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a",
        "a/b",
        "../x1",
        "a..b",
        ".git",
        "-rf",
        "con",
        "con.1",
        "nul",
        "aux.txt",
        "com1.x1",
        "lpt9",
        "a\0b",
        "a\nb",
        "ab\n",
        "ab.",
        "ab ",
        "ab+",
        "Py3.11",
        "py3\uff0e11",
        "%2e",
        "a" * 201,
        "a\\b",
        "c:x1",
        "~ab",
    ],
)
def test_a_name_that_could_harm_is_no_cell_id(name: str) -> None:
    assert not is_cell_id(name)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["pass"], "pass"),
        (["install-fail:network", "pass"], "pass"),
        (["import-fail:abort", "install-fail:network"], "import-fail:abort"),
        (["import-fail:abort", "pass"], "import-fail:abort"),
        (["test-fail:error(a)", "test-fail:error(b)", "pass"], "test-fail:error(b)"),
        (["pass", "test-fail:wall-time"], "pass"),
        (["install-fail:network", "test-fail:memory"], "test-fail:memory"),
        (["test-fail:wall-time", "test-fail:silence"], "test-fail:silence"),
    ],
)
def test_no_retry_hides_a_failure_and_no_trouble_hides_an_answer(
    outcomes: list[str], expected: str
) -> None:
    assert str(decisive([outcome(text) for text in outcomes])) == expected


def malformed() -> Iterator[str]:
    """About 240 texts that are no records; those of the second half have a digest that fits."""
    whole = encode_record(full())
    chance = random.Random(17)
    yield from (
        "",
        " ",
        "\n",
        "null",
        "1",
        "[]",
        '"x"',
        "{}",
        "{",
        "}",
        "\ufeff{}",
        "\0",
        "{} {}",
        "\ud800",
    )
    yield from (mark * 100_000 for mark in ("[", '{"a":', "[{", "("))
    yield from (
        f'{{"a":{value}}}'
        for value in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "01", "+1", "'x'")
    )
    yield from (
        '{"a":1,"a":2}',
        '{"format":1,"format":1}',
        '{"a":"\\ud800"}',
        '{"a":"\\udc00x"}',
        '{"\\ud8ff":1}',
    )
    yield from (
        f"<html>{whole}</html>",
        f"// {whole}",
        whole + whole,
        whole + "x",
        whole.replace("\n", "\r\n"),
    )
    yield from (
        whole.encode("utf-16").decode("latin-1"),
        "\ufeff" + whole,
        whole.replace('"', "'"),
        "x" * (MOST_BYTES + 1),
    )
    yield from (whole[: chance.randrange(len(whole))] for _ in range(20))
    yield from (
        whole[:at] + chance.choice('"{}[],:\0\\x7') + whole[at:]
        for at in chance.sample(range(len(whole)), 20)
    )
    raw = raw_of(full())
    for key in sorted(raw.keys() - {"digest"}):
        yield signed({name: value for name, value in raw.items() if name != key})
        for value in (None, [], {"x": 1}, "\u202e", -1, [[1]]):
            if not (value == [] and isinstance(raw[key], list)) and not (
                value == "\u202e" and key in ("log", "tool")
            ):
                yield signed({**raw, key: value})
    yield signed({**raw, "unknown": 1})
    yield signed({**raw, "log": "\ud800"})
    yield signed({**raw, "installed": [{"name": "a", "version": "1", "unknown": 1}]})
    yield signed({**raw, "metrics": [{**raw["metrics"][0], "value": float("nan")}]})
    yield signed({**raw, "cell": "../../x"})
    yield signed({**raw, "started": "2026-11-01T12:00:00+02:00"})
    yield signed({**raw, "started": "2026-11-01T12:00:00"})
    yield signed({**raw, "outcome": "test-fail:luck"})


MALFORMED = tuple(malformed())


def test_there_are_many_malformed_texts() -> None:
    assert len(MALFORMED) > 200


@each("text", MALFORMED)
def test_a_malformed_text_is_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(RecordError) as caught:
        decode_record(text, "records/f.json")
    line = str(caught.value)
    assert line.startswith("records/f.json: ")
    assert line.isprintable()
    assert len(line) <= 500
    assert caught.value.exit_code == 2


def test_a_record_starts_when_its_first_attempt_did() -> None:
    assert full().started == START
