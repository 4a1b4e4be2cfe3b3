"""Autonomous backends: other ways than the loop to get from a request to a solution."""
