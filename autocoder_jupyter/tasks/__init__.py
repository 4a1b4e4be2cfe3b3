"""A function outside of its notebook: as a task of a pipeline, or exported as a folder with a script."""
