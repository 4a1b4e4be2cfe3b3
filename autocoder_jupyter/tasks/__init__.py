"""What a result can become: a task, an exported script."""
