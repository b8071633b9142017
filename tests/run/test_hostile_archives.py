"""Wheels whose archive is the attack: nothing of them leaves the cell's environment."""

import base64
import hashlib
import io
import stat
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.hostile import CONTAINED, allowed
from support.lair import Lair, used_lair
from support.zoo import pytest_and_its_needs

from compat.run.classify import classify
from compat.run.evidence import Ended, Isolation
from compat.run.supervise import run_limited

GREEN = "import animal\n\ndef test_green():\n    assert animal.ALIVE\n"
REGULAR = stat.S_IFREG | 0o644
MARK = "escaped.txt"
# Path, content and mode of an entry.
Entry = tuple[str, bytes, int]


def _zip_with_a_way_out() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"../{MARK}", "x")
    return packed.getvalue()


KINDS: dict[str, tuple[Entry, ...]] = {
    "parent": ((f"../../../../{MARK}", b"x", REGULAR),),
    "absolute": ((f"{{outside}}/{MARK}", b"x", REGULAR),),
    "link-out": (
        ("out", b"{outside}", stat.S_IFLNK | 0o777),
        (f"out/{MARK}", b"x", REGULAR),
    ),
    "link-to-a-file": (("animal.pyc", b"/etc/passwd", stat.S_IFLNK | 0o777),),
    "device": (("device", b"", stat.S_IFCHR | 0o666),),
    "pipe": (("pipe", b"", stat.S_IFIFO | 0o666),),
    "duplicate": (("animal.py", b"ALIVE = False\n", REGULAR),),
    "case": (("Animal.py", b"ALIVE = False\n", REGULAR),),
    "nested": (("inner.zip", _zip_with_a_way_out(), REGULAR),),
    "data-parent": (("{name}-1.0.data/data/../../../../../" + MARK, b"x", REGULAR),),
    "bomb": (("zeros", bytes(150 << 20), REGULAR),),
    "entries": tuple((f"entries/{number}", b"", REGULAR) for number in range(5_000)),
}

# These are refused whole. What is not here is installed without its hostile entry, or with it as a
# plain file of the environment. The disk is looked at now and then, so a fast one may take a bomb
# of this size between two looks.
OUTCOMES = {
    "link-out": ("install-fail:error",),
    "duplicate": ("install-fail:error",),
    "bomb": ("install-fail:disk", "pass"),
}
# One wheel with all that is installed all the same: below the highest level it is tried at once.
KINDS["together"] = tuple(entry for kind in KINDS if kind not in OUTCOMES for entry in KINDS[kind])


def with_entries(name: str, content: bytes, kind: str, outside: Path) -> bytes:
    """Return the wheel with the entries of a kind, each of them in its RECORD."""
    packed, record = io.BytesIO(), f"{name}-1.0.dist-info/RECORD"
    with (
        zipfile.ZipFile(io.BytesIO(content)) as before,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        lines = before.read(record).decode()
        for path in before.namelist():
            if path != record:
                archive.writestr(path, before.read(path))
        for path, data, mode in KINDS[kind]:
            entry = zipfile.ZipInfo(path.replace("{outside}", str(outside)).replace("{name}", name))
            entry.create_system, entry.external_attr = 3, mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            held = data.replace(b"{outside}", str(outside).encode())
            archive.writestr(entry, held)
            digest = base64.urlsafe_b64encode(hashlib.sha256(held).digest()).rstrip(b"=").decode()
            lines += f"{entry.filename},sha256={digest},{len(held)}\n"
        archive.writestr(record, lines)
    return packed.getvalue()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("kind", "level"),
    [
        (kind, level)
        for level in CONTAINED
        for kind in (KINDS if level == "L3" else ("together", "link-out", "bomb"))
        if (kind, level) != ("together", "L3")
    ],
)
def test_nothing_of_a_hostile_archive_is_written_outside_the_environment(
    kind: str, level: Isolation, tmp_path: Path, tools: list[tuple[str, str, bytes]], once: Any
) -> None:
    if level not in allowed():
        pytest.skip(f"this machine does not allow {level}")
    outside = tmp_path / "outside"
    outside.mkdir()
    lair = used_lair(once, tmp_path / "lair", level, tools)
    lair.disk_mb = 100
    evidence = lair.run(
        {},
        {"test_a.py": GREEN},
        remade=lambda name, content: with_entries(name, content, kind, outside),
    )
    assert list(outside.iterdir()) == []
    assert list(tmp_path.rglob(MARK)) == []
    assert str(classify(evidence)).startswith(OUTCOMES.get(kind, ("pass",)))


def test_an_install_that_a_limit_ended_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def limited(command: list[str], *given: Any, **more: Any) -> Ended:
        ended = run_limited(command, *given, **more)
        if "install" not in command:
            return ended
        asked.append(command)
        return msgspec.structs.replace(ended, by="disk", exit_code=None, signal=9)

    monkeypatch.setattr("compat.run.installation.run_limited", limited)
    evidence = Lair(tmp_path, "L0", pytest_and_its_needs()).run({}, {"test_a.py": GREEN})
    assert str(classify(evidence)) == "install-fail:disk"
    assert len(asked) == 1
