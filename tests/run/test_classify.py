"""Judging: each signature against the example it was made for, and each way a run can end."""

import datetime
import re
import signal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.run.classify import classify
from compat.run.evidence import DeadChild, Ended, Evidence, Installed, Raised, Step, Trial
from compat.run.outcome import (
    CAUSES,
    DEATHS,
    EXCEPTIONS,
    INSTALL,
    STAGES,
    Failed,
    Passed,
    Signature,
    is_doubtful,
    is_spurious,
    match_signature,
    parse_outcome,
)

OUTCOMES = st.just(Passed()) | st.builds(
    Failed,
    stage=st.sampled_from(STAGES),
    cause=st.sampled_from(CAUSES),
    subject=st.text(max_size=40),
)


@given(OUTCOMES)
def test_an_outcome_parses_back_from_what_it_prints(outcome: Passed | Failed) -> None:
    assert parse_outcome(str(outcome)) == outcome


@pytest.mark.parametrize(
    "text", ["", "ok", "test-fail", "test-fail:sadness(x)", "tent-fail:error", "pass "]
)
def test_what_is_no_outcome_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"neither|no known"):
        parse_outcome(text)


# In the order of the signatures: the thing that each names, and what was really said.
EXAMPLES = {
    EXCEPTIONS: r"""
Demo Extras | ImportError: This version of Demo Extras requires Demo version >= 2.12; Detected an installation of version 2.9.3. Please upgrade Demo to proceed.
Python | RuntimeError: demo only supports Python versions 3.9 or later.
demolib | RuntimeError: demolib is version 0.1.55, but this version of demo requires version 0.1.76.
jax | ModuleNotFoundError: No module named 'jax'
numpy | ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject
numpy | RuntimeError: module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000
numpy | ImportError: numpy.core.multiarray failed to import
numpy | ImportError: A module that was compiled using NumPy 1.x cannot be run in
demo_text | ImportError: /cell/lib/python3.9/site-packages/demo_text/ops/_kernel.so: undefined symbol: _ZN4demo6StringE
libkernel | ImportError: /opt/demo/libkernel.so.2: undefined symbol: _ZN4demo6StringE
werkzeug.urls.url_quote | ImportError: cannot import name 'url_quote' from 'werkzeug.urls' (/cell/werkzeug/urls.py)
url_quote | ImportError: cannot import name 'url_quote' from '<unknown module name>' (unknown location)
numpy.bool | AttributeError: module 'numpy' has no attribute 'bool'
bool | AttributeError: This demo has no attribute 'bool'
np.float_ | AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.
libcudart.so.11.0 | ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory
 | SyntaxError: invalid syntax
 | TypeError: 'type' object is not subscriptable
 | SystemExit: 0
 | MemoryError: x
 | OSError: [Errno 28] No space left on device: '/tmp/x'
 | AssertionError: 3 != 4
""",  # noqa: E501
    INSTALL: r"""
demo==1.0 | error: Failed to install: demo-1.0-py3-none-any.whl (demo==1.0)\n  cause: Wheel version does not match filename (2.0 != 1.0), which indicates a malformed wheel.
six==1.16.0 | error: Failed to download `six==1.16.0`\n  cause: Hash mismatch for `six==1.16.0`
 | ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.
 | error: Request failed after 3 retries\n  cause: Failed to fetch: <url>
 | error: failed to write: No space left on device (os error 28)
absl-py==0.9.0 | error: Failed to build `absl-py==0.9.0`\n  cause: The build backend returned an error
demo==1.0 | Because the current Python version (3.8.18) does not satisfy Python>=3.9 and demo==1.0 depends on Python>=3.9
demo==1.0 | Because demo==1.0 has no usable wheels and you require demo==1.0, we can conclude that
demo==1.0 | Because there is no version of demo==1.0 and you require demo==1.0
""",  # noqa: E501
    DEATHS: r"""
Cannot recover from stack overflow. | Fatal Python error: Cannot recover from stack overflow.
 | Fatal Python error: Segmentation fault
 | Fatal Python error: Aborted
 | Fatal Python error: Illegal instruction
""",
}


