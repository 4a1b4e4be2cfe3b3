"""The sandbox in which generated code runs: one protocol with two implementations, environments, limits."""
