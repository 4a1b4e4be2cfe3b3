"""pandera schemas: those of samples, built from records, and the contracts of the user.

This is the only package that imports pandera, and only when a schema is built or applied.
"""
