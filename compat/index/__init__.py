"""Reads a package index into a Catalogue: releases, files, dates, published requirements."""
