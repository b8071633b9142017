"""Where the index is: as told, else as pip is configured, else the public one."""

from pathlib import Path

import pytest
from pip._internal.models.index import PyPI

from compat.errors import UsageError
from compat.index.settings import IndexSettings, read_listing, settings, without_credentials

LISTING = """\
global.cert='/etc/bundle.pem'
global.extra-index-url='https://one.example/simple\\nfile:///opt/wheels  https://two.example/simple'
global.index-url='https://global.example/simple'
install.index-url='https://install.example/simple'
download.index-url='https://download.example/simple'
:env:.proxy='http://proxy.example:3128'
"""


@pytest.fixture(autouse=True)
def no_pip_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide this machine's own configuration of pip."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("INDEX_URL", "EXTRA_INDEX_URL", "CERT", "PROXY", "FIND_LINKS"):
        monkeypatch.delenv(f"PIP_{name}", raising=False)


def test_the_environment_beats_install_beats_global() -> None:
    assert read_listing(LISTING)["index-url"] == "https://install.example/simple"
    assert (
        read_listing(LISTING + ":env:.index-url='https://env.example/'\n")["index-url"]
        == "https://env.example/"
    )


def test_lines_that_are_no_settings_are_passed_over() -> None:
    assert read_listing("WARNING: something\nglobal.cert=unquoted\nglobal.proxy='x'\n") == {
        "proxy": "x"
    }


def test_settings_come_from_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://env.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://one.example/simple file:///opt/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/opt/wheels")
    monkeypatch.setenv("PIP_CERT", "/etc/bundle.pem")
    monkeypatch.setenv("PIP_PROXY", "http://proxy.example:3128")
    assert settings() == IndexSettings(
        index_url="https://env.example/simple",
        extra_index_urls=("https://one.example/simple",),
        cert="/etc/bundle.pem",
        proxy="http://proxy.example:3128",
        left_out=("file:///opt/simple", "/opt/wheels"),
    )


def test_a_folder_named_pip_is_not_taken_for_pip(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pip.py").write_text("print('global.index-url=\\'https://wrong.example/\\'')")
    monkeypatch.chdir(tmp_path)
    assert settings().index_url == PyPI.simple_url


def test_without_pip_the_public_index_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://env.example/simple")
    monkeypatch.setattr("sys.executable", "/no/such/python")
    assert settings() == IndexSettings(index_url=PyPI.simple_url)


def test_what_is_given_wins_each_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://env.example/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://one.example/simple")
    found = settings(index_url="http://given.example/")
    assert found.urls == ("https://one.example/simple", "http://given.example/")
    assert settings(extra_index_urls=["https://x.example/"]).urls == (
        "https://x.example/",
        "https://env.example/simple",
    )


def test_a_local_index_is_left_out_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "file:///opt/simple")
    found = settings()
    assert found.index_url == PyPI.simple_url
    assert found.left_out == ("file:///opt/simple",)


@pytest.mark.parametrize(
    "url", ["file:///opt/simple", "ftp://x.example/", "simple", "https://", "https://[::1/simple"]
)
def test_a_given_address_must_be_http(url: str) -> None:
    with pytest.raises(UsageError, match="https://"):
        settings(index_url=url)
    with pytest.raises(UsageError, match="https://"):
        settings(extra_index_urls=[url])


@pytest.mark.parametrize(
    "url",
    [
        "https://user:s3cret@x.example/simple",
        "user:s3cret@x.example",
        "ftp://s3cret@x.example",
        "//a:s3cret@b/c",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    assert "s3cret" not in without_credentials(url)
    assert "s3cret" not in repr(IndexSettings(index_url=url))
    if not url.startswith("https"):
        with pytest.raises(UsageError) as caught:
            settings(index_url=url)
        assert "s3cret" not in str(caught.value)


def test_an_address_without_a_password_is_shown_as_it_is() -> None:
    assert (
        without_credentials("https://x.example:8080/simple?a=b")
        == "https://x.example:8080/simple?a=b"
    )
