"""What is decided about standing pull requests: single decisions without any request, and laws over
whole histories.
"""

import json
from typing import Any

import pytest
import requests
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.examples import examples
from support.github_server import NAME, PERSON, TOKEN, Repository, Server

from compat.github.client import GitHub
from compat.github.standing import (
    Branches,
    Wanted,
    sync_issue,
    sync_pull_request,
)
from compat.rewrite.ranges import RepositoryFile

BRANCHES = Branches(own="compat/floors", base="main")
BEFORE, THREAD = "at = 1\n", ("floors", "compat")


def wanted(number: int) -> Wanted:
    file = RepositoryFile(path="matrix.toml", before=BEFORE, after=f"at = {number + 2}\n")
    return Wanted(
        title=f"Floor {number}", body=f"Because of {number}.", digest=f"d{number}", files=(file,)
    )


class TestWords:
    @pytest.mark.parametrize(
        "change",
        [
            {"title": "calls @user"},
            {"body": "fixes #1"},
            {"body": "<!-- compat:floors digest=x title=0 -->"},
            {"body": "x" * 60_001},
            {"title": ""},
            {"title": "x" * 251},
            {"title": "two\nlines"},
            {"digest": "a b"},
            {"digest": "a--b"},
        ],
    )
    def test_that_would_come_alive_or_hide_are_refused(self, change: dict[str, str]) -> None:
        with pytest.raises(ValueError, match=r"text holds|characters|digest"):
            Wanted(**{"title": "t", "body": "b", "digest": "d", **change})

    @pytest.mark.parametrize("name", ["", "-x", "a..b", "a b", "/a", "a/", "a//b", "main", "a~b"])
    def test_of_a_branch_are_plain_and_not_the_base(self, name: str) -> None:
        with pytest.raises(ValueError, match="branch"):
            Branches(own=name, base="main")


