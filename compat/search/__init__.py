"""The `search` room: an open question about versions in, the next version to try or the answer out.

Nothing here runs anything: whoever holds an engine asks what to try, tries it, and says what
happened.
"""
