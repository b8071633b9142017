"""A first declaration: what a project and the package index say becomes a proposed matrix, with the
reason of each choice.
"""
