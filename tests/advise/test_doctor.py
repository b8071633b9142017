"""What the doctor reads out of a message, what it infers from it without any matrix, and how many
real cases it answers rightly.
"""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from compat.advise.doctor import infer
from compat.advise.doctor.facts import (
    MOST_READ,
    BadCall,
    Binary,
    LacksName,
    Text,
    api,
    index,
    specifier,
)
from compat.advise.doctor.infer import Finding, case_of, findings, wanted_by_source
from compat.advise.doctor.parse import PYTHON_PATTERNS, VERSION_PATTERN, read_traceback
from compat.advise.package_list import listed_versions, read_list
from compat.lock.resolvers import Absent, Asked, Have, Refused, Requires, grammar_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
REAL = [
    case
    for name in ("cases", "held_out", "fresh", "third", "fourth", "fifth", "sixth")
    for case in tomllib.loads((HERE / f"doctor_{name}.toml").read_text("utf-8"))["cases"]
]
SITE = "/venv/lib/python3.9/site-packages"


def facts_of(text: str, kind: type) -> list[Any]:
    return case_of(text).all(kind)


def asked(text: str, python: str = "", listed: str = "") -> list[Finding]:
    version = Version(python) if python else None
    packages = read_list(listed, version)
    case = case_of(text, version, packages.versions, packages.ranges)
    return [finding for finding in findings(case) if finding.is_fault]


# ---- parsers


@pytest.mark.parametrize(
    ("text", "who", "what", "wanted"),
    [
        (  # noqa: RUF005
            "ERROR: demo 1.0 has requirement dep~=1.34, but you'll have dep 1.37.1 which is incompatible.",  # noqa: E501
        )
        + ("demo", "dep", "~=1.34"),
        ("    demo[more] 1.0 depends on dep<2.0 and >=1.1", "demo", "dep", "<2.0 and >=1.1"),
        ("Because demo>=1.0 depends on dep>=2,<3.dev0 and", "demo", "dep", ">=2,<3.dev0"),
        ("Because demo (1.0) depends on dep (>=1,<2)", "demo", "dep", ">=1,<2"),
        ("UnsatisfiableError:\n  - demo -> dep[version='>=2.7,<2.8']", "demo", "dep", ">=2.7,<2.8"),
        (
            "Problem: package demo-0.4-py27_0 requires dep 2.7*, but none of the providers can be"
            " installed",
            *("demo", "dep", "2.7*"),
        ),
        (
            "demo * py311* is installable and it requires dep >=3.11 , which can be installed;",
            *("demo", "dep", ">=3.11"),
        ),
        (
            "pkg_resources.VersionConflict: (dep 0.2 (/x), Requirement.parse('dep<0.2'), {'demo'})",
            *("demo", "dep", "<0.2"),
        ),
        (
            "ERROR: Package 'demo' requires a different Python: 3.8.1 not in '>=3.9'",
            "demo",
            "python",
            ">=3.9",
        ),
        (
            "ImportError: This version of Demo requires Dep version >= 2.10; Detected an installation"  # noqa: E501
            " of version 2.9.2.",
            *("demo", "dep", ">= 2.10"),
        ),
        (  # noqa: RUF005
            "RuntimeError: dep version 0.4.30 is newer than and incompatible with demo version 0.4.26.",  # noqa: E501
        )
        + ("demo", "dep", "<=0.4.26"),
        ("ImportError: Demo needs Dep 2.2 or less. Got Dep 2.3.", "demo", "dep", "<=2.2.9999"),
    ],
)
def test_who_requires_what_is_read(text: str, who: str, what: str, wanted: str) -> None:
    found = [(f.who, f.what, f.range) for f in facts_of(text, Requires)]
    assert (who, what, wanted) in found


@pytest.mark.parametrize(
    ("symbol", "library"),
    [
        ("_ZNR5torch7Library4_defEOSt7variant", "torch"),
        ("_ZN10tensorflow8OpKernel11TraceStringB5cxx11E", "tensorflow"),
        ("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv", ""),
        ("_ZTVN10__cxxabiv120__si_class_type_infoE", ""),
    ],
)
def test_a_symbol_names_its_library_anywhere(symbol: str, library: str) -> None:
    text = f"ImportError: /x/site-packages/demo/_c.so: undefined symbol: {symbol}"
    assert [(fact.by, fact.what) for fact in facts_of(text, Binary)] == [("demo", library)]


def test_both_steps_of_uv_are_read() -> None:
    text = (
        "Because demo>=0.87.0 depends on dep>=2.14.0,<2.15.dev0 and you require demo==0.87.0, we can"  # noqa: E501
        " conclude that you require dep>=2.14.0,<2.15.dev0.\n And because you require dep==2.16.1, we"  # noqa: E501
        " can conclude that your requirements are unsatisfiable."
    )
    wishes = [(f.what, f.range) for f in facts_of(text, Asked)]
    assert wishes == [("demo", "==0.87.0"), ("dep", "==2.16.1")]
    assert asked(text)[0].packages == ("dep", "demo")
    assert asked(text)[0].direction == "older"


