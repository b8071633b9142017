"""Annotations are postponed where that is legal, on the lines that they stand on, or not at all."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compat.run.postpone import STATEMENT, postpone_in, with_postponed_annotations

USE = "def f(x: no_such_name) -> 'int': ...\n"
SOURCES = {
    "nothing before": f"x = 1\n{USE}",
    "a function first": USE,
    "a decorator first": f"@staticmethod\n{USE}",
    "a docstring": f'"""It says\nwhat it is."""\n\nimport os\n{USE}',
    "a docstring and other imports of its kind": (
        f'"""Says."""\nfrom __future__ import division\nfrom __future__ import (\n'
        f"    print_function,\n)  # both\nimport os\n{USE}"
    ),
    "two on a line": f"'says'; from __future__ import division; import os\n{USE}",
    "a comment and a shebang": f"#!/usr/bin/python\n# -*- coding: utf-8 -*-\nimport os\n{USE}",
    "a byte order mark": f'\ufeff"""Grüße."""\n{USE}',
    "line ends of Windows": f'"""Says."""\r\nimport os\r\n{USE}',
    "another import of its kind": f"from __future__ import generator_stop\n{USE}",
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_import_is_put_where_it_is_legal(name: str) -> None:
    source = SOURCES[name].encode()
    changed = with_postponed_annotations(source)
    assert changed is not None
    # The interpreter itself says whether it is legal, and whether the annotation is left alone.
    compiled = compile(changed, name, "exec", dont_inherit=True)
    assert compiled.co_flags & __import__("__future__").annotations.compiler_flag
    exec(compiled, {"__name__": "changed"})
    with pytest.raises(NameError):
        exec(compile(source, name, "exec", dont_inherit=True), {"__name__": "unchanged"})


@pytest.mark.parametrize("name", [name for name in SOURCES if "first" not in name])
def test_every_line_keeps_its_number(name: str) -> None:
    source = SOURCES[name].encode()
    changed = with_postponed_annotations(source)
    assert changed is not None
    assert changed.count(b"\n") == source.count(b"\n")
    [before] = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
    [after] = [n for n in ast.walk(ast.parse(changed)) if isinstance(n, ast.FunctionDef)]
    assert before.lineno == after.lineno


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"# nothing\n",
        f"{STATEMENT}\nx: int\n".encode(),
        b"print 'of Python 2'\n",
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        b"x = 1\0\n",
        b"(" * 500 + b")" * 500,
    ],
    ids=["empty", "comment", "has it", "python 2", "latin-1", "null", "deep"],
)
def test_what_cannot_be_changed_is_left_alone(source: bytes) -> None:
    assert with_postponed_annotations(source) is None


def test_a_file_that_is_shared_by_a_link_stays_as_it_is(tmp_path: Path) -> None:
    site = tmp_path / "cell" / "site"
    site.mkdir(parents=True)
    (tmp_path / "cached.py").write_text(USE)
    os.link(tmp_path / "cached.py", site / "demo.py")
    (site / "plain.py").write_text(f"{STATEMENT}\n")
    changed = postpone_in(tmp_path / "cell", "site", ["demo.py", "plain.py", "missing.py"])
    assert changed == ("demo.py",)
    assert (tmp_path / "cached.py").read_text() == USE
    subprocess.run([sys.executable, "-I", str(site / "demo.py")], check=True)


def test_a_link_out_of_the_cell_is_not_followed(tmp_path: Path) -> None:
    site = tmp_path / "cell" / "site"
    site.mkdir(parents=True)
    (tmp_path / "other.py").write_text(USE)
    (site / "demo.py").symlink_to(tmp_path / "other.py")
    assert postpone_in(tmp_path / "cell", "site", ["demo.py", "../../other.py"]) == ()
    assert (tmp_path / "other.py").read_text() == USE
