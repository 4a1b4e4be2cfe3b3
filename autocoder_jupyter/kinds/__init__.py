"""What an input or an output of a function can be: one record a kind (`table`), and the values that are ours."""
