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
from support.github_server import NAME, TOKEN, Repository, Server

from compat.github.client import GitHub
from compat.github.issue import DesiredIssue, IssueKey
from compat.github.marker import first_body, marked, withdrawn
from compat.github.pull_request import (
    Branches,
    Close,
    Commit,
    DeferToHuman,
    DesiredPullRequest,
    NoChange,
    Open,
    Pull,
    RepositoryFile,
    RepositoryState,
    decision,
    message,
    sealed,
)
from compat.github.rest import Rest
from compat.github.sync import LeftAlone, Unchanged, WouldDo, sync_issue, sync_pull_request

BRANCHES = Branches(own="compat/floors", base="main")
BEFORE, THREAD = "at = 1\n", IssueKey(key="floors", label="compat")


def wanted(number: int) -> DesiredPullRequest:
    file = RepositoryFile(path="matrix.toml", before=BEFORE, after=f"at = {number + 2}\n")
    return DesiredPullRequest(
        title=f"Floor {number}", body=f"Because of {number}.", digest=f"d{number}", files=(file,)
    )


def commit(words: str = "x", **changes: Any) -> Commit:
    emails = {"author_email": "a@example.org", "committer_email": "a@example.org"}
    return Commit(
        **{
            "sha": "c1",
            "tree": "t1",
            "parents": ("p1",),
            "message": words,
            "author": "A",
            **emails,
            **changes,
        }
    )


BASE = commit(sha="p1", parents=())


def ours(number: int = 1, **changes: Any) -> Commit:
    return commit(message(wanted(number), "t1", "p1"), **changes)


def pull(number: int = 1, **changes: Any) -> Pull:
    told = {
        "number": 1,
        "url": "u",
        "title": wanted(number).title,
        "base": "main",
        "head": "c1",
        "state": "open",
    }
    return Pull(**{**told, "body": first_body(wanted(number), "floors"), **changes})


def state(head: Commit | None, *pulls: Pull, text: str | None = BEFORE) -> RepositoryState:
    return RepositoryState(base=BASE, texts=(text,), head=head, pulls=pulls)


class TestADecision:
    def test_opens_where_there_is_nothing(self) -> None:
        step = decision(wanted(1), BRANCHES, state(None))
        body = first_body(wanted(1), "floors")
        assert step == Open(title="Floor 1", body=body, recreate_branch=True)

    def test_takes_up_a_branch_that_was_left_without_its_pull_request(self) -> None:
        step = decision(wanted(1), BRANCHES, state(ours()))
        assert isinstance(step, Open)
        assert not step.recreate_branch

    def test_does_nothing_when_all_is_said(self) -> None:
        assert isinstance(decision(wanted(1), BRANCHES, state(ours(), pull())), NoChange)

    def test_does_nothing_when_the_base_has_it(self) -> None:
        assert isinstance(decision(wanted(1), BRANCHES, state(None, text="at = 3\n")), NoChange)
        assert isinstance(
            decision(wanted(1), BRANCHES, state(ours(), pull(), text="at = 3\n")), Close
        )

    def test_leaves_a_file_alone_that_is_gone_from_the_base(self) -> None:
        assert isinstance(decision(wanted(1), BRANCHES, state(None, text=None)), DeferToHuman)

    def test_names_a_person_without_calling_them(self) -> None:
        theirs = commit(author="@someone fixes #1 <b>")
        step = decision(wanted(1), BRANCHES, state(theirs, pull()))
        assert isinstance(step, DeferToHuman)
        assert step.comment is not None
        assert "@someone" not in step.comment
        assert "#1" not in step.comment
        assert "<b>" not in step.comment


class TestASeal:
    def test_is_of_the_words_the_tree_and_the_parent(self) -> None:
        assert sealed(ours()) is not None
        for changes in (
            {"tree": "t2"},
            {"parents": ("p2",)},
            {"parents": ("p1", "p2")},
            {"parents": ()},
        ):
            assert sealed(ours(**changes)) is None
        assert sealed(commit(message(wanted(1), "t1", "p1").replace("Floor", "floor"))) is None
        assert sealed(commit("no seal")) is None

    def test_counts_only_when_who_wrote_it_or_github_committed_it(self) -> None:
        assert sealed(ours(committer_email="noreply@github.com")) is not None
        assert sealed(ours(committer_email="b@example.org")) is None


class TestWords:
    @pytest.mark.parametrize("above", ["", "before\n", "<!-- compat:other digest=a title=b -->\n"])
    @pytest.mark.parametrize("below", ["", "\nafter"])
    def test_are_found_again_between_what_people_wrote(self, above: str, below: str) -> None:
        found = marked(above + first_body(wanted(1), "floors") + below, "floors")
        assert found is not None
        assert (found.above, found.text, found.below) == (above, "Because of 1.", below)
        assert found.written("floors") == above + first_body(wanted(1), "floors") + below

    def test_that_are_withdrawn_say_so(self) -> None:
        for body in (first_body(wanted(1), "floors"), "no mark", ""):
            found = marked(withdrawn(body, "floors"), "floors")
            assert found is not None
            assert found.withdrawn

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
            DesiredIssue(**{"title": "t", "body": "b", "digest": "d", **change})

    @pytest.mark.parametrize("name", ["", "-x", "a..b", "a b", "/a", "a/", "a//b", "main", "a~b"])
    def test_of_a_branch_are_plain_and_not_the_base(self, name: str) -> None:
        with pytest.raises(ValueError, match="branch"):
            Branches(own=name, base="main")

    @pytest.mark.parametrize(
        ("key", "label"), [("", "a"), ("a b", "a"), ("a", ""), ("a", "a,b"), ("a--b", "c")]
    )
    def test_of_a_thread_fit_its_mark_and_label(self, key: str, label: str) -> None:
        with pytest.raises(ValueError, match="thread"):
            IssueKey(key=key, label=label)


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
    return GitHub(Rest(server.url, NAME, TOKEN, session, lambda seconds: None))


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
            None
            if number is None
            else DesiredIssue(title="t", body=f"b{number}", digest=f"d{number}")
        )
        sync_issue(self.github, THREAD, issue)
        written = len(self.server.writes)
        sync_issue(self.github, THREAD, issue)
        assert len(self.server.writes) == written

    def _run(self, proposal: DesiredPullRequest | None) -> None:
        shown = sync_pull_request(self.github, BRANCHES, proposal, dry_run=True)
        outcome = sync_pull_request(self.github, BRANCHES, proposal)
        assert isinstance(shown, WouldDo) is outcome.sentence.startswith(
            ("opened", "updated", "closed:")
        )
        written = len(self.server.writes)
        again = sync_pull_request(self.github, BRANCHES, proposal)
        assert len(self.server.writes) == written
        assert isinstance(again, Unchanged) or again.sentence == outcome.sentence

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


def test_a_commit_that_a_person_adds_after_the_merge_is_kept() -> None:
    there = Repository({"matrix.toml": BEFORE})
    github = direct(Server(there))
    sync_pull_request(github, BRANCHES, wanted(1))
    there.merge(there.pulls("open")[0]["number"], squash=True)
    added = there.push(BRANCHES.own, "after the merge", README_md="x\n")
    there.push("main", matrix_toml=BEFORE)
    outcome = sync_pull_request(github, BRANCHES, wanted(2))
    assert isinstance(outcome, LeftAlone)
    assert there.refs[BRANCHES.own] == added


Histories.TestCase.settings = examples(60, stateful_step_count=15)
TestHistories = Histories.TestCase
