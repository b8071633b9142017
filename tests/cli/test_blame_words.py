"""The sentences of `compat blame` about an API, where the failing release is the older one."""

import pytest
from packaging.version import Version

from compat.cli.find import sentences
from compat.run.outcome import Failed, parse_outcome
from compat.search.api_change import ApiChange
from compat.search.blame import Blame, BlamedCause, BlamedPackage

ADDED = ApiChange(name="lib.new", kind="added", file="lib/core.py")
CALLED = ApiChange(name="lib.call", kind="signature", file="lib/core.py", lost=("app",))
MORE = ApiChange(name="lib.call", kind="signature", file="lib/core.py", new=("host",))


@pytest.mark.parametrize(
    ("change", "versions", "untested", "sentence"),
    [
        (ADDED, "2.0 1.9", 0, "`lib.new` was added in 2.0, in lib/core.py; 1.9 does not have it"),
        # Which of the releases between brought it is not known.
        (ADDED, "2.0 1.5", 3, "`lib.new` was added after 1.5; 2.0 has it in lib/core.py"),
        (CALLED, "2.0 1.9", 0, "`lib.call` of 1.9 does not accept app yet; it is in lib/core.py"),
        (MORE, "2.0 1.9", 0, "`lib.call` of 1.9 still accepts host; it is in lib/core.py"),
        (CALLED, "1.9 2.0", 0, "`lib.call` no longer accepts app; it is in lib/core.py"),
        (MORE, "1.9 2.0", 0, "`lib.call` also accepts host; it is in lib/core.py"),
    ],
)
def test_what_an_older_release_has_not_yet_is_not_called_gone(
    change: ApiChange, versions: str, untested: int, sentence: str
) -> None:
    works, fails = map(Version, versions.split())
    package = BlamedPackage(
        package="lib",
        good=works,
        bad=fails,
        last_good=works,
        first_bad=fails,
        untested=untested,
    )
    failure = parse_outcome("import-fail:missing-attribute(lib.new)")
    assert isinstance(failure, Failed)
    cause = BlamedCause(
        failure=failure, message="", packages=(package,), is_minimal=True, is_forward=True
    )
    answer = Blame(causes=(cause,), is_backward=True, because="", is_finished=True)
    lines = list(sentences(answer, {"lib": change}))
    assert f"  {sentence}" in lines
