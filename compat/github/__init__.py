"""Publishes on GitHub: one standing pull request, one issue, and commits of measured files."""
