"""One standing pull request and one standing issue, whatever people and the network do, against a
GitHub of our own.

Every request and every answer is held against GitHub's published description.
"""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from support import github_openapi
from support.github_server import BOT, GITHUB, NAME, TOKEN, Fault, Repository, Server, serving

from compat.errors import AuthenticationError, CompatError, ServiceUnreachable, UsageError
from compat.github.client import GitHub
from compat.github.standing import (
    Branches,
    Outcome,
    Wanted,
    sync_issue,
    sync_pull_request,
)
from compat.rewrite.ranges import RepositoryFile

BEFORE, AFTER = 'at = "3.9"\n', 'at = "3.10"\n'
BRANCHES = Branches(own="compat/floors", base="main")
THREAD = ("floors", "compat")
WANTED = Wanted(
    title="Raise the floor of python to 3.10",
    body="Every cell is green.\n",
    digest="evidence-1",
    files=(RepositoryFile(path="matrix.toml", before=BEFORE, after=AFTER),),
)
NEWER = Wanted(
    title="Raise the floor of python to 3.11",
    body="Every newer cell is green.",
    digest="evidence-2",
    files=(RepositoryFile(path="matrix.toml", before=BEFORE, after='at = "3.11"\n'),),
)
ISSUE = Wanted(title="The schedule is late", body="The last run is old.", digest="late-1")
LATER = Wanted(title="The schedule is later still", body="The last run is older.", digest="late-2")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Repository({"matrix.toml": BEFORE, "README.md": "read me\n"})) as running:
        yield running
        assert running.violations == []


@pytest.fixture
def there(server: Server) -> Repository:
    return server.repository


def github(server: Server, token: str | None = TOKEN, waited: list[float] | None = None) -> GitHub:
    waits = waited if waited is not None else []
    return GitHub(server.url, NAME, token, requests.Session(), waits.append)


def run(server: Server, wanted: Wanted | None = WANTED, **options: Any) -> Outcome:
    return sync_pull_request(github(server), BRANCHES, wanted, **options)


def run_issue(server: Server, wanted: Wanted | None = ISSUE, **options: Any) -> Outcome:
    return sync_issue(github(server), *THREAD, wanted, **options)


def the_pull(there: Repository) -> dict[str, Any]:
    """The one open pull request."""
    (pull,) = there.pulls("open")
    return pull


def the_issue(there: Repository) -> dict[str, Any]:
    """The one open issue."""
    (issue,) = there.issues("open")
    return issue


