"""Compiles sources into the bytecode cache. A cell's interpreter runs this script outside the cell.

Old syntax (3.7) and the standard library only. Reads lines of `sha256 path` and runs nothing of
what it compiles.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import stat
import sys

# PEP 552: with this flag, bytecode is loaded without checking the source, whose hash follows.
_UNCHECKED_HASH = (1).to_bytes(4, "little")
MOST_BYTES = 16 << 20


def source_of(path: str) -> bytes:
    """Raise OSError for anything but a plain file of sensible size; a pipe is rejected, too."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
            raise OSError("not a plain file of sensible size")
        return file.read()


def compile_listed(wanted: str, store: str, magic: str) -> None:
    if importlib.util.MAGIC_NUMBER.hex() != magic:
        raise SystemExit("another interpreter than the one that was asked for")
    with open(wanted, encoding="utf-8") as lines:
        for line in lines:
            sha256, _, path = line.rstrip("\n").partition(" ")
            try:
                source = source_of(path)
                if hashlib.sha256(source).hexdigest() != sha256:
                    continue
                name = os.path.basename(path)
                code = compile(source, name, "exec", dont_inherit=True, optimize=0)
                head = importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH
                content = head + importlib.util.source_hash(source) + marshal.dumps(code)
                folder = os.path.join(store, sha256[:2])
                os.makedirs(folder, exist_ok=True)
                temporary = os.path.join(folder, ".%d" % os.getpid())  # noqa: UP031
                with open(temporary, "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                os.replace(temporary, os.path.join(folder, sha256))
            except Exception as fault:
                print(type(fault).__name__, os.path.basename(path))


if __name__ == "__main__":
    compile_listed(*sys.argv[1:])
