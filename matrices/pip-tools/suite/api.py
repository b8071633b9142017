"""Tiny wheels made on the spot, and pip-tools run on them as a user does: as a command, and here without a network."""

import os
import subprocess
import sys
import zipfile

import pytest


def make_wheel(folder, name, version, requires=()):
    """Write a wheel with one empty module into the folder, and return its path."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", "Name: " + name, "Version: " + version]
    lines += ["Requires-Dist: " + requirement for requirement in requires]
    members = {
        name + ".py": "",
        info + "/METADATA": "\n".join(lines) + "\n",
        info + "/WHEEL": "Wheel-Version: 1.0\nGenerator: suite\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = info + "/RECORD"
    members[record] = "".join(f"{member},,\n" for member in [*members, record])
    with zipfile.ZipFile(str(path), "w") as wheel:
        for member, content in members.items():
            wheel.writestr(member, content)
    return path


def run(folder, *arguments, exit_code=0):
    """Run pip-tools in the folder with no index and no configuration of the user's; return what it printed.

    Another exit code than the expected one fails the test with the last line of the output: there stands the exception.
    """
    __tracebackhide__ = True
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "COMPAT_"))}
    environment.update(PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1")
    done = subprocess.run(
        [sys.executable, "-m", "piptools", *arguments],
        check=False,
        cwd=str(folder),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    if done.returncode != exit_code or "Traceback (most recent call last)" in done.stdout:
        print(done.stdout)
        pytest.fail("pip-tools ended with {}: {}".format(done.returncode, done.stdout.strip().rpartition("\n")[2]))
    return done.stdout


def pins(text):
    """Return the pins of a requirements file, one per line, without options, comments and hashes."""
    lines = (line.split("#")[0].split("--hash")[0].rstrip(" \\\n") for line in text.splitlines())
    return [line for line in lines if line and not line.startswith((" ", "-"))]
