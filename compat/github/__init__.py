"""The `github` room: what comes in are proposals and measured files; what goes out is one standing
pull request and one issue, and pushed commits.
"""
