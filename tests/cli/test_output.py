"""What commands print of foreign texts is escaped, whatever their length."""

import pytest

from compat.cli.output import note, say

HOSTILE = "\x1b]0;title\x07\x1b[2J\n::error::from a record\u202e"


@pytest.mark.parametrize("length", [0, 499, 500, 501, 100_000])
def test_no_control_character_reaches_the_terminal(
    length: int, capsys: pytest.CaptureFixture[str]
) -> None:
    say(HOSTILE + "A" * length)
    note(HOSTILE + "A" * length)
    printed = capsys.readouterr()
    assert printed.out.removesuffix("\n").isprintable()
    assert printed.err.removesuffix("\n").isprintable()
    assert printed.out.count("A") == length
