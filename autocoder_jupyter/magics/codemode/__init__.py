"""Cells with `--mode tools`: a request is answered once, by code that calls functions of the notebook."""
