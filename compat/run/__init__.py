"""Runs cells: takes a lock, installs it, runs the suite, and returns Evidence and its Outcome."""