@pytest.mark.parametrize("table", EXAMPLES, ids=["exceptions", "install", "deaths"])
def test_each_signature_is_the_first_to_match_its_own_example(table: tuple[Signature, ...]) -> None:
    examples = (line.partition("| ") for line in EXAMPLES[table].strip("\n").split("\n"))
    for signature, (subject, _, text) in zip(table, examples, strict=True):
        assert re.search(signature.pattern, text.replace(r"\n", "\n"))
        found = match_signature(table, text.replace(r"\n", "\n"))
        assert found == (signature.cause, subject.rstrip()), text


REAL = [
    (
        (
            "ImportError: This version of TensorFlow Probability requires TensorFlow version >="
            " 2.12; Detected an installation of version 2.9.3. Please upgrade TensorFlow to"
            " proceed."
        ),
        ("version-guard", "TensorFlow Probability"),
    ),
    (
        "RuntimeError: jaxlib is version 0.1.55, but this version of jax requires version 0.1.76.",
        ("version-guard", "jaxlib"),
    ),
    ("TypeError: 'type' object is not subscriptable", ("type-error", "")),
]


@pytest.mark.parametrize(("text", "meaning"), REAL, ids=[meaning[0] for _, meaning in REAL])
def test_what_real_cells_raised_is_understood(text: str, meaning: tuple[str, str]) -> None:
    assert match_signature(EXCEPTIONS, text) == meaning


def test_causes_of_the_machine_are_spurious_and_what_a_cell_may_have_done_itself_is_doubtful() -> (
    None
):
    for of_machine in ("network", "illegal-instruction"):
        assert is_spurious(Failed(stage="install", cause=of_machine))
    for doubtful in ("wall-time", "silence", "memory", "killed"):
        assert is_doubtful(Failed(stage="test", cause=doubtful))
        assert not is_spurious(Failed(stage="test", cause=doubtful))
    assert not is_spurious(Failed(stage="test", cause="assertion"))
    assert not is_spurious(Passed())


def ended(exit_code: int | None = 0, **more: object) -> Ended:
    facts = {
        "by": "exit",
        "signal": None,
        "seconds": 1.0,
        "peak_memory_mb": 9,
        "survivors": 0,
        "isolation": "L2",
    }
    return Ended(exit_code=exit_code, **{**facts, **more})


def step(name: str, log: str = "", exit_code: int | None = 0, **more: object) -> Step:
    return Step(name=name, ended=ended(exit_code, **more), log=log)


def ran(test: str, status: str = "passed", raised: Raised | None = None) -> Trial:
    return Trial(
        test=f"test_x.py::test_{test}", capability=test, status=status, seconds=0.1, raised=raised
    )


PINS = (Installed(name="demo", version="1.0"), Installed(name="dep", version="2.0"))
OLD_PYTEST = Installed(name="pytest", version="3.5.1")
GOOD = Evidence(
    cell="c",
    matrix="demo",
    subject="demo",
    lock_digest="l",
    suite_digest="s",
    seconds=3.0,
    host="h",
    isolation="L2",
    started=datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
    expected=PINS,
    installed=PINS,
    installed_after=PINS,
    import_seconds=0.5,
    collected=2,
    finished=True,
    tests=(ran("a"), ran("b")),
    steps=(step("install"), step("import"), step("suite")),
)


def but(**changes: object) -> Evidence:
    """A good run with these changes; the probe of an import that raised exits with 1."""
    if changes.get("imported") is not None:
        changes = {
            "steps": (step("install"), step("import", exit_code=1), step("suite")),
            **changes,
        }
    return msgspec.structs.replace(GOOD, **changes)


def steps(*last: Step) -> tuple[Step, ...]:
    """The steps of a run that ended with these, good ones before them."""
    names = ("install", "import", "suite")
    return (*(step(name) for name in names[: names.index(last[0].name)]), *last)


