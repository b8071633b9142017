"""What two releases of a package tell of a failure, from their sources alone."""

from pathlib import Path

import pytest

from compat.search.api_change import ApiChange, api_change, surface

MODULES = ("thing",)


@pytest.fixture
def releases(tmp_path: Path) -> tuple[str, str]:
    """An old and a new release; to import either would end the tests."""
    old = {
        "__init__.py": "raise SystemExit\nfrom .inner import *\nfrom .inner import lent\nold = 1\n",
        "inner.py": (
            "def lent(): ...\n"
            "def starred(): ...\n"
            "def call(a, b=1): ...\n"
            "class Client:\n    def __init__(self, app=None): ...\n    def gone(self): ...\n"
        ),
    }
    new = {
        "__init__.py": "raise SystemExit\n",
        "inner.py": (
            "def call(a, c, b=1): ...\nclass Client:\n    def __init__(self, host=None): ...\n"
        ),
    }
    for side, files in (("old", old), ("new", new)):
        (tmp_path / side / "thing").mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / side / "thing" / name).write_text(text, encoding="utf-8")
    return str(tmp_path / "old"), str(tmp_path / "new")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("thing.old", ("thing.old", "thing/__init__.py")),
        ("th.old", ("thing.old", "thing/__init__.py")),
        ("thing.lent", ("thing.lent", "thing/__init__.py")),
        ("thing.starred", ("thing.starred", "thing/inner.py")),
        ("thing.inner.Client.gone", ("thing.inner.Client.gone", "thing/inner.py")),
        ("`thing.old` was removed in 2.0", ("thing.old", "thing/__init__.py")),
    ],
)
def test_what_was_removed_is_named_with_its_file(
    releases: tuple[str, str], text: str, change: tuple[str, str]
) -> None:
    answer = api_change(*releases, MODULES, text)
    assert answer is not None
    assert (answer.kind, answer.name, answer.file) == ("removed", *change)


def test_what_an_older_release_lacks_was_added_and_not_removed(releases: tuple[str, str]) -> None:
    answer = api_change(*releases, MODULES, "thing.old", is_older=True)
    assert answer == ApiChange(name="thing.old", kind="added", file="thing/__init__.py")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (
            "TypeError: call() missing 1 required positional argument: 'c'",
            ApiChange(name="thing.inner.call", kind="signature", file="thing/inner.py", new=("c",)),
        ),
        (
            "TypeError: Client.__init__() got an unexpected keyword argument 'app'",
            ApiChange(
                name="thing.inner.Client.__init__",
                kind="signature",
                file="thing/inner.py",
                lost=("app",),
                new=("host",),
            ),
        ),
    ],
)
def test_a_changed_signature_is_named(
    releases: tuple[str, str], text: str, change: ApiChange
) -> None:
    assert api_change(*releases, MODULES, text) == change


@pytest.mark.parametrize(
    "text",
    [
        *("", "thing.inner.call", "other.name", "KeyError: 'x'", "thing.never.was"),
        "TypeError: __init__() got an unexpected keyword argument 'other'",
    ],
)
def test_what_did_not_change_or_never_was_is_not_named(
    releases: tuple[str, str], text: str
) -> None:
    assert api_change(*releases, MODULES, text) is None


def test_sources_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    for side in ("old", "new"):
        (tmp_path / side / "thing").mkdir(parents=True)
        (tmp_path / side / "thing" / "__init__.py").write_bytes(b"\xff\x00(" * 20)
    folders = str(tmp_path / "old"), str(tmp_path / "new")
    assert api_change(*folders, MODULES, "thing.old") is None
    (tmp_path / "old" / "thing" / "__init__.py").write_text("old = 1\n", encoding="utf-8")
    assert api_change(*folders, MODULES, "thing.old") is None


@pytest.mark.parametrize(
    ("source", "given", "hidden"),
    [
        (
            "_moved = {'Shape': ('soon gone', other.Shape), 'Old': ('gone', None)}\n"
            "if TYPE_CHECKING:\n    Shape = other.Shape\n"
            "else:\n    __getattr__ = made_of(__name__, _moved)\n",
            *({"Shape"}, {"Old"}),
        ),
        (
            "__getattr__, __dir__, __all__ = lazy.attach("
            "__name__, submodules=['inner'], submod_attrs={'more': ['call']})\n",
            *({"inner", "more", "call"}, set()),
        ),
        (
            "if TYPE_CHECKING:\n    from .bert import Bert\n"
            "else:\n    sys.modules[__name__] = Lazy(__name__)\n",
            *({"Bert"}, set()),
        ),
        (
            "if TYPE_CHECKING:\n    from .bert import Bert\n"
            "class Proxy:\n    def __getattr__(self, name): ...\n",
            *({"Proxy"}, {"Bert"}),
        ),
    ],
)
def test_names_that_a_module_gives_on_access_are_read(
    source: str, given: set[str], hidden: set[str]
) -> None:
    names = surface(source.encode(), "thing", True).names
    assert given <= set(names)
    assert not hidden & set(names)
