"""What somebody has who uses compat on a repository of their own: a site with their pages, and no
file elsewhere.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.fake_index import FakeIndex
from support.ran import Run

from compat.site.paths import about_path
from compat.site.render import assets

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

HERE = Path(__file__).parent.parent.parent
MOVED = "This page has moved"


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_site_of_somebody_else_holds_no_address_of_this_repository(
    run: Run, tmp_path: Path
) -> None:
    out = tmp_path / "public"
    published = run("publish", "--out", str(out), "--json")
    assert published.json["data"]["moved"] == []
    assert {
        path.split("/")[0]
        for path in published.json["data"]["changed"]
        if path.endswith("index.html")
    } <= {
        *(
            "index.html",
            "about",
            "advise",
            "demo",
            "grid",
            "cap",
            "causes",
            "changes",
            "charts",
            "schedule",
        ),
        *("proposals", "reliability", "plain", "search", "build", "embed"),
        *("more", "platforms", "roadmap"),
    }


def test_addresses_are_kept_beside_the_matrices_that_they_are_of(
    run: Run, root: Path, tmp_path: Path
) -> None:
    before = files_below(HERE / "matrices"), files_below(assets())
    assert run("publish", "--out", str(tmp_path / "public"), "--keep-urls").code == 0
    assert (files_below(HERE / "matrices"), files_below(assets())) == before
    kept = json.loads((root / "matrices" / "urls.json").read_text(encoding="utf-8"))
    assert "demo/grid/index.html" in kept
    assert not [path for path in kept if path.startswith(("tff/", "pip-tools/"))]


def test_an_address_that_was_kept_redirects_when_its_page_is_gone(
    run: Run, root: Path, tmp_path: Path
) -> None:
    (root / "matrices" / "urls.json").write_text('["demo/cell/gone/index.html"]', encoding="utf-8")
    assert run("publish", "--out", str(tmp_path / "public"), "--json").json["data"]["moved"] == [
        "demo/cell/gone/index.html"
    ]
    assert MOVED in (tmp_path / "public/demo/cell/gone/index.html").read_text(encoding="utf-8")


def test_a_list_of_addresses_that_is_not_valid_is_named_in_one_line(
    run: Run, root: Path, tmp_path: Path
) -> None:
    (root / "matrices" / "urls.json").write_text('["../up/index.html"]', encoding="utf-8")
    refused = run("publish", "--out", str(tmp_path / "public"))
    assert refused.code == 2
    assert refused.err.splitlines()[-1].startswith("error: ")
    assert "urls.json: '../up/index.html' is not" in refused.err
    assert "Traceback" not in refused.err


def test_an_installed_wheel_publishes_a_site_and_writes_nowhere_else(
    installed: Path, root: Path, tmp_path: Path, demo_index: FakeIndex
) -> None:
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PIP_", "UV_", "PYTHON"))
    }
    environ = kept | {
        "COMPAT_CACHE_DIR": str(tmp_path / "cache"),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": demo_index.url,
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def compat(*words: str) -> str:
        command = [str(installed), "-c", "from compat.cli.app import main; main()", *words]
        ended = subprocess.run(
            command, check=False, cwd=root, env=environ, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    program = files_below(installed.parent.parent)
    where = "from compat.site import render; print(render.__file__, render.assets())"
    places = subprocess.check_output(
        [str(installed), "-c", where], env=environ, cwd=root, text=True
    ).split()
    assert all(place.startswith(str(installed.parent.parent)) for place in places), places
    assert (
        json.loads(compat("publish", "--out", "public", "--keep-urls", "--json"))["data"]["moved"]
        == []
    )
    pages = files_below(root / "public")
    assert "demo/grid/index.html" in pages
    assert pages["static/style.css"] == (HERE / "site/static/style.css").read_bytes()
    assert {about_path(text.name) for text in (HERE / "docs").glob("*.md")} <= pages.keys()
    assert not [path for path in pages if path.startswith(("tff/", "pip-tools/"))]
    assert json.loads(compat("publish", "--out", "public", "--json"))["data"]["changed"] == []
    assert sorted(path.name for path in root.iterdir()) == ["matrices", "public"]
    assert sorted(path.name for path in (root / "matrices").iterdir()) == ["demo", "urls.json"]
    assert files_below(installed.parent.parent) == program