def at_once(server: Server, method: str, path: str, act: Any) -> list[Outcome]:
    """Run twice at once: both have asked the same before either gets its answer."""
    barrier = threading.Barrier(2, timeout=20)

    def wait_for_the_other(asked: str, where: str) -> None:
        if (asked, where) == (method, f"/repos/{NAME}/{path}") and waiting:
            waiting.pop()
            barrier.wait()

    waiting, outcomes = [1, 1], []
    server.before = wait_for_the_other
    threads = [threading.Thread(target=lambda: outcomes.append(act())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


class TestThePullRequest:
    def test_is_one_commit_with_the_files_on_the_head_of_the_base(
        self, server: Server, there: Repository
    ) -> None:
        outcome = run(server)
        assert outcome == Outcome(
            did="done", url="https://github.com/owner/repo/pull/1", sentence="opened"
        )
        commit = there.commits[there.refs[BRANCHES.own]]
        assert commit["parents"] == [there.refs["main"]]
        assert there.files(BRANCHES.own) == {"matrix.toml": AFTER, "README.md": "read me\n"}
        pull = the_pull(there)
        assert (pull["title"], pull["head"], pull["base"]) == (WANTED.title, BRANCHES.own, "main")
        assert "Every cell is green." in pull["body"]
        assert "evidence-1" in pull["body"]

    def test_run_twice_is_not_touched_the_second_time(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        written = len(server.writes)
        outcome = run(server)
        assert (outcome.did, outcome.url) == (
            "unchanged",
            "https://github.com/owner/repo/pull/1",
        )
        assert len(server.writes) == written
        the_pull(there)

    @pytest.mark.parametrize("path", ["pulls", "git/refs", "git/trees"])
    def test_run_twice_at_once_is_one(self, server: Server, there: Repository, path: str) -> None:
        method = "GET" if path == "pulls" else "POST"
        outcomes = at_once(server, method, path, lambda: run(server))
        assert {outcome.did for outcome in outcomes} <= {"done", "unchanged"}
        assert sum(outcome.sentence == "opened" for outcome in outcomes) == 1
        assert the_pull(there)["title"] == WANTED.title

    def test_updated_twice_at_once_is_one(self, server: Server, there: Repository) -> None:
        run(server)
        at_once(server, "GET", "pulls", lambda: run(server, NEWER))
        assert the_pull(there)["title"] == NEWER.title
        assert there.files(BRANCHES.own)["matrix.toml"] == NEWER.files[0].after

    def test_with_other_evidence_is_updated_in_place(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        outcome = run(server, NEWER)
        assert outcome.sentence.startswith("updated: ")
        pull = the_pull(there)
        assert pull["number"] == 1
        assert pull["title"] == NEWER.title
        assert "Every cell" not in pull["body"]
        assert there.commits[there.refs[BRANCHES.own]]["parents"] == [there.refs["main"]]

    def test_is_made_anew_when_the_base_moved(self, server: Server, there: Repository) -> None:
        run(server)
        there.push("main", README_md="new\n")
        assert run(server).sentence == "updated: its commit"
        assert there.commits[there.refs[BRANCHES.own]]["parents"] == [there.refs["main"]]
        assert there.files(BRANCHES.own) == {"matrix.toml": AFTER, "README.md": "new\n"}
        assert run(server).did == "unchanged"
        the_pull(there)

    def test_never_takes_back_what_others_changed_in_the_same_file(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.push("main", matrix_toml=f"{BEFORE}other = 1\n")
        outcome = run(server)
        assert outcome.did == "left-alone"
        assert "newest commit" in outcome.sentence
        the_pull(there)

    def test_closes_itself_with_a_sentence_when_nothing_is_left_to_propose(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        outcome = run(server, None)
        assert (outcome.did, outcome.url) == ("done", "https://github.com/owner/repo/pull/1")
        assert outcome.sentence.startswith("closed: ")
        assert there.pulls("open") == []
        (comment,) = there.comments[1]
        assert comment.startswith("No move")
        assert run(server, None).did == "unchanged"
        assert len(there.comments[1]) == 1

    def test_that_closed_itself_comes_again_with_the_same_evidence(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        run(server, None)
        assert run(server).sentence == "opened"
        assert the_pull(there)["number"] == 2

    def test_that_closed_itself_and_was_opened_again_by_a_person_stays_open(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        run(server, None)
        there.edit(1, state="open")
        assert run(server, None).did == "left-alone"
        the_pull(there)
        assert run(server).sentence == "updated: its text"
        assert run(server).did == "unchanged"

    @pytest.mark.parametrize("squash", [True, False])
    def test_that_was_merged_is_over_and_the_next_one_is_new(
        self, server: Server, there: Repository, squash: bool
    ) -> None:
        run(server)
        there.merge(1, squash=squash)
        assert run(server).did == "unchanged"
        later = Wanted(
            title=NEWER.title,
            body="x",
            digest="e3",
            files=(RepositoryFile(path="matrix.toml", before=AFTER, after="at=3\n"),),
        )
        assert run(server, later).sentence == "opened"
        assert the_pull(there)["number"] == 2

    def test_that_was_merged_and_taken_back_is_not_asked_again(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.merge(1)
        there.push("main", matrix_toml=BEFORE)
        outcome = run(server)
        assert outcome.did == "left-alone"
        assert "taken back" in outcome.sentence
        assert there.pulls("open") == []

    def test_is_found_on_a_later_page(self, server: Server, there: Repository) -> None:
        server.page_size = 1
        for digest in ("a", "b", "c"):
            run(server, Wanted(title="T", body="B", digest=digest, files=WANTED.files))
            run(server, None)
        there.threads[1] |= {"body": there.threads[1]["body"].replace(" withdrawn", "")}
        outcome = run(server, Wanted(title="T", body="B", digest="a", files=WANTED.files))
        assert outcome.did == "left-alone"
        assert there.pulls("open") == []

    def test_of_a_fork_with_the_same_branch_name_is_not_ours(
        self, server: Server, there: Repository
    ) -> None:
        body = run(server, dry_run=True).body.replace("evidence-1", "evidence-2")
        there.add(
            {
                "title": "x",
                "body": body,
                "head": BRANCHES.own,
                "base": "stable",
                "fork": "owner/fork",
            }
        )
        there.refs["stable"] = there.refs["main"]
        assert run(server).sentence == "opened"
        assert [pull["number"] for pull in there.pulls("open")] == [1, 2]


class TestAPersonsWork:
    def test_a_commit_on_the_branch_is_never_overwritten(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        theirs = there.push(BRANCHES.own, README_md="theirs\n")
        for _ in range(2):
            outcome = run(server, NEWER)
            assert outcome.did == "left-alone"
            assert "a person" in outcome.sentence
        assert there.refs[BRANCHES.own] == theirs
        assert the_pull(there)["title"] == WANTED.title
        (comment,) = there.comments[1]
        assert "leaves this pull request" in comment

    def test_a_commit_on_the_branch_keeps_the_pull_request_open_on_recovery(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.push(BRANCHES.own, README_md="theirs\n")
        run(server, None)
        run(server, None)
        the_pull(there)
        assert len(there.comments[1]) == 1

    @pytest.mark.parametrize(
        "changed",
        [
            {"message": "Mine"},
            {"message": "Mine", "committer": BOT},
        ],
    )
    def test_an_amended_or_moved_commit_is_theirs(
        self, server: Server, there: Repository, changed: dict[str, Any]
    ) -> None:
        run(server)
        there.amend(BRANCHES.own, **changed)
        mine = there.refs[BRANCHES.own]
        assert run(server, NEWER).did == "left-alone"
        assert there.refs[BRANCHES.own] == mine

    def test_content_amended_under_our_own_name_is_theirs(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        author = there.commits[there.refs[BRANCHES.own]]["author"]
        there.amend(BRANCHES.own, committer=author, tree=there.tree({"matrix.toml": "theirs\n"}))
        mine = there.refs[BRANCHES.own]
        assert run(server, NEWER).did == "left-alone"
        assert there.refs[BRANCHES.own] == mine

    def test_a_commit_that_github_signs_for_us_is_ours(
        self, server: Server, there: Repository
    ) -> None:
        there.committer = GITHUB
        run(server)
        assert run(server, NEWER).sentence.startswith("updated")

    def test_a_branch_of_theirs_without_a_pull_request_is_left_alone(
        self, server: Server, there: Repository
    ) -> None:
        there.refs[BRANCHES.own] = there.refs["main"]
        theirs = there.push(BRANCHES.own, README_md="theirs\n")
        assert run(server).did == "left-alone"
        assert run(server, None).did == "unchanged"
        assert there.refs[BRANCHES.own] == theirs
        assert there.pulls() == []

    def test_a_branch_that_only_points_at_the_base_is_taken(
        self, server: Server, there: Repository
    ) -> None:
        there.refs[BRANCHES.own] = there.refs["main"]
        assert run(server).sentence == "opened"
        the_pull(there)

    def test_a_commit_of_theirs_that_was_merged_no_longer_stands_in_the_way(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.push(BRANCHES.own, README_md="theirs\n")
        there.merge(1, squash=True)
        there.push("main", matrix_toml=BEFORE)
        assert run(server, NEWER).sentence == "opened"
        assert there.files("main")["README.md"] == "theirs\n"

    def test_an_edited_title_and_text_stay_while_the_evidence_is_the_same(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        body = the_pull(there)["body"].replace("green", "blue")
        there.edit(1, title="My title", body=f"My words\n\n{body}\n\nMore words")
        assert run(server).did == "unchanged"
        assert "blue" in the_pull(there)["body"]

    def test_an_edited_title_and_words_around_ours_stay_when_the_evidence_changes(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.edit(1, title="My title", body=f"My words\n\n{the_pull(there)['body']}\n\nMore words")
        for _ in range(2):
            run(server, NEWER)
            pull = the_pull(there)
            assert pull["title"] == "My title"
            assert pull["body"].startswith("My words\n\n<!-- compat")
            assert pull["body"].endswith("-->\n\nMore words")
            assert pull["body"].count("newer cell") == 1
            assert "Every cell" not in pull["body"]

    def test_a_text_without_our_mark_is_kept_and_ours_comes_below_with_new_evidence(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.edit(1, body="All mine")
        assert run(server).did == "unchanged"
        run(server, NEWER)
        assert the_pull(there)["body"].startswith("All mine\n\n<!-- compat")
        assert run(server, NEWER).did == "unchanged"

    def test_closed_unmerged_is_respected_until_the_evidence_changes(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.edit(1, state="closed")
        written = len(server.writes)
        for _ in range(2):
            outcome = run(server)
            assert outcome.did == "left-alone"
            assert "closed by a person" in outcome.sentence
        assert len(server.writes) == written
        assert there.pulls("open") == []
        assert run(server, NEWER).sentence == "opened"
        assert the_pull(there)["number"] == 2

    @pytest.mark.parametrize("how", ["no mark", "no branch"])
    def test_closed_is_respected_without_our_mark_and_without_the_branch(
        self, server: Server, there: Repository, how: str
    ) -> None:
        run(server)
        if how == "no mark":
            there.edit(1, body="", state="closed")
        else:
            there.delete_branch(BRANCHES.own)
        assert run(server).did == "left-alone"
        assert run(server, NEWER).sentence == "opened"

    def test_a_no_is_remembered_behind_a_later_pull_request(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.edit(1, state="closed")
        run(server, NEWER)
        run(server, None)
        assert run(server).did == "left-alone"

    def test_pointed_at_another_branch_is_left_alone(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        there.refs["stable"] = there.refs["main"]
        there.edit(1, base="stable")
        assert run(server, NEWER).did == "left-alone"
        the_pull(there)

    def test_a_push_between_our_look_and_our_write_is_kept(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        pushed: list[str] = []

        def push_once(method: str, path: str) -> None:
            if path.endswith("git/commits") and not pushed:
                pushed.append(there.push(BRANCHES.own, README_md="theirs\n"))

        server.before = push_once
        assert run(server, NEWER).did == "left-alone"
        assert there.refs[BRANCHES.own] == pushed[0]


class TestTheStandingIssue:
    def test_is_opened_once(self, server: Server, there: Repository) -> None:
        assert run_issue(server) == Outcome(
            did="done", url="https://github.com/owner/repo/issues/1", sentence="opened"
        )
        written = len(server.writes)
        assert run_issue(server).did == "unchanged"
        assert len(server.writes) == written
        assert the_issue(there)["labels"] == ["compat"]

    def test_opened_twice_at_once_is_one(self, server: Server, there: Repository) -> None:
        at_once(server, "GET", "issues", lambda: run_issue(server))
        assert the_issue(there)["number"] == 1
        assert run_issue(server).did == "unchanged"

    def test_is_updated_closed_and_opened_again_in_place(
        self, server: Server, there: Repository
    ) -> None:
        run_issue(server)
        assert run_issue(server, LATER).sentence == "updated"
        assert the_issue(there)["title"] == LATER.title
        assert run_issue(server, None).sentence == "closed"
        assert len(there.comments[1]) == 1
        assert run_issue(server, None).did == "unchanged"
        assert run_issue(server, LATER).sentence == "opened again"
        assert the_issue(there)["number"] == 1
        assert run_issue(server, LATER).did == "unchanged"

    def test_closed_by_a_person_is_respected_until_the_evidence_changes(
        self, server: Server, there: Repository
    ) -> None:
        run_issue(server)
        there.edit(1, state="closed")
        assert run_issue(server).did == "left-alone"
        assert there.issues("open") == []
        assert run_issue(server, LATER).sentence == "opened again"
        the_issue(there)

    def test_closed_by_itself_and_opened_again_by_a_person_stays_open(
        self, server: Server, there: Repository
    ) -> None:
        run_issue(server)
        run_issue(server, None)
        there.edit(1, state="open")
        assert run_issue(server, None).did == "left-alone"
        the_issue(there)

    def test_is_not_another_issue_or_pull_request_with_the_label(
        self, server: Server, there: Repository
    ) -> None:
        there.add({"title": "x", "body": "theirs", "labels": ["compat"]})
        run(server)
        there.threads[2]["labels"] = ["compat"]
        run_issue(server)
        assert [issue["number"] for issue in there.issues("open")] == [1, 3]
        assert run_issue(server, None).sentence == "closed"
        assert [issue["number"] for issue in there.issues("open")] == [1]

    def test_is_found_on_a_later_page(self, server: Server, there: Repository) -> None:
        run_issue(server)
        for _ in range(3):
            there.add({"title": "x", "body": "theirs", "labels": ["compat"]})
        server.page_size = 1
        assert run_issue(server).did == "unchanged"

    @pytest.mark.parametrize("after", [True, False])
    def test_that_may_have_been_opened_is_not_opened_twice(
        self, server: Server, there: Repository, after: bool
    ) -> None:
        server.faults = [Fault("POST", "/issues$", 502, after=after)]
        run_issue(server)
        the_issue(there)

    def test_tried_dry_is_shown_and_not_written(self, server: Server, there: Repository) -> None:
        outcome = run_issue(server, dry_run=True)
        assert outcome.did == "would-do"
        assert (outcome.title, there.issues()) == (ISSUE.title, [])
        run_issue(server)
        assert run_issue(server, LATER, dry_run=True).sentence == "would be updated"
        assert run_issue(server, None, dry_run=True).sentence.startswith("would be closed")
        assert run_issue(server, dry_run=True).did == "unchanged"
        there.edit(1, state="closed")
        assert run_issue(server, dry_run=True).did == "left-alone"


class TestADryRun:
    def test_shows_the_exact_text_and_diff_and_writes_nothing(
        self, server: Server, there: Repository
    ) -> None:
        shown = run(server, dry_run=True)
        assert shown.did == "would-do"
        assert server.writes == []
        run(server)
        assert (the_pull(there)["title"], the_pull(there)["body"]) == (shown.title, shown.body)
        assert '-at = "3.9"\n+at = "3.10"\n' in shown.diff

    def test_tells_each_thing_that_it_would_do(self, server: Server, there: Repository) -> None:
        run(server)
        written = len(server.writes)
        assert run(server, dry_run=True).did == "unchanged"
        assert run(server, NEWER, dry_run=True).sentence.startswith("would be updated: ")
        assert run(server, None, dry_run=True).sentence.startswith("would be closed")
        there.push(BRANCHES.own, README_md="theirs\n")
        assert run(server, dry_run=True).did == "left-alone"
        assert len(server.writes) == written

    def test_without_a_token_shows_what_would_be_written_and_asks_nothing(
        self, server: Server
    ) -> None:
        shown = sync_pull_request(github(server, token=None), BRANCHES, WANTED, dry_run=True)
        assert shown.did == "would-do"
        assert (shown.title, shown.body) == (WANTED.title, WANTED.body)
        assert "+at" in shown.diff
        assert (
            sync_pull_request(github(server, token=None), BRANCHES, None, dry_run=True).did
            == "unchanged"
        )
        assert (
            sync_issue(github(server, token=None), *THREAD, ISSUE, dry_run=True).did == "would-do"
        )
        assert server.requests == []


def refused(server: Server, **options: Any) -> CompatError:
    """What a run is stopped by; it never shows the token."""
    with pytest.raises(CompatError) as trouble:
        sync_pull_request(github(server, **options), BRANCHES, WANTED)
    assert TOKEN not in str(trouble.value)
    return trouble.value


class TestTokens:
    def test_missing_is_exit_4(self, server: Server) -> None:
        trouble = refused(server, token=None)
        assert (type(trouble), trouble.exit_code) == (AuthenticationError, 4)
        with pytest.raises(AuthenticationError):
            sync_issue(github(server, token=None), *THREAD, ISSUE)
        assert server.requests == []

    def test_wrong_is_exit_4_and_not_shown(self, server: Server) -> None:
        trouble = refused(server, token="wrong-token")
        assert trouble.exit_code == 4
        assert "wrong-token" not in str(trouble)

    def test_echoed_by_the_server_is_not_shown(self, server: Server) -> None:
        server.faults = [Fault("GET", "", 401, message=f"no such token {TOKEN}")]
        assert "***" in str(refused(server))

    @pytest.mark.parametrize("token", ["two\nlines", "a b", "", "täken", "a\r\nX: y"])
    def test_that_cannot_be_one_is_exit_4_and_not_shown(self, server: Server, token: str) -> None:
        with pytest.raises(AuthenticationError) as trouble:
            github(server, token=token)
        assert not token or token not in str(trouble.value)

    def test_without_permission_is_exit_4_and_names_what_is_missing(
        self, server: Server, there: Repository
    ) -> None:
        server.permissions = {"issues"}
        trouble = refused(server)
        assert trouble.exit_code == 4
        assert "contents=write" in str(trouble)
        assert there.pulls() == []

    def test_is_asked_for_before_any_write_and_not_waited_for_while_requests_are_left(
        self, server: Server
    ) -> None:
        with pytest.raises(AuthenticationError):
            github(server, token=None).open("pulls", title="t")
        waited: list[float] = []
        server.faults = [
            Fault("GET", "", 403, X_RateLimit_Remaining="5", X_RateLimit_Reset="4102444800")
        ]
        assert refused(server, waited=waited).exit_code == 4
        assert waited == []

    def test_that_may_not_open_pull_requests_names_the_setting(
        self, server: Server, there: Repository
    ) -> None:
        message = "GitHub Actions is not permitted to create or approve pull requests."
        server.faults = [Fault("POST", "/pulls", 403, message=message)]
        assert "settings" in str(refused(server))
        assert run(server).sentence == "opened"
        the_pull(there)

    def test_is_sent_and_nothing_from_a_netrc_file(
        self, server: Server, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login someone password else\n")
        monkeypatch.setenv("NETRC", str(netrc))
        run(server)
        assert set(server.authorizations) == {f"Bearer {TOKEN}"}

    @pytest.mark.parametrize(
        "address", ["http://api.example.org", "https://me:word@api.example.org", "https://a/?b=c"]
    )
    def test_do_not_travel_in_the_clear(self, address: str) -> None:
        with pytest.raises(UsageError) as trouble:
            GitHub(address, NAME, TOKEN, requests.Session())
        assert "word" not in str(trouble.value)

    @pytest.mark.parametrize("name", ["", "repo", "a/b/c", "../x", "a/..", "a/b?c", "a b/c"])
    def test_go_to_no_repository_of_a_strange_name(self, name: str) -> None:
        with pytest.raises(UsageError):
            GitHub("https://api.example.org", name, TOKEN, requests.Session())


class TestTroubleOnTheWay:
    def test_a_short_rate_limit_is_waited_for(self, server: Server, there: Repository) -> None:
        waited: list[float] = []
        server.faults = [
            Fault("GET", "/pulls", 403, Retry_After="7"),
            Fault("POST", "/git/trees", 429, Retry_After="5"),
        ]
        sync_pull_request(github(server, waited=waited), BRANCHES, WANTED)
        assert waited == [7.0, 5.0]
        the_pull(there)

    def test_a_long_rate_limit_is_exit_3_and_says_when(
        self, server: Server, there: Repository
    ) -> None:
        fault = Fault(
            "POST", "/pulls", 403, X_RateLimit_Remaining="0", X_RateLimit_Reset="4102444800"
        )
        server.faults = [fault]
        trouble = refused(server)
        assert (type(trouble), trouble.exit_code) == (ServiceUnreachable, 3)
        assert "2100-01-01 00:00:01 UTC" in str(trouble)
        assert run(server).sentence == "opened"
        the_pull(there)

    def test_a_rate_limit_without_a_time_is_waited_for_a_minute_and_not_for_ever(
        self, server: Server
    ) -> None:
        waited: list[float] = []
        message = "You have exceeded a secondary rate limit."
        server.faults = [Fault("GET", "/pulls", 403, message=message) for _ in range(9)]
        assert refused(server, waited=waited).exit_code == 3
        assert waited == [60.0] * 3

    @pytest.mark.parametrize("status", [500, 502, 503, None])
    @pytest.mark.parametrize("after", [True, False])
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "/git/trees"),
            ("POST", "/git/commits"),
            ("POST", "/git/refs"),
            ("POST", "/pulls"),
        ],
    )
    def test_a_write_that_may_have_happened_is_looked_for_before_it_is_repeated(
        self,
        server: Server,
        there: Repository,
        status: int | None,
        after: bool,
        method: str,
        path: str,
    ) -> None:
        server.faults = [Fault(method, path, status, after=after)]
        run(server)
        assert server.faults == []
        assert len(there.pulls()) == 1
        assert there.files(BRANCHES.own)["matrix.toml"] == AFTER
        assert run(server).did == "unchanged"

    @pytest.mark.parametrize("after", [True, False])
    @pytest.mark.parametrize(("method", "path"), [("PATCH", "/git/refs"), ("PATCH", "/pulls")])
    def test_an_update_that_may_have_happened_ends_as_one(
        self, server: Server, there: Repository, after: bool, method: str, path: str
    ) -> None:
        run(server)
        server.faults = [Fault(method, path, 500, after=after)]
        run(server, NEWER)
        assert the_pull(there)["title"] == NEWER.title
        assert there.files(BRANCHES.own)["matrix.toml"] == NEWER.files[0].after
        assert run(server, NEWER).did == "unchanged"

    @pytest.mark.parametrize("after", [True, False])
    @pytest.mark.parametrize("path", ["/comments", "/pulls"])
    def test_a_closing_that_may_have_happened_says_its_sentence_once(
        self, server: Server, there: Repository, after: bool, path: str
    ) -> None:
        run(server)
        server.faults = [Fault("POST" if path == "/comments" else "PATCH", path, 500, after=after)]
        run(server, None)
        assert there.pulls("open") == []
        assert len(there.comments[1]) == 1

    def test_a_read_is_repeated_three_times_and_then_it_is_exit_3(
        self, server: Server, there: Repository
    ) -> None:
        server.faults = [Fault("GET", "/contents", 502), Fault("GET", "/contents", None)]
        run(server)
        server.faults = [Fault("GET", "/pulls", 503) for _ in range(3)]
        assert refused(server).exit_code == 3
        the_pull(there)

    def test_a_write_that_never_succeeds_is_exit_3(self, server: Server, there: Repository) -> None:
        server.faults = [Fault("POST", "/pulls", 500) for _ in range(99)]
        trouble = refused(server)
        assert (trouble.exit_code, there.pulls()) == (3, [])
        assert "rounds" in str(trouble)

    def test_rules_of_the_repository_that_forbid_the_branch_are_told(self, server: Server) -> None:
        server.faults = [
            Fault("POST", "/git/refs", 422, message="Repository rule violations found")
        ]
        assert "rule violations" in str(refused(server))

    def test_no_server_at_all_is_exit_3(self) -> None:
        nowhere = GitHub(
            "http://127.0.0.1:9", NAME, TOKEN, requests.Session(), lambda seconds: None
        )
        with pytest.raises(ServiceUnreachable):
            sync_pull_request(nowhere, BRANCHES, WANTED)

    def test_a_next_page_outside_the_api_is_not_asked_for(
        self, server: Server, there: Repository
    ) -> None:
        run(server)
        run(server, None)
        run(server)
        reader, server.page_size = github(server), 1
        server.url = "http://127.0.0.1:9"
        with pytest.raises(ServiceUnreachable, match="outside its API"):
            sync_pull_request(reader, BRANCHES, WANTED)

    def test_a_file_too_large_to_be_told_is_exit_2(self, server: Server, there: Repository) -> None:
        there.too_large.add("matrix.toml")
        with pytest.raises(UsageError, match="1 MB"):
            run(server)

    def test_an_error_that_is_not_json_is_told_by_its_status(self, server: Server) -> None:
        server.faults = [Fault("GET", "", 418, message="")]
        assert "status 418" in str(refused(server))

    def test_no_such_base_is_exit_2(self, server: Server) -> None:
        with pytest.raises(UsageError, match="no branch absent"):
            sync_pull_request(github(server), Branches(own="compat/floors", base="absent"), WANTED)


class TestTheDescription:
    def test_has_no_complaint_about_a_whole_life(self, server: Server, there: Repository) -> None:
        run(server)
        run(server, NEWER)
        run(server, None)
        run_issue(server)
        run_issue(server, None)
        asked = {
            (method, found[0])
            for method, path in server.requests
            if (found := github_openapi.operation(method, f"/repos/{NAME}/{path}")) is not None
        }
        described = {
            (method.upper(), name)
            for name, methods in github_openapi.DESCRIPTION["paths"].items()
            for method in methods
        }
        assert asked == described

    @pytest.mark.parametrize(
        ("method", "path", "query", "body", "complaint"),
        [
            ("POST", "pulls", {}, {"title": "t", "head": "h"}, "'base' is a required property"),
            (
                "POST",
                "pulls",
                {},
                {"title": "t", "head": "h", "base": "b", "bdy": "x"},
                "'bdy' was unexpected",
            ),
            (
                "POST",
                "git/trees",
                {},
                {"tree": [{"path": "a", "mode": "644"}]},
                "'644' is not one of",
            ),
            ("PATCH", "pulls/1", {}, {"state": "shut"}, "'shut' is not one of"),
            ("GET", "pulls", {"state": "any"}, None, "query state"),
            ("GET", "pulls", {"heads": "x"}, None, "query heads is not known"),
            ("PUT", "pulls/1/merge", {}, None, "no such operation"),
            ("GET", "pulls/1/2", {}, None, "no such operation"),
            ("GET", "pulls", {}, {"a": 1}, "takes no body"),
        ],
    )
    def test_bites_on_a_wrong_request(
        self, method: str, path: str, query: dict[str, str], body: Any, complaint: str
    ) -> None:
        found = github_openapi.violations(
            method, f"/repos/{NAME}/{path}", query, body, 404, {"message": "x"}
        )
        assert any(complaint in violation for violation in found), found

    @pytest.mark.parametrize(
        ("status", "answer"),
        [(201, {"number": 1}), (204, None), (422, ["no"]), (500, {"message": 3})],
    )
    def test_bites_on_a_wrong_answer(self, status: int, answer: Any) -> None:
        body = {"title": "t", "head": "h", "base": "b"}
        assert github_openapi.violations("POST", f"/repos/{NAME}/pulls", {}, body, status, answer)

    def test_of_a_server_that_answers_wrongly_is_exit_3(self, server: Server) -> None:
        server.repository.threads[1] = {
            "number": "one",
            "state": "open",
            "head": BRANCHES.own,
            "base": "main",
        }
        server.repository.threads[1] |= {"title": "x", "body": "", "merged_at": None}
        server.repository.refs[BRANCHES.own] = server.repository.refs["main"]
        assert "description" in str(refused(server))
        assert server.violations
        server.violations.clear()
