"""The card of a run of code mode: what its code does while it runs, and what came of it."""
