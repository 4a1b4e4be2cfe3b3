"""Schemas of pandera that run: of samples, from what was recorded of them, and those that a person demands to hold.

The only room that imports pandera, and only where a schema is made or applied.
"""
