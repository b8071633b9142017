"""What blame found is known of each environment with a release between those that fail."""

from pathlib import Path

import pytest
from packaging.version import Version

from compat.errors import DeclarationError
from compat.results.learnt import BLAMES, BlamedReleases, StoredBlame, store_blames, stored_blames

RELEASES = BlamedReleases(package="dep", works="1.9", fails="2.0", also_fails="2.3")
FOUND = StoredBlame(
    cell="py3.9-demo1.0",
    on="2026-11-26",
    python="3.9",
    versions={"demo": "1.0"},
    packages=(RELEASES,),
    failed="import-fail:missing-attribute(dep.gone)",
)


@pytest.mark.parametrize(
    ("python", "demo", "dep", "is_known"),
    [
        ("3.9.7", "1.0", "2.0", True),
        ("3.9.7", "1.0", "2.2", True),
        ("3.9.7", "1.0", "2.3", True),
        ("3.9.7", "1.0", "1.9", False),
        ("3.9.7", "1.0", "2.4", False),
        ("3.9.7", "1.1", "2.0", False),
        ("3.10.1", "1.0", "2.0", False),
    ],
)
def test_an_environment_between_two_failing_releases_is_known(
    python: str, demo: str, dep: str, is_known: bool
) -> None:
    versions = {"demo": Version(demo), "dep": Version(dep)}
    assert FOUND.includes(Version(python), versions) is is_known


def test_what_is_found_of_a_cell_replaces_what_was_kept_of_it(tmp_path: Path) -> None:
    other = StoredBlame(**{**{f: getattr(FOUND, f) for f in FOUND.__struct_fields__}, "cell": "b"})
    store_blames(tmp_path, [FOUND, FOUND])
    store_blames(tmp_path, [other])
    store_blames(tmp_path, [FOUND])
    assert sorted(stored_blames(tmp_path), key=lambda blame: blame.cell) == [other, FOUND]


@pytest.mark.parametrize("text", ["[{}]", "[", '[{"cell": 1}]', "\udcff"])
def test_damage_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / BLAMES).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DeclarationError):
        stored_blames(tmp_path)