def test_versions_that_pip_ignored_name_no_python() -> None:
    text = (
        "ERROR: Ignored the following versions that require a different python version: 0.34.0"
        " Requires-Python ~=3.9.0; 0.87.0 Requires-Python >=3.9,<3.12\nERROR: Could not find a version"  # noqa: E501
        " that satisfies the requirement demo>=0.87 (from versions: 0.1.0, 0.33.0)\n"
    )
    assert case_of(text).python is None
    assert [f.version for f in facts_of(text, Refused)] == ["0.34.0", "0.87.0"]
    assert facts_of(text, Absent)[0].versions == ("0.1.0", "0.33.0")
    (finding,) = asked(text)
    assert (finding.cause, finding.packages) == ("requires-python", ("python", "demo"))
    assert finding.needs == "python<3.12,>=3.9"


def test_releases_that_pip_tried_are_no_wish() -> None:
    text = (
        "ERROR: Cannot install dep!=2.*, demo[a]==5.1.0 and demo[a]==5.1.1 because these package"
        " versions have conflicting dependencies.\nThe conflict is caused by:\n"
        "    The user requested dep!=2.*\n    demo[a] 5.1.1 depends on dep<4.0 and >=3.6\n"
        "    The user requested dep!=2.*\n    demo[a] 5.1.0 depends on dep<4.0 and >=3.6\n"
    )
    [finding] = asked(text)
    assert (set(finding.packages), finding.direction) == ({"demo", "dep"}, "other")


def test_a_derivation_of_uv_speaks_of_all_versions_and_its_hint_of_no_package() -> None:
    text = (
        "Because the requested Python version (>=3.9) does not satisfy Python>=3.10,<4 and all"
        " versions of demo depend on Python>=3.10,<4, we can conclude that all versions of demo"
        " cannot be used.\n hint: includes Python versions that are not supported (e.g., all"
        " versions of demo only supports >=3.10, <4). Consider a more restrictive value (like"
        " >=3.10, <4)."
    )
    [finding] = asked(text)
    assert (finding.packages, finding.needs) == (("python", "demo"), "python<4,>=3.10")


def test_who_requires_a_python_is_named_before_what_only_says_so() -> None:
    text = (
        "The current project's Python requirement (>=3.7,<4) is not compatible with some of the"
        " required packages Python requirement:\n"
        "    - demo requires Python >=2.7,<3.9, so it will not be satisfied for Python >=3.9,<4\n"
    )
    assert asked(text)[0].packages == ("python", "demo")


def test_what_the_log_of_poetry_calls_a_conflict_is_absent() -> None:
    text = (
        "   1: fact: no versions of dep match 1\n   1: conflict: no versions of demo match 1.18\n"
    )
    assert [(f.what, f.range) for f in facts_of(text, Absent)] == [("demo", "==1.18")]


def test_a_package_that_lacks_what_it_asks_itself_for_is_faulty() -> None:
    text = (
        f'  File "{SITE}/demolib/__init__.py", line 3, in <module>\n    from .inner import Thing\n'
        f"ImportError: cannot import name 'Thing' from 'demolib.inner' ({SITE}/demolib/inner.py)\n"
    )
    assert (asked(text)[0].packages, asked(text)[0].direction) == (("demolib",), "other")


def test_a_call_is_that_of_the_package_whose_module_it_names() -> None:
    text = (
        f'  File "{SITE}/keras/activations.py", line 29, in softmax\n'
        "    return tf.nn.softmax(x, axis=axis)\n"
        "TypeError: softmax() got an unexpected keyword argument 'axis'\n"
    )
    assert asked(text)[0].packages == ("tensorflow", "keras")


def test_what_super_calls_is_of_a_required_package() -> None:
    (fault, *_) = asked(
        f'File "{SITE}/openai/_base_client.py", line 738, in __init__\n'
        "    super().__init__(**kwargs)\n"
        "TypeError: __init__() got an unexpected keyword argument 'proxies'\n"
    )
    assert fault.packages[0] == "httpx"
    assert (fault.direction, fault.needs) == ("older", "httpx<=0.27.2,>=0.8.0")


def test_a_call_of_a_class_of_python_is_no_fault_of_its_caller() -> None:
    (fault, *_) = asked(
        f'File "{SITE}/spacy/__init__.py", line 3, in <module>\n    from . import pipeline\n'
        "TypeError: ForwardRef._evaluate() missing 1 required keyword-only argument:"
        " 'recursive_guard'\n"
    )
    assert fault.packages == ("python", "spacy")


