"""What we propose. In come verdicts, a policy and a day; out go proposals, rewritten texts and one
standing request.
"""
