"""Resolves a feasible cell into a Lock, the exact pins to install, or a `Refusal`: a resolution
failure with its cause.
"""
