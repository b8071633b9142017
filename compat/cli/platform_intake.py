"""What `compat ci record --platforms` does: takes answers and locks about other platforms that
another machine made, the sound ones, and names the others.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from compat import files
from compat.cli.lock_intake import handed_texts
from compat.cli.output import envelope, note, report
from compat.cli.plain import AskedAgain, untimely
from compat.declare.platforms import PlatformName
from compat.errors import DeclarationError, Fault, UsageError
from compat.lock.lockfile import Lock
from compat.lock.received import handed_lock
from compat.plan.cell import Cell, parse_cell
from compat.results.plain_answers import PlainAnswer, decode_answers
from compat.results.platform_files import ANSWERS
from compat.results.platform_installs import split_platform
from compat.site.wording import count
from compat.workspace import Workspace


def take_platforms(workspace: Workspace, folder: Path, as_json: bool) -> int:
    """Keep the sound answers of the folder, each with its lock, tell what is wrong with the others,
    and return the exit code.

    An answer is sound when metadata leaves open what it is about, it is of today or of the last
    days, newer than the one that is kept, and, where packages were found, its lock is one that
    this checkout asks for.
    """
    if folder.is_symlink() or not folder.is_dir():
        hint = "--platforms takes the folder that holds one for each platform"
        raise UsageError.of("is not a directory", path=str(folder), hint=hint)
    taken: list[str] = []
    faults: list[Fault] = []
    again = AskedAgain(workspace)
    for name in workspace.matrix.platforms:
        if (folder / name / ANSWERS).is_file():
            intake = _Intake(workspace, name, folder / name, again)
            taken += intake.taken
            faults += intake.faults
    if as_json:
        envelope({"kept": taken, "refused": [fault.path for fault in faults]}, faults)
    report(faults)
    again.tell()
    note(f"{count(len(taken), 'answer')} kept, {len(faults)} refused")
    return 1 if faults else 0


class _Intake:
    """The answers about one platform: which were taken, and what is wrong with the others."""

    def __init__(
        self, workspace: Workspace, platform: PlatformName, folder: Path, again: AskedAgain
    ) -> None:
        self._workspace, self._platform = workspace, platform
        self.taken: list[str] = []
        self.faults: list[Fault] = []
        files_of = workspace.platforms
        facts = files_of.facts(workspace.matrix, workspace.kept_or_asked, platform)
        planned = self._open_cells()
        before = files_of.answers(platform)
        source = f"{platform}/{ANSWERS}"
        text = files.read(folder / ANSWERS).decode(errors="replace")
        locks = dict(handed_texts(folder / "locks")) if (folder / "locks").is_dir() else {}
        for answer in decode_answers(text, source).values():
            if answer == before.get(answer.cell):
                continue
            try:
                self._refuse_unsound(answer, before, planned)
                lock: Lock | None = None
                if answer.refusal is None:
                    lock_text = locks.get(f"{answer.cell}.txt", "")
                    if isinstance(lock_text, Fault):
                        raise DeclarationError(lock_text)
                    named = f"{answer.cell}.txt"
                    lock = handed_lock(lock_text, named, planned, facts, workspace.source)
                own = again.checked(answer, facts, planned[answer.cell])
                if own:
                    files_of.keep_answer(platform, own, lock)
                    self.taken.append(f"{platform}/{answer.cell}")
            except DeclarationError as error:
                place = f"{source}: {answer.cell}"
                self.faults += (replace(f, path=f.path or place) for f in error.faults)

    def _open_cells(self) -> dict[str, Cell]:
        return {
            cell: parse_cell(cell, self._workspace.matrix)
            for install in self._workspace.snapshot.platform_installs
            if install.platform == self._platform
            and (install.evidence != "declared" or install.state == "by-metadata")
            for cell in (split_platform(install.cell)[0],)
        }

    def _refuse_unsound(
        self, answer: PlainAnswer, before: Mapping[str, PlainAnswer], planned: Mapping[str, Cell]
    ) -> None:
        why = (
            "is about nothing that metadata leaves open"
            if answer.cell not in planned
            else untimely(answer, before.get(answer.cell), self._workspace.day)
        )
        if why:
            raise DeclarationError.of(why)
