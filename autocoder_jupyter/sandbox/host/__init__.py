"""The host's side of a worker, which runs in the notebook's process. It is the same for all sandboxes."""