def test_a_size_that_is_noted_beside_an_error_is_no_fault() -> None:
    size = "numpy.ufunc size changed, may indicate binary incompatibility. Expected 192 from C"
    size += " header, got 216 from PyObject\n"
    assert asked(f"{size}KeyError: 'total'\n") == []
    assert asked(f"ValueError: {size}")[0].packages == ("numpy",)


def test_a_python_is_read_in_a_sentence_and_none_is_advised_that_came_later() -> None:
    missing = "ERROR: No matching distribution found for ipython==7.20.0"
    assert asked(missing)[0].python == "3.9"
    said = f"My version of python is 3.6 and the newest pip.\n{missing}"
    assert asked(said)[0].python == "3.7"
    assert case_of("It needs Python 3.6 and above").python is None


@pytest.mark.parametrize(
    "line",
    [
        "/a/b.py:36: RuntimeWarning: numpy.dtype size changed, may indicate binary incompatibility",
        "I1025 08:07:07.36 3504 bridge.py:35] No backend: module 'demo' has no attribute 'client'",
        "2020-04-22 21:10:43.5: W demo/loader.cc:55] cannot import name 'a' from 'demo'",
    ],
)
def test_what_a_program_only_notes_is_no_fault(line: str) -> None:
    assert asked(line) == []
    error = "ImportError: cannot import name 'a' from 'dep'"
    assert [f.packages[0] for f in asked(f"{line}\n{error}\n")] == ["dep"]


@pytest.mark.parametrize(
    ("text", "installed", "raised"),
    [
        (f'  File "{SITE}/demo/a.py", line 3, in f\n    x()\nKeyError: 1', ["demo"], "KeyError"),
        (f"{SITE}/demo/a.py in f(x)\n---> 41 x()\nValueError: no", ["demo"], "ValueError"),
        (f"{SITE}/demo/a.py:45: in f\n    x()\nE   ImportError: no", ["demo"], "ImportError"),
        (
            '  File "C:\\env\\Lib\\site-packages\\yaml\\a.py", line 2\nTypeError: x',
            ["pyyaml"],
            "TypeError",
        ),
        ('  File "/home/me/demo.py", line 1, in <module>\nTypeError: x', [], "TypeError"),
    ],
)
def test_a_traceback_says_whose_files_it_passes(
    text: str, installed: list[str], raised: str
) -> None:
    trace = read_traceback(Text(text))
    assert trace.installed == installed
    assert trace.raised[0].type == raised


def test_a_fact_has_the_line_that_states_it() -> None:
    text = "one\ntwo\nImportError: cannot import name 'a' from 'dep'\n"
    assert facts_of(text, LacksName)[0].line == 3
    assert (
        facts_of("x\nTypeError: f() got an unexpected keyword argument 'a'", BadCall)[0].line == 2
    )


def test_of_a_long_message_the_end_is_read() -> None:
    text = "No module named 'distutils' " + "x" * MOST_READ + " dep 1.0 "
    assert [fact.what for fact in facts_of(text, Have)] == ["dep"]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("^1.2", ">=1.2,<2"),
        ("^0.3.1", ">=0.3.1,<0.4"),
        ("2.7*", "==2.7.*"),
        ("==1.* and >=1.0", "==1.*,>=1.0"),
    ],
)
def test_a_range_is_read_as_any_tool_writes_it(text: str, spec: str) -> None:
    assert set(specifier(text) or ()) == set(specifier(spec) or ())


@pytest.mark.parametrize("pattern", [*PYTHON_PATTERNS, VERSION_PATTERN])
def test_what_the_site_reads_is_bounded_and_of_the_shared_syntax(pattern: str) -> None:
    bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern)
    assert not re.search(r"[*+]|\{\d*,\}", bare), "a repetition without a bound"
    assert not re.search(r"\(\?(?![:=!]|<[=!])", bare), "a group that JavaScript has not"


def test_no_expression_reads_a_text_in_exponentially_many_ways() -> None:
    """`=?=?` matches one `=` in two ways, and a list of 20 ranges in a million."""
    for package, name in (
        ("compat.lock", "resolvers.toml"),
        ("compat.advise.doctor", "grammar.toml"),
    ):
        tables = grammar_of(package, name)
        entries = [e for t in tables.values() if isinstance(t, list) for e in t if "pattern" in e]
        assert entries
        for pattern in (*(e["pattern"] for e in entries), *tables["patterns"].values()):
            twice = re.search(r"(?<!\\)((?:\\.|\[[^\]]*\]|[^][()?*+\\|])[?*+])\1", pattern.pattern)
            assert not twice, f"{twice[0]} in {pattern.pattern}"


