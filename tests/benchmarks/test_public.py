"""The public benchmarks: which releases a row names, and what the audit installs for a cell."""

import datetime
from pathlib import Path
from typing import Any

import pytest
import tomllib
from audit import requirements
from packaging.version import Version
from public_bounds import matches, used
from public_signatures import Call, is_same

from compat.index.release import Artifact, Release

ROOT = Path(__file__).parent.parent.parent
DAY = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("when", "named"),
    [
        ({}, True),
        ({"version": "1.2.*"}, True),
        ({"version": "1.2.1"}, False),
        ({"version_lt": "1.3", "version_ge": "1.2"}, True),
        ({"version_le": "1.1"}, False),
        ({"version_in": ["1.0", "1.2.0"]}, True),
    ],
)
def test_a_row_names_releases(when: dict[str, Any], named: bool) -> None:
    file = Artifact(filename="x-1.2.0-py3-none-any.whl", uploaded=DAY)
    release = Release(version=Version("1.2.0"), artifacts=(file,))
    assert matches(release, when, DAY + datetime.timedelta(1)) is named
    assert not matches(release, when, DAY)


def test_the_audit_reads_a_cell_from_its_id() -> None:
    matrix = tomllib.loads((ROOT / "matrices/grpcio-tools/matrix.toml").read_text("utf-8"))
    asked = ["protobuf==5.29.*", "grpcio==1.85.*", "grpcio-tools==1.74.*", "pytest"]
    cell = "py3.11-protobuf5.29-grpc1.85-tools1.74"
    assert requirements(matrix, cell) == ("3.11.7", asked, [])
    assert requirements(matrix, cell + "+relaxed") == ("3.11.7", asked, asked[:2])


@pytest.mark.parametrize(
    ("new", "call", "same"),
    [
        (("a", "b", "#2"), Call(2, ()), True),
        (("x", "b", "#2"), Call(2, ()), True),  # another name, at the same place
        (("x", "b", "#2"), Call(1, ("a",)), False),
        (("a", "new", "b", "#3"), Call(2, ()), False),
        (("a", "b", "new", "!new", "#3"), Call(2, ()), False),
        (("a", "#1"), Call(1, ("b",)), False),
        (("a", "b", "#1"), Call(2, ()), False),
    ],
)
def test_a_call_reaches_the_same_parameters(new: tuple[str, ...], call: Call, same: bool) -> None:
    assert is_same(("a", "b", "#2"), new, call) is same


def test_names_that_sources_use_are_read_where_no_try_is_around_them() -> None:
    text = b"import numpy as np\nfrom numpy.linalg import inv\nx = np.float\n"
    guarded = b"try:\n    import numpy.core\nexcept ImportError:\n    pass\n"
    read = set(used({"demo/a.py": text, "demo/b.py": guarded, "test/c.py": text}, {"numpy"}))
    assert read == {"numpy", "numpy.linalg", "numpy.linalg.inv", "numpy.float"}
