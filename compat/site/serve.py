"""The `site` room's servers on the loopback, and short answers for programs over MCP."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.errors import UsageError
from compat.loopback import Answering, Loopback
from compat.site.exports import met
from compat.site.paths import API_ROOT, NOT_FOUND, segment
from compat.site.wording import ranges

# The short answers for programs, from the documents of a published site alone: what works, why not,
# how to install it, and where an API begins and ends.
#
# Each has fewer than 300 tokens, and names its record: the cell and the day of its newest run.

Json = Mapping[str, Any]
# Reads the JSON of a path below the root of a site; None where it has no such file.
Read = Callable[[str], Any]
# Ids and versions have a token for every two or three characters.
_MOST_TEXT = 640
_MOST_OTHERS = 2


class Answers:
    """Answers about the matrix of a package, at a site."""

    def __init__(self, read: Read, package: str) -> None:
        root, asked = read(f"{API_ROOT}/index.json"), canonicalize_name(package.replace(" ", "-"))
        if root is None:
            raise UsageError.of("no site is published there", hint="compat publish writes one")
        self._read = read
        named: dict[str, Json] = {}
        for matrix in root["matrices"]:
            index: Json = read(matrix["index"])
            subject = next(axis for axis in index["axes"] if axis["name"] == index["subject"])
            names = (index["matrix"], matrix["title"].replace(" ", "-"), subject["package"])
            named |= {canonicalize_name(name): index for name in names}
        if asked not in named:
            known = ", ".join(sorted(named))
            raise UsageError.of(f"no matrix is about {package!r}", hint=f"known: {known}")
        self.index: Json = named[asked]
        self._folder = f"{API_ROOT}/{segment(self.index['matrix'])}"
        self._labels = {axis["name"]: axis["label"] for axis in self.index["axes"]}

    def what_works(self, versions: str = "") -> str:
        best, *others = self._fitting(versions) or (None,)
        if best is None:
            return self.why_not(versions)
        tables, lines = self._advice["sentences"], [f"Best: {self._row(best)}"]
        lines += [f"Or: {self._row(other)}" for other in others[:_MOST_OTHERS]]
        if best["failing"]:
            lines.insert(1, "Fails: " + "; ".join(tables[n] for n in best["failing"][:2]))
        return _short([*lines, _record(best["id"], best["last"])])

    def why_not(self, versions: str = "") -> str:
        asked = self._asked(versions)
        rows = [row for row in self._cells if _fits(asked, self._coordinates(row["id"]))]
        red = [row for row in rows if row["verdict"] not in ("works", "partial") and row["latest"]]
        green = [row for row in rows if row["verdict"] == "works"]
        if green and not red:
            return f"It works: {self.what_works(versions)}"
        if not red:
            known = f"No run of {self._titles(asked)} is recorded"
            refused = [*self._refusals(asked)]
            lines = [f"{known}; site of {self.index['day']}.", *refused]
            for best in self._fitting("")[:1]:
                lines += [f"Best that works: {self._row(best)}", _record(best["id"], best["last"])]
            if len(lines) == 1 + len(refused):
                lines.append(_record(self.index["matrix"], self.index["day"]))
            return _short(lines)
        newest = max(red, key=lambda row: (row["latest"], row["id"]))
        document = self._read(f"{self._folder}/cells/{segment(newest['id'])}.json")
        lines = [
            f"{self._words(self._coordinates(newest['id']))}: {newest['verdict']}.",
            document["explained"] or document["sentence"] or newest["score"]["words"],
            *(
                failed["subject"]
                for failed in document["capabilities"]
                if failed["id"] == document["subject"]
            ),
            *(f"Works: {row['id']}" for row in green[-1:]),
            _record(newest["id"], newest["latest"]),
        ]
        return _short(lines)

    def install(self, versions: str = "") -> str:
        best = next(iter(self._fitting(versions)), None)
        if best is None:
            return self.why_not(versions)
        sentences = self._advice["sentences"]
        return "\n".join([*(sentences[n] for n in best["uv"]), _record(best["id"], best["last"])])

    def boundary(self, api: str) -> str:
        """Return where a capability of the suite, or a name that it looks for, begins and ends."""
        names = self.index["capabilities"]
        path = f"{self._folder}/capabilities/{{}}.json"
        whole = re.compile(rf"(?<![\w.]){re.escape(api)}(?!\w)")
        missing = [row for row in self._cells if whole.search(row["outcome"] or "")]
        if api in names or not missing:
            # Each document is asked, as only it has what the test of a capability looks for.
            for name in sorted(names, key=lambda name: (name != api, name)):
                document = self._read(path.format(segment(name)))
                spelt = {result["spelling"] for result in document["results"]}
                looks = str((document["title"], (document["test"] or {}).get("looks_for"), spelt))
                if api == name or api in looks:
                    return self._capability(document)
            known = ", ".join(names[:6])
            record = _record(self.index["matrix"], self.index["day"])
            return _short([f"Nothing is recorded about {api!r}; known: {known}, ...", record])
        newest = max(missing, key=lambda row: (row["latest"] or "", row["id"]))
        lines, subject = [f"{api} fails where tested:"], self.index["subject"]
        releases = {self._coordinates(row["id"])[subject] for row in missing}
        works = [
            coordinates
            for row in self._cells
            if row["verdict"] == "works"
            and (coordinates := self._coordinates(row["id"]))[subject] in releases
        ]
        for axis, label in self._labels.items():
            red = {self._coordinates(row["id"])[axis] for row in missing}
            green = {coordinates[axis] for coordinates in works}
            is_other = bool(green) and red.isdisjoint(green)
            beside = f"; the same releases work with {_span(green, red)}" if is_other else ""
            lines.append(f"{label} {_span(red, green)}{beside}")
        return _short([*lines, _record(newest["id"], newest["latest"])])

    def _capability(self, document: Json) -> str:
        subject, releases, named = self.index["subject"], defaultdict[str, set[str]](set), set()
        for result in document["results"]:
            named |= {*result["cells"]}
            of = (self._coordinates(cell)[subject] for cell in result["cells"])
            releases[result["status"]].update(of)
        lines = [f"{document['id']} ({document['title']}), {document['counts']}"]
        for status, word in (("yes", "works in"), ("no", "fails in"), ("absent", "is not in")):
            if releases[status]:
                span = _span(releases[status], set().union(*releases.values()))
                lines.append(f"{word} {self._labels[subject]} {span}")
        rows = (row for row in self._cells if row["id"] in named)
        newest = max(rows, key=lambda row: (row["latest"] or "", row["id"]))
        return _short([*lines, _record(newest["id"], newest["latest"])])

    @cached_property
    def _advice(self) -> Json:
        advice: Json = self._read(f"{self._folder}/advise.json")["advice"]
        return advice

    @cached_property
    def _cells(self) -> Sequence[Json]:
        rows, path = list[Json](), f"{self._folder}/cells.json"
        while path:
            document = self._read(path)
            rows += document["cells"]
            path = document["next"]
        return rows

    def _fitting(self, versions: str) -> list[Json]:
        asked = self._asked(versions)
        axes = [axis["name"] for axis in self._advice["axes"]]
        rows = [
            row
            for row in self._advice["rows"]
            if _fits(asked, dict(zip(axes, row["versions"], strict=True)))
        ]
        return sorted(rows, key=lambda row: int(row["rank"]["best"]))

    def _asked(self, versions: str) -> dict[str, SpecifierSet]:
        """The bound on each axis: `python==3.11, demo<2`."""
        asked: dict[str, SpecifierSet] = {}
        for text in filter(None, re.split(r"[;\s]+|,(?=\s*[A-Za-z])", versions)):
            try:
                requirement = Requirement(text)
            except InvalidRequirement as error:
                hint = "such as python==3.11 demo<2"
                raise UsageError.of(f"{text!r} is no requirement", hint=hint) from error
            name = canonicalize_name(requirement.name)
            names = {
                known: axis["name"]
                for axis in self.index["axes"]
                for known in (axis["label"].lower(), axis["package"], axis["name"])
            }
            if name not in names:
                known = ", ".join(self._labels.values())
                raise UsageError.of(f"{name!r} is on no axis", hint=f"known: {known}")
            axis = names[name]
            asked[axis] = asked.get(axis, SpecifierSet()) & requirement.specifier
        return asked

    def _refusals(self, asked: Mapping[str, SpecifierSet]) -> Iterator[str]:
        for number, axis in enumerate(self._advice["axes"]):
            for place, version in enumerate(axis["coordinates"]):
                if axis["name"] in asked and _fits(asked, {axis["name"]: version}):
                    yield self._advice["sentences"][self._advice["refusals"][number][place]] + "."
                    break

    def _coordinates(self, cell: str) -> dict[str, str]:
        parts = cell.partition("+")[0].split("-")
        return {
            axis["name"]: part.removeprefix(axis["short"])
            for axis, part in zip(self.index["axes"], parts, strict=False)
        }

    def _words(self, coordinates: Mapping[str, str]) -> str:
        return ", ".join(f"{self._labels[name]} {v}" for name, v in coordinates.items())

    def _titles(self, asked: Mapping[str, SpecifierSet]) -> str:
        return ", ".join(f"{self._labels[name]}{bound}" for name, bound in asked.items()) or "it"

    def _row(self, row: Json) -> str:
        labels, sentences = self._labels.values(), self._advice["sentences"]
        what = ", ".join(f"{name} {v}" for name, v in zip(labels, row["versions"], strict=True))
        words = f"{sentences[row['words']]}; {sentences[row['score']]}"
        return f"{what}: {words}"


def _record(cell: str, day: str | None) -> str:
    return f"record: {cell} ({day})"


def _span(versions: set[str], others: set[str]) -> str:
    return ranges(versions, sorted(versions | others, key=Version))


def _fits(asked: Mapping[str, SpecifierSet], versions: Mapping[str, str]) -> bool:
    # `==2.14` means the series, as on the command line.
    return all(
        axis in versions
        and all(
            clause.contains(versions[axis], prereleases=True)
            or (
                clause.operator == "=="
                and SpecifierSet(f"=={clause.version.removesuffix('.*')}.*").contains(
                    versions[axis], prereleases=True
                )
            )
            for clause in bound
        )
        for axis, bound in asked.items()
    )


def _short(lines: Sequence[str]) -> str:
    """Join the lines; of what is too long the middle goes, as the record stands at the end."""
    shown = [
        line if len(line) <= _MOST_TEXT // 2 else f"{line[: _MOST_TEXT // 2]}…" for line in lines
    ]
    while sum(map(len, shown)) > _MOST_TEXT and len(shown) > 2:
        del shown[-2]
    return "\n".join(filter(None, shown))


# A lock of a thousand packages asks with some 100 kB.
_MOST_ASKED = 2**22
_OWN_NAMES = frozenset(("127.0.0.1", "localhost"))


class Preview(Loopback):
    """Serves a folder on the loopback until it is closed."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        super().__init__(partial(_Answer, directory=str(folder)), port)


