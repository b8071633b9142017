"""What could work.

In come a Matrix and a Catalogue; out goes a Plan: every cell once, with its fate.
"""
