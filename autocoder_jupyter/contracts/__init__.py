"""pandera schemas: contracts of the user, and the schemas of samples.

This is the only package that imports pandera, and only when a schema is built or applied. It may import `data` and what
is below it.

- `describing`: reads a contract from the user's schema, and describes it for keys, for the model and as code
- `applying`: validates samples, inputs and outputs
- `sample_schema`: schemas of samples, built from their records
"""
