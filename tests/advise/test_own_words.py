"""The rules for what packages say in their own words, for code of Python 2, and for names of which
the message alone tells whose they are.
"""

import re

import pytest

from compat.advise.binary_rules import OF_SYMBOLS
from compat.advise.message import Message, legible, read_message
from compat.advise.message_rule import MessageRule
from compat.advise.module_names import is_own_name
from compat.advise.name_rules import OF_CALLS, OF_SLIPS
from compat.advise.own_words_rules import OF_LOOSE_WORDS, OF_OWN_WORDS
from compat.advise.pattern_words import may_match
from compat.advise.python2_rules import OF_PYTHON_2
from compat.advise.relevance import is_about_matrix

HERE = "/venv/lib/python3.9/site-packages"
# What a tool prints, and what is understood: cause, package, who asks, what would mend it.
EXAMPLES = [
    (
        "demo.VersionMismatch: The transport requires dep-py versions 3.2.0 or later. You have"
        " 2.10.6",
        *("version-guard", "dep-py", "", "dep-py>=3.2.0"),
    ),
    (
        "The extension used by this project needs at least Demo v5.0; it therefore cannot be built"
        " with this version.",
        *("version-guard", "demo", "", "demo>=5.0"),
    ),
    (
        "demo.Misconfigured: dep 1.4.0 or newer is required; you have 0.9.3.",
        *("version-guard", "dep", "", "dep>=1.4.0"),
    ),
    (
        "demo.ImproperlyConfigured: Plugin demo requires Dep maximum version 3.2.99.",
        *("version-guard", "dep", "", ""),
    ),
    (
        "demo was built for: Dep 2.0.0 with more (you have 2.0.1+cpu)",
        *("binary-incompatible", "dep", "", ""),
    ),
    (
        "ImportError: the C extension module was built for another version of dep",
        *("binary-incompatible", "dep", "", ""),
    ),
    (
        "Exception: Version mismatch: this is the 'dep' package version 1.14, located in /a",
        *("version-guard", "dep", "", ""),
    ),
    (
        "RuntimeError: A Dep version >=1.16.5 and <1.23.0 is required for this version of Demo"
        " (detected version 1.16.2)",
        *("version-guard", "dep", "demo", "dep>=1.16.5"),
    ),
    (
        "ImportError: Using `train` requires `dep>=0.21.0`: Please upgrade it.",
        *("version-guard", "dep", "", "dep>=0.21.0"),
    ),
    (
        "RuntimeError: We need Dep version 0.22, but found version 0.25.1",
        *("version-guard", "dep", "", "dep==0.22"),
    ),
    (
        "ImportError: demo 0.15.0 is incompatible with dep < 1.7.0, your dep version is 1.6.1.",
        *("version-guard", "dep", "demo", ""),
    ),
    (
        "ImportError: your dep version is too old to support it",
        *("version-guard", "dep", "", ""),
    ),
    (
        "RuntimeError: The version of dep must be at least what this demo was made for.",
        *("version-guard", "dep", "", ""),
    ),
    (
        "ValueError: not found. Please upgrade dep to >=1.7.0 for it.",
        *("version-guard", "dep", "", "dep>=1.7.0"),
    ),
    ("ValueError: Please downgrade dep to 1.7.2", *("version-guard", "dep", "", "")),
    (
        "ImportError: This needs another one. Run `pip install --upgrade dep`.",
        *("version-guard", "dep", "", ""),
    ),
    (
        "You tried to access dep.Thing, but this is no longer supported in dep>=1.0.0 - see the"
        " README",
        *("missing-attribute", "dep", "", "dep<1.0.0"),
    ),
    (
        "RuntimeError: Couldn't load custom ops. This can happen if your Demo and demovision"
        " versions are incompatible.",
        *("binary-incompatible", "demo", "demovision", ""),
    ),
    (
        "RuntimeError: Detected that Demo and demovision were compiled with different versions.",
        *("binary-incompatible", "demo", "demovision", ""),
    ),
    (
        "ImportError: the extension was compiled against dep 1.10.4, but 1.12.0 is loaded",
        *("binary-incompatible", "dep", "", ""),
    ),
    (
        "RuntimeError: operator demo::nms does not exist",
        *("binary-incompatible", "demo", "torch", ""),
    ),
    (
        "ImportError: Unable to import required dependencies:\ndep: No module named dep",
        *("missing-module", "dep", "", ""),
    ),
    (
        "demo.errors.VersionRequirementError: 5.0",
        *("version-guard", "demo", "", ""),
    ),
    (
        "RuntimeError: the loader requires demo >= 2 for it",
        *("version-guard", "demo", "", "demo>=2"),
    ),
    ("demo 1.1 is not supported here", *("version-guard", "demo", "", "")),
    ("RuntimeError: Unsupported demo version", *("version-guard", "demo", "", "")),
    (
        "RuntimeError: it has no such thing. Please upgrade demo.",
        *("version-guard", "demo", "", ""),
    ),
    # Of Python 2.
    (
        "SyntaxError: Missing parentheses in call to 'print'. Did you mean print(x)?",
        *("syntax", "python", "", "python<3"),
    ),
    (
        "    first = counts.keys()[0]\nTypeError: 'dict_keys' object is not subscriptable",
        *("type-error", "python", "", "python<3"),
    ),
    (
        "TypeError: object of type 'map' has no len()",
        *("type-error", "python", "", "python<3"),
    ),
    ("ImportError: No module named 'urllib2'", *("missing-module", "python", "", "python<3")),
    (
        "ModuleNotFoundError: No module named 'ConfigParser'",
        *("missing-module", "python", "", "python<3"),
    ),
    ("NameError: name 'xrange' is not defined", *("missing-attribute", "python", "", "python<3")),
    (
        "AttributeError: 'dict' object has no attribute 'iteritems'. Did you mean: 'items'?",
        *("missing-attribute", "python", "", "python<3"),
    ),
    (
        "ImportError: cannot import name 'izip' from 'itertools' (unknown location)",
        *("missing-attribute", "python", "", "python<3"),
    ),
    # Of Python and of what lies deeper.
    (
        '    bar.set(loss=f"{total / 2:.2f}")\n          ^\nSyntaxError: invalid syntax',
        *("syntax", "python", "", "python>=3.6"),
    ),
    (
        '    if needs and (specs := needs["specs"]):\n         ^\nSyntaxError: invalid syntax',
        *("syntax", "python", "", "python>=3.8"),
    ),
    (
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.28' not found (required by"
        " /var/task/demo/_demo.abi3.so)",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        "ImportError: /home/me/_C.so: undefined symbol: _ZN2at19UndefinedTensorImpl10_singletonE",
        *("binary-incompatible", "torch", "", ""),
    ),
    (
        "ValueError: demo.loop size changed, may indicate binary incompatibility. Expected 96",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        "ImportError: demo.core does not export expected C function _make",
        *("binary-incompatible", "demo", "", ""),
    ),
    (
        "AttributeError: 'DataFrame' object has no attribute 'ix'",
        *("missing-attribute", "pandas", "", "pandas<1"),
    ),
    (
        "AttributeError: 'DataFrame' object has no attribute '_data'",
        *("missing-attribute", "pandas", "", ""),
    ),
    (
        "AssertionError: dep>=0.25.0 requirement not satisfied. Please install it.",
        *("version-guard", "dep", "", "dep>=0.25.0"),
    ),
    (
        "AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'",
        *("binary-incompatible", "torch", "", ""),
    ),
    (
        "RuntimeError: demo.placeholder() is not compatible with eager execution.",
        *("error", "demo", "", ""),
    ),
    (
        "ValueError: decay is deprecated in the new Demo optimizer, please check the docstring",
        *("error", "demo", "", ""),
    ),
    (
        "ValueError: A DemoTensor cannot be used as input to another function",
        *("type-error", "demo", "", ""),
    ),
    # Of calls.
    (
        f'  File "{HERE}/demo/io.py", line 173, in _is_zip\n    dep.path.parse(a)\nAttributeError:'
        " module 'dep' has no attribute 'path'. Did you mean: 'Path'?",
        *("missing-attribute", "dep", "demo", ""),
    ),
    (
        f'  File "{HERE}/demo/worker.py", line 241, in start\n    self.transport.implements.async'
        f' and\n  File "{HERE}/dep/base.py", line 125, in __getattr__\n    raise'
        " AttributeError(key)\nAttributeError: async",
        *("missing-attribute", "dep", "demo", ""),
    ),
    (
        '  File "/usr/lib/python2.7/weakref.py", line 14, in <module>\n    from _weakref import (\n'
        "ImportError: cannot import name _remove_dead_weakref",
        *("missing-attribute", "python", "", ""),
    ),
    (
        "import demo.sub as d\nd.Maker(wide=True)\nTypeError: __init__() got an unexpected keyword"
        " argument 'wide'",
        *("type-error", "demo", "", ""),
    ),
    (
        "import demo\nbot = demo.Client()\nTypeError: __init__() missing 1 required keyword-only"
        " argument: 'wide'",
        *("type-error", "demo", "", ""),
    ),
    (
        "from demo import Client\nbot = Client(wide=True)\nTypeError: Client.__init__() got an"
        " unexpected keyword argument 'wide'",
        *("type-error", "demo", "", ""),
    ),
    # Of names.
    (
        f"  File \"{HERE}/demo/fft.py\", line 48\nAttributeError: 'module' object has no attribute"
        " 'cffti'",
        *("missing-attribute", "demo", "", ""),
    ),
    (
        "Could not import extension demo.auto (exception: No module named 'dep.util.compat')",
        *("missing-module", "dep", "", ""),
    ),
    (
        "from demo.parts import (\nImportError: cannot import name 'default'",
        *("missing-attribute", "demo", "", ""),
    ),
    (
        "ModuleNotFoundError: No module named 'demo.contents'",
        *("missing-module", "demo", "", ""),
    ),
    # Of resolvers.
    (
        "Because you require demo==2.32.3 and demo==2.26.0, we can conclude that your requirements"
        " are unsatisfiable.",
        *("conflict", "demo", "", ""),
    ),
    (
        "Because demo==0.3.6 depends on dep{python_full_version >= '3.12'}>=1.26,<2 and only the"
        " following versions of dep{python_full_version >= '3.12'} are available:",
        *("no-artifact", "dep", "demo", ""),
    ),
    (
        "Because the requested Python version (>=3.9) does not satisfy Python>=3.10 and your"
        " project depends on demo[cli], we can conclude",
        *("requires-python", "python", "demo", "python>=3.10"),
    ),
]


