"""Checkouts: a copy of a project's source as git has it, and the wheels built from it."""

import ast
import hashlib
import re
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from uv import find_uv_bin

from compat.declare.capabilities import is_collected
from compat.errors import BuildFailed, IndexUnreachable, ToolFailed, UsageError, one_line
from compat.index.metadata import published_in
from compat.index.release import Published
from compat.index.settings import without_credentials
from compat.lock.resolvers import error_before_failure, own_error
from compat.lock.uv import NETWORK_SIGNS, Done, index_arguments, run_tool
from compat.plan.platform import accepted_tags, admits
from compat.run.builds import Workshop, build_room
from compat.run.supervise import run_limited
from compat.value import Value

# A clone of a large repository takes minutes; one that hangs must not hold a job for hours.
_GIT_SECONDS = 900
_URL = re.compile(
    r"git\+(?P<url>(?:https?|ssh|file)://[^@#\s]*(?:@[^@#/\s]*/[^@#\s]*)?)"
    r"(?:@(?P<revision>[A-Za-z0-9_][^@#\s]*))?(?:#subdirectory=(?P<folder>[^#\s]+))?"
)
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "node_modules")
_ARCHIVES = (".tar.gz", ".zip")


class SourceCopy(Value, frozen=True, kw_only=True):
    """The copy of a source: the folder or file to build, and its git state.

    `path` is to be built. `commit` is empty outside of git; `is_changed` means uncommitted changes.
    `readable` are folders that git needs beside the copy, because it borrows the history.
    """

    path: Path
    commit: str = ""
    is_changed: bool = False
    readable: tuple[Path, ...] = ()


def copied_source(source: str, place: Path, environ: Mapping[str, str]) -> SourceCopy:
    """A source is a project's folder, a wheel, a source distribution, or
    `git+https://HOST/REPOSITORY@REVISION#subdirectory=FOLDER`. Raises UsageError for anything else,
    and ToolFailed where git cannot fetch it.
    """
    if source.startswith("git+"):
        return _cloned(source, place, environ)
    path = Path(source)
    if path.is_file() and path.name.endswith((".whl", *_ARCHIVES)):
        place.mkdir(parents=True)
        return SourceCopy(path=Path(shutil.copyfile(path, place / path.name)))
    if not path.is_dir():
        hint = "a project's folder, a wheel, a .tar.gz, or git+https://..."
        raise UsageError.of("there is no such source to build", path=source, hint=hint)
    _refuse_without_project(path, source)
    if (copy := _in_git(path.resolve(), place, environ)) is not None:
        return copy
    shutil.copytree(path, place, symlinks=True, ignore=_LEFT_OUT)
    return SourceCopy(path=place)


def _refuse_without_project(folder: Path, source: str) -> None:
    if not any((folder / name).is_file() for name in _PROJECT):
        below = (place for depth in ("*", "*/*") for place in folder.glob(depth))
        members = [p for p in below if any((p / name).is_file() for name in _PROJECT)]
        names = ", ".join(sorted(path.relative_to(folder).as_posix() for path in members))
        raise UsageError.of(
            "holds no project that can be built: neither pyproject.toml nor setup.py",
            path=without_credentials(source),
            hint=f"name one of its projects: {names}" if names else "name the project's own folder",
        )


def _in_git(folder: Path, place: Path, environ: Mapping[str, str]) -> SourceCopy | None:
    top_text = _answer(folder, environ, "rev-parse", "--show-toplevel")
    if not top_text or not _files(folder, environ):
        return None
    top = Path(top_text)
    commit = _answer(folder, environ, "rev-parse", "--verify", "--quiet", "HEAD")
    readable: tuple[Path, ...] = ()
    if commit:
        # A shared clone borrows the objects: it is fast and cannot write to them. The repository's
        # settings (tokens, commands) are not copied.
        _git(top, environ, "clone", "--quiet", "--shared", "--no-checkout", "--", top, place)
        # Version tools compare the files with git's index.
        _git(place, environ, "read-tree", "HEAD")
        common = _answer(top, environ, "rev-parse", "--git-common-dir")
        readable = ((top / common).resolve() / "objects",)
    _copy_files(top, place, environ)
    # Files that compat itself writes there do not count as changes of the project.
    own = ":(top,exclude)matrices"
    is_changed = bool(_answer(folder, environ, "status", "--porcelain", "--", ".", own))
    inside = folder.relative_to(top.resolve())
    return SourceCopy(path=place / inside, commit=commit, is_changed=is_changed, readable=readable)


