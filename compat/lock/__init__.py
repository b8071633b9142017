"""Resolves a feasible cell into a Lock, the exact pins to install, or a Refusal with its cause."""
