"""Where cells run: workers of this machine or a cluster run jobs and return their results."""
