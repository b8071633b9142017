"""The `advise` room: a request and what is known of every cell in, the proven combination to
install out.
"""
