"""The rules for what a line that does not parse, a frame of an import or of a loader, C code and a
change of releases tell, and for what only looks like it.
"""

import pytest

from compat.advise.message import read_message
from compat.advise.relevance import is_about_matrix

HERE = "/venv/lib/python3.9/site-packages"
IMPORTING = f'  File "{HERE}/strange/__init__.py", line 4, in <module>\n'


def packages_told(text: str) -> list[tuple[str, str]]:
    """The causes and packages that a message is held against where nothing is known."""
    message = read_message(text)
    return [
        (complaint.cause, complaint.package)
        for complaint in message.complaints
        if complaint.is_fault
        and complaint.package
        and is_about_matrix(complaint, message, lambda name: name == "python", False)
    ]


@pytest.mark.parametrize(
    ("line", "needs"),
    [
        ("match command:", "python>=3.10"),
        ("except* ValueError:", "python>=3.11"),
        ("def first[T](rows):", "python>=3.12"),
        ("type Row = list[int]", "python>=3.12"),
        ("print(f'{total=}')", "python>=3.8"),
        ("def call(first, /, second):", "python>=3.8"),
        ("while line := read():", "python>=3.8"),
        ("print(f'{total}')", "python>=3.6"),
        ("limit = 10_000", "python>=3.6"),
        ("names: List[str]", "python>=3.6"),
        ("async def run(self):", "python>=3.5"),
        ("def run(self) -> Row:", "python>=3.0"),
        ("def run(path: str):", "python>=3.0"),
        ("print('a', file=sys.stderr)", "python>=3.0"),
        ("from tool.async import run", "python<3.7"),
        ("except ValueError, error:", "python<3.0"),
    ],
)
def test_a_line_that_does_not_parse_tells_its_python(line: str, needs: str) -> None:
    text = f'  File "/home/me/run.py", line 8\n    {line}\n        ^\nSyntaxError: invalid syntax\n'
    assert read_message(text).complaints[0].needs == needs


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("SyntaxError: f-string: expecting '}'", "python>=3.12"),
        ("SyntaxError: f-string expression part cannot include a backslash", "python>=3.12"),
        ("SyntaxError: Non-ASCII character '\\xe2' in file run.py on line 3", "python>=3.0"),
        ("    mode = 0755\n              ^\nSyntaxError: invalid token", "python<3.0"),
    ],
)
def test_what_python_says_of_a_line_tells_its_python(text: str, needs: str) -> None:
    assert read_message(text).complaints[0].needs == needs


