"""Diagnoses messages of installers and Python: parsers extract facts, and inferences combine them
with generated knowledge.
"""
