"""The locker uv, asked for real against an index on this machine."""

import datetime
import os
from pathlib import Path

import msgspec
import pytest
from packaging.version import Version
from support.fake_index import FakeIndex, File, in_json, status
from support.local_index import fill

from compat.errors import IndexUnreachable
from compat.index.pypi import PyPISource
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Cutoff, Inputs, Lock, Pin, Refusal
from compat.lock.resolvers import requested_builds
from compat.lock.sources import NamedBuilds, suite_only_of
from compat.lock.uv import UvLocker, run_tool


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2024, 1, number, tzinfo=datetime.timezone.utc)


def inputs(*requirements: str, **more: object) -> Inputs:
    return Inputs(
        cell="py3.11-demo",
        python=Version("3.11.7"),
        platform="x86_64-manylinux_2_28",
        requirements=requirements,
        **more,
    )


def test_the_log_of_a_tool_holds_no_login(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        run_tool(["true", "--index=https://me:secret@example.org/x"], tmp_path, None, 60)
    assert "--index=https://example.org/x" in caplog.text


def pins(answer: Lock | Refusal) -> list[str]:
    assert isinstance(answer, Lock), answer
    return [f"{pin.name}=={pin.version}" for pin in answer.pins]


def test_it_pins_the_newest_with_hashes(locker: UvLocker) -> None:
    answer = locker.lock(inputs("demo==1.0"))
    assert pins(answer) == ["deep==1.0", "demo==1.0", "dep==1.1"]
    assert isinstance(answer, Lock)
    assert all(len(digest) == 64 for pin in answer.pins for digest in pin.hashes)


def test_the_same_question_has_the_same_answer(locker: UvLocker) -> None:
    assert locker.lock(inputs("demo==1.0")) == locker.lock(inputs("demo==1.0"))


def test_a_date_hides_what_came_later(locker: UvLocker) -> None:
    assert pins(locker.lock(inputs("demo==1.0", as_of=day(4)))) == ["demo==1.0", "dep==1.0"]


class TestLayers:
    """The library is resolved alone; then the suite and its runner beside the library's pins."""

    @pytest.fixture
    def layered(
        self, index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> UvLocker:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        packages: dict[str, list[tuple[str, int, str | None, list[str]]]] = {
            "lib": [("1.0", 1, None, ["shared<2"]), ("2.0", 9, None, [])],
            "shared": [("1.0", 1, None, []), ("2.0", 9, None, [])],
            "runner": [("1.0", 1, None, ["shared"]), ("2.0", 9, None, ["shared", "own"])],
            "own": [("1.0", 9, None, [])],
            "strict": [("1.0", 1, None, ["shared<2"])],
        }
        fill(index, packages)
        environ = {**os.environ, "UV_CACHE_DIR": str(tmp_path), "UV_HTTP_RETRIES": "0"}
        return UvLocker(IndexSettings(index_url=index.url), environ, lambda _: None)

    @pytest.mark.parametrize(
        ("library", "suite", "as_of", "pinned", "suite_only"),
        [
            # Nobody asks how old the runner is.
            ("lib==1.0", "runner", 4, "lib==1.0 own==1.0 runner==2.0 shared==1.0", "own runner"),
            (
                "lib",
                "runner",
                None,
                "lib==2.0 own==1.0 runner==2.0 shared==2.0",
                "own runner shared",
            ),
            # What the suite asks for, it gets.
            ("lib", "runner<2", None, "lib==2.0 runner==1.0 shared==2.0", "runner shared"),
            ("lib==1.0", "shared", None, "lib==1.0 shared==1.0", ""),
            # Only together do they have an answer; then it is not told apart.
            ("shared", "strict", None, "shared==1.0 strict==1.0", None),
        ],
    )
    def test_the_suite_takes_nothing_from_the_library(
        self,
        layered: UvLocker,
        library: str,
        suite: str,
        as_of: int | None,
        pinned: str,
        suite_only: str | None,
    ) -> None:
        moment = None if as_of is None else day(as_of)
        answer = layered.lock(inputs(library, suite, suite=(suite,), as_of=moment))
        assert pins(answer) == pinned.split()
        assert isinstance(answer, Lock)
        assert answer.suite_only == (None if suite_only is None else tuple(suite_only.split()))
        assert answer.inputs.as_of == moment

    def test_a_lock_that_tells_no_layers_apart_is_read_by_what_its_packages_require(self) -> None:
        lock = Lock(
            inputs=inputs("lib[fast]==1.0", "runner"),
            pins=tuple(
                Pin(name=name, version=Version("1"), hashes=("0" * 64,))
                for name in ("deep", "lib", "own", "quick", "runner")
            ),
            tool="uv 0",
        )
        requires = {
            "lib": ["quick; extra == 'fast'", "own; python_version < '3.8'"],
            "quick": ["Deep"],
            "runner": ["own", "deep"],
        }
        assert suite_only_of(lock, "lib", ("runner",), requires) == ("own", "runner")
        told = msgspec.structs.replace(lock, suite_only=("own",))
        assert suite_only_of(told, "lib", ("runner",), requires) == ("own",)
        assert [pin.name for pin in told.library_pins] == ["deep", "lib", "quick", "runner"]


def test_a_package_can_have_a_date_of_its_own_or_none(locker: UvLocker) -> None:
    early = inputs("dep==2.0", as_of=day(4), cutoffs=(Cutoff(package="dep", until=day(16)),))
    assert pins(locker.lock(early)) == ["deep==1.0", "dep==2.0"]
    free = inputs("dep==2.0", as_of=day(16), cutoffs=(Cutoff(package="deep", until=None),))
    assert pins(locker.lock(free)) == ["deep==2.0", "dep==2.0"]


def test_an_override_replaces_what_the_tree_asks(locker: UvLocker) -> None:
    assert pins(locker.lock(inputs("demo==1.0", overrides=("deep==2.0",)))) == [
        "deep==2.0",
        "demo==1.0",
        "dep==1.1",
    ]


def test_an_exclude_drops_a_package_from_the_tree(locker: UvLocker) -> None:
    assert pins(locker.lock(inputs("demo==1.0", excludes=("deep",)))) == ["demo==1.0", "dep==1.1"]


def test_of_a_package_whose_finals_count_no_pre_release_is_taken(locker: UvLocker) -> None:
    # The final 2.0 needs a deep that does not exist; left to itself, uv falls back to the release
    # candidate.
    assert pins(locker.lock(inputs("pre==2.*"))) == ["pre==2.1rc1"]
    assert (
        str(locker.lock(inputs("pre==2.*", no_prereleases=("pre",))))
        == "lock-fail:no-artifact(deep==9)"
    )


def test_a_missing_version_is_a_refusal_with_its_cause(locker: UvLocker) -> None:
    answer = locker.lock(inputs("demo==2.0", "dep==2.*"))
    assert str(answer) == "lock-fail:no-artifact(gone==4.1)"


def test_a_python_that_is_too_old_is_a_refusal_with_its_cause(locker: UvLocker) -> None:
    old = Inputs(
        cell="c",
        python=Version("3.8.18"),
        platform="x86_64-manylinux_2_28",
        requirements=("demo==2.0",),
    )
    assert str(locker.lock(old)) == "lock-fail:requires-python(demo==2.0)"


def test_two_minds_are_a_conflict(locker: UvLocker) -> None:
    answer = locker.lock(inputs("demo==1.0", "dep==2.*"))
    assert isinstance(answer, Refusal)
    assert answer.cause == "conflict"


def test_what_the_date_hides_is_named(locker: UvLocker) -> None:
    free = Cutoff(package="gone", until=None)
    answer = locker.lock(inputs("gone==4.2", as_of=day(10), cutoffs=(free,)))
    assert isinstance(answer, Refusal)
    assert (answer.cause, answer.hidden) == ("no-artifact", ("late",))


def test_a_given_pin_joins_the_answer_unresolved(locker: UvLocker) -> None:
    subject = locker.lock(inputs("demo==1.0"))
    assert isinstance(subject, Lock)
    given = next(pin for pin in subject.pins if pin.name == "demo")
    assert pins(locker.lock(inputs("dep==1.0", injected_pin=given))) == ["demo==1.0", "dep==1.0"]


def test_settings_of_the_machine_change_nothing(demo_index: FakeIndex, tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "UV_CACHE_DIR": str(tmp_path),
        "UV_EXCLUDE_NEWER": "2024-01-04",
        "UV_INDEX_URL": "http://x",
    }
    locker = UvLocker(IndexSettings(index_url=demo_index.url), environ, lambda _: None)
    assert pins(locker.lock(inputs("demo==1.0"))) == ["deep==1.0", "demo==1.0", "dep==1.1"]


def test_an_index_that_is_down_is_never_a_refusal(demo_index: FakeIndex, locker: UvLocker) -> None:
    demo_index.stop()
    with pytest.raises(IndexUnreachable) as caught:
        locker.lock(inputs("demo==1.0"))
    assert caught.value.exit_code == 3
    assert "127.0.0.1" not in str(caught.value)


def test_an_index_that_answers_with_a_fault_is_never_a_refusal(
    demo_index: FakeIndex, locker: UvLocker
) -> None:
    demo_index.page("dep", status(500))
    with pytest.raises(IndexUnreachable):
        locker.lock(inputs("demo==1.0"))


def test_of_releases_without_a_wheel_the_newest_are_named_not_where_the_resolver_went_back_to(
    index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    fill(
        index,
        {
            "demo": [("1.0", 1, None, ["middle>=1"])],
            "middle": [("2.0", 2, None, ["bottom>=1"])],
            "both": [("1.0", 1, None, ["bottom", "other"])],
            "picky": [("1.0", 1, None, ["demo", "late"])],
            "late": [("1.0", 1, None, ["nowhere>9"])],
            "nowhere": [("1.0", 1, None, [])],
        },
    )
    # To this release the resolver goes back, and its first sentence is about it.
    old = File("middle-1.0.tar.gz", sha256="1" * 64, uploaded="2024-01-01T12:00:00Z")
    new = File("middle-2.0-py3-none-any.whl", uploaded="2024-01-02T12:00:00Z", metadata=True)
    index.page("middle", in_json([old, new]))
    for name in ("bottom", "other"):
        times = enumerate(("1.0", "1.4", "1.5"), 1)
        files = [
            File(f"{name}-{v}.tar.gz", sha256="2" * 64, uploaded=f"2024-01-0{n}T12:00:00Z")
            for n, v in times
        ]
        index.page(name, in_json(files))
    settings = IndexSettings(index_url=index.url)
    environ = {**os.environ, "UV_CACHE_DIR": str(tmp_path), "UV_HTTP_RETRIES": "0"}
    builds = NamedBuilds((), PyPISource(settings), None)
    locker = UvLocker(settings, environ, lambda _: None, builds)
    answer = locker.lock(inputs("demo", as_of=day(3)))
    assert str(answer) == "lock-fail:source-only(bottom==1.4)"
    assert isinstance(answer, Refusal)
    assert requested_builds(answer.because) == ("bottom==1.4",)
    answer = locker.lock(inputs("both"))
    assert isinstance(answer, Refusal)
    assert requested_builds(answer.because) == ("bottom==1.5", "other==1.5")
    # What no build would mend is not said to want one.
    assert str(locker.lock(inputs("picky"))) == "lock-fail:no-artifact(nowhere>9)"