def _files(folder: Path, environ: Mapping[str, str]) -> list[str]:
    listed = _answer(
        folder, environ, "ls-files", "-z", "--cached", "--others", "--exclude-standard"
    )
    return sorted({name for name in listed.split("\0") if name})


def _copy_files(top: Path, place: Path, environ: Mapping[str, str]) -> None:
    for name in _files(top, environ):
        source, target = top / name, place / name
        if source.is_dir() and not source.is_symlink():
            if _answer(source, environ, "rev-parse", "--show-prefix") == "":
                _copy_files(source, target, environ)  # a submodule
        elif source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _cloned(source: str, place: Path, environ: Mapping[str, str]) -> SourceCopy:
    shown, match = without_credentials(source), _URL.fullmatch(source)
    if match is None:
        hint = "git+https://HOST/REPOSITORY@REVISION#subdirectory=FOLDER"
        raise UsageError.of("is not an address that git can clone here", path=shown, hint=hint)
    place.parent.mkdir(parents=True, exist_ok=True)
    _git(place.parent, environ, "clone", "--quiet", "--", match["url"], place)
    if match["revision"]:
        _git(place, environ, "checkout", "--quiet", "--detach", match["revision"])
    folder = (place / (match["folder"] or ".")).resolve()
    if not folder.is_relative_to(place.resolve()):
        raise UsageError.of("its subdirectory lies outside of the repository", path=shown)
    _refuse_without_project(folder, source)
    return SourceCopy(path=folder, commit=_answer(place, environ, "rev-parse", "HEAD"))


def _answer(folder: Path, environ: Mapping[str, str], *words: str) -> str:
    try:
        done = _run(folder, environ, *words)
    except ToolFailed:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def newer_tests(
    repository: Path, name: str, version: Version, contents: Mapping[str, bytes]
) -> tuple[str, ...]:
    """Return the tests and test files that a release's tag lacks or has with other content.

    They may be newer than the release. `contents` are the files by their path. Returns none where
    git has no such tag, or where no file is unchanged.
    """
    tags = _answer(repository, {}, "tag").splitlines()
    tag = next((tag for tag in tags if _is_tag_of(tag, name, version)), "")
    if not tag:
        return ()
    # Each line is: mode, type, digest, a tab, path.
    lines = _answer(repository, {}, "ls-tree", "-r", tag).splitlines()
    listed = (line.split(None, 3) for line in lines)
    then = {parts[3]: parts[2] for parts in listed if len(parts) == 4}
    newer: list[str] = []
    collected = (path for path in contents if is_collected(path))
    tests = {p: contents[p] for p in collected if not p.endswith("conftest.py")}
    for path, content in tests.items():
        blob = b"blob %d\0" % len(content) + content
        if then.get(path) != hashlib.sha1(blob, usedforsecurity=False).hexdigest():
            earlier = _run(repository, {}, "show", f"{tag}:./{path}") if path in then else None
            text = content.decode(errors="replace")
            newer += changed_tests(path, text, earlier.stdout if earlier else None)
    return () if len(newer) == len(tests) and newer == list(tests) else tuple(newer)


def changed_tests(path: str, now: str, then: str | None) -> list[str]:
    """Return the ids of a file's changed tests, or the file if it is new or changed elsewhere."""
    try:
        before, after = _parts(then or ""), _parts(now)
    except (SyntaxError, ValueError, RecursionError):
        return [path]
    if then is None or before.get("") != after[""]:
        return [path]
    return [f"{path}::{test}" for test, code in after.items() if before.get(test) != code]


