"""The API: its documents fit their schemas, are the same each time, and list each other."""

import datetime
import json
import re
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from support.editions import URL, edition, files
from support.examples import examples
from support.known import CELLS, DAY, Shelf, lock_of, proven, ran, shelves, statuses
from support.printed import printed

from compat.plan.cell import RECIPES
from compat.results.table import capability_table
from compat.site.documents import DOCUMENTS, PATHS, api, cell_files
from compat.site.paths import api_path, page
from compat.site.results import capability_ids, capability_list, capability_view
from compat.value import encode

NEW = "py3.9-dep2-demo2.0"
OLD = "py3.8-dep1-demo1.0"
NULLABLE = Shelf(
    [ran(lock_of(NEW), "import-fail:abort", days_ago=3), ran(lock_of(NEW))],
    [lock_of(NEW), lock_of(OLD)],
)


def documents(shelf: Shelf, day: datetime.date = DAY) -> dict[str, Any]:
    return {
        path: json.loads(text)
        for path, text in files(edition(shelf, day), cell_files, api).items()
        if path.endswith(".json")
    }


def schema_of(path: str) -> str:
    for pattern, name in PATHS.items():
        parts = re.split(r"\{[a-z]+\}", pattern)
        if re.fullmatch("[^/]+".join(map(re.escape, parts)), f"/{path}"):
            return name
    raise AssertionError(f"{path} is not described")


def validator(found: dict[str, Any], name: str) -> Draft202012Validator:
    schema = found[f"schema/v1/{name}.json"]
    return Draft202012Validator(schema, format_checker=FormatChecker())


