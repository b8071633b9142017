"""What compat must know of a cell's interpreter before it is used: how it names and marks its
bytecode.
"""

import subprocess
from functools import cache

from compat.errors import ToolFailed

_ASK = (
    "import importlib.util, sys; print(sys.implementation.cache_tag,"
    " importlib.util.MAGIC_NUMBER.hex())"
)


@cache
def bytecode_of(python: str) -> tuple[str, bytes]:
    """Return the tag (PEP 3147) and the magic number of an interpreter's bytecode; raise ToolFailed
    if it is broken.
    """
    try:
        done = subprocess.run(
            [python, "-I", "-S", "-c", _ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        tag, magic = done.stdout.split()
        return tag, bytes.fromhex(magic)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ToolFailed.of(
            "an interpreter of this machine does not answer", hint="compat plan MATRIX --here"
        ) from error
