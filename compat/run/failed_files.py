"""Files of a project's own tests that could not be collected: their tests fail, and those of other
files speak for themselves.

A release that is older than the tests lacks what one of the files imports, which says nothing about
the others.
"""

from collections.abc import Collection

from msgspec.structs import replace

from compat.run.evidence import Evidence, Trial


def with_failed_files(evidence: Evidence, asked: Collection[str]) -> Evidence:
    """Return the evidence with the tests of such files as failed; `asked` are those that have to be
    collected.

    It stays as it is where no other test passed, pytest did not go on to its end, or more tests are
    lacking than those files have.
    """
    is_ended = evidence.pytest_exit == 1 and evidence.collected is not None
    if not is_ended or not any(trial.status == "passed" for trial in evidence.tests):
        return evidence
    lacking = sorted(set(asked) - {trial.function for trial in evidence.tests})
    failed: dict[str, Trial] = {}
    for raised in evidence.collect_errors:
        below = (f"{raised.file}::", f"{raised.file}/")
        for test in [test for test in lacking if test.startswith(below)] or [raised.file]:
            trial = Trial(test=test, capability="", status="failed", seconds=0.0, raised=raised)
            failed.setdefault(test, trial)
    if "" in failed or not failed.keys() >= set(lacking):
        return evidence
    return replace(
        evidence,
        collect_errors=(),
        collected=(evidence.collected or 0) + len(failed),
        tests=(*evidence.tests, *failed.values()),
    )
