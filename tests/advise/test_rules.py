"""The rules for messages one by one: each finds an example as the tool or package prints it, and
what is known of Python's own library is true of the Python that runs this.
"""

import importlib
import re
import sys
from collections.abc import Iterator

import pytest
from packaging.version import Version
from test_message import UNDERSTOOD

from compat.advise.message import legible, read_message
from compat.advise.message_rules import MESSAGE_RULES
from compat.advise.pattern_words import may_match
from compat.advise.standard_library import GAINED, LOST

HERE = "/venv/lib/python3.9/site-packages"
EXAMPLES = [
    # Of Python.
    (
        "ERROR: Ignored the following versions that require a different python version: 1.0"
        " Requires-Python >=3.6,<3.10; 1.1 Requires-Python >=3.7,<3.11\nERROR: Could not find a"
        " version that satisfies the requirement demo==1.1 (from versions: 0.1)\nERROR: No matching"
        " distribution found for demo==1.1",
        *("requires-python", "python", "demo", "python>=3.7,<3.11"),
    ),
    (
        "RuntimeError: Cannot install on Python version 3.11.0; only versions >=3.7,<3.11 are"
        " supported.",
        *("requires-python", "python", "", "python>=3.7,<3.11"),
    ),
    (
        "error: The requested interpreter resolved to Python 3.8.10, which is incompatible with the"
        " project's Python requirement: `>=3.9`",
        *("requires-python", "python", "", "python>=3.9"),
    ),
    (
        "error: the configured Python interpreter version (3.13) is newer than PyO3's maximum"
        " supported version (3.12)",
        *("requires-python", "python", "", ""),
    ),
    (
        "TypeError: unsupported operand type(s) for |: 'type' and 'NoneType'",
        *("type-error", "python", "", "python>=3.10"),
    ),
    (
        "TypeError: unsupported operand type(s) for |: '_GenericAlias' and 'type'",
        *("type-error", "python", "", "python>=3.10"),
    ),
    (
        "TypeError: unsupported operand type(s) for |: 'dict' and 'dict'",
        *("type-error", "python", "", "python>=3.9"),
    ),
    (
        "SyntaxError: future feature annotations is not defined",
        *("syntax", "python", "", "python>=3.7"),
    ),
    (
        f'  File "{HERE}/demo/_of.py", line 8\n    match x:\nSyntaxError: invalid syntax',
        *("syntax", "python", "demo", ""),
    ),
    (
        '  File "C:\\env\\Lib\\site-packages\\demo\\_of.py", line 8\nSyntaxError: invalid syntax',
        *("syntax", "python", "demo", ""),
    ),
    ("SyntaxError: invalid syntax", *("syntax", "", "", "")),
    (
        "ValueError: mutable default <class 'demo.Config'> for field common is not allowed: use"
        " default_factory",
        *("type-error", "python", "", "python<3.11"),
    ),
    (
        "TypeError: As of 3.10, the *loop* parameter was removed from Lock() since it is no longer"
        " necessary",
        *("type-error", "python", "", "python<3.10"),
    ),
    (
        "ImportError: cannot import name 'Literal' from 'typing' (/usr/lib/python3.7/typing.py)",
        *("missing-attribute", "python", "", "python>=3.8"),
    ),
    (
        "AttributeError: module 'inspect' has no attribute 'getargspec'. Did you mean: 'getargs'?",
        *("missing-attribute", "python", "", "python<3.11"),
    ),
    (
        "AttributeError: 'FileFinder' object has no attribute 'find_module'",
        *("missing-attribute", "python", "", "python<3.12"),
    ),
    (
        "AttributeError: 'str' object has no attribute 'removeprefix'",
        *("missing-attribute", "python", "", "python>=3.9"),
    ),
    (
        "TypeError: dataclass() got an unexpected keyword argument 'slots'",
        *("type-error", "python", "", "python>=3.10"),
    ),
    ("ImportError: Demo requires Python 3.10 or later", "requires-python", "python", "demo", None),
    # Of versions.
    (
        "RuntimeError: jaxlib version 0.4.30 is newer than and incompatible with jax version"
        " 0.4.26. Please update your jax and/or jaxlib packages.",
        *("version-guard", "jaxlib", "jax", "jaxlib<=0.4.26"),
    ),
    (
        "ImportError: Numba needs NumPy 2.2 or less. Got NumPy 2.3.",
        *("version-guard", "numpy", "numba", ""),
    ),
    (
        "ImportError: Keras requires TensorFlow 2.2 or higher. Install TensorFlow via pip",
        *("version-guard", "tensorflow", "keras", "tensorflow>=2.2"),
    ),
    (
        "ImportError: Pandas requires version '2.0.1' or newer of 'xlrd' (version '1.2.0' currently"
        " installed).",
        *("version-guard", "xlrd", "pandas", "xlrd>=2.0.1"),
    ),
    (
        "ImportError: this version of pandas is incompatible with numpy < 1.20.3\nyour numpy"
        " version"
        " is 1.19.5.",
        *("version-guard", "numpy", "pandas", "numpy>=1.20.3"),
    ),
    (
        "ImportError: tokenizers>=0.14,<0.15 is required for a normal functioning of this module,"
        " but found tokenizers==0.13.3.",
        *("version-guard", "tokenizers", "", "tokenizers>=0.14,<0.15"),
    ),
    (
        "AssertionError: MMCV==1.7.0 is used but incompatible. Please install mmcv>=2.0.0rc4,"
        " <2.2.0.",
        *("version-guard", "mmcv", "", "mmcv>=2.0.0rc4,<2.2.0"),
    ),
    (
        "ImportError: urllib3 v2.0 only supports OpenSSL 1.1.1+, currently the 'ssl' module is"
        " compiled with 'OpenSSL 1.0.2k'",
        *("version-guard", "urllib3", "", ""),
    ),
    (
        "RuntimeError: The grpc package installed is at version 1.48.2, but the generated code in"
        " demo_pb2_grpc.py depends on grpcio>=1.63.0.",
        *("version-guard", "grpcio", "", "grpcio>=1.63.0"),
    ),
    (
        "pkg_resources.ContextualVersionConflict: (numpy 1.24.0"
        " (/venv/lib/python3.9/site-packages),"
        " Requirement.parse('numpy<1.24,>=1.21'), {'demo'})",
        *("conflict", "numpy", "demo", "numpy<1.24,>=1.21"),
    ),
    (
        "pkg_resources.DistributionNotFound: The 'dep>=1.0' distribution was not found and is"
        " required by demo",
        *("missing-module", "dep", "demo", "dep>=1.0"),
    ),
    (
        "importlib.metadata.PackageNotFoundError: No package metadata was found for demo",
        *("missing-module", "demo", "", ""),
    ),
    (
        "AttributeError: 'EntryPoints' object has no attribute 'get'",
        *("missing-attribute", "importlib-metadata", "", "importlib-metadata<5"),
    ),
    # Of what releases removed.
    (
        "ValueError: Unable to avoid copy while creating an array as requested.",
        *("type-error", "numpy", "", "numpy<2"),
    ),
    (
        "google.protobuf.runtime_version.VersionError: Detected incompatible Protobuf"
        " Gencode/Runtime versions when loading demo.proto: gencode 5.27.2 runtime 4.25.3. Runtime"
        " version cannot be older than the linked gencode version.",
        *("version-guard", "protobuf", "", "protobuf>=5.27.2"),
    ),
    (
        "VersionError: Detected mismatched Protobuf Gencode/Runtime major versions when loading"
        " demo.proto: gencode 5.29.0 runtime 7.31.1.",
        *("version-guard", "protobuf", "", ""),
    ),
    (
        "ImportError: cannot import name 'runtime_version' from 'google.protobuf' (/a/__init__.py)",
        *("missing-attribute", "protobuf", "", "protobuf>=5.26"),
    ),
    (
        "AttributeError: module 'google.protobuf.descriptor' has no attribute"
        " '_internal_create_key'",
        *("missing-attribute", "protobuf", "", "protobuf>=3.12"),
    ),
    (
        "AttributeError: 'MessageFactory' object has no attribute 'GetPrototype'",
        *("missing-attribute", "protobuf", "", "protobuf<5"),
    ),
    (
        "TypeError: MessageToDict() got an unexpected keyword argument"
        " 'including_default_value_fields'",
        *("type-error", "protobuf", "", "protobuf<5"),
    ),
    (
        "AttributeError: 'google._upb._message.FieldDescriptor' object has no attribute 'label'",
        *("missing-attribute", "protobuf", "", ""),
    ),
    (
        'KeyError: "Couldn\'t find field google.protobuf.FileOptions.name_of_it"',
        *("missing-attribute", "protobuf", "", ""),
    ),
    (
        "ModuleNotFoundError: No module named 'pkg_resources'",
        *("missing-module", "setuptools", "", "setuptools<82"),
    ),
    ("error in demo setup command: use_2to3 is invalid.", *("build", "demo", "", "")),
    (
        "error in demo setup command: 'extras_require' must be a dictionary whose values are"
        " strings",
        *("build", "demo", "", ""),
    ),
    (
        "TypeError: canonicalize_version() got an unexpected keyword argument"
        " 'strip_trailing_zero'",
        *("type-error", "packaging", "setuptools", "packaging>=22"),
    ),
    (
        "AttributeError: module 'lib' has no attribute 'X509_V_FLAG_NOTIFY_POLICY'",
        *("missing-attribute", "pyopenssl", "cryptography", ""),
    ),
    (
        "AttributeError: 'DataFrame' object has no attribute 'append'",
        *("missing-attribute", "pandas", "", "pandas<2"),
    ),
    (
        "pydantic.errors.PydanticImportError: `BaseSettings` has been moved to the"
        " `pydantic-settings` package.",
        *("missing-attribute", "pydantic", "", "pydantic<2"),
    ),
    (
        "AttributeError: jax.core.Shape was removed in JAX v0.4.36.",
        *("missing-attribute", "jax", "", ""),
    ),
    # Of the linker.
    (
        "ImportError: /usr/lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by"
        f" {HERE}/demo/_k.so)",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        f"ImportError: dlopen({HERE}/demo/_k.so, 0x0002): tried: '{HERE}/demo/_k.so' (mach-o file,"
        " but is an incompatible architecture (have 'x86_64', need 'arm64'))",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        f"ImportError: dlopen({HERE}/demo/_k.so, 0x0002): symbol not found in flat namespace '_a'",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        f"ImportError: dlopen(k.so): Symbol not found: _a Referenced from: {HERE}/demo/_k.so",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        '  File "C:\\env\\lib\\site-packages\\demo\\a.py", line 3, in <module>\nImportError: DLL'
        " load failed while importing _k: The specified procedure could not be found.",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        f'  File "{HERE}/demo/a.py", line 3, in <module>\n    from demo import k\nImportError:'
        " libother_framework.so.2: cannot open shared object file: No such file or directory",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        "NotFoundError: demo_ops/ops/_k.so: undefined symbol: _ZN4",
        *("binary-incompatible", "demo-ops", "", ""),
    ),
    (
        f"ImportError: dlopen({HERE}/demo/_k.so, 6): no suitable image found. Did find:"
        f" {HERE}/demo/_k.so: mach-o, but wrong architecture",
        *("binary-incompatible", "demo", "", ""),
    ),
    ("Illegal instruction (core dumped)", *("illegal-instruction", "", "", "")),
    (
        f'  File "{HERE}/demo/kinds.py", line 9, in __new__\n    new_class = parent(cls, name)\n'
        "TypeError: metaclass conflict: the metaclass of a derived class must be a (non-strict)",
        *("type-error", "demo", "", ""),
    ),
    (
        "Because demo==6.2.0 was yanked (reason: a bug) and you require demo==6.2.0, we can"
        " conclude that your requirements are unsatisfiable.",
        *("yanked", "demo", "", ""),
    ),
    (
        "Because only the following versions of dep are available:\n    dep<=1.26.0\n   "
        " dep==2.2\nand demo==2.2 depends on dep>=1.26, we can conclude that demo==2.2 depends on"
        " dep>=1.26.\nAnd because you require dep>=1.24,<1.25 and demo>=2.2, we can conclude",
        *("conflict", "dep", "demo", "dep>=1.26"),
    ),
    (
        "ImportError: scipy.linalg.cython_blas does not export expected C function caxpy",
        *("binary-incompatible", "scipy", "", ""),
    ),
    (
        "ValueError: gevent.libev.corecext.loop size changed, may indicate binary incompatibility.",
        *("binary-incompatible", "gevent", "", ""),
    ),
    # Of resolvers, installers and builds.
    (
        "Because only the following versions of dep are available:\n    dep<=1.0\n    dep==2.0\nand"
        " demo==1.0 depends on dep>=3, we can conclude",
        *("no-artifact", "dep", "demo", ""),
    ),
    (
        "Because all versions of demo have no wheels with a matching Python ABI tag (e.g. `cp312`)",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "error: Distribution `demo==1.0 @ registry+local` can't be installed because it doesn't"
        " have"
        " a source distribution or wheel for the current platform",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "ERROR: demo-1.0-cp39-cp39-win_amd64.whl is not a supported wheel on this platform.",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "WARNING: Ignoring version 1.0 of demo since it has invalid metadata:",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "Could not find a version that satisfies the requirement demo==1.0 (from versions: )",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "Because all versions of demo depend on dep>=2 and you require dep<2, we can conclude",
        *("conflict", "dep", "demo", "dep>=2"),
    ),
    (
        "Because demo (1.0) depends on dep (>=2) and other (2.0) depends on dep (<2), demo is",
        *("conflict", "dep", "demo", "dep>=2"),
    ),
    (
        "  - package demo-1.0-py39_0 requires dep 1.*, but none of the providers can be installed",
        *("conflict", "dep", "demo", ""),
    ),
    (
        "ERROR: Failed to build installable wheels for some pyproject.toml based projects (demo)",
        *("build", "demo", "", ""),
    ),
    (
        "\u00d7 Encountered error while trying to install package.\n\u2570\u2500> demo",
        *("build", "demo", "", ""),
    ),
    (
        "    Running setup.py install for demo: finished with status 'error'",
        *("build", "demo", "", ""),
    ),
    (
        'ERROR: Could not find a version that satisfies the requirement dep<3; python_version < "4"'
        " (from demo) (from versions: none)",
        *("no-artifact", "dep", "demo", "dep<3"),
    ),
    (
        "ERROR: Cannot install demo and dep==1.0 because these package versions have conflicting"
        " dependencies.",
        *("conflict", "dep", "demo", ""),
    ),
    (
        "Could not find a version that matches demo<2,>=2 (from -r a.in (line 1))\nTried: 1.0",
        *("conflict", "demo", "", ""),
    ),
    (
        "The current project's supported Python range (>=3.8,<4.0) is not compatible with some of"
        " the required packages Python requirement:\n  - demo requires Python <3.13,>=3.9, so it"
        " will not be satisfied for Python >=3.13,<4.0",
        *("requires-python", "python", "demo", "python<3.13,>=3.9"),
    ),
    (
        "Because mine depends on demo (^2.0) which doesn't match any versions, version solving",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "Unable to find installation candidates for demo (2.0.2)",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "  \u2022 Installing demo (3.7.0): Failed\n\n  CalledProcessError\n",
        *("build", "demo", "", ""),
    ),
    (
        "An error occurred while installing demo==1.9.1 --hash=sha256:00",
        *("build", "demo", "", ""),
    ),
    (
        '  File "/tmp/pip-install-_e5hzm1j/demo_339b92de5f6346f595c43d3fd6a665b1/src/a.py", line'
        " 2\ndistutils.errors.CompileError: command 'gcc' failed with exit code 1",
        *("build", "demo", "", ""),
    ),
    (
        'Command "python setup.py egg_info" failed with error code 1 in'
        " /tmp/pip-build-9rtyx1/demo/",
        *("build", "demo", "", ""),
    ),
    (
        "\u00d7 Building wheel for demo (pyproject.toml) did not run successfully.",
        *("build", "demo", "", ""),
    ),
    # Of conda.
    (
        "UnsatisfiableError: The following specifications were found to be in conflict:\n"
        "  - demo 1.2.0 py36_0\n  - dep",
        *("conflict", "demo", "dep", ""),
    ),
    (
        "The following specifications were found to be incompatible with the existing python"
        " installation in your environment:\n\nSpecifications:\n\n"
        "  - demo -> python[version='3.5.*|3.6.*']",
        *("requires-python", "python", "demo", ""),
    ),
    (
        "ResolvePackageNotFound:\n  - demo=0.3.14",
        *("no-artifact", "demo", "", ""),
    ),
    (
        "  - nothing provides dep 1.5.0 needed by demo-1.8.0-py310h6c2663c_0",
        *("no-artifact", "dep", "demo", ""),
    ),
    (
        "\u2514\u2500 demo 2.18.1**  does not exist (perhaps a typo or a missing channel).",
        *("no-artifact", "demo", "", ""),
    ),
    # Of calls.
    (
        '  File "/home/me/a.py", line 3, in b\n    x = np.sum(a, keepdim=True)\nTypeError: sum()'
        " got an unexpected keyword argument 'keepdim'",
        *("type-error", "numpy", "numpy", ""),
    ),
    (
        "TypeError: attrib() got an unexpected keyword argument 'eq'",
        *("type-error", "attrs", "", ""),
    ),
    (
        f'  File "{HERE}/demo.py", line 3, in make\n    Finder(urls, wheel=1)\nTypeError:'
        " __init__() missing 1 required positional argument: 'a'",
        *("type-error", "demo", "", ""),
    ),
    # Of names.
    (
        "module 'demo.sub' has no attribute 'main'",
        *("missing-attribute", "demo", "", ""),
    ),
    (
        "  File \"a.py\", line 3, in <module>\n    np.app.run(1)\nAttributeError: 'module' object"
        " has no attribute 'app'",
        *("missing-attribute", "numpy", "numpy", ""),
    ),
    (
        "AttributeError: type object 'demo.core.Config' has no attribute '__reduce_cython__'",
        *("missing-attribute", "demo", "", ""),
    ),
    (
        f'  File "{HERE}/demo/a.py", line 3, in <module>\n    import dep.sub\n'
        "ModuleNotFoundError: No module named 'dep.sub'",
        *("missing-module", "dep", "demo", ""),
    ),
    (
        "    from demo.sub.parts import main\nImportError: No module named parts",
        *("missing-module", "demo", "", ""),
    ),
    (
        f'  File "{HERE}/dep/a.py", line 3, in <module>\n    from dep.core import Thing\n'
        "ImportError: cannot import name 'Thing'",
        *("missing-attribute", "dep", "", ""),
    ),
    (
        f'  File "{HERE}/demo/a.py", line 3, in make\n    super().__init__(wide=p)\nTypeError:'
        " Client.__init__() got an unexpected keyword argument 'wide'",
        *("type-error", "demo", "", ""),
    ),
]


