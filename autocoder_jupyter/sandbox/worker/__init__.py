"""The part that runs inside a sandbox. It may import only the standard library, numpy, pandas, pyarrow and pytest."""
