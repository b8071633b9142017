"""The last lines of the tests: what this machine did not test, and the one command that adds it."""

import pytest
from support.untested import untested


def test_what_was_not_tested_is_told_with_the_command_that_adds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("support.untested.shutil.which", lambda name: None)
    reasons = ["this machine does not allow L3"] * 2 + [
        "no chromium here: apt-get install chromium",
        "another reason",
    ]
    assert untested(reasons) == [
        "Not tested here: isolation L3 (2 tests), the site in Chromium (1 test).",
        "This adds it: sudo apt-get install --yes bubblewrap chromium",
    ]


def test_where_the_sandbox_is_there_but_refused_the_command_allows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("support.untested.shutil.which", lambda name: f"/usr/bin/{name}")
    (_, remedy) = untested(["this machine does not allow L3"])
    assert (
        remedy == "This adds it: sudo sysctl --write kernel.apparmor_restrict_unprivileged_userns=0"
    )


def test_where_all_was_tested_nothing_is_said() -> None:
    assert untested(["the package index does not answer"]) == []
