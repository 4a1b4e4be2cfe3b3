"""An agent's files, which are kept in memory, and the commands that it runs on them in a worker."""
