"""The suite below example/ runs in cells, not here."""

collect_ignore = ["example"]