@pytest.mark.parametrize(("text", "cause", "package", "of", "needs"), EXAMPLES)
def test_an_example_of_own_words_is_understood(
    text: str, cause: str, package: str, of: str, needs: str
) -> None:
    complaint = read_message(text).complaints[0]
    assert (complaint.cause, complaint.package, complaint.of) == (cause, package, of)
    assert complaint.needs.lower() == needs
    assert complaint.is_fault
    assert "$" not in complaint.sentence


@pytest.mark.parametrize(
    "rule",
    [*OF_OWN_WORDS, *OF_LOOSE_WORDS, *OF_PYTHON_2, *OF_CALLS, *OF_SYMBOLS],
    ids=lambda rule: str(rule.cause),
)
def test_each_rule_has_an_example(rule: MessageRule) -> None:
    found = [
        text
        for example in EXAMPLES
        if re.search(rule.pattern, text := legible(example[0]), re.IGNORECASE | re.ASCII)
    ]
    assert found
    assert all(may_match(rule.pattern, text.lower()) for text in found)


SLIPS = [
    "AttributeError: module 'demo.plot' has no attribute 'polt'. Did you mean: 'plot'?",
    "AttributeError: module 'demo' has no attribute 'arrange'. Did you mean: 'arange'?",
    "AttributeError: module 'demo' has no attribute 'dataframe'. Did you mean: 'DataFrame'?",
    "AttributeError: module 'demo' has no attribute 'constnt'. Did you mean: 'constant'?",
    "AttributeError: module 'demo' has no attribute 'Demo'",
    "ImportError: cannot import name 'demo' from 'demo' (/home/me/demo.py)",
]