class Direct(requests.adapters.BaseAdapter):
    """Brings requests to the tests' server without a socket."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server = server

    def send(self, request: requests.PreparedRequest, **_: Any) -> requests.Response:
        body = json.loads(request.body) if request.body else None
        target = request.url.removeprefix(self.server.url)
        status, told, headers = self.server.answer(
            request.method, target, body, request.headers.get("Authorization")
        )
        response = requests.Response()
        response.status_code, response.url, response.request = status or 500, request.url, request
        response._content = json.dumps(told).encode()
        response.headers.update(headers)
        return response

    def close(self) -> None:
        """Hold nothing."""


def direct(server: Server) -> GitHub:
    server.url = "http://127.0.0.1"
    session = requests.Session()
    session.mount("http://", Direct(server))
    return GitHub(server.url, NAME, TOKEN, session, lambda seconds: None)


class Histories(RuleBasedStateMachine):
    """People and compat take turns on one repository."""

    def __init__(self) -> None:
        super().__init__()
        self.there = Repository({"matrix.toml": BEFORE})
        self.server = Server(self.there)
        self.github = direct(self.server)
        self.pushed: set[str] = set()
        self.count = 0

    @rule(number=st.integers(0, 2))
    def compat_proposes(self, number: int) -> None:
        self._run(wanted(number))

    @rule()
    def compat_has_nothing_to_propose(self) -> None:
        self._run(None)

    @rule(number=st.integers(0, 2) | st.none())
    def compat_tells(self, number: int | None) -> None:
        issue = (
            None if number is None else Wanted(title="t", body=f"b{number}", digest=f"d{number}")
        )
        sync_issue(self.github, *THREAD, issue)
        written = len(self.server.writes)
        sync_issue(self.github, *THREAD, issue)
        assert len(self.server.writes) == written

    def _run(self, proposal: Wanted | None) -> None:
        shown = sync_pull_request(self.github, BRANCHES, proposal, dry_run=True)
        outcome = sync_pull_request(self.github, BRANCHES, proposal)
        assert (shown.did == "would-do") is outcome.sentence.startswith(
            ("opened", "updated", "closed:")
        )
        written = len(self.server.writes)
        again = sync_pull_request(self.github, BRANCHES, proposal)
        assert len(self.server.writes) == written
        assert again.did == "unchanged" or again.sentence == outcome.sentence

    @precondition(lambda self: BRANCHES.own in self.there.refs)
    @rule()
    def a_person_pushes(self) -> None:
        self.count += 1
        self.pushed.add(
            self.there.push(BRANCHES.own, f"work {self.count}", README_md=f"{self.count}\n")
        )

    @precondition(lambda self: BRANCHES.own in self.there.refs)
    @rule()
    def a_person_deletes_the_branch(self) -> None:
        self.pushed -= set(self.there.history(self.there.refs[BRANCHES.own]))
        self.there.delete_branch(BRANCHES.own)

    @rule()
    def the_base_moves(self) -> None:
        self.count += 1
        self.there.push("main", f"base {self.count}", other_md=f"{self.count}\n")

    @rule(text=st.sampled_from([BEFORE, "at = 3\n", "at = 4\n", "at = 9\n"]))
    def a_person_sets_the_floor(self, text: str) -> None:
        self.there.push("main", matrix_toml=text)

    @precondition(lambda self: self.there.pulls("open"))
    @rule(squash=st.booleans())
    def a_person_merges(self, squash: bool) -> None:
        self.pushed -= set(self.there.history(self.there.refs[BRANCHES.own]))
        self.there.merge(self.there.pulls("open")[0]["number"], squash=squash)

    @precondition(lambda self: self.there.threads)
    @rule(data=st.data(), new=st.sampled_from(["open", "closed"]))
    def a_person_closes_or_opens(self, data: st.DataObject, new: str) -> None:
        thread = self.there.threads[data.draw(st.sampled_from(sorted(self.there.threads)))]
        if new == "closed" or "head" not in thread:
            thread["state"] = new

    @precondition(lambda self: self.there.threads)
    @rule(data=st.data(), words=st.sampled_from(["", "Mine", "{}\nMine", "Mine\n{}"]))
    def a_person_edits(self, data: st.DataObject, words: str) -> None:
        number = data.draw(st.sampled_from(sorted(self.there.threads)))
        self.there.edit(
            number, body=words.format(self.there.threads[number]["body"]), title=words[:4] or "T"
        )

    @invariant()
    def there_is_at_most_one_of_each(self) -> None:
        assert len(self.there.pulls("open")) <= 1

    @invariant()
    def no_commit_of_a_person_is_lost(self) -> None:
        reachable = {sha for head in self.there.refs.values() for sha in self.there.history(head)}
        assert self.pushed <= reachable

    @invariant()
    def nothing_is_said_twice(self) -> None:
        for number, texts in self.there.comments.items():
            assert len(texts) == len(set(texts)), number

    @invariant()
    def github_has_no_complaint(self) -> None:
        assert self.server.violations == []


def test_a_person_is_named_without_calling_them() -> None:
    there = Repository({"matrix.toml": BEFORE})
    github = direct(Server(there))
    sync_pull_request(github, BRANCHES, wanted(1))
    there.push(BRANCHES.own, README_md="x\n")
    there.amend(BRANCHES.own, author={**PERSON, "name": "@someone fixes #1 <b>"})
    assert sync_pull_request(github, BRANCHES, wanted(2)).did == "left-alone"
    (comment,) = there.comments[1]
    assert not {"@someone", "#1", "<b>"} & set(comment.split())
    assert "someone" in comment


def test_a_file_that_is_gone_from_the_base_is_left_alone() -> None:
    there = Repository({"other.toml": BEFORE})
    outcome = sync_pull_request(direct(Server(there)), BRANCHES, wanted(1))
    assert (outcome.did, there.pulls()) == ("left-alone", [])


def test_a_commit_that_a_person_adds_after_the_merge_is_kept() -> None:
    there = Repository({"matrix.toml": BEFORE})
    github = direct(Server(there))
    sync_pull_request(github, BRANCHES, wanted(1))
    there.merge(there.pulls("open")[0]["number"], squash=True)
    added = there.push(BRANCHES.own, "after the merge", README_md="x\n")
    there.push("main", matrix_toml=BEFORE)
    outcome = sync_pull_request(github, BRANCHES, wanted(2))
    assert outcome.did == "left-alone"
    assert there.refs[BRANCHES.own] == added


Histories.TestCase.settings = examples(60, stateful_step_count=15)
TestHistories = Histories.TestCase