def test_the_tables_name_no_package_that_is_at_fault() -> None:
    """They are of tools and of Python; names that came and went are generated knowledge."""
    tables = grammar_of("compat.lock", "resolvers.toml")
    formats = " ".join(entry["pattern"].pattern for entry in tables["format"])
    assert not re.search(r"tensorflow|jax|keras|pandas|torch|pydantic", formats)


# ---- inferences, on what is generated


@pytest.mark.parametrize(
    ("text", "python", "package", "direction"),
    [
        (
            "ImportError: cannot import name 'url_quote' from 'werkzeug.urls'",
            "",
            "werkzeug",
            "older",
        ),
        (
            "TypeError: attrs() got an unexpected keyword argument 'eq'\nattrs 19.1.0",
            "",
            "attrs",
            "newer",
        ),
        (
            "TypeError: FastMCP.__init__() got an unexpected keyword argument 'version'",
            "",
            "mcp",
            "older",
        ),
        ("ModuleNotFoundError: No module named 'pkg_resources'", "", "setuptools", "older"),
        ("ModuleNotFoundError: No module named 'imp'", "3.12.0", "python", "python"),
        (
            "AttributeError: module 'collections' has no attribute 'Mapping'",
            "3.10",
            "python",
            "python",
        ),
        ("AttributeError: 'str' object has no attribute 'removeprefix'", "3.8", "python", "python"),
        (
            "ERROR: No matching distribution found for tensorflow==1.14.0",
            "3.11",
            "tensorflow",
            "python",
        ),
        ("TypeError: 'type' object is not subscriptable", "3.7", "python", "python"),
    ],
)
def test_a_culprit_has_a_direction(text: str, python: str, package: str, direction: str) -> None:
    first = asked(text, python)[0]
    assert (first.packages[0], first.direction) == (package, direction)
    if first.pin:
        name, _, version = first.pin.partition("==")
        known = index(name)
        assert known is not None
        assert Version(version) in known.versions
        assert not python or known.fits(Version(version), Version(python))


@pytest.mark.parametrize(
    ("listed", "python", "package", "pin"),
    [
        (
            "tensorflow-federated==0.87.0\ntensorflow~=2.16.0\n",
            "",
            "tensorflow",
            "tensorflow==2.14.1",
        ),
        ("numpy==1.16.6\ntensorflow~=2.4.1\n", "3.7", "numpy", "numpy==1.19.5"),
    ],
)
def test_a_list_is_held_against_published_requirements(
    listed: str, python: str, package: str, pin: str
) -> None:
    first = asked("", python, listed)[0]
    assert first.packages[0] == package
    assert not pin or first.pin == pin


@pytest.mark.parametrize(
    "text",
    [
        "AttributeError: 'dict' object has no attribute 'model'",
        "AttributeError: 'MyTrainer' object has no attribute 'model'",
        "ModuleNotFoundError: No module named 'my_helpers'",
        "AttributeError: module 'my_helpers' has no attribute 'load'",
        "AttributeError: module 'numpy' has no attribute 'never_was'",
        "SyntaxError: invalid syntax",
        "    model.fit(x, epoch=3)\nTypeError: fit() got an unexpected keyword argument 'epoch'",
        "  File \"/home/me/numpy.py\", line 3\nImportError: cannot import name 'array' from"
        " 'numpy' (/home/me/numpy.py)",
        "ConnectionError: Max retries exceeded\nERROR: No matching distribution found for demo",
        "ERROR: Could not find a version that satisfies the requirement requirements.txt",
    ],
)
def test_what_could_be_anybodys_is_no_fault(text: str) -> None:
    assert asked(text) == []


def test_what_the_list_refutes_is_not_said() -> None:
    text = "ImportError: cannot import name 'url_quote' from 'werkzeug.urls'"
    assert asked(text, listed="werkzeug==3.0.0\n")
    assert not asked(text, listed="werkzeug==2.2.3\n")


def test_what_an_installed_release_refutes_is_a_remark() -> None:
    text = "TypeError: 'type' object is not subscriptable"
    assert asked(text, "3.7")[0].packages == ("python",)
    remarks = findings(case_of(text, Version("3.12")))
    assert [remark.is_fault for remark in remarks] == [False]
    assert "Python 3.12 is installed" in remarks[0].sentence


def test_without_a_change_the_reason_is_that_of_the_package() -> None:
    conda = "UnsatisfiableError:\n  - enum34 -> python[version='2.6.*']\n  - python=3.7\n"
    assert "no Python from 3.5 to 3.15 fits" in asked(conda)[0].advice
    system = "ImportError: /lib/libc.so.6: version `GLIBC_2.29' not found (required by"
    system += f" {SITE}/tensorflow/_pywrap.so)"
    assert "which tensorflow was built for this machine" in asked(system)[0].advice


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("match command:", ">=3.10"),
        ("while line := read():", ">=3.8"),
        ("print(f'{total}')", ">=3.6"),
        ("names: List[str]", ">=3.6"),
        ("except ValueError, error:", "<3"),
        ("mode = 0755", "<3"),
        ("return total total", ""),
        ("else if count == 3:", ""),
    ],
)
def test_a_line_that_does_not_parse_tells_its_python(line: str, wanted: str) -> None:
    assert wanted_by_source(line) == wanted