@pytest.mark.parametrize("text", SLIPS)
def test_a_slip_is_no_fault(text: str) -> None:
    complaints = read_message(text).complaints
    assert [complaint.is_fault for complaint in complaints] == [False]
    assert any(
        re.search(rule.pattern, legible(text), re.IGNORECASE | re.ASCII) for rule in OF_SLIPS
    )


@pytest.mark.parametrize(
    "text",
    [
        "AttributeError: module 'demo' has no attribute 'getargspec'. Did you mean: 'getargs'?",
        f"ImportError: cannot import name 'demo' from 'demo' ({HERE}/demo/__init__.py)",
    ],
)
def test_what_was_renamed_is_no_slip(text: str) -> None:
    assert any(complaint.is_fault for complaint in read_message(text).complaints)


def is_told(text: str) -> bool:
    """Whether something in a message is held against versions where nothing is known."""
    message: Message = read_message(text)
    return any(
        is_about_matrix(complaint, message, lambda _: False, False)
        for complaint in message.complaints
        if complaint.is_fault and complaint.package
    )


@pytest.mark.parametrize(
    "text",
    [
        "AttributeError: module 'strange' has no attribute 'load'",
        "ImportError: cannot import name 'load' from 'strange.sub'",
        "ModuleNotFoundError: No module named 'strange.sub'",
        "pkg_resources.ContextualVersionConflict: (dep 6.2.0 (/usr/lib)), "
        "Requirement.parse('dep~=5.0'), {'strange'})",
        "strange 0.1 has requirement dep<2,>=1, but you'll have dep 2.1.1 which is incompatible.",
        f'  File "{HERE}/strange/__init__.py", line 40\n    f"{{a}}"\nSyntaxError: invalid syntax',
        "RuntimeError: Unsupported strange version\nstrange==1.2.3",
    ],
)
def test_what_a_message_tells_of_packages_needs_no_knowledge(text: str) -> None:
    assert is_told(text.replace("(/usr/lib)), ", "(/usr/lib), "))


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'strange'",
        "AttributeError: module 'utils' has no attribute 'load'",
        "ImportError: cannot import name 'update' from 'libs'",
        "AttributeError: module 'os' has no attribute 'getuid'",
        '  File "/home/me/strange/run.py", line 3, in <module>\n    strange.load()\nAttributeError:'
        " module 'strange' has no attribute 'load'",
        "ImportError: cannot import name 'load' from 'strange' (/home/me/strange/__init__.py)",
        "a 1.0 requires dep<2, but you have dep 2.1.1 which is incompatible.\nb 2.0 requires"
        " other<2, but you have other 2.1.1 which is incompatible.",
        "RuntimeError: Unsupported strange version",
        "ValueError: requires alpha >= 1",
        "strange 10.1 is not supported here",
        "strange.errors.TracerConversionError: of an array",
        '    print(f"{total}" 2)\n          ^\nSyntaxError: invalid syntax. Perhaps you forgot a'
        " comma?",
    ],
)
def test_what_may_be_of_ones_own_is_left_alone(text: str) -> None:
    assert not is_told(text)


def test_names_that_many_use_tell_of_no_package() -> None:
    assert is_own_name("utils")
    assert is_own_name("my-helpers")
    assert is_own_name("configparser")
    assert not is_own_name("strange")