class TestSchemas:
    @given(shelves())
    @examples(25)
    def test_every_document_fits_its_schema(self, shelf: Shelf) -> None:
        found = documents(shelf)
        for path, document in found.items():
            if path.startswith("api/v1/") and not path.endswith("openapi.json"):
                validator(found, schema_of(path)).validate(document)

    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_a_schema_is_one_and_every_key_is_required(self, name: str) -> None:
        schema = documents(Shelf())[f"schema/v1/{name}.json"]
        Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"{URL}schema/v1/{name}.json"
        for shape in schema["$defs"].values():
            assert sorted(shape.get("required", ())) == sorted(shape.get("properties", ()))
            assert shape.get("description") or shape.get("enum"), "every shape says what it is"

    def test_a_document_without_a_key_or_with_another_type_is_refused(self) -> None:
        found = documents(proven(NEW))
        row = found[api_path("demo", "cells", NEW)]
        assert not validator(found, "cell").is_valid(
            {key: row[key] for key in row if key != "verdict"}
        )
        assert not validator(found, "cell").is_valid({**row, "verdict": "green"})

    def test_the_openapi_file_points_at_the_schemas(self) -> None:
        found = documents(Shelf())
        described = found["api/v1/openapi.json"]
        registry: Registry[Any] = Registry().with_resources(
            (one["$id"], Resource.from_contents(one))
            for path, one in found.items()
            if path.startswith("schema/")
        )
        for path, item in described["paths"].items():
            schema = item["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            name = schema["$ref"].removeprefix("#/components/schemas/")
            named = described["components"]["schemas"][name]
            assert registry.resolver().lookup(named["$ref"]).contents["$defs"]
            assert {one["name"] for one in item["get"]["parameters"]} == set(
                re.findall(r"\{([a-z]+)\}", path)
            )


class TestBytes:
    def test_the_same_input_gives_the_same_bytes(self) -> None:
        assert files(edition(NULLABLE), cell_files, api) == files(
            edition(NULLABLE), cell_files, api
        )

    def test_what_speaks_for_no_day_does_not_change_with_it(self) -> None:
        first, second = (
            files(edition(NULLABLE, day), cell_files, api)
            for day in (DAY, DAY + datetime.timedelta(days=1))
        )
        changed = {path for path in first if first[path] != second[path]}
        dated = ("index", "cells", "minimum", "schedule", "proposals", "advise")
        assert changed == {"api/v1/index.json", *(f"api/v1/demo/{name}.json" for name in dated)}

    def test_a_shard_is_never_large(self) -> None:
        found = files(edition(NULLABLE), cell_files, api)
        assert max(map(len, found.values())) < 200 * 1024
        assert len(found["api/v1/demo/index.json"]) < 40 * 1024

    def test_many_cells_are_told_in_several_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("compat.site.documents.ROWS", 2)
        found = documents(proven(*(cell.id for cell in CELLS[:5])))
        seen, path = [], "api/v1/demo/cells.json"
        while path is not None:
            seen += [row["id"] for row in found[path]["cells"]]
            path = found[path]["next"]
        assert seen == [cell.id for cell in CELLS[:5]]


class TestListing:
    def test_the_root_leads_to_each_matrix_and_to_the_digests_of_all_files(self) -> None:
        root = documents(NULLABLE)["api/v1/index.json"]
        assert [one["index"] for one in root["matrices"]] == ["api/v1/demo/index.json"]
        assert root["files"] == "files.json"

    def test_the_verdicts_of_a_day_stay_as_they_were(self) -> None:
        found = documents(NULLABLE)
        days = sorted(path for path in found if "/as-of/" in path)
        assert days
        now = {one["id"]: one["verdict"] for one in found["api/v1/demo/cells.json"]["cells"]}
        last = found[days[-1]]["verdicts"]
        assert last == {cell: now[cell] for cell in last}

    def test_a_capability_called_index_hides_nothing(self) -> None:
        shelf = Shelf([ran(lock_of(NEW), capabilities=statuses(index="yes"))], [lock_of(NEW)])
        found = documents(shelf)
        assert found["api/v1/demo/capabilities/~index.json"]["id"] == "index"


class TestContent:
    def test_the_letters_tell_the_verdict_of_every_planned_cell(self) -> None:
        told = documents(NULLABLE)["api/v1/demo/cells.json"]
        picture = NULLABLE.picture()
        assert told["recipes"] == list(RECIPES)
        assert [told["codes"][letter]["verdict"] for letter in told["verdicts"]] == [
            entry.kind for entry in picture.entries
        ]

    def test_a_cell_tells_its_proof(self) -> None:
        told = documents(NULLABLE)[api_path("demo", "cells", NEW)]
        assert (told["verdict"], told["state"], told["tested"], told["passed"]) == (
            "flaky",
            "flaky",
            2,
            1,
        )
        assert (told["outcome"], told["stage"], told["cause"], told["subject"]) == (
            *("import-fail:abort", "import", "abort"), None,
        )  # fmt: skip
        assert [run["outcome"] for run in told["runs"]] == ["import-fail:abort", "pass"]
        assert told["commands"]["uv"][1].endswith(f"-r {URL}lock/demo/{NEW}.txt")

    def test_a_cell_without_a_run_has_every_key_too(self) -> None:
        found = documents(NULLABLE)
        never, ran_once = (
            found[api_path("demo", "cells", OLD)],
            found[api_path("demo", "cells", NEW)],
        )
        assert never.keys() == ran_once.keys()
        assert (never["verdict"], never["outcome"], never["latest"], never["runs"]) == (
            "unknown",
            None,
            None,
            [],
        )

    def test_a_release_tells_with_what_it_works(self) -> None:
        told = documents(proven(NEW))["api/v1/demo/releases/demo/2.0.json"]
        assert {"axis": "python", "state": "works", "coordinates": ["3.9"]} in told["ranges"]
        assert {"axis": "dep", "state": "works", "coordinates": ["2"]} in told["ranges"]
        assert told["requires_python"] == ">=3.9"
        assert "Python >=3.9" in told["ruled_out"][-1]["because"]

    def test_a_capability_tells_of_each_cell_and_what_the_suite_says(self) -> None:
        told = documents(proven(NEW))["api/v1/demo/capabilities/sum.json"]
        assert (told["title"], told["counts"]) == ("Sums", {"yes": 1, "no": 0, "absent": 0})
        (result,) = told["results"]
        assert (result["status"], result["cells"]) == ("yes", [NEW])
        never = documents(proven(NEW))["api/v1/demo/capabilities/mean.json"]
        assert never["results"] == []

    def test_a_capability_holds_its_test_and_null_where_the_suite_lost_it(self) -> None:
        shelf = Shelf([ran(lock_of(NEW), capabilities=statuses(gone="yes"))], [lock_of(NEW)])
        found = documents(shelf)
        kept, gone = (found[api_path("demo", "capabilities", name)] for name in ("sum", "gone"))
        assert (kept["test"]["file"], kept["test"]["line"]) == ("test_sum.py", 3)
        assert (gone["title"], gone["test"]) == ("gone", None)

    def test_a_value_of_another_room_is_encoded_as_it_is(self) -> None:
        shelf = Shelf([ran(lock_of(NEW), "test-fail:assertion(mean)")], [lock_of(NEW)])
        (entry,) = (entry for entry in shelf.picture().known)
        shown = documents(shelf)[api_path("demo", "cells", NEW)]
        others = [one for one in entry.capabilities if one.status == "no"]
        for capability, written in zip(others, shown["capabilities"], strict=True):
            own = json.loads(encode(capability))
            assert written == own | {"explained": written["explained"]}

    def test_a_change_is_told_once(self) -> None:
        told = documents(NULLABLE)["api/v1/demo/changes.json"]["changes"]
        assert [(one["cell"], one["kind"], one["after"]) for one in told] == [
            (NEW, "spurious", "flaky"),
            (NEW, "new", "broken"),
        ]

    def test_an_empty_matrix_says_that_nothing_is_known(self) -> None:
        found = documents(Shelf())
        index = found["api/v1/demo/index.json"]
        assert (index["counts"]["tested"], index["latest"]) == (0, None)
        assert "works" not in index["counts"]["verdicts"]
        assert found["api/v1/demo/advise.json"]["advice"]["rows"] == []


def test_tests_of_the_suites_helpers_stand_apart_and_are_not_counted() -> None:
    shelf = proven(NEW)
    before = documents(shelf)[api_path("demo", "cells", NEW)]
    assert [*before["works"]] == ["import", "sum"]
    shelf.helpers = frozenset({"sum"})
    found = documents(shelf)
    cell = found[api_path("demo", "cells", NEW)]
    assert [*cell["works"]] == ["import"]
    assert cell["helpers"] == {"sum": "yes"}
    assert "sum" not in found[api_path("demo", "cells")]["capabilities"]
    assert found[api_path("demo", "capabilities", "sum")]["of_helper"]
    assert not found[api_path("demo", "capabilities", "mean")]["of_helper"]
    validator(found, "cell").validate(cell)


def test_pages_name_the_tests_of_helpers_apart_and_count_the_others() -> None:
    shelf = proven(NEW)
    shelf.helpers = frozenset({"sum"})
    of = edition(shelf)
    volume, shown = of.report("demo"), printed(of)
    assert sum(len(lines) for _, lines in capability_list(volume)) == 2
    apart = shown[page("demo", "cap")].partition("Helpers of the suite")[2]
    assert "Sums" in apart
    assert "Means" not in apart
    assert "It says nothing about the library" in shown[page("demo", "cap", "sum")]
    assert "It says nothing about the library" not in shown[page("demo", "cap", "mean")]
    assert capability_view(volume, "sum").statements == ("Works in every release tested for it.",)
    assert "sum" in capability_ids(volume)
    text = capability_table(volume.snapshot, volume.capabilities)
    table, _, helpers = text.partition("Tests of the suite's own helpers")
    assert "`sum`" not in table
    assert "- Sums `sum`: 1 yes" in helpers
