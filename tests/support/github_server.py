"""A GitHub of one repository on this machine, with real objects, references, pull requests, issues
and comments.
"""

import base64
import copy
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from support import github_openapi
from support.json_server import json_served

NAME = "owner/repo"
TOKEN = "token-of-the-tests"
BOT = {"name": "a bot", "email": "bot@example.org", "date": "2026-01-01T00:00:00Z"}
GITHUB = {"name": "GitHub", "email": "noreply@github.com", "date": "2026-01-01T00:00:00Z"}
PERSON = {"name": "a person", "email": "person@example.org", "date": "2026-01-02T00:00:00Z"}
TIME = "2026-01-01T00:00:00Z"
Answer = tuple[int, Any]


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, message: str, *errors: str) -> None:
        super().__init__(message)
        self.answer = (
            status,
            {
                "message": message,
                "documentation_url": "https://docs.github.com/rest",
                "status": str(status),
            }
            | (
                {"errors": [{"code": "custom", "message": error} for error in errors]}
                if errors
                else {}
            ),
        )


class Fault:
    """What goes wrong with the next matching request: an answer instead of it, or after it took
    effect.
    """

    def __init__(
        self, method: str, path: str, status: int | None, *, after: bool = False, **headers: str
    ) -> None:
        self.method, self.path, self.status, self.after = method, path, status, after
        self.headers = {key.replace("_", "-"): value for key, value in headers.items()}


class Repository:
    """Everything that is there, and what a person can do in a browser or with git."""

    def __init__(self, files: dict[str, str]) -> None:
        self.trees: dict[str, dict[str, str]] = {}
        self.commits: dict[str, dict[str, Any]] = {}
        self.refs: dict[str, str] = {}
        self.threads: dict[int, dict[str, Any]] = {}
        self.comments: dict[int, list[str]] = {}
        self.committer = BOT
        self.too_large: set[str] = set()
        self.refs["main"] = self.commit("start", self.tree(files), [], PERSON, PERSON)

    def tree(self, files: dict[str, str]) -> str:
        name = _tree_name(files)
        self.trees[name] = dict(files)
        return name

    def commit(
        self, message: str, tree: str, parents: list[str], author: Any, committer: Any
    ) -> str:
        content = {
            "message": message,
            "tree": tree,
            "parents": parents,
            "author": author,
            "committer": committer,
        }
        name = hashlib.sha1(json.dumps(content, sort_keys=True).encode()).hexdigest()
        self.commits[name] = content
        return name

    def files(self, branch: str) -> dict[str, str]:
        return self.trees[self.commits[self.refs[branch]]["tree"]]

    def history(self, sha: str) -> list[str]:
        seen: list[str] = []
        waiting = [sha]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.append(name)
                waiting += self.commits[name]["parents"]
        return seen

    def push(self, branch: str, message: str = "work", **files: str) -> str:
        """Let a person push a commit; underscores in names stand for dots."""
        changed = self.files(branch) | {
            name.replace("_", "."): text for name, text in files.items()
        }
        self.refs[branch] = self.commit(
            message, self.tree(changed), [self.refs[branch]], PERSON, PERSON
        )
        return self.refs[branch]

    def amend(self, branch: str, **changes: Any) -> None:
        """Let a person amend the commit at the head of a branch: the author stays, the committer is
        the person.
        """
        old = self.commits[self.refs[branch]]
        self.refs[branch] = self.commit(**{**old, "committer": PERSON, **changes})

    def edit(self, number: int, **changes: str) -> None:
        """Let a person edit in a browser, which sends line ends as CRLF."""
        self.threads[number] |= {key: text.replace("\n", "\r\n") for key, text in changes.items()}

    def merge(self, number: int, *, squash: bool = False) -> None:
        pull = self.threads[number]
        base, head = pull["base"], self.refs[pull["head"]]
        parents = [self.refs[base]] if squash else [self.refs[base], head]
        tree = self.tree(self.files(base) | self.files(pull["head"]))
        self.refs[base] = self.commit(f"Merge #{number}", tree, parents, PERSON, GITHUB)
        # GitHub keeps the head that was merged; what is pushed later is not part of it.
        pull |= {"state": "closed", "merged_at": TIME, "sha": head}

    def delete_branch(self, branch: str) -> None:
        for thread in self.pulls("open"):
            if thread["head"] == branch:
                thread |= {"state": "closed", "sha": self.refs[branch]}
        del self.refs[branch]

    def pulls(self, *states: str) -> list[dict[str, Any]]:
        return [
            item
            for item in self.threads.values()
            if "head" in item and (not states or item["state"] in states)
        ]

    def issues(self, *states: str) -> list[dict[str, Any]]:
        return [
            item
            for item in self.threads.values()
            if "head" not in item and (not states or item["state"] in states)
        ]

    def add(self, thread: dict[str, Any]) -> dict[str, Any]:
        number = len(self.threads) + 1
        self.threads[number] = {
            "number": number,
            "state": "open",
            "labels": [],
            "merged_at": None,
            **thread,
        }
        self.comments[number] = []
        return self.threads[number]


