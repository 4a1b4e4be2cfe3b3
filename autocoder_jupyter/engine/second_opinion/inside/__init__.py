"""Runs in the sandbox with both solutions. It imports only pandas, numpy, the standard library and itself."""
