"""The level of a processor, by the list of features that Linux shows."""

from pathlib import Path

import pytest

from compat.run.job import processor_level

V2 = "fpu lm sse2 cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"
V3 = f"{V2} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("fpu lm sse2", "x86-64"),
        (V2, "x86-64-v2"),
        (V3, "x86-64-v3"),
        # One of the five features of AVX-512 that v4 asks for is not enough.
        (f"{V3} avx512f", "x86-64-v3"),
        (f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64-v4"),
        ("fpu sse2", ""),
    ],
)
def test_the_level_is_the_highest_of_which_nothing_is_missing(
    tmp_path: Path, flags: str, level: str
) -> None:
    listing = tmp_path / "cpuinfo"
    listing.write_text(f"processor\t: 0\nmodel name\t: Any\nflags\t\t: {flags}\nbugs\t\t: some\n")
    assert processor_level(listing) == level


def test_another_kind_of_processor_has_none(tmp_path: Path) -> None:
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor\t: 0\nFeatures\t: fp asimd evtstrm aes\n")
    assert processor_level(listing) == ""
    assert processor_level(tmp_path / "absent") == ""