UNSTARTED = Raised(
    type="ImportError",
    message="cannot import name 'HookimplMarker' from 'pluggy' (site-packages/pluggy.py)",
    where="_pytest/config/__init__.py:46",
    of_runner=True,
)
ERROR = Raised(type="ValueError", message="no", where="demo/core.py:7")
OWN = Raised(
    type="ModuleNotFoundError", message="No module named 'yaml'", where="test_x.py:3", of_suite=True
)
DEAF = {"finished": False, "tests": ()}


def unfound(module: str) -> Raised:
    """What the import of a module says that is not there, in no frame but the probe's."""
    return Raised(type="ModuleNotFoundError", message=f"No module named '{module}'", where="")


def read_only(path: str) -> Raised:
    place = f"/cells/a/venv/lib/python3.11/site-packages/{path}"
    return Raised("OSError", f"[Errno 30] Read-only file system: {place!r}", "demo/core.py:7")


WAYS: list[tuple[str, Evidence]] = [
    ("pass", GOOD),
    ("pass", but(tests=(ran("a"), ran("b", "absent")))),
    (
        "pass",
        but(steps=steps(step("import")), suite_digest="", collected=None, finished=False, tests=()),
    ),
    ("install-fail:worker(the install step never began)", but(steps=())),
    ("install-fail:error", but(steps=steps(step("install", "what?", 2)))),
    (
        "install-fail:build(dep==1)",
        but(steps=steps(step("install", "Failed to build `dep==1`", 1))),
    ),
    ("install-fail:network", but(steps=steps(step("install", "Failed to fetch", 1)))),
    (
        "install-fail:wall-time",
        but(steps=steps(step("install", "", None, by="wall-time", signal=9))),
    ),
    (
        "install-fail:environment-mismatch(dep 2.0 -> 2.1)",
        but(installed=(PINS[0], Installed(name="dep", version="2.1"))),
    ),
    (
        "install-fail:environment-mismatch(extra none -> 1)",
        but(installed=(*PINS, Installed(name="extra", version="1"))),
    ),
    (
        "import-fail:missing-module(jax; at x)",
        but(
            imported=Raised(type="ModuleNotFoundError", message="No module named 'jax'", where="x")
        ),
    ),
    (
        "import-fail:type-error(demo/types.py:12)",
        but(
            imported=Raised(
                type="TypeError",
                message="'type' object is not subscriptable",
                where="demo/types.py:12",
            )
        ),
    ),
    (
        "import-fail:syntax(demo/new.py:3)",
        but(imported=Raised(type="SyntaxError", message="invalid", where="demo/new.py:3")),
    ),
    ("import-fail:error(demo/core.py:7)", but(imported=ERROR)),
    (
        "import-fail:premature-exit(SystemExit; at demo.py:1)",
        but(imported=Raised(type="SystemExit", message="0", where="demo.py:1")),
    ),
    (
        "import-fail:segfault",
        but(import_seconds=None, steps=steps(step("import", "", None, signal=signal.SIGSEGV))),
    ),
    (
        "import-fail:abort",
        but(import_seconds=None, steps=steps(step("import", "", 128 + signal.SIGABRT))),
    ),
    ("import-fail:premature-exit", but(import_seconds=None)),
    ("collect-fail:no-tests(none collected)", but(collected=0, tests=())),
    ("collect-fail:no-tests(none ran)", but(tests=(ran("a", "skipped"), ran("b", "absent")))),
    ("collect-fail:no-tests(no report)", but(collected=None, finished=False, tests=())),
    ("collect-fail:error(demo/core.py:7)", but(collect_errors=(ERROR,), collected=0, tests=())),
    (
        "collect-fail:error(demo/core.py:7)",
        but(collect_errors=(ERROR,), collected=None, finished=False, tests=()),
    ),
    (
        "collect-fail:test-runner(pluggy.HookimplMarker; at _pytest/config/__init__.py:46)",
        but(collect_errors=(UNSTARTED,), collected=None, finished=False, tests=()),
    ),
    # Where pytest collected, it has started: what says otherwise is not believed.
    (
        "collect-fail:missing-attribute(pluggy.HookimplMarker; at _pytest/config/__init__.py:46)",
        but(collect_errors=(UNSTARTED,), collected=0, finished=False, tests=()),
    ),
    # The log of pytest 3.5 below our plugin: it finished, and one test began.
    (
        "collect-fail:test-runner(pytest 3.5.1; at compat_plugin.py)",
        but(
            expected=(*PINS, OLD_PYTEST),
            installed=(*PINS, OLD_PYTEST),
            tests=(),
            pytest_exit=3,
            steps=steps(
                step(
                    "suite",
                    'INTERNALERROR>   File "/cell/plugin/compat_plugin.py", line 274\n'
                    "INTERNALERROR> AttributeError: 'Function' object has no attribute"
                    " 'get_closest_marker'",
                    3,
                )
            ),
        ),
    ),
    ("test-fail:premature-exit(t::b)", but(finished=False, started_test="t::b", tests=(ran("a"),))),
    ("test-fail:premature-exit(some tests never ran)", but(tests=(ran("a"),))),
    (
        "test-fail:segfault(t::b)",
        but(
            finished=False,
            started_test="t::b",
            tests=(ran("a"),),
            steps=steps(step("suite", "", None, signal=11)),
        ),
    ),
    (
        "test-fail:silence(t::b)",
        but(
            finished=False,
            started_test="t::b",
            steps=steps(step("suite", "", None, by="silence", signal=9)),
        ),
    ),
    (
        "test-fail:illegal-instruction(t::b; by worker_binary)",
        but(
            finished=False,
            started_test="t::b",
            steps=steps(
                step(
                    *("suite", "", None),
                    by="silence",
                    dead_child=DeadChild(program="worker_binary", signal=4),
                )
            ),
        ),
    ),
    (
        "test-fail:cancelled",
        but(finished=False, steps=steps(step("suite", "", None, by="cancelled", signal=9))),
    ),
    (
        "test-fail:killed(t::b)",
        but(finished=False, started_test="t::b", steps=steps(step("suite", "", None, signal=9))),
    ),
    (
        "test-fail:killed(t::b)",
        but(
            finished=False,
            started_test="t::b",
            tests=(ran("a"),),
            steps=steps(step("suite", "", 137)),
        ),
    ),
    (
        "import-fail:killed",
        but(import_seconds=None, steps=steps(step("import", "", 128 + signal.SIGTERM))),
    ),
    (
        "collect-fail:killed",
        but(collected=None, finished=False, tests=(), steps=steps(step("suite", "", 137))),
    ),
    ("install-fail:killed", but(steps=steps(step("install", "", None, signal=9)))),
    (
        "test-fail:memory(b; at demo/core.py:7)",
        but(
            tests=(ran("a"), ran("b", "failed", msgspec.structs.replace(ERROR, type="MemoryError")))
        ),
    ),
    (
        "test-fail:assertion(b; at x)",
        but(
            tests=(
                ran("a"),
                ran("b", "failed", Raised(type="AssertionError", message="", where="x")),
            )
        ),
    ),
    (
        "test-fail:missing-attribute(b; by m.x; at m.py:3)",
        but(
            tests=(
                ran("a"),
                ran(
                    "b",
                    "failed",
                    Raised(
                        type="AssertionError",
                        message="Traceback (most recent call last):",
                        where="test_b.py:1",
                        child=Raised(
                            type="ImportError",
                            message="cannot import name 'x' from 'm' (/cell/m.py)",
                            where="m.py:3",
                        ),
                    ),
                ),
            )
        ),
    ),
    ("test-fail:error(b; at demo/core.py:7)", but(tests=(ran("a"), ran("b", "failed", ERROR)))),
    (
        "test-fail:missing-attribute(b; by m.x; at y)",
        but(
            tests=(
                ran("a"),
                ran(
                    "b",
                    "failed",
                    Raised(
                        type="AttributeError", message="module 'm' has no attribute 'x'", where="y"
                    ),
                ),
            )
        ),
    ),
    (
        "collect-fail:suite-fault(add pytest to suite.requirements; at matrix.toml)",
        but(
            collected=None,
            finished=False,
            steps=steps(step("suite", "python: No module named pytest", 1)),
        ),
    ),
    (
        (
            "collect-fail:suite-fault(correct pytest's arguments or settings: pytest.ini:3: no"
            " section header defined; at pytest.ini)"
        ),
        but(
            collected=None,
            steps=steps(step("suite", "ERROR: /c/pytest.ini:3: no section header defined", 4)),
            **DEAF,
        ),
    ),
    (
        "collect-fail:suite-fault(mend the file: it does not parse on this Python; at test_x.py:3)",
        but(
            collect_errors=(msgspec.structs.replace(OWN, type="SyntaxError"),),
            collected=0,
            tests=(),
        ),
    ),
    (
        (
            "collect-fail:suite-fault(add what brings the module yaml to suite.requirements; at"
            " test_x.py:3)"
        ),
        but(collect_errors=(OWN,), collected=0, tests=()),
    ),
    (
        (
            "test-fail:suite-fault(add what brings the module yaml to suite.requirements; at"
            " test_x.py:3)"
        ),
        but(tests=(ran("a", "failed", ERROR), ran("b", "failed", OWN))),
    ),
    (
        "test-fail:missing-module(b; by yaml; at dep/core.py:3)",
        but(
            tests=(
                ran("a"),
                ran(
                    "b",
                    "failed",
                    msgspec.structs.replace(OWN, of_suite=False, where="dep/core.py:3"),
                ),
            )
        ),
    ),
    (
        "test-fail:missing-module(b; by dep; at test_x.py:3)",
        but(
            tests=(
                ran("a"),
                ran("b", "failed", msgspec.structs.replace(OWN, message="No module named 'dep'")),
            )
        ),
    ),
    (
        "test-fail:suite-fault(mend the suite's own helper: b fails; at demo/core.py:7)",
        but(
            tests=(
                ran("a", "failed", ERROR),
                msgspec.structs.replace(ran("b", "failed", ERROR), helper=True),
            )
        ),
    ),
    (
        (
            "import-fail:suite-fault(set suite.module: demo has no module demoo, it has demo; at"
            " matrix.toml)"
        ),
        but(module="demoo.x", modules=("demo",), imported=unfound("demoo")),
    ),
    (
        'import-fail:suite-fault(add "demo/data" to suite.writes: the library writes there; at'
        " matrix.toml)",
        but(imported=read_only("demo/data/worker")),
    ),
    (
        "import-fail:error(demo/core.py:7)",
        but(imported=read_only("demo.lock")),
    ),
    (
        'test-fail:suite-fault(add "demo/data" to suite.writes: the library writes there; at'
        " matrix.toml)",
        but(tests=(ran("a", "failed", read_only("demo/data/worker")), ran("b"))),
    ),
    (
        "import-fail:missing-module(demo.x)",
        but(module="demo.x", modules=("demo",), imported=unfound("demo.x")),
    ),
    ("import-fail:missing-module(demo)", but(module="demo", imported=unfound("demo"))),
    ("test-fail:environment-mismatch(dep 2.0 -> none)", but(installed_after=PINS[:1])),
    ("test-fail:environment-mismatch(wrote to demo.py)", but(modified_files=("demo.py",))),
]


@pytest.mark.parametrize(
    ("told", "evidence"), WAYS, ids=[f"{number}-{told}" for number, (told, _) in enumerate(WAYS)]
)
def test_each_way_of_ending_is_told(told: str, evidence: Evidence) -> None:
    assert str(classify(evidence)) == told
    assert parse_outcome(told) == classify(evidence)


def test_a_limit_counts_before_what_the_tests_said() -> None:
    evidence = but(
        steps=steps(step("suite", "", None, by="memory", signal=9)),
        tests=(ran("a", "failed", ERROR),),
    )
    assert str(classify(evidence)) == "test-fail:memory"