@pytest.mark.parametrize(
    ("text", "pin", "python", "reason"),
    [
        (
            "numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C"
            " header, got 88 from PyObject",
            *("numpy==1.26.4", "", ""),
        ),
        ("ModuleNotFoundError: No module named 'distutils'\nPython 3.12.3", "", "3.11", ""),
        (
            "TypeError: Client.__init__() got an unexpected keyword argument 'proxies'",
            *("httpx==0.27.2", "", ""),
        ),
        (
            "TypeError: Parameter.make_metavar() missing 1 required positional argument: 'ctx'",
            *("click==8.1.8", "", ""),
        ),
        (
            "pydantic.errors.PydanticImportError: `BaseSettings` has been moved to the"
            " `pydantic-settings` package.",
            *("pydantic==1.10.27", "", ""),
        ),
        (
            f'  File "{SITE}/thing/a.py", line 1, in f\n    from other import x\n'
            "ImportError: cannot import name 'x' from 'other' (/a/site-packages/other/b.py)",
            *("", "", "not in the data that this command carries"),
        ),
    ],
)
def test_a_change_is_checked_or_the_reason_why_there_is_none_is_said(
    text: str, pin: str, python: str, reason: str
) -> None:
    first = asked(text)[0]
    assert (first.pin, first.python) == (pin, python)
    assert reason in first.advice


OLD_FLAKE8 = (
    '  File "/usr/lib/python3.12/site-packages/flake8/plugins/manager.py", line 254, in _load\n'
    "    eps = importlib_metadata.entry_points().get(self.namespace, ())\n"
    "AttributeError: 'EntryPoints' object has no attribute 'get'\n"
)


def test_a_class_without_a_mention_is_of_the_package_that_has_it() -> None:
    first = asked(OLD_FLAKE8, "3.12", "flake8==3.9.2\nimportlib-metadata==5.0.0\n")[0]
    assert first.packages == ("importlib-metadata", "flake8")


@pytest.mark.parametrize(
    ("listed", "text", "python", "packages", "direction"),
    [
        (
            "pysnmp==4.4.12\npyasn1==0.6.1\n",
            f'  File "{SITE}/pysnmp/proto/rfc1902.py", line 7, in <module>\n'
            "    from pyasn1.compat.octets import str2octs\n"
            "ModuleNotFoundError: No module named 'pyasn1.compat.octets'\n",
            *("3.11", ("pyasn1", "pysnmp"), "older"),
        ),
    ],
)
def test_what_came_after_a_release_is_named(
    listed: str, text: str, python: str, packages: tuple[str, ...], direction: str
) -> None:
    first = asked(text, python, listed)[0]
    assert (first.packages, first.direction) == (packages, direction)


@pytest.mark.parametrize(
    ("text", "package", "direction", "pin"),
    [
        (  # an error that only some releases raise
            "ValueError: decay is deprecated in the new Keras optimizer, please check the docstring"
            " for valid arguments, or use the legacy optimizer, e.g.,"
            " tf.keras.optimizers.legacy.Adam.",
            *("keras", "older", "keras==2.10.0"),
        ),
        (  # what a package shows of another one
            "AttributeError: module 'tensorflow.keras.layers' has no attribute 'CuDNNLSTM'",
            *("tensorflow", "older", "tensorflow==2.12.1"),
        ),
        (  # names that an older interface has
            "AttributeError: module 'tensorflow.train' has no attribute 'AdamOptimizer'",
            *("tensorflow", "older", "tensorflow==1.15.5"),
        ),
        (  # another number of results
            "    obs, reward, done, info = env.step(action)\n"
            "ValueError: too many values to unpack (expected 4)\ngym 0.26.2",
            *("gym", "older", "gym==0.25.2"),
        ),
        (  # a library that cffi loads
            f'  File "{SITE}/OpenSSL/crypto.py", line 3268, in <module>\n'
            "    _lib.OpenSSL_add_all_algorithms()\n"
            "AttributeError: module 'lib' has no attribute 'OpenSSL_add_all_algorithms'",
            *("pyopenssl", "newer", ""),
        ),
        (  # a hook of a plugin
            "pluggy._manager.PluginValidationError: unknown hook 'pytest_cmdline_preparse' in"
            " plugin <module 'demo'>",
            *("pytest", "older", "pytest==8.0.2"),
        ),
        ("RuntimeError: No such operator torchvision::nms", "torchvision", "rebuild", ""),
        (  # the older of two spans is the longer one
            "AttributeError: module 'keras.backend' has no attribute 'tf'",
            *("keras", "older", "keras==2.2.4"),
        ),
        (  # an ended span that no release of the other requires: by its day
            "AttributeError: module 'tensorflow.keras.utils' has no attribute 'multi_gpu_model'",
            *("tensorflow", "older", "tensorflow==2.2.0"),
        ),
        (  # the size of a header
            "ValueError: numpy.ndarray size changed, may indicate binary incompatibility. Expected"
            " 88 from C header, got 80 from PyObject\nnumpy 1.19.5",
            *("numpy", "newer", "numpy==1.26.4"),
        ),
        (  # a tree of libmamba
            "The following packages are incompatible\n"
            "├─ numpy 2.0.*  is requested and can be installed;\n"
            "└─ numba 0.59.1  is not installable because it requires\n"
            "   └─ numpy >=1.22,<1.27 , which conflicts with any installable versions.\n",
            *("numpy", "older", "numpy==1.26.4"),
        ),
        (  # two packages that need the same are no crowd
            "demo 1.0 requires protobuf>=4.21.6, but you have protobuf 3.20.3 which is"
            " incompatible.\nother 1.0 requires protobuf>=4.21.6, but you have protobuf 3.20.3"
            " which is incompatible.",
            *("protobuf", "newer", "protobuf==4.25.9"),
        ),
    ],
)
def test_facts_beside_names_and_arguments_are_known(
    text: str, package: str, direction: str, pin: str
) -> None:
    first = asked(text)[0]
    assert (first.packages[0], first.direction) == (package, direction)
    assert first.pin
    assert not pin or first.pin == pin


