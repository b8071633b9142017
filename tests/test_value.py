"""Values are written as JSON in one way."""

import datetime
import subprocess
import sys

import msgspec
import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.value import StrictValue, encode, schema_hook


class Example(StrictValue, frozen=True, kw_only=True):
    version: Version
    specifier: SpecifierSet
    day: datetime.date
    versions: tuple[Version, ...] = ()
    by_name: dict[str, int]


EXAMPLE = Example(
    version=Version("1.0"),
    specifier=SpecifierSet(">=2"),
    day=datetime.date(2026, 11, 22),
    versions=(Version("3.10"),),
    by_name={"b": 2, "a": 1},
)


def test_versions_and_specifiers_are_written_as_strings_and_mappings_in_order() -> None:
    assert encode(EXAMPLE) == (
        b'{"version":"1.0","specifier":">=2","day":"2026-11-22","versions":["3.10"],'
        b'"by_name":{"a":1,"b":2}}'
    )


def test_a_type_without_a_json_form_is_refused_rather_than_printed() -> None:
    with pytest.raises(NotImplementedError):
        encode({"object": object()})


def test_the_schema_says_that_they_are_strings() -> None:
    schema = msgspec.json.schema(Example, schema_hook=schema_hook)
    properties = schema["$defs"]["Example"]["properties"]
    assert properties["version"]["type"] == properties["specifier"]["type"] == "string"


RACE = """
import sys, threading
from typing import Any
sys.setswitchinterval(1e-6)
from compat.value import Value, decode
class File(Value, frozen=True, rename="kebab"):
    filename: str; hashes: dict[str, str]; core_metadata: bool | dict[str, str] | None = None
class Project(Value, frozen=True):
    name: str; meta: dict[str, Any]; files: list[File]
files = b", ".join([b'{"filename": "x", "hashes": {}}'] * 200)
content = b'{"name": "a", "meta": {}, "files": [' + files + b"]}"
start = threading.Barrier(16)
def read():
    start.wait()
    for _ in range(20):
        decode(content, Project)
threads = [threading.Thread(target=read) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_may_read_a_new_type_at_the_same_time() -> None:
    # Where msgspec looks into the type in each of them, two of five such interpreters crash.
    ended = [
        subprocess.run([sys.executable, "-c", RACE], check=False, capture_output=True).returncode
        for _ in range(10)
    ]
    assert ended == [0] * 10
