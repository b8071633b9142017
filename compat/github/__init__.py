"""Publishes proposals and measured files on GitHub: one standing pull request, one issue, and
pushed commits.
"""