@pytest.mark.parametrize(("text", "cause", "package", "of", "needs"), EXAMPLES)
def test_an_example_is_understood(
    text: str, cause: str, package: str, of: str, needs: str | None
) -> None:
    complaint = read_message(text).complaints[0]
    assert (complaint.cause, complaint.package, complaint.of) == (cause, package, of)
    assert needs is None or complaint.needs.lower() == needs
    assert complaint.is_fault
    assert "$" not in complaint.sentence


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '/usr'",
        "ERROR: Failed building wheel for demo\nOSError: [Errno 28] No space left on device",
        "AttributeError: partially initialized module 'numpy' has no attribute 'array' (most likely"
        " due to a circular import)",
        "ImportError: cannot import name 'a' from partially initialized module 'random' (most"
        " likely"
        " due to a circular import) (/home/me/random.py)",
        "ImportError: cannot import name 'a' from partially initialized module 'numpy' (most likely"
        " due to a circular import) (/venv/lib/python3.9/site-packages/numpy/__init__.py)",
        "AttributeError: module 'random' has no attribute 'randint' (consider renaming"
        " '/home/me/random.py' since it has the same name as the standard library module)",
        "ERROR: Invalid requirement: 'demo=1.0': Expected end or semicolon",
        "ERROR: Could not find a version that satisfies the requirement demo\nERROR: HTTP error"
        " 403",
        "MemoryError\nERROR: Failed building wheel for demo",
        "ModuleNotFoundError: No module named 'demo.sub'; 'demo' is not a package",
        "ResourceExhaustedError: OOM when allocating tensor with shape[100,4096]",
        "WARNING: There was an error checking the latest version of pip.\nERROR: No matching"
        " distribution found for demo",
        "ERROR: HTTP error 401 while getting it\nERROR: No matching distribution found for demo",
        "zsh: no matches found: demo[all]",
    ],
)
def test_trouble_that_is_not_of_versions_is_no_fault(text: str) -> None:
    message = read_message(text)
    assert message.complaints
    assert not any(complaint.is_fault for complaint in message.complaints)


