# /// script
# dependencies = ["nox>=2025.2.9", "compat-matrix"]
# ///
"""`nox -l` lists the locked cells of the matrix as sessions."""

from compat.cli.nox_sessions import cell

__all__ = ["cell"]
