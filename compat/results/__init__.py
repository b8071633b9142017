"""Judges cells by real runs: Records give a Verdict for each cell, its Changes, and what is due."""
