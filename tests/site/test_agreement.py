"""Whatever the store holds: page, badge, feed, API, database, command line and advisor say the same
of every cell.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from support.editions import edition, files
from support.examples import examples
from support.known import DAY, DEMO, MATRIX, SUITE, Shelf, repository, shelves

from compat.advise.answer import Recommended
from compat.advise.request import GOALS, Request, request_of
from compat.cli.options import workspace_of
from compat.cli.verdicts import verdict_row
from compat.declare.load import decode_matrix
from compat.results.answer import Answer, representative_of_release
from compat.results.judge import EvaluationContext
from compat.site.documents import api, cell_files
from compat.site.edition import MatrixReport, events
from compat.site.exports import FeedEntry, database, feed_entries
from compat.site.paths import api_path, cell_page
from compat.site.pictures import NO_DATA, matrix_badges
from compat.site.reports import GOAL_WORDS
from compat.site.results import failing
from compat.value import encode

# What fails in every combination of a release, as far as no cell refutes it.
KNOWN = """
[[known]]
capability = "mean"
fault = "release"
because = "The mean has the wrong sign."

[[known]]
capability = "sum"
fault = "index"
because = "The index no longer has the package that sums."
when = { demo = "==1.0" }
"""
DECLARED = decode_matrix((DEMO["matrix"] + KNOWN).encode(), "matrix.toml")
SLOW = examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def said(entry: Answer) -> dict[str, Any]:
    """What every document says of a cell."""
    found = entry
    return {
        "id": entry.cell.id,
        "verdict": found.kind,
        "evidence": found.evidence,
        "outcome": None if found.outcome is None else str(found.outcome),
        "since": None if found.since is None else str(found.since),
        "latest": None if found.latest is None else str(found.latest),
        "stale": found.stale,
        "score": found.score.words,
    }


def scored(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the words of its score in place of the numbers."""
    return {**row, "score": row["score"]["words"]}


def word_of(report: MatrixReport, entry: Answer) -> str:
    """What every document calls the verdict of a cell."""
    return report.style(entry).word


@given(shelf=shelves())
@SLOW
def test_the_api_agrees(shelf: Shelf) -> None:
    of = edition(shelf, matrix=DECLARED)
    made = {
        path: json.loads(text)
        for path, text in files(of, cell_files, api).items()
        if path.endswith(".json")
    }
    told = made["api/v1/demo/cells.json"]
    rows = {row["id"]: row for row in told["cells"]}
    picture = of.reports[0].snapshot
    assert rows.keys() == {entry.cell.id for entry in picture.known}
    for entry in picture.known:
        for document in (rows[entry.cell.id], made[api_path("demo", "cells", entry.cell.id)]):
            assert scored(document) | said(entry) == scored(document)
        faults = {one["id"]: one["fault"] for one in document["capabilities"] if one["fault"]}
        assert faults == {fault.id: fault.fault for fault in entry.faults}
    letters = [told["codes"][letter]["verdict"] for letter in told["verdicts"]]
    assert letters == [entry.kind for entry in picture.entries if entry.planned]
    for name, document in made.items():
        results = document["results"] if "/capabilities/" in name else []
        for result in results:
            for cell in result["cells"]:
                (found,) = [c for c in picture.by_id[cell].capabilities if c.id == document["id"]]
                assert found.status == result["status"]


@given(shelf=shelves())
@SLOW
def test_the_badge_of_a_release_agrees(shelf: Shelf) -> None:
    (volume,) = edition(shelf, matrix=DECLARED).reports
    found = dict(matrix_badges(volume))
    for axis, version in {
        (e.cell.on("demo").axis, e.cell.on("demo").version) for e in volume.snapshot.entries
    }:
        entries = [
            entry for entry in volume.snapshot.entries if entry.cell.on(axis).version == version
        ]
        spoken, message = representative_of_release(entries), found["release", str(version)].message
        word = volume.style(spoken).brief
        assert message.startswith(word) if spoken.is_tested else message in (NO_DATA, word)
        score = spoken.score
        tells_part = spoken.is_tested and spoken.kind == "partial"
        part = f"{word}, {score.passing}/{score.asked}"
        assert message.startswith(part) if tells_part else "/" not in message
        assert score.words.startswith(score.head)
        assert message.endswith("stale") is (spoken.is_tested and spoken.stale)