def _parts(text: str) -> dict[str, str]:
    """Source of each test by its id; all other code is under the empty name."""
    parts = {"": ""}
    for node in ast.parse(text).body:
        tests, above = [node], ""
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            tests, above = [inner for inner in node.body if _test_name(inner)], f"{node.name}::"
            node.body = [inner for inner in node.body if inner not in tests]
        parts |= {f"{above}{name}": ast.dump(t) for t in tests if (name := _test_name(t))}
        parts[""] += "" if _test_name(node) else ast.dump(node)
    return parts


def _test_name(node: ast.stmt) -> str:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    return node.name if node.name.startswith("test") else ""


def _is_tag_of(tag: str, name: str, version: Version) -> bool:
    """Whether a tag belongs to a release: `v1.0`, `1.0`, `name-1.0`, `release-1.0`."""
    match = re.fullmatch(r"(?P<what>[A-Za-z][\w.-]*?)?[-_/@]?[vV]?(?P<version>\d[\w.+-]*)", tag)
    what = canonicalize_name(match["what"] or "") if match else ""
    if match is None or what not in ("", "v", "release", "rel", canonicalize_name(name)):
        return False
    try:
        return Version(match["version"].replace("_", ".")) == version
    except InvalidVersion:
        return False


def _git(folder: Path, environ: Mapping[str, str], *words: str | Path) -> None:
    done = _run(folder, environ, *map(str, words))
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        why = re.sub(r"//[^/\s]*@", "//", lines[-1]) if lines else f"code {done.returncode}"
        raise ToolFailed.of(f"git {words[0]} failed: {why}")


def _run(folder: Path, environ: Mapping[str, str], *words: str) -> Done:
    # Nobody can answer a password prompt.
    own = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    own |= {"GIT_ALLOW_PROTOCOL": "http:https:ssh:file"}
    variables = {**environ, **own}
    return run_tool(["git", *words], folder, variables, _GIT_SECONDS, errors="surrogateescape")


_MOST_BYTES = 2**30  # PyPI accepts files of at most 100 MB, and up to 1 GB on request
_DIGITS = 12


class CheckoutWheel(Value, frozen=True, kw_only=True):
    """A locally built wheel: name, digest and requirements."""

    name: str
    path: str
    sha256: str
    version: Version
    tags: frozenset[Tag]
    published: Published


class BuiltCheckout(Value, frozen=True, kw_only=True):
    """A project's source that replaces a release, with its wheels; the first decides its version.

    `source` is what the user named. `commit` is empty outside of git; `is_changed` means
    uncommitted changes. `folder` is the copy that was built; empty for a wheel.
    """

    source: str
    commit: str
    is_changed: bool
    wheels: tuple[CheckoutWheel, ...]
    folder: str = ""

    @property
    def version(self) -> Version:
        return self.wheels[0].version

    @property
    def name(self) -> str:
        """The commit; with uncommitted changes or without one, the first wheel's digest, too."""
        digest = self.wheels[0].sha256[:_DIGITS]
        if not self.commit:
            return f"wheel-{digest}"
        commit = self.commit[:_DIGITS]
        return f"{commit}-{digest}" if self.is_changed else commit

    @property
    def words(self) -> str:
        if not self.commit:
            return str(self.version)
        changed = ", with changes that are not committed" if self.is_changed else ""
        return f"{self.version} (commit {self.commit[:_DIGITS]}{changed})"


class CheckoutOrder(Value, frozen=True, kw_only=True):
    """What to build: a source, as `copied_source` takes it.

    `package` is the expected name, empty for any. The wheels are built for the Pythons and the
    platform, the first Python first.
    """

    source: str
    package: str
    pythons: tuple[Version, ...]
    platform: str


