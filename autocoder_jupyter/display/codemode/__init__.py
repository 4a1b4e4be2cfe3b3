"""The card of a run of code mode: its code and calls while it runs, and the answer."""