def test_a_class_of_python_comes_before_those_of_packages_that_nobody_mentions() -> None:
    text = "AttributeError: 'Thread' object has no attribute 'isAlive'"
    assert asked(text)[0].packages == ("python",)
    assert asked(f"import gevent\n{text}")[0].packages[0] == "gevent"


def test_a_command_ends_where_the_resolver_speaks() -> None:
    text = (
        "uv pip install -r requirements.txt\n  \u00d7 No solution found when resolving:\n"
        "  Because demo==0.6.2 depends on dep>=2.1.0 and you require demo==0.6.2, we can conclude"
        " that you require dep>=2.1.0.\n And because you require dep==1.26.4, we can conclude that"
        " your requirements are unsatisfiable."
    )
    assert [fact.range for fact in facts_of(text, Asked)] == ["==0.6.2", "==1.26.4"]


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        (
            "Ignored the following versions that require a different python version:"
            " 2.0 Requires-Python >=3.9",
            "python",
        ),
        ("demo 1.0 Requires-Python >=3.9", ""),
        ("So, because app depends on dep (^2.1), version solving failed.", ""),
        (
            "Because only dep{python_version < '3.13'}<4.10.0 is available and demo==5.4.0 depends"
            " on dep{python_version < '3.13'}>=4.10.0, we can conclude that",
            "dep",
        ),
        (
            "Double requirement given: dep==1.11 (from -r a.txt (line 3)) (already in dep==1.10"
            " (from -r b.txt (line 1)), name='dep')",
            "dep",
        ),
        ("In --require-hashes mode, all requirements must be pinned:\n    dep>=40 from x", ""),
        (
            "Unsatisfiable package specifications.\nHint: the following combinations of packages"
            " create a conflict with the remaining packages:\n  - python 3.4*\n  - demo",
            "demo",
        ),
        (
            "UnsatisfiableError: found to be incompatible\ndep[version='<=1.15']\n"
            "demo=1.1 -> dep[version='>=1.15.4,<2']",
            "dep",
        ),
    ],
)
def test_a_part_of_an_installers_message_is_read(text: str, culprit: str) -> None:
    faults = asked(f"{text}\n")
    assert [fault.packages[0] for fault in faults] == ([culprit] if culprit else [])


def test_an_attribute_that_a_stored_object_lacks_is_of_a_later_release() -> None:
    error = "AttributeError: 'DecisionTreeRegressor' object has no attribute 'monotonic_cst'\n"
    [plain], [stored] = asked(error), asked(f"model = pickle.load(file)\n{error}")
    assert (plain.direction, stored.direction) == ("newer", "older")
    assert stored.pin == "scikit-learn==1.3.2"


def test_where_only_one_of_the_two_is_named_none_of_its_releases_is_advised() -> None:
    text = (
        '  File "/usr/lib/python3.12/site-packages/urllib3/connectionpool.py", line 551, in f\n'
        "    response.version_string,\n"
        "AttributeError: 'OtherHTTPResponse' object has no attribute 'version_string'\n"
    )
    for listed in ("", "other==6.0.2\nurllib3==2.3.0\n"):
        [first, *_] = asked(text, "3.12", listed)
        assert first.pin == ""
        assert "newest" not in first.advice
    [first, *_] = asked(text.replace("Other", "VCR"), "3.12", "vcrpy==6.0.2\nurllib3==2.3.0\n")
    assert (first.packages[0], first.direction) == ("vcrpy", "newer")


