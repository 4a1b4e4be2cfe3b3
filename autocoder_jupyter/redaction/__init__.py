"""Mask private values, and reduce messages to what a sharing level allows, before text leaves the notebook.

It may import `request` and what is below it.

- `masking`: patterns of private values, their placeholders, and placeholders for names of files
- `messages`: records that are written to files, values of secrets, failures of programs
- `logs`: loggers whose lines are masked
"""
