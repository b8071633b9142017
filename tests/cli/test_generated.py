"""The commands that read a matrix, on declarations and records of any kind: an answer, and no traceback."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from generated import DAY, Repository, digest_of_suite, repositories
from hypothesis import Phase, given, settings
from ran import Ran

from compat.cli import app, publish, setting, stand

with TemporaryDirectory() as _place:
    REPOSITORIES = repositories(digest_of_suite(Path(_place)))
# More examples than a usual run takes, from another seed: COMPAT_EXAMPLES=1000 pytest tests/cli/test_generated.py
EXAMPLES = int(os.environ.get("COMPAT_EXAMPLES", "0"))


def _settings(usual: int) -> settings:
    """So many examples. None is made smaller: a command takes too long for the thousands of tries that need it."""
    return settings(
        max_examples=EXAMPLES or usual, derandomize=not EXAMPLES, database=None, phases=(Phase.explicit, Phase.generate)
    )


@contextmanager
def _repository(repository: Repository) -> Iterator[Path]:
    """The repository on the disk, its day, and neither an index nor a token."""
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        root = Path(place) / "repository"
        repository.write(root)
        for module in (setting, stand, publish):
            patch.setattr(module, "today", lambda: DAY)
        patch.setattr(publish, "read_urls", lambda _: (), raising=False)
        patch.setenv("COMPAT_CACHE_DIR", str(Path(place) / "cache"))
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        patch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
        patch.setenv("NO_COLOR", "1")
        for name in ("GITHUB_TOKEN", "GITHUB_REPOSITORY", "GITHUB_REF_NAME", "GITHUB_API_URL", "SOURCE_DATE_EPOCH"):
            patch.delenv(name, raising=False)
        patch.chdir(root)
        yield root


def _compat(*words: str) -> Ran:
    """Run `compat`. Whatever it raises but its exit code is raised here, too."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["compat", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as left:
            app.main()
    finally:
        sys.argv = before
    return Ran(code=int(left.value.code or 0), out=out.getvalue(), err=err.getvalue())


def _answered(came: Ran, *codes: int) -> Ran:
    assert came.code in codes, came.err
    return came


@_settings(60)
@given(REPOSITORIES)
def test_proposals_and_the_schedule_come_of_any_declaration(repository: Repository) -> None:
    codes = (0, 1) if repository.policy else (2,)
    with _repository(repository):
        for day in ("", "2022-09-22", "2031-01-01"):
            words = ("--today", day) if day else ()
            came = _answered(_compat("propose", "demo", "--json", *words), *codes)
            _answered(_compat("schedule", "demo", "--json", *words), *(0, *codes[2:]) if repository.policy else (2,))
            if repository.policy:
                assert json.loads(came.out)["ok"]
        _answered(_compat("propose", "demo"), *codes)
        _answered(_compat("schedule", "demo", "--ics", "demo.ics"), *codes)
        _answered(_compat("propose", "demo", "--open", "--dry-run", "--repository", "a/b"), *codes)
        if repository.policy and _compat("propose", "demo", "--write").code == 1:
            _answered(_compat("propose", "demo"), 0, 1)


@_settings(40)
@given(REPOSITORIES)
def test_health_advice_and_tables_come_of_any_declaration(repository: Repository) -> None:
    with _repository(repository):
        for words in (["health"], ["health", "--json"], ["show"], ["show", "--json"], ["show", "--table"], ["check"]):
            _answered(_compat(words[0], "demo", *words[1:]), 0, 1)
        for words in ([], ["python==3.9", "--need", "sum"], ["demo<2", "--goal", "stable", "--json"]):
            _answered(_compat("advise", "demo", *words), 0, 1, 2)


@_settings(30)
@given(REPOSITORIES)
def test_a_site_comes_of_any_declaration(repository: Repository) -> None:
    with _repository(repository):
        _answered(_compat("publish", "--out", "public", "--base-url", "https://compat.example/"), 0)
        assert _compat("verify", "public").code == 0
