"""What exactly gets installed.

In comes a feasible cell; out goes a Lock, or a Refusal with its cause.
"""
