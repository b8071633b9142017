"""Every way in which an index can fail ends soon, in one clear line, and never in an empty
package.
"""

import socket
import threading

import pytest
from support.fake_index import (
    HTML,
    JSON,
    FakeIndex,
    File,
    Reply,
    body,
    bomb,
    drip,
    drip_headers,
    in_json,
    silent,
    status,
    truncated,
)

from compat.errors import IndexUnreachable
from compat.index.metadata import THREAD_NAME, ResponseLimits
from compat.index.pypi import PyPISource
from compat.index.settings import IndexSettings

GOOD = [File("thing-1.0-py3-none-any.whl")]


def source(index: FakeIndex, limits: ResponseLimits) -> PyPISource:
    return PyPISource(IndexSettings(index_url=index.url), limits=limits)


def trouble(index: FakeIndex, limits: ResponseLimits) -> str:
    """Return the one line that the index's answer ends in."""
    with pytest.raises(IndexUnreachable) as caught:
        source(index, limits).package("thing")
    assert caught.value.exit_code == 3
    line = caught.value.faults[0].line()
    assert caught.value.faults[0].hint
    assert "127.0.0.1" not in line
    assert "'thing'" in line
    return line


def test_an_index_that_is_down_cannot_be_reached(index: FakeIndex, quick: ResponseLimits) -> None:
    index.stop()
    assert "cannot be reached" in trouble(index, quick)


def test_an_index_whose_name_is_unknown_cannot_be_reached(quick: ResponseLimits) -> None:
    settings = IndexSettings(index_url="http://index.invalid/simple/")
    with pytest.raises(IndexUnreachable) as caught:
        PyPISource(settings, limits=quick).package("thing")
    assert "index.invalid" not in str(caught.value)


