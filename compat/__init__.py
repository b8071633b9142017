"""Reports which versions of a library work together, because it tested them.

What comes in: matrices declared in TOML, and a package index. What goes out: plans, locks and
proven verdicts.
"""
