"""Where cells run. In come jobs; workers of this machine run them; out goes what each came to, one
at a time.
"""
