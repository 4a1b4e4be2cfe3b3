"""The code that runs inside a sandbox. It imports only the standard library, numpy, pandas, pyarrow and pytest."""
