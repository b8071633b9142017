"""What setuptools does for builds, what pkg_resources does, and what packages do that import it."""

import importlib
import importlib.metadata
import subprocess
import sys

import pytest


@pytest.mark.capability(
    "import",
    title="Import",
    says="setuptools imports and has the version that was installed.",
)
def test_it_imports():
    import setuptools

    assert setuptools.__version__ == importlib.metadata.version("setuptools")


@pytest.mark.capability(
    "build.packages",
    title="Find packages",
    says="The packages of a folder are found.",
)
def test_packages_are_found(tmp_path):
    from setuptools import find_packages

    for name in ("a", "a/b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    assert sorted(find_packages(str(tmp_path))) == ["a", "a.b", "c"]


@pytest.mark.capability(
    "build.wheel",
    title="Build a wheel",
    says="A project with a pyproject.toml becomes a wheel.",
)
def test_a_wheel_is_built(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "demo"\nversion = "1"\n\n[tool.setuptools]\npy-modules = ["demo"]\n'
    )
    (tmp_path / "demo.py").write_text("")
    code = "import setuptools.build_meta as b; print(b.build_wheel('.'))"
    run(tmp_path, [sys.executable, "-c", code])
    assert [path.name for path in tmp_path.glob("*.whl")] == ["demo-1-py3-none-any.whl"]


@pytest.mark.capability(
    "build.setup-py",
    title="setup.py",
    says="A project with a setup.py tells its name and version.",
)
def test_a_setup_py(tmp_path):
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup(name='demo', version='1', py_modules=[])\n")
    assert run(tmp_path, [sys.executable, "setup.py", "--name", "--version"]).split()[-2:] == ["demo", "1"]


class Absent(pytest.skip.Exception):
    """This release does not have the module: neither a success nor a failure."""

    missing = ("pkg_resources",)


def found():
    """Return pkg_resources, which setuptools has until 81."""
    try:
        return importlib.import_module("pkg_resources")
    except ModuleNotFoundError as error:
        if error.name != "pkg_resources":
            raise
        raise Absent("absent: pkg_resources") from None


def run(folder, command):
    """Run a command; fail with the last line of what it said."""
    __tracebackhide__ = True
    done = subprocess.run(
        command, check=False, cwd=str(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )
    if done.returncode:
        pytest.fail(done.stdout.strip().rpartition("\n")[2])
    return done.stdout


@pytest.mark.capability(
    "pkg_resources.import",
    title="pkg_resources",
    says="`import pkg_resources` works.",
)
def test_pkg_resources_imports():
    pkg_resources = found()
    assert pkg_resources.parse_version("1.0") < pkg_resources.parse_version("1.1")


@pytest.mark.capability(
    "pkg_resources.version",
    title="A version by pkg_resources",
    says="`get_distribution` finds a version.",
)
def test_a_version_by_pkg_resources():
    pkg_resources = found()
    assert pkg_resources.get_distribution("setuptools").version == importlib.metadata.version("setuptools")


@pytest.mark.capability(
    "pkg_resources.entry-points",
    title="Entry points",
    says="`iter_entry_points` finds those of a group.",
)
def test_entry_points_by_pkg_resources():
    pkg_resources = found()
    points = pkg_resources.iter_entry_points("distutils.commands")
    assert "egg_info" in {point.name for point in points}


@pytest.mark.capability(
    "pkg_resources.file",
    title="A file by pkg_resources",
    says="`resource_filename` finds a package's file.",
)
def test_a_file_by_pkg_resources():
    pkg_resources = found()
    assert pkg_resources.resource_exists("setuptools", "__init__.py")
    assert pkg_resources.resource_filename("setuptools", "__init__.py").endswith("__init__.py")


@pytest.mark.capability(
    "victim.apscheduler",
    title="APScheduler 3.10.1",
    says="A scheduler takes a job.",
)
def test_apscheduler():
    from apscheduler.schedulers.background import BackgroundScheduler

    scheduler = BackgroundScheduler(timezone="UTC")
    assert scheduler.add_job(print, "interval", seconds=60).name == "print"


@pytest.mark.capability(
    "victim.buildout",
    title="zc.buildout 3.0.1",
    says="zc.buildout imports.",
)
def test_buildout():
    import zc.buildout.buildout

    assert zc.buildout.buildout.Buildout


@pytest.mark.capability(
    "victim.fs",
    title="PyFilesystem 2.4.16",
    says="A file system in memory keeps a file.",
)
def test_fs():
    import fs

    with fs.open_fs("mem://") as memory:
        memory.writetext("a", "b")
        assert memory.readtext("a") == "b"


@pytest.mark.capability(
    "victim.gunicorn",
    title="Gunicorn 20.0.4",
    says="A worker class is found by its name.",
)
def test_gunicorn():
    from gunicorn.util import load_class

    assert load_class("sync").__name__ == "SyncWorker"


@pytest.mark.capability(
    "victim.honcho",
    title="Honcho 1.1.0",
    says="A Procfile is checked.",
)
def test_honcho(tmp_path):
    (tmp_path / "Procfile").write_text("web: true\n")
    assert "web" in run(tmp_path, [sys.executable, "-m", "honcho", "check"])


@pytest.mark.capability(
    "victim.lightning-utilities",
    title="Lightning utilities 0.10.0",
    says="A requirement is checked.",
)
def test_lightning_utilities():
    from lightning_utilities.core.imports import RequirementCache

    assert RequirementCache("setuptools>=1")


@pytest.mark.capability(
    "victim.opentelemetry",
    title="OpenTelemetry instrumentation 0.44b0",
    says="What an instrumented package requires is compared with what is installed.",
)
def test_opentelemetry():
    from opentelemetry.instrumentation.dependencies import get_dependency_conflicts

    assert get_dependency_conflicts(["setuptools >= 1"]) is None
    assert get_dependency_conflicts(["setuptools >= 1000"])


@pytest.mark.capability(
    "victim.passlib",
    title="Passlib 1.7.4",
    says="A password is hashed and verified.",
)
def test_passlib():
    from passlib.hash import pbkdf2_sha256

    assert pbkdf2_sha256.verify("secret", pbkdf2_sha256.using(rounds=1000).hash("secret"))


@pytest.mark.capability(
    "victim.passlib-words",
    title="Passlib 1.7.4: words",
    says="A password of random words is made.",
)
def test_passlib_words():
    from passlib import pwd

    assert len(pwd.genphrase(length=3).split()) == 3


@pytest.mark.capability(
    "victim.plaster",
    title="plaster 1.0",
    says="A loader of settings is found by its scheme.",
)
def test_plaster(tmp_path):
    import plaster

    (tmp_path / "a.ini").write_text("[app]\nb = c\n")
    assert plaster.get_settings(str(tmp_path / "a.ini"), "app")["b"] == "c"


@pytest.mark.capability(
    "victim.pybtex",
    title="Pybtex 0.24.0",
    says="A BibTeX entry is read.",
)
def test_pybtex():
    from pybtex.database import parse_string

    assert parse_string("@book{a, title = {B}}", "bibtex").entries["a"].fields["title"] == "B"


@pytest.mark.capability(
    "victim.pyfiglet",
    title="pyfiglet 0.8.post1",
    says="A word is drawn.",
)
def test_pyfiglet():
    from pyfiglet import figlet_format

    assert figlet_format("a").strip()


@pytest.mark.capability(
    "victim.pyramid",
    title="Pyramid 2.0.2",
    says="An application answers a request.",
)
def test_pyramid():
    from pyramid.config import Configurator
    from pyramid.request import Request
    from pyramid.response import Response

    config = Configurator()
    config.add_route("home", "/")
    config.add_view(lambda request: Response("a"), route_name="home")
    assert Request.blank("/").get_response(config.make_wsgi_app()).text == "a"


@pytest.mark.capability(
    "victim.razorpay",
    title="Razorpay 1.4.2",
    says="A client is made.",
)
def test_razorpay():
    import razorpay

    assert razorpay.Client(auth=("a", "b")).auth == ("a", "b")


@pytest.mark.capability(
    "victim.textx",
    title="textX 2.3.0",
    says="A language is made of its grammar, and a model is read.",
)
def test_textx():
    from textx import metamodel_from_str

    assert metamodel_from_str("Model: 'a' name=ID;").model_from_str("a b").name == "b"
