"""Scripts that are copied into a cell: they run a module or a suite and write JSON facts.

Python 3.7, no compat import.
"""
