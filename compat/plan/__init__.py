"""Plans the cells of a Matrix and a Catalogue: each once, feasible or with its first obstacle."""
