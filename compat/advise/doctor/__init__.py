"""What is wrong with an environment, from what installers and Python said: parsers turn a text into
facts, and inferences reason over them and over generated knowledge.
"""
