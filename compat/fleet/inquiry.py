"""Many questions to a resolver, side by side: open cells in, what is known of them out."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from compat.errors import CompatError
from compat.plan.cell import Cell
from compat.search.open_cells import OpenCells
from compat.search.probing import Probed
from compat.value import Value


class Inquired(Value, frozen=True, kw_only=True):
    """One cell that was asked about, and the other open cells that its answer answered, too."""

    probed: Probed
    answered: tuple[Probed, ...]


def inquire(
    cells: OpenCells,
    ask: Callable[[Cell], Probed],
    known: Callable[[Cell], Probed | None],
    jobs: int,
    is_over: Callable[[], bool],
    report: Callable[[Inquired | CompatError], None],
) -> None:
    """Ask about open cells until none is left or time is over, `jobs` at a time.

    `report` hears of each as it comes, from several threads. A question without an answer is
    reported and passed over.
    """

    def work() -> None:
        while not is_over() and (cell := cells.next()) is not None:
            try:
                probed = ask(cell)
                answered = closed(cells, known)
            except CompatError as error:
                report(error)
                continue
            report(Inquired(probed=probed, answered=answered))

    with ThreadPoolExecutor(jobs, thread_name_prefix="resolver") as pool:
        for future in [pool.submit(work) for _ in range(jobs)]:
            future.result()


def closed(cells: OpenCells, known: Callable[[Cell], Probed | None]) -> tuple[Probed, ...]:
    answers: list[Probed] = []

    def is_answered(cell: Cell) -> bool:
        probed = known(cell)
        if probed is not None:
            answers.append(probed)
        return probed is not None

    cells.close(is_answered)
    return tuple(answers)
