"""What the commands that search have in common: one machine, one way to run, one way to stop."""

from collections.abc import Iterable, Sequence
from typing import NoReturn

from compat import pipeline
from compat.cli.arguments import Exit
from compat.cli.machine import level_of
from compat.cli.options import refuse_faulty_suite
from compat.cli.progress import Progress
from compat.cli.this_machine import Interruption, ThisMachine
from compat.errors import DeclarationError
from compat.fleet.batch import BatchResult, RunOptions
from compat.workspace import Workspace


class MachineSearch:
    """A search of a matrix that runs cells on this machine until it is stopped.

    Raises DeclarationError where the matrix's suite cannot be run as it is declared.
    """

    def __init__(self, workspace: Workspace, isolation: str) -> None:
        refuse_faulty_suite(workspace)
        self._workspace = workspace
        self._interruption = Interruption()
        self.machine = ThisMachine(workspace, level_of(isolation))
        self.cancel = self._interruption.cancel

    def progress(self, cells: Iterable[str], workers: int = 1) -> Progress:
        return Progress(dict.fromkeys(cells), workers)

    def run(self, cells: Sequence[str], options: RunOptions | None = None) -> BatchResult:
        """Run cells of the plan, one at a time unless `options` say otherwise, and record them."""
        options = options or RunOptions()
        with self.progress(cells, options.workers) as progress:
            return pipeline.run(
                self._workspace, cells, self.machine, options, self.cancel, progress
            )

    def refuse_suite_fault(self, cell: str, result: BatchResult) -> None:
        """Raise DeclarationError for a cell that left no record, as its suite is at fault."""
        if result.suite_faults:
            raise DeclarationError.of(
                f"{cell} has no record, the suite or its declaration is at fault",
                path=f"matrices/{self._workspace.name}",
            )

    def exit_if_interrupted(self) -> None:
        if self._interruption.signal:
            raise Exit(128 + self._interruption.signal)

    def exit(self, code: int) -> NoReturn:
        self.exit_if_interrupted()
        raise Exit(code)
