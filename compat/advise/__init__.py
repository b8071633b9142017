"""Answers requests: finds the proven combination to install, and diagnoses environments."""
