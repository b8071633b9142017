"""Declarations: what people ask for.

In come the TOML texts under `matrices/`; out go frozen values.
"""
