"""The real index, as pip is configured for it: facts that will not change."""

from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.matrix import InterpreterAxis, Matrix, PackageAxis, Selector, Suite
from compat.index.discover import discover
from compat.index.pypi import PyPISource
from compat.index.settings import settings

pytestmark = pytest.mark.real_index

MATRIX = Matrix(
    name="tff",
    title="TensorFlow Federated",
    subject="tff",
    platform="x86_64-manylinux_2_31",
    margin_days=30,
    suite=Suite(path="suite"),
    axes=(
        InterpreterAxis(name="python", short="py", releases=(Version("3.11.7"),)),
        PackageAxis(
            name="tff",
            short="tff",
            package="tensorflow_federated",
            select=Selector(specifier=SpecifierSet("==0.87.0")),
        ),
    ),
)


def test_tensorflow_federated_0_87_0_is_found_with_what_it_requires(tmp_path: Path) -> None:
    source = PyPISource(settings(), tmp_path)
    package = discover(MATRIX, source).package("tensorflow-federated")
    source.close()
    release = next(release for release in package.releases if release.version == Version("0.87.0"))
    assert package.stale_since is None
    assert release.uploaded is not None
    assert release.published is not None
    assert release.published.requires_python == SpecifierSet(">=3.9,<3.12")
    assert "jaxlib==0.4.14" in [text.replace(" ", "") for text in release.published.requires_dist]
