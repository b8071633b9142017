"""Facts about a cell's interpreter, its bytecode names, and this machine's processor."""

from functools import cache
from pathlib import Path

from compat.errors import ToolFailed
from compat.lock.uv import run_tool

_ASK = (
    "import importlib.util, sys; print(sys.implementation.cache_tag,"
    " importlib.util.MAGIC_NUMBER.hex())"
)

# The levels of the x86-64 psABI by Linux's names for their features, newest first:
# https://gitlab.com/x86-psABIs/x86-64-ABI
_LEVELS = (
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
    ("x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"),
    ("x86-64-v2", "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"),
    ("x86-64", "lm sse2"),
)


@cache
def bytecode_of(python: str) -> tuple[str, bytes]:
    try:
        done = run_tool([python, "-I", "-S", "-c", _ASK], Path("/"), {}, 60)
        tag, magic = done.stdout.split()
        return tag, bytes.fromhex(magic)
    except (ToolFailed, ValueError) as error:
        raise ToolFailed.of(
            "an interpreter of this machine does not answer", hint="compat plan MATRIX --here"
        ) from error


def processor_level(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Such as `x86-64-v3`; empty for another processor, and where there is no listing."""
    try:
        with listing.open(encoding="utf-8", errors="replace") as lines:
            flags = next((line for line in lines if line.startswith("flags")), "")
    except OSError:
        return ""
    features = frozenset(flags.partition(":")[2].split())
    level = ""
    for name, needed in reversed(_LEVELS):
        if not features.issuperset(needed.split()):
            break
        level = name
    return level
