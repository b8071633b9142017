"""What runs inside a cell, as a copy: a module or a suite comes in, JSON facts go out.

Python 3.7, no compat import.
"""
