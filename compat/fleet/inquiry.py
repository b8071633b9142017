"""Many questions to a resolver, side by side: open cells in, lessons and answers out."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from compat.errors import CompatError
from compat.search.learning import Lesson, RefusalLearner
from compat.search.open_cells import OpenCells
from compat.value import Value


class Inquired(Value, frozen=True, kw_only=True):
    """One cell that was asked about: the lesson, and how many other open cells it answered."""

    lesson: Lesson
    answered: int


def inquire(
    cells: OpenCells,
    learner: RefusalLearner,
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
                lesson = learner.learn(cell)
            except CompatError as error:
                report(error)
                continue
            closed = (
                cells.close(lambda other: bool(learner.answer(other))) if lesson.clauses else ()
            )
            report(Inquired(lesson=lesson, answered=len(closed)))

    with ThreadPoolExecutor(jobs, thread_name_prefix="resolver") as pool:
        for future in [pool.submit(work) for _ in range(jobs)]:
            future.result()
