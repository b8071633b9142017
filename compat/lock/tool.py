"""Runs a resolver as a process: its output captured, its time limited, its absence told."""

import logging
import shlex
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from compat.errors import ToolFailed

_LOG = logging.getLogger(__name__)
# uv's program is looked up by it, and threads that ask first at once would see it half made.
sysconfig.get_config_vars()
Done = subprocess.CompletedProcess[str]


def run_resolver(
    command: list[str], folder: Path, environ: Mapping[str, str], seconds: int
) -> Done:
    """Return what the process came to, whatever its exit code; raise ToolFailed when it had no
    answer in time.
    """
    name = Path(command[0]).name
    _LOG.info("running %s", shlex.join(command))
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=dict(environ),
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolFailed.of(f"{name} had no answer after {seconds} s") from error
    except OSError as fault:
        raise ToolFailed.of(f"{name} could not be started: {fault.strerror}") from fault