def test_every_fault_has_a_checked_change_or_says_why_there_is_none() -> None:
    for case in REAL:
        for finding in asked(case.get("message", ""), case.get("python", ""), case.get("list", "")):
            for pin in finding.pin.split():
                name, _, version = pin.partition("==")
                known = index(name)
                assert known is None or Version(version) in known.versions
            assert finding.pin or finding.python or finding.advice, finding


def test_a_corrected_bound_is_no_requirement_of_the_release() -> None:
    first = asked("", "", "arviz==0.17.0\nscipy==1.14.0\n")[0]
    assert (first.packages, first.needs) == (("scipy", "arviz"), "scipy<1.13")
    assert "conda-forge corrected" in first.sentence


def test_of_a_list_the_one_that_asks_may_change_as_well() -> None:
    first = asked("", "", "pandas==1.5.2\nnumpy==1.20.1\n")[0]
    assert (first.packages, first.pin) == (("numpy", "pandas"), "numpy==1.23.5")
    other = re.search(r"or for pandas==([\d.]+)\.", first.advice)
    known = index("pandas")
    assert other is not None
    assert known is not None
    needs = known.requires(Version(other[1]), "numpy")
    assert any(Requirement(f"numpy{need}").specifier.contains("1.20.1") for need in needs)


def test_what_a_class_takes_is_that_of_the_first_base_by_name() -> None:
    """It was that of any base: one message had two answers, by the seed of Python's hashes."""
    known = api("discord-py")
    assert known is not None
    presence = known.accepts("commands.Bot", "!intents")
    assert presence is not None
    assert presence.wanted(None)[0] == ">=1.0.0,<=1.7.3"


def test_a_name_that_nobody_knows_is_perhaps_misspelt() -> None:
    text = "Could not find a version that satisfies the requirement panda-s (from versions: none)"
    assert asked(text) == []
    assert any("Did you mean pandas?" in finding.sentence for finding in findings(case_of(text)))


@pytest.mark.parametrize(
    ("name", "python", "pin", "series"),
    [
        ("int", "3.10", "numpy==1.23.5", ""),
        ("int", "3.12", "", "3.11"),
        ("bool", "", "numpy==1.23.5", ""),
    ],
)
def test_a_remedy_has_what_was_missed(name: str, python: str, pin: str, series: str) -> None:
    first = asked(f"AttributeError: module 'numpy' has no attribute '{name}'.", python)[0]
    assert (first.packages[0], first.direction) == ("numpy", "older")
    assert (first.pin, first.python) == (pin, series)


@pytest.mark.parametrize(
    ("module", "name", "python", "series"),
    [
        # A module's `__getattr__` answered until 3.9.
        ("collections", "Mapping", "3.10", "3.9"),
        ("asyncio", "get_child_watcher", "3.14", "3.13"),
    ],
)
def test_pythons_own_names_have_the_last_python_that_gives_them(
    module: str, name: str, python: str, series: str
) -> None:
    first = asked(f"AttributeError: module '{module}' has no attribute '{name}'", python)[0]
    assert (first.packages[0], first.python) == ("python", series)


def test_known_names_have_spans() -> None:
    known = api("eth-typing")
    assert known is not None
    assert len(known.name("eth_typing", "ContractName").spans()) == 2  # 4.2.0 to 4.2.2 lack it
    assert index("attrs") is not None
    assert api("no-such-package") is None


@pytest.mark.parametrize(
    ("name", "first", "named", "wrong", "silent_of_fine"),
    [
        ("cases", 118, 124, 1, 33),
        ("held_out", 27, 30, 0, 12),
        ("fresh", 20, 25, 0, 10),
        ("third", 24, 31, 0, 9),
        ("fourth", 24, 27, 0, 12),
        ("fifth", 25, 28, 0, 11),
        ("sixth", 21, 25, 0, 11),
    ],
)
def test_real_cases(name: str, first: int, named: int, wrong: int, silent_of_fine: int) -> None:
    """At least so many first culprits and culprits, at most so many wrong ones. The first of a
    case's packages is the culprit, the others are beside it.
    """
    cases = tomllib.loads((HERE / f"doctor_{name}.toml").read_text("utf-8"))["cases"]
    counts = {"first": 0, "named": 0, "wrong": 0, "silent": 0}
    for case in cases:
        found = asked(case.get("message", ""), case.get("python", ""), case.get("list", ""))
        if case["truth"] == "fine":
            counts["silent"] += not found
        elif found:
            is_named = bool(set(found[0].packages) & set(case["packages"]))
            counts["named"] += is_named
            counts["wrong"] += not is_named
            counts["first"] += found[0].packages[0] == case["packages"][0]
    assert counts["first"] >= first, counts
    assert counts["named"] >= named, counts
    assert counts["wrong"] <= wrong, counts
    assert counts["silent"] >= silent_of_fine, counts


