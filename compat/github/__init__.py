"""The `github` room: what comes in are proposals; what goes out is one standing pull request and
one issue.
"""
