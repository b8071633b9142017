"""Plans the cells of a Matrix and a Catalogue: each cell once, feasible or with
its first obstacle.
"""