def test_a_404_says_to_check_the_name_and_the_address(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    line = trouble(index, quick)
    assert "no page for 'thing'" in line
    assert "check the name" in line
    assert len(index.asked) == 1


def test_a_401_says_to_check_the_login(index: FakeIndex, quick: ResponseLimits) -> None:
    index.page("thing", status(401))
    assert "check the login" in trouble(index, quick)


def test_a_429_waits_as_long_as_it_is_told(index: FakeIndex) -> None:
    index.page("thing", status(429, Retry_After="1"), in_json(GOOD))
    package = source(index, ResponseLimits(back_off=0, retry_after_max=5, total=10)).package(
        "thing"
    )
    assert len(package.releases) == 1
    assert index.asked[1].at - index.asked[0].at >= 0.95


def test_a_429_waits_as_long_as_it_is_told_but_not_for_ever(index: FakeIndex) -> None:
    index.page("thing", status(429, Retry_After="3600"))
    limits = ResponseLimits(retries=1, back_off=0, retry_after_max=1, total=10)
    assert "fewer requests (429)" in trouble(index, limits)
    assert len(index.asked) == 2


def test_a_429_that_may_wait_longer_than_the_deadline_ends_at_the_deadline(
    index: FakeIndex,
) -> None:
    index.page("thing", status(429, Retry_After="3600"))
    limits = ResponseLimits(retries=1, back_off=0, retry_after_max=3600, total=0.5)
    assert "within 0.5 s" in trouble(index, limits)


def test_a_500_is_asked_again(index: FakeIndex, quick: ResponseLimits) -> None:
    index.page("thing", status(500), in_json(GOOD))
    assert len(source(index, quick).package("thing").releases) == 1


def test_an_index_in_lasting_trouble_is_asked_a_few_times_only(
    index: FakeIndex, quick: ResponseLimits
) -> None:
    index.page("thing", status(503))
    assert "in trouble (503)" in trouble(index, quick)
    assert len(index.asked) == 1 + quick.retries


def test_a_body_that_drips_meets_the_deadline_for_the_whole(
    index: FakeIndex, impatient: ResponseLimits
) -> None:
    index.page("thing", drip(b" " * 1000, 0.05))
    assert "within 1.2 s" in trouble(index, impatient)


def test_a_body_that_drips_leaves_no_thread_behind(
    index: FakeIndex, impatient: ResponseLimits
) -> None:
    index.page("thing", drip(b" " * 400, 0.05))  # 20 s
    before = set(threading.enumerate())
    trouble(index, impatient)
    for thread in set(threading.enumerate()) - before:
        if thread.name == THREAD_NAME:
            thread.join(60)
            assert not thread.is_alive()


def test_headers_that_drip_meet_the_deadline_for_the_whole(
    index: FakeIndex, impatient: ResponseLimits
) -> None:
    index.page("thing", drip_headers(0.05))
    assert "within 1.2 s" in trouble(index, impatient)


def test_an_index_that_says_nothing_is_not_waited_for(
    index: FakeIndex, impatient: ResponseLimits
) -> None:
    index.page("thing", silent(5))
    trouble(index, impatient)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (truncated(b'{"files": ['), "broke off"),
        (body(b"not gzip at all", JSON, Content_Encoding="gzip"), "broke off"),
        (body(b"\x00\x01", "application/octet-stream"), "cannot be read"),
        (body(b'{"files": [', JSON), "cannot be read"),
        (body(b"[" * 100_000, JSON), "cannot be read"),
        (body(b'{"files": [{"filename": 3}]}', JSON), "cannot be read"),
        (body(b"[1, 2]", JSON), "cannot be read"),
        (body(b"<html><a href='/login'>Log in to this network</a></html>", HTML), "cannot be read"),
        (in_json([]), "cannot be read"),
        (in_json([File("nothing-of-the-name-1.0.tar.gz")]), "cannot be read"),
        (in_json([*GOOD, File("thing-2.0.tar.gz", url="http://[::1/x")]), "cannot be read"),
        (body(b" " * 300_000, JSON), "more than 200000 bytes"),
        (bomb(50_000_000), "more than 200000 bytes"),
        (status(302, Location="file:///etc/passwd"), "could not be asked"),
        (status(302, Location="/simple/thing/"), "could not be asked"),
        (status(302, Location="http://[::1"), ""),
        (status(429, Retry_After="soon"), "could not be asked"),
    ],
    ids=[
        "truncated",
        "broken compression",
        "wrong content type",
        "invalid JSON",
        "deep JSON",
        "wrong JSON types",
        "JSON of another shape",
        "portal page",
        "no files",
        "files of another project",
        "unreadable address of a file",
        "oversized",
        "oversized when unpacked",
        "redirected to a file",
        "redirected in a circle",
        "redirected nowhere",
        "unreadable Retry-After",
    ],
)
def test_an_answer_that_is_no_project_page_is_no_answer(
    index: FakeIndex, quick: ResponseLimits, reply: Reply, told: str
) -> None:
    index.page("thing", reply)
    assert told in trouble(index, quick)


def test_a_missing_certificate_bundle_is_not_taken_for_a_missing_release(
    quick: ResponseLimits,
) -> None:
    settings = IndexSettings(index_url="https://127.0.0.1:1/simple/", cert="/no/such/bundle.pem")
    with pytest.raises(IndexUnreachable, match=r"local file.*cert"):
        PyPISource(settings, limits=quick).package("thing")


def test_a_password_in_the_address_is_never_told(index: FakeIndex, quick: ResponseLimits) -> None:
    settings = IndexSettings(index_url=index.url.replace("http://", "http://user:s3cret@"))
    assert "s3cret" not in repr(settings)
    index.page("thing", status(403))
    with pytest.raises(IndexUnreachable) as caught:
        PyPISource(settings, limits=quick).package("thing")
    assert "s3cret" not in str(caught.value)


def test_a_port_that_is_closed_is_asked_again_before_giving_up(quick: ResponseLimits) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings = IndexSettings(index_url=f"http://127.0.0.1:{taken.getsockname()[1]}/simple/")
        with pytest.raises(IndexUnreachable, match="cannot be reached"):
            PyPISource(settings, limits=quick).package("thing")
