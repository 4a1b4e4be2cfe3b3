"""The notebook's side of a worker, the same for every sandbox."""
