"""What may leave the notebook: the one place that masks private values and reduces words to what a level allows."""
