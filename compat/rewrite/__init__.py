"""Rewrites a floor in a project's file: only that bound changes."""
