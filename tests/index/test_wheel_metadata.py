"""A wheel's METADATA, at the price of few bytes, and never another wheel's."""

import hashlib
import io
import zipfile
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from support.fake_index import (
    FakeIndex,
    Reply,
    body,
    by_request,
    metadata,
    ranges,
    status,
    truncated,
    wheel,
)

from compat.errors import IndexUnreachable
from compat.index.metadata import ResponseLimits
from compat.index.pypi import PyPISource
from compat.index.release import Artifact, Published
from compat.index.settings import IndexSettings

NAME = "thing-1.0-py3-none-any.whl"
PATH = f"/files/{NAME}"
TEXT = metadata(
    "Thing",
    "1.0",
    "Requires-Python: >=3.9,<3.12",
    "Requires-Dist: absl-py (~=0.9.0)",
    "Requires-Dist: jaxlib==0.4.14",
)
PUBLISHED = Published(
    requires_python=SpecifierSet(">=3.9,<3.12"),
    requires_dist=("absl-py (~=0.9.0)", "jaxlib==0.4.14"),
)
WHEEL = wheel(TEXT, padding=400_000)


def artifact(
    index: FakeIndex, contents: bytes = WHEEL, has_metadata: bool | None = None
) -> Artifact:
    return Artifact(
        filename=NAME,
        url=f"{index.root}{PATH}",
        tags=frozenset({Tag("py3", "none", "any")}),
        sha256=hashlib.sha256(contents).hexdigest(),
        has_metadata=has_metadata,
    )


def source(index: FakeIndex, limits: ResponseLimits, folder: Path | None = None) -> PyPISource:
    return PyPISource(IndexSettings(index_url=index.url), folder, limits)


def octets(contents: bytes) -> Reply:
    return body(contents, "application/octet-stream")


