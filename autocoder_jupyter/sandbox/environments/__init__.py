"""Environments of exact packages: resolving, keys, cache, usage locks, cleanup."""
