"""Functions outside of their notebook: as a task of a pipeline, or exported as a script."""
