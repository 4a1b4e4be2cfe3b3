"""An agent's files, held in memory, and the commands that it runs on them in a worker."""