def names_of(python: str, modules: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for module, names in modules.items():
        for name in names.split():
            yield python, module, name


def has(module: str, name: str) -> bool:
    try:
        return (
            hasattr(importlib.import_module(module), name)
            if module
            else importlib.import_module(name) is not None
        )
    except ImportError:
        return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("python", "module", "name"),
    [row for python, modules in GAINED.items() for row in names_of(python, modules)],
)
def test_what_a_python_brought_is_there_from_it_on(python: str, module: str, name: str) -> None:
    assert has(module, name) is (sys.version_info >= Version(python).release)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("python", "module", "name"),
    [row for python, modules in LOST.items() for row in names_of(python, modules)],
)
def test_what_a_python_removed_is_there_before_it(python: str, module: str, name: str) -> None:
    if name == "distutils" or (name == "ossaudiodev" and sys.platform != "linux"):
        pytest.skip("setuptools brings it, or it is of another platform")
    assert has(module, name) is (sys.version_info < Version(python).release)


def test_a_rule_is_left_out_only_where_it_finds_nothing() -> None:
    texts = [legible(example[0]) for example in (*EXAMPLES, *UNDERSTOOD)]
    found = 0
    for rule in MESSAGE_RULES:
        pattern = re.compile(rule.pattern, re.IGNORECASE | re.ASCII)
        for text in texts:
            if pattern.search(text):
                found += 1
                assert may_match(rule.pattern, text.lower()), (rule.pattern, text)
    assert found >= len(texts)


@pytest.mark.parametrize(
    ("pattern", "text", "may"),
    [
        ("ab(?:cd)? ef", "ab ef", True),
        ("ab(?:cd)? ef", "ab xy", False),
        ("abc?d", "xabd", True),
        ("abc|def", "def", True),
        ("abc|def", "ab de", False),
        (r"a\.b[xyz]c", "a.b c", True),
        (r"a\.b[xyz]c", "a-b c", False),
        (r"ab{0,2}c", "ac", True),
    ],
)
def test_words_of_a_pattern_are_those_that_it_cannot_do_without(
    pattern: str, text: str, may: bool
) -> None:
    assert may_match(pattern, text) is may
