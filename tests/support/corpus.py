"""A corpus as one test: each of its cases is a subtest, so a report counts rules, not cases."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(
    names: str,
    cases: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Callable[[Any], str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with every case, as `pytest.mark.parametrize` does, within one item.

    The other parameters are fixtures, made once for all cases. A case that fails does not end the
    test; its number, or what `ids` says of it, and its values are reported. Cases that take time
    to make are given as a function, which only a worker that runs the test calls.
    """
    parameters = [name.strip() for name in names.split(",")]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        others = [p for name, p in signature.parameters.items() if name not in parameters]
        subtests = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)

        @functools.wraps(test)
        def over_all(*arguments: Any, subtests: Any, **fixtures: Any) -> None:
            made = cases() if callable(cases) else cases
            listed = [case if len(parameters) > 1 else (case,) for case in made]
            assert listed, "the corpus is empty"
            for number, case in enumerate(listed):
                with subtests.test(ids(case[0]) if ids else str(number), case=repr(case)[:200]):
                    test(*arguments, **fixtures, **dict(zip(parameters, case, strict=True)))

        over_all.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*others, subtests]
        )
        return over_all

    return decorate
