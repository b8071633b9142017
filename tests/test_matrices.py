"""What this repository keeps under matrices/ is sound, without asking any index."""

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest
from support.corpus import each

from compat.errors import UsageError
from compat.lock.lockfile import stored_lock
from compat.policy.propose import proposals
from compat.results.answer import Answer
from compat.results.judge import holds, refuted
from compat.results.snapshot import Snapshot
from compat.workspace import Workspace

MATRICES = Path(__file__).parent.parent / "matrices"
DAY = datetime.date(2026, 11, 26)
LOCKS = sorted(MATRICES.glob("*/locks/*.txt"))


def no_cache() -> Path:
    raise UsageError.of("this test keeps nothing")


def test_there_are_locks_for_each_era_of_the_first_matrix() -> None:
    eras = ("tff0.20.0", "tff0.33.0", "tff0.48.0", "tff0.63.0", "tff0.87.0")
    assert all(any(f"-{era}+relaxed" in path.name for path in LOCKS) for era in eras)


@each("path", LOCKS, ids=lambda path: path.stem)
def test_a_kept_lock_is_whole_and_names_neither_host_nor_path(path: Path) -> None:
    assert stored_lock(path).inputs.cell == path.stem
    text = path.read_text(encoding="utf-8")
    assert "://" not in text
    assert " /" not in text


def test_each_combination_of_the_setuptools_matrix_is_answered(
    derived: Callable[[datetime.date], Path],
) -> None:
    day = datetime.date(2026, 11, 27)
    known = Workspace(MATRICES / "setuptools", day, lambda: derived(day)).snapshot
    places = {tuple(place.text for place in entry.cell.coordinates) for entry in known.entries}
    answered = {
        tuple(place.text for place in entry.cell.coordinates)
        for entry in known.entries
        if entry.evidence != "none"
    }
    assert answered == places
    assert not [entry.id for entry in known.known if entry.failing("unexplained")]


@pytest.fixture(scope="module")
def tff(derived: Callable[[datetime.date], Path]) -> Snapshot:
    """What the committed records say."""
    return Workspace(MATRICES / "tff", DAY, lambda: derived(DAY)).known


@pytest.mark.slow
def test_no_record_refutes_a_known_issue(tff: Snapshot) -> None:
    assert not list(refuted(tff.matrix, tff.known))


def test_what_fails_by_a_combination_of_the_first_matrix_is_declared(tff: Snapshot) -> None:
    # A failure that nobody has declared is news: read its source, then declare it, or say here
    # that its cause is not known yet.
    unexplained = {
        (entry.cell.id, name) for entry in tff.known for name in entry.failing("unexplained")
    }
    assert not unexplained


def test_faults_of_a_release_make_no_cell_of_the_first_matrix_partial(tff: Snapshot) -> None:
    by_kind: dict[str, list[Answer]] = {}
    for entry in tff.known:
        by_kind.setdefault(entry.kind, []).append(entry)
    print({kind: len(entries) for kind, entries in sorted(by_kind.items())})
    for entry in by_kind["partial"]:
        print(entry.cell.id, entry.failing("combination"), entry.score.words)
        assert entry.failing("combination")
    assert by_kind["works"]
    for entry in by_kind["works"]:
        assert entry.score.combination == 0
        assert entry.score.finished
        assert {fault.fault for fault in entry.faults} <= {"release", "index"}
    for entry in by_kind["broken"]:
        assert not entry.capabilities


def test_each_known_capability_of_the_first_matrix_fails_where_its_entry_says(
    tff: Snapshot,
) -> None:
    for issue in tff.matrix.known:
        statuses = {
            capability.status
            for entry in tff.known
            if holds(issue, entry.cell)
            for capability in entry.capabilities
            if capability.id == issue.capability
        }
        assert not issue.capability or "no" in statuses
        assert "yes" not in statuses


def test_each_release_of_the_first_matrix_is_answered_for_on_each_platform() -> None:
    workspace = Workspace(MATRICES / "tff", DAY, no_cache)
    matrix, catalogue = workspace.matrix, workspace.stored_catalogue
    assert catalogue is not None
    every = workspace.platforms.installs(matrix, catalogue)
    installs = [install for install in every if install.platform]
    asked = {(install.platform, install.release, install.python) for install in installs}
    assert len(asked) == len(installs)
    assert {install.platform for install in installs} == set(matrix.platforms)
    (newest,) = {i.because for i in installs if (i.release, i.python) == ("0.87.0", "3.11")} & {
        "tensorflow-federated 0.87.0 has no file for Python 3.11 on macOS arm64"
    }
    assert newest
    # What metadata leaves open a resolver was asked.
    assert not [install.cell for install in installs if install.state == "by-metadata"]


def test_what_is_kept_of_other_platforms_names_neither_host_nor_path() -> None:
    kept = [path for path in MATRICES.glob("*/platforms/**/*") if path.is_file()]
    assert kept
    for path in kept:
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        assert " /" not in text


def test_a_raise_drops_what_only_a_package_that_is_gone_rules_out(
    derived: Callable[[datetime.date], Path],
) -> None:
    known = Workspace(MATRICES / "tff", DAY, lambda: derived(DAY)).snapshot
    dropped = {
        str(proposal.proposed): [str(version) for version in gone.versions]
        for proposal in proposals(known, DAY)
        for gone in proposal.lost
        if proposal.axis == gone.axis == "python" and proposal.kind == "raise"
    }
    assert dropped == {"3.11": ["3.9", "3.10"], "3.12": ["3.9", "3.10", "3.11"]}
