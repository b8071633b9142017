"""The part of a log that is kept and shown."""

from compat.results.judge import around_first_error

NOISE = """----------------------------------------
Exception occurred during processing of request from ('127.0.0.1', 50398)
Traceback (most recent call last):
  File "suite/relay.py", line 100, in do_POST
    self.wfile.write(body)
BrokenPipeError: [Errno 32] Broken pipe
----------------------------------------
"""
REPORT = f""".....s..................{NOISE}.FsF....            [100%]
=================================== FAILURES ===================================
_________________ test_a_dataset_of_sparse_tensors_is_reduced __________________
suite/test_datasets.py:81: in test_a_dataset_of_sparse_tensors_is_reduced
    assert np.array_equal(total, TOTAL)
venv/retrying.py:119: in retry_coro_fn
E   TypeError: wrong arguments
E   more of it
"""


def test_a_server_that_lost_its_client_is_not_the_first_error() -> None:
    shown = around_first_error(REPORT, before=3, after=1)
    assert shown.splitlines() == [
        "suite/test_datasets.py:81: in test_a_dataset_of_sparse_tensors_is_reduced",
        "    assert np.array_equal(total, TOTAL)",
        "venv/retrying.py:119: in retry_coro_fn",
        "E   TypeError: wrong arguments",
    ]


def test_nothing_above_the_failures_is_shown() -> None:
    shown = around_first_error(REPORT, before=50, after=50)
    assert shown.startswith("____")
    assert "BrokenPipe" not in shown


def test_two_servers_and_no_report_leave_what_else_is_there() -> None:
    assert around_first_error(f"start\n{NOISE}{NOISE}end", 9, 9) == "start\n\n\nend"
    assert "BrokenPipe" not in around_first_error(f"start\n{NOISE.rsplit('-' * 40, 1)[0]}", 9, 9)


def test_without_a_report_it_is_the_first_line_that_tells_of_an_error() -> None:
    log = "\n".join((*"abcdef", "ImportError: x", *"ghijkl"))
    assert around_first_error(log, 2, 2) == "e\nf\nImportError: x\ng"


def test_a_log_without_an_error_is_cut_at_its_end() -> None:
    assert around_first_error("a\nb\nc", 2, 2) == "b\nc"
