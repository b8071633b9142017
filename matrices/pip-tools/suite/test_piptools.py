"""pip-tools as its users run it: compile and sync, on wheels in a folder."""

import hashlib
import importlib.util

import pytest
from api import pins, run


@pytest.mark.quick
@pytest.mark.capability("import", title="Import", says="pip-tools imports and tells the version that was installed.")
def test_it_imports_and_tells_its_version(tmp_path):
    import piptools.scripts.compile
    import piptools.scripts.sync  # noqa: F401

    try:
        from importlib.metadata import version
    except ImportError:  # Python 3.7
        import pkg_resources

        installed = pkg_resources.get_distribution("pip-tools").version
    else:
        installed = version("pip-tools")
    assert run(tmp_path, "compile", "--version").split()[-1] == installed


@pytest.mark.quick
@pytest.mark.capability(
    "compile.empty",
    title="Compile nothing",
    says="pip-compile turns an empty requirements file into an empty lock.",
)
def test_an_empty_file_compiles_to_no_pins(tmp_path):
    (tmp_path / "requirements.in").write_text("")
    run(tmp_path, "compile", "requirements.in")
    assert pins((tmp_path / "requirements.txt").read_text()) == []


@pytest.mark.quick
@pytest.mark.capability(
    "compile.offline",
    title="Compile offline",
    says="pip-compile pins a package and what it requires from a folder of wheels, and heeds an upper bound.",
)
def test_a_folder_of_wheels_is_enough_to_compile(project):
    (project / "requirements.in").write_text("outer\ninner<2\n")
    run(project, "compile", "--find-links", "wheels", "requirements.in")
    assert pins((project / "requirements.txt").read_text()) == ["inner==1.0", "outer==1.0"]


@pytest.mark.capability(
    "compile.hashes",
    title="Compile with hashes",
    says="pip-compile writes the right sha256 hash of each file that it pins.",
)
def test_the_hashes_are_those_of_the_files(project):
    (project / "requirements.in").write_text("inner\n")
    run(project, "compile", "--generate-hashes", "--find-links", "wheels", "requirements.in")
    text = (project / "requirements.txt").read_text()
    content = (project / "wheels" / "inner-2.0-py3-none-any.whl").read_bytes()
    assert pins(text) == ["inner==2.0"]
    assert "--hash=sha256:" + hashlib.sha256(content).hexdigest() in text


@pytest.mark.capability(
    "sync.dry-run",
    title="Sync, as a rehearsal",
    says="pip-sync tells what it would install, and changes nothing when asked for a rehearsal.",
)
def test_a_rehearsed_sync_tells_what_it_would_install(project):
    (project / "requirements.txt").write_text("inner==2.0\n")
    told = run(
        project, "sync", "--dry-run", "--find-links", "wheels", "requirements.txt", exit_code=1
    )  # there is something to do
    assert "inner==2.0" in told.partition("Would install:")[2]
    assert importlib.util.find_spec("inner") is None
