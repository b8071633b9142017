"""The commands that read a matrix, on declarations and records of any kind: an answer, and no
traceback.
"""

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from support import floors
from support.examples import examples
from support.generated import DAY, Repository, digest_of_suite, lock_of, repositories
from support.ran import Ran

from compat.cli import app, options, publish
from compat.index.release import Catalogue, Package
from compat.plan.cell import parse_cell
from compat.site import publication

with TemporaryDirectory() as _place:
    REPOSITORIES = repositories(digest_of_suite(Path(_place)))
# More examples than a usual run takes, from another seed: COMPAT_EXAMPLES=1000 pytest
# tests/cli/test_generated.py
MATRIX = floors.MATRIX
POLICY = 'default_months = 24\ncadence = "quarterly"\nnotice_days = 30\nwitnesses = 2\n'
EXAMPLES = int(os.environ.get("COMPAT_EXAMPLES", "0"))


def _settings(usual: int) -> settings:
    """So many examples. None is made smaller: a command takes too long for the thousands of tries
    that need it.
    """
    return examples(
        EXAMPLES or usual,
        derandomize=not EXAMPLES,
        database=None,
        phases=(Phase.explicit, Phase.generate),
    )


@contextmanager
def _repository(repository: Repository) -> Iterator[Path]:
    """The repository on the disk, its day, and neither an index nor a token."""
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        root = Path(place) / "repository"
        repository.write(root)
        for module in (options, publish):
            patch.setattr(module, "today", lambda: DAY)
        patch.setattr(publication, "stored_urls", lambda _: ())
        patch.setenv("COMPAT_CACHE_DIR", str(Path(place) / "cache"))
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        patch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
        patch.setenv("NO_COLOR", "1")
        for name in (
            "GITHUB_TOKEN",
            "GITHUB_REPOSITORY",
            "GITHUB_REF_NAME",
            "GITHUB_API_URL",
            "SOURCE_DATE_EPOCH",
        ):
            patch.delenv(name, raising=False)
        patch.chdir(root)
        yield root


def _compat(*words: str) -> Ran:
    """Run `compat`. Whatever it raises but its exit code is raised here, too."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["compat", *words]
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as left,
        ):
            app.main()
    finally:
        sys.argv = before
    return Ran(code=int(left.value.code or 0), out=out.getvalue(), err=err.getvalue())


def _answered(came: Ran, *codes: int) -> Ran:
    assert came.code in codes, came.err
    assert "None" not in came.out
    assert "0 of 0" not in came.out
    return came


@_settings(40)
@given(REPOSITORIES)
def test_proposals_and_the_schedule_come_of_any_declaration(repository: Repository) -> None:
    codes = (0, 1) if repository.policy else (2,)
    with _repository(repository):
        for day in ("", "2022-09-22", "2031-01-01"):
            words = ("--today", day) if day else ()
            came = _answered(_compat("propose", "demo", "--json", *words), *codes)
            _answered(
                _compat("matrix", "schedule", "demo", "--json", *words),
                *(0, *codes[2:]) if repository.policy else (2,),
            )
            if repository.policy:
                _sound(came.json["data"]["proposals"])
        _answered(_compat("propose", "demo"), *codes)
        _answered(_compat("propose", "demo", "--open", "--dry-run", "--repository", "a/b"), *codes)
        if repository.policy and _compat("propose", "demo", "--write", "--check").code == 1:
            _answered(_compat("propose", "demo"), 0, 1)


def _sound(proposals: list[dict[str, Any]]) -> None:
    """Nothing is open without support, and each representative cell stands for a place that can be
    had.
    """
    for one in proposals:
        assert bool(one["objections"]) is not one["open"]
        assert not one["open"] or any(cell["supports"] for cell in one["evidence"])
        assert all(cell["verdict"] != "infeasible" for cell in one["evidence"])


@_settings(30)
@given(REPOSITORIES)
def test_health_advice_and_tables_come_of_any_declaration(repository: Repository) -> None:
    with _repository(repository):
        figures = _answered(_compat("ci", "health", "demo", "--json"), 0, 1).json["data"]
        states = sum(
            number for name, number in figures.items() if name.startswith("planned_cells_")
        )
        assert states == figures["planned_cells"]
        for words in (["ci health"], ["show"], ["show", "--json"], ["show", "--table"], ["check"]):
            # Only `check` asks whether the suite is there and whether a record refutes an entry of
            # `[[known]]`; where so, the declaration is not sound.
            unsound = (2,) if words == ["check"] else ()
            _answered(_compat(*words[0].split(), "demo", *words[1:]), 0, 1, *unsound)
        for words in (
            [],
            ["python==3.9", "--need", "sum"],
            ["demo<2", "--goal", "stable", "--json"],
        ):
            _answered(_compat("advise", "demo", *words), 0, 1, 2)


@_settings(15)
@given(REPOSITORIES)
def test_a_site_comes_of_any_declaration(repository: Repository) -> None:
    with _repository(repository) as root:
        _answered(_compat("publish", "--out", "public", "--base-url", "https://compat.example/"), 0)
        assert _compat("site", "check", "public").code == 0
        moves = json.loads(
            (root / "public/api/v1/demo/proposals.json").read_text(encoding="utf-8")
        )["proposals"]
        _sound(moves)
        for one in moves:
            assert " works with " not in one["because"] or any(
                cell["supports"] for cell in one["evidence"]
            )
        for path in (root / "public/demo").rglob("*.html"):
            assert "0 of 0 cell" not in path.read_text(encoding="utf-8"), path


def test_a_matrix_of_packages_without_a_release_has_a_site() -> None:
    nothing = Catalogue(
        packages=(Package(name="demo", releases=()), Package(name="dep", releases=()))
    )
    with _repository(
        Repository(matrix=MATRIX, policy="", catalogue=nothing, has_suite=True)
    ) as root:
        _answered(_compat("publish", "--out", "public"), 0)
        assert "0 cells" in (root / "public/demo/index.html").read_text(encoding="utf-8")


def test_a_run_on_a_python_that_the_matrix_has_no_longer_has_its_page() -> None:
    repository = Repository(matrix=MATRIX, policy="", catalogue=floors.catalogue(), has_suite=True)
    cell = parse_cell("py3.6-dep1.2-demo2.0+relaxed", repository.declared)
    repository.locks.append(lock_of(cell, repository.declared))
    repository.records.append(floors.ran(cell.id, lock_digest=repository.locks[0].digest))
    with _repository(repository) as root:
        _answered(_compat("publish", "--out", "public"), 0)
        assert (root / "public/demo/cell" / cell.id / "index.html").exists()


@pytest.mark.parametrize("command", ["propose", "matrix schedule", "ci health", "advise"])
def test_a_kept_catalogue_without_a_package_of_the_matrix_is_refused_in_one_line(
    command: str,
) -> None:
    repository = Repository(
        matrix=MATRIX, policy=POLICY, catalogue=floors.catalogue(), has_suite=True
    )
    with _repository(repository) as root:
        path = root / "matrices/demo/catalogue.json"
        kept = json.loads(path.read_bytes())
        kept["packages"] = [package for package in kept["packages"] if package["name"] != "dep"]
        path.write_text(json.dumps(kept), encoding="utf-8")
        came = _compat(*command.split(), "demo")
    assert came.code == 2
    assert "catalogue.json: lacks dep (" in came.err
