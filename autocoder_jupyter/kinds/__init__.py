"""The types of inputs and outputs: one record per type (`table`), and the classes `File`, `Dir` and `Figure`."""
