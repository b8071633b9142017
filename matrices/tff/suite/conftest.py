"""Markers and fixtures of the suite, and the summary by capability at the end of a run."""

import gc
import re
from collections import OrderedDict

import api
import pytest
from another_process import AnotherProcess

MARKERS = (
    "capability(id, title, says, looks_for, helper, of): what of the library this test shows, or of the suite's helper",
    "quick: belongs to the short run",
)
WIDTH = 120


def pytest_configure(config):
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    config.pluginmanager.register(Summary(), "capability-summary")


def pytest_collection_finish():
    """Leave what the imports made out of every later search for garbage: it is most of what there is, and none of it.

    Traced computations are full of cycles, so Python searches often: a twelfth of the time of the learning tests.
    """
    gc.collect()
    gc.freeze()


def groups_of(item):
    """Return the groups of names that a test's capability looks for; each is one thing, newest name first."""
    marker = item.get_closest_marker("capability")
    return [tuple(group) for group in marker.kwargs.get("looks_for", ())] if marker is not None else []


def names_to_try(groups, names):
    """Return the names that a `find` stands for: the whole group that its only name opens, or just what was given."""
    if not groups:
        return names
    if len(names) == 1:
        for group in groups:
            if group[0] == names[0]:
                return group
        raise LookupError(f"{names[0]!r} opens no group of looks_for, which has {groups}")
    strangers = [name for name in names if not any(name in group for group in groups)]
    if strangers:
        raise LookupError(f"{strangers} in no group of looks_for, which has {groups}")
    return names


@pytest.fixture
def find(request, record_property):
    """Look a name up under all its spellings, and note under which of them this release has it.

    One name stands for the group of the capability's `looks_for` that it opens; several names are tried as given.
    """

    def find(*names):
        spelling, found = api.look_up(*names_to_try(groups_of(request.node), names))
        record_property("spelling", spelling if api.is_public(spelling) else spelling + " (not public)")
        return found

    return find


@pytest.fixture
def metric(record_property):
    """Report a number, in seconds unless a unit is given; `better` is "lower" or "higher"."""

    def metric(name, value, unit="s", better="lower"):
        record_property("metric", {"name": name, "value": float(value), "unit": unit, "better": better})

    return metric


@pytest.fixture(scope="session")
def shared():
    """Keep what tests share, and let go of it while the library can still end the processes that belong to it."""
    things = {}
    yield things
    things.clear()
    gc.collect()


@pytest.fixture
def async_context(shared):
    """Return the runtime's asynchronous context: one for all tests where it starts a process."""
    name, create = api.look_up(
        "tff.backends.native.create_async_local_cpp_execution_context",
        "tff.backends.native.create_local_async_python_execution_context",
    )
    if "cpp" not in name:
        # It can belong to the first event loop that it is used in (0.24, async_execution_context.py).
        return create()
    if name not in shared:
        shared[name] = create()
    return shared[name]


@pytest.fixture(autouse=True)
def own_contexts():
    """Leave this thread's stack of contexts as it was: in 0.17 a computation that failed can empty it, and every test
    after it would fail (seen 2026-11-23 in py3.8-tf2.3-tff0.17.0+dated, after `federated.zero-clients`).
    """
    try:
        stack = getattr(api.look_up("tff.framework.get_context_stack")[1](), "_stack", None)
    except api.Absent:
        stack = None
    before = list(stack) if isinstance(stack, list) else None
    yield
    if before is not None:
        stack[:] = before


@pytest.fixture(scope="session")
def another_process(tmp_path_factory):
    """Give tests the process that runs their programs outside of this one."""
    process = AnotherProcess(tmp_path_factory.mktemp("another-process"))
    yield process
    process.end()


class Summary:
    """Collects what each capability came to, and prints one line for each."""

    def __init__(self):
        """Start with nothing known."""
        self.lines = OrderedDict()
        self.of_helpers = set()
        self.metrics = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Note what a phase of a test came to; the first failure or absence stands."""
        outcome = yield
        marker = item.get_closest_marker("capability")
        if outcome.excinfo is not None or marker is None or not marker.args:
            return
        report = outcome.get_result()
        error = call.excinfo.value if call.excinfo is not None else None
        line = line_of(report, error)
        if line is None or self.lines.get(item.nodeid, ("", "yes"))[1] != "yes":
            return
        self.lines[item.nodeid] = (marker.args[0], *line)
        if marker.kwargs.get("of") == "helper":
            self.of_helpers.add(item.nodeid)
        if report.passed:
            self.metrics += [value for name, value in item.user_properties if name == "metric"]

    def pytest_terminal_summary(self, terminalreporter):
        """Print the capabilities in order of their ids, then the metrics."""
        if not self.lines:
            return
        write = terminalreporter.write_line
        terminalreporter.section("capabilities", sep="-")
        wide = max(len(capability) for capability, _, _ in self.lines.values())
        group = None
        for capability, status, remark in sorted(self.lines.values()):
            if group not in (None, capability.partition(".")[0]):
                write("")
            group = capability.partition(".")[0]
            write("{:<{}}  {:<6}  {}".format(capability, wide, status, remark).rstrip())
        write("")
        write(counted(status for test, (_, status, _) in self.lines.items() if test not in self.of_helpers))
        if self.of_helpers:
            write("of the suite's helpers: " + counted(self.lines[test][1] for test in self.of_helpers))
        if self.metrics:
            terminalreporter.section("metrics", sep="-")
        for value in self.metrics:
            write("{name:<40}  {value:.4g} {unit} ({better} is better)".format(**value))


def counted(statuses):
    """Return how often each status came."""
    statuses = list(statuses)
    return ", ".join(f"{statuses.count(status)} {status}" for status in ("yes", "no", "absent", "skipped"))


def line_of(report, error):
    """Return the status and a remark for one phase of a test; None for a phase that says nothing."""
    if report.failed:
        first = (str(error).strip().splitlines() or [""])[0]
        return "no", "{}: {}".format(type(error).__name__, re.sub(r"\s+", " ", first)[:WIDTH])
    if report.skipped:
        missing = getattr(error, "missing", None)
        return ("skipped", str(error)) if missing is None else ("absent", "looked for " + ", ".join(missing))
    if report.when != "call":
        return None
    return "yes", ", ".join(OrderedDict.fromkeys(value for name, value in report.user_properties if name == "spelling"))
