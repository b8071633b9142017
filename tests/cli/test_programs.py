"""`compat site mcp`: thirty questions of a client over stdio, from a published site."""

import asyncio
import datetime
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.ran import Run

HERE = Path(__file__).parents[2]
RECORD = re.compile(r"record: (\S+) \((\d{4}-\d\d-\d\d)\)")
VERSIONS = ("", "python==3.11", "python==3.8", "pip>=25", "pip<22", "pip-tools==7.5", "pip==99")
APIS = ("import", "compile.empty", "sync", "functools.cache", "Compile.Hashes", "nothing.of.this")
ASKED: list[tuple[str, dict[str, str]]] = [
    *((tool, {"versions": v}) for tool in ("what_works", "why_not", "install") for v in VERSIONS),
    *(("boundary", {"api": api}) for api in APIS),
    ("what_works", {"package": "PIP_tools", "versions": "python==3.11, pip>=23"}),
    ("why_not", {"versions": "python==3.8 pip==23 pip-tools==7.6"}),
    ("install", {"versions": "python==3.11; pip-tools>=7"}),
]


@pytest.fixture(scope="module")
def site(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The site of the matrix of pip-tools."""

    def publish(folder: Path) -> None:
        words = ("publish", "pip-tools", "--out", str(folder / "public"), "--today", "2026-11-27")
        ended = subprocess.run(
            [sys.executable, "-m", "compat", *words],
            cwd=HERE, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr

    return once("pip-tools-site", publish) / "public"


def answers(site: Path, asked: list[tuple[str, dict[str, str]]]) -> list[tuple[bool, str]]:
    # Here, as its import takes two seconds in each worker.
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "compat", "site", "mcp", str(site)], cwd=HERE
    )

    async def ask() -> list[tuple[bool, str]]:
        async with (
            mcp.stdio_client(server) as streams,
            mcp.ClientSession(*streams) as session,
        ):
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}
            assert tools == {"what_works", "why_not", "install", "boundary"}
            found = []
            for tool, words in asked:
                result = await session.call_tool(tool, {"package": "pip-tools"} | words)
                found.append((bool(result.is_error), result.content[0].text))
            return found

    return asyncio.run(ask())


def tokens(text: str) -> int:
    """More than the tokenizers of 2026 count: pieces of words, each digit and each sign is one."""
    return sum(1 + len(word) // 5 for word in re.findall(r"[^\W\d_]+|[\d_]|[^\w\s]", text))


def test_thirty_questions_are_answered_short_with_a_record_and_its_day(site: Path) -> None:
    assert len(ASKED) == 30
    rows = json.loads((site / "api/v1/pip-tools/cells.json").read_text(encoding="utf-8"))["cells"]
    days = {row["id"]: row["latest"] for row in rows}
    for question, (is_error, text) in zip(ASKED, answers(site, ASKED), strict=True):
        assert not is_error, (question, text)
        assert tokens(text) < 300, (question, text)
        (record,) = RECORD.findall(text)
        datetime.date.fromisoformat(record[1])
        # What nothing was run of names the matrix and the day of the site.
        assert record in {*days.items(), ("pip-tools", "2026-11-27")}, (question, text)


def test_the_answers_are_those_of_the_runs(site: Path) -> None:
    red, green = {"versions": "python==3.8 pip==23 pip-tools==7.6"}, {"versions": "python==3.13"}
    (_, why), (_, works), (_, how), (_, odd), (is_error, other) = answers(
        site,
        [
            ("why_not", red),
            ("what_works", green),
            ("install", green),
            ("what_works", {"versions": "nose==1"}),
            ("what_works", {"package": "nose"}),
        ],
    )
    assert "py3.8-pip23-piptools7.6+relaxed" in why
    assert "functools" in why or "cache" in why
    assert RECORD.findall(works) == RECORD.findall(how) != []
    assert "uv pip install" in how
    assert "pip-tools" in odd
    assert is_error
    assert "pip-tools" in other


def test_a_folder_without_advisories_is_wrong_use(run: Run, tmp_path: Path) -> None:
    ran = run("site", "advisories", str(tmp_path))
    assert ran.code == 2
    assert "compat publish" in ran.err