def built_checkout(
    order: CheckoutOrder,
    place: Path,
    shop_of: Callable[[Version], Workshop],
    environ: Mapping[str, str],
) -> BuiltCheckout:
    """`environ` is what git may see of the caller's environment; the build sees what `shop_of`
    gives a Python. Raises BuildFailed where the build fails, UsageError for another package or no
    source, ToolFailed and IndexUnreachable for trouble outside the project.
    """
    copy = copied_source(order.source, place / "source", environ)
    wheels: list[CheckoutWheel] = []
    if copy.path.suffix == ".whl":
        wheels.append(_wheel(copy.path, order))
    else:
        for python in order.pythons:
            tags = accepted_tags(python, order.platform)
            has_one = any(not tags.isdisjoint(wheel.tags) for wheel in wheels)
            if has_one or (wheels and not admits(wheels[0].published.requires_python, python)):
                continue
            folder = place / f"py{python.major}.{python.minor}"
            wheels.append(_wheel(_built(copy, folder, shop_of(python), order), order))
    return BuiltCheckout(
        source=without_credentials(order.source), commit=copy.commit, is_changed=copy.is_changed,
        wheels=tuple(wheels), folder=str(copy.path) if copy.path.is_dir() else "",
    )  # fmt: skip


def _built(copy: SourceCopy, place: Path, shop: Workshop, order: CheckoutOrder) -> Path:
    source = without_credentials(order.source)
    room = build_room(place, log := place / "build.log", shop)
    command = [
        *(find_uv_bin(), "build", "--wheel", "--no-config", "--no-progress", "--color=never"),
        *("--no-python-downloads", "--no-sources", "--no-create-gitignore"),
        *(f"--python={shop.python}", f"--out-dir={place / 'wheels'}"),
        *(*index_arguments(shop.index), str(copy.path)),
    ]
    readable = (*room.readable, *copy.readable)
    room = replace(room, writable=(place.parent,), readable=readable)
    ended = run_limited(command, room, shop.limits, level=shop.level)
    if ended.by != "exit":
        raise ToolFailed.of(f"the build ended by {ended.by}", path=source)
    if ended.exit_code != 0:
        text = log.read_text(encoding="utf-8", errors="replace")
        # uv draws a tree beside its messages.
        drawn = " \u2502\u251c\u2500\u25b6\u2570\u00d7"
        printed = [line.strip(drawn) for line in text.splitlines() if line.strip()]
        own = error_before_failure(text) or own_error(text)
        why = one_line(own or next(iter(printed[-1:]), "it said nothing"))
        if any(sign in text for sign in NETWORK_SIGNS):
            hint = "check the network and the index, then again"
            raise IndexUnreachable.of(f"cannot be built: {why}", path=source, hint=hint)
        hint = f"uv build --wheel {source} shows the whole of it"
        raise BuildFailed.of(f"cannot be built: {why}", path=source, hint=hint)
    # The folder is hostile: links are not accepted as wheels.
    wheels = [
        path for path in (place / "wheels").glob("*.whl") if stat.S_ISREG(path.lstat().st_mode)
    ]
    if len(wheels) != 1:
        raise BuildFailed.of(f"the build left {len(wheels)} wheels, not one", path=order.source)
    return wheels[0]


def _wheel(path: Path, order: CheckoutOrder) -> CheckoutWheel:
    source = without_credentials(order.source)
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
    except (InvalidWheelFilename, InvalidVersion) as error:
        raise UsageError.of(f"{path.name!r} is not the name of a wheel", path=source) from error
    if order.package and name != canonicalize_name(order.package):
        hint = "--subject-from names the project of the matrix's subject"
        message = f"is the project {name}, and the subject of the matrix is {order.package}"
        raise UsageError.of(message, path=source, hint=hint)
    if path.stat().st_size > _MOST_BYTES:
        raise UsageError.of(f"its wheel is larger than {_MOST_BYTES:,} bytes", path=source)
    return CheckoutWheel(
        name=name, path=str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        version=version, tags=tags, published=published_in(path),
    )  # fmt: skip