@pytest.mark.parametrize(
    "line", ["else if count == 3:", "return total total", "print(total", "TOKEN: abc_def"]
)
def test_a_slip_tells_no_python(line: str) -> None:
    text = f'  File "/home/me/run.py", line 8\n    {line}\n        ^\nSyntaxError: invalid syntax\n'
    assert packages_told(text) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f"{IMPORTING}    rows = ROWS['first']\nKeyError: 'first'",
            ("error", "strange"),
        ),
        (
            f'{IMPORTING}    class A(Base):\n  File "/usr/lib/python3.9/abc.py", line 85, in'
            " __new__\n    super()\nTypeError: a is not b",
            ("type-error", "strange"),
        ),
        (
            f'  File "{HERE}/strange.py", line 90, in make\n    return isinstance(value,'
            " t.__origin__)\nAttributeError: type object 'str' has no attribute '__origin__'",
            ("missing-attribute", "strange"),
        ),
        (
            f'INTERNALERROR>   File "{HERE}/pytest_strange/plugin.py", line 3, in hook\n'
            "INTERNALERROR>     item.obj = 1\nINTERNALERROR> AttributeError: can't set attribute",
            ("missing-attribute", "pytest-strange"),
        ),
        (
            f'  File "{HERE}/strange/a.py", line 3, in make\n    self.b = 1\nAttributeError:'
            " property 'b' of 'A' object has no setter",
            ("missing-attribute", "strange"),
        ),
        (
            f'  File "{HERE}/strange/a.py", line 3, in from_config\n    mask = config.pop("mask")\n'
            "KeyError: 'mask'",
            ("error", "strange"),
        ),
        (
            f"AttributeError: Can't get attribute 'Tree' on <module 'strange.tree' from '{HERE}/"
            "strange/tree.py'>",
            ("missing-attribute", "strange"),
        ),
        (
            "Upgrading from strange 0.5.1 to 0.6.0 gives:\nTypeError: __init__() got an unexpected"
            " keyword argument 'a'",
            ("type-error", "strange"),
        ),
        (
            "With strange 2.1.10,\n    strange.button(1, 8, 2)\nTypeError: button() takes 1"
            " positional argument but 3 were given",
            ("type-error", "strange"),
        ),
        (
            "cannot import name 'HTTP_OK' from 'homeassistant.const'"
            " (/usr/src/homeassistant/homeassistant/const.py)",
            ("missing-attribute", "homeassistant"),
        ),
        (
            "AttributeError: module 'strange' has no attribute 'list_all'. Did you mean: 'listAll?",
            ("missing-attribute", "strange"),
        ),
        (
            "ERROR: Failed building wheel for strange.pyx\n",
            ("build", "strange-pyx"),
        ),
        (
            "a.c:198:12: fatal error: longintrepr.h: No such file or directory",
            ("build", "python"),
        ),
        (
            "a.c:20: error: 'PyThreadState' {aka 'struct _ts'} has no member named 'exc_type'",
            ("build", "python"),
        ),
        (
            "a.c:20: error: 'PyArray_Descr' has no member named 'subarray'",
            ("build", "numpy"),
        ),
        (
            "writing strange.egg-info/PKG-INFO\nbuild_rust\nerror: can't find Rust compiler",
            ("build", "strange"),
        ),
        (
            "ERROR: Cannot install other==1.1.2 and strange 1.17 (from /tmp/strange-1.17.whl)"
            " because these package versions have conflicting dependencies.",
            ("conflict", "strange"),
        ),
        (
            'a 20.1 requires strange>=4.8; python_version < "3.8", but you have strange 1.7.0 which'
            " is incompatible.",
            ("conflict", "strange"),
        ),
    ],
)
def test_where_something_fails_tells_what_is_of_other_releases(
    text: str, told: tuple[str, str]
) -> None:
    assert packages_told(text)[:1] == [told]


@pytest.mark.parametrize(
    "text",
    [
        f'{IMPORTING}    HOME = os.environ["HOME_OF_IT"]\n  File "/usr/lib/python3.9/os.py", line'
        " 679, in __getitem__\nKeyError: 'HOME_OF_IT'",
        f"  File \"{HERE}/strange/a.py\", line 4, in get\n    return rows[name]\nKeyError: 'price'",
        f'{IMPORTING}    run()\n  File "/home/me/settings.py", line 3, in <module>\n    b["c"]\n'
        "KeyError: 'c'",
        f'INTERNALERROR>   File "{HERE}/pluggy/callers.py", line 187, in _multicall\nINTERNALERROR>'
        '   File "/home/me/conftest.py", line 2, in hook\nINTERNALERROR> AttributeError:'
        " 'NoneType' object has no attribute 'load'",
        "I updated the script 1.2 and get\nTypeError: main() takes 1 positional argument but 2 were"
        " given",
        '  File "/home/me/loader.py", line 4, in from_config\nTypeError: __init__() got an'
        " unexpected keyword argument 'nme'",
        "    strange.button(1, 8, 2)\nTypeError: button() takes 1 positional argument but 3 were"
        " given",
        "fatal error: portaudio.h: No such file or directory",
        "AttributeError: module 'api_keys' has no attribute 'first'",
        f"ImportError: {HERE}/strange/_C.so: undefined symbol: THPVariableClass",
        "/var/task/bootstrap: /lib64/libc.so.6: version `GLIBC_2.28' not found (required by"
        " /var/task/bootstrap)",
    ],
)
def test_what_may_have_another_cause_is_left_alone(text: str) -> None:
    assert packages_told(text) == []
