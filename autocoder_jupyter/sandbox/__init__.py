"""Where generated code runs: one protocol, two sandboxes, environments, limits."""
