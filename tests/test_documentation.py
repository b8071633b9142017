"""The documentation says only what holds: commands exist, links resolve, examples pass `compat
check`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from packaging.version import Version

from compat.cli.app import COMMANDS as TABLE
from compat.cli.app import called, declared_by
from compat.cli.arguments import SHARED, shared_taken, values_of
from compat.cli.machine import interpreter
from compat.results.answer import KINDS
from compat.run.outcome import CAUSES
from compat.site.paths import about_path
from compat.site.render import documentation_html, heading_id

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PACKAGE = ROOT / "PACKAGE.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", PACKAGE, *DOCS]
PROJECT: Any = tomlkit.parse((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXAMPLE = ROOT / "tests" / "workflows" / "example"
SHOWN = [
    *PAGES,
    *(path for path in sorted(EXAMPLE.rglob("*")) if path.suffix in (".yml", ".yaml", ".md")),
]
COMMANDS = {name: declared_by(name)[1] for name in TABLE}
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(text: str, *languages: str) -> list[str]:
    return [block["text"] for block in FENCE.finditer(text) if block["language"] in languages]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {f"#{heading_id(heading)}" for heading in headings}


def command_lines(text: str) -> Iterator[str]:
    """Yield the lines of a page that a reader would type: all of a `sh` block, those after `$ `
    of a `console` one.
    """
    for block in blocks(text, "sh"):
        yield from block.splitlines()
    for block in blocks(text, "console"):
        yield from (line[2:] for line in block.splitlines() if line.startswith("$ "))


def compat_words(line: str) -> Iterator[list[str]]:
    """Yield the words after each `compat` of a line of shell."""
    for part in re.split(r"\|\||&&|;", line):
        words = shlex.split(part, comments=True)
        if "compat" in words:
            yield words[words.index("compat") + 1 :]


TYPED = [
    pytest.param(words, id=f"{page.name}: {line}")
    for page in PAGES
    for line in command_lines(text_of(page))
    for words in compat_words(line)
]


@pytest.mark.parametrize("words", TYPED)
def test_a_command_that_is_shown_can_be_typed(words: list[str]) -> None:
    words = shared_taken(words)
    if words and words[0] not in ("--version", "--completion", "help"):
        key, name, arguments = called(words)
        values_of(COMMANDS[key], arguments, name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_command_in_a_sentence_has_the_options_it_is_shown_with(page: Path) -> None:
    for words in re.findall(r"`compat ([a-z]+[^`]*)`", text_of(page)):
        name, _, _ = called(words.replace("\\|", " ").split())
        known = {name for p in (*SHARED.values(), *COMMANDS[name]) for name in p.names}
        assert set(OPTION.findall(words)) <= known, f"{page.name}: compat {words}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_session_that_is_named_exists(page: Path) -> None:
    sessions = re.findall(r"^def (\w+)\(session", text_of(ROOT / "noxfile.py"), re.MULTILINE)
    assert set(re.findall(r"nox -s \"?(\w+)", text_of(page))) <= set(sessions)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_to_a_file_leads_to_one(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", text_of(page))):
        known = target in anchors(page) if target[0] == "#" else (page.parent / target).exists()
        assert target.startswith("https://") or known, f"{page.name}: {target}"


def test_pages_link_to_each_other_only_so_that_the_site_can_follow() -> None:
    names = {page.name for page in DOCS}
    for page in DOCS:
        for target in LINK.findall(FENCE.sub("", text_of(page))):
            followed = target in names or target in anchors(page)
            assert target.startswith("https://") or followed, f"{page.name}: {target}"


def test_links_between_files_lead_to_pages_of_the_site() -> None:
    text = "[one](tutorial.md), [contents](README.md), [elsewhere](https://example.org/a.md)"
    from_a_page, from_the_contents = (
        documentation_html(text, about_path(name)) for name in ("data.md", "README.md")
    )
    assert re.findall('href="([^"]+)"', from_a_page) == [
        "../../about/tutorial/", "../../about/", "https://example.org/a.md"
    ]  # fmt: skip
    assert re.findall('href="([^"]+)"', from_the_contents)[:2] == [
        "../about/tutorial/",
        "../about/",
    ]


def test_the_contents_list_every_page() -> None:
    listed = LINK.findall(text_of(ROOT / "docs" / "README.md"))
    assert sorted([*listed, "README.md"]) == [page.name for page in DOCS]


def test_the_reference_is_current() -> None:
    command = [sys.executable, str(ROOT / "tools" / "reference.py"), "--check"]
    checked = subprocess.run(command, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_every_cause_and_verdict_is_explained() -> None:
    page = text_of(ROOT / "docs" / "verdicts.md")
    table = page.partition("| causes |")[2].partition("\n\n")[0]
    assert sorted(
        re.findall(r"`([a-z-]+)`", re.sub(r"\|[^|]*\|$", "", table, flags=re.MULTILINE))
    ) == sorted(CAUSES)
    verdicts = page.partition("| verdict |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", verdicts, re.MULTILINE) == list(KINDS)


def compat(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {
        "COMPAT_CACHE_DIR": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    start = "from compat.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *words],
        cwd=folder,
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_declaration_that_is_described_is_sound(tmp_path: Path) -> None:
    page = text_of(ROOT / "docs" / "declaration.md")
    *matrix, policy = blocks(page, "toml")
    # A matrix has one of the two suites.
    of_its_own, of_the_project = (block for block in matrix if block.startswith("[suite]"))
    [test] = blocks(page, "python")
    folder = tmp_path / "matrices" / "flask"
    (folder / "suite").mkdir(parents=True)
    (folder / "suite" / "test_flask.py").write_text(test, encoding="utf-8")
    (folder / "policy.toml").write_text(policy, encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_flask.py").write_text(test, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "flask"\nversion = "3"\noptional-dependencies = {cli = ["click"]}\n'
        '[dependency-groups]\ntest = ["pytest"]\n',
        encoding="utf-8",
    )
    for other in (of_the_project, of_its_own):
        declared = [block for block in matrix if block != other]
        (folder / "matrix.toml").write_text("\n".join(declared), encoding="utf-8")
        checked = compat(tmp_path, "check", "flask")
        assert (checked.stdout, checked.returncode) == ("valid: flask\n", 0), checked.stderr


WRITE = re.compile(
    r"[Ww]rite `(?P<path>[^`]+)`[^\n]*\n\n```\w+\n(?P<content>.*?)^```$"
    r"|^\$ (?P<line>[^\n]+)$",
    re.MULTILINE | re.DOTALL,
)


Printed = Mapping[str, list[subprocess.CompletedProcess[str]]]


def followed(folder: Path, page: str) -> Printed:
    """Write the files of a page and type its commands, in their order; return what the commands
    came to, by line.
    """
    scripts = str(Path(sys.executable).parent)
    environ = os.environ | {
        "COMPAT_CACHE_DIR": str(folder.parent / "cache"),
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    printed: dict[str, list[subprocess.CompletedProcess[str]]] = {}
    for step in WRITE.finditer(page):
        if step["line"]:
            ended = subprocess.run(
                ["bash", "-c", step["line"]],
                cwd=folder,
                env=environ,
                check=False,
                capture_output=True,
                text=True,
            )
            assert ended.returncode in (0, 1), f"{step['line']}: {ended.stdout}{ended.stderr}"
            printed.setdefault(step["line"], []).append(ended)
        else:
            (folder / step["path"]).parent.mkdir(parents=True, exist_ok=True)
            (folder / step["path"]).write_text(step["content"], encoding="utf-8")
    return printed


# What differs from day to day and from machine to machine: a day, how long it took, a digest.
VARIES = re.compile(
    r"\b(?:\d{4}-\d\d-\d\d|\d+(?:\.\d+)? (?:s|min|MB|files)|[0-9a-f]{12,}|isolation L\d)\b"
)
SHOWN_COMMAND = re.compile(r"^\$ ([^\n]+)\n((?:(?!\$ )[^\n]*\n)*)", re.MULTILINE)


def untold(page: str, printed: Printed) -> list[str]:
    """Return the commands that do not print what a page shows; `...` stands for anything."""
    missed = []
    turns: Counter[str] = Counter()
    for block in blocks(page, "console"):
        for line, shown in SHOWN_COMMAND.findall(block):
            ended = printed[line][turns[line]]
            turns[line] += 1
            pattern = re.escape(VARIES.sub("~", shown.strip())).replace(r"\.\.\.", ".*")
            out, err = ended.stdout, ended.stderr
            texts = out, err, err + out, out + err
            if not any(
                re.fullmatch(pattern, VARIES.sub("~", text.strip()), re.DOTALL) for text in texts
            ):
                missed.append(f"{line}\n{ended.stderr}{ended.stdout}")
    return missed


def test_what_a_page_shows_and_a_command_does_not_print_is_found() -> None:
    text = "one 12 s\ntwo\nthree\n"
    ended = {"compat a": [subprocess.CompletedProcess("compat a", 0, text, "")]}
    assert not untold("```console\n$ compat a\none 3 s\n...\nthree\n```\n", ended)
    assert untold("```console\n$ compat a\none 3 s\n...\nfour\n```\n", ended)
    assert untold("```console\n$ compat a\none 3 s\nthree\n```\n", ended)


def followed_in_part(folder: Path, *commands: str) -> None:
    """Hold what README and docs/searches.md show of these commands against what they print."""
    for part in ("matrices", "tests/decays/matrices"):
        shutil.copytree(ROOT / part, folder / part)
    pages = (text_of(ROOT / "README.md"), text_of(ROOT / "docs" / "searches.md"))
    shown = [block for page in pages for block in blocks(page, "console")]
    parts = [block for block in shown if block.startswith(tuple(f"$ {c} " for c in commands))]
    assert len(parts) >= len(commands)
    page = "".join(f"```console\n{block}```\n" for block in parts)
    assert untold(page, followed(folder, page)) == []


def test_what_pages_show_of_stored_answers_is_printed(tmp_path: Path) -> None:
    followed_in_part(tmp_path / "root", "compat advise tff", "compat find reason")


@pytest.mark.slow
@pytest.mark.real_index
def test_what_pages_show_of_searches_is_printed(tmp_path: Path) -> None:
    followed_in_part(
        tmp_path / "root", "compat find repair", "compat floor pip-tools", "compat blame flask"
    )


@pytest.mark.real_index
def test_an_empty_repository_comes_to_a_published_page_as_it_is_told(tmp_path: Path) -> None:
    if interpreter(Version("3.11")) is None:
        pytest.fail("the page's cells run on Python 3.11, which this machine does not have")
    folder = tmp_path / "repository"
    folder.mkdir()
    page = text_of(ROOT / "docs" / "your-library.md")
    printed = followed(folder, page)
    told = {line: ended.stdout + ended.stderr for line, [ended, *_] in printed.items()}
    assert "Next: compat run marshmallow --quick" in told["compat init marshmallow"]
    assert not untold(page, printed)
    first = printed["compat run marshmallow --quick"][0]
    assert first.returncode == 0, first.stderr
    second = printed["compat run marshmallow 'py3.11-*' --junit junit.xml"][0]
    assert second.returncode == 1
    assert "py3.11-marshmallow3.26  pass" in second.stderr
    assert re.search(r"py3\.11-marshmallow4\.\d+  test-fail:\S+\(missing", second.stderr)
    assert "<failure " in (folder / "junit.xml").read_text(encoding="utf-8")
    assert told["compat site check public"].endswith(" 0 faults\n")
    assert (folder / "public/marshmallow/cell/py3.11-marshmallow3.26/index.html").is_file()


def test_the_workflow_that_a_reader_writes_is_the_one_that_is_tested() -> None:
    page = text_of(ROOT / "docs" / "your-library.md")
    example = ROOT / "tests" / "workflows" / "example"
    minimums, workflow, step, hooks = blocks(page, "yaml")
    assert minimums == text_of(example / ".github" / "workflows" / "minimums.yml")
    tested = text_of(example / ".github" / "workflows" / "compat.yml")
    assert workflow.replace("marshmallow", "ferry") == tested
    floors = " ".join(text_of(example / ".github" / "workflows" / "floors.yml").split())
    assert " ".join(step.replace("marshmallow", "ferry").split()) in floors
    assert hooks == text_of(example / ".pre-commit-config.yaml")
    assert blocks(page, "python")[-1] in text_of(example / "noxfile.py")


@pytest.mark.real_index
def test_the_tutorial_does_what_it_shows(tmp_path: Path) -> None:
    """Follow it literally, but for the installation: `tests/cli/test_strangers.py` publishes
    from a built wheel.
    """
    if interpreter(Version("3.11")) is None:
        pytest.fail("the tutorial's cells run on Python 3.11, which this machine does not have")
    page = text_of(ROOT / "docs" / "tutorial.md")
    printed = followed(tmp_path, page)
    assert not untold(page, printed)
    assert printed["compat check jinja2"][0].stdout == "valid: jinja2\n"
    first = printed["compat run jinja2"][0]
    assert first.returncode == 1
    assert (
        "import-fail:missing-attribute(markupsafe.soft_unicode; at jinja2/filters.py:"
        in first.stdout + first.stderr
    )
    assert "py3.11-ms2.1-jinja3.1  pass" in first.stdout + first.stderr
    assert printed["compat advise jinja2"][0].returncode == 0
    assert printed["compat site check public"][0].stdout.endswith(" 0 faults\n")
    assert (tmp_path / "public/jinja2/cell/py3.11-ms2.1-jinja2.11/index.html").is_file()


class TestWhatAnAdopterPuts:
    """The repository, its commit and its release, which stand for what an adopter chooses."""

    OWN = PROJECT["urls"]["Source"].removeprefix("https://github.com/")
    RELEASE = f"v{Version(str(PROJECT['version'])).base_version}"

    @pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.relative_to(ROOT).as_posix())
    def test_each_page_has_the_same_repository_commit_and_release(self, page: Path) -> None:
        text = text_of(page)
        owner = self.OWN.partition("/")[0]
        assert set(re.findall(rf"\b(?:OWNER|{owner})\b(?:/[\w.-]+)?", text)) <= {self.OWN}
        for commit, release in re.findall(rf"{self.OWN}[^@\s]*@([0-9a-f]{{40}}) # (\S+)", text):
            assert (commit, release) == ("0" * 40, self.RELEASE)
        for repository, release in re.findall(r"repo: (\S+)\n\s+rev: (\S+)", text):
            assert (repository, release) == (f"https://github.com/{self.OWN}", self.RELEASE)

    def test_one_place_says_what_to_put(self) -> None:
        rows = [
            line
            for page in PAGES
            for line in text_of(page).splitlines()
            if line.startswith((f"| `{self.OWN}`", f"| `{'0' * 40}`", f"| `{self.RELEASE}`"))
        ]
        assert len(rows) == 3

    def test_the_page_on_a_package_index_links_to_no_file(self) -> None:
        assert PROJECT["readme"] == PACKAGE.name
        assert [link for link in LINK.findall(text_of(PACKAGE)) if "://" not in link] == []
