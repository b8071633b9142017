"""Advisories: what runs proved not to work together, in the format of the OSV database, and what
audits find with them.
"""

import http.client
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from packaging.version import Version
from support.editions import URL, edition, files
from support.known import Shelf, lock_of, proven, ran

from compat.site.exports import advisories, met
from compat.site.serve import AdvisoryService

RED, PYTHON, DEP = "py3.9-dep2-demo2.0", "py3.8-dep2-demo2.0", "py3.9-dep1-demo2.0"
FAILURE = "import-fail:missing-attribute(dep.gone)"


def shelf(*green: str, failure: str = FAILURE, then: str = "", involved: Any = ()) -> Shelf:
    red, others = lock_of(RED), [lock_of(cell) for cell in green]
    records = [ran(red, failure, days_ago=3, involved=involved), *map(ran, others)]
    return Shelf([*records, *([ran(red, then)] if then else [])], [red, *others])


def published(of: Shelf) -> list[dict[str, Any]]:
    made = files(edition(of), advisories)
    archive = zipfile.ZipFile(io.BytesIO(made.pop("advisory/all.zip")))
    in_archive = {name: archive.read(name) for name in archive.namelist()}
    assert in_archive == {path.rpartition("/")[2]: text for path, text in made.items()}
    return [json.loads(text) for text in made.values()]


def environment(**versions: str) -> dict[str, Version]:
    return {name: Version(text) for name, text in versions.items()}


def test_a_conflict_is_of_the_version_that_a_working_neighbour_differs_in() -> None:
    (advisory,) = published(shelf(DEP))
    assert advisory["affected"][0]["package"]["name"] == "demo"
    assert advisory["affected"][0]["versions"] == ["2.0"]
    assert [one["url"] for one in advisory["references"]][1:] == [f"{URL}demo/cell/{RED}/"]
    specific = advisory["database_specific"]
    assert specific["depends_on"] == ["dep"]
    assert specific["signature"] == FAILURE
    assert specific["combinations"][0]["culprit"] == "dep 2 fails, 1 works"
    assert met(advisory, environment(demo="2.0", dep="2.7")) == "demo"
    assert met(advisory, environment(demo="2.0", dep="1.0")) is None
    assert met(advisory, environment(demo="1.0", dep="2.7")) is None
    assert met(advisory, environment(demo="2.0")) is None


def test_a_neighbour_whose_version_left_its_axis_is_one_as_well() -> None:
    (advisory,) = published(shelf(DEP.replace("dep1", "dep1.5")))
    assert advisory["database_specific"]["combinations"][0]["culprit"] == "dep 2 fails, 1.5 works"


def test_a_conflict_with_python_is_none_where_the_python_is_not_known() -> None:
    (advisory,) = published(shelf(PYTHON))
    assert advisory["database_specific"]["depends_on"] == ["Python"]
    asked = environment(demo="2.0")
    assert [met(advisory, asked, python) for python in ("3.9", "3.8", "")] == ["demo", None, None]


def test_without_a_neighbour_all_versions_that_ran_are_the_conflict() -> None:
    (advisory,) = published(shelf())
    assert advisory["database_specific"]["depends_on"] == ["dep", "Python"]


def test_a_package_on_no_axis_at_which_a_failure_points_is_a_part_by_its_pin() -> None:
    (advisory,) = published(shelf(DEP, involved=("pytest",)))
    asked = environment(demo="2.0", dep="2.0", pytest="8.0")
    assert met(advisory, asked) == "demo"
    assert met(advisory, asked | environment(pytest="8.1")) is None
    # What no lock has is whose fault nobody can tell.
    assert published(shelf(DEP, involved=("unknown",))) == []


@pytest.mark.parametrize("failure", ["lock-fail:no-artifact(dep==1.0)", "install-fail:network"])
def test_what_did_not_run_is_no_conflict(failure: str) -> None:
    assert published(shelf(DEP, failure=failure)) == []
    assert published(proven(RED)) == []


def test_a_later_run_withdraws_an_advisory_under_the_same_id() -> None:
    (before,), (after,) = published(shelf(DEP)), published(shelf(DEP, then="pass"))
    assert (after["id"], after["withdrawn"]) == (before["id"], "2026-11-20T00:00:00Z")
    assert "withdrawn" not in before
    assert met(after, environment(demo="2.0", dep="2.0")) is None


@pytest.fixture
def service() -> Iterator[http.client.HTTPConnection]:
    """A connection to the service of one advisory that hangs on dep."""
    with AdvisoryService(published(shelf(DEP))) as serving:
        port = int(serving.url.rstrip("/").rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        yield connection
        connection.close()


def asked(connection: http.client.HTTPConnection, path: str, body: Any = None) -> tuple[int, Any]:
    text = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, text)
    answer = connection.getresponse()
    content = answer.read()
    return answer.status, json.loads(content) if answer.status == 200 else None


def query(name: str, version: str) -> dict[str, Any]:
    return {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}


def test_uv_is_answered_by_what_stands_in_one_batch(service: http.client.HTTPConnection) -> None:
    batch = {"queries": [query("dep", "2.0"), query("Demo", "2.0")]}
    _, found = asked(service, "/3.9/v1/querybatch", batch)
    ids = [[vuln["id"] for vuln in one.get("vulns", ())] for one in found["results"]]
    assert ids[0] == [] != ids[1]
    status, advisory = asked(service, f"/3.9/v1/vulns/{ids[1][0]}")
    assert (status, advisory["id"]) == (200, ids[1][0])
    batch["queries"][0]["version"] = "1.0"
    assert asked(service, "/v1/querybatch", batch) == (200, {"results": [{}, {}]})


def test_pip_audit_is_answered_by_what_it_asked_over_one_connection(
    service: http.client.HTTPConnection,
) -> None:
    assert asked(service, "/3.9/v1/query", query("demo", "2.0")) == (200, {})
    _, found = asked(service, "/3.9/v1/query", query("dep", "2.0"))
    assert len(found["vulns"]) == 1
    assert asked(service, "/3.9/v1/query", query("other", "1")) == (200, {})
    service.close()
    assert asked(service, "/3.9/v1/query", query("dep", "2.0")) == (200, {})


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/v1/vulns/none", None, 404), ("/v1/other", {}, 404), ("/v1/query", {"version": 1}, 400)],
)
def test_what_is_no_question_is_refused(
    service: http.client.HTTPConnection, path: str, body: Any, status: int
) -> None:
    assert asked(service, path, body)[0] == status
