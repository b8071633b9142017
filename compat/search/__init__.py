"""Search strategies over versions: they choose the next version to try and report the answer.

Nothing here runs anything: the caller asks what to try, tries it, and reports the result.
"""
