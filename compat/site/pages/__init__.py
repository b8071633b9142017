"""The pages of the site: an edition comes in; views, and the HTML that templates make of them,
go out.
"""
