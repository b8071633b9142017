"""Starts pytest inside a cell as it was asked, whatever an installed package has put into the
environment before.

`python launch.py ARGUMENT...`: pytest reads further options and plugins from the environment, and a
`.pth` file of any installed package may have set them:
https://docs.pytest.org/en/stable/reference/reference.html#environment-variables
"""

from __future__ import annotations

import os
import sys


def run_pytest(arguments: list[str]) -> int:
    """Run pytest with these arguments, and return its exit code."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DEBUG"):
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        import pytest
    except ModuleNotFoundError as error:
        if error.name != "pytest":
            raise
        print("No module named pytest", file=sys.stderr)
        return 1
    # They lie beside this file. Once they are loaded, neither they nor their folder must hide the
    # suite's own modules.
    import compat_plugin  # type: ignore[import-not-found]  # noqa: F401
    import probe  # type: ignore[import-not-found]

    del sys.path[0], sys.modules["probe"]
    code = int(pytest.main(arguments))
    probe.write_facts(os.environ["COMPAT_EVENTS"] + ".modules", probe.loaded())
    return code


if __name__ == "__main__":
    sys.exit(run_pytest(sys.argv[1:]))
