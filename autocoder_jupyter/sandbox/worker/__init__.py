"""The code that runs inside a sandbox. It imports only the standard library, numpy, pandas, pyarrow and pytest.

The part that runs inside of the sandbox (`entries` packs values for both sides).
"""
