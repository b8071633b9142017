"""The locked cells as sessions of nox: `from compat.cli.nox_sessions import cell` in a noxfile.

`nox -l` lists them, and `nox -s "cell(ID)"` runs one. compat does not depend on nox.
"""

import sys
from pathlib import Path

import nox

# nox enters the noxfile's folder before it loads it.
_LOCKED = sorted((path.parts[-3], path.stem) for path in Path.cwd().glob("matrices/*/locks/*.txt"))


@nox.session(venv_backend="none")
@nox.parametrize("matrix,cell", [nox.param(*locked, id=locked[1]) for locked in _LOCKED])
def cell(session: nox.Session, matrix: str, cell: str) -> None:
    """Install one locked cell and run its suite; it succeeds when the cell works."""
    command = (sys.executable, "-m", "compat", "run", matrix, cell)
    # A folder `compat` beside the noxfile is not ours.
    session.run(*command, *session.posargs, external=True, env={"PYTHONSAFEPATH": "1"})