@pytest.mark.parametrize(
    ("name", "culprit", "direction", "works", "wrong", "fine"),
    [
        # When first asked: 38 culprits, 30 changes that work, 14 negatives.
        ("blind", 44, 42, 43, 0, 15),
        # When first asked: 39 culprits, 2 wrong, 32 directions, 23 changes, 15 negatives.
        ("blind2", 43, 42, 32, 0, 15),
        # 56 reports. When first asked: 35 culprits, 27 directions, 24 changes, 14 negatives.
        ("blind3", 37, 32, 31, 0, 15),
        # 20 reports. When first asked: 12 culprits, 11 directions, 9 changes, 5 negatives.
        ("blind4", 13, 13, 10, 0, 5),
        # 60 reports. When first asked: 35 culprits, 1 wrong, 32 directions, 29 changes, 15 quiet.
        ("blind5", 41, 41, 38, 0, 15),
        # 60 reports. When first asked: 37 culprits, 29 directions, 27 changes, 15 quiet.
        ("blind6", 42, 37, 35, 0, 15),
        # 60 reports. When first asked: 38 culprits, 2 wrong, 33 directions, 30 changes, 15 quiet.
        ("blind7", 39, 35, 33, 1, 15),
        # 60 reports. When first asked: 28 culprits, 4 wrong, 25 directions, 19 changes, 13 quiet.
        ("blind8", 29, 26, 22, 4, 13),
    ],
)
def test_blind_cases(
    name: str, culprit: int, direction: int, works: int, wrong: int, fine: int
) -> None:
    """Reports whose truths were written before they were asked; what they showed was mended."""
    counts = {"culprit": 0, "direction": 0, "works": 0, "wrong": 0, "quiet": 0}
    for case in tomllib.loads((HERE / f"doctor_{name}.toml").read_text("utf-8"))["cases"]:
        python = Version(case["python"]) if "python" in case else None
        read = case_of(case["message"], python, listed_versions(case["message"]))
        found = [finding for finding in findings(read) if finding.is_fault]
        if case["group"] == "N":
            counts["quiet"] += not found
        elif found:
            is_named = found[0].packages[0] in case["packages"]
            counts["culprit" if is_named else "wrong"] += 1
            counts["direction"] += is_named and found[0].direction in case["direction"]
            changes = [pin.split("==") for pin in found[0].pin.split()]
            changes += [["python", found[0].python]] if found[0].python else []
            accepted = [Requirement(each) for each in case["remedy"]]
            counts["works"] += any(
                a.name == name and a.specifier.contains(v) for a in accepted for name, v in changes
            )
    assert counts["culprit"] >= culprit, counts
    assert counts["direction"] >= direction, counts
    assert counts["works"] >= works, counts
    assert counts["wrong"] <= wrong, counts
    assert counts["quiet"] == fine, counts


def test_each_kind_of_problem_that_is_said_has_its_sentence() -> None:
    source = (Path(infer.__file__)).read_text("utf-8")
    kinds = set(re.findall(r'say\(\s*"([a-z-]+)"', source))
    assert kinds
    assert kinds <= set(infer._TEMPLATES)
    assert asked("AttributeError: module 'jax' has no attribute 'xla'\n") == []


def test_of_a_package_without_data_the_newest_is_advised() -> None:
    text = "ImportError: cannot import name 'part' from 'unheard_of' (/venv/lib/python3.9"
    [first] = asked(f"{text}/site-packages/unheard_of/__init__.py)\n")
    assert (first.needs, first.direction, first.pin) == ("unheard-of", "newer", "")
    listed = asked("AttributeError: module 'acme.part' has no attribute 'x'\nacme-part 0.1.6\n")
    assert listed[0].packages == ("acme-part",)


def test_an_index_without_any_file_is_of_another_python() -> None:
    text = (
        "Could not find a version that satisfies the requirement tensorflow (from versions: none)"
    )
    assert asked(text, "3.10")[0].python == "3.9"
    assert asked(text.replace("none", "2.8.0, 2.9.0"), "3.10")[0].python != "3.9"


def test_what_a_class_raises_itself_is_of_its_user() -> None:
    text = (
        '  File "main.py", line 3, in <module>\n    frame.Sales\n'
        f'  File "{SITE}/pandas/core/generic.py", line 6299, in __getattr__\n'
        "    return object.__getattribute__(self, name)\n"
        "AttributeError: 'DataFrame' object has no attribute '{}'\n"
    )
    assert not asked(text.format("Sales"))
    assert asked(text.format("append"))[0].packages == ("pandas",)
