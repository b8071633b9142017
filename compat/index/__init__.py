"""What exists. In comes a package index; out goes a Catalogue: releases, files, dates, published
requirements.
"""
