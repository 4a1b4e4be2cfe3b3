"""Environments with exact versions of packages: resolver, keys, cache, usage locks, cleanup."""