class Server:
    """The API in front of a repository.

    Keeps every request, and every violation of GitHub's description.
    """

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.page_size = 100
        self.permissions = {"contents", "pull_requests", "issues"}
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str]] = []
        self.authorizations: list[str | None] = []
        self.violations: list[str] = []
        self.before: Callable[[str, str], None] = lambda method, path: None
        self.lock = threading.Lock()
        self.url = ""

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.requests if method != "GET"]

    def answer(
        self, method: str, target: str, body: Any, authorization: str | None
    ) -> tuple[int | None, Any, dict[str, str]]:
        """Return status, JSON and headers; no status means that the connection just ends."""
        parts = urlsplit(target)
        path, query = unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True))
        self.before(method, path)
        with self.lock:
            self.requests.append((method, path.removeprefix(f"/repos/{NAME}/")))
            self.authorizations.append(authorization)
            status, told, headers = self._answer(method, path, query, body, authorization)
            if status is not None:
                self.violations += github_openapi.violations(
                    method, path, query, body, status, told
                )
            return status, told, headers

    def _answer(
        self, method: str, path: str, query: dict[str, str], body: Any, authorization: str | None
    ) -> tuple[int | None, Any, dict[str, str]]:
        fault = next(
            (item for item in self.faults if item.method == method and re.search(item.path, path)),
            None,
        )
        if fault is not None:
            self.faults.remove(fault)
            if fault.after:
                self._effect(method, path, query, body, authorization)
            message = fault.headers.pop("message", "trouble")
            return (
                fault.status,
                {"message": message, "documentation_url": "https://docs.github.com"},
                fault.headers,
            )
        return self._effect(method, path, query, body, authorization)

    def _effect(
        self, method: str, path: str, query: dict[str, str], body: Any, authorization: str | None
    ) -> tuple[int, Any, dict[str, str]]:
        try:
            self._allow(method, path, authorization)
            status, told = self._route(
                method, path.removeprefix(f"/repos/{NAME}/"), query, body or {}
            )
        except Refusal as refusal:
            status, told = refusal.answer
            return (
                status,
                told,
                {"X-Accepted-GitHub-Permissions": "contents=write"} if status == 403 else {},
            )
        return (status, *self._page(path, query, told))

    def _allow(self, method: str, path: str, authorization: str | None) -> None:
        if authorization not in (None, f"Bearer {TOKEN}"):
            raise Refusal(401, "Bad credentials")
        if not path.startswith(f"/repos/{NAME}/"):
            raise Refusal(404, "Not Found")
        if method == "GET":
            return
        part = path.split("/")[4]
        needs = {"git": "contents", "pulls": "pull_requests"}.get(part, part)
        if authorization is None or needs not in self.permissions:
            raise Refusal(403, "Resource not accessible by integration")

    def _page(self, path: str, query: dict[str, str], told: Any) -> tuple[Any, dict[str, str]]:
        if not isinstance(told, list):
            return told, {}
        size, page = min(int(query.get("per_page", 30)), self.page_size), int(query.get("page", 1))
        if page * size >= len(told):
            return told[(page - 1) * size : page * size], {}
        following = "&".join(
            f"{key}={value}" for key, value in {**query, "page": str(page + 1)}.items()
        )
        return told[(page - 1) * size : page * size], {
            "Link": f'<{self.url}{path}?{following}>; rel="next"'
        }

    def _route(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> Answer:
        routes: tuple[tuple[str, str, Callable[..., Answer]], ...] = (
            ("GET", r"git/ref/heads/(.+)", self._get_ref),
            ("POST", r"git/refs", self._new_ref),
            ("PATCH", r"git/refs/heads/(.+)", self._move_ref),
            ("GET", r"git/commits/(\w+)", self._get_commit),
            ("POST", r"git/commits", self._new_commit),
            ("POST", r"git/trees", self._new_tree),
            ("GET", r"contents/(.+)", self._get_content),
            ("GET", r"pulls", self._get_pulls),
            ("POST", r"pulls", self._new_pull),
            ("PATCH", r"pulls/(\d+)", self._edit),
            ("GET", r"issues", self._get_issues),
            ("POST", r"issues", self._new_issue),
            ("PATCH", r"issues/(\d+)", self._edit),
            ("GET", r"issues/(\d+)/comments", self._get_comments),
            ("POST", r"issues/(\d+)/comments", self._new_comment),
        )
        for allowed, pattern, action in routes:
            if method == allowed and (match := re.fullmatch(pattern, path)):
                return action(*match.groups(), query if method == "GET" else body)
        raise Refusal(404, "Not Found")

    def _get_ref(self, branch: str, _: Any) -> Answer:
        if branch not in self.repository.refs:
            raise Refusal(404, "Not Found")
        return 200, self._ref(branch)

    def _new_ref(self, body: dict[str, Any]) -> Answer:
        branch = body["ref"].removeprefix("refs/heads/")
        if branch in self.repository.refs:
            raise Refusal(422, "Reference already exists")
        self.repository.refs[branch] = self._known(body["sha"])
        return 201, self._ref(branch)

    def _move_ref(self, branch: str, body: dict[str, Any]) -> Answer:
        old, new = self.repository.refs.get(branch), self._known(body["sha"])
        if old is None:
            raise Refusal(422, "Reference does not exist")
        if not body.get("force") and old not in self.repository.history(new):
            raise Refusal(422, "Update is not a fast forward")
        self.repository.refs[branch] = new
        return 200, self._ref(branch)

    def _known(self, sha: str) -> str:
        if sha not in self.repository.commits:
            raise Refusal(422, "Object does not exist")
        return sha

    def _get_commit(self, sha: str, _: Any) -> Answer:
        if sha not in self.repository.commits:
            raise Refusal(404, "Not Found")
        return 200, self._commit(sha)

    def _new_commit(self, body: dict[str, Any]) -> Answer:
        author, committer = (
            body.get("author", BOT),
            body.get("committer", self.repository.committer),
        )
        sha = self.repository.commit(
            body["message"], body["tree"], body["parents"], author, committer
        )
        return 201, self._commit(sha)

    def _new_tree(self, body: dict[str, Any]) -> Answer:
        files = dict(self.repository.trees[body["base_tree"]])
        files |= {entry["path"]: entry["content"] for entry in body["tree"]}
        name = self.repository.tree(files)
        entries = [
            {"path": path, "mode": "100644", "type": "blob", "sha": _blob_name(files[path])}
            for path in files
        ]
        return 201, {"sha": name, "url": self.url, "tree": entries, "truncated": False}

    def _get_content(self, path: str, query: dict[str, str]) -> Answer:
        sha = query["ref"]
        text = self.repository.trees[self.repository.commits[sha]["tree"]].get(path)
        if text is None:
            raise Refusal(404, "Not Found")
        if path in self.repository.too_large:
            encoding, content = "none", ""
        else:
            encoding, content = "base64", base64.encodebytes(text.encode()).decode()
        links = {"git": self.url, "html": self.url, "self": self.url}
        told = {
            "type": "file",
            "encoding": encoding,
            "size": len(text),
            "name": path.split("/")[-1],
            "path": path,
        }
        told |= {"content": content, "sha": _blob_name(text), "_links": links}
        return 200, told | dict.fromkeys(("url", "git_url", "html_url", "download_url"), self.url)

    def _get_pulls(self, query: dict[str, str]) -> Answer:
        owner, _, branch = query["head"].partition(":")
        states = ("open", "closed") if query["state"] == "all" else (query["state"],)
        found = [
            item
            for item in self.repository.pulls(*states)
            if (owner, item["head"]) == ("owner", branch)
        ]
        return 200, [self._pull(item, "pull-request-simple-items") for item in reversed(found)]

    def _new_pull(self, body: dict[str, Any]) -> Answer:
        refs, head, base = self.repository.refs, body["head"], body["base"]
        if head not in refs or base not in refs:
            raise Refusal(422, "Validation Failed", "not all refs are readable")
        if any(
            (item["head"], item["base"]) == (head, base) for item in self.repository.pulls("open")
        ):
            raise Refusal(
                422, "Validation Failed", f"A pull request already exists for owner:{head}."
            )
        if refs[head] in self.repository.history(refs[base]):
            raise Refusal(422, "Validation Failed", f"No commits between {base} and {head}")
        thread = {"title": body["title"], "body": body["body"], "head": head, "base": base}
        return 201, self._pull(self.repository.add(thread), "pull-request")

    def _edit(self, number: str, body: dict[str, Any]) -> Answer:
        thread = self.repository.threads.get(int(number))
        if thread is None:
            raise Refusal(404, "Not Found")
        thread |= {key: body[key] for key in ("title", "body", "state") if key in body}
        return 200, self._pull(thread, "pull-request") if "head" in thread else self._issue(thread)

    def _get_issues(self, query: dict[str, str]) -> Answer:
        states = ("open", "closed") if query["state"] == "all" else (query["state"],)
        threads = [item for item in self.repository.threads.values() if item["state"] in states]
        return 200, [
            self._issue(item) for item in reversed(threads) if query["labels"] in item["labels"]
        ]

    def _new_issue(self, body: dict[str, Any]) -> Answer:
        return 201, self._issue(
            self.repository.add({key: body[key] for key in ("title", "body", "labels")})
        )

    def _get_comments(self, number: str, _: Any) -> Answer:
        return 200, [self._comment(text) for text in self.repository.comments[int(number)]]

    def _new_comment(self, number: str, body: dict[str, Any]) -> Answer:
        self.repository.comments[int(number)].append(body["body"])
        return 201, self._comment(body["body"])

    def _ref(self, branch: str) -> dict[str, Any]:
        target = {"type": "commit", "sha": self.repository.refs[branch], "url": self.url}
        return {"ref": f"refs/heads/{branch}", "node_id": "x", "url": self.url, "object": target}

    def _commit(self, sha: str) -> dict[str, Any]:
        content = self.repository.commits[sha]
        parents = [
            {"sha": parent, "url": self.url, "html_url": self.url} for parent in content["parents"]
        ]
        unsigned = {
            "verified": False,
            "reason": "unsigned",
            "signature": None,
            "payload": None,
            "verified_at": None,
        }
        told = {"sha": sha, "tree": {"sha": content["tree"], "url": self.url}, "parents": parents}
        told |= {key: content[key] for key in ("message", "author", "committer")}
        return told | {
            "node_id": "x",
            "url": self.url,
            "html_url": self.url,
            "verification": unsigned,
        }

    def _pull(self, item: dict[str, Any], example: str) -> dict[str, Any]:
        told: dict[str, Any] = copy.deepcopy(github_openapi.DESCRIPTION["examples"][example])
        told = told[0] if isinstance(told, list) else told
        refs = self.repository.refs
        told |= {key: item[key] for key in ("number", "title", "body", "state", "merged_at")} | {
            "requested_teams": []
        }
        told["html_url"] = f"https://github.com/{NAME}/pull/{item['number']}"
        told["head"] |= {
            "ref": item["head"],
            "sha": item.get("sha") or refs.get(item["head"], "0" * 40),
        }
        told["base"] |= {"ref": item["base"], "sha": refs[item["base"]]}
        told["head"]["repo"]["full_name"] = item.get("fork", NAME)
        told["base"]["repo"]["full_name"] = NAME
        return told

    def _issue(self, item: dict[str, Any]) -> dict[str, Any]:
        told: dict[str, Any] = copy.deepcopy(github_openapi.DESCRIPTION["examples"]["issue"])
        if "head" not in item:
            del told["pull_request"]
        told |= {key: item[key] for key in ("number", "title", "body", "state")}
        told["labels"] = [
            {"id": 1, "name": name, "color": "ededed", "default": False} for name in item["labels"]
        ]
        return told | {"html_url": f"https://github.com/{NAME}/issues/{item['number']}"}

    def _comment(self, text: str) -> dict[str, Any]:
        comment: dict[str, Any] = copy.deepcopy(
            github_openapi.DESCRIPTION["examples"]["issue-comment"]
        )
        return comment | {"body": text}


@contextmanager
def serving(repository: Repository) -> Iterator[Server]:
    """Serve a repository on a free port of this machine."""
    server = Server(repository)
    with json_served(server.answer) as server.url:
        yield server


def _blob_name(text: str) -> str:
    content = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _tree_name(files: dict[str, str]) -> str:
    return hashlib.sha1(
        json.dumps(sorted((path, _blob_name(text)) for path, text in files.items())).encode()
    ).hexdigest()
