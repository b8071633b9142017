"""What could work: each cell of a matrix once, with its fate.

In come a Matrix and a Catalogue; out goes a Plan: every cell once, with its fate.
"""