@given(shelf=shelves())
@SLOW
def test_the_last_entry_of_the_feed_agrees(shelf: Shelf) -> None:
    (volume,) = edition(shelf, matrix=DECLARED).reports
    picture = volume.snapshot
    last = {event.entry.cell.id: event for event in reversed(events(picture))}
    newest: dict[str, FeedEntry] = {}
    for item in sorted(feed_entries(volume), key=lambda item: item.moment):
        newest[item.path] = item
    for entry in picture.known:
        if entry.is_tested:
            item = newest[cell_page(entry.cell)]
            # A later run that changed neither kind nor capabilities is no event.
            at_event = last[entry.cell.id].verdict
            assert re.split("; was: |: ", item.title)[0] == word_of(volume, at_event)
            assert at_event.score.words.lower() in item.text.lower()
            assert last[entry.cell.id].change.after == entry.kind
            assert last[entry.cell.id].moment.date() >= (entry.since or DAY)
        else:
            assert entry.cell.id not in last


@given(shelf=shelves())
@SLOW
def test_the_advisor_agrees(shelf: Shelf) -> None:
    (volume,) = edition(shelf, matrix=DECLARED).reports
    entries = volume.snapshot.by_id
    for goal in GOALS:
        answer = volume.advisor.answer(request_of((), MATRIX, (), goal=goal))
        cards = (
            [answer.best, *(one.card for one in answer.alternatives)]
            if isinstance(answer, Recommended)
            else []
        )
        for card in cards:
            found = entries[card.proof.cell.id]
            assert (card.proof.score, card.proof.faults) == (found.score, found.faults)
            assert (found.kind, found.latest, found.stale) == (
                card.proof.kind,
                card.proof.latest,
                card.proof.stale,
            )
    works = [entry for entry in volume.snapshot.known if entry.kind == "works"]
    provable = [entry for entry in works if entry.tested]
    assert isinstance(volume.advisor.answer(Request()), Recommended) or not provable


@given(shelf=shelves())
@SLOW
def test_the_data_of_the_script_agree_with_the_cards(shelf: Shelf) -> None:
    of = edition(shelf, matrix=DECLARED)
    (volume,) = of.reports
    table = json.loads(files(of, cell_files, api)["api/v1/demo/advise.json"])["advice"]
    sentences = table["sentences"]
    assert table["goals"] == list(GOAL_WORDS)
    for row in table["rows"]:
        entry = volume.snapshot.by_id[row["id"]]
        assert sentences[row["words"]] == word_of(volume, entry)
        assert sentences[row["score"]] == entry.score.words
        assert tuple(sentences[number] for number in row["failing"]) == failing(volume, entry)


@given(shelf=shelves())
@SLOW
def test_the_database_agrees(shelf: Shelf, tmp_path: Path) -> None:
    (volume,) = edition(shelf, matrix=DECLARED).reports
    for row in _database(volume, tmp_path):
        entry = volume.snapshot.by_id[row["id"]]
        assert {**row, "stale": bool(row["stale"])} == said(entry)


@given(shelf=shelves())
@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_command_line_agrees(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path / "cache"))
    with repository(shelf) as root:
        path = root / "matrices" / "demo" / "matrix.toml"
        path.write_text(path.read_text(encoding="utf-8") + KNOWN, encoding="utf-8")
        workspace = workspace_of("demo", root)
        workspace.__dict__["context"] = EvaluationContext(suite_digest=SUITE, day=DAY)
        (volume,) = edition(shelf, matrix=DECLARED).reports
        for entry in shelf.picture(matrix=DECLARED).known:
            row = json.loads(encode(verdict_row(workspace, entry.cell.id)))
            assert scored(row) | said(entry) == scored(row)
            assert row["words"] == word_of(volume, volume.snapshot.by_id[entry.cell.id])
            assert row["faults"] == {fault.id: fault.fault for fault in entry.faults}
            assert row["capabilities"] == {one.id: one.status for one in entry.capabilities}


def _database(volume: MatrixReport, folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / "demo.sqlite"
    path.write_bytes(database(volume))
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        asked = "SELECT id, verdict, evidence, outcome, since, latest, stale, score FROM cells"
        yield from (dict(row) for row in connection.execute(asked).fetchall())
