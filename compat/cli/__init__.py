"""The command line. In come words and the clock; out go answers on stdout, prose on stderr, and an
exit code.
"""
