"""pandera schemas: those of samples, built from records, and the contracts of the user.

This is the only package that imports pandera, and only when a schema is built or applied.

The only package that imports pandera: schemas of samples from their records (`sample_schema`), and contracts of the
user (`reading` accepts them, `describing` describes them for key and model, `source` writes them as code, `applying`
validates tables).
"""
