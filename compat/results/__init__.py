"""What is known of cells, from real runs.

In come the Records of real runs; out go a Verdict for each cell, its Changes, and what is due.
"""