def test_the_metadata_file_beside_a_wheel_is_enough(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(f"{PATH}.metadata", octets(TEXT))
    assert source(index, quick).published(artifact(index, has_metadata=True)) == PUBLISHED
    assert index.paths() == [f"{PATH}.metadata"]
    assert index.sent == len(TEXT)


def test_a_metadata_file_is_tried_where_the_index_says_nothing(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(f"{PATH}.metadata", octets(TEXT))
    assert source(index, quick).published(artifact(index)) == PUBLISHED
    assert index.paths() == [f"{PATH}.metadata"]


def test_a_metadata_file_is_not_tried_where_the_index_says_no(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(PATH, ranges(WHEEL))
    assert source(index, quick).published(artifact(index, has_metadata=False)) == PUBLISHED
    assert f"{PATH}.metadata" not in index.paths()


def test_after_one_refusal_metadata_files_are_not_tried_again(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(PATH, ranges(WHEEL))
    asked = source(index, quick)
    assert asked.published(artifact(index)) == asked.published(artifact(index)) == PUBLISHED
    assert index.paths().count(f"{PATH}.metadata") == 1


def test_range_requests_take_a_fraction_of_the_wheel(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(PATH, ranges(WHEEL))
    assert source(index, quick).published(artifact(index, has_metadata=False)) == PUBLISHED
    assert len(WHEEL) > 400_000
    assert index.sent < 70_000
    assert all("Range" in request.headers for request in index.asked)


def test_a_server_without_ranges_sends_the_whole_wheel_once(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(PATH, octets(WHEEL))
    assert source(index, quick).published(artifact(index, has_metadata=False)) == PUBLISHED
    assert "Range" not in index.asked[-1].headers
    assert index.sent < 2 * len(WHEEL) + 100_000


@pytest.mark.parametrize("refusal", [status(416), status(501), status(403)])
def test_a_server_that_refuses_ranges_sends_the_whole_wheel(
    index: FakeIndex, quick: ResponseLimits, refusal: Reply
) -> None:
    index.answers(PATH, refusal, octets(WHEEL))
    assert source(index, quick).published(artifact(index, has_metadata=False)) == PUBLISHED


def test_ranges_that_make_no_zip_send_for_the_whole_wheel(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(PATH, by_request(ranges(b"x" * 100_000), octets(WHEEL)))
    assert source(index, quick).published(artifact(index, has_metadata=False)) == PUBLISHED


def test_a_range_that_breaks_off_does_not_send_for_the_whole_wheel(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(PATH, truncated(b"x", code=206))
    with pytest.raises(IndexUnreachable, match="broke off"):
        source(index, quick).published(artifact(index, has_metadata=False))
    assert all("Range" in request.headers for request in index.asked)


def test_what_was_read_once_is_read_again_without_a_request(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    index.answers(PATH, ranges(WHEEL))
    first = source(index, quick, tmp_path).published(artifact(index))
    asked = len(index.asked)
    index.stop()
    assert source(index, quick, tmp_path).published(artifact(index)) == first == PUBLISHED
    assert len(index.asked) == asked > 0


@pytest.mark.parametrize("damage", [b"", b"{", b'{"requires_python": 3}', b"[" * 100_000])
def test_a_damaged_store_is_read_over_and_mended(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path, damage: bytes
) -> None:
    index.answers(f"{PATH}.metadata", octets(TEXT))
    kept = tmp_path / "metadata" / f"{artifact(index).sha256}.json"
    kept.parent.mkdir()
    kept.write_bytes(damage)
    for _ in range(2):
        assert source(index, quick, tmp_path).published(artifact(index)) == PUBLISHED
    assert len(index.asked) == 1


def test_a_store_that_cannot_be_written_does_not_break_a_run(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    (tmp_path / "metadata").write_text("in the way")
    index.answers(f"{PATH}.metadata", octets(TEXT))
    assert source(index, quick, tmp_path).published(artifact(index)) == PUBLISHED


def test_an_sdist_has_no_metadata_to_rely_on(index: FakeIndex, quick: ResponseLimits) -> None:
    sdist = Artifact(
        filename="thing-1.0.tar.gz", url=f"{index.root}/files/thing-1.0.tar.gz", tags=frozenset()
    )
    assert source(index, quick).published(sdist) is None
    assert index.asked == []


def test_a_requires_python_that_cannot_be_read_is_none(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(f"{PATH}.metadata", octets(metadata("thing", "1.0", "Requires-Python: whatever")))
    published = source(index, quick).published(artifact(index))
    assert published == Published(requires_python=None, requires_dist=())


def test_a_page_in_place_of_the_metadata_file_is_no_metadata(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(f"{PATH}.metadata", body(b"<html>Welcome</html>", "text/html"))
    index.answers(PATH, ranges(WHEEL))
    assert source(index, quick).published(artifact(index)) == PUBLISHED


def refusal(
    index: FakeIndex, limits: ResponseLimits, contents: bytes, stated: bytes | None = None
) -> str:
    """Return what is told about a wheel that cannot be trusted; whole or by ranges, it must be the
    same.
    """
    told = set()
    for reply in (ranges(contents), octets(contents)):
        index.answers(PATH, reply)
        with pytest.raises(IndexUnreachable) as caught:
            source(index, limits).published(artifact(index, stated or contents, has_metadata=False))
        told.add(str(caught.value))
    assert len(told) == 1
    return told.pop()


@pytest.mark.parametrize(
    "text",
    [
        metadata("other"),
        metadata("thing", "1.1"),
        metadata("thing", "x"),
        b"",
        b"Name: thing\nName: thing\n",
    ],
)
def test_the_metadata_of_another_wheel_is_refused(
    index: FakeIndex, quick: ResponseLimits, text: bytes
) -> None:
    assert "its METADATA speaks of" in refusal(index, quick, wheel(text))


def test_a_metadata_file_of_another_wheel_is_refused(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(f"{PATH}.metadata", octets(metadata("other")))
    with pytest.raises(IndexUnreachable, match=r"speaks of other 1\.0"):
        source(index, quick).published(artifact(index, has_metadata=True))


def test_a_refused_metadata_is_not_kept(
    index: FakeIndex, quick: ResponseLimits, tmp_path: Path
) -> None:
    index.answers(f"{PATH}.metadata", octets(metadata("other")), octets(TEXT))
    with pytest.raises(IndexUnreachable):
        source(index, quick, tmp_path).published(artifact(index, has_metadata=True))
    assert source(index, quick, tmp_path).published(artifact(index, has_metadata=True)) == PUBLISHED


def test_a_metadata_that_unpacks_to_very_much_is_refused_unread(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    assert "larger than 20000 bytes" in refusal(index, quick, wheel(metadata() + b"x" * 10_000_000))


def test_a_metadata_file_that_is_very_large_is_refused(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.answers(f"{PATH}.metadata", octets(metadata() + b"x" * 30_000))
    with pytest.raises(IndexUnreachable, match="more than 20000 bytes"):
        source(index, quick).published(artifact(index, has_metadata=True))


def test_a_wheel_without_metadata_is_refused(index: FakeIndex, quick: ResponseLimits) -> None:
    assert "0 METADATA files" in refusal(index, quick, wheel(None))


def test_a_wheel_with_two_metadata_is_refused(index: FakeIndex, quick: ResponseLimits) -> None:
    packed = io.BytesIO(wheel(TEXT))
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("other-1.0.dist-info/METADATA", metadata("other"))
    assert "2 METADATA files" in refusal(index, quick, packed.getvalue())


def test_a_whole_wheel_of_another_hash_is_refused(index: FakeIndex, quick: ResponseLimits) -> None:
    index.answers(PATH, octets(WHEEL))
    with pytest.raises(IndexUnreachable, match="hash is not the one"):
        source(index, quick).published(artifact(index, b"another wheel", has_metadata=False))


@pytest.mark.parametrize(
    "reply", [octets(b"no zip at all"), truncated(WHEEL), status(404), octets(b"x" * 2_100_000)]
)
def test_a_wheel_that_cannot_be_read_is_no_answer(
    index: FakeIndex, quick: ResponseLimits, reply: Reply
) -> None:
    index.answers(PATH, reply)
    no_hash = Artifact(
        filename=NAME, url=f"{index.root}{PATH}", tags=frozenset({Tag("py3", "none", "any")})
    )
    with pytest.raises(IndexUnreachable) as caught:
        source(index, quick).published(no_hash)
    assert NAME in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


def test_a_wheel_on_a_server_that_is_down_is_no_answer(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.stop()
    for has_metadata in (False, True):
        with pytest.raises(IndexUnreachable, match="cannot be reached"):
            source(index, quick).published(artifact(index, has_metadata=has_metadata))
