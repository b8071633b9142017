"""The `rewrite` room: floors in people's files.

A move and a text come in; the text with that bound alone changed goes out.
"""
