"""The library imports and is the version that it was installed as."""

import pytest


@pytest.mark.quick
@pytest.mark.capability(
    "import",
    title="Import",
    says="The library imports, and says that it is the version that was installed.",
)
def test_the_library_imports_as_the_version_installed():
    import tensorflow_federated as tff

    try:
        from importlib.metadata import version
    except ImportError:  # Python 3.7
        import pkg_resources

        installed = pkg_resources.get_distribution("tensorflow-federated").version
    else:
        installed = version("tensorflow-federated")
    assert tff.__version__ == installed