class AdvisoryService(Loopback):
    """Answers audits as the service of the Open Source Vulnerability database does:
    https://google.github.io/osv.dev/api/. An address may begin with a series of Python.
    """

    def __init__(self, documents: Sequence[Mapping[str, Any]], port: int = 0) -> None:
        handler = type("_Audited", (_Audit,), {"documents": documents})
        super().__init__(handler, port)


class _OwnNames(Answering):
    # A client that says nothing for so long is cut off, so that it does not hold one of the
    # connections.
    timeout = 10

    def parse_request(self) -> bool:
        """Refuse requests that do not name this machine.

        A page elsewhere can let its name point at 127.0.0.1 and read what stands here (DNS
        rebinding), but a browser sends that name in the header.
        """
        if not super().parse_request():
            return False
        name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if name.lower() in _OWN_NAMES:
            return True
        self.send_error(
            HTTPStatus.MISDIRECTED_REQUEST, f"ask for {' or '.join(sorted(_OWN_NAMES))}"
        )
        return False


class _Audit(_OwnNames):
    # pip-audit asks about one package at a time, over one connection: what it asked about before is
    # remembered as long as that lasts.
    protocol_version = "HTTP/1.1"
    documents: Sequence[Mapping[str, Any]] = ()

    def setup(self) -> None:
        super().setup()
        self.asked: dict[str, Version] = {}
        self.told: set[str] = set()

    def do_GET(self) -> None:
        name = self.path.rpartition("/v1/vulns/")[2]
        matching = [document for document in self.documents if document["id"] == name]
        self._send(matching[0] if matching else None)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        place, _, what = self.path.strip("/").rpartition("v1/")
        if length > _MOST_ASKED or what not in ("query", "querybatch"):
            self.close_connection = True
            self._send(None)
            return
        try:
            asked = json.loads(self.rfile.read(length))
            queries = asked["queries"] if what == "querybatch" else [asked]
            names = [canonicalize_name(query["package"]["name"]) for query in queries]
            versions = [Version(query["version"]) for query in queries]
        except (ValueError, KeyError, TypeError):
            self.send_error(HTTPStatus.BAD_REQUEST, "no query of a package and its version")
            return
        own: dict[str, Version] = dict(zip(names, versions, strict=True))
        environment = own if what == "querybatch" else self.asked | own
        hits = {d["id"]: (met(d, environment, place.strip("/")), d) for d in self.documents}
        if what == "querybatch":
            ids = [[{"id": key} for key in hits if hits[key][0] == name] for name in names]
            self._send({"results": [{"vulns": each} if each else {} for each in ids]})
            return
        self.asked = environment
        # Reported with the package that completes the conflict.
        new = [d for key, (subject, d) in hits.items() if subject and key not in self.told]
        self.told |= {document["id"] for document in new}
        self._send({"vulns": new} if new else {})

    def _send(self, document: Any) -> None:
        content = json.dumps({} if document is None else document).encode()
        status = HTTPStatus.NOT_FOUND if document is None else HTTPStatus.OK
        self.answer(status, "application/json", content)


class _Answer(_OwnNames, SimpleHTTPRequestHandler):
    def send_head(self) -> Any:
        folder = Path(self.directory).resolve()
        path = Path(self.translate_path(self.path)).resolve()
        # A folder answers with its page, which may be such a link as well.
        if all(
            each.resolve().is_relative_to(folder)
            for each in (path, path / "index.html", path / "index.htm")
        ):
            return super().send_head()
        self.send_error(HTTPStatus.NOT_FOUND)
        return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = Path(self.directory, NOT_FOUND)
        if code != HTTPStatus.NOT_FOUND or page.is_symlink() or not page.is_file():
            super().send_error(code, message, explain)
            return
        self.answer(HTTPStatus.NOT_FOUND, "text/html; charset=utf-8", page.read_bytes())
