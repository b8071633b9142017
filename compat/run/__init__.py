"""What happened. In comes a lock; a cell is installed and its suite run; out goes Evidence, and its
Outcome.
"""
