"""Proposes moves of floors: verdicts, a policy and a day give proposals, rewritten texts and one
standing request.
"""
