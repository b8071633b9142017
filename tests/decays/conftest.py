"""The suites below matrices/ run in cells, not here."""

collect_ignore = ["matrices"]
