"""What is wrong with an environment, from what pip, uv, conda, poetry or Python said: parsers turn a
text into facts, and a dozen inferences reason over them and over generated knowledge.
"""  # noqa: E501
